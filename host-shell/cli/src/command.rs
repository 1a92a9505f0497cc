//! The command line, and which module does what it says.
//!

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::buffer;
use crate::doctor::Doctor;
use crate::failure::Failure;
use crate::launch::Launch;
use crate::pack::Pack;
use crate::show::Show;

const AFTER_HELP: &str = "\
Start here:
  tenon doctor                                        is everything here?
  tenon pack add.toml -o add.callable                 objects and a description become an image
  tenon callable show add.callable                    what is in it?
  tenon launch add.callable --in a.npy --in b.npy --out c.npy

Exit codes:
  0  done
  1  doctor found something missing
  2  the command line is wrong, or does not fit the callable
  3  a file cannot be read or written
  4  a file's contents are refused; the message names field, offset and what was expected
  5  a library or one of its symbols is missing; the message names it
  6  the runtime or the device refused or failed; the message names the call and its answer

Environment:
  TENON_LOG      off, error, warn, info or debug: what runtime and device log to standard error (warn by default), and the command
                 itself (error by default)
  TENON_RUNTIME  the host runtime to load, if not beside this program
  TENON_SIM      the simulated device to load, if not beside the runtime";

const LAUNCH_HELP: &str = "\
Operands are given in the order of the callable's signature: one --in for each `in` and `inout`, one --out for each `out` and \
`inout`, one --scalar for each `scalar`. `tenon callable show` prints the signature.

An `out` has the shape and type of the first input unless --out-shape and --out-dtype say otherwise.

Examples:
  tenon launch add.callable --in a.npy --in b.npy --out c.npy
  tenon launch norm.callable --in x.npy --in weight.npy --scalar f32:1e-5 --out y.npy
  tenon launch gemm.callable --in a.npy --in b.npy --out c.npy --out-shape 128x64
  tenon launch add.callable --in a.npy --in b.npy --out c.npy --graph --replays 1000";

const PACK_HELP: &str = "\
The description:
  func = \"attention\"                 # the orchestration's symbol
  config = \"fused\"                   # optional
  object = \"attention.so\"            # the orchestration, compiled
  signature = [\"in\", \"in\", \"out\", \"scalar\"]   # in, out, inout, scalar; tensors before scalars
  scalar_count = 1                   # optional: 0 (not recorded) or the number of scalars
  code = \"elf\"                       # optional: \"elf\", or \"raw\" machine code for bare metal

  [[child]]                          # none or more, in the order of their index
  object = \"matmul.so\"               # exports `tenon_kernel`
  func_id = 7                        # optional: the child's index when absent
  signature = [\"in\", \"in\", \"out\"]

Paths of objects are relative to the description, or to --objects.";

/// Packs, shows and launches Tenon callables, and looks at this machine.
#[derive(Debug, Parser)]
#[command(name = "tenon", version, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build a callable image from compiled objects and a description
    #[command(after_help = PACK_HELP)]
    Pack(Pack),
    /// Look into a callable image
    #[command(subcommand)]
    Callable(CallableCommand),
    /// Run a callable on arrays from .npy files, in kernel mode on the simulated device
    #[command(after_help = LAUNCH_HELP)]
    Launch(Launch),
    /// Check and explain buffers that cross processes
    #[command(subcommand)]
    Buffer(BufferCommand),
    /// Say what this machine has, what is missing, and the command that fixes it
    Doctor(Doctor),
}

#[derive(Debug, Subcommand)]
enum CallableCommand {
    /// Print header, signature, counts, children and hash
    Show(Show),
}

#[derive(Debug, Subcommand)]
enum BufferCommand {
    /// Read lines `descriptor HEX`, `buffer_ref HEX` or `overlap HEX`, or JSON objects with `kind` and `hex`, from standard input
    /// and print a JSON object for each
    Check(buffer::Check),
    /// Explain every field of a descriptor or a reference
    Show(buffer::Show),
}

impl Cli {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Pack(pack) => pack.run()?,
            Command::Callable(CallableCommand::Show(show)) => show.run()?,
            Command::Launch(launch) => launch.run()?,
            Command::Buffer(BufferCommand::Check(check)) => check.run()?,
            Command::Buffer(BufferCommand::Show(show)) => show.run()?,
            Command::Doctor(doctor) => return Ok(doctor.run()),
        }
        Ok(ExitCode::SUCCESS)
    }
}
