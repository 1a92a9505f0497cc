//! Directions of arguments, and how many there are of each sort.
//!
//! The trap: `sig_count` counts scalars too, and a stored `scalar_count` of 0 also means "written before the field existed".
//! Subtracting the stored field would count an old image's scalars as tensors, so nobody does: [`Counts`] come from the entries,
//! and a stored value is only compared ([`Counts::agree_with_stored`]).

closed_enum! {
    /// What a callable does with one of its arguments.
    pub enum Direction: i32 {
        /// A 64-bit value.
        Scalar = 0,
        /// A tensor that is read.
        In = 1,
        /// A tensor that is written.
        Out = 2,
        /// A tensor that is read and written.
        Inout = 3,
    }
}

impl Direction {
    /// Whether the callable may write to the argument.
    #[must_use]
    pub const fn is_written(self) -> bool {
        matches!(self, Self::Out | Self::Inout)
    }
}

/// How many tensors and scalars a callable takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counts {
    /// Tensors, which come first.
    pub tensors: u32,
    /// Scalars, which come last.
    pub scalars: u32,
}

/// A signature entry that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadEntry {
    /// Which entry.
    pub index: u32,
    /// Its value.
    pub found: i32,
    /// A known direction in the wrong place, else an unknown one.
    pub is_known: bool,
}

impl Counts {
    /// Counts the used entries of a signature.
    ///
    /// # Errors
    /// The first entry that is no direction, or a tensor after a scalar.
    pub fn of(entries: impl IntoIterator<Item = i32>) -> Result<Self, BadEntry> {
        let mut counts = Self::default();
        for (index, found) in (0..).zip(entries) {
            match Direction::try_from(found) {
                Ok(Direction::Scalar) => counts.scalars = counts.scalars.saturating_add(1),
                Ok(_) if counts.scalars == 0 => counts.tensors = counts.tensors.saturating_add(1),
                Ok(_) => return Err(BadEntry { index, found, is_known: true }),
                Err(_) => return Err(BadEntry { index, found, is_known: false }),
            }
        }
        Ok(counts)
    }

    /// Whether a stored `scalar_count` fits: 0 for "not recorded", or the number of scalars.
    #[must_use]
    pub fn agree_with_stored(self, scalar_count: i32) -> bool {
        scalar_count == 0 || u32::try_from(scalar_count) == Ok(self.scalars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_have_the_numbers_of_the_specification() {
        let numbers: std::vec::Vec<(&str, i32)> = Direction::ALL.iter().map(|d| (d.name(), d.code())).collect();
        assert_eq!(numbers, [("Scalar", 0), ("In", 1), ("Out", 2), ("Inout", 3)]);
    }

    #[test]
    fn scalars_are_counted_from_the_entries_and_not_from_the_stored_field() {
        let counts = Counts::of([1, 1, 2, 0, 0]).unwrap();
        assert_eq!(counts, Counts { tensors: 3, scalars: 2 });
        assert!(counts.agree_with_stored(0), "an old image says nothing");
        assert!(counts.agree_with_stored(2));
        for disagreeing in [1, 3, -2, i32::MIN, i32::MAX] {
            assert!(!counts.agree_with_stored(disagreeing), "{disagreeing}");
        }
    }

    #[test]
    fn the_first_bad_entry_is_named() {
        assert_eq!(Counts::of([1, 4, 9]), Err(BadEntry { index: 1, found: 4, is_known: false }));
        assert_eq!(Counts::of([1, 0, 3]), Err(BadEntry { index: 2, found: 3, is_known: true }));
        assert_eq!(Counts::of([-1]), Err(BadEntry { index: 0, found: -1, is_known: false }));
        assert_eq!(Counts::of([]), Ok(Counts::default()));
    }
}
