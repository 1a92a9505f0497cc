//! The threads that do the work of streams, and their queues.
//!

use std::sync::atomic::Ordering::Relaxed;

use tenon_core::wire::MAX_PACKET_BYTES;

use super::channel::Channel;
use super::failure::{AICPU_EXCEPTION, Failure, INVALID_HANDLE, Outcome};
use super::task::{Call, Transfer};
use super::{Device, transfer};

/// Most pieces of work that are with the engines at once. The scheduler counts them, so no queue below ever overflows.
pub const OUTSTANDING: usize = 1024;

/// Names the lane of a stream or of its replay that a piece of work belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneId(pub u32);

/// What an AICPU thread is asked to do.
pub enum Job {
    /// A task.
    Call(LaneId, Call),
    /// A place of the table of images is not as the host wants it.
    ChangeBinary(usize),
}

/// The queues.
#[derive(Default)]
pub struct Engines {
    /// To the AICPU threads.
    pub jobs: Channel<Job, OUTSTANDING>,
    /// To the copy engine.
    pub transfers: Channel<(LaneId, Transfer), OUTSTANDING>,
    /// Back to the scheduler.
    pub endings: Channel<(LaneId, Outcome), OUTSTANDING>,
}

/// A packet's private copy. It is longer than any packet: what a short one claims beyond its end is zeroes, not the last one's.
#[repr(C, align(64))]
struct Packet([u8; MAX_PACKET_BYTES + CLEARED_BYTES]);

/// Bytes behind a packet that are cleared before each call.
const CLEARED_BYTES: usize = 64;

/// What an AICPU thread does, for ever.
pub fn run_aicpu(device: &'static Device) -> ! {
    let mut packet = Packet([0; MAX_PACKET_BYTES + CLEARED_BYTES]);
    loop {
        match device.engines.jobs.receive() {
            Job::Call(lane, job) => end(device, lane, call(device, &job, &mut packet)),
            Job::ChangeBinary(binary) => {
                device.binaries.change(device, binary);
                crate::device::bell::ring_host(device.control());
                device.bell().ring();
            }
        }
    }
}

/// What the copy engine does, for ever.
pub fn run_copies(device: &'static Device) -> ! {
    loop {
        let (lane, job) = device.engines.transfers.receive();
        transfer::run(&job);
        end(device, lane, Ok(()));
    }
}

fn end(device: &Device, lane: LaneId, outcome: Outcome) {
    // There is room for every piece of work that is outstanding.
    let sent = device.engines.endings.send((lane, outcome));
    debug_assert!(sent.is_ok(), "more endings than outstanding work");
    device.bell().ring();
}

fn call(device: &Device, job: &Call, packet: &mut Packet) -> Outcome {
    let Some(entry) = device.binaries.enter(device, job.binary, job.entry) else {
        return Err(Failure::of(INVALID_HANDLE));
    };
    // SAFETY:
    // 1. the arguments lie in a mapping that is never removed, and `task::check` found them inside;
    // 2. they are at most `MAX_PACKET_BYTES`, says `Call`, so they fit, and the packet is memory of this thread;
    // 3. the host does not touch them before the task has ended: the contract of the ring and of the store.
    unsafe { core::ptr::copy_nonoverlapping(job.args, packet.0.as_mut_ptr(), job.args_bytes) };
    packet.0[job.args_bytes..job.args_bytes + CLEARED_BYTES].fill(0);
    device.control().stats.aicpu_calls.fetch_add(1, Relaxed);
    // SAFETY: the contract of a device entry: a pointer to a packet, 64-aligned, that is this call's own until it returns.
    let answer = unsafe { entry(packet.0.as_mut_ptr().cast()) };
    device.binaries.leave(job.binary);
    match answer {
        0 => Ok(()),
        other => Err(Failure { code: AICPU_EXCEPTION, answer: other.cast_unsigned() }),
    }
}
