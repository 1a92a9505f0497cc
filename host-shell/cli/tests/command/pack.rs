//! `tenon pack`: images from descriptions, and refusals that say what is wrong.
//!

use std::fs;

use crate::support::{ADD, Place};
use serde_json::Value;
use tenon_core::callable::CallableImage;

#[test]
fn an_image_holds_what_its_description_says() {
    let place = Place::new();
    place.add();
    let line = place.tenon(&["pack", "add.toml", "-o", "add.callable"]);
    assert!(line.is_done().contains("add.callable: "));
    let image = fs::read(place.path("add.callable")).unwrap();
    let parsed = CallableImage::parse(&image).unwrap();
    assert_eq!((parsed.func_name(), parsed.config_name()), (&b"add"[..], &b"plain"[..]));
    assert_eq!((parsed.counts().tensors, parsed.counts().scalars), (3, 1));
    assert_eq!(parsed.header().stored_scalar_count(), 0, "not recorded unless the description says so");
    assert_eq!(parsed.orchestration(), fs::read(place.path("add.so")).unwrap());
    let child = parsed.children().next().unwrap();
    assert_eq!((child.func_id, child.code), (7, &fs::read(place.path("child.so")).unwrap()[..]));
}

#[test]
fn a_machine_can_read_what_was_packed() {
    let place = Place::new();
    place.add();
    let run = place.tenon(&["pack", "add.toml", "-o", "add.callable", "--json"]);
    let report: Value = serde_json::from_str(run.is_done()).unwrap();
    let image = fs::read(place.path("add.callable")).unwrap();
    assert_eq!(report["bytes"], image.len());
    assert_eq!(report["tensors"], 3);
    assert_eq!(report["children"], 1);
    assert_eq!(report["hash"], format!("{:016x}", tenon_core::callable::fnv1a_64(&image)));
}

#[test]
fn objects_are_beside_the_description_or_where_the_option_says() {
    let place = Place::new();
    place.add();
    fs::create_dir(place.path("elsewhere")).unwrap();
    fs::rename(place.path("add.toml"), place.path("elsewhere/add.toml")).unwrap();
    place.tenon(&["pack", "elsewhere/add.toml", "-o", "a.callable"]).is_refused(3, &["elsewhere/add.so: cannot read"]);
    place.tenon(&["pack", "elsewhere/add.toml", "-o", "a.callable", "--objects", "."]).is_done();
}

#[test]
fn packing_twice_gives_the_same_bytes() {
    let place = Place::new();
    place.add();
    place.tenon(&["pack", "add.toml", "-o", "one"]).is_done();
    place.tenon(&["pack", "add.toml", "-o", "two"]).is_done();
    assert_eq!(fs::read(place.path("one")).unwrap(), fs::read(place.path("two")).unwrap());
}

#[test]
fn raw_code_is_packed_when_the_description_says_so() {
    let place = Place::new();
    place.write("code.bin", [0x90; 8]);
    let raw = "func = \"entry\"\nobject = \"code.bin\"\nsignature = []\n";
    let elf_expected = place.write("raw.toml", raw);
    place.tenon(&["pack", "raw.toml", "-o", "raw"]).is_refused(4, &["code.bin: e_ident at byte 0", "code = \"raw\""]);
    fs::write(elf_expected, format!("{raw}code = \"raw\"\n")).unwrap();
    place.tenon(&["pack", "raw.toml", "-o", "raw"]).is_done();
}

#[test]
fn a_description_that_breaks_a_rule_is_refused_by_its_field() {
    let place = Place::new();
    place.add();
    for (from, to, parts) in [
        ("func = \"add\"", "fnc = \"add\"", &["add.toml", "unknown field `fnc`", "line 2"][..]),
        ("\"scalar\"]\n\n", "\"scaler\"]\n\n", &["unknown variant `scaler`", "`scalar`", "line 5"]),
        (
            "signature = [\"in\", \"in\", ",
            "signature = [\"scalar\", \"in\", ",
            &["signature at byte 4 is 1", "before scalars"],
        ),
        (
            "object = \"add.so\"",
            "object = \"add.so\"\nscalar_count = 2",
            &["scalar_count at byte 9364 is 2, expected 1"],
        ),
        ("config = \"plain\"", "config = \"a\\u0000b\"", &["config_name at byte 9297 is 0"]),
        ("\"inout\", \"scalar\"", "\"scalar\", \"inout\"", &["child 0: child_signature at byte", "before scalars"]),
        ("func_id = 7", "func_id = 3000000000", &["add.toml", "func_id"]),
    ] {
        let changed = ADD.replace(from, to);
        assert_ne!(changed, ADD);
        place.write("add.toml", changed);
        place.tenon(&["pack", "add.toml", "-o", "out"]).is_refused(4, parts);
        assert!(!place.path("out").exists(), "nothing is written");
    }
    let long = "n".repeat(64);
    place.compile("add.so", &format!("int {long}(void) {{ return 0; }}"), &["-shared", "-fPIC"]);
    place.write("add.toml", ADD.replace("\"add\"", &format!("\"{long}\"")));
    place
        .tenon(&["pack", "add.toml", "-o", "out"])
        .is_refused(4, &["func_name_len at byte 1096 is 64, expected 0 to 63"]);
}

#[test]
fn an_object_that_cannot_run_is_refused_by_name() {
    let place = Place::new();
    place.add();
    place.compile("add.so", "int other(void) { return 0; }", &["-shared", "-fPIC"]);
    place.tenon(&["pack", "add.toml", "-o", "out"]).is_refused(4, &["add.so: no exported symbol `add`"]);
    place.compile("add.so", "static int add(void) { return 0; } int (*keep)(void) = add;", &["-shared", "-fPIC"]);
    place.tenon(&["pack", "add.toml", "-o", "out"]).is_refused(4, &["add.so: no exported symbol `add`"]);
    place.compile("add.so", "int add(void) { return 0; }", &["-c"]);
    place.tenon(&["pack", "add.toml", "-o", "out"]).is_refused(4, &["add.so: e_type at byte 16 is 1, expected 3"]);
    place.write("add.so", "int add(void) { return 0; }");
    place.tenon(&["pack", "add.toml", "-o", "out"]).is_refused(4, &["add.so: e_ident at byte 0"]);
    place.write("add.so", b"\x7fELF");
    place.tenon(&["pack", "add.toml", "-o", "out"]).is_refused(4, &["add.so: "]);

    place.add();
    place.compile("child.so", "int add(void) { return 0; }", &["-shared", "-fPIC"]);
    place.tenon(&["pack", "add.toml", "-o", "out"]).is_refused(4, &["child.so: no exported symbol `tenon_kernel`"]);
}

#[test]
fn objects_for_two_machines_are_refused() {
    let place = Place::new();
    place.add();
    let mut child = fs::read(place.path("child.so")).unwrap();
    // e_machine: another one than any this is tested on.
    child[18..20].copy_from_slice(&8_u16.to_le_bytes());
    place.write("child.so", child);
    place.tenon(&["pack", "add.toml", "-o", "out"]).is_refused(4, &["child.so: e_machine at byte 18 is 8, expected"]);
}

#[test]
fn files_that_cannot_be_read_or_written_are_named() {
    let place = Place::new();
    place.tenon(&["pack", "none.toml", "-o", "out"]).is_refused(3, &["none.toml: cannot read"]);
    place.add();
    place.tenon(&["pack", "add.toml", "-o", "no/where"]).is_refused(3, &["no/where: cannot write"]);
    fs::write(place.path("add.toml"), [b'#', 0xff]).unwrap();
    place.tenon(&["pack", "add.toml", "-o", "out"]).is_refused(4, &["add.toml: not UTF-8 at byte 1"]);
}
