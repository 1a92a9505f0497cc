//! `cargo xtask demo`: real operators in kernel mode, from a C program.
//!
//! The data and the independent results come from a Rust program that knows nothing of the runtime; the client is plain C and
//! knows nothing of Rust. What it prints is its own.

use xshell::cmd;

use crate::stage;
use crate::workspace::{Result, Workspace, run as run_command};

/// How the client is compiled.
const FLAGS: &[&str] = &["-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Werror"];

/// Builds everything, writes the data, compiles the client and runs it.
pub(crate) fn run(workspace: &Workspace) -> Result {
    stage::build(workspace, &[], false)?;
    let shell = &workspace.shell;
    let data = ["--package", "tenon-tests", "--no-default-features", "--bin", "tenon-demo-data"];
    run_command(cmd!(shell, "cargo run --quiet --release {data...} -- build/demo"))?;
    let flags =
        ["-I", "build/include", "-L", "build/lib", "-Wl,-rpath,$ORIGIN/../lib", "-lhost_runtime", "-ltenon_sim"];
    compile(workspace, "build/bin/tenon-demo", &flags)?;
    run_command(cmd!(shell, "build/bin/tenon-demo build build/demo"))
}

/// The lane: what a stranger with pkg-config would type finds headers and libraries.
pub(crate) fn compile_with_pkg_config(workspace: &Workspace) -> Result {
    stage::build(workspace, &[], false)?;
    let shell = &workspace.shell;
    let path = workspace.build().join("lib/pkgconfig");
    let query = cmd!(shell, "env PKG_CONFIG_PATH={path} pkg-config --cflags --libs tenon-host-runtime tenon-sim");
    let flags = query.read()?;
    compile(workspace, "build/demo-with-pkg-config", &flags.split_whitespace().collect::<Vec<_>>())
}

/// Compiles `tests/clients/demo.c`; `flags` tell where headers and libraries are.
fn compile(workspace: &Workspace, client: &str, flags: &[&str]) -> Result {
    run_command(cmd!(workspace.shell, "cc {FLAGS...} -o {client} tests/clients/demo.c {flags...} -lm"))
}
