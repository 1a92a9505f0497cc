//! The handle of a context as C holds it: a number that nobody dereferences.
//!
//! | bits | what |
//! | --- | --- |
//! | 0–3 | 0, so that a pointer into something else shows as misaligned |
//! | 4–15 | index into the table |
//! | 16–55 | generation of that place, counted from 1 |
//! | 56–63 | `T` |
//!
//! The top byte makes the number one that no program has as an address (on 64-bit processors of today it is not
//! canonical): a foreign pointer is never taken for a handle, and a C program that dereferences one stops at once.

use crate::primitive::size;

/// Places in the table: contexts that can exist at a time.
pub(crate) const PLACES: usize = 1 << INDEX_BITS;
/// The last generation of a place. After it the place is retired.
pub(crate) const LAST_GENERATION: u64 = (1 << 40) - 1;

const INDEX_SHIFT: u32 = 4;
const INDEX_BITS: u32 = 12;
const GENERATION_SHIFT: u32 = INDEX_SHIFT + INDEX_BITS;
const TAG_SHIFT: u32 = 56;
const TAG: u64 = b'T' as u64;

/// A handle that has the form of one of ours. Whether it names a context is for the table to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    /// Below [`PLACES`].
    pub(crate) index: usize,
    /// `1..=LAST_GENERATION`
    pub(crate) generation: u64,
}

/// Why a number is not a handle of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotAHandle {
    /// Its low bits are not 0.
    Misaligned,
    /// It was not made by `create_device_context` of this library.
    Foreign,
    /// It was, and the context has been destroyed.
    Destroyed,
}

#[cfg(not(loom))]
impl NotAHandle {
    /// What the log line says of it.
    pub(crate) const fn describe(self) -> &'static str {
        match self {
            Self::Misaligned => "misaligned, so not a context of this library",
            Self::Foreign => "not a context of this library",
            Self::Destroyed => "a context that has been destroyed",
        }
    }
}

impl Handle {
    /// The number that C holds.
    pub(crate) const fn to_bits(self) -> usize {
        let bits = TAG << TAG_SHIFT | self.generation << GENERATION_SHIFT | (self.index as u64) << INDEX_SHIFT;
        size(bits)
    }

    /// Takes a number apart.
    ///
    /// # Errors
    /// What is wrong with its form.
    pub(crate) const fn from_bits(bits: usize) -> Result<Self, NotAHandle> {
        let bits = bits as u64;
        if bits & 0xF != 0 {
            return Err(NotAHandle::Misaligned);
        }
        let index = bits >> INDEX_SHIFT & (PLACES as u64 - 1);
        let generation = bits >> GENERATION_SHIFT & LAST_GENERATION;
        if bits >> TAG_SHIFT != TAG || generation == 0 {
            return Err(NotAHandle::Foreign);
        }
        Ok(Self { index: size(index), generation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_overlap() {
        let every_field = Handle { index: PLACES - 1, generation: LAST_GENERATION };
        assert_eq!(every_field.to_bits(), 0x54FF_FFFF_FFFF_FFF0);
        assert_eq!(Handle { index: 0, generation: 1 }.to_bits(), 0x5400_0000_0001_0000);
        assert_eq!(Handle { index: 1, generation: 2 }.to_bits(), 0x5400_0000_0002_0010);
        for handle in [every_field, Handle { index: 0, generation: 1 }, Handle { index: 77, generation: 1 << 39 }] {
            assert_eq!(Handle::from_bits(handle.to_bits()), Ok(handle));
        }
    }

    #[test]
    fn what_was_never_a_handle_is_told_apart() {
        let on_stack = 0_u64;
        let address = (&raw const on_stack).addr() & !0xF;
        assert_eq!(Handle::from_bits(0), Err(NotAHandle::Foreign));
        assert_eq!(Handle::from_bits(address), Err(NotAHandle::Foreign));
        assert_eq!(Handle::from_bits(usize::MAX & !0xF), Err(NotAHandle::Foreign));
        assert_eq!(Handle::from_bits(0x5400_0000_0000_0010), Err(NotAHandle::Foreign), "generation 0 is never issued");
        for low in 1..16 {
            assert_eq!(Handle::from_bits(0x5400_0000_0001_0000 | low), Err(NotAHandle::Misaligned));
        }
    }
}
