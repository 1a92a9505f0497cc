//! Hands out ranges of an address space that it never touches.
//!
//! Best fit with immediate coalescing: free ranges lie in two ordered trees, by start (to find the neighbours of a range that
//! comes back) and by size (to find the smallest that is large enough, the lowest among equals). Every operation is
//! logarithmic in the number of free ranges. All ranges are multiples of [`GRAIN`].

use std::collections::{BTreeMap, BTreeSet};

/// Alignment and size unit of every range.
pub const GRAIN: u64 = 64;

/// Free and used ranges of `[base, base + bytes)`.
#[derive(Debug)]
pub struct RangeAllocator {
    free_by_start: BTreeMap<u64, u64>,
    free_by_size: BTreeSet<(u64, u64)>,
    used: BTreeMap<u64, u64>,
    free_bytes: u64,
    total_bytes: u64,
}

impl RangeAllocator {
    /// Everything in `[base, base + bytes)` is free. What does not fill a [`GRAIN`] at either end is left out.
    #[must_use]
    pub fn new(base: u64, bytes: u64) -> Self {
        let end = base.saturating_add(bytes) / GRAIN * GRAIN;
        let start = base.div_ceil(GRAIN).saturating_mul(GRAIN);
        let total_bytes = end.saturating_sub(start);
        let mut allocator = Self {
            free_by_start: BTreeMap::new(),
            free_by_size: BTreeSet::new(),
            used: BTreeMap::new(),
            free_bytes: 0,
            total_bytes,
        };
        if total_bytes > 0 {
            allocator.insert_free(start, total_bytes);
        }
        allocator
    }

    /// A range of at least `bytes`, which must not be 0; its start is a multiple of [`GRAIN`]. `None` when no free range is
    /// large enough.
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let wanted = bytes.max(1).checked_next_multiple_of(GRAIN)?;
        let (size, start) = *self.free_by_size.range((wanted, 0)..).next()?;
        self.remove_free(start, size);
        if size > wanted {
            self.insert_free(start + wanted, size - wanted);
        }
        self.used.insert(start, wanted);
        Some(start)
    }

    /// Takes back the range that starts at `start`; its size, or `None` when no used range starts there.
    pub fn release(&mut self, start: u64) -> Option<u64> {
        let bytes = self.used.remove(&start)?;
        let (mut free_start, mut free_bytes) = (start, bytes);
        if let Some((&before, &size)) = self.free_by_start.range(..start).next_back()
            && before + size == start
        {
            self.remove_free(before, size);
            free_start = before;
            free_bytes += size;
        }
        if let Some(&size) = self.free_by_start.get(&(start + bytes)) {
            self.remove_free(start + bytes, size);
            free_bytes += size;
        }
        self.insert_free(free_start, free_bytes);
        Some(bytes)
    }

    /// Bytes that are free, in ranges of any size.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.free_bytes
    }

    /// Bytes in all.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes
    }

    fn insert_free(&mut self, start: u64, bytes: u64) {
        self.free_by_start.insert(start, bytes);
        self.free_by_size.insert((bytes, start));
        self.free_bytes += bytes;
    }

    fn remove_free(&mut self, start: u64, bytes: u64) {
        self.free_by_start.remove(&start);
        self.free_by_size.remove(&(bytes, start));
        self.free_bytes -= bytes;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_exact_fit_is_taken_and_one_byte_more_is_refused() {
        let mut allocator = RangeAllocator::new(0x1000, 4 * GRAIN);
        assert_eq!(allocator.allocate(4 * GRAIN + 1), None);
        assert_eq!(allocator.allocate(4 * GRAIN), Some(0x1000));
        assert_eq!(allocator.allocate(1), None);
    }

    #[test]
    fn the_smallest_hole_that_fits_is_used() {
        let mut allocator = RangeAllocator::new(0, 100 * GRAIN);
        let large = allocator.allocate(10 * GRAIN).unwrap();
        let _kept = allocator.allocate(GRAIN).unwrap();
        let small = allocator.allocate(2 * GRAIN).unwrap();
        let _kept = allocator.allocate(GRAIN).unwrap();
        allocator.release(large);
        allocator.release(small);
        assert_eq!(allocator.allocate(2 * GRAIN), Some(small));
    }

    #[test]
    fn a_size_near_the_end_of_the_numbers_is_refused() {
        let mut allocator = RangeAllocator::new(0, 1 << 20);
        assert_eq!(allocator.allocate(u64::MAX), None);
        assert_eq!(allocator.allocate(u64::MAX - GRAIN), None);
    }

    #[test]
    fn only_the_start_of_a_used_range_can_be_released() {
        let mut allocator = RangeAllocator::new(0, 1 << 20);
        let range = allocator.allocate(256).unwrap();
        assert_eq!(allocator.release(range + 64), None);
        assert_eq!(allocator.release(range), Some(256));
        assert_eq!(allocator.release(range), None);
    }

    #[test]
    fn an_unaligned_base_loses_what_fills_no_grain() {
        let mut allocator = RangeAllocator::new(32, 64 + 32);
        assert_eq!(allocator.total_bytes(), 64);
        assert_eq!(allocator.allocate(64), Some(64));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Allocate(u64),
        Release(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            3 => (1u64..5000).prop_map(Step::Allocate),
            2 => any::<prop::sample::Index>().prop_map(Step::Release),
        ]
    }

    proptest! {
        #[test]
        fn ranges_never_overlap_neighbours_merge_and_bytes_balance(steps in prop::collection::vec(step(), 1..200)) {
            const BASE: u64 = 0x5500_0000_0000;
            const BYTES: u64 = 64 << 10;
            let mut allocator = RangeAllocator::new(BASE, BYTES);
            let mut live: Vec<(u64, u64)> = Vec::new();
            for step in steps {
                match step {
                    Step::Allocate(bytes) => {
                        let largest = allocator.free_by_size.last().map_or(0, |(size, _)| *size);
                        match allocator.allocate(bytes) {
                            Some(start) => {
                                let end = start + bytes.next_multiple_of(GRAIN);
                                prop_assert!(start.is_multiple_of(GRAIN) && start >= BASE && end <= BASE + BYTES);
                                prop_assert!(live.iter().all(|&(s, e)| end <= s || e <= start));
                                live.push((start, end));
                            }
                            None => prop_assert!(largest < bytes.next_multiple_of(GRAIN)),
                        }
                    }
                    Step::Release(index) if !live.is_empty() => {
                        let (start, end) = live.swap_remove(index.index(live.len()));
                        prop_assert_eq!(allocator.release(start), Some(end - start));
                    }
                    Step::Release(_) => {}
                }
                let used: u64 = live.iter().map(|(start, end)| end - start).sum();
                prop_assert_eq!(allocator.free_bytes() + used, BYTES);
                let mut previous_end = None;
                for (&start, &size) in &allocator.free_by_start {
                    prop_assert!(size > 0 && previous_end != Some(start), "two free neighbours did not merge");
                    previous_end = Some(start + size);
                }
            }
            for (start, _) in live {
                allocator.release(start);
            }
            prop_assert_eq!(allocator.free_by_start.len(), 1);
            prop_assert_eq!(allocator.allocate(BYTES), Some(BASE));
        }
    }
}
