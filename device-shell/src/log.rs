//! Lines of log for the device process, put together without `core::fmt`.
//!
//! Formatting machinery would be most of a device image. What a line says are literals, numbers and names.

use heapless::Vec;

use crate::platform_table::Platform;

/// How much a line matters, as in syslog.
#[cfg_attr(target_os = "none", expect(dead_code, reason = "code in place neither comes nor goes, nor fails to"))]
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(crate) enum Level {
    /// Something is broken.
    Error = 3,
    /// A launch was refused or failed.
    Warning = 4,
    /// Code came or went.
    Info = 6,
}

/// Longest line; what does not fit is cut.
const LINE_BYTES: usize = 200;

/// A line in the making.
#[derive(Debug, Default)]
pub(crate) struct Line(Vec<u8, LINE_BYTES>);

impl Line {
    /// Begins a line.
    pub(crate) fn new(text: &str) -> Self {
        Self::default().text(text)
    }

    /// Adds text.
    pub(crate) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// Adds bytes that are text as far as anybody knows. Control characters become `?`: a line stays one line.
    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        for byte in bytes {
            let shown = if byte.is_ascii_control() { b'?' } else { *byte };
            // A full line stays as it is.
            let _ = self.0.push(shown);
        }
        self
    }

    /// Adds a number.
    pub(crate) fn number(self, number: impl Into<i128>) -> Self {
        let number: i128 = number.into();
        let line = if number < 0 { self.text("-") } else { self };
        line.digits::<10>(u64::try_from(number.unsigned_abs()).unwrap_or(u64::MAX))
    }

    /// Adds an address.
    pub(crate) fn address(self, address: u64) -> Self {
        self.text("0x").digits::<16>(address)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a digit is below 16")]
    fn digits<const BASE: u64>(self, mut number: u64) -> Self {
        const { assert!(1 < BASE && BASE <= 16) };
        // 20 decimal digits hold every u64; they are found from the last to the first.
        let mut digits = [0; 20];
        let mut used = 0;
        for digit in digits.iter_mut().rev() {
            let value = (number % BASE) as u8;
            *digit = if value < 10 { b'0' + value } else { b'a' + value - 10 };
            number /= BASE;
            used += 1;
            if number == 0 {
                break;
            }
        }
        self.bytes(digits.get(digits.len() - used..).unwrap_or_default())
    }

    /// Hands the line to the device process, and to defmt where that is built in.
    pub(crate) fn send(&self, level: Level, platform: &Platform) {
        #[cfg(feature = "defmt")]
        {
            let text = core::str::from_utf8(&self.0).unwrap_or("a line that is not UTF-8");
            match level {
                Level::Error => defmt::error!("{=str}", text),
                Level::Warning => defmt::warn!("{=str}", text),
                Level::Info => defmt::info!("{=str}", text),
            }
        }
        platform.log(level as i32, &self.0);
    }
}
