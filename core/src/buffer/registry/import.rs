//! One imported backing: mapped once, counted, never unmapped under a user.
//!
//! ```text
//!           acquire: Map          mapped
//!  Absent ----------------> Mapping ------> Mapped --.
//!    ^                        | failed        |  ^____| acquire: Shared · release: Kept · begin_use · end_use
//!    |________________________|               | release: Unmap
//!    |                                        v
//!    `------------------------------------ Unmapping
//!                   unmapped
//! ```
//!
//! Whoever is told `Map` or `Unmap` does so alone, without a lock, and reports; all others are told to wait meanwhile.

use crate::buffer::refusal::{Reason, Refusal};

/// The state of one import; two counts and what is going on.
///
/// A *reference* is held by whoever has acquired and not released. A *use* is something in flight that touches the bytes, and
/// needs a reference to begin. The last reference stays as long as there are uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Import {
    /// Nothing is mapped.
    Absent,
    /// Somebody maps it.
    Mapping,
    /// Mapped, with at least one reference.
    Mapped {
        /// At least 1, at most [`Import::MAX_HOLDERS`].
        references: u32,
        /// At most [`Import::MAX_HOLDERS`].
        uses: u32,
    },
    /// Somebody unmaps it.
    Unmapping,
}

/// What acquiring leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquired {
    /// The caller maps, then reports [`Import::mapped`] or [`Import::failed`].
    Map,
    /// The caller has a reference to what is mapped.
    Shared,
    /// Somebody is mapping or unmapping: wait for that and ask again.
    Wait,
}

/// What releasing leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Released {
    /// Others still hold it.
    Kept,
    /// It was the last reference: the caller unmaps, then reports [`Import::unmapped`].
    Unmap,
}

impl Import {
    /// Most references, and most uses.
    pub const MAX_HOLDERS: u32 = (1 << 31) - 1;

    /// Takes a reference.
    ///
    /// # Errors
    /// [`Reason::TooManyHolders`]
    pub fn acquire(self) -> Result<(Self, Acquired), Refusal> {
        match self {
            Self::Absent => Ok((Self::Mapping, Acquired::Map)),
            Self::Mapping | Self::Unmapping => Ok((self, Acquired::Wait)),
            Self::Mapped { references, uses } => {
                Ok((Self::Mapped { references: one_more(references)?, uses }, Acquired::Shared))
            }
        }
    }

    /// Whoever was told to map has mapped, and has the first reference.
    ///
    /// # Errors
    /// [`Reason::NotHeld`] when nobody was told to map.
    pub fn mapped(self) -> Result<Self, Refusal> {
        self.after(Self::Mapping, Self::Mapped { references: 1, uses: 0 })
    }

    /// Whoever was told to map could not.
    ///
    /// # Errors
    /// [`Reason::NotHeld`] when nobody was told to map.
    pub fn failed(self) -> Result<Self, Refusal> {
        self.after(Self::Mapping, Self::Absent)
    }

    /// Whoever was told to unmap has done so.
    ///
    /// # Errors
    /// [`Reason::NotHeld`] when nobody was told to unmap.
    pub fn unmapped(self) -> Result<Self, Refusal> {
        self.after(Self::Unmapping, Self::Absent)
    }

    /// Gives a reference back.
    ///
    /// # Errors
    /// [`Reason::InUse`] for the last reference while there are uses; nothing changes. [`Reason::NotHeld`] when there is none.
    pub fn release(self) -> Result<(Self, Released), Refusal> {
        match self {
            Self::Mapped { references: 1, uses: 0 } => Ok((Self::Unmapping, Released::Unmap)),
            Self::Mapped { references: 1, uses } => Err(Refusal::new(Reason::InUse, u64::from(uses))),
            Self::Mapped { references, uses } => {
                Ok((Self::Mapped { references: one_less(references)?, uses }, Released::Kept))
            }
            Self::Absent | Self::Mapping | Self::Unmapping => Err(Refusal::new(Reason::NotHeld, 0)),
        }
    }

    /// Begins to touch the bytes. The caller has a reference.
    ///
    /// # Errors
    /// [`Reason::NotImported`] when nothing is mapped; [`Reason::TooManyHolders`].
    pub fn begin_use(self) -> Result<Self, Refusal> {
        match self {
            Self::Mapped { references, uses } => Ok(Self::Mapped { references, uses: one_more(uses)? }),
            Self::Absent | Self::Mapping | Self::Unmapping => Err(Refusal::new(Reason::NotImported, 0)),
        }
    }

    /// No longer touches the bytes.
    ///
    /// # Errors
    /// [`Reason::NotHeld`] when no use had begun.
    pub fn end_use(self) -> Result<Self, Refusal> {
        match self {
            Self::Mapped { references, uses } => Ok(Self::Mapped { references, uses: one_less(uses)? }),
            Self::Absent | Self::Mapping | Self::Unmapping => Err(Refusal::new(Reason::NotHeld, 0)),
        }
    }

    fn after(self, expected: Self, then: Self) -> Result<Self, Refusal> {
        if self == expected { Ok(then) } else { Err(Refusal::new(Reason::NotHeld, 0)) }
    }

    /// The state as one word: uses in the upper half, references in the lower. A mapped state has at least one reference, so
    /// none is left for the others, which the upper half then tells apart.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        match self {
            Self::Absent => 0,
            Self::Mapping => 1 << 32,
            Self::Unmapping => 2 << 32,
            Self::Mapped { references, uses } => (uses as u64) << 32 | references as u64,
        }
    }

    /// The state that a word stands for; `None` for a word that [`to_bits`](Self::to_bits) never gives.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, reason = "the two halves of the word")]
        let (references, uses) = (bits as u32, (bits >> 32) as u32);
        match (references, uses) {
            (0, 0) => Some(Self::Absent),
            (0, 1) => Some(Self::Mapping),
            (0, 2) => Some(Self::Unmapping),
            (1..=Self::MAX_HOLDERS, 0..=Self::MAX_HOLDERS) => Some(Self::Mapped { references, uses }),
            _ => None,
        }
    }
}

fn one_more(count: u32) -> Result<u32, Refusal> {
    if count < Import::MAX_HOLDERS {
        Ok(count.saturating_add(1))
    } else {
        Err(Refusal::new(Reason::TooManyHolders, u64::from(count)).limit(u64::from(Import::MAX_HOLDERS)))
    }
}

fn one_less(count: u32) -> Result<u32, Refusal> {
    count.checked_sub(1).ok_or(Refusal::new(Reason::NotHeld, 0))
}
