//! How the device process starts, loads images, and ends.
//!

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering::SeqCst;

use tenon_sim::shm::{self, Control, binary_state, state};

use crate::machine::{Machine, Settings, fake_image};
use crate::task::{call, call_in, order};

const EXCEPTION: u32 = 507_018;

#[test]
fn it_ends_with_its_last_user_and_nothing_is_left() {
    let mut device = Machine::start(&Settings::default());
    let pid = device.control().device_pid.load(SeqCst);
    // Even with work that never ends.
    let meeting = device.allocate(64);
    device.submit(1, &[call(&[order::PAIR, meeting, 2])]);
    device.until(|| device.read(meeting) == 1);
    assert!(device.hang_up().success());
    assert!(!PathBuf::from(format!("/proc/{pid}")).exists());
}

#[test]
fn it_ends_when_the_host_asks_for_it() {
    let mut device = Machine::start(&Settings::default());
    device.control().state.store(state::STOPPING, SeqCst);
    device.ring_bell(&[]);
    assert!(device.ended().success());
}

#[test]
fn an_operator_that_crashes_takes_the_device_with_it() {
    let mut device = Machine::start(&Settings::default());
    device.submit(1, &[call(&[order::CRASH])]);
    assert_eq!(device.ended().signal(), Some(libc::SIGSEGV));
}

#[test]
fn wrong_settings_are_refused_with_a_code() {
    let changes: [fn(&Control); 6] = [
        |control| control.aicpu_threads.store(0, SeqCst),
        |control| control.aicpu_threads.store(65, SeqCst),
        |control| control.aicore_workers.store(0, SeqCst),
        |control| control.device_bytes.store(1 << 40, SeqCst),
        |control| control.device_base.store(u64::MAX - 100, SeqCst),
        |control| control.callable_offset.store(8, SeqCst),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut device = Machine::try_start(&Settings::default(), change);
        assert_eq!(device.control().state.load(SeqCst), state::FAILED, "{number}");
        assert_eq!(device.control().start_error.load(SeqCst), 100_000, "{number}");
        assert!(!device.ended().success());
    }
}

#[test]
fn an_image_that_is_none_is_refused_at_the_start() {
    for image in ["/nowhere/libtenon_aicpu.so".into(), PathBuf::from(env!("CARGO_BIN_EXE_tenon-sim-device"))] {
        let mut device = Machine::try_start(&Settings { image, ..Settings::default() }, |_| {});
        assert_eq!(device.control().state.load(SeqCst), state::FAILED);
        assert_eq!(device.control().start_error.load(SeqCst), 100_000);
        assert!(!device.ended().success());
    }
}

#[test]
fn a_control_file_of_another_build_is_not_touched() {
    let mut device =
        Machine::try_start(&Settings::default(), |control| control.version.store(shm::VERSION + 1, SeqCst));
    assert!(!device.ended().success());
    assert_eq!(device.control().state.load(SeqCst), state::STARTING);
}

/// Asks for the image at `offset` in place `binary`, and waits for the answer.
fn load(device: &Machine, binary: usize, offset: u64, bytes: u64) -> u32 {
    let control = &device.control().binaries[binary];
    control.offset.store(offset, SeqCst);
    control.bytes.store(bytes, SeqCst);
    control.state.store(binary_state::LOAD_ASKED, SeqCst);
    device.ring_bell(&[]);
    device.until(|| control.state.load(SeqCst) != binary_state::LOAD_ASKED);
    control.state.load(SeqCst)
}

#[test]
fn images_from_the_store_are_apart_from_each_other_and_fresh_when_loaded_again() {
    let mut device = Machine::start(&Settings::default());
    let image = std::fs::read(fake_image()).expect("just compiled");
    let (offset, bytes) = (device.store(&image), image.len() as u64);
    let count = |binary| device.run(1, &[call_in(binary, &[order::COUNT])]);
    assert_eq!(count(1), Some((107_017, 0)));
    for binary in [1, 2, 63] {
        assert_eq!(load(&device, binary, offset, bytes), binary_state::LOADED);
    }
    assert_eq!((count(1), count(1), count(2)), (Some((EXCEPTION, 1)), Some((EXCEPTION, 2)), Some((EXCEPTION, 1))));
    for _ in 0..10 {
        device.control().binaries[1].state.store(binary_state::FREE, SeqCst);
        device.ring_bell(&[]);
        assert_eq!(count(1), Some((107_017, 0)));
        assert_eq!(load(&device, 1, offset, bytes), binary_state::LOADED);
        assert_eq!(count(1), Some((EXCEPTION, 1)));
    }
    assert_eq!((count(2), count(63)), (Some((EXCEPTION, 2)), Some((EXCEPTION, 1))));
}

#[test]
fn an_image_that_cannot_be_loaded_is_refused_and_the_place_can_be_used_again() {
    let mut device = Machine::start(&Settings::default());
    let image = std::fs::read(fake_image()).expect("just compiled");
    let (offset, bytes) = (device.store(&image), image.len() as u64);
    for (offset, bytes) in [(offset, 100), (shm::STORE_BYTES, 1), (offset, u64::MAX)] {
        assert_eq!(load(&device, 4, offset, bytes), binary_state::REFUSED);
        assert_eq!(device.control().binaries[4].error.load(SeqCst), 100_000);
    }
    assert_eq!(load(&device, 4, offset, bytes), binary_state::LOADED);
    assert_eq!(device.run(1, &[call_in(4, &[order::COUNT])]), Some((EXCEPTION, 1)));
}

#[test]
fn from_the_same_ready_streams_the_same_seed_takes_the_same_order() {
    let order = |seed| {
        let mut device = Machine::start(&Settings { seed, aicpu_threads: 1, ..Settings::default() });
        let log = device.allocate(1024);
        let streams: Vec<usize> = (1..40).collect();
        for stream in &streams {
            device.push(*stream, &call(&[order::LOG, log, *stream as u64]));
        }
        let bits = streams.iter().fold(0, |bits, stream| bits | 1_u64 << stream);
        device.control().active[0].fetch_or(bits, SeqCst);
        device.ring_bell(&[]);
        for stream in streams {
            assert_eq!(device.synchronize(stream), None);
        }
        device.log(log)
    };
    let first = order(11);
    assert_eq!(first.len(), 39);
    assert_eq!(first, order(11));
    assert_ne!(first, order(12));
}

#[test]
fn a_busy_device_is_not_woken_and_a_sleeping_one_once() {
    let mut device = Machine::start(&Settings::default());
    let meeting = device.allocate(64);
    device.submit(1, &[call(&[order::PAIR, meeting, 2])]);
    device.until(|| device.read(meeting) == 1);
    let is_asleep = || device.control().device_sleeps.load(SeqCst) == 1;
    while !is_asleep() {
        std::thread::yield_now();
    }
    let before = device.control().stats.host_wakes.load(SeqCst);
    // Everything is in the rings before the first ring of the bell, so one wake is enough for all of it.
    for stream in 2..10 {
        device.push(stream, &call(&[order::LOG, meeting, 1]));
    }
    device.ring_bell(&[2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(device.control().stats.host_wakes.load(SeqCst), before + 1);
    device.poke(meeting, 2);
    for stream in 1..10 {
        assert_eq!(device.synchronize(stream), None);
    }
}
