//! Memory with a page behind it that nobody may touch.
//!

use std::ptr;
use std::sync::atomic::AtomicU32;

const PAGE: usize = 4096;

/// Zeroed memory that ends at a page which faults.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    /// Bytes that may be used; a page that may not follows.
    bytes: usize,
}

// SAFETY: the memory belongs to the value, and whoever writes to it through its address answers for that.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps at least `bytes` bytes.
    pub fn new(bytes: usize) -> Self {
        let bytes = bytes.next_multiple_of(PAGE);
        let mapping = Self::inaccessible(bytes);
        // SAFETY: the range is this value's own mapping.
        let result = unsafe { libc::mprotect(mapping.start.cast(), bytes, libc::PROT_READ | libc::PROT_WRITE) };
        assert_eq!(result, 0, "mprotect");
        mapping
    }

    /// Maps memory of which every access faults.
    pub fn inaccessible(bytes: usize) -> Self {
        let bytes = bytes.next_multiple_of(PAGE);
        // SAFETY: a new mapping at an address of the system's choice touches no memory that anybody has.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes + PAGE,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        assert_ne!(start, libc::MAP_FAILED, "mmap");
        Self { start: start.cast(), bytes }
    }

    /// Address of the first byte.
    pub fn address(&self) -> u64 {
        self.start.expose_provenance() as u64
    }

    /// Address of the page that faults.
    pub fn end(&self) -> u64 {
        self.address() + self.bytes as u64
    }

    /// Writes `bytes` at `offset`.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= self.bytes, "past the mapping");
        let to = self.start.wrapping_add(offset);
        // SAFETY: inside the mapping, as was just asserted, and no reference into it exists.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    /// A word that device code uses at the same time.
    pub fn atomic(&self, index: usize) -> &AtomicU32 {
        assert!(index * 4 < self.bytes, "past the mapping");
        let word = self.start.cast::<u32>().wrapping_add(index);
        // SAFETY: aligned and inside the mapping, as was just asserted; everybody uses it atomically.
        unsafe { AtomicU32::from_ptr(word) }
    }

    /// Reads `count` values at `offset`.
    pub fn read<T: Copy>(&self, offset: usize, count: usize) -> Vec<T> {
        assert!(offset + count * size_of::<T>() <= self.bytes, "past the mapping");
        let first = self.start.wrapping_add(offset).cast::<T>();
        let value = |index| {
            // SAFETY: inside the mapping, as was just asserted; tests read plain numbers, of which every bit pattern is one.
            unsafe { first.wrapping_add(index).read_unaligned() }
        };
        (0..count).map(value).collect()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the value's own mapping, whole.
        unsafe { libc::munmap(self.start.cast(), self.bytes + PAGE) };
    }
}
