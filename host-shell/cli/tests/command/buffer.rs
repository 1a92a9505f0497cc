//! `tenon buffer`: verdicts on lines, and every field of a claim.
//!

use std::path::Path;

use serde_json::Value;

use crate::support::Place;

/// A vector's member.
fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn vectors() -> (String, Vec<Value>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/buffer_ref.jsonl");
    let lines = std::fs::read_to_string(path).expect("the vectors");
    let values = lines.lines().map(|line| serde_json::from_str(line).expect("a JSON object")).collect();
    (lines, values)
}

#[test]
fn every_vector_gets_its_answer_as_json_and_as_plain_lines() {
    let (json, expected) = vectors();
    let plain: String =
        expected.iter().map(|vector| format!("{} {}\n", text(vector, "kind"), text(vector, "hex"))).collect();
    for input in [json, plain] {
        let run = Place::new().tenon_reading(&["buffer", "check"], &input);
        let answers: Vec<Value> = run.is_done().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(answers.len(), expected.len());
        for (answer, vector) in answers.iter().zip(&expected) {
            let verdict = if text(vector, "kind") == "overlap" { "accept" } else { text(vector, "verdict") };
            assert_eq!(text(answer, "verdict"), verdict, "{vector}");
            for member in ["reason", "extent_bytes", "overlap"] {
                assert_eq!(answer[member], vector[member], "{member} of {vector}");
            }
        }
    }
}

#[test]
fn a_line_that_is_no_claim_is_refused_with_its_number_after_the_others_were_answered() {
    let lines = |line: &str| format!("\n{line}\ndescriptor 00\n");
    for (line, part) in [
        ("tensor 00", "line 2: kind `tensor`, expected `descriptor`, `buffer_ref` or `overlap`"),
        ("descriptor 0", "line 2: 1 hexadecimal digits, expected two to a byte"),
        ("buffer_ref zz", "line 2: digit 1: expected hexadecimal digits only"),
        ("overlap 00", "line 2: overlap of 1 bytes, expected 288"),
        ("{\"kind\":1}", "line 2:"),
    ] {
        Place::new().tenon_reading(&["buffer", "check"], &lines(line)).is_refused(4, &[part]);
    }
}

#[test]
fn every_field_is_shown_also_of_what_is_refused() {
    let (_, vectors) = vectors();
    let of = |verdict: &str| {
        let is_it = |v: &&Value| text(v, "kind") == "buffer_ref" && text(v, "verdict") == verdict;
        text(vectors.iter().find(is_it).expect("one"), "hex").to_owned()
    };
    let shown = Place::new().tenon(&["buffer", "show", &of("accept")]);
    for field in ["magic", "backend_kind", "nbytes", "body", "byte_offset", "shapes", "strides", "dtype", "valid"] {
        assert!(shown.is_done().contains(field), "{field}");
    }
    let refused = Place::new().tenon(&["buffer", "show", &of("reject")]);
    assert_eq!(refused.code, Some(4));
    assert!(refused.stdout.contains("dtype"), "{}", refused.stdout);
    Place::new().tenon(&["buffer", "show", "00"]).is_refused(2, &["1 bytes, expected 88", "144"]);
}
