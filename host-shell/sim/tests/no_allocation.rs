//! A launch takes no memory on the host.
//!

use core::cell::Cell;
use core::ffi::c_void;
use std::alloc::{GlobalAlloc, Layout, System};

use support::{Device, HOST_TO_DEVICE, SYNC, ok};

#[expect(dead_code, unused_imports, reason = "this program needs a part of it")]
#[path = "host/support.rs"]
mod support;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts for each thread.
struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting takes no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's contract is this function's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is this function's.
        unsafe { System.dealloc(pointer, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

#[test]
fn ten_thousand_launches_take_no_memory_on_the_host() {
    let device = Device::new();
    let [caller, aicpu, aicore] = [(); 3].map(|()| device.stream());
    let [start, aicpu_done, aicore_done] = [(); 3].map(|()| device.event(SYNC));
    let memory = device.memory(64, 0);
    let pinned: *mut c_void = device.pinned(64, 1).cast();
    // The two branches run at the same time, so each has its own half of the memory.
    let upper_half = memory.wrapping_byte_add(32);
    let before = count();
    for value in 0..10_000 {
        ok!(tenon_sim_record_event(start, caller));
        ok!(tenon_sim_stream_wait_event(aicore, start));
        ok!(tenon_sim_memset_async(upper_half, 32, 1, 32, aicore));
        ok!(tenon_sim_record_event(aicore_done, aicore));
        ok!(tenon_sim_stream_wait_event(aicpu, start));
        ok!(tenon_sim_memcpy_async(memory, 32, pinned, 32, HOST_TO_DEVICE, aicpu));
        ok!(tenon_sim_write_value32_async(memory, value, aicpu));
        ok!(tenon_sim_record_event(aicpu_done, aicpu));
        ok!(tenon_sim_stream_wait_event(caller, aicpu_done));
        ok!(tenon_sim_stream_wait_event(caller, aicore_done));
    }
    assert_eq!(count() - before, 0);
    ok!(tenon_sim_synchronize_stream(caller));
    assert_eq!(device.read(memory, 4), 9_999u32.to_le_bytes());

    // Entries too; without an image of the device they fail there, which is not the host's business.
    let packet = [0u8; 4096];
    let before = count();
    for _ in 0..10 {
        ok!(tenon_sim_launch_aicpu(core::ptr::null_mut(), 0, packet.as_ptr().cast(), packet.len(), aicpu));
        ok!(tenon_sim_launch_aicore(memory.addr() as u64, aicore));
    }
    assert_eq!(count() - before, 0);
    // What a task before has answered is taken here.
    let _ = support::call!(tenon_sim_synchronize_stream(aicpu));
    let _ = support::call!(tenon_sim_synchronize_stream(aicore));
    assert!(count() > 0, "the counter counts");
}
