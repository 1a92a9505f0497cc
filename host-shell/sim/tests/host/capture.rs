//! The rules of captures as a caller meets them.
//!

use core::ffi::c_void;
use core::ptr;

use crate::support::{DEVICE_TO_HOST, Device, HOST_TO_DEVICE, SYNC, call, ok};

const GLOBAL: i32 = 0;
const THREAD_LOCAL: i32 = 1;
const RELAXED: i32 = 2;
const NULL: *mut c_void = ptr::null_mut();

/// Where a stream stands: 0 not captured, 1 active, 2 invalidated.
fn status(stream: *mut c_void) -> i32 {
    let mut status = -1;
    ok!(tenon_sim_capture_get_info(stream, &raw mut status, ptr::null_mut()));
    status
}

/// Ends a capture: the answer and the graph.
fn end(stream: *mut c_void) -> (i32, *mut c_void) {
    let mut graph = ptr::without_provenance_mut(1);
    (call!(tenon_sim_capture_end(stream, &raw mut graph)), graph)
}

/// Ends a capture that is right, and destroys its graph.
fn end_well(stream: *mut c_void) {
    let (answer, graph) = end(stream);
    assert_eq!(answer, 0, "{}", crate::support::message());
    ok!(tenon_sim_graph_destroy(graph));
}

#[test]
fn nothing_waits_for_or_looks_at_a_captured_stream() {
    let device = Device::new();
    let stream = device.stream();
    let mut out = 0;
    ok!(tenon_sim_capture_begin(stream, GLOBAL));
    assert_eq!(call!(tenon_sim_synchronize_stream(stream)), 107_027);
    assert_eq!(call!(tenon_sim_synchronize_stream_with_timeout(stream, 1)), 107_027);
    assert_eq!(call!(tenon_sim_query_stream(stream, &raw mut out)), 107_027);
    assert_eq!(call!(tenon_sim_destroy_stream(stream)), 107_027);
    assert_eq!(call!(tenon_sim_synchronize_device()), 107_027);
    assert_eq!(call!(tenon_sim_capture_begin(stream, GLOBAL)), 107_027);
    assert_eq!(status(stream), 1, "none of these makes the capture invalid");
    end_well(stream);
    ok!(tenon_sim_synchronize_stream(stream));
}

#[test]
fn the_default_stream_is_never_captured_nor_tied_to_a_capture() {
    let device = Device::new();
    let (stream, event) = (device.stream(), device.event(SYNC));
    let mut out = 0;
    assert_eq!(call!(tenon_sim_capture_begin(NULL, GLOBAL)), 100_000);
    assert_eq!(end(NULL).0, 100_000);
    assert_eq!(call!(tenon_sim_capture_get_info(NULL, &raw mut out, ptr::null_mut())), 100_000);
    ok!(tenon_sim_capture_begin(stream, RELAXED));
    assert_eq!(call!(tenon_sim_record_event(event, NULL)), 107_031);
    assert_eq!(call!(tenon_sim_stream_wait_event(NULL, event)), 107_031);
    ok!(tenon_sim_memset_async(device.memory(64, 0), 64, 1, 64, NULL));
    assert_eq!(status(stream), 1);
    end_well(stream);
    ok!(tenon_sim_record_event(event, NULL));
}

#[test]
fn a_wait_for_what_is_outside_makes_the_capture_invalid() {
    let device = Device::new();
    let (stream, other) = (device.stream(), device.stream());
    let (outside, never, elsewhere) = (device.event(SYNC), device.event(SYNC), device.event(SYNC));
    ok!(tenon_sim_record_event(outside, other));
    ok!(tenon_sim_capture_begin(other, RELAXED));
    ok!(tenon_sim_record_event(elsewhere, other));
    for event in [outside, never, elsewhere] {
        ok!(tenon_sim_capture_begin(stream, RELAXED));
        assert_eq!(call!(tenon_sim_stream_wait_event(stream, event)), 107_024);
        assert_eq!(status(stream), 2);
        assert_eq!(call!(tenon_sim_memset_async(device.memory(64, 0), 64, 1, 64, stream)), 507_903);
        assert_eq!(end(stream), (507_903, NULL));
        assert_eq!(status(stream), 0);
    }
    assert_eq!(status(other), 1, "the other capture is unharmed");
    end_well(other);
}

#[test]
fn what_each_kind_of_event_does_in_a_capture() {
    let device = Device::new();
    let stream = device.stream();
    let (ordinary, without_sync, sync) = (device.event(0), device.event(8), device.event(SYNC));
    ok!(tenon_sim_capture_begin(stream, RELAXED));
    ok!(tenon_sim_record_event(without_sync, stream));
    ok!(tenon_sim_record_event(sync, stream));
    let mut complete = -1;
    ok!(tenon_sim_query_event(without_sync, &raw mut complete));
    assert_eq!(complete, 0, "nothing was recorded");
    assert_eq!(call!(tenon_sim_query_event(sync, &raw mut complete)), 107_028);
    assert_eq!(call!(tenon_sim_synchronize_event(sync)), 107_028);
    end_well(stream);
    ok!(tenon_sim_synchronize_event(sync));

    ok!(tenon_sim_capture_begin(stream, RELAXED));
    assert_eq!(call!(tenon_sim_record_event(ordinary, stream)), 207_000);
    assert_eq!(end(stream), (507_903, NULL));
    assert_eq!(call!(tenon_sim_stream_wait_event(stream, without_sync)), 207_000);
}

#[test]
fn a_stream_that_joined_must_return() {
    let device = Device::new();
    let (origin, branch) = (device.stream(), device.stream());
    let (start, done) = (device.event(SYNC), device.event(SYNC));
    let memory = device.memory(64, 0);
    let fork = || {
        ok!(tenon_sim_capture_begin(origin, GLOBAL));
        ok!(tenon_sim_record_event(start, origin));
        ok!(tenon_sim_stream_wait_event(branch, start));
        assert_eq!(status(branch), 1);
        ok!(tenon_sim_memset_async(memory, 64, 1, 64, branch));
    };
    fork();
    assert_eq!(call!(tenon_sim_synchronize_stream(branch)), 107_027);
    assert_eq!(end(branch).0, 107_036, "it began on another stream");
    assert_eq!(end(origin), (107_025, NULL));
    assert_eq!((status(origin), status(branch)), (0, 0));

    fork();
    ok!(tenon_sim_record_event(done, branch));
    ok!(tenon_sim_stream_wait_event(origin, done));
    ok!(tenon_sim_memset_async(memory, 64, 2, 64, branch));
    assert_eq!(end(origin), (107_025, NULL), "there was work after the return");

    fork();
    ok!(tenon_sim_record_event(done, branch));
    ok!(tenon_sim_stream_wait_event(origin, done));
    end_well(origin);
    assert_eq!(end(origin).0, 107_029);
    assert_eq!(device.read(memory, 64), [0; 64], "nothing of it was executed");
}

#[test]
fn a_capture_ends_on_its_thread_unless_it_is_relaxed() {
    let device = Device::new();
    let stream = device.stream();
    let address = stream.expose_provenance();
    let end_elsewhere = || {
        let end_there = || {
            ok!(tenon_sim_set_device(0));
            let (answer, graph) = end(ptr::with_exposed_provenance_mut(address));
            ok!(tenon_sim_reset_device(0));
            (answer, graph.expose_provenance())
        };
        std::thread::scope(|scope| scope.spawn(end_there).join().expect("no panic"))
    };
    for mode in [GLOBAL, THREAD_LOCAL] {
        ok!(tenon_sim_capture_begin(stream, mode));
        assert_eq!(end_elsewhere(), (107_038, 0));
        assert_eq!(status(stream), 1, "the capture goes on");
        end_well(stream);
    }
    ok!(tenon_sim_capture_begin(stream, RELAXED));
    let (answer, graph) = end_elsewhere();
    assert_eq!(answer, 0);
    ok!(tenon_sim_graph_destroy(ptr::with_exposed_provenance_mut(graph)));
}

#[test]
fn copies_that_wait_are_refused_by_mode() {
    let device = Device::new();
    let stream = device.stream();
    let memory = device.memory(64, 3);
    let mut host = [0u8; 64];
    let host: *mut c_void = host.as_mut_ptr().cast();
    let copy = || call!(tenon_sim_memcpy(memory, 64, host, 64, HOST_TO_DEVICE));
    let fill = || call!(tenon_sim_memset(memory, 64, 3, 64));
    for (mode, answer) in [(GLOBAL, 107_030), (THREAD_LOCAL, 107_030), (RELAXED, 0)] {
        ok!(tenon_sim_capture_begin(stream, mode));
        assert_eq!((copy(), fill()), (answer, answer), "mode {mode}");
        let mut exchanged = RELAXED;
        ok!(tenon_sim_capture_exchange_mode(&raw mut exchanged));
        assert_eq!(exchanged, GLOBAL, "what it was before");
        assert_eq!((copy(), fill()), (0, 0), "a relaxed thread");
        ok!(tenon_sim_capture_exchange_mode(&raw mut exchanged));
        assert_eq!(exchanged, RELAXED);
        ok!(tenon_sim_read_device(host, memory, 64));
        assert_eq!(status(stream), 1);
        end_well(stream);
    }
    let mut wrong = 3;
    assert_eq!(call!(tenon_sim_capture_exchange_mode(&raw mut wrong)), 100_000);
    assert_eq!(call!(tenon_sim_capture_begin(stream, 3)), 100_000);
}

#[test]
fn an_asynchronous_copy_is_captured_when_its_memory_is_pinned_and_refused_when_not() {
    let device = Device::new();
    let stream = device.stream();
    let memory = device.memory(64, 0);
    let pinned = device.pinned(64, 5);
    let mut host = [0u8; 64];
    ok!(tenon_sim_capture_begin(stream, GLOBAL));
    let answer = call!(tenon_sim_memcpy_async(host.as_mut_ptr().cast(), 64, memory, 64, DEVICE_TO_HOST, stream));
    assert_eq!(answer, 107_041);
    ok!(tenon_sim_memcpy_async(memory, 64, pinned.cast(), 64, HOST_TO_DEVICE, stream));
    assert_eq!(status(stream), 1);
    let (answer, graph) = end(stream);
    assert_eq!(answer, 0);
    assert_eq!(device.read(memory, 64), [0; 64]);
    ok!(tenon_sim_graph_launch(graph, stream));
    ok!(tenon_sim_synchronize_stream(stream));
    assert_eq!(device.read(memory, 64), [5; 64]);
    ok!(tenon_sim_graph_destroy(graph));
}

#[test]
fn an_injected_failure_of_a_record_or_wait_makes_the_capture_invalid_and_others_do_not() {
    let device = Device::new();
    let (stream, event) = (device.stream(), device.event(SYNC));
    for (name, state) in [(c"record_event", 2), (c"stream_wait_event", 2), (c"memset_async", 1)] {
        ok!(tenon_sim_capture_begin(stream, GLOBAL));
        ok!(tenon_sim_record_event(event, stream));
        ok!(tenon_sim_fault_inject(name.as_ptr(), 1, 507_899));
        let answers = [
            call!(tenon_sim_record_event(event, stream)),
            call!(tenon_sim_stream_wait_event(stream, event)),
            call!(tenon_sim_memset_async(NULL, 0, 0, 0, stream)),
        ];
        assert!(answers.contains(&507_899), "{answers:?}");
        assert_eq!(status(stream), state, "{name:?}");
        let expected = if state == 2 { 507_903 } else { 0 };
        assert_eq!(end(stream).0, expected);
    }
}

#[test]
fn a_graph_that_is_being_captured_can_be_asked_for_but_not_used() {
    let device = Device::new();
    let (stream, other) = (device.stream(), device.stream());
    let mut graph = NULL;
    ok!(tenon_sim_capture_get_info(stream, ptr::null_mut(), &raw mut graph));
    assert!(graph.is_null());
    ok!(tenon_sim_capture_begin(stream, GLOBAL));
    ok!(tenon_sim_capture_get_info(stream, ptr::null_mut(), &raw mut graph));
    assert_eq!(call!(tenon_sim_graph_destroy(graph)), 107_026);
    assert_eq!(call!(tenon_sim_graph_launch(graph, other)), 107_026);
    assert_eq!(call!(tenon_sim_graph_launch(graph, stream)), 107_027);
    assert_eq!(call!(tenon_sim_capture_get_info(stream, ptr::null_mut(), ptr::null_mut())), 100_000);
    assert_eq!(end(stream), (0, graph), "it is the same graph afterwards");
    ok!(tenon_sim_graph_destroy(graph));
    assert_eq!(call!(tenon_sim_graph_destroy(graph)), 107_017);
}
