//! An allocator that counts, for the thread that asks.
//!

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting.
pub(crate) struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of this thread while `act` runs.
pub(crate) fn allocations(act: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    act();
    ALLOCATIONS.get() - before
}

// SAFETY: every call goes to the system's allocator unchanged, which keeps the contract; the counter is a plain cell of this thread
// that needs no allocation itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's contract is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the system allocator's, where `pointer` came from.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's contract is the system allocator's, where `pointer` came from.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}
