//! Context areas in device memory: which exist, and their words as atomics.
//!

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{AtomicU32, AtomicU64};

use tenon_core::area::{AREA_ALIGN, AREA_BYTES, AreaWords, MAX_AREAS};
use tenon_core::device::AreaInfo;

use super::mapping::Machine;

/// A registered context area, found to lie in device memory.
#[derive(Clone, Copy, Debug)]
pub struct MappedArea {
    words: *mut u8,
    /// Place in the table of areas.
    pub index: usize,
}

// SAFETY: the words live in device memory, which is never unmapped, and are reached through atomics alone.
unsafe impl Send for MappedArea {}

impl MappedArea {
    /// The registered area that begins at `base`.
    #[must_use]
    pub fn at(machine: &Machine, base: u64) -> Option<Self> {
        let info = find(machine, base)?;
        if info.base != base || !base.is_multiple_of(AREA_ALIGN) {
            return None;
        }
        Some(Self { words: machine.device(base, AREA_BYTES)?, index: usize::try_from(info.index).ok()? })
    }

    fn word_u32(&self, offset: u64) -> &AtomicU32 {
        // SAFETY:
        // 1. inside the area and aligned: `place` checked both;
        // 2. valid as long as the process lives, and only ever accessed as an atomic: device memory is never unmapped, and both
        //    sides of the protocol use atomics of this size.
        unsafe { AtomicU32::from_ptr(self.place(offset, 4).cast()) }
    }

    fn word_u64(&self, offset: u64) -> &AtomicU64 {
        // SAFETY: as in `word_u32`, with eight bytes.
        unsafe { AtomicU64::from_ptr(self.place(offset, 8).cast()) }
    }

    fn place(&self, offset: u64, bytes: u64) -> *mut u8 {
        assert!(offset <= AREA_BYTES - bytes && offset.is_multiple_of(bytes), "no word of {bytes} bytes at {offset}");
        let offset = usize::try_from(offset).expect("below 2,240");
        // SAFETY: inside the area, which `at` found inside device memory.
        unsafe { self.words.add(offset) }
    }
}

impl AreaWords for MappedArea {
    fn load_u64(&self, offset: u64) -> u64 {
        self.word_u64(offset).load(Acquire)
    }

    fn load_u32(&self, offset: u64) -> u32 {
        self.word_u32(offset).load(Acquire)
    }

    fn store_u64(&self, offset: u64, value: u64) {
        self.word_u64(offset).store(value, Release);
    }

    fn store_u32(&self, offset: u64, value: u32) {
        self.word_u32(offset).store(value, Release);
    }

    fn load_u64_seq_cst(&self, offset: u64) -> u64 {
        self.word_u64(offset).load(SeqCst)
    }

    fn load_u32_seq_cst(&self, offset: u64) -> u32 {
        self.word_u32(offset).load(SeqCst)
    }

    fn store_u64_seq_cst(&self, offset: u64, value: u64) {
        self.word_u64(offset).store(value, SeqCst);
    }

    fn compare_exchange_u32(&self, offset: u64, current: u32, new: u32) -> Result<u32, u32> {
        self.word_u32(offset).compare_exchange(current, new, SeqCst, SeqCst)
    }

    fn store_u32_seq_cst(&self, offset: u64, value: u32) {
        self.word_u32(offset).store(value, SeqCst);
    }

    fn fetch_add_u32(&self, offset: u64, value: u32) -> u32 {
        self.word_u32(offset).fetch_add(value, AcqRel)
    }

    fn fetch_add_u64(&self, offset: u64, value: u64) -> u64 {
        self.word_u64(offset).fetch_add(value, AcqRel)
    }

    fn invalidate(&self, _offset: u64, _len: u64) {
        // Host and device are coherent here.
    }
}

/// The registered area that contains `address`. Nothing at `address` is read.
#[must_use]
pub fn find(machine: &Machine, address: u64) -> Option<AreaInfo> {
    let control = machine.control();
    let count = usize::try_from(control.area_count.load(Acquire)).unwrap_or(usize::MAX).min(MAX_AREAS);
    let (index, entry) = control.areas.iter().take(count).enumerate().find(|(_, entry)| {
        let base = entry.base.load(Acquire);
        base != 0 && address.checked_sub(base).is_some_and(|offset| offset < AREA_BYTES)
    })?;
    Some(AreaInfo {
        base: entry.base.load(Relaxed),
        context_generation: entry.generation.load(Relaxed),
        index: u32::try_from(index).ok()?,
        reserved: 0,
    })
}

/// The place in the table of the registered area that begins at `base`.
#[must_use]
pub fn index_of(machine: &Machine, base: u64) -> Option<usize> {
    find(machine, base).filter(|info| info.base == base).and_then(|info| usize::try_from(info.index).ok())
}

const _: () = assert!(align_of::<AtomicU64>() as u64 <= AREA_ALIGN, "words of an aligned area are aligned");

#[cfg(test)]
mod tests {
    use core::ptr;

    use super::*;

    #[repr(C, align(64))]
    struct Bytes([u8; 2240]);

    #[test]
    fn words_are_where_the_specification_has_them() {
        let mut bytes = Bytes([0; 2240]);
        let area = MappedArea { words: ptr::from_mut(&mut bytes).cast(), index: 0 };
        area.store_u64(32, 0x1122_3344_5566_7788);
        area.store_u32(2176, 7);
        assert_eq!(area.fetch_add_u32(2176, 1), 7);
        assert_eq!(area.compare_exchange_u32(2176, 9, 1), Err(8));
        assert_eq!(area.compare_exchange_u32(2176, 8, 1), Ok(8));
        assert_eq!(bytes.0[32..40], 0x1122_3344_5566_7788_u64.to_le_bytes());
        assert_eq!(bytes.0[2176..2180], 1_u32.to_le_bytes());
    }

    #[test]
    #[should_panic(expected = "no word of 8 bytes at 2236")]
    fn a_word_across_the_end_is_a_bug() {
        let mut bytes = Bytes([0; 2240]);
        let area = MappedArea { words: ptr::from_mut(&mut bytes).cast(), index: 0 };
        area.load_u64(2236);
    }
}
