//! How often the host has to wake the device.
//!

use core::ffi::c_void;
use core::ptr;

use crate::support::{Device, SYNC, ok, own_children};

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
    let (busy, begun) = (device.stream(), device.event(SYNC));
    let mut graph = ptr::null_mut();
    ok!(tenon_sim_capture_begin(busy, 0));
    for _ in 0..20_000 {
        ok!(tenon_sim_record_event(begun, busy));
    }
    ok!(tenon_sim_capture_end(busy, &raw mut graph));
    let mut still_busy = 0;
    while still_busy == 0 {
        ok!(tenon_sim_record_event(begun, busy));
        for _ in 0..4 {
            ok!(tenon_sim_graph_launch(graph, busy));
        }
        // From here on the device is awake, and stays so while it has replays left.
        ok!(tenon_sim_synchronize_event(begun));
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
    ok!(tenon_sim_graph_destroy(graph));
}

#[test]
fn an_idle_device_is_woken_at_most_once_a_launch() {
    let device = Device::new();
    let streams = [(); 3].map(|()| device.stream());
    let events = [(); 3].map(|()| device.event(SYNC));
    let memory = device.memory(64, 0);
    let [process] = own_children()[..] else { panic!("one device, one process") };
    let process = process.cast_signed();
    let mut most = 0;
    while most == 0 {
        // Stopped, so that it cannot go to sleep again between two operations however long this thread is kept waiting.
        // SAFETY: a signal to a process that this thread started and has not waited for.
        unsafe { libc::kill(process, libc::SIGSTOP) };
        let mut status = 0;
        // SAFETY: as above; returns when every thread of it has stopped.
        unsafe { libc::waitpid(process, &raw mut status, libc::WUNTRACED) };
        let before = device.stats().host_wakes;
        launch(streams, events, memory);
        let during = device.stats().host_wakes - before;
        assert!(during <= 1, "{during} wakes");
        most = most.max(during);
        // SAFETY: as above.
        unsafe { libc::kill(process, libc::SIGCONT) };
        ok!(tenon_sim_synchronize_stream(streams[0]));
    }
}
