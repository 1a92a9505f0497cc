//! Lines of log on standard error: one `write(2)` a line, no allocation.
//!
//! `TENON_LOG` (off, error, warn, info or debug) says how much; warnings and errors are shown when it says nothing of the kind.

use core::fmt::{self, Write as _};
use std::io::Write as _;
use std::sync::OnceLock;

/// How urgent a line is; the numbers are those of syslog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Something failed.
    Error = 3,
    /// Something is odd.
    Warning = 4,
    /// Worth knowing.
    Info = 6,
    /// For those who develop it.
    Debug = 7,
}

impl Level {
    /// The level of a syslog number; numbers between two levels count as the more urgent one.
    #[must_use]
    pub const fn from_syslog(number: i32) -> Self {
        match number {
            ..=3 => Self::Error,
            4 | 5 => Self::Warning,
            6 => Self::Info,
            7.. => Self::Debug,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// Longest line; what is beyond is cut off.
const LINE_BYTES: usize = 512;

/// Text that keeps what fits and drops the rest.
struct Line(heapless::String<LINE_BYTES>);

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for character in text.chars() {
            if self.0.push(character).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// Writes one line.
pub fn line(level: Level, text: fmt::Arguments<'_>) {
    static LIMIT: OnceLock<Option<Level>> = OnceLock::new();
    let limit = *LIMIT.get_or_init(|| match std::env::var("TENON_LOG").as_deref() {
        Ok("off") => None,
        Ok("error") => Some(Level::Error),
        Ok("info") => Some(Level::Info),
        Ok("debug" | "trace") => Some(Level::Debug),
        Ok(_) | Err(_) => Some(Level::Warning),
    });
    if limit.is_none_or(|limit| level > limit) {
        return;
    }
    let mut line = Line(heapless::String::new());
    // Neither can fail in a way that anybody could be told about.
    let _ = write!(line, "tenon-sim-device[{}]: {}: {text}", std::process::id(), level.name());
    if line.0.push('\n').is_err() {
        line.0.pop();
        let _ = line.0.push('\n');
    }
    let _ = std::io::stderr().write_all(line.0.as_bytes());
}
