//! What several tests share: a context area in plain memory, seeded numbers.
//!
#![allow(dead_code, reason = "each test file uses a part of this module")]

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tenon_core::area::{AREA_BYTES, AreaWords};
use tenon_core::generation::{CallableId, Generation, SlotIndex};

/// A context area over atomics of the standard library. Each offset is used with one width only.
pub(crate) struct PlainArea {
    wide: Vec<AtomicU64>,
    narrow: Vec<AtomicU32>,
}

impl PlainArea {
    /// An area full of zeroes.
    pub(crate) fn new() -> Self {
        Self {
            wide: (0..AREA_BYTES / 8).map(|_| AtomicU64::new(0)).collect(),
            narrow: (0..AREA_BYTES / 4).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    fn wide(&self, offset: u64) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8), "{offset} is not aligned");
        &self.wide[usize::try_from(offset / 8).unwrap()]
    }

    fn narrow(&self, offset: u64) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4), "{offset} is not aligned");
        &self.narrow[usize::try_from(offset / 4).unwrap()]
    }
}

impl AreaWords for PlainArea {
    fn load_u64(&self, offset: u64) -> u64 {
        self.wide(offset).load(Ordering::Acquire)
    }
    fn load_u32(&self, offset: u64) -> u32 {
        self.narrow(offset).load(Ordering::Acquire)
    }
    fn store_u64(&self, offset: u64, value: u64) {
        self.wide(offset).store(value, Ordering::Release);
    }
    fn store_u32(&self, offset: u64, value: u32) {
        self.narrow(offset).store(value, Ordering::Release);
    }
    fn load_u64_seq_cst(&self, offset: u64) -> u64 {
        self.wide(offset).load(Ordering::SeqCst)
    }
    fn load_u32_seq_cst(&self, offset: u64) -> u32 {
        self.narrow(offset).load(Ordering::SeqCst)
    }
    fn store_u64_seq_cst(&self, offset: u64, value: u64) {
        self.wide(offset).store(value, Ordering::SeqCst);
    }
    fn compare_exchange_u32(&self, offset: u64, current: u32, new: u32) -> Result<u32, u32> {
        self.narrow(offset).compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst)
    }
    fn store_u32_seq_cst(&self, offset: u64, value: u32) {
        self.narrow(offset).store(value, Ordering::SeqCst);
    }
    fn fetch_add_u32(&self, offset: u64, value: u32) -> u32 {
        self.narrow(offset).fetch_add(value, Ordering::AcqRel)
    }
    fn fetch_add_u64(&self, offset: u64, value: u64) -> u64 {
        self.wide(offset).fetch_add(value, Ordering::AcqRel)
    }
    fn invalidate(&self, offset: u64, len: u64) {
        assert!(offset.is_multiple_of(64) && len == 64, "{len} bytes at {offset} are not one line");
    }
}

/// The tenant of slot `id` with this generation.
pub(crate) fn callable(id: i32, generation: u64) -> CallableId {
    CallableId { slot: SlotIndex::from_id(id).unwrap(), generation: Generation::from_bits(generation).unwrap() }
}

/// SplitMix64: every seed gives another full-period sequence.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is small.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 16) % bound
    }
}
