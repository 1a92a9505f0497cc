//! `cargo xtask`: builds, checks and shows everything in this repository.
//!
//! One file per command or concern. [`variants`] is the list of all ways in which packages are built, [`ci`] turns it into
//! lanes. Nothing here imports another package of the workspace, so that an error in one of them can always be reported.

mod bench;
mod ci;
mod demo;
mod dependencies;
mod doctor;
mod exports;
mod headers;
mod lane;
mod licences;
mod needs;
mod operators;
mod report;
mod stage;
mod tidy;
mod variants;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::workspace::{Result, Workspace};

/// Builds, checks and shows everything in this repository.
#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Builds and stages `build/`: programs, libraries, headers and packed operators.
    Build {
        /// Variants to build, by name or a part of it; all that are staged when none is named.
        variants: Vec<String>,
        /// Without optimisation, with overflow checks.
        #[arg(long)]
        debug: bool,
        /// Prints the names of all variants and why each exists.
        #[arg(long)]
        list: bool,
    },
    /// Runs every lane and ends with one table; fails when a lane fails.
    Ci(ci::Options),
    /// Shows real operators run in kernel mode on the simulated device.
    Demo,
    /// Measures, and compares the ratios with their limits.
    Bench {
        /// Few rounds, nothing recorded: shows that the benches work.
        #[arg(long)]
        quick: bool,
    },
    /// Writes the C headers from the Rust types.
    Headers {
        /// Compares instead of writing.
        #[arg(long)]
        check: bool,
    },
    /// What this machine has, what is missing, and the command that fixes it.
    Doctor,
    /// The quick lanes, before every commit: format, file rules, and lints and unit tests of the libraries.
    Check,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    match command {
        Command::Build { list: true, .. } => variants::print(),
        Command::Build { variants, debug, .. } => stage::build(&workspace, &variants, debug)?,
        Command::Ci(options) => return ci::run(&workspace, &options),
        Command::Check => return ci::check(&workspace),
        Command::Demo => demo::run(&workspace)?,
        Command::Bench { quick } => bench::run(&workspace, quick)?,
        Command::Headers { check } => headers::run(&workspace, check)?,
        Command::Doctor => return Ok(doctor::run(&workspace)),
    }
    Ok(ExitCode::SUCCESS)
}
