//! The context area: device memory that host and device share for one context.
//!
//! | at | written by | what |
//! | --- | --- | --- |
//! | 0 | host | record 0 of the context: generation, `cancelled` |
//! | 32 + 32·id | host | one record per slot |
//! | 2,112 | device | its line: busy, first refusal, refusals |
//! | 2,176 | device | verdicts: work, leave |
//!
//! Both sides change it while the other looks, so nobody makes a reference into it: everything goes through [`AreaWords`], which
//! shells implement over volatile memory and tests over plain or loom atomics.

use crate::wire::SLOTS;

/// Bytes of a context area.
pub const AREA_BYTES: u64 = 2240;
/// Alignment of a context area.
pub const AREA_ALIGN: u64 = 64;
/// Areas that one device process can have in its life.
pub const MAX_AREAS: usize = 1024;

/// `context_generation u64`
pub const CONTEXT_GENERATION: u64 = 0;
/// `cancelled u32`; any non-zero value is set, and it is never unset.
pub const CANCELLED: u64 = 8;
/// First slot record.
pub const RECORDS: u64 = 32;
/// Bytes of one slot record.
pub const RECORD_BYTES: u64 = 32;
/// Within a record: `generation u64`.
pub const RECORD_GENERATION: u64 = 0;
/// Within a record: `device_address u64`.
pub const RECORD_ADDRESS: u64 = 8;
/// Within a record: `bytes u64`.
pub const RECORD_LENGTH: u64 = 16;
/// Within a record: `callable_id i32`, then `reserved u32`.
pub const RECORD_ID_AND_RESERVED: u64 = 24;
/// The device's line: `busy u32`; any non-zero value is set.
pub const BUSY: u64 = 2112;
/// The device's line: `first_refusal u32`.
pub const FIRST_REFUSAL: u64 = 2116;
/// The device's line: `refusals u64`.
pub const REFUSALS: u64 = 2120;
/// Verdicts: `work u32`.
pub const VERDICT_WORK: u64 = 2176;
/// Verdicts: `leave u32`.
pub const VERDICT_LEAVE: u64 = 2180;

/// Offset of a slot's record from the start of the area, for a slot below [`SLOTS`].
#[must_use]
pub const fn record_offset(slot: usize) -> Option<u64> {
    if slot < SLOTS { Some(RECORDS.saturating_add(RECORD_BYTES.saturating_mul(slot as u64))) } else { None }
}

/// The device's line, decoded from a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceLine {
    /// A launch is executing.
    pub is_busy: bool,
    /// Number of the first refusal's answer, else 0.
    pub first_refusal: u32,
    /// Refusals so far.
    pub refusals: u64,
}

/// Bytes of the device's line that mean something.
pub const DEVICE_LINE_BYTES: usize = 16;
/// Bytes from the start of the area to the end of the last slot record.
pub const RECORDS_END: usize = 2080;

impl DeviceLine {
    /// Decodes a copy of the [`DEVICE_LINE_BYTES`] at [`BUSY`].
    #[must_use]
    pub const fn decode(bytes: &[u8; DEVICE_LINE_BYTES]) -> Self {
        let [b0, b1, b2, b3, f0, f1, f2, f3, r @ ..] = *bytes;
        Self {
            is_busy: u32::from_le_bytes([b0, b1, b2, b3]) != 0,
            first_refusal: u32::from_le_bytes([f0, f1, f2, f3]),
            refusals: u64::from_le_bytes(r),
        }
    }
}

/// Whether every slot generation is 0 in a copy of the area's first [`RECORDS_END`] bytes.
#[must_use]
pub fn is_every_record_zero(head: &[u8; RECORDS_END]) -> bool {
    // 32 bytes a record, record 0 being the context's own; a generation is the first eight.
    head.chunks_exact(32).skip(1).all(|record| record.iter().take(8).all(|byte| *byte == 0))
}

/// Access to the words of one context area.
///
/// Offsets are those of this module, always inside the area and naturally aligned. Implementations on a part whose AICPU is not
/// coherent with host-written memory do the cache maintenance in [`invalidate`](Self::invalidate) and after a store.
pub trait AreaWords {
    /// Reads eight bytes with acquire order.
    fn load_u64(&self, offset: u64) -> u64;
    /// Reads four bytes with acquire order.
    fn load_u32(&self, offset: u64) -> u32;
    /// Writes eight bytes with release order.
    fn store_u64(&self, offset: u64, value: u64);
    /// Writes four bytes with release order.
    fn store_u32(&self, offset: u64, value: u32);
    /// Reads eight bytes in the one total order of sequentially consistent operations.
    fn load_u64_seq_cst(&self, offset: u64) -> u64;
    /// Reads four bytes, sequentially consistent.
    fn load_u32_seq_cst(&self, offset: u64) -> u32;
    /// Writes eight bytes, sequentially consistent.
    fn store_u64_seq_cst(&self, offset: u64, value: u64);
    /// Replaces `current` by `new`, sequentially consistent; `Err` gives what was there.
    ///
    /// # Errors
    /// The value that was found, when it was not `current`.
    fn compare_exchange_u32(&self, offset: u64, current: u32, new: u32) -> Result<u32, u32>;
    /// Writes four bytes, sequentially consistent.
    fn store_u32_seq_cst(&self, offset: u64, value: u32);
    /// Adds to four bytes, wrapping, acquire and release; gives what was there.
    fn fetch_add_u32(&self, offset: u64, value: u32) -> u32;
    /// Adds to eight bytes, wrapping, acquire and release; gives what was there.
    fn fetch_add_u64(&self, offset: u64, value: u64) -> u64;
    /// Drops what a cache holds of `len` bytes at `offset`, before they are read again. Nothing to do on a coherent part.
    fn invalidate(&self, offset: u64, len: u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_those_of_the_specification() {
        assert_eq!(record_offset(0), Some(32));
        assert_eq!(record_offset(63), Some(2048));
        assert_eq!(record_offset(64), None);
        assert_eq!(RECORDS_END as u64, record_offset(63).map_or(0, |o| o + RECORD_BYTES));
        // Host records, device line and verdicts lie on different 64-byte lines.
        assert!(RECORDS_END as u64 <= BUSY && BUSY.is_multiple_of(64) && VERDICT_WORK.is_multiple_of(64));
        assert_eq!(AREA_BYTES, VERDICT_WORK + 64);
    }

    #[test]
    fn the_device_line_is_decoded_from_its_words() {
        let mut bytes = [0; DEVICE_LINE_BYTES];
        assert_eq!(DeviceLine::decode(&bytes), DeviceLine::default());
        bytes[3] = 1;
        bytes[4] = 3;
        bytes[8] = 7;
        assert_eq!(DeviceLine::decode(&bytes), DeviceLine { is_busy: true, first_refusal: 3, refusals: 7 });
    }

    #[test]
    fn one_generation_that_is_left_is_seen_wherever_it_is() {
        for slot in 0..SLOTS {
            let mut head = [0; RECORDS_END];
            head[0] = 9; // The context's own generation stays.
            assert!(is_every_record_zero(&head));
            head[32 + 32 * slot + 7] = 1;
            assert!(!is_every_record_zero(&head));
        }
    }
}
