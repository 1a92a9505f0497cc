//! The arena's regions in device memory.
//!

use tenon_core::arena::{ArenaSizes, BASE_ALIGN, Decision, Growth, REGIONS, decide_all};
use tenon_core::vocabulary::{ContextOps, MemoryKind, ResourceOps, VendorError};

use crate::error::ContextError;
use crate::held::{Held, Holdings};

/// One region: not committed while both are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Committed {
    base: u64,
    bytes: u64,
}

/// What is committed.
#[derive(Debug, Default)]
pub(crate) struct Arena([Committed; REGIONS]);

/// Why an arena is not as it was asked to be. Its bases are as they were, unless what failed was to free an old region.
#[derive(Debug)]
pub(crate) struct CommitFailed {
    pub(crate) error: ContextError,
    /// A region that could not be given back either; it stays held.
    pub(crate) teardown: Option<VendorError>,
}

impl Arena {
    /// Base addresses, in the order of the regions; 0 where nothing is committed.
    pub(crate) fn bases(&self) -> [u64; REGIONS] {
        self.0.map(|region| region.base)
    }

    /// Bytes committed, in the order of the regions.
    pub(crate) fn sizes(&self) -> ArenaSizes {
        self.0.map(|region| region.bytes)
    }

    /// Bytes committed in all regions. They are allocated, so they add up.
    pub(crate) fn bytes(&self) -> u64 {
        self.sizes().into_iter().fold(0, u64::saturating_add)
    }

    /// Makes the regions at least as large as asked, if the rule allows it for every one of them; undoes what a failure has left.
    pub(crate) fn commit<P: ContextOps + ResourceOps>(
        &mut self,
        platform: &mut P,
        held: &mut Holdings,
        growth: Growth,
        requested: ArenaSizes,
    ) -> Result<(), CommitFailed> {
        let mark = held.mark();
        let after = self
            .allocate(platform, held, growth, requested)
            .map_err(|error| CommitFailed { error, teardown: held.let_go_since(mark, platform).err() })?;

        let before = core::mem::replace(&mut self.0, after);
        let mut result = Ok(());
        for (old, new) in before.into_iter().zip(after) {
            if old.base != 0 && old != new {
                let old = Held::Device { kind: MemoryKind::Arena, address: old.base };
                result = result.and(held.let_go(old, platform));
            }
        }
        result.map_err(|error| CommitFailed {
            error: ContextError::vendor("freeing a region of the arena", error),
            teardown: Some(error),
        })
    }

    /// Makes an arena within an init, whose own roll-back undoes what a failure has left.
    pub(crate) fn create<P: ContextOps + ResourceOps>(
        platform: &mut P,
        held: &mut Holdings,
        growth: Growth,
        requested: ArenaSizes,
    ) -> Result<Self, ContextError> {
        Self::default().allocate(platform, held, growth, requested).map(Self)
    }

    /// Allocates every new region before any old one is let go, so that a failure leaves every base as it was.
    fn allocate<P: ContextOps + ResourceOps>(
        &self,
        platform: &mut P,
        held: &mut Holdings,
        growth: Growth,
        requested: ArenaSizes,
    ) -> Result<[Committed; REGIONS], ContextError> {
        let decisions = decide_all(growth, self.sizes(), requested)?;
        let mut after = self.0;
        for (region, decision) in after.iter_mut().zip(decisions) {
            *region = match decision {
                Decision::Nothing | Decision::Keep => *region,
                Decision::Release => Committed::default(),
                Decision::Commit(bytes) | Decision::Recommit(bytes) => {
                    let base = platform
                        .allocate_device(MemoryKind::Arena, bytes, BASE_ALIGN)
                        .map_err(|error| ContextError::vendor("allocating a region of the arena", error))?;
                    held.note(Held::Device { kind: MemoryKind::Arena, address: base });
                    Committed { base, bytes }
                }
            };
        }
        Ok(after)
    }
}
