//! Streams, events and handles of the simulated device.
//!

use core::ffi::c_void;
use core::ptr;

use crate::support::{DEVICE_TO_DEVICE, Device, SYNC, call, filled, ok};

/// Puts work on the stream that takes the device a while.
fn busy(device: &Device, stream: *mut c_void) -> (*mut c_void, *mut c_void) {
    const BYTES: usize = 64 << 20;
    let (from, to) = (device.memory(BYTES, 1), device.memory(BYTES, 2));
    ok!(tenon_sim_memcpy_async(to, BYTES, from, BYTES, DEVICE_TO_DEVICE, stream));
    (from, to)
}

#[test]
fn a_stream_waits_for_an_event_of_another() {
    let device = Device::new();
    let (first, second) = (device.stream(), device.stream());
    let event = device.event(SYNC);
    let (_, to) = busy(&device, first);
    ok!(tenon_sim_memset_async(to, 64, 9, 64, first));
    ok!(tenon_sim_record_event(event, first));
    ok!(tenon_sim_stream_wait_event(second, event));
    let seen = device.memory(64, 0);
    ok!(tenon_sim_memcpy_async(seen, 64, to, 64, DEVICE_TO_DEVICE, second));
    ok!(tenon_sim_synchronize_stream(second));
    assert_eq!(device.read(seen, 64), filled(64, 9));
    ok!(tenon_sim_destroy_event(event));
}

#[test]
fn a_wait_is_for_the_record_before_it_wherever_the_event_is_recorded_later() {
    let device = Device::new();
    let (slow, quick, waiting) = (device.stream(), device.stream(), device.stream());
    let event = device.event(SYNC);
    let (_, to) = busy(&device, slow);
    ok!(tenon_sim_memset_async(to, 64, 9, 64, slow));
    ok!(tenon_sim_record_event(event, slow));
    ok!(tenon_sim_stream_wait_event(waiting, event));
    ok!(tenon_sim_record_event(event, quick));
    ok!(tenon_sim_synchronize_event(event));
    let seen = device.memory(64, 0);
    ok!(tenon_sim_memcpy_async(seen, 64, to, 64, DEVICE_TO_DEVICE, waiting));
    ok!(tenon_sim_synchronize_stream(waiting));
    assert_eq!(device.read(seen, 64), filled(64, 9));
}

#[test]
fn an_event_that_was_never_recorded_is_complete_and_no_wait() {
    let device = Device::new();
    let event = device.event(SYNC);
    let mut status = -1;
    ok!(tenon_sim_query_event(event, &raw mut status));
    assert_eq!(status, 0);
    ok!(tenon_sim_synchronize_event(event));
    ok!(tenon_sim_stream_wait_event(ptr::null_mut(), event));
    ok!(tenon_sim_synchronize_stream(ptr::null_mut()));
}

#[test]
fn an_event_can_be_destroyed_while_it_is_pending_and_reused_by_others() {
    let device = Device::new();
    let (first, second) = (device.stream(), device.stream());
    let (_, to) = busy(&device, first);
    let event = device.event(SYNC);
    ok!(tenon_sim_record_event(event, first));
    ok!(tenon_sim_stream_wait_event(second, event));
    ok!(tenon_sim_destroy_event(event));
    let other = device.event(SYNC);
    ok!(tenon_sim_record_event(other, ptr::null_mut()));
    ok!(tenon_sim_synchronize_event(other));
    ok!(tenon_sim_memset_async(to, 64, 3, 64, second));
    ok!(tenon_sim_synchronize_stream(second));
    assert_eq!(device.read(to, 64), filled(64, 3));
}

#[test]
fn a_wait_that_is_too_long_ends_in_time_and_changes_nothing() {
    let device = Device::new();
    let stream = device.stream();
    let mut answers = vec![];
    while !answers.contains(&507_046) && answers.len() < 20 {
        let (from, to) = busy(&device, stream);
        for _ in 0..4 {
            ok!(tenon_sim_memcpy_async(from, 64 << 20, to, 64 << 20, DEVICE_TO_DEVICE, stream));
        }
        answers.push(call!(tenon_sim_synchronize_stream_with_timeout(stream, 1)));
    }
    assert_eq!(answers.last(), Some(&507_046));
    ok!(tenon_sim_synchronize_stream_with_timeout(stream, -1));
    let mut status = -1;
    ok!(tenon_sim_query_stream(stream, &raw mut status));
    assert_eq!(status, 0);
    assert_eq!(call!(tenon_sim_synchronize_stream_with_timeout(stream, 0)), 100_000);
    assert_eq!(call!(tenon_sim_synchronize_stream_with_timeout(stream, -2)), 100_000);
}

#[test]
fn handles_that_name_nothing_are_refused() {
    let device = Device::new();
    let (stream, event) = (device.stream(), device.event(SYNC));
    ok!(tenon_sim_destroy_stream(stream));
    ok!(tenon_sim_destroy_event(event));
    let (reused, null): (_, *mut c_void) = (device.stream(), ptr::null_mut());
    assert_ne!(reused, stream, "a place is reused under another handle");
    let mut local = 0u64;
    let pointer: *mut c_void = (&raw mut local).cast();
    for (handle, answer) in [(stream, 107_017), (event, 107_017), (pointer, 107_017), (null, 100_000)] {
        assert_eq!(call!(tenon_sim_destroy_stream(handle)), answer);
        assert_eq!(call!(tenon_sim_destroy_event(handle)), answer);
        assert_eq!(call!(tenon_sim_graph_destroy(handle)), answer);
        assert_eq!(call!(tenon_sim_unload_binary(handle)), answer);
        assert_eq!(call!(tenon_sim_record_event(handle, reused)), answer);
        assert_eq!(call!(tenon_sim_stream_wait_event(reused, handle)), answer);
        assert_eq!(call!(tenon_sim_synchronize_event(handle)), answer);
        assert_eq!(call!(tenon_sim_graph_launch(handle, reused)), answer);
        if handle != null {
            assert_eq!(call!(tenon_sim_synchronize_stream(handle)), answer);
            assert_eq!(call!(tenon_sim_launch_aicore(0x5500_0000_0000, handle)), answer);
            assert_eq!(call!(tenon_sim_capture_begin(handle, 0)), answer);
        }
    }
    let mut out = null;
    assert_eq!(call!(tenon_sim_create_event(&raw mut out, 0x80)), 100_000);
}

#[test]
fn there_are_255_streams_beside_the_default_one_and_4096_events() {
    let device = Device::new();
    let streams: Vec<_> = (0..255).map(|_| device.stream()).collect();
    let mut one_more = ptr::null_mut();
    assert_eq!(call!(tenon_sim_create_stream(&raw mut one_more)), 207_008);
    for stream in &streams {
        ok!(tenon_sim_memset_async(device.memory(64, 0), 64, 1, 64, *stream));
    }
    ok!(tenon_sim_synchronize_device());
    for stream in streams {
        ok!(tenon_sim_destroy_stream(stream));
    }
    ok!(tenon_sim_create_stream(&raw mut one_more));
    let events: Vec<_> = (0..4096).map(|_| device.event(SYNC)).collect();
    assert_eq!(call!(tenon_sim_create_event(&raw mut one_more, SYNC)), 207_007);
    for event in events {
        ok!(tenon_sim_record_event(event, ptr::null_mut()));
        ok!(tenon_sim_destroy_event(event));
    }
    for _ in 0..2 {
        let event = device.event(SYNC);
        ok!(tenon_sim_synchronize_stream(ptr::null_mut()));
        ok!(tenon_sim_record_event(event, ptr::null_mut()));
        ok!(tenon_sim_synchronize_event(event));
    }
}

#[test]
fn a_ring_that_is_full_makes_the_host_wait_and_loses_nothing() {
    let device = Device::new();
    let stream = device.stream();
    let memory = device.memory(4, 0);
    busy(&device, stream);
    // Twice as many tasks as a ring holds, so that it wraps with tasks of both sizes.
    for value in 1..=20_000u32 {
        ok!(tenon_sim_write_value32_async(memory, value, stream));
    }
    ok!(tenon_sim_synchronize_stream(stream));
    assert_eq!(device.read(memory, 4), 20_000u32.to_le_bytes());
}

#[test]
fn two_threads_use_one_device_and_one_stream() {
    let device = Device::new();
    let stream = device.stream().expose_provenance();
    std::thread::scope(|scope| {
        for value in [1u8, 2] {
            let (memory, device) = (device.memory(64, 0).expose_provenance(), &device);
            scope.spawn(move || {
                let (memory, stream) =
                    (ptr::with_exposed_provenance_mut(memory), ptr::with_exposed_provenance_mut(stream));
                assert_eq!(call!(tenon_sim_synchronize_stream(stream)), 107_002, "a thread sets its own device");
                ok!(tenon_sim_set_device(0));
                for _ in 0..1000 {
                    ok!(tenon_sim_memset_async(memory, 64, value.into(), 64, stream));
                }
                ok!(tenon_sim_synchronize_stream(stream));
                assert_eq!(device.read(memory, 64), filled(64, value));
                ok!(tenon_sim_reset_device(0));
            });
        }
    });
}
