//! Verdicts: one posted by each entry, one taken by each branch.
//!

#[path = "common/mod.rs"]
mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use common::PlainArea;
use tenon_core::area::{AreaWords, BUSY, CANCELLED, VERDICT_LEAVE, VERDICT_WORK};
use tenon_core::record::cancel;
use tenon_core::verdict::{Taken, Verdict, post, try_take};

#[test]
fn a_branch_takes_each_verdict_once_work_first() {
    let area = PlainArea::new();
    assert_eq!(try_take(&area), None);
    for verdict in [Verdict::Leave, Verdict::Work, Verdict::Leave] {
        post(&area, verdict);
    }
    assert_eq!(try_take(&area), Some(Taken::Verdict(Verdict::Work)));
    assert_eq!(try_take(&area), Some(Taken::Verdict(Verdict::Leave)));
    assert_eq!(try_take(&area), Some(Taken::Verdict(Verdict::Leave)));
    assert_eq!(try_take(&area), None);
    assert_eq!((area.load_u32(VERDICT_WORK), area.load_u32(VERDICT_LEAVE)), (0, 0));
}

#[test]
fn a_cancelled_context_lets_a_branch_go_without_a_verdict() {
    for cancelled in [1, 2, u32::MAX] {
        let area = PlainArea::new();
        post(&area, Verdict::Work);
        area.store_u32(CANCELLED, cancelled);
        // An execution that was let in before still gets its worker.
        assert_eq!(try_take(&area), Some(Taken::Verdict(Verdict::Work)));
        assert_eq!(try_take(&area), Some(Taken::Cancelled));
        assert_eq!(try_take(&area), Some(Taken::Cancelled), "for good");
    }
}

/// Waits as an AICore branch does.
fn take(area: &PlainArea) -> Taken {
    loop {
        match try_take(area) {
            Some(taken) => return taken,
            None => thread::yield_now(),
        }
    }
}

/// One device entry: works if it gets the busy word. Gives whether it did.
fn enter(area: &PlainArea) -> bool {
    let is_mine = area.compare_exchange_u32(BUSY, 0, 1).is_ok();
    post(area, if is_mine { Verdict::Work } else { Verdict::Leave });
    if is_mine {
        area.store_u32_seq_cst(BUSY, 0);
    }
    is_mine
}

#[test]
fn overlapping_replays_give_every_branch_exactly_one_verdict() {
    let replays = if cfg!(debug_assertions) { 5_000 } else { 100_000 };
    let area = PlainArea::new();
    let (executed, worked) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..replays {
                    executed.fetch_add(u32::from(enter(&area)), Ordering::Relaxed);
                }
            });
            scope.spawn(|| {
                for _ in 0..replays {
                    let is_work = take(&area) == Taken::Verdict(Verdict::Work);
                    worked.fetch_add(u32::from(is_work), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(worked.into_inner(), executed.into_inner());
    assert_eq!(try_take(&area), None, "nothing is left over");
}

#[test]
fn a_cancellation_in_the_middle_leaves_no_branch_waiting() {
    let rounds = if cfg!(debug_assertions) { 200 } else { 5_000 };
    for _ in 0..rounds {
        let area = PlainArea::new();
        let (posted, worked) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                // More branches than entries: the ones that are left over leave because of the cancellation.
                scope.spawn(|| {
                    for _ in 0..3 {
                        let is_work = take(&area) == Taken::Verdict(Verdict::Work);
                        worked.fetch_add(u32::from(is_work), Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| posted.fetch_add(u32::from(enter(&area)), Ordering::Relaxed));
            cancel(&area);
        });
        assert!(worked.into_inner() <= posted.into_inner(), "a branch worked for nobody");
    }
}
