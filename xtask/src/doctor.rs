//! `cargo xtask doctor`: what this machine has for building and checking.
//!
//! What a user's machine has for running is told by `tenon doctor`.

use std::process::ExitCode;

use xshell::cmd;

use crate::needs::{Need, Presence};
use crate::workspace::Workspace;

/// Prints one line for each need; fails when something that an ordinary run needs is missing.
pub(crate) fn run(workspace: &Workspace) -> ExitCode {
    let shell = &workspace.shell;
    for program in ["rustc", "cargo"] {
        let version = cmd!(shell, "{program} --version").quiet().read().unwrap_or_else(|error| error.to_string());
        println!("{program:14} {version}");
    }
    println!("{:14} {}", "cores", std::thread::available_parallelism().map_or(0, usize::from));
    let mut is_complete = true;
    for need in Need::ALL {
        let text = match need.probe(shell) {
            Presence::Here(version) => version,
            Presence::MissingHardware(reason) => format!("not here: {reason}"),
            Presence::MissingTool(fix) if is_for_full_run(*need) => format!("missing, for `ci --full` only: {fix}"),
            Presence::MissingTool(fix) => {
                is_complete = false;
                format!("MISSING: {fix}")
            }
        };
        println!("{:14} {text}", need.name());
    }
    if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

const fn is_for_full_run(need: Need) -> bool {
    matches!(need, Need::CargoFuzz | Need::CargoDeny)
}
