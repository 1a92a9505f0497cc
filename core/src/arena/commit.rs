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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    /// A decision as the text writes it; the bytes of one that allocates are those of the request.
    fn written(decision: Option<Decision>, requested: u64) -> &'static str {
        match decision {
            Some(Decision::Nothing) => "nothing",
            Some(Decision::Commit(bytes)) if bytes == requested => "commit",
            Some(Decision::Keep) => "keep",
            Some(Decision::Recommit(bytes)) if bytes == requested => "recommit",
            Some(Decision::Release) => "release",
            Some(other) => panic!("{other:?} for {requested} bytes"),
            None => "refused",
        }
    }

    /// Requests that a word of the text stands for, beside what is committed.
    fn requests(word: &str, committed: u64) -> Vec<u64> {
        match word {
            "zero" => std::vec![0],
            "some" => std::vec![1, 1024, u64::MAX],
            "smaller" => std::vec![1, committed - 1],
            "equal" => std::vec![committed],
            "larger" => std::vec![committed + 1, u64::MAX],
            other => panic!("{other} is not a request"),
        }
    }

    #[test]
    fn every_case_agrees_with_the_written_rule() {
        let mut rows = 0;
        for line in include_str!("commit_rule.txt").lines().skip(1) {
            let [committed, request, kernel, program] = line.split_whitespace().collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let sizes = if committed == "none" { std::vec![0] } else { std::vec![2, 4096, u64::MAX - 1] };
            for committed in sizes {
                for requested in requests(request, committed) {
                    let case = std::format!("{line}: {requested} where {committed}");
                    assert_eq!(written(decide(Growth::CommitOnce, committed, requested), requested), kernel, "{case}");
                    assert_eq!(
                        written(decide(Growth::BetweenRuns, committed, requested), requested),
                        program,
                        "{case}"
                    );
                }
            }
            rows += 1;
        }
        assert_eq!(rows, 6);
    }

    #[test]
    fn one_refused_region_refuses_the_whole_request() {
        let refused = CommitRefused { region: Region::RuntimePool, committed: 64, requested: 65 };
        assert_eq!(decide_all(Growth::CommitOnce, [0, 32, 64], [16, 32, 65]), Err(refused));
        let allowed = [Decision::Commit(16), Decision::Keep, Decision::Keep];
        assert_eq!(decide_all(Growth::CommitOnce, [0, 32, 64], [16, 32, 64]), Ok(allowed));
    }

    proptest! {
        #[test]
        fn kernel_mode_never_changes_what_is_committed(committed: ArenaSizes, requested: ArenaSizes) {
            if let Ok(decisions) = decide_all(Growth::CommitOnce, committed, requested) {
                for (decision, committed) in decisions.into_iter().zip(committed) {
                    prop_assert!(committed == 0 || decision == Decision::Keep);
                }
            }
        }
    }
}
