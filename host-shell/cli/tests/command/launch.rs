//! `tenon launch` and `tenon doctor` as far as no device is needed.
//!

use std::path::Path;

use crate::support::Place;
use serde_json::Value;

const OPERANDS: [&str; 8] = ["--in", "a.npy", "--in", "a.npy", "--out", "c.npy", "--scalar", "3"];

fn packed() -> Place {
    let place = Place::new();
    place.add();
    place.tenon(&["pack", "add.toml", "-o", "add.callable"]).is_done();
    place.write("a.npy", npy("<f4", "(2,)", &[0; 8]));
    place
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{:117}\n", format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"));
    [&b"\x93NUMPY\x01\x00\x76\x00"[..], header.as_bytes(), data].concat()
}

fn launch(place: &Place, operands: &[&str], environment: &[(&str, &Path)]) -> crate::support::Run {
    place.tenon_with(&[&["launch", "add.callable"], operands].concat(), environment)
}

#[test]
fn operands_that_do_not_fit_the_signature_are_refused_by_option() {
    let place = packed();
    let signature = "the signature is (in, in, out, scalar)";
    launch(&place, &OPERANDS[2..], &[]).is_refused(2, &["--in is given 1 time, expected 2", signature]);
    launch(&place, &OPERANDS[..4], &[]).is_refused(2, &["--out is given 0 times, expected 1"]);
    launch(&place, &OPERANDS[..6], &[]).is_refused(2, &["--scalar is given 0 times, expected 1"]);
    let shapes = [&OPERANDS[..], &["--out-shape", "2", "--out-shape", "2"]].concat();
    launch(&place, &shapes, &[]).is_refused(2, &["--out-shape is given 2 times, expected at most 1"]);
    launch(&place, &[&OPERANDS[..], &["--out-shape", "0"]].concat(), &[])
        .is_refused(2, &["--out-shape: shape[0] is 0"]);
    launch(&place, &[&OPERANDS[..7], &["1.5"]].concat(), &[]).is_refused(2, &["--scalar", "f32:1e-5"]);
    launch(&place, &[&OPERANDS[..], &["--replays", "3"]].concat(), &[]).is_refused(2, &["--graph"]);
    launch(&place, &[&OPERANDS[..], &["--device", "npu"]].concat(), &[]).is_refused(2, &["expected sim"]);
}

#[test]
fn files_that_a_launch_cannot_take_are_refused_by_name() {
    let place = packed();
    place.write("a.npy", npy("<f8", "(1,)", &[0; 8]));
    launch(&place, &OPERANDS, &[]).is_refused(4, &["a.npy: descr is '<f8', expected one of <f4"]);
    place.write("a.npy", npy("<f4", "(3,)", &[0; 8]));
    launch(&place, &OPERANDS, &[]).is_refused(4, &["a.npy: data at byte 128 is 8 bytes, expected 12"]);
    place.write("add.callable", [0; 100]);
    launch(&place, &OPERANDS, &[]).is_refused(4, &["add.callable: size at byte 0 is 100"]);
}

#[test]
fn a_library_that_is_not_there_is_named_with_the_command_that_builds_it() {
    let place = packed();
    let none = place.path("none.so");
    launch(&place, &OPERANDS, &[("TENON_SIM", &none)]).is_refused(5, &["none.so: cannot load", "cargo xtask build"]);
}

#[test]
fn every_missing_symbol_is_named() {
    let place = packed();
    let one = place.compile("one.so", "int tenon_sim_malloc(void) { return 0; }", &["-shared", "-fPIC"]);
    let run = launch(&place, &OPERANDS, &[("TENON_SIM", &one), ("TENON_RUNTIME", &one)]);
    let parts = ["one.so: lacks ", "tenon_sim_set_device", "tenon_sim_graph_launch", "rebuild", "cargo xtask build"];
    run.is_refused(5, &parts);
    assert!(!run.stderr.contains("tenon_sim_malloc"), "that one is there");
}

#[test]
fn doctor_names_what_is_missing_and_the_command_that_fixes_it() {
    let place = Place::new();
    let none = place.path("none.so");
    let environment = [("TENON_SIM", &*none), ("TENON_RUNTIME", &*none)];
    let run = place.tenon_with(&["doctor", "--json"], &environment);
    assert_eq!(run.code, Some(1));
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let missing: Vec<_> = findings.iter().filter(|finding| finding["state"] == "missing").collect();
    assert_eq!(report["missing"], missing.len());
    let sim = missing.iter().find(|finding| finding["name"] == "libtenon_sim.so").unwrap();
    assert_eq!(sim["fix"], "cargo xtask build");
    for finding in findings {
        assert_eq!(finding["fix"].is_string(), finding["state"] == "missing", "{finding}");
    }

    let run = place.tenon_with(&["doctor"], &environment);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("MISSING libtenon_sim.so"), "{}", run.stdout);
    assert!(run.stdout.contains("fix: cargo xtask build"), "{}", run.stdout);
}

#[test]
fn help_tells_a_newcomer_what_to_type_and_what_the_exit_codes_mean() {
    let place = Place::new();
    let run = place.tenon(&["--help"]);
    for part in ["Start here:", "tenon pack add.toml", "Exit codes:", "TENON_LOG", "doctor"] {
        assert!(run.is_done().contains(part), "{part}");
    }
    assert!(place.tenon(&["pack", "--help"]).is_done().contains("[[child]]"));
    assert!(place.tenon(&["launch", "--help"]).is_done().contains("--scalar f32:1e-5"));
    assert_eq!(place.tenon(&["pakc"]).code, Some(2));
}
