//! `tenon launch` on the simulated device: files in, files out, right results.
//!

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use npyz::{AutoSerialize, Deserialize, NpyFile, Serialize, WriterBuilder};
use serde_json::Value;
use tempfile::TempDir;
use tenon_tests::reference::{AttentionShape, Seeded, attention, max_error, vector_add};

/// Dispatch answer *execution failed*, as it is told.
const EXECUTION_FAILED: &str = "ExecutionFailed";

/// Where `cargo xtask build` has put everything.
fn build() -> PathBuf {
    let chosen = std::env::var_os("TENON_BUILD").map(PathBuf::from);
    let build = chosen.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../build"));
    assert!(build.join("bin/tenon").is_file(), "{}: nothing is staged; run `cargo xtask build`", build.display());
    build
}

fn callable(name: &str) -> String {
    build().join("operators").join(name).join(format!("{name}.callable")).display().to_string()
}

fn tenon(place: &TempDir, arguments: &[&str]) -> Output {
    Command::new(build().join("bin/tenon")).current_dir(place.path()).args(arguments).output().expect("tenon runs")
}

#[track_caller]
fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn write<T: AutoSerialize + Serialize + Copy>(place: &TempDir, name: &str, shape: &[u64], data: &[T]) {
    let file = File::create(place.path().join(name)).expect("a file");
    let mut writer =
        npyz::WriteOptions::new().default_dtype().shape(shape).writer(file).begin_nd().expect("a header is written");
    writer.extend(data.iter().copied()).expect("data are written");
    writer.finish().expect("all of them");
}

fn read<T: Deserialize>(place: &TempDir, name: &str) -> (Vec<u64>, Vec<T>) {
    let contents = fs::read(place.path().join(name)).expect("an output file");
    let file = NpyFile::new(&contents[..]).expect("a header");
    (file.shape().to_vec(), file.into_vec().expect("data of this type"))
}

fn two_vectors(place: &TempDir) -> Vec<f64> {
    let mut seeded = Seeded::new(7);
    let (a, b) = (seeded.floats(1000), seeded.floats(1000));
    write(place, "a.npy", &[10, 100], &a);
    write(place, "b.npy", &[10, 100], &b);
    vector_add(&a, &b)
}

#[test]
fn a_launch_computes_what_the_reference_says() {
    let place = tempfile::tempdir().expect("a directory");
    let expected = two_vectors(&place);
    let add = callable("vector_add");
    let output = tenon(&place, &["launch", &add, "--in", "a.npy", "--in", "b.npy", "--out", "c.npy"]);
    assert!(done(&output).contains("wrote c.npy: f32 10x100"));
    let (shape, c) = read::<f32>(&place, "c.npy");
    assert_eq!(shape, [10, 100], "like the first input");
    assert!(max_error(&c, &expected) < 1e-6);
}

#[test]
fn a_graph_is_replayed_as_often_as_asked() {
    let place = tempfile::tempdir().expect("a directory");
    let expected = two_vectors(&place);
    let add = callable("vector_add");
    let graph = ["--graph", "--replays", "250", "--json"];
    let operands = ["launch", &add, "--in", "a.npy", "--in", "b.npy", "--out", "c.npy"];
    let output = tenon(&place, &[&operands[..], &graph].concat());
    let report: Value = serde_json::from_str(&done(&output)).expect("one JSON object");
    assert_eq!((&report["executions"], &report["graph"]), (&250.into(), &true.into()));
    assert_eq!(report["outputs"][0]["shape"], serde_json::json!([10, 100]));
    assert!(max_error(&read::<f32>(&place, "c.npy").1, &expected) < 1e-6);

    // The faulty operator counts how often it was entered.
    write(&place, "trace.npy", &[5], &[0_u32; 5]);
    let faulty = callable("faulty");
    let operands = ["launch", &faulty, "--in", "trace.npy", "--in", "a.npy", "--scalar", "0", "--scalar", "0"];
    done(&tenon(&place, &[&operands[..], &["--out", "trace.npy"], &graph].concat()));
    assert_eq!(read::<u32>(&place, "trace.npy").1[1], 250, "an inout is read and written");
}

#[test]
fn shapes_and_scalars_of_the_command_line_reach_the_operator() {
    let place = tempfile::tempdir().expect("a directory");
    let shape = AttentionShape { heads: 2, queries: 24, keys: 40, width: 16, depth: 8 };
    let mut seeded = Seeded::new(11);
    let (q, k, v) = (seeded.floats(2 * 24 * 16), seeded.floats(2 * 40 * 16), seeded.floats(2 * 40 * 8));
    write(&place, "q.npy", &[2, 24, 16], &q);
    write(&place, "k.npy", &[2, 40, 16], &k);
    write(&place, "v.npy", &[2, 40, 8], &v);
    let image = callable("attention");
    let operands = ["launch", &image, "--in", "q.npy", "--in", "k.npy", "--in", "v.npy", "--scalar", "f32:0.25"];
    let outputs = ["--out", "scores.npy", "--out-shape", "2x24x40", "--out", "o.npy", "--out-shape", "2x24x8"];
    done(&tenon(&place, &[&operands[..], &outputs].concat()));
    let (found, o) = read::<f32>(&place, "o.npy");
    assert_eq!(found, [2, 24, 8]);
    assert!(max_error(&o, &attention(&q, &k, &v, 0.25, shape)) < 1e-5);
}

#[test]
fn a_failure_on_the_device_is_told_with_its_answer() {
    let place = tempfile::tempdir().expect("a directory");
    write(&place, "trace.npy", &[5], &[0_u32; 5]);
    let faulty = callable("faulty");
    // Behaviour 1: the orchestration answers its argument.
    let operands = ["launch", &faulty, "--in", "trace.npy", "--in", "trace.npy", "--scalar", "1", "--scalar", "17"];
    for graph in [&[][..], &["--graph", "--replays", "3"]] {
        let output = tenon(&place, &[&operands[..], &["--out", "out.npy"], graph].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(6), "{message}");
        assert!(message.contains("tenon_sim_synchronize_stream answered 507018"), "{message}");
        assert!(message.contains(EXECUTION_FAILED), "{message}");
        assert!(!place.path().join("out.npy").exists(), "no result of a failed launch");
    }
}

#[test]
fn doctor_finds_what_was_staged() {
    let place = tempfile::tempdir().expect("a directory");
    let output = tenon(&place, &["doctor", "--json"]);
    let report: Value = serde_json::from_str(&String::from_utf8_lossy(&output.stdout)).expect("one JSON object");
    let findings = report["findings"].as_array().expect("a list");
    for name in ["libtenon_sim.so", "libhost_runtime.so", "simulated"] {
        let finding = findings.iter().find(|finding| finding["name"] == name).expect("a finding");
        assert_eq!(finding["state"], "here", "{finding}");
    }
}
