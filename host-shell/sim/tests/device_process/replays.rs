//! Graphs: lanes side by side, replays again and at the same time, failures.
//!

use std::sync::atomic::Ordering::SeqCst;

use tenon_sim::shm::kind;

use crate::machine::{Machine, Settings};
use crate::task::{Task, call, order, record, task, wait, write};

/// Bytes that take the copy engine longer than anybody else takes for a word.
const SLOW_BYTES: u64 = 64 << 10;

/// Two lanes that need each other: the first lane logs 1, the second 2, the first 3. A lane that did not wait would be too early.
fn back_and_forth(device: &mut Machine, log: u64) -> Vec<Vec<Task>> {
    let say = |number| call(&[order::LOG, log, number]);
    let slow = task(kind::FILL, device.allocate(SLOW_BYTES), 0, SLOW_BYTES);
    vec![vec![slow, say(1), record(0, 1), wait(1, 1), say(3)], vec![wait(0, 1), say(2), record(1, 1)]]
}

#[test]
fn a_thousand_replays_run_their_lanes_in_the_order_of_their_events() {
    let mut device = Machine::start(&Settings::default());
    let log = device.allocate(8 * 3001);
    let lanes = back_and_forth(&mut device, log);
    let graph = device.graph(&lanes, 2);
    for _ in 0..1000 {
        device.submit(1, &[device.replay(graph)]);
    }
    assert_eq!(device.synchronize(1), None);
    assert!(device.log(log).chunks(3).all(|replay| replay == [1, 2, 3]));
    assert_eq!(device.log(log).len(), 3000);
    assert_eq!(device.in_flight(graph).load(SeqCst), 0);
    assert_eq!(device.control().stats.replays.load(SeqCst), 1000);
}

#[test]
fn replays_of_one_graph_on_two_streams_run_at_the_same_time() {
    let mut device = Machine::start(&Settings::default());
    let meeting = device.allocate(64);
    // Neither replay can end before the other has begun.
    let graph = device.graph(&[vec![call(&[order::PAIR, meeting, 2])]], 0);
    device.submit(1, &[device.replay(graph)]);
    device.submit(2, &[device.replay(graph)]);
    assert_eq!((device.synchronize(1), device.synchronize(2)), (None, None));
    assert_eq!(device.in_flight(graph).load(SeqCst), 0);
}

#[test]
fn replays_on_many_streams_keep_their_events_apart() {
    let mut device = Machine::start(&Settings::default());
    let logs: Vec<u64> = (0..8).map(|_| device.allocate(8 * 151)).collect();
    let lanes: Vec<_> = logs.iter().map(|log| back_and_forth(&mut device, *log)).collect();
    let graphs: Vec<u64> = lanes.iter().map(|lanes| device.graph(lanes, 2)).collect();
    for _ in 0..50 {
        for (stream, graph) in graphs.iter().enumerate() {
            device.submit(1 + stream, &[device.replay(*graph)]);
        }
    }
    for (stream, log) in logs.iter().enumerate() {
        assert_eq!(device.synchronize(1 + stream), None);
        assert_eq!(device.log(*log), [1, 2, 3].repeat(50));
    }
}

#[test]
fn a_failure_in_any_lane_is_that_of_the_launching_stream_and_the_rest_still_runs() {
    let mut device = Machine::start(&Settings::default());
    let log = device.allocate(1024);
    let lanes = [
        vec![wait(0, 1), call(&[order::LOG, log, 2])],
        vec![call(&[order::LOG, log, 1]), call(&[order::FAIL, 3]), record(0, 1)],
    ];
    let graph = device.graph(&lanes, 1);
    assert_eq!(device.run(1, &[device.replay(graph)]), Some((507_018, 3)));
    assert_eq!(device.log(log), [1, 2]);
    assert_eq!(device.run(1, &[device.replay(graph)]), Some((507_018, 3)));
    device.submit(1, &[device.replay(graph), record(9, 1)]);
    assert_eq!(device.run(2, &[wait(9, 1)]), Some((507_018, 3)));
}

#[test]
fn an_empty_graph_ends_at_once() {
    let mut device = Machine::start(&Settings::default());
    for lanes in [vec![], vec![vec![]], vec![vec![], vec![]]] {
        let graph = device.graph(&lanes, 0);
        assert_eq!(device.run(1, &[device.replay(graph)]), None);
        assert_eq!(device.in_flight(graph).load(SeqCst), 0);
    }
}

#[test]
fn malformed_tasks_in_a_graph_fail_the_replay_and_end_it() {
    let mut device = Machine::start(&Settings::default());
    let word = device.allocate(64);
    let mut no_length = write(word, 1);
    no_length.header.bytes = 32;
    let malformed =
        [vec![task(kind::GRAPH, 0, 0, 0)], vec![task(77, 0, 0, 0)], vec![record(1, 1)], vec![no_length, record(0, 1)]];
    for (number, lane) in malformed.into_iter().enumerate() {
        let mark = number as u64 + 1;
        let waits = lane.last().is_some_and(|last| last.header.kind == kind::RECORD && last.header.a == 0);
        let mut good = vec![write(word, mark)];
        if waits {
            good.insert(0, wait(0, 1));
        }
        let graph = device.graph(&[lane, good], 1);
        assert_eq!(device.run(1, &[device.replay(graph)]), Some((507_899, 0)), "{number}");
        assert_eq!(device.read(word), mark);
        assert_eq!(device.in_flight(graph).load(SeqCst), 0);
    }
}

#[test]
fn a_graph_with_a_wrong_header_is_not_run_and_no_longer_in_flight() {
    let mut device = Machine::start(&Settings::default());
    let word = device.allocate(64);
    for (offset, value) in [(0, 65_u32), (4, 65_537), (16, 1), (20, u32::MAX), (24, 65)] {
        let graph = device.graph(&[vec![write(word, 1)]], 0);
        device.poke_store(graph + offset, value);
        assert_eq!(device.run(1, &[device.replay(graph)]), Some((507_899, 0)), "{offset}");
        assert_eq!(device.in_flight(graph).load(SeqCst), 0);
    }
    assert_eq!(device.read(word), 0);
}
