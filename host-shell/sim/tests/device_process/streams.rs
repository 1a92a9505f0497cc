//! Tasks in order, failures across streams, tasks that no host should write.
//!

use tenon_sim::shm::{self, TaskHeader, kind, place};

use crate::machine::{Machine, Settings};
use crate::task::{Task, call, order, record, task, wait, write};

const EXCEPTION: u32 = 507_018;
const DRIVER: u32 = 507_899;

#[test]
fn tasks_of_a_stream_run_in_order_across_the_end_of_the_ring() {
    let mut device = Machine::start(&Settings::default());
    let count = 3_000;
    let log = device.allocate(8 * (count + 1));
    // Long arguments, so that the ring is filled three times over and ends in padding.
    let tasks: Vec<Task> = (0..count)
        .map(|number| {
            let mut words = vec![0; 130];
            words[..3].copy_from_slice(&[order::LOG, log, number]);
            call(&words)
        })
        .collect();
    assert_eq!(device.run(1, &tasks), None);
    assert!(device.log(log).into_iter().eq(0..count));
}

#[test]
fn a_wait_holds_its_stream_until_the_event_has_reached_the_ticket() {
    let mut device = Machine::start(&Settings::default());
    let log = device.allocate(1024);
    let say = |number| call(&[order::LOG, log, number]);
    device.submit(1, &[wait(5, 2), say(3)]);
    assert_eq!(device.run(2, &[say(1), record(5, 1)]), None);
    assert_eq!(device.run(2, &[say(2), record(5, 2)]), None);
    assert_eq!(device.synchronize(1), None);
    assert_eq!(device.log(log), [1, 2, 3]);
    assert_eq!(device.control().events[5].reached.load(std::sync::atomic::Ordering::SeqCst), 2);
}

#[test]
fn streams_run_side_by_side() {
    let mut device = Machine::start(&Settings::default());
    let meeting = device.allocate(64);
    device.submit(1, &[call(&[order::PAIR, meeting, 2])]);
    device.submit(2, &[call(&[order::PAIR, meeting, 2])]);
    assert_eq!((device.synchronize(1), device.synchronize(2)), (None, None));
}

#[test]
fn copies_fills_and_writes_reach_device_and_pinned_memory() {
    let mut device = Machine::start(&Settings::default());
    for bytes in [1_u64, 24, 4096, 5000, 3 << 20] {
        let (a, b) = (device.allocate(bytes + 8), device.allocate(bytes + 8));
        let to_pinned = TaskHeader { flags: place::DESTINATION_PINNED, ..task(kind::COPY, 128, b, bytes).header };
        let from_pinned = TaskHeader { flags: place::SOURCE_PINNED, ..task(kind::COPY, b, 128, bytes).header };
        let outcome = device.run(
            1,
            &[
                task(kind::FILL, a, 0x1AB, bytes),
                task(kind::COPY, b, a, bytes),
                Task { header: to_pinned, payload: Vec::new() },
                task(kind::FILL, b, 0, bytes),
                Task { header: from_pinned, payload: Vec::new() },
                write(a, 0x0102_0304_0506_0708),
            ],
        );
        assert_eq!(outcome, None);
        assert_eq!(device.read(a), 0x0102_0304_0506_0708);
        let last = device.read(b + (bytes - 1) / 8 * 8).to_le_bytes()[usize::try_from((bytes - 1) % 8).expect("small")];
        assert_eq!(last, 0xAB);
        let beyond = device.read(b + bytes / 8 * 8).to_le_bytes();
        assert_eq!(beyond[usize::try_from(bytes % 8).expect("small")], 0, "{bytes}");
        // SAFETY: pinned memory that the copy above has written and nobody writes any more.
        assert_eq!(unsafe { device.pinned(128).read() }, 0xAB);
    }
}

#[test]
fn a_failure_is_reported_once_and_later_tasks_go_on() {
    let mut device = Machine::start(&Settings::default());
    let log = device.allocate(1024);
    let tasks = [call(&[order::FAIL, 4]), call(&[order::FAIL, 5]), call(&[order::LOG, log, 1])];
    assert_eq!(device.run(1, &tasks), Some((EXCEPTION, 4)));
    assert_eq!(device.log(log), [1]);
    assert_eq!(device.run(1, &[call(&[order::LOG, log, 2])]), None);
}

#[test]
fn both_entries_of_an_image_can_be_called() {
    let device = Machine::start(&Settings::default());
    let mut program = call(&[order::FAIL, 4]);
    program.header.b = 1;
    assert_eq!(device.run(1, &[program]), Some((EXCEPTION, 1004)));
}

#[test]
fn an_event_carries_a_failure_to_the_stream_that_waits_and_no_further_than_once() {
    let device = Machine::start(&Settings::default());
    // Stream 2 is a hidden one: nobody ever synchronises it.
    let launch = |ticket, answer| {
        device.submit(1, &[record(0, ticket)]);
        device.submit(2, &[wait(0, ticket), call(&[order::FAIL, answer]), record(1, ticket)]);
        device.submit(1, &[wait(1, ticket)]);
    };
    launch(1, 3);
    assert_eq!(device.synchronize(1), Some((EXCEPTION, 3)));
    for ticket in 2..5 {
        launch(ticket, 0);
        assert_eq!(device.synchronize(1), None);
    }
    launch(5, 8);
    assert_eq!(device.synchronize(1), Some((EXCEPTION, 8)));
}

#[test]
fn a_failure_that_nobody_has_taken_is_passed_on_through_several_streams() {
    let device = Machine::start(&Settings::default());
    device.submit(1, &[call(&[order::FAIL, 7]), record(0, 1)]);
    device.submit(2, &[wait(0, 1), record(1, 1)]);
    assert_eq!(device.run(3, &[wait(1, 1)]), Some((EXCEPTION, 7)));
    assert_eq!(device.synchronize(2), Some((EXCEPTION, 7)));
    assert_eq!(device.synchronize(1), Some((EXCEPTION, 7)));
}

#[test]
fn a_new_stream_in_an_old_place_does_not_inherit_what_that_one_left() {
    let device = Machine::start(&Settings::default());
    device.submit(1, &[call(&[order::FAIL, 7])]);
    let stream = &device.control().streams[1];
    device.until(|| stream.completed.load(std::sync::atomic::Ordering::SeqCst) == 1);
    for word in [&stream.tail, &stream.submitted, &stream.head, &stream.completed] {
        word.store(0, std::sync::atomic::Ordering::SeqCst);
    }
    device.submit(1, &[record(0, 1)]);
    assert_eq!(device.run(2, &[wait(0, 1)]), None);
}

#[test]
fn a_malformed_task_is_an_error_of_its_stream_alone() {
    let mut device = Machine::start(&Settings::default());
    let log = device.allocate(1024);
    let outside = shm::DEVICE_BASE + crate::machine::MEMORY_BYTES;
    let with = |change: fn(&mut TaskHeader)| {
        let mut wrong = call(&[order::LOG, 0, 0]);
        change(&mut wrong.header);
        wrong
    };
    let malformed = [
        task(99, 0, 0, 0),
        record(4096, 1),
        wait(u64::MAX, 1),
        with(|header| header.a = 64),
        with(|header| header.b = 2),
        with(|header| header.c = 65),
        with(|header| header.c = u64::MAX),
        with(|header| header.flags = 1),
        with(|header| header.reserved[4] = 1),
        task(kind::AICORE, log, 0, 0),
        task(kind::AICORE, 0, 0, 0),
        task(kind::COPY, log, outside, 1),
        task(kind::COPY, outside - 4, log, 5),
        task(kind::COPY, log, 0, 8),
        task(kind::COPY, log, log, u64::MAX),
        task(kind::FILL, 0, 0, 1),
        write(outside - 7, 1),
        task(kind::WRITE, log, 0, 1),
        task(kind::GRAPH, 1, 0, 0),
        task(kind::GRAPH, !63, 0, 0),
    ];
    for wrong in malformed {
        assert_eq!(device.run(1, std::slice::from_ref(&wrong)), Some((DRIVER, 0)), "{wrong:?}");
    }
    let too_long = Task { payload: vec![0; 40_000], ..task(kind::AICPU, 0, 0, 40_000) };
    assert_eq!(device.run(1, &[too_long]), Some((DRIVER, 0)));
    assert_eq!(device.run(1, &[call(&[order::LOG, log, 1])]), None);
    assert_eq!(device.log(log), [1]);
}

#[test]
fn a_task_without_a_length_gives_up_its_stream_and_no_other() {
    let mut device = Machine::start(&Settings::default());
    let log = device.allocate(1024);
    let good = call(&[order::LOG, log, 1]);
    for (stream, bytes) in [(1, 63), (2, 65), (3, 32), (4, u32::MAX), (5, 1 << 20)] {
        let mut wrong = good.clone();
        wrong.header.bytes = bytes;
        assert_eq!(device.run(stream, &[wrong]), Some((DRIVER, 0)), "bytes {bytes}");
        assert_eq!(device.run(stream, std::slice::from_ref(&good)), Some((DRIVER, 0)));
    }
    assert_eq!(device.run(6, &[good]), None);
    assert_eq!(device.log(log), [1]);
}

#[test]
fn a_packet_is_aligned_and_followed_by_zeroes() {
    let device = Machine::start(&Settings { aicpu_threads: 1, ..Settings::default() });
    assert_eq!(device.run(1, &[call(&[u64::MAX; 64])]), Some((EXCEPTION, 99)));
    assert_eq!(device.run(1, &[call(&[order::TAIL, 0, 0, 0, 0])]), None);
}
