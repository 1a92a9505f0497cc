//! Pinned memory that record writes are copied from.
//!
//! A write is copied when its stream gets there, and nobody may ask when that was. So a staged byte is never written again: chunks
//! are filled from front to back and kept until close. The first chunk begins with the first content of the context area, whose
//! slot records are zero: they are also what empties a slot, or all of them.

use tenon_core::area::{AREA_BYTES, RECORDS};
use tenon_core::record::context_write;
use tenon_core::vocabulary::{PinnedId, ResourceOps};

use crate::error::ContextError;
use crate::held::{Held, Holdings};
use crate::primitive::size;

/// Bytes of a chunk: 127 records, or the area and 57.
const CHUNK_BYTES: usize = 4096;
/// Bytes that one record takes at most: three words and the generation.
const RECORD_STAGE_BYTES: usize = 32;

/// Where in pinned memory something is staged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) pinned: PinnedId,
    pub(super) offset: usize,
}

/// Two things that are staged one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Staged {
    pub(super) first: Place,
    pub(super) second: Place,
}

/// The chunks. All but the last are full; they are known to the holdings alone.
#[derive(Debug)]
pub(super) struct Staging {
    first: PinnedId,
    last: PinnedId,
    used: usize,
}

impl Staging {
    /// Makes the first chunk, with the first content of the area of a context.
    pub(super) fn create<P: ResourceOps>(
        platform: &mut P,
        held: &mut Holdings,
        context_generation: u64,
    ) -> Result<Self, ContextError> {
        let first = new_chunk(platform, held)?;
        let mut area = [0; size(AREA_BYTES)];
        let write = context_write(context_generation);
        let start = size(write.offset);
        area[start..start + write.bytes().len()].copy_from_slice(write.bytes());
        platform
            .write_pinned(first, 0, &area)
            .map_err(|error| ContextError::vendor("staging the context area", error))?;
        Ok(Self { first, last: first, used: area.len() })
    }

    /// The chunk that begins with the first content of the area.
    pub(super) const fn first(&self) -> PinnedId {
        self.first
    }

    /// As many zeroes as there are bytes of slot records.
    pub(super) const fn zeroes(&self) -> Place {
        Place { pinned: self.first, offset: size(RECORDS) }
    }

    /// Stages two things, in a new chunk if need be.
    pub(super) fn stage<P: ResourceOps>(
        &mut self,
        platform: &mut P,
        held: &mut Holdings,
        first: &[u8],
        second: &[u8],
    ) -> Result<Staged, ContextError> {
        if self.used + RECORD_STAGE_BYTES > CHUNK_BYTES {
            self.last = new_chunk(platform, held)?;
            self.used = 0;
        }
        let at = |offset| Place { pinned: self.last, offset };
        let staged = Staged { first: at(self.used), second: at(self.used + first.len()) };
        for (place, bytes) in [(staged.first, first), (staged.second, second)] {
            platform
                .write_pinned(place.pinned, place.offset, bytes)
                .map_err(|error| ContextError::vendor("staging the slot's record", error))?;
        }
        self.used += first.len() + second.len();
        Ok(staged)
    }
}

fn new_chunk<P: ResourceOps>(platform: &mut P, held: &mut Holdings) -> Result<PinnedId, ContextError> {
    let pinned = platform
        .allocate_pinned(CHUNK_BYTES)
        .map_err(|error| ContextError::vendor("allocating pinned staging", error))?;
    held.note(Held::Pinned(pinned));
    Ok(pinned)
}
