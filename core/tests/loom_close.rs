//! Every interleaving of close with launches: nothing is freed under a launch.
//!
#![cfg(loom)]

#[path = "common/loom_area.rs"]
mod loom_area;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use loom_area::LoomArea;
use tenon_core::device::AreaInfo;
use tenon_core::dispatch::{Payload, Refusal, locate};
use tenon_core::packet::{Invocation, check};
use tenon_core::record::close;
use tenon_core::status::DispatchAnswer;
use tenon_core::wire::{DispatchPrefix, InvocationHeader, Mode};

const BASE: u64 = 0x5500_0000_0000;
const INFO: AreaInfo = AreaInfo { base: BASE, context_generation: 7, index: 0, reserved: 0 };

/// A launch of slot 0's tenant 1.
fn launch() -> Invocation {
    let header = InvocationHeader { mode: 1, generation: 1, ..InvocationHeader::default() };
    let prefix = DispatchPrefix { packet_bytes: 56, residency_address: BASE + 32, header };
    check(&prefix, Mode::Kernel).unwrap()
}

/// What lies at the image's address. Loom refuses a read that is not ordered with the write of `free`.
struct Image(UnsafeCell<bool>);

impl Image {
    fn run(&self) {
        // Only loom's own check is asked for; the pointer is not looked through.
        self.0.with(|_| ());
    }

    fn free(&self) {
        self.0.with_mut(|_| ());
    }
}

struct World {
    area: LoomArea,
    image: Image,
    is_freed: AtomicU32,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            area: LoomArea::new(7, [1, 0x1000, 9376, 0]),
            image: Image(UnsafeCell::new(false)),
            is_freed: AtomicU32::new(0),
        })
    }

    /// One device entry.
    fn enter(&self) -> Result<(), Refusal> {
        let takes = Payload::Takes { tensors: 0, scalars: 0 };
        let begun = locate(launch(), &INFO, &self.area).unwrap().find(|_, _| true)?.bind(takes)?.begin()?;
        let executing = begun.work();
        assert_eq!(self.is_freed.load(Ordering::Relaxed), 0, "the code was freed under a launch");
        self.image.run();
        let _ = executing.end(DispatchAnswer::Success);
        Ok(())
    }

    /// Close, once: frees when nothing executes.
    fn close(&self) -> bool {
        let is_executing = close(&self.area);
        if !is_executing {
            self.image.free();
            self.is_freed.store(1, Ordering::Relaxed);
        }
        !is_executing
    }
}

#[test]
fn close_never_frees_under_a_launch_that_was_let_in() {
    loom::model(|| {
        let world = World::new();
        let device = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.enter())
        };
        world.close();
        let answer = device.join().unwrap();
        assert!(matches!(answer, Ok(()) | Err(Refusal::NotResident(_))), "{answer:?}");
        assert!(matches!(world.enter(), Err(Refusal::NotResident(_))), "a replay after close");
    });
}

#[test]
fn close_that_is_tried_again_frees_when_the_launch_has_ended() {
    loom::model(|| {
        let world = World::new();
        let device = {
            let world = Arc::clone(&world);
            thread::spawn(move || world.enter())
        };
        let is_closed = world.close();
        let _ = device.join().unwrap();
        assert!(is_closed || world.close());
    });
}

#[test]
fn overlapping_launches_and_close_leave_one_owner_of_the_image() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let world = World::new();
        let device = || {
            let world = Arc::clone(&world);
            thread::spawn(move || world.enter())
        };
        let devices = [device(), device()];
        world.close();
        for device in devices {
            let answer = device.join().unwrap();
            assert!(matches!(answer, Ok(()) | Err(Refusal::NotResident(_) | Refusal::Busy)), "{answer:?}");
        }
    });
}
