//! Generations of one `buffer_id`, as its owner counts them.
//!

use crate::buffer::checked::BufferGeneration;
use crate::buffer::refusal::{Reason, Refusal};

/// Who has a `buffer_id`. The last generation retires it: a number that came back would make old references valid again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// Nobody; the next tenant gets this generation.
    Vacant {
        /// The next tenant's.
        next: BufferGeneration,
    },
    /// A buffer.
    Live {
        /// Its own.
        generation: BufferGeneration,
    },
    /// Nobody ever again.
    Retired,
}

/// What closing found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// The tenant was live: what it owns is to be given up now.
    Now,
    /// It had been closed before: nothing is to be done.
    Before,
}

impl Tenancy {
    /// An id that was never used.
    pub const NEW: Self = Self::Vacant { next: BufferGeneration::FIRST };

    /// Lets a tenant in; the id's next state and the tenant's generation.
    ///
    /// # Errors
    /// [`Reason::BufferIdInUse`] with the live generation; [`Reason::BufferIdRetired`].
    pub fn open(self) -> Result<(Self, BufferGeneration), Refusal> {
        match self {
            Self::Vacant { next: generation } => Ok((Self::Live { generation }, generation)),
            Self::Live { generation } => Err(Refusal::new(Reason::BufferIdInUse, u64::from(generation.to_bits()))),
            Self::Retired => {
                let last = u64::from(BufferGeneration::LAST.to_bits());
                Err(Refusal::new(Reason::BufferIdRetired, last).limit(last))
            }
        }
    }

    /// Lets the tenant of `generation` out. A second time is no error, and never reaches a later tenant.
    ///
    /// # Errors
    /// [`Reason::NotHeld`] for a generation that never was.
    pub fn close(self, generation: BufferGeneration) -> Result<(Self, Closed), Refusal> {
        let first_unused = match self {
            Self::Live { generation: live } if live == generation => {
                let after = live.next().map_or(Self::Retired, |next| Self::Vacant { next });
                return Ok((after, Closed::Now));
            }
            Self::Live { generation: live } => Some(live),
            Self::Vacant { next } => Some(next),
            Self::Retired => None,
        };
        match first_unused {
            Some(unused) if generation >= unused => {
                let [found, limit] = [generation, unused].map(|generation| u64::from(generation.to_bits()));
                Err(Refusal::new(Reason::NotHeld, found).limit(limit))
            }
            _ => Ok((self, Closed::Before)),
        }
    }

    /// Whether a reference of this generation may be used.
    ///
    /// # Errors
    /// [`Reason::GenerationStale`], with the generation that is now live or comes next; none for a retired id.
    pub fn check(self, generation: BufferGeneration) -> Result<(), Refusal> {
        let current = match self {
            Self::Live { generation: live } if live == generation => return Ok(()),
            Self::Live { generation: current } | Self::Vacant { next: current } => Some(current),
            Self::Retired => None,
        };
        let stale = Refusal::new(Reason::GenerationStale, u64::from(generation.to_bits()));
        Err(current.map_or(stale, |current| stale.limit(u64::from(current.to_bits()))))
    }
}
