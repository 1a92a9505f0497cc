//! `tenon callable show`: what an image says, and which rule a broken one breaks.
//!

use std::fs;

use crate::support::Place;
use serde_json::Value;

fn packed() -> (Place, Vec<u8>) {
    let place = Place::new();
    place.add();
    place.tenon(&["pack", "add.toml", "-o", "add.callable"]).is_done();
    let image = fs::read(place.path("add.callable")).unwrap();
    (place, image)
}

#[test]
fn everything_that_an_image_says_is_shown() {
    let (place, image) = packed();
    let run = place.tenon(&["callable", "show", "add.callable"]);
    let hash = format!("hash {:016x}", tenon_core::callable::fnv1a_64(&image));
    for part in [
        &hash[..],
        "func_name      add",
        "config_name    plain",
        "signature      in, in, out, scalar",
        "tensors        3",
        "scalars        1 (not recorded)",
        "children       1",
        "func_id 7  in, inout, scalar",
        "at byte 9376",
    ] {
        assert!(run.is_done().contains(part), "`{part}` is not in: {}", run.stdout);
    }
}

#[test]
fn a_machine_can_read_what_is_shown() {
    let (place, mut image) = packed();
    image[9364..9368].copy_from_slice(&1_i32.to_le_bytes());
    image[1032..1035].copy_from_slice(b"\xff\n\"");
    place.write("add.callable", &image);
    let run = place.tenon(&["callable", "show", "add.callable", "--json"]);
    let report: Value = serde_json::from_str(run.is_done()).unwrap();
    assert_eq!(report["func_name"], r#"\xff\n\""#, "escaped, whatever the bytes");
    assert_eq!((&report["scalars"], &report["stored_scalar_count"]), (&1.into(), &1.into()));
    assert_eq!(report["signature"][2], "out");
    assert_eq!(report["children"][0]["func_id"], 7);
    assert_eq!(report["children"][0]["code"]["bytes"], fs::metadata(place.path("child.so")).unwrap().len());
}

#[test]
fn a_broken_image_is_refused_by_field_and_offset() {
    let (place, image) = packed();
    let broken = |name: &str, offset: usize, value: i32| {
        let mut image = image.clone();
        image[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
        place.write(name, image);
        place.tenon(&["callable", "show", name])
    };
    broken("a", 1024, 257).is_refused(4, &["a: sig_count at byte 1024 is 257, expected 0 to 256"]);
    broken("b", 9364, 3).is_refused(4, &["b: scalar_count at byte 9364 is 3, expected 1"]);
    broken("c", 5196, 1).is_refused(4, &["c: child 0: child_offset at byte 5196 is 1, expected"]);
    place.write("d", &image[..9375]);
    place.tenon(&["callable", "show", "d"]).is_refused(4, &["d: size at byte 0 is 9375, expected at least 9376"]);
    place.tenon(&["callable", "show", "e"]).is_refused(3, &["e: cannot read"]);
}

#[test]
fn a_result_that_cannot_be_written_is_a_failure_and_no_panic() {
    let place = Place::new();
    place.add();
    place.tenon(&["pack", "add.toml", "-o", "add.callable"]).is_done();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_tenon"))
        .args(["callable", "show"])
        .arg(place.path("add.callable"))
        .stdout(std::fs::File::create("/dev/full").expect("a device that is always full"))
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(3));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.starts_with("tenon: standard output: cannot write:"), "{told}");
}
