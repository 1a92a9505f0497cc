//! The device process: a machine in miniature behind two shared memory files.
//!
//! | part | what it is |
//! | --- | --- |
//! | [`mapping`], [`area`] | the shared files, and the context areas in device memory |
//! | [`bell`] | how it sleeps and is woken |
//! | [`scheduler`], [`stream`], [`replay`], [`executor`] | one thread that owns all streams: tasks in order, events, replays |
//! | [`task`] | what the host wrote, checked |
//! | [`engines`], [`transfer`], [`image`], [`binaries`] | AICPU threads with their images, and the copy engine |
//! | [`aicore`], [`platform`] | AICore workers, and what an AICPU image may ask of the device |
//! | [`random`], [`log`], [`allocations`], [`failure`], [`channel`] | what the others need |
//!
//! It ends when its last user has gone (the socket reports the end of its input) or when the host asks for it. Operators are
//! native code and run in this process: one that crashes takes the device with it, which its users see as a lost device.
//!
//! Nothing here belongs to one processor: words of fixed size, little-endian, futexes that other processes can wake. The
//! executable may be built for another Linux and run under an emulator.

pub mod aicore;
pub mod allocations;
pub mod area;
pub mod bell;
pub mod binaries;
pub mod channel;
pub mod engines;
pub mod executor;
pub mod failure;
pub mod image;
pub mod log;
pub mod mapping;
pub mod platform;
pub mod random;
pub mod replay;
pub mod scheduler;
pub mod start;
pub mod stream;
pub mod task;
pub mod transfer;

use core::sync::atomic::Ordering::Relaxed;
use core::time::Duration;

use aicore::Front;
use bell::DeviceBell;
use binaries::Binaries;
use engines::Engines;
use mapping::Machine;

use crate::shm::{Control, MAX_LANES};

/// A stream's own lane, and those of its replay.
pub const LANES_PER_STREAM: usize = 1 + MAX_LANES;

/// What all threads of the device share. It lives as long as the process.
pub struct Device {
    /// Its memory.
    pub machine: Machine,
    /// Children and their workers.
    pub front: Front,
    /// AICPU images.
    pub binaries: Binaries,
    /// Queues between the scheduler and the threads that work for it.
    pub engines: Engines,
    /// AICPU threads.
    pub aicpu_threads: u32,
    /// AICore workers.
    pub aicore_workers: u32,
    /// Of every random choice.
    pub seed: u64,
}

impl Device {
    /// A device over `machine`, with the host's settings.
    #[must_use]
    pub fn new(machine: Machine) -> Self {
        let control = machine.control();
        let (aicpu_threads, aicore_workers) =
            (control.aicpu_threads.load(Relaxed), control.aicore_workers.load(Relaxed));
        let seed = control.seed.load(Relaxed);
        Self {
            front: Front::new(aicpu_threads as usize, patience(control), seed),
            machine,
            binaries: Binaries::default(),
            engines: Engines::default(),
            aicpu_threads,
            aicore_workers,
            seed,
        }
    }

    /// The head of the control file.
    #[must_use]
    pub fn control(&self) -> &'static Control {
        self.machine.control()
    }

    /// What wakes the scheduler.
    #[must_use]
    pub fn bell(&self) -> DeviceBell<'static> {
        DeviceBell::of(self.control())
    }

    /// How long the two branches of a launch wait for each other.
    #[must_use]
    pub fn patience(&self) -> Duration {
        patience(self.control())
    }
}

fn patience(control: &Control) -> Duration {
    Duration::from_millis(control.aicore_timeout_ms.load(Relaxed).into())
}

/// Ends the process at once: operators may be running, so nothing is torn down.
pub fn exit() -> ! {
    // SAFETY: _exit(2) has no conditions.
    unsafe { libc::_exit(0) }
}
