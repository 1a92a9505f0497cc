//! AICore branches and the children that they serve.
//!

use std::sync::atomic::Ordering::SeqCst;

use crate::machine::{Machine, Settings};
use crate::task::{Task, aicore, call, order, record, wait, write};

const TIMEOUT: u32 = 507_014;
const EXCEPTION: u32 = 507_018;
const NO_FAILURE: u64 = u32::MAX as u64;

/// Both branches of a launch: stream 1 is the AICore's, stream 2 the AICPU's.
fn launch(device: &Machine, area: u64, order: &[u64]) {
    device.submit(1, &[aicore(area)]);
    device.submit(2, &[call(order)]);
}

fn execute(area: u64, log: u64, children: u64, blocks: u64, failing: u64) -> [u64; 5] {
    [order::EXECUTE, area, log, children | blocks << 32, failing]
}

#[test]
fn children_run_in_order_with_every_block_once() {
    for workers in [1, 2, 5] {
        let mut device = Machine::start(&Settings { aicore_workers: workers, ..Settings::default() });
        let area = device.register_area(9);
        let log = device.allocate(8 * 1000);
        launch(&device, area, &execute(area, log, 40, 7, NO_FAILURE));
        assert_eq!((device.synchronize(1), device.synchronize(2)), (None, None));
        let log = device.log(log);
        assert_eq!(log.len(), 280);
        for (child, blocks) in log.chunks(7).enumerate() {
            let mut blocks = blocks.to_vec();
            blocks.sort_unstable();
            assert!(blocks.into_iter().eq((0..7).map(|block| (child as u64) << 32 | block)), "child {child}");
        }
        assert_eq!(device.control().stats.blocks.load(SeqCst), 280);
        assert_eq!(device.control().stats.aicore_work.load(SeqCst), 1);
    }
}

#[test]
fn all_children_run_after_a_failure_and_the_first_failure_is_reported() {
    let mut device = Machine::start(&Settings::default());
    let area = device.register_area(1);
    let log = device.allocate(1024);
    launch(&device, area, &execute(area, log, 5, 2, 1));
    assert_eq!((device.synchronize(1), device.synchronize(2)), (None, Some((EXCEPTION, 61))));
    assert_eq!(device.log(log).len(), 10);
    // The failure belongs to that execution alone.
    launch(&device, area, &execute(area, log, 5, 2, NO_FAILURE));
    assert_eq!((device.synchronize(1), device.synchronize(2)), (None, None));
}

#[test]
fn children_wait_until_a_branch_serves_them() {
    let mut device = Machine::start(&Settings::default());
    let area = device.register_area(1);
    let log = device.allocate(1024);
    device.submit(2, &[call(&execute(area, log, 3, 1, NO_FAILURE))]);
    // The call is in progress, and cannot end without its branch.
    device.until(|| device.control().stats.aicpu_calls.load(SeqCst) == 1);
    assert_eq!(device.run(3, &[write(log + 1016, 1)]), None);
    assert_eq!(device.log(log), []);
    assert_eq!(device.run(1, &[aicore(area)]), None);
    assert_eq!(device.synchronize(2), None);
    assert_eq!(device.log(log).len(), 3);
}

#[test]
fn a_branch_stays_until_the_execution_that_it_serves_has_ended() {
    let mut device = Machine::start(&Settings::default());
    let area = device.register_area(1);
    let gate = device.allocate(64);
    launch(&device, area, &[order::HOLD, area, gate]);
    device.until(|| device.read(gate) == 1);
    // Another branch of the same context takes a verdict of its own and passes the first one by.
    assert_eq!(device.run(4, &[call(&[order::LEAVE, area])]), Some((EXCEPTION, 3)));
    let stats = &device.control().stats;
    device.submit(3, &[aicore(area)]);
    device.until(|| stats.aicore_leave.load(SeqCst) == 1);
    assert_eq!(stats.aicore_work.load(SeqCst), 0);
    device.poke(gate, 2);
    assert_eq!([1, 2, 3].map(|stream| device.synchronize(stream)), [None; 3]);
    assert_eq!(stats.aicore_work.load(SeqCst), 1);
}

#[test]
fn waiting_branches_occupy_no_worker() {
    let mut device = Machine::start(&Settings { aicore_workers: 1, ..Settings::default() });
    let areas: Vec<u64> = (0..20).map(|number| device.register_area(1 + number)).collect();
    let log = device.allocate(1024);
    for (stream, area) in areas.iter().enumerate().skip(1) {
        device.submit(10 + stream, &[aicore(*area)]);
    }
    launch(&device, areas[0], &execute(areas[0], log, 1, 4, NO_FAILURE));
    assert_eq!((device.synchronize(1), device.synchronize(2)), (None, None));
    for (stream, area) in areas.iter().enumerate().skip(1) {
        assert_eq!(device.run(2, &[call(&[order::LEAVE, *area])]), Some((EXCEPTION, 3)));
        assert_eq!(device.synchronize(10 + stream), None);
    }
    assert_eq!(device.control().stats.aicore_leave.load(SeqCst), 19);
}

#[test]
fn a_branch_takes_one_verdict_and_leaves_the_next_to_another() {
    let mut device = Machine::start(&Settings::default());
    let area = device.register_area(1);
    device.submit(1, &[aicore(area)]);
    device.submit(3, &[aicore(area)]);
    assert_eq!(device.run(2, &[call(&[order::LEAVE, area])]), Some((EXCEPTION, 3)));
    let ended =
        || [1, 3].map(|stream: usize| device.control().streams[stream].completed.load(SeqCst)).iter().sum::<u64>();
    device.until(|| ended() == 1);
    // Anything that the device does makes it look at the other branch again, which still has to wait.
    assert_eq!(device.run(4, &[record(0, 1)]), None);
    assert_eq!(ended(), 1);
    assert_eq!(device.run(2, &[call(&[order::LEAVE, area])]), Some((EXCEPTION, 3)));
    device.until(|| ended() == 2);
}

#[test]
fn an_execution_without_children_lets_its_branch_go_before_or_after() {
    let mut device = Machine::start(&Settings::default());
    let area = device.register_area(1);
    assert_eq!(device.run(2, &[call(&[order::WORK_WITHOUT_CHILDREN, area])]), None);
    assert_eq!(device.run(1, &[aicore(area)]), None);
    device.submit(1, &[aicore(area)]);
    assert_eq!(device.run(2, &[call(&[order::WORK_WITHOUT_CHILDREN, area])]), None);
    assert_eq!(device.synchronize(1), None);
    assert_eq!(device.control().stats.aicore_work.load(SeqCst), 2);
}

#[test]
fn a_cancelled_context_lets_its_branch_go() {
    let mut device = Machine::start(&Settings::default());
    let area = device.register_area(1);
    device.submit(1, &[aicore(area)]);
    let cancel =
        Task { payload: 1_u32.to_le_bytes().into(), ..crate::task::task(tenon_sim::shm::kind::WRITE, area + 8, 0, 4) };
    assert_eq!(device.run(3, &[cancel]), None);
    assert_eq!(device.synchronize(1), None);
    assert_eq!(device.run(1, &[aicore(area)]), None);
    assert_eq!(device.control().stats.aicore_leave.load(SeqCst), 2);
}

#[test]
fn a_branch_without_a_verdict_ends_by_time_out() {
    let mut device = Machine::start(&Settings { aicore_timeout_ms: 30, ..Settings::default() });
    let area = device.register_area(1);
    assert_eq!(device.run(1, &[aicore(area)]), Some((TIMEOUT, 0)));
    device.submit(1, &[aicore(area), record(0, 1)]);
    assert_eq!(device.run(3, &[wait(0, 1)]), Some((TIMEOUT, 0)));
    assert_eq!(device.control().stats.aicore_timeouts.load(SeqCst), 2);
}

#[test]
fn an_execution_that_no_branch_serves_is_given_up() {
    let mut device = Machine::start(&Settings { aicore_timeout_ms: 30, ..Settings::default() });
    let area = device.register_area(1);
    let log = device.allocate(1024);
    // More children than the queue holds: starting gives up, then waiting.
    for children in [2, 100] {
        assert_eq!(device.run(2, &[call(&execute(area, log, children, 1, NO_FAILURE))]), Some((EXCEPTION, 6)));
    }
    assert_eq!(device.log(log), []);
    // Their verdicts are still there: two branches find them and have nothing left to serve.
    assert_eq!(device.run(1, &[aicore(area), aicore(area)]), None);
    assert_eq!(device.log(log), []);
}

#[test]
fn the_order_of_blocks_follows_the_seed_and_nothing_else() {
    let order = |seed, aicpu_threads| {
        let mut device = Machine::start(&Settings { aicore_workers: 1, seed, aicpu_threads, ..Settings::default() });
        let area = device.register_area(1);
        let log = device.allocate(8 * 600);
        for _ in 0..2 {
            launch(&device, area, &execute(area, log, 4, 61, NO_FAILURE));
            assert_eq!((device.synchronize(1), device.synchronize(2)), (None, None));
        }
        device.log(log)
    };
    let first = order(5, 1);
    assert_eq!(first, order(5, 3));
    assert_ne!(first, order(6, 1));
    // Neither children nor executions share an order.
    let blocks: Vec<Vec<u64>> =
        first.chunks(61).map(|child| child.iter().map(|entry| entry & 0xFFFF_FFFF).collect()).collect();
    assert!((1..8).all(|number| blocks[number] != blocks[0]));
}

#[test]
fn the_platform_knows_areas_and_callable_memory() {
    let mut device = Machine::start(&Settings::default());
    device.register_area(7);
    let area = device.register_area(8);
    let callable = tenon_sim::shm::DEVICE_BASE + crate::machine::MEMORY_BYTES / 2;
    let half = crate::machine::MEMORY_BYTES / 2;
    for inside in [area, area + 32, area + 2239] {
        assert_eq!(device.run(2, &[call(&[order::FIND, inside, area, 8, 1, callable, half])]), None);
    }
    assert_eq!(device.run(2, &[call(&[order::FIND, area - 1_000_000, 0, 0, 0])]), Some((EXCEPTION, 1)));
}

#[test]
fn ten_thousand_launches_allocate_nothing_once_the_device_is_warm() {
    let mut device = Machine::start(&Settings::default());
    let area = device.register_area(1);
    let log = device.allocate(64 * 1024);
    let empty = device.graph(
        &[
            vec![record(0, 1), wait(2, 1)],
            vec![wait(0, 1), aicore(area)],
            vec![wait(0, 1), call(&execute(area, log, 1, 2, NO_FAILURE)), write(log, 0), record(2, 1)],
        ],
        3,
    );
    let rounds = |count| {
        for _ in 0..count {
            device.submit(0, &[device.replay(empty), call(&[order::LOG, log, 1]), write(log, 0)]);
        }
        assert_eq!(device.synchronize(0), None);
        device.control().stats.device_allocations.load(SeqCst)
    };
    let warm = rounds(100);
    assert!(warm > 0, "the counter counts");
    assert_eq!(rounds(10_000), warm);
}
