//! `cargo xtask demo`: real operators in kernel mode, from a C program.
//!
//! The data and the independent results come from a Rust program that knows nothing of the runtime; the client is plain C and
//! knows nothing of Rust. What it prints is its own.

use std::path::PathBuf;

use xshell::cmd;

use crate::stage;
use crate::workspace::{Result, Workspace, run as run_command};

/// How the client is compiled.
const FLAGS: &[&str] = &["-std=c11", "-O2", "-g", "-Wall", "-Wextra", "-Werror"];

/// Builds everything, writes the data, compiles the client and runs it.
pub(crate) fn run(workspace: &Workspace) -> Result {
    stage::build(workspace, &[], false)?;
    let shell = &workspace.shell;
    let (build, data) = (workspace.build(), workspace.build().join("demo"));
    shell.create_dir(&data)?;
    run_command(cmd!(shell, "cargo run --quiet --release --package tenon-tests --bin tenon-demo-data -- {data}"))?;
    let client = compile(workspace)?;
    run_command(cmd!(shell, "{client} {build} {data}"))
}

/// Compiles `tests/clients/demo.c` against the staged headers and libraries.
fn compile(workspace: &Workspace) -> Result<PathBuf> {
    let shell = &workspace.shell;
    let build = workspace.build();
    let (include, lib, client) = (build.join("include"), build.join("lib"), build.join("bin/tenon-demo"));
    let source = workspace.root.join("tests/clients/demo.c");
    let rpath = "-Wl,-rpath,$ORIGIN/../lib";
    run_command(cmd!(
        shell,
        "cc {FLAGS...} -I {include} -o {client} {source} -L {lib} {rpath} -lhost_runtime -ltenon_sim -lm"
    ))?;
    Ok(client)
}

/// The lane: what a stranger with pkg-config would type finds headers and libraries.
pub(crate) fn compile_with_pkg_config(workspace: &Workspace) -> Result {
    let shell = &workspace.shell;
    stage::build(workspace, &[], false)?;
    let path = workspace.build().join("lib/pkgconfig");
    let flags =
        cmd!(shell, "env PKG_CONFIG_PATH={path} pkg-config --cflags --libs tenon-host-runtime tenon-sim").read()?;
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let source = workspace.root.join("tests/clients/demo.c");
    let client = workspace.build().join("demo-with-pkg-config");
    run_command(cmd!(shell, "cc {FLAGS...} -o {client} {source} {flags...} -lm"))
}
