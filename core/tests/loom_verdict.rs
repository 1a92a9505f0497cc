//! Every interleaving of entries, AICore branches and a cancellation.
//!
#![cfg(loom)]

#[path = "common/loom_area.rs"]
mod loom_area;

use loom::sync::{Arc, Notify};
use loom::thread::{self, JoinHandle};
use loom_area::LoomArea;
use tenon_core::area::{AreaWords, BUSY, VERDICT_LEAVE, VERDICT_WORK};
use tenon_core::record;
use tenon_core::verdict::{self, Taken, Verdict, try_take};

/// An area and two AICore branches that wait to be woken.
struct Device {
    area: LoomArea,
    branches: [Notify; 2],
}

impl Device {
    /// What the platform does after a post and after a cancellation.
    fn wake(&self) {
        self.branches.iter().for_each(Notify::notify);
    }

    fn post(&self, verdict: Verdict) {
        verdict::post(&self.area, verdict);
        self.wake();
    }

    fn cancel(&self) {
        record::cancel(&self.area);
        self.wake();
    }

    /// A device entry: *work* when it gets the busy word, else *leave*. Gives whether it worked.
    fn enter(&self) -> bool {
        let is_mine = self.area.compare_exchange_u32(BUSY, 0, 1).is_ok();
        self.post(if is_mine { Verdict::Work } else { Verdict::Leave });
        if is_mine {
            self.area.store_u32_seq_cst(BUSY, 0);
        }
        is_mine
    }

    /// An AICore branch. One that can wait for ever is a deadlock, which loom reports.
    fn branch(&self, index: usize) -> Taken {
        loop {
            if let Some(taken) = try_take(&self.area) {
                return taken;
            }
            self.branches[index].wait();
        }
    }
}

fn spawn<T: 'static>(device: &Arc<Device>, role: fn(&Device) -> T) -> JoinHandle<T> {
    let device = Arc::clone(device);
    thread::spawn(move || role(&device))
}

fn branches(device: &Arc<Device>) -> [JoinHandle<Taken>; 2] {
    [spawn(device, |device| device.branch(0)), spawn(device, |device| device.branch(1))]
}

fn model(preemption_bound: Option<usize>, roles: fn(Arc<Device>)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = preemption_bound;
    model.check(move || {
        roles(Arc::new(Device { area: LoomArea::new(7, [0; 4]), branches: [Notify::new(), Notify::new()] }));
    });
}

/// What is left in the two counters.
fn left_over(device: &Device) -> (u32, u32) {
    (device.area.load_u32(VERDICT_WORK), device.area.load_u32(VERDICT_LEAVE))
}

fn worked(taken: &[Taken]) -> usize {
    taken.iter().filter(|taken| **taken == Taken::Verdict(Verdict::Work)).count()
}

#[test]
fn overlapping_replays_give_each_branch_one_verdict() {
    // Four threads: unbounded, this takes minutes.
    model(Some(2), |device| {
        let (first, branches) = (spawn(&device, Device::enter), branches(&device));
        let executed = usize::from(device.enter()) + usize::from(first.join().unwrap());
        let taken = branches.map(|branch| branch.join().unwrap());
        assert_eq!(worked(&taken), executed);
        assert!(!taken.contains(&Taken::Cancelled));
        assert_eq!(left_over(&device), (0, 0));
    });
}

#[test]
fn refused_replays_let_every_branch_leave() {
    model(Some(3), |device| {
        let branches = branches(&device);
        device.post(Verdict::Leave);
        device.post(Verdict::Leave);
        let taken = branches.map(|branch| branch.join().unwrap());
        assert_eq!(taken, [Taken::Verdict(Verdict::Leave); 2]);
        assert_eq!(left_over(&device), (0, 0));
    });
}

#[test]
fn a_cancellation_while_one_runs_leaves_no_branch_waiting() {
    model(Some(2), |device| {
        let (entry, branches) = (spawn(&device, Device::enter), branches(&device));
        device.cancel();
        assert!(entry.join().unwrap());
        let taken = branches.map(|branch| branch.join().unwrap());
        // The one verdict was taken by one branch or by none, and whoever did not take it left.
        assert_eq!(worked(&taken) + left_over(&device).0 as usize, 1);
        assert!(taken.contains(&Taken::Cancelled));
    });
}

#[test]
fn two_branches_never_take_the_same_verdict() {
    model(None, |device| {
        device.post(Verdict::Work);
        let other = spawn(&device, |device| try_take(&device.area));
        let taken = [try_take(&device.area), other.join().unwrap()];
        assert_eq!(taken.iter().flatten().count(), 1, "{taken:?}");
    });
}
