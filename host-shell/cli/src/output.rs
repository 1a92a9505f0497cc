//! Lines of results on standard output.
//!

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process;

/// Prints a line of a result, as `println!` does, and ends the program where `println!` panics.
macro_rules! say {
    ($($text:tt)*) => { $crate::output::line(format_args!($($text)*)) };
}
pub(crate) use say;

/// A result that cannot be written is a failed command (exit code 3), not a fault of the program. A reader that has gone has seen
/// what it wanted.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    let mut out = io::stdout().lock();
    if let Err(error) = writeln!(out, "{text}").and_then(|()| out.flush()) {
        if error.kind() != ErrorKind::BrokenPipe {
            eprintln!("tenon: standard output: cannot write: {error}");
        }
        process::exit(3);
    }
}
