//! Slots, the generations that occupy them, and the pair that names one callable.
//!
//! A slot is a place that a caller chooses and may use again; its generation says which tenant is meant. Generations belong to
//! the slot and not to the callable in it: only so can an old packet be told from a new one after the slot has changed hands.

use core::num::NonZeroU64;

use crate::area::{RECORD_BYTES, RECORDS};
use crate::wire::SLOTS;

/// How often a slot has been occupied, from 1.
///
/// Zero is not a generation: a zeroed record or packet names nobody. The last value has no successor, and a slot that has used it
/// is retired, since a number that came back would make an old packet valid again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(transparent)]
pub struct Generation(NonZeroU64);

impl Generation {
    /// The first tenant's.
    pub const FIRST: Self = Self(NonZeroU64::MIN);
    /// The last one a slot can have.
    pub const LAST: Self = Self(NonZeroU64::MAX);

    /// The generation with this number; `None` for 0, which means "not recorded".
    #[must_use]
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match NonZeroU64::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// The number as it travels.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0.get()
    }

    /// The next tenant's, or `None` after the last: then the slot is retired for good.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }
}

/// A place in a table of `N` slots, below `N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(transparent)]
pub struct SlotIndex<const N: usize = SLOTS>(u16);

impl<const N: usize> SlotIndex<N> {
    const FITS: () = assert!(0 < N && N <= 8192, "a table has 1 to 8192 slots");

    /// The slot that a caller's or a packet's `callable_id` names, or `None` when there is no such slot.
    #[must_use]
    pub const fn from_id(id: i32) -> Option<Self> {
        let () = Self::FITS;
        if id < 0 { None } else { Self::from_index(id as usize) }
    }

    /// The slot at a position, or `None` when there is no such slot.
    #[must_use]
    pub const fn from_index(index: usize) -> Option<Self> {
        let () = Self::FITS;
        #[expect(clippy::cast_possible_truncation, reason = "below N, which FITS bounds by 8192")]
        if index < N { Some(Self(index as u16)) } else { None }
    }

    /// Every slot, in order.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        (0..N).filter_map(Self::from_index)
    }

    /// The `callable_id` that names this slot.
    #[must_use]
    pub const fn to_id(self) -> i32 {
        self.0 as i32
    }

    /// The position in a table.
    #[must_use]
    pub const fn to_index(self) -> usize {
        self.0 as usize
    }
}

impl SlotIndex {
    /// Bits of an id that a slot's id can have.
    pub(crate) const ID_BITS: u32 = 63;

    /// The slot in the low six bits: for a caller that has just compared the rest with zero and wants no second comparison.
    pub(crate) const fn from_low_bits(bits: u32) -> Self {
        Self((bits & Self::ID_BITS) as u16)
    }

    /// Where the slot's record is, in bytes from the start of a context area.
    #[must_use]
    #[expect(clippy::arithmetic_side_effects, reason = "at most 32 + 32 × 63")]
    pub const fn record_offset(self) -> u64 {
        RECORDS + RECORD_BYTES * self.0 as u64
    }
}

// A mask can stand for the comparison because the number of slots is a power of two.
static_assertions::const_assert!(SLOTS.is_power_of_two());
static_assertions::const_assert_eq!(SlotIndex::<SLOTS>::ID_BITS as usize, SLOTS - 1);

/// Names one tenant of one slot. It stays the name of that tenant for ever, whoever has the slot later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct CallableId<const N: usize = SLOTS> {
    /// Where.
    pub slot: SlotIndex<N>,
    /// Which tenant.
    pub generation: Generation,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::area::record_offset;

    #[test]
    fn zero_is_never_a_generation() {
        assert_eq!(Generation::from_bits(0), None);
        assert_eq!(Generation::FIRST.to_bits(), 1);
    }

    #[test]
    fn the_last_generation_has_no_successor() {
        assert_eq!(Generation::LAST.to_bits(), u64::MAX);
        assert_eq!(Generation::LAST.next(), None);
        let before_last = Generation::from_bits(u64::MAX - 1).unwrap();
        assert_eq!(before_last.next(), Some(Generation::LAST));
    }

    #[test]
    fn generations_only_grow() {
        let mut last = Generation::FIRST;
        for _ in 0..1000 {
            let next = last.next().unwrap();
            assert!(next > last);
            last = next;
        }
    }

    #[test]
    fn an_id_outside_the_table_names_no_slot() {
        for id in [-1, 64, 65, 255, 8192, i32::MIN, i32::MAX] {
            assert_eq!(SlotIndex::<SLOTS>::from_id(id), None, "{id}");
        }
        assert_eq!(SlotIndex::<8192>::from_id(8191).map(SlotIndex::to_index), Some(8191));
        assert_eq!(SlotIndex::<8192>::from_id(8192), None);
    }

    #[test]
    fn all_slots_come_in_order_and_know_their_record() {
        let slots: std::vec::Vec<SlotIndex> = SlotIndex::all().collect();
        assert_eq!(slots.len(), 64);
        for (index, slot) in slots.into_iter().enumerate() {
            assert_eq!(slot.to_index(), index);
            assert_eq!(SlotIndex::from_id(slot.to_id()), Some(slot));
            assert_eq!(SlotIndex::from_low_bits(u32::try_from(index).unwrap()), slot);
            assert_eq!(Some(slot.record_offset()), record_offset(index));
            assert_eq!(slot.record_offset(), 32 + 32 * index as u64);
        }
    }
}
