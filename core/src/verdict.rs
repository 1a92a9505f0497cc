//! How the AICPU branch of a launch tells an AICore branch what to do.
//!
//! Every device entry that knows its context posts exactly one verdict, every AICore branch takes exactly one. Replays may overlap,
//! so nothing is cleared between launches and no verdict belongs to a launch: there are as many as there are branches, and that is
//! all a branch needs. Only a cancelled context lets a branch go without one.

use crate::area::{AreaWords, CANCELLED, VERDICT_LEAVE, VERDICT_WORK};

/// What a device entry tells one AICore branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Verdict {
    /// A callable executes: work for it until it has ended.
    Work,
    /// Nothing executes for this branch.
    Leave,
}

impl Verdict {
    const fn offset(self) -> u64 {
        match self {
            Self::Work => VERDICT_WORK,
            Self::Leave => VERDICT_LEAVE,
        }
    }
}

/// How an AICore branch stops waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Taken {
    /// It took this verdict; nobody else has it.
    Verdict(Verdict),
    /// The context is cancelled and there was no verdict to take.
    Cancelled,
}

/// Posts one verdict. Called once by each device entry that knows its context; then the platform wakes the branches.
pub fn post<W: AreaWords + ?Sized>(words: &W, verdict: Verdict) {
    words.fetch_add_u32(verdict.offset(), 1);
}

/// Takes one verdict if there is one; `None` means that the branch has to look again.
///
/// *Work* comes first, since an execution waits for it; the cancellation comes last, so that a branch leaves without a verdict only
/// when none is there and an execution that was let in before the cancellation still finds its worker. Once this has answered
/// `Verdict(Work)` the branch no longer looks at the cancellation.
pub fn try_take<W: AreaWords + ?Sized>(words: &W) -> Option<Taken> {
    for verdict in [Verdict::Work, Verdict::Leave] {
        if take_one(words, verdict.offset()) {
            return Some(Taken::Verdict(verdict));
        }
    }
    words.invalidate(0, 64);
    (words.load_u32(CANCELLED) != 0).then_some(Taken::Cancelled)
}

/// Decrements a counter that is not 0. A lost race is tried again: the loser has seen somebody else get on.
fn take_one<W: AreaWords + ?Sized>(words: &W, offset: u64) -> bool {
    let mut count = words.load_u32(offset);
    while let Some(rest) = count.checked_sub(1) {
        match words.compare_exchange_u32(offset, count, rest) {
            Ok(_) => return true,
            Err(found) => count = found,
        }
    }
    false
}
