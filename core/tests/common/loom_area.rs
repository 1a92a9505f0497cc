//! One slot's part of a context area, over loom's atomics.
//!

use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use tenon_core::area::{
    AreaWords, BUSY, CANCELLED, CONTEXT_GENERATION, FIRST_REFUSAL, REFUSALS, VERDICT_LEAVE, VERDICT_WORK,
};

/// The words of record 0, of slot 0, of the device's line and of the verdicts. Other slots read as zero and forget.
///
/// Loom takes a sequentially consistent access for acquire and release only, but models the fence; so the accesses that the
/// protocol wants in one total order have a fence between them.
pub(crate) struct LoomArea {
    context_generation: AtomicU64,
    cancelled: AtomicU32,
    record: [AtomicU64; 4],
    busy: AtomicU32,
    first_refusal: AtomicU32,
    refusals: AtomicU64,
    work: AtomicU32,
    leave: AtomicU32,
}

impl LoomArea {
    pub(crate) fn new(context_generation: u64, record: [u64; 4]) -> Self {
        Self {
            context_generation: AtomicU64::new(context_generation),
            cancelled: AtomicU32::new(0),
            record: record.map(AtomicU64::new),
            busy: AtomicU32::new(0),
            first_refusal: AtomicU32::new(0),
            refusals: AtomicU64::new(0),
            work: AtomicU32::new(0),
            leave: AtomicU32::new(0),
        }
    }

    fn wide(&self, offset: u64) -> Option<&AtomicU64> {
        match offset {
            CONTEXT_GENERATION => Some(&self.context_generation),
            32 => Some(&self.record[0]),
            40 => Some(&self.record[1]),
            48 => Some(&self.record[2]),
            56 => Some(&self.record[3]),
            64..2080 => None,
            REFUSALS => Some(&self.refusals),
            _ => panic!("no word of eight bytes at {offset}"),
        }
    }

    fn narrow(&self, offset: u64) -> &AtomicU32 {
        match offset {
            CANCELLED => &self.cancelled,
            BUSY => &self.busy,
            FIRST_REFUSAL => &self.first_refusal,
            VERDICT_WORK => &self.work,
            VERDICT_LEAVE => &self.leave,
            _ => panic!("no word of four bytes at {offset}"),
        }
    }
}

impl AreaWords for LoomArea {
    fn load_u64(&self, offset: u64) -> u64 {
        self.wide(offset).map_or(0, |word| word.load(Ordering::Acquire))
    }
    fn load_u32(&self, offset: u64) -> u32 {
        self.narrow(offset).load(Ordering::Acquire)
    }
    fn store_u64(&self, offset: u64, value: u64) {
        if let Some(word) = self.wide(offset) {
            word.store(value, Ordering::Release);
        }
    }
    fn store_u32(&self, offset: u64, value: u32) {
        self.narrow(offset).store(value, Ordering::Release);
    }
    fn load_u64_seq_cst(&self, offset: u64) -> u64 {
        fence(Ordering::SeqCst);
        self.load_u64(offset)
    }
    fn load_u32_seq_cst(&self, offset: u64) -> u32 {
        fence(Ordering::SeqCst);
        self.load_u32(offset)
    }
    fn store_u64_seq_cst(&self, offset: u64, value: u64) {
        self.store_u64(offset, value);
    }
    fn compare_exchange_u32(&self, offset: u64, current: u32, new: u32) -> Result<u32, u32> {
        self.narrow(offset).compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire)
    }
    fn store_u32_seq_cst(&self, offset: u64, value: u32) {
        self.store_u32(offset, value);
    }
    fn fetch_add_u32(&self, offset: u64, value: u32) -> u32 {
        self.narrow(offset).fetch_add(value, Ordering::AcqRel)
    }
    fn fetch_add_u64(&self, offset: u64, value: u64) -> u64 {
        self.wide(offset).map_or(0, |word| word.fetch_add(value, Ordering::AcqRel))
    }
    fn invalidate(&self, _offset: u64, _len: u64) {}
}
