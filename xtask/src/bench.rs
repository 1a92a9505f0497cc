//! `cargo xtask bench`: runs the benches and compares ratios with their limits.
//!
//! A time means something only on the machine that took it, so limits are ratios of two things measured in one run, and the
//! figures are kept together with machine, compiler and date.

use std::fs;

use serde::{Deserialize, Serialize};
use xshell::cmd;

use crate::workspace::{Result, Workspace, run as run_command};

/// Package, features and bench; each bench takes `--json FILE` and `--quick`.
const BENCHES: &[(&str, &str, &str)] = &[
    ("tenon-tests", "reference", "packet"),
    ("tenon-tests", "reference", "buffer"),
    ("tenon-host-runtime", "kernel-mode", "launch"),
];

/// By how much a quick run may exceed a limit: few rounds on a busy machine show a design that has lost, not a percent.
const QUICK_MARGIN: f64 = 1.5;

/// What `tests/benches/figures.json` holds.
#[derive(Serialize)]
struct Figures {
    machine: String,
    cores: usize,
    compiler: String,
    cxx: String,
    date: String,
    benches: Vec<serde_json::Value>,
}

/// What a bench must say about each of its limits, among other things.
#[derive(Debug, Deserialize)]
struct Gate {
    name: String,
    value: f64,
    limit: f64,
}

/// Runs all benches. A quick run records nothing.
pub(crate) fn run(workspace: &Workspace, is_quick: bool) -> Result {
    let shell = &workspace.shell;
    let folder = shell.create_temp_dir()?;
    let mut benches = Vec::new();
    for (package, features, bench) in BENCHES {
        let json = folder.path().join(format!("{bench}.json"));
        let quick = is_quick.then_some("--quick");
        let selection = ["--package", package, "--no-default-features", "--features", features, "--bench", bench];
        run_command(cmd!(shell, "cargo bench --quiet {selection...} -- --json {json} {quick...}"))?;
        benches.push(serde_json::from_str(&fs::read_to_string(&json)?)?);
    }
    let margin = if is_quick { QUICK_MARGIN } else { 1.0 };
    let failures = benches.iter().map(|bench| failed_gates(bench, margin)).collect::<Result<Vec<_>>>()?.concat();
    if !is_quick {
        let figures = Figures {
            machine: machine(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            compiler: cmd!(shell, "rustc --version").read()?,
            cxx: cmd!(shell, "c++ --version").read()?.lines().next().unwrap_or_default().to_owned(),
            date: cmd!(shell, "date --utc +%Y-%m-%d").read()?,
            benches,
        };
        let place = workspace.root.join("tests/benches/figures.json");
        fs::write(&place, serde_json::to_string_pretty(&figures)? + "\n")?;
        println!("recorded in {}", workspace.relative(&place).display());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("; ").into()) }
}

/// Prints a bench's gates; gives a sentence for each that is exceeded. A bench without gates shows nothing and is an error.
fn failed_gates(bench: &serde_json::Value, margin: f64) -> Result<Vec<String>> {
    let gates: Vec<Gate> = serde_json::from_value(bench.get("gates").cloned().unwrap_or_default())
        .map_err(|error| format!("a bench must give its `gates`: {error}"))?;
    if gates.is_empty() {
        return Err("a bench without gates shows nothing".into());
    }
    let mut failures = Vec::new();
    for Gate { name, value, limit } in gates {
        println!("{name}: {value:.3}, limit {limit:.3}");
        // A value that is not a number is no pass.
        if value > limit * margin || value.is_nan() {
            failures.push(format!("{name} is {value:.3}, the limit is {limit:.3}"));
        }
    }
    Ok(failures)
}

/// The processor, as Linux names it.
fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    name.map_or_else(|| "unknown".into(), |(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_bench_of_every_package_is_run() {
        for package in &Workspace::find().expect("cargo metadata").members {
            let manifest: toml::Table =
                fs::read_to_string(&package.manifest_path).expect("read").parse().expect("a manifest");
            let benches = manifest.get("bench").and_then(toml::Value::as_array).cloned().unwrap_or_default();
            for bench in benches {
                let name = bench.get("name").and_then(toml::Value::as_str).expect("a name");
                let is_run =
                    BENCHES.iter().any(|(package_name, _, bench)| *package_name == package.name && *bench == name);
                assert!(is_run, "bench {name} of {} is never run", package.name);
            }
        }
    }

    #[test]
    fn a_ratio_above_its_limit_fails_and_names_itself() {
        let bench = json!({"gates": [{"name": "time", "value": 1.1, "limit": 1.0}, {"name": "other", "value": 1.0, "limit": 1.0}]});
        let failures = failed_gates(&bench, 1.0).expect("gates");
        assert_eq!(failures, ["time is 1.100, the limit is 1.000"]);
        assert!(failed_gates(&bench, QUICK_MARGIN).expect("gates").is_empty());
    }

    #[test]
    fn a_bench_that_gates_nothing_is_refused() {
        assert!(failed_gates(&json!({}), 1.0).is_err());
        assert!(failed_gates(&json!({"gates": []}), 1.0).is_err());
    }
}
