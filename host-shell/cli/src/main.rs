//! The `tenon` command: packs, shows and launches callables.
//!
//! One module per command; each gives a [`failure::Failure`] that names file, field, offset and what was expected, and every kind
//! of failure has its own exit code. Results go to standard output, everything else to standard error.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tracing_subscriber::EnvFilter;

mod buffer;
mod command;
mod device;
mod doctor;
mod failure;
mod file;
mod launch;
mod library;
mod output;
mod pack;
mod runtime;
mod show;

fn main() -> ExitCode {
    let cli = command::Cli::parse();
    let filter = EnvFilter::builder().with_env_var("TENON_LOG").from_env_lossy();
    let is_terminal = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(is_terminal).with_writer(std::io::stderr).init();
    match cli.run() {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("tenon: {failure}");
            failure.exit_code()
        }
    }
}

/// A number of things, as a person says it.
fn count(number: impl Into<u64>, thing: &str) -> String {
    let number = number.into();
    let plural = match thing {
        "child" => "children".to_owned(),
        "launch" => "launches".to_owned(),
        _ => format!("{thing}s"),
    };
    format!("{number} {}", if number == 1 { thing } else { &plural })
}
