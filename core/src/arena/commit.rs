//! The commit rule, asked for every region before any is changed.
//!
#![doc = concat!("```text\n", include_str!("commit_rule.txt"), "```")]

use super::{ArenaSizes, REGIONS, Region};

/// Whether a committed region may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Kernel mode: never, since captured graphs keep its base.
    CommitOnce,
    /// Program mode: between runs, which are waited for.
    BetweenRuns,
}

/// What a shell does with one region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is there and nothing is asked for.
    Nothing,
    /// Allocate this many bytes.
    Commit(u64),
    /// Base and size stay as they are.
    Keep,
    /// Allocate this many bytes, then let go of what was there.
    Recommit(u64),
    /// Let go of what was there.
    Release,
}

/// The first region that may not become what was asked for. Nothing is changed, in no region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitRefused {
    /// Which region.
    pub region: Region,
    /// Bytes that it has.
    pub committed: u64,
    /// Bytes that were asked for.
    pub requested: u64,
}

/// What becomes of one region that has `committed` bytes (0: not committed), or `None` where the rule refuses.
#[must_use]
pub const fn decide(growth: Growth, committed: u64, requested: u64) -> Option<Decision> {
    match (committed, requested, growth) {
        (0, 0, _) => Some(Decision::Nothing),
        (0, bytes, _) => Some(Decision::Commit(bytes)),
        (_, 0, Growth::CommitOnce) => None,
        (_, 0, Growth::BetweenRuns) => Some(Decision::Release),
        _ if requested <= committed => Some(Decision::Keep),
        (_, _, Growth::CommitOnce) => None,
        (_, bytes, Growth::BetweenRuns) => Some(Decision::Recommit(bytes)),
    }
}

/// The decisions for all regions, in the order of [`Region::ALL`].
///
/// # Errors
/// [`CommitRefused`] for the first region that the rule refuses.
pub fn decide_all(
    growth: Growth,
    committed: ArenaSizes,
    requested: ArenaSizes,
) -> Result<[Decision; REGIONS], CommitRefused> {
    let mut decisions = [Decision::Nothing; REGIONS];
    let sizes = committed.into_iter().zip(requested);
    for ((decision, region), (committed, requested)) in decisions.iter_mut().zip(Region::ALL).zip(sizes) {
        *decision =
            decide(growth, committed, requested).ok_or(CommitRefused { region: *region, committed, requested })?;
    }
    Ok(decisions)
}
