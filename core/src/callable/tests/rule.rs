//! Each rule alone, its boundary, and the order of the rules.
//!

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::*;

type Change = fn(&mut Vec<u8>);

/// One way to break each rule that an image's bytes can break, in the order of the rules; no two touch the same bytes.
const BROKEN: &[(&str, Change)] = &[
    ("size", |image| image.truncate(9375)),
    ("sig_count", |image| put_i32(image, 1024, 257)),
    ("signature", |image| put_i32(image, 4, 4)),
    ("scalar_count", |image| put_i32(image, 9364, 2)),
    ("child_count", |image| put_i32(image, 9292, 1025)),
    ("func_name_len", |image| put_i32(image, 1096, 64)),
    ("config_name_len", |image| put_i32(image, 9360, -1)),
    ("func_name", |image| image[1033] = 0),
    ("config_name", |image| image[9298] = 0),
    ("binary_size", |image| put_i32(image, 1028, 577)),
    ("child_offset", |image| put_i32(image, 5196, 64)),
    ("child_sig_count", |image| put_i32(image, 9632, 33)),
    ("child_signature", |image| put_i32(image, 9504, -1)),
    ("child_binary_size", |image| put_i32(image, 9636, i32::MAX)),
    ("child_offset", |image| put_i32(image, 5200, 448)),
    ("child_sig_count", |image| put_i32(image, 9888, -1)),
    ("child_signature", |image| put_i32(image, 9760, 9)),
    ("child_binary_size", |image| put_i32(image, 9892, 1)),
];

fn refusal(image: &[u8]) -> Refusal {
    CallableImage::parse(image).unwrap_err()
}

fn with(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut image = golden();
    change(&mut image);
    image
}

#[test]
fn each_rule_refuses_by_its_field() {
    for (place, (field, change)) in BROKEN.iter().enumerate() {
        assert_eq!(refusal(&with(change)).field.name(), *field, "rule {place}");
    }
}

#[test]
fn the_earliest_broken_rule_answers() {
    for (first, (field, change)) in BROKEN.iter().enumerate() {
        for (second, (_, later)) in BROKEN.iter().enumerate().skip(first + 1) {
            let image = with(|image| {
                later(image);
                change(image);
            });
            assert_eq!(refusal(&image), refusal(&with(change)), "rules {first} ({field}) and {second}");
        }
    }
}

#[test]
fn a_refusal_says_where_what_and_what_was_expected() {
    let cases: [(Vec<u8>, &str); 17] = [
        (Vec::new(), "size at byte 0 is 0, expected at least 9376"),
        (with(|i| put_i32(i, 1024, -1)), "sig_count at byte 1024 is -1, expected 0 to 256"),
        (
            with(|i| put_i32(i, 8, 4)),
            "signature at byte 8 is 4, expected a direction: 0 scalar, 1 in, 2 out or 3 inout",
        ),
        (with(|i| put_i32(i, 4, 0)), "signature at byte 8 is 2, expected a scalar: tensors come before scalars"),
        (with(|i| put_i32(i, 9364, 3)), "scalar_count at byte 9364 is 3, expected 1, or 0 for \"not recorded\""),
        (with(|i| put_i32(i, 9292, -1)), "child_count at byte 9292 is -1, expected 0 to 1024"),
        (with(|i| put_i32(i, 1096, 64)), "func_name_len at byte 1096 is 64, expected 0 to 63"),
        (with(|i| put_i32(i, 9360, -1)), "config_name_len at byte 9360 is 4294967295, expected 0 to 63"),
        (with(|i| put_i32(i, 1096, 2)), "func_name at byte 1034 is 100, expected the NUL that ends the name"),
        (
            with(|i| put_i32(i, 9360, 4)),
            "config_name at byte 9299 is 0, expected a byte of the name: no NUL before its end",
        ),
        (with(|i| put_i32(i, 1028, 577)), "binary_size at byte 1028 is 577, expected 0 to 576"),
        (with(|i| put_i32(i, 5200, 385)), "child 1: child_offset at byte 5200 is 385, expected 384"),
        (with(|i| i.truncate(9951)), "child 1: child_header at byte 9760 is 575, expected at least 576"),
        (with(|i| put_i32(i, 9632, 33)), "child 0: child_sig_count at byte 9632 is 33, expected 0 to 32"),
        (
            with(|i| put_i32(i, 9504, 0)),
            "child 0: child_signature at byte 9508 is 2, expected a scalar: tensors come before scalars",
        ),
        (with(|i| put_i32(i, 9892, 1)), "child 1: child_binary_size at byte 9892 is 1, expected 0 to 0"),
        (with(|i| i.push(0)), "storage at byte 9376 is 577, expected 576"),
    ];
    for (image, message) in cases {
        assert_eq!(refusal(&image).to_string(), message);
    }
}

#[test]
fn the_base_of_an_image_in_memory_is_checked_after_its_size_and_before_the_rest() {
    let mut memory = std::vec![0_u8; 9952 + 32];
    let aligned = memory.as_ptr().addr().next_multiple_of(16) - memory.as_ptr().addr();
    memory[aligned..aligned + 9952].copy_from_slice(&golden());
    assert!(CallableImage::parse_in_memory(&memory[aligned..aligned + 9952]).is_ok());
    for offset in 1..16 {
        let start = aligned + offset;
        memory[start..start + 9952].copy_from_slice(&golden());
        put_i32(&mut memory[start..], 1024, -1);
        let refusal = CallableImage::parse_in_memory(&memory[start..start + 9952]).unwrap_err();
        assert_eq!((refusal.field, refusal.expected), (Field::Base, Expected::MultipleOf(16)), "{offset}");
        let short = CallableImage::parse_in_memory(&memory[start..start + 9375]).unwrap_err();
        assert_eq!(short.field, Field::Size);
    }
}

#[test]
fn counts_at_their_limits_are_accepted_and_one_more_is_not() {
    // 128 tensors and 128 scalars.
    let mut most = least();
    for entry in 0..128 {
        put_i32(&mut most, entry * 4, 3);
    }
    put_i32(&mut most, 1024, 256);
    assert_eq!(CallableImage::parse(&most).unwrap().counts(), Counts { tensors: 128, scalars: 128 });
    put_i32(&mut most, 127 * 4, 0);
    let one_more = refusal(&most);
    assert_eq!((one_more.field, one_more.found, one_more.expected), (Field::ScalarCount, 129, Expected::AtMost(128)));

    let mut child = golden();
    put_i32(&mut child, 9888, 32);
    for entry in 0..32 {
        put_i32(&mut child, 9760 + entry * 4, if entry < 16 { 1 } else { 0 });
    }
    assert!(CallableImage::parse(&child).is_ok());
    put_i32(&mut child, 9760 + 15 * 4, 0);
    let one_more = refusal(&child);
    assert_eq!((one_more.field, one_more.child, one_more.found), (Field::ChildSignature, Some(1), 17));

    let mut names = least();
    names[1032..1095].fill(b'n');
    put_i32(&mut names, 1096, 63);
    assert_eq!(CallableImage::parse(&names).unwrap().func_name(), [b'n'; 63]);
}

#[test]
fn a_thousand_and_twenty_four_children_fit() {
    let mut image = std::vec![0; 9376 + 1024 * 192];
    put_i32(&mut image, 9292, 1024);
    for child in 0..1024_u16 {
        put_i32(&mut image, 5196 + 4 * usize::from(child), 192 * i32::from(child));
    }
    assert_eq!(CallableImage::parse(&image).unwrap().children().count(), 1024);
    assert!(Header::check_alone(&image[..]).is_ok());
}

#[test]
fn a_child_at_an_odd_offset_is_refused() {
    for wrong in (0..576).filter(|offset| *offset != 128) {
        let refused = refusal(&with(|image| put_i32(image, 5196, wrong)));
        assert_eq!((refused.field, refused.child), (Field::ChildOffset, Some(0)), "{wrong}");
    }
}

#[test]
fn the_header_alone_tells_what_needs_no_storage() {
    let cases: &[(&str, Change)] = &[
        ("ok", |_| {}),
        ("child 0: child_offset at byte 5196 is 192, expected 128", |i| put_i32(i, 5196, 192)),
        ("child 1: child_offset at byte 5200 is 128, expected at least 320", |i| put_i32(i, 5200, 128)),
        ("child 1: child_offset at byte 5200 is 330, expected a multiple of 64", |i| put_i32(i, 5200, 330)),
        ("child 1: child_header at byte 9824 is 576, expected at least 640", |i| put_i32(i, 5200, 448)),
        // Only the storage knows these.
        ("ok", |i| put_i32(i, 9632, 33)),
        ("ok", |i| put_i32(i, 9892, 1)),
        ("ok", |i| i.push(0)),
    ];
    for (expected, change) in cases {
        let answer = Header::check_alone(&with(change)[..]).map_or_else(|e| e.to_string(), |_| String::from("ok"));
        assert_eq!(answer, *expected);
    }
    // Without children it knows the end of the storage too.
    let mut image = least();
    image.push(0);
    let refused = Header::check_alone(&image[..]).unwrap_err();
    assert_eq!(refused.to_string(), "storage at byte 9376 is 1, expected 0");
    for (field, change) in BROKEN.iter().take(11) {
        assert_eq!(Header::check_alone(&with(change)[..]).unwrap_err().field.name(), *field);
    }
}

#[test]
fn fields_have_the_names_of_the_rules() {
    let names: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
    let expected = "size base sig_count signature scalar_count child_count func_name_len config_name_len func_name \
                    config_name binary_size child_offset child_header child_sig_count child_signature \
                    child_binary_size storage";
    assert_eq!(format!("{}", names.join(" ")), expected.split_whitespace().collect::<Vec<_>>().join(" "));
}
