//! Graphs: replays on the device.
//!

use core::ffi::c_void;
use core::ptr;

use crate::support::{DEVICE_TO_DEVICE, Device, HOST_TO_DEVICE, SYNC, call, ok};

/// A graph with a branch: `counter` is copied along a chain of cells, each step ordered by an event.
struct Chain {
    graph: *mut c_void,
    cells: *mut c_void,
}

const CELLS: usize = 8;

fn capture_chain(device: &Device, origin: *mut c_void, branch: *mut c_void) -> Chain {
    let events = [(); CELLS].map(|()| device.event(SYNC));
    let cells = device.memory(64 * CELLS, 0);
    ok!(tenon_sim_capture_begin(origin, 0));
    for (step, event) in events.iter().enumerate().skip(1) {
        let (from, to) = (cells.wrapping_byte_add(64 * (step - 1)), cells.wrapping_byte_add(64 * step));
        let (on, next) = if step % 2 == 1 { (origin, branch) } else { (branch, origin) };
        ok!(tenon_sim_memcpy_async(to, 64, from, 64, DEVICE_TO_DEVICE, on));
        ok!(tenon_sim_record_event(*event, on));
        ok!(tenon_sim_stream_wait_event(next, *event));
    }
    let last = events[0];
    ok!(tenon_sim_record_event(last, branch));
    ok!(tenon_sim_stream_wait_event(origin, last));
    let mut graph = ptr::null_mut();
    ok!(tenon_sim_capture_end(origin, &raw mut graph));
    for event in events {
        ok!(tenon_sim_destroy_event(event));
    }
    Chain { graph, cells }
}

#[test]
fn a_graph_of_two_lanes_is_replayed_a_thousand_times_in_order() {
    let device = Device::new();
    let (origin, branch, replay) = (device.stream(), device.stream(), device.stream());
    let Chain { graph, cells } = capture_chain(&device, origin, branch);
    ok!(tenon_sim_destroy_stream(origin));
    ok!(tenon_sim_destroy_stream(branch));
    let last = cells.wrapping_byte_add(64 * (CELLS - 1));
    let before = device.stats().replays;
    for value in 1..=1000 {
        ok!(tenon_sim_write_value32_async(cells, value, replay));
        ok!(tenon_sim_graph_launch(graph, replay));
        if value % 100 == 0 {
            ok!(tenon_sim_synchronize_stream(replay));
            assert_eq!(device.read(last, 4), value.to_le_bytes());
        }
    }
    assert_eq!(device.stats().replays - before, 1000);
    ok!(tenon_sim_graph_destroy(graph));
}

#[test]
fn a_running_graph_is_not_destroyed() {
    let device = Device::new();
    let stream = device.stream();
    let (from, to) = (device.memory(64 << 20, 1), device.memory(64 << 20, 0));
    ok!(tenon_sim_capture_begin(stream, 0));
    ok!(tenon_sim_memcpy_async(to, 64 << 20, from, 64 << 20, DEVICE_TO_DEVICE, stream));
    let mut graph = ptr::null_mut();
    ok!(tenon_sim_capture_end(stream, &raw mut graph));
    let mut answer = 0;
    // The replays may be over before the call: then there are more of them the next time.
    for replays in 1..10 {
        for _ in 0..replays {
            ok!(tenon_sim_graph_launch(graph, stream));
        }
        answer = call!(tenon_sim_graph_destroy(graph));
        if answer != 0 {
            break;
        }
    }
    assert_eq!(answer, 107_037);
    ok!(tenon_sim_synchronize_stream(stream));
    ok!(tenon_sim_graph_destroy(graph));
    assert_eq!(call!(tenon_sim_graph_launch(graph, stream)), 107_017);
}

#[test]
fn one_graph_runs_on_two_streams_at_once() {
    let device = Device::new();
    let (origin, branch, first, second) = (device.stream(), device.stream(), device.stream(), device.stream());
    let Chain { graph, cells } = capture_chain(&device, origin, branch);
    ok!(tenon_sim_write_value32_async(cells, 77, NULL_STREAM));
    ok!(tenon_sim_synchronize_stream(NULL_STREAM));
    for _ in 0..50 {
        ok!(tenon_sim_graph_launch(graph, first));
        ok!(tenon_sim_graph_launch(graph, second));
    }
    ok!(tenon_sim_synchronize_device());
    assert_eq!(device.read(cells.wrapping_byte_add(64 * (CELLS - 1)), 4), 77u32.to_le_bytes());
    ok!(tenon_sim_graph_destroy(graph));
}

#[test]
fn a_task_that_fails_in_a_graph_is_reported_on_the_launching_stream_once() {
    let device = Device::new();
    let (stream, other) = (device.stream(), device.stream());
    let memory = device.memory(2304, 0);
    ok!(tenon_sim_capture_begin(stream, 0));
    // No area is registered there, so the branch fails on the device.
    ok!(tenon_sim_launch_aicore(memory.addr() as u64, stream));
    let mut graph = ptr::null_mut();
    ok!(tenon_sim_capture_end(stream, &raw mut graph));
    ok!(tenon_sim_graph_launch(graph, other));
    assert_ne!(call!(tenon_sim_synchronize_stream(other)), 0);
    ok!(tenon_sim_synchronize_stream(other));
    ok!(tenon_sim_synchronize_stream(stream));
    ok!(tenon_sim_graph_destroy(graph));
}

#[test]
fn host_arguments_are_those_of_the_capture() {
    let device = Device::new();
    let stream = device.stream();
    let memory = device.memory(64, 0);
    let pinned = device.pinned(64, 1);
    ok!(tenon_sim_capture_begin(stream, 0));
    ok!(tenon_sim_write_value32_async(memory, 5, stream));
    ok!(tenon_sim_memcpy_async(memory.wrapping_byte_add(4), 4, pinned.cast(), 4, HOST_TO_DEVICE, stream));
    let mut graph = ptr::null_mut();
    ok!(tenon_sim_capture_end(stream, &raw mut graph));
    // SAFETY: 64 bytes of pinned memory, which no copy is reading now.
    unsafe { ptr::write_bytes(pinned, 2, 64) };
    ok!(tenon_sim_graph_launch(graph, stream));
    ok!(tenon_sim_synchronize_stream(stream));
    assert_eq!(device.read(memory, 8), [5, 0, 0, 0, 2, 2, 2, 2], "values are copied, memory is read at the replay");
    ok!(tenon_sim_graph_destroy(graph));
}

const NULL_STREAM: *mut c_void = ptr::null_mut();
