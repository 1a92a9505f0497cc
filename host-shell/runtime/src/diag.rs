//! One line of log per event, straight to standard error.
//!
//! A line is formatted into a buffer of fixed size and written with one `write(2)`: no allocation and no lock shared
//! with the caller's program, so a line may be written from anywhere, a launch and a forked child included. What does
//! not fit is cut, and the cut is shown.
//!
//! `TENON_LOG` chooses the least grave level that is written: `off`, `error`, `warn` (the default), `info` or `debug`.

use core::fmt::{self, Write as _};
use core::sync::atomic::{AtomicU8, Ordering};

use heapless::String;

/// How grave a line is. The order is that of the numbers: a graver level is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// A call was refused or failed.
    Error = 1,
    /// Something that the caller should know, though the call went on.
    Warn = 2,
    /// What a context does.
    Info = 3,
    /// Every step of it.
    Debug = 4,
}

impl Level {
    /// The word that stands in a line and in `TENON_LOG`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
        }
    }
}

/// Bytes of the longest line, its newline included. `PIPE_BUF` is at least as much: lines of two threads do not mix in
/// a pipe.
const LINE_BYTES: usize = 512;
/// Ends a line that was cut.
const CUT: &str = "…\n";

/// Nothing is written.
const OFF: u8 = 0;
/// `TENON_LOG` was not read yet.
const UNREAD: u8 = u8::MAX;

static THRESHOLD: AtomicU8 = AtomicU8::new(UNREAD);

/// Reads `TENON_LOG`, unless that was done before. Reading allocates, so it is done when a context is made, not when it
/// logs.
pub fn init() {
    if THRESHOLD.load(Ordering::Relaxed) == UNREAD {
        let asked = std::env::var_os("TENON_LOG");
        THRESHOLD.store(threshold(asked.as_ref().and_then(|value| value.to_str())), Ordering::Relaxed);
    }
}

/// Whether a line of this level would be written.
pub fn is_enabled(level: Level) -> bool {
    let threshold = match THRESHOLD.load(Ordering::Relaxed) {
        UNREAD => Level::Warn as u8,
        read => read,
    };
    level as u8 <= threshold
}

/// Writes one line: `tenon: LEVEL: PLACE: MESSAGE`. `place` is the entry or the part that speaks.
pub fn log(level: Level, place: &str, message: fmt::Arguments<'_>) {
    if is_enabled(level) {
        write_all_at_once(line(level, place, message).as_bytes());
    }
}

fn threshold(asked: Option<&str>) -> u8 {
    match asked {
        Some("off") => OFF,
        Some("error") => Level::Error as u8,
        Some("info") => Level::Info as u8,
        Some("debug") => Level::Debug as u8,
        // A word nobody knows must not silence errors.
        _ => Level::Warn as u8,
    }
}

fn line(level: Level, place: &str, message: fmt::Arguments<'_>) -> String<LINE_BYTES> {
    let mut text = Cutting::default();
    // `Cutting` never answers an error; a `Display` that does has written what it had.
    let _ = write!(text, "tenon: {}: {place}: {message}", level.name());
    text.finish()
}

/// A line that takes what fits and remembers that there was more.
#[derive(Default)]
struct Cutting {
    text: String<LINE_BYTES>,
    is_cut: bool,
}

impl Cutting {
    fn finish(mut self) -> String<LINE_BYTES> {
        // Room for either end was kept by `write_str`.
        let end = if self.is_cut { CUT } else { "\n" };
        let _ = self.text.push_str(end);
        self.text
    }
}

impl fmt::Write for Cutting {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let characters = if self.is_cut { "" } else { part };
        for character in characters.chars() {
            // A line stays a line, whatever a name in it contains.
            let shown = if character.is_control() { '?' } else { character };
            if self.text.len() + shown.len_utf8() + CUT.len() > LINE_BYTES {
                self.is_cut = true;
                break;
            }
            let _ = self.text.push(shown);
        }
        Ok(())
    }
}

/// One `write(2)`, again only when a signal came before anything was written. A failure has nowhere to be reported.
fn write_all_at_once(bytes: &[u8]) {
    loop {
        // SAFETY:
        // 1. `bytes` is readable for its length: it is a slice.
        // 2. The descriptor may be closed or anything else; the kernel checks it.
        let written = unsafe { libc::write(libc::STDERR_FILENO, bytes.as_ptr().cast(), bytes.len()) };
        if written >= 0 || std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_level_place_and_message() {
        let text = line(Level::Error, "simpler_run", format_args!("args is null"));
        assert_eq!(text, "tenon: error: simpler_run: args is null\n");
    }

    #[test]
    fn a_long_line_is_cut_and_says_so() {
        let long = "ü".repeat(LINE_BYTES);
        let text = line(Level::Warn, "place", format_args!("{long} and more"));
        assert!(text.ends_with("ü…\n"), "{text}");
        assert!(text.len() <= LINE_BYTES);
        assert_eq!(text.matches('\n').count(), 1);
    }

    #[test]
    fn a_message_cannot_start_a_line_of_its_own() {
        let text = line(Level::Info, "place", format_args!("one\ntenon: error: two\x1b[31m"));
        assert_eq!(text, "tenon: info: place: one?tenon: error: two?[31m\n");
    }

    #[test]
    fn tenon_log_chooses_the_level_and_an_unknown_word_keeps_errors() {
        assert_eq!(threshold(Some("off")), OFF);
        assert_eq!(threshold(Some("error")), 1);
        assert_eq!(threshold(Some("warn")), 2);
        assert_eq!(threshold(Some("info")), 3);
        assert_eq!(threshold(Some("debug")), 4);
        assert_eq!(threshold(None), 2);
        assert_eq!(threshold(Some("loud")), 2);
    }
}
