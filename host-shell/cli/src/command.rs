//! The command line, and which module does what it says.
//!

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::pack::Pack;

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  2  the command line is wrong
  3  a file cannot be read or written
  4  a file's contents are refused; the message names field, offset and what was expected

Environment:
  TENON_LOG   what to log to standard error, as in `debug` or `tenon=trace` (nothing by default)";

/// Packs, shows and launches Tenon callables.
#[derive(Debug, Parser)]
#[command(name = "tenon", version, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build a callable image from compiled objects and a description
    Pack(Pack),
}

impl Cli {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Pack(pack) => pack.run().map(|()| ExitCode::SUCCESS),
        }
    }
}
