//! `cargo xtask headers`: runs the generator of the C headers.
//!

use xshell::cmd;

use crate::workspace::{Result, Workspace, run as run_command};

/// Writes the headers, or compares them with the committed ones.
pub(crate) fn run(workspace: &Workspace, is_check: bool) -> Result {
    let check = is_check.then_some("--check");
    run_command(cmd!(workspace.shell, "cargo run --quiet --package tenon-abi-headers -- {check...}"))
}

/// The lane: compares.
pub(crate) fn check(workspace: &Workspace) -> Result {
    run(workspace, true)
        .map_err(|_| "the committed headers differ from what the types give: run `cargo xtask headers`".into())
}
