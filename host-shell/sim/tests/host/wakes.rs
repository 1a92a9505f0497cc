//! How often the host has to wake the device.
//!

use core::ffi::c_void;
use core::ptr;

use crate::support::{Device, SYNC, ok};

/// Nine operations on three streams, shaped like a launch.
fn launch(streams: [*mut c_void; 3], events: [*mut c_void; 3], memory: *mut c_void) {
    let ([caller, aicpu, aicore], [start, aicpu_done, aicore_done]) = (streams, events);
    ok!(tenon_sim_record_event(start, caller));
    ok!(tenon_sim_stream_wait_event(aicore, start));
    ok!(tenon_sim_memset_async(memory, 64, 1, 64, aicore));
    ok!(tenon_sim_record_event(aicore_done, aicore));
    ok!(tenon_sim_stream_wait_event(aicpu, start));
    ok!(tenon_sim_memset_async(memory, 64, 1, 64, aicpu));
    ok!(tenon_sim_record_event(aicpu_done, aicpu));
    ok!(tenon_sim_stream_wait_event(caller, aicpu_done));
    ok!(tenon_sim_stream_wait_event(caller, aicore_done));
}

#[test]
fn a_device_that_has_tasks_left_is_not_woken() {
    let device = Device::new();
    let streams = [(); 3].map(|()| device.stream());
    let events = [(); 3].map(|()| device.event(SYNC));
    let memory = device.memory(64, 0);
    let (busy, event) = (device.stream(), device.event(SYNC));
    let mut still_busy = 0;
    while still_busy == 0 {
        for _ in 0..10_000 {
            ok!(tenon_sim_record_event(event, busy));
        }
        let before = device.stats();
        launch(streams, events, memory);
        let after = device.stats();
        ok!(tenon_sim_query_stream(busy, &raw mut still_busy));
        assert_eq!(after.host_tasks - before.host_tasks, 9);
        if still_busy == 1 {
            assert_eq!(after.host_wakes - before.host_wakes, 0);
        }
        ok!(tenon_sim_synchronize_device());
    }
}

#[test]
fn an_idle_device_is_woken_at_most_once_a_launch() {
    let device = Device::new();
    let streams = [(); 3].map(|()| device.stream());
    let events = [(); 3].map(|()| device.event(SYNC));
    let memory = device.memory(64, 0);
    for _ in 0..20 {
        let before = device.stats().host_wakes;
        launch(streams, events, memory);
        let during = device.stats().host_wakes - before;
        assert!(during <= 1, "{during} wakes");
        ok!(tenon_sim_synchronize_stream(streams[0]));
    }
    ok!(tenon_sim_synchronize_stream(ptr::null_mut()));
}
