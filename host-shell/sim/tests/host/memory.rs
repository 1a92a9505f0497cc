//! Memory of the simulated device: allocations, copies, fills and their refusals.
//!

use core::ffi::c_void;
use core::ptr;

use crate::support::{DEVICE_TO_DEVICE, DEVICE_TO_HOST, Device, HOST_TO_DEVICE, call, filled, message, ok};

#[test]
fn bytes_go_to_the_device_across_it_and_back() {
    let device = Device::new();
    let (first, second) = (device.memory(1000, 0), device.memory(1000, 0));
    let bytes: Vec<u8> = (0..1000u32).map(|i| i.to_le_bytes()[0]).collect();
    ok!(tenon_sim_memcpy(first, 1000, bytes.as_ptr().cast(), 1000, HOST_TO_DEVICE));
    ok!(tenon_sim_memcpy(second, 1000, first, 1000, DEVICE_TO_DEVICE));
    let mut back = vec![0u8; 1000];
    ok!(tenon_sim_memcpy(back.as_mut_ptr().cast(), 1000, second, 1000, DEVICE_TO_HOST));
    assert_eq!(back, bytes);
}

#[test]
fn asynchronous_copies_of_pinned_memory_follow_the_stream() {
    let device = Device::new();
    let stream = device.stream();
    let memory = device.memory(4096, 0);
    let (from, to) = (device.pinned(4096, 0x5a), device.pinned(4096, 0));
    ok!(tenon_sim_memcpy_async(memory, 4096, from.cast(), 4096, HOST_TO_DEVICE, stream));
    ok!(tenon_sim_memset_async(memory, 16, 7, 16, stream));
    ok!(tenon_sim_write_value32_async(memory.wrapping_byte_add(32), 0x0403_0201, stream));
    ok!(tenon_sim_memcpy_async(to.cast(), 4096, memory, 4096, DEVICE_TO_HOST, stream));
    ok!(tenon_sim_synchronize_stream(stream));
    let mut expected = filled(4096, 0x5a);
    expected[..16].fill(7);
    expected[32..36].copy_from_slice(&[1, 2, 3, 4]);
    // SAFETY: 4,096 bytes of pinned memory that nobody writes any more.
    assert_eq!(unsafe { core::slice::from_raw_parts(to, 4096) }, expected);
    ok!(tenon_sim_destroy_stream(stream));
    ok!(tenon_sim_free_host(from.cast()));
    ok!(tenon_sim_free_host(to.cast()));
}

#[test]
fn an_asynchronous_copy_of_other_host_memory_waits_for_its_stream() {
    let device = Device::new();
    let stream = device.stream();
    let memory = device.memory(1 << 20, 1);
    for value in 0..50 {
        ok!(tenon_sim_memset_async(memory, 1 << 20, value, 1 << 20, stream));
    }
    let mut back = vec![0u8; 1 << 20];
    ok!(tenon_sim_memcpy_async(back.as_mut_ptr().cast(), 1 << 20, memory, 1 << 20, DEVICE_TO_HOST, stream));
    assert_eq!(back, filled(1 << 20, 49));
    ok!(tenon_sim_destroy_stream(stream));
}

#[test]
fn addresses_are_aligned_as_promised_and_distinct() {
    let device = Device::new();
    let mut callable = ptr::null_mut();
    ok!(tenon_sim_malloc_callable(&raw mut callable, 9376));
    let memory = device.memory(1, 0);
    assert_eq!((memory.addr() % 64, callable.addr() % 64), (0, 32));
    assert_eq!(device.pinned(1, 0).addr() % 64, 0);
    ok!(tenon_sim_free(callable));
    assert_eq!(call!(tenon_sim_free(callable)), 100_000, "a second time");
    assert_eq!(call!(tenon_sim_free(memory.wrapping_byte_add(1))), 100_000);
    assert_eq!(call!(tenon_sim_free(ptr::null_mut())), 100_000);
    let mut on_the_stack = 0u64;
    assert_eq!(call!(tenon_sim_free((&raw mut on_the_stack).cast())), 100_000);
    assert_eq!(call!(tenon_sim_free_host((&raw mut on_the_stack).cast())), 100_000);
}

#[test]
fn wrong_arguments_of_allocations_are_refused() {
    let device = Device::new();
    let mut memory = ptr::null_mut();
    assert_eq!(call!(tenon_sim_malloc(ptr::null_mut(), 1)), 100_000);
    assert_eq!(call!(tenon_sim_malloc(&raw mut memory, 0)), 100_000);
    assert_eq!(call!(tenon_sim_malloc(&raw mut memory, usize::MAX)), 207_001);
    assert_eq!(call!(tenon_sim_malloc_callable(&raw mut memory, usize::MAX)), 207_001);
    assert_eq!(call!(tenon_sim_malloc_host(&raw mut memory, usize::MAX)), 207_001);
    assert!(memory.is_null(), "a failed call leaves the answer alone");
    let (mut free, mut total) = (0, 0);
    ok!(tenon_sim_get_mem_info(&raw mut free, &raw mut total));
    assert_eq!(call!(tenon_sim_malloc(&raw mut memory, free + 1)), 207_001);
    let kept = device.memory(64, 0);
    let mut after = 0;
    ok!(tenon_sim_get_mem_info(&raw mut after, &raw mut total));
    assert_eq!(free - after, 64);
    ok!(tenon_sim_free(kept));
    assert_eq!(call!(tenon_sim_get_mem_info(ptr::null_mut(), &raw mut total)), 100_000);
}

#[test]
fn the_rules_of_copies() {
    let device = Device::new();
    let memory = device.memory(64, 0);
    let mut host = [0u8; 64];
    let host: *mut c_void = host.as_mut_ptr().cast();
    let null: *mut c_void = ptr::null_mut();
    let kernel_side = memory.wrapping_byte_add(32);
    // (destination, room, source, bytes, kind) and the answer
    let rows = [
        (null, 0, null.cast_const(), 0, 99, 0),
        (null, 64, host.cast_const(), 1, 1, 100_000),
        (memory, 64, null.cast_const(), 1, 1, 100_000),
        (memory, 64, host.cast_const(), 1, 6, 100_000),
        (memory, 64, host.cast_const(), 1, 7, 100_000),
        (memory, 64, host.cast_const(), 1, -1, 100_000),
        (memory, 63, host.cast_const(), 64, 1, 107_000),
        (memory, 64, memory.cast_const(), 64, 0, 0),
        (memory, 65, host.cast_const(), 65, 1, 107_000),
        (kernel_side, 64, host.cast_const(), 33, 1, 107_000),
        (memory, 64, host.cast_const(), 64, 2, 107_000),
        (host, 64, memory.cast_const(), 64, 1, 107_000),
        (memory, 64, host.cast_const(), 64, 0, 107_000),
        (memory, 64, host.cast_const(), 64, 3, 107_000),
        (memory, 64, host.cast_const(), 64, 4, 0),
        (memory, 64, host.cast_const(), 64, 5, 0),
        (host, 64, memory.cast_const(), 64, 4, 0),
        (kernel_side, 32, memory.cast_const(), 32, 3, 0),
    ];
    for (row, (destination, room, source, bytes, kind, answer)) in rows.into_iter().enumerate() {
        assert_eq!(call!(tenon_sim_memcpy(destination, room, source, bytes, kind)), answer, "row {row}");
        let asynchronous = call!(tenon_sim_memcpy_async(destination, room, source, bytes, kind, null));
        assert_eq!(asynchronous, answer, "row {row}, in order of the default stream");
    }
    assert_eq!(call!(tenon_sim_memset(memory, 63, 0, 64)), 107_000);
    assert_eq!(call!(tenon_sim_memset(null, 64, 0, 64)), 100_000);
    ok!(tenon_sim_memset(null, 0, 0, 0));
    assert_eq!(call!(tenon_sim_memset_async(host, 64, 0, 64, null)), 107_000);
    assert_eq!(call!(tenon_sim_write_value32_async(memory.wrapping_byte_add(2), 0, null)), 100_000);
    assert_eq!(call!(tenon_sim_write_value32_async(host, 0, null)), 107_000);
    assert_eq!(call!(tenon_sim_read_device(host, memory, 65)), 107_000);
    assert_eq!(call!(tenon_sim_read_device(host, host.wrapping_byte_add(8), 8)), 107_000);
    ok!(tenon_sim_synchronize_device());
}

#[test]
fn the_end_of_an_allocation_is_named_in_the_message() {
    let device = Device::new();
    let memory = device.memory(100, 0);
    let host = [0u8; 128];
    assert_eq!(call!(tenon_sim_memcpy(memory, 128, host.as_ptr().cast(), 101, HOST_TO_DEVICE)), 107_000);
    let expected = format!(
        "107000 ACL_ERROR_RT_PARAM_INVALID: destination: 101 bytes at {0:#x} leave the allocation of 100 bytes at {0:#x}",
        memory.addr()
    );
    assert_eq!(message(), expected);
}
