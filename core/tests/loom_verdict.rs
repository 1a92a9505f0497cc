//! Every interleaving of device entries, AICore branches and a cancellation: no branch hangs, none takes two.
//!
#![cfg(loom)]

#[path = "common/loom_area.rs"]
mod loom_area;

use loom::sync::Arc;
use loom::thread::{self, JoinHandle};
use loom_area::LoomArea;
use tenon_core::area::{AreaWords, BUSY, VERDICT_LEAVE, VERDICT_WORK};
use tenon_core::record::cancel;
use tenon_core::verdict::{Taken, Verdict, post, try_take};

/// A device entry: *work* when it gets the busy word, else *leave*. Gives whether it worked.
fn enter(area: &LoomArea) -> bool {
    let is_mine = area.compare_exchange_u32(BUSY, 0, 1).is_ok();
    post(area, if is_mine { Verdict::Work } else { Verdict::Leave });
    if is_mine {
        area.store_u32_seq_cst(BUSY, 0);
    }
    is_mine
}

/// An AICore branch. A model in which it can wait for ever fails: loom sees that nobody is left to post.
fn branch(area: &LoomArea) -> Taken {
    loop {
        match try_take(area) {
            Some(taken) => return taken,
            None => thread::yield_now(),
        }
    }
}

fn spawn<T: 'static>(area: &Arc<LoomArea>, role: fn(&LoomArea) -> T) -> JoinHandle<T> {
    let area = Arc::clone(area);
    thread::spawn(move || role(&area))
}

fn model(threads: impl Fn(Arc<LoomArea>) + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    // Spinning branches have no end of interleavings; three forced switches find what is known to go wrong here.
    model.preemption_bound = Some(3);
    model.check(move || threads(Arc::new(LoomArea::new(7, [0; 4]))));
}

/// What is left in the two counters.
fn left_over(area: &LoomArea) -> (u32, u32) {
    (area.load_u32(VERDICT_WORK), area.load_u32(VERDICT_LEAVE))
}

#[test]
fn overlapping_replays_give_each_branch_one_verdict() {
    model(|area| {
        let (first, branches) = (spawn(&area, enter), [spawn(&area, branch), spawn(&area, branch)]);
        let executed = u32::from(enter(&area)) + u32::from(first.join().unwrap());
        let taken = branches.map(|branch| branch.join().unwrap());
        let worked = taken.iter().filter(|taken| **taken == Taken::Verdict(Verdict::Work)).count();
        assert_eq!(worked, executed as usize);
        assert!(!taken.contains(&Taken::Cancelled));
        assert_eq!(left_over(&area), (0, 0));
    });
}

#[test]
fn refused_replays_let_every_branch_leave() {
    model(|area| {
        let branches = [spawn(&area, branch), spawn(&area, branch)];
        post(&*area, Verdict::Leave);
        post(&*area, Verdict::Leave);
        for branch in branches {
            assert_eq!(branch.join().unwrap(), Taken::Verdict(Verdict::Leave));
        }
        assert_eq!(left_over(&area), (0, 0));
    });
}

#[test]
fn a_cancellation_while_one_runs_leaves_no_branch_waiting() {
    model(|area| {
        let (entry, branches) = (spawn(&area, enter), [spawn(&area, branch), spawn(&area, branch)]);
        cancel(&*area);
        assert!(entry.join().unwrap());
        let taken = branches.map(|branch| branch.join().unwrap());
        let worked = taken.iter().filter(|taken| **taken == Taken::Verdict(Verdict::Work)).count();
        // The one verdict was taken by one branch or by none, and the others left.
        assert_eq!(worked, 1 - left_over(&area).0 as usize);
        assert!(worked <= 1 && taken.contains(&Taken::Cancelled));
    });
}

#[test]
fn two_branches_never_take_the_same_verdict() {
    model(|area| {
        post(&*area, Verdict::Work);
        let other = spawn(&area, |area| try_take(area));
        let mine = try_take(&*area);
        let taken = [mine, other.join().unwrap()];
        assert_eq!(taken.iter().flatten().count(), 1, "{taken:?}");
    });
}
