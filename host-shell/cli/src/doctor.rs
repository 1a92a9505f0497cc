//! `tenon doctor`: what this machine has, what is missing, and what fixes it.
//!
//! A finding is *here*, *missing* (with its fix; the command then ends with 1), or *absent*: something that Tenon can use and does
//! not need.

use std::ffi::c_int;
use std::path::Path;
use std::process::{Command, ExitCode};

use serde::Serialize;

use crate::device::{Device, DeviceName, SimTable};
use crate::failure::Failure;
use crate::library;
use crate::output::say;
use crate::runtime::RuntimeTable;

/// Arguments of `tenon doctor`.
#[derive(Debug, clap::Args)]
pub(crate) struct Doctor {
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Here,
    Missing,
    Absent,
}

#[derive(Debug, Serialize)]
struct Finding {
    section: &'static str,
    name: &'static str,
    state: State,
    detail: String,
    /// The command that makes it be here.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'static str>,
}

const BUILD: &str = "cargo xtask build";

impl Doctor {
    pub(crate) fn run(&self) -> ExitCode {
        let findings: Vec<Finding> = [libraries(), devices(), toolchains(), limits()].into_iter().flatten().collect();
        let missing = findings.iter().filter(|finding| finding.state == State::Missing).count();
        if self.json {
            say!("{}", serde_json::json!({ "findings": findings, "missing": missing }));
        } else {
            print(&findings);
            say!("doctor: {} findings, {missing} missing", findings.len());
        }
        if missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn print(findings: &[Finding]) {
    let mut section = "";
    for finding in findings {
        if section != finding.section {
            section = finding.section;
            say!("{section}");
        }
        let state = match finding.state {
            State::Here => "ok",
            State::Missing => "MISSING",
            State::Absent => "-",
        };
        say!("  {state:<8}{:<24}{}", finding.name, finding.detail);
        if let Some(fix) = finding.fix {
            say!("          fix: {fix}");
        }
    }
}

impl Finding {
    fn here(section: &'static str, name: &'static str, detail: impl Into<String>) -> Self {
        Self { section, name, state: State::Here, detail: detail.into(), fix: None }
    }

    fn missing(section: &'static str, name: &'static str, detail: impl Into<String>, fix: &'static str) -> Self {
        Self { section, name, state: State::Missing, detail: detail.into(), fix: Some(fix) }
    }

    fn absent(section: &'static str, name: &'static str, detail: impl Into<String>) -> Self {
        Self { section, name, state: State::Absent, detail: detail.into(), fix: None }
    }
}

fn libraries() -> Vec<Finding> {
    let section = "libraries";
    let runtime = library::runtime_path(None);
    let sim = library::sim_path(&runtime);
    let found = |name, path: &Path, result: Result<(), Failure>| match result {
        Ok(()) => Finding::here(section, name, path.display().to_string()),
        Err(failure) => Finding::missing(section, name, failure.to_string(), BUILD),
    };
    vec![
        found("libtenon_sim.so", &sim, SimTable::load(&sim).map(drop)),
        found("libhost_runtime.so", &runtime, RuntimeTable::load(&runtime).map(drop)),
    ]
}

fn devices() -> Vec<Finding> {
    let section = "devices";
    let sim = library::sim_path(&library::runtime_path(None));
    // A missing library has been reported already.
    let simulated = SimTable::load(&sim).ok().map(|table| match look_at_device(&table) {
        Ok(detail) => Finding::here(section, "simulated", detail),
        Err(failure) => Finding::missing(section, "simulated", failure.to_string(), BUILD),
    });
    let boards =
        [("Ascend NPU", "/dev", "davinci"), ("NVIDIA GPU", "/dev", "nvidia")].map(|(name, directory, prefix)| {
            match numbered_files(directory, prefix) {
                0 => Finding::absent(
                    section,
                    name,
                    format!("no {directory}/{prefix}N; this version runs on the simulated one"),
                ),
                count => Finding::here(section, name, format!("{count}; this version does not use it yet")),
            }
        });
    simulated.into_iter().chain(boards).collect()
}

/// Starts the first simulated device and asks for its memory.
fn look_at_device(table: &SimTable) -> Result<String, Failure> {
    let count = table.device_count()?;
    let (free, total) = Device::open(table, DeviceName { index: 0 })?.memory()?;
    Ok(format!("{count}, the first with {} MiB free of {} MiB", free >> 20, total >> 20))
}

/// Files named by a prefix and a number.
fn numbered_files(directory: &str, prefix: &str) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_numbered = |name: &String| name.strip_prefix(prefix).is_some_and(|number| number.parse::<u32>().is_ok());
    names.filter(is_numbered).count()
}

fn toolchains() -> Vec<Finding> {
    let tool = |name, program: &str, fix| match first_line_of(program) {
        Some(line) => Finding::here("toolchains", name, line),
        None => Finding::missing("toolchains", name, format!("`{program} --version` does not run"), fix),
    };
    let optional = |name, program: &str, what: &str| match first_line_of(program) {
        Some(line) => Finding::here("toolchains", name, line),
        None => Finding::absent("toolchains", name, what),
    };
    vec![
        tool("Rust", "rustc", "install rustup, then: rustup toolchain install 1.95.0"),
        tool("Cargo", "cargo", "install rustup, then: rustup toolchain install 1.95.0"),
        tool("C compiler", "cc", "apt-get install gcc"),
        tool("C++ compiler", "c++", "apt-get install g++"),
        optional("AArch64 C compiler", "aarch64-linux-gnu-gcc", "only for operators of AArch64 devices"),
        optional("qemu for AArch64", "qemu-aarch64", "only to run AArch64 devices on this machine"),
    ]
}

fn first_line_of(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok().filter(|output| output.status.success())?;
    String::from_utf8_lossy(&output.stdout).lines().next().map(str::to_owned)
}

fn limits() -> Vec<Finding> {
    let section = "limits";
    let processors = match std::thread::available_parallelism() {
        Ok(count) => Finding::here(section, "processors", count.to_string()),
        Err(error) => Finding::absent(section, "processors", error.to_string()),
    };
    // A device process and its users share their memory through descriptors; the simulated device's range is reserved, not used.
    let descriptors = limit(section, "open files", libc::RLIMIT_NOFILE as c_int, 256, "ulimit -n 1024");
    let addresses = limit(section, "address space", libc::RLIMIT_AS as c_int, 64 << 30, "ulimit -v unlimited");
    vec![processors, memory(section), descriptors, addresses]
}

fn memory(section: &'static str) -> Finding {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib = |field| {
        let line = text.lines().find_map(|line| line.strip_prefix(field));
        line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok())
    };
    match (kib("MemAvailable:"), kib("MemTotal:")) {
        (Some(free), Some(total)) => {
            Finding::here(section, "memory", format!("{} MiB available of {} MiB", free >> 10, total >> 10))
        }
        _ => Finding::absent(section, "memory", "/proc/meminfo does not tell"),
    }
}

fn limit(section: &'static str, name: &'static str, resource: c_int, least: u64, fix: &'static str) -> Finding {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one structure, to a variable of ours; an unknown resource is an error and writes nothing.
    let code = unsafe { libc::getrlimit(resource.cast_unsigned(), &raw mut limit) };
    let detail = match limit.rlim_cur {
        libc::RLIM_INFINITY => "unlimited".to_owned(),
        current => format!("{current}, at least {least} needed"),
    };
    if code != 0 {
        Finding::absent(section, name, std::io::Error::last_os_error().to_string())
    } else if limit.rlim_cur < least {
        Finding::missing(section, name, detail, fix)
    } else {
        Finding::here(section, name, detail)
    }
}
