//! Counts the heap allocations of the device process.
//!
//! A launch costs none once the device is warm; tests hold it to that through [`Stats`](crate::shm::Stats). What a loaded AICPU
//! image allocates for itself is not seen here.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::alloc::System;

static COUNT: AtomicU64 = AtomicU64::new(0);

/// Allocations so far.
#[must_use]
pub fn count() -> u64 {
    COUNT.load(Relaxed)
}

/// The system's allocator with a counter; the device process installs it.
pub struct Counting;

// SAFETY: `GlobalAlloc`'s conditions are those of `System`, to which every call goes unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise about `layout` is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise about `layout` is handed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Relaxed);
        // SAFETY: the caller's promises about `block`, `layout` and `new_size` are handed on; `block` came from `System`.
        unsafe { System.realloc(block, layout, new_size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises about `block` and `layout` are handed on; `block` came from `System`.
        unsafe { System.dealloc(block, layout) }
    }
}
