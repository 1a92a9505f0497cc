//! Which memory is whose: device, callable and pinned memory, and the store.
//!
//! Only ranges are kept here, never bytes. A device address is checked against the allocation that it lies in, as it was asked
//! for: one byte more is refused even where rounding left room.

use std::collections::{BTreeMap, BTreeSet};

use tenon_core::area::{AREA_ALIGN, AREA_BYTES, MAX_AREAS};

use super::allocator::RangeAllocator;
use super::error::{Code, Result, fail};
use super::settings::Settings;
use crate::shm;

/// Callable memory begins this far behind a multiple of 64: the header of an image is 9,376 = 32 mod 64 bytes, so its code then
/// begins at a multiple of 64.
const CALLABLE_PHASE: u64 = 32;

/// Which part of the address space a range was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    User,
    Callable,
}

#[derive(Clone, Copy, Debug)]
struct Allocation {
    region: Region,
    /// Start of the range behind it.
    range: u64,
    /// Bytes that were asked for.
    bytes: u64,
}

/// The memory of one device.
#[derive(Debug)]
pub struct Memory {
    user: RangeAllocator,
    callable: RangeAllocator,
    pinned: RangeAllocator,
    store: RangeAllocator,
    allocations: BTreeMap<u64, Allocation>,
    pinned_bytes: BTreeMap<u64, u64>,
    areas: BTreeSet<u64>,
}

impl Memory {
    /// All of device `id`'s memory is free.
    #[must_use]
    pub fn new(id: u32, settings: &Settings) -> Self {
        let base = settings.base_of(id);
        let user_bytes = settings.memory_bytes - settings.callable_bytes;
        Self {
            user: RangeAllocator::new(base, user_bytes),
            callable: RangeAllocator::new(base + user_bytes, settings.callable_bytes),
            pinned: RangeAllocator::new(0, shm::PINNED_BYTES),
            store: RangeAllocator::new(0, shm::STORE_BYTES),
            allocations: BTreeMap::new(),
            pinned_bytes: BTreeMap::new(),
            areas: BTreeSet::new(),
        }
    }

    /// Device memory; its address is a multiple of 64.
    ///
    /// # Errors
    /// 100000 for 0 bytes, 207001 when there is no room.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64> {
        self.allocate_in(Region::User, bytes)
    }

    /// Callable memory; its address is 32 more than a multiple of 64.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_callable(&mut self, bytes: u64) -> Result<u64> {
        self.allocate_in(Region::Callable, bytes)
    }

    fn allocate_in(&mut self, region: Region, bytes: u64) -> Result<u64> {
        let (allocator, phase) = match region {
            Region::User => (&mut self.user, 0),
            Region::Callable => (&mut self.callable, CALLABLE_PHASE),
        };
        if bytes == 0 {
            return Err(fail!(INVALID_PARAM, "0 bytes were asked for"));
        }
        let range = bytes.checked_add(phase).and_then(|bytes| allocator.allocate(bytes));
        let Some(range) = range else {
            return Err(out_of_memory(region, bytes, allocator));
        };
        self.allocations.insert(range + phase, Allocation { region, range, bytes });
        Ok(range + phase)
    }

    /// Takes back what [`allocate`](Self::allocate) or [`allocate_callable`](Self::allocate_callable) gave.
    ///
    /// # Errors
    /// 100000 for null or an address that neither gave; 107000 for a registered context area, which lives as long as the device.
    pub fn free(&mut self, address: u64) -> Result {
        let Some(allocation) = self.allocations.get(&address).copied() else {
            return Err(fail!(INVALID_PARAM, "{address:#x} is not the start of an allocation of the current device"));
        };
        if let Some(area) = self.areas.range(address..address + allocation.bytes).next() {
            return Err(fail!(
                PARAM_INVALID,
                "a context area is registered at {area:#x}; it lives as long as its device"
            ));
        }
        self.allocations.remove(&address);
        match allocation.region {
            Region::User => self.user.release(allocation.range),
            Region::Callable => self.callable.release(allocation.range),
        };
        Ok(())
    }

    /// Refuses unless `[address, address + bytes)` lies in one allocation of this device.
    ///
    /// # Errors
    /// 107000, naming the allocation it leaves, if any.
    pub fn check_device(&self, what: &str, address: u64, bytes: u64) -> Result {
        let Some((start, allocation)) = self.allocations.range(..=address).next_back() else {
            return Err(outside(what, address));
        };
        let offset = address - start;
        if offset >= allocation.bytes {
            return Err(outside(what, address));
        }
        if bytes > allocation.bytes - offset {
            let size = allocation.bytes;
            return Err(fail!(
                PARAM_INVALID,
                "{what}: {bytes} bytes at {address:#x} leave the allocation of {size} bytes at {start:#x}"
            ));
        }
        Ok(())
    }

    /// Notes a context area, which must lie in device memory that was allocated; how many there were before.
    ///
    /// # Errors
    /// 100000 for a wrong alignment, 107000 for memory that is not allocated or already an area, 207005 for one too many.
    pub fn add_area(&mut self, area: u64) -> Result<usize> {
        if !area.is_multiple_of(AREA_ALIGN) {
            return Err(fail!(INVALID_PARAM, "the area {area:#x} is not a multiple of {AREA_ALIGN}"));
        }
        self.check_device("the area", area, AREA_BYTES)?;
        let end_of_before = self.areas.range(..area + AREA_BYTES).next_back().map(|before| before + AREA_BYTES);
        if end_of_before.is_some_and(|end| end > area) {
            return Err(fail!(PARAM_INVALID, "the area {area:#x} overlaps one that is already registered"));
        }
        if self.areas.len() == MAX_AREAS {
            return Err(fail!(NO_RESOURCES, "a device process takes {MAX_AREAS} areas in its life"));
        }
        self.areas.insert(area);
        Ok(self.areas.len() - 1)
    }

    /// Pinned host memory: its offset.
    ///
    /// # Errors
    /// As [`allocate`](Self::allocate).
    pub fn allocate_pinned(&mut self, bytes: u64) -> Result<u64> {
        if bytes == 0 {
            return Err(fail!(INVALID_PARAM, "0 bytes were asked for"));
        }
        let Some(offset) = self.pinned.allocate(bytes) else {
            let left = self.pinned.free_bytes();
            return Err(fail!(OUT_OF_MEMORY, "{bytes} bytes of pinned memory were asked for, {left} are free"));
        };
        self.pinned_bytes.insert(offset, bytes);
        Ok(offset)
    }

    /// Takes pinned memory back.
    ///
    /// # Errors
    /// 100000 for an offset where none starts.
    pub fn free_pinned(&mut self, offset: u64) -> Result {
        if self.pinned_bytes.remove(&offset).is_none() {
            return Err(fail!(INVALID_PARAM, "no pinned memory of the current device starts at this address"));
        }
        self.pinned.release(offset);
        Ok(())
    }

    /// Refuses unless `[offset, offset + bytes)` lies in one allocation of pinned memory.
    ///
    /// # Errors
    /// 107000.
    pub fn check_pinned(&self, what: &str, offset: u64, bytes: u64) -> Result {
        match self.pinned_bytes.range(..=offset).next_back() {
            Some((start, size)) if bytes <= size.saturating_sub(offset - start) => Ok(()),
            Some(_) | None => {
                Err(fail!(PARAM_INVALID, "{what}: {bytes} bytes leave the pinned memory that was allocated there"))
            }
        }
    }

    /// Room in the store for a graph or a binary.
    ///
    /// # Errors
    /// 207005 when there is none.
    pub fn allocate_store(&mut self, bytes: u64) -> Result<u64> {
        let Some(offset) = self.store.allocate(bytes) else {
            let left = self.store.free_bytes();
            return Err(fail!(NO_RESOURCES, "{bytes} bytes of the graph store were asked for, {left} are free"));
        };
        Ok(offset)
    }

    /// Takes room of the store back.
    pub fn free_store(&mut self, offset: u64) {
        let released = self.store.release(offset);
        debug_assert!(released.is_some(), "the store is only given back by those who took it");
    }

    /// Free and total bytes of the memory that [`allocate`](Self::allocate) gives.
    #[must_use]
    pub fn info(&self) -> (u64, u64) {
        (self.user.free_bytes(), self.user.total_bytes())
    }
}

#[cold]
fn outside(what: &str, address: u64) -> Code {
    fail!(PARAM_INVALID, "{what}: {address:#x} lies in no allocation of the current device")
}

#[cold]
fn out_of_memory(region: Region, bytes: u64, allocator: &RangeAllocator) -> Code {
    let kind = match region {
        Region::User => "device",
        Region::Callable => "callable",
    };
    let (free, total) = (allocator.free_bytes(), allocator.total_bytes());
    fail!(OUT_OF_MEMORY, "{bytes} bytes of {kind} memory were asked for, {free} of {total} are free")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Memory {
        Memory::new(0, &Settings::read(|_| None).unwrap())
    }

    #[test]
    fn addresses_have_their_alignment() {
        let mut memory = memory();
        for bytes in [1, 63, 64, 65, 9376] {
            assert_eq!(memory.allocate(bytes).unwrap() % 64, 0);
            assert_eq!(memory.allocate_callable(bytes).unwrap() % 64, 32);
        }
    }

    #[test]
    fn bounds_are_those_that_were_asked_for() {
        let mut memory = memory();
        let address = memory.allocate(100).unwrap();
        assert_eq!(memory.check_device("x", address, 100), Ok(()));
        assert_eq!(memory.check_device("x", address + 99, 1), Ok(()));
        assert_eq!(memory.check_device("x", address, 101), Err(Code::PARAM_INVALID));
        assert_eq!(memory.check_device("x", address + 100, 0), Err(Code::PARAM_INVALID));
        assert_eq!(memory.check_device("x", address + 50, u64::MAX), Err(Code::PARAM_INVALID));
        assert_eq!(memory.check_device("x", address - 1, 1), Err(Code::PARAM_INVALID));
        let offset = memory.allocate_pinned(100).unwrap();
        assert_eq!(memory.check_pinned("x", offset + 1, 99), Ok(()));
        assert_eq!(memory.check_pinned("x", offset + 1, 100), Err(Code::PARAM_INVALID));
    }

    #[test]
    fn only_what_was_given_is_taken_back_and_only_once() {
        let mut memory = memory();
        let before = memory.info();
        let address = memory.allocate(4096).unwrap();
        assert_eq!(memory.free(address + 64), Err(Code::INVALID_PARAM));
        assert_eq!(memory.free(address), Ok(()));
        assert_eq!(memory.free(address), Err(Code::INVALID_PARAM));
        let callable = memory.allocate_callable(4096).unwrap();
        assert_eq!(memory.free(callable - 32), Err(Code::INVALID_PARAM));
        assert_eq!(memory.free(callable), Ok(()));
        let pinned = memory.allocate_pinned(1).unwrap();
        assert_eq!((memory.free_pinned(pinned), memory.free_pinned(pinned)), (Ok(()), Err(Code::INVALID_PARAM)));
        assert_eq!(memory.info(), before);
    }

    #[test]
    fn more_than_there_is_and_nothing_at_all_are_refused() {
        let mut memory = memory();
        assert_eq!(memory.allocate(0), Err(Code::INVALID_PARAM));
        assert_eq!(memory.allocate(u64::MAX), Err(Code::OUT_OF_MEMORY));
        assert_eq!(memory.allocate_callable(u64::MAX - 8), Err(Code::OUT_OF_MEMORY));
        assert_eq!(memory.allocate(6 << 30).map(|_| ()), Ok(()));
        assert_eq!(memory.allocate(1), Err(Code::OUT_OF_MEMORY));
    }

    #[test]
    fn an_area_is_registered_once_and_never_freed() {
        let mut memory = memory();
        let area = memory.allocate(2 * 2304).unwrap();
        assert_eq!(memory.add_area(area + 8), Err(Code::INVALID_PARAM));
        assert_eq!(memory.add_area(area), Ok(0));
        assert_eq!(memory.add_area(area), Err(Code::PARAM_INVALID));
        assert_eq!(memory.add_area(area + 64), Err(Code::PARAM_INVALID));
        assert_eq!(memory.add_area(area + 2304), Ok(1));
        assert_eq!(memory.add_area(area + 2 * 2304), Err(Code::PARAM_INVALID));
        assert_eq!(memory.free(area), Err(Code::PARAM_INVALID));
    }

    #[test]
    fn one_area_more_than_a_device_holds_is_refused() {
        let mut memory = memory();
        for index in 0..MAX_AREAS {
            let area = memory.allocate(AREA_BYTES).unwrap();
            assert_eq!(memory.add_area(area), Ok(index));
        }
        let area = memory.allocate(AREA_BYTES).unwrap();
        assert_eq!(memory.add_area(area), Err(Code::NO_RESOURCES));
    }
}
