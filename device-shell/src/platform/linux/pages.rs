//! Zeroed memory from the system, without an allocator.
//!

use core::ptr;

/// `len` values of `T` that begin as zero bytes, given back on drop.
///
/// `T` has to be a type for which zero bytes are a value. Values are not dropped: their owner empties them first.
#[derive(Debug)]
pub(super) struct Pages<T> {
    start: *mut T,
    len: usize,
}

impl<T> Pages<T> {
    /// No values, no memory. Zero bytes are this value too.
    pub(super) const EMPTY: Self = Self { start: ptr::null_mut(), len: 0 };

    /// Maps memory for `len` values; `None` when the system has none.
    pub(super) fn new(len: usize) -> Option<Self> {
        if len == 0 {
            return Some(Self::EMPTY);
        }
        let bytes = len.checked_mul(size_of::<T>())?;
        // SAFETY: a new private mapping at an address of the system's choice touches no memory that anybody has.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        (start != libc::MAP_FAILED).then_some(Self { start: start.cast(), len })
    }

    /// Takes the memory out; [`from_raw`](Self::from_raw) gives it back.
    pub(super) const fn into_raw(self) -> *mut T {
        let start = self.start;
        core::mem::forget(self);
        start
    }

    /// Takes memory back.
    ///
    /// # Safety
    /// `start` came from [`into_raw`](Self::into_raw) of `len` values and is used by nobody else.
    pub(super) const unsafe fn from_raw(start: *mut T, len: usize) -> Self {
        Self { start, len }
    }

    /// The values.
    pub(super) const fn as_slice(&self) -> &[T] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `len` values lie there, zero bytes or written since, owned by `self`.
        unsafe { core::slice::from_raw_parts(self.start, self.len) }
    }

    /// The values.
    pub(super) const fn as_mut_slice(&mut self) -> &mut [T] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: as in `as_slice`, and borrowed mutably.
        unsafe { core::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl<T> Drop for Pages<T> {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: the mapping that `new` made, whole, which nobody uses any more. It cannot fail for such a range.
            unsafe { libc::munmap(self.start.cast(), self.len.wrapping_mul(size_of::<T>())) };
        }
    }
}
