//! The table of contexts: who may look at one, and when it may go.
//!
//! Each place has one word with its generation, its state and the number of calls that are inside. A call enters by
//! adding itself to a word that still has its handle's generation; a context goes only when nobody is inside. So a
//! handle that was destroyed, or forged, costs one comparison, and a context can never go under a call: nothing waits,
//! one of the two is refused.

use super::handle::{Handle, LAST_GENERATION, NotAHandle, PLACES};

use core::sync::atomic::Ordering;

use crate::primitive::{AtomicU64, UnsafeCell};

/// Why a handle gave no context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// It names none.
    Not(NotAHandle),
    /// It names one that is just being destroyed, or that is in use where it must not be.
    InUse,
    /// It names one that is not to be destroyed in its state.
    Held,
}

/// Contexts by handle. `N` places at most [`PLACES`].
pub(crate) struct Registry<T, const N: usize> {
    places: [Place<T>; N],
}

struct Place<T> {
    /// See [`Word`].
    word: AtomicU64,
    /// Written by who has moved the word to `Claimed`, read by who is counted in it.
    value: UnsafeCell<Option<T>>,
}

// SAFETY: a value is shared between threads only through `Entered`, which gives `&T` (so `T: Sync`), and moved in and
// out by whichever thread claims the place (so `T: Send`). The word orders the two, see `enter`, `insert` and `remove`.
unsafe impl<T: Send + Sync, const N: usize> Sync for Registry<T, N> {}

/// A call that is inside a context: the context cannot go while this lives.
pub(crate) struct Entered<'a, T> {
    place: &'a Place<T>,
}

/// What a place is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Occupancy {
    Vacant = 0,
    /// One thread has it for itself.
    Claimed = 1,
    Live = 2,
}

/// A place's word, taken apart: users in bits 0–15, occupancy in bits 16–17, generation in bits 24–63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Word {
    generation: u64,
    occupancy: Occupancy,
    users: u16,
}

impl Word {
    const fn to_bits(self) -> u64 {
        self.generation << 24 | (self.occupancy as u64) << 16 | self.users as u64
    }

    const fn from_bits(bits: u64) -> Self {
        let occupancy = match bits >> 16 & 3 {
            0 => Occupancy::Vacant,
            1 => Occupancy::Claimed,
            _ => Occupancy::Live,
        };
        Self { generation: bits >> 24, occupancy, users: (bits & 0xFFFF) as u16 }
    }

    /// What this word says of a handle with `generation`; a live one's is the word itself.
    const fn check(self, generation: u64) -> Result<Self, Refused> {
        if self.generation < generation {
            return Err(Refused::Not(NotAHandle::Foreign));
        }
        match self.occupancy {
            Occupancy::Live if self.generation == generation => Ok(self),
            Occupancy::Claimed if self.generation == generation => Err(Refused::InUse),
            _ => Err(Refused::Not(NotAHandle::Destroyed)),
        }
    }
}

impl<T> Place<T> {
    #[cfg(not(loom))]
    const fn new() -> Self {
        Self { word: AtomicU64::new(0), value: UnsafeCell::new(None) }
    }

    #[cfg(loom)]
    fn new() -> Self {
        Self { word: AtomicU64::new(0), value: UnsafeCell::new(None) }
    }

    /// Replaces a word by another one, if it is still there.
    fn swap(&self, from: Word, to: Word) -> Result<(), Word> {
        // Acquire: who finds the place live, or claims it, sees the value as it was left. Release: who leaves it shows
        // its own.
        match self.word.compare_exchange(from.to_bits(), to.to_bits(), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Ok(()),
            Err(found) => Err(Word::from_bits(found)),
        }
    }

    fn load(&self) -> Word {
        Word::from_bits(self.word.load(Ordering::Acquire))
    }
}

impl<T, const N: usize> Registry<T, N> {
    /// An empty table.
    #[cfg(not(loom))]
    pub(crate) const fn new() -> Self {
        const { assert!(N <= PLACES) }
        Self { places: [const { Place::new() }; N] }
    }

    /// An empty table. Loom's atomics are made at run time.
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        assert!(N <= PLACES);
        Self { places: core::array::from_fn(|_| Place::new()) }
    }

    /// Takes a place for `value`; `None`, with the value dropped, when all are taken.
    pub(crate) fn insert(&self, value: T) -> Option<Handle> {
        let (index, place, generation) = self.places.iter().enumerate().find_map(|(index, place)| {
            let vacant = place.load();
            if vacant.occupancy != Occupancy::Vacant || vacant.generation == LAST_GENERATION {
                return None;
            }
            let generation = vacant.generation + 1;
            let claimed = Word { generation, occupancy: Occupancy::Claimed, users: 0 };
            place.swap(vacant, claimed).ok().map(|()| (index, place, generation))
        })?;
        place.value.with_mut(|slot| {
            // SAFETY: this thread claimed the place; nobody enters before the word says `Live`, and `slot` is the
            // place's own.
            unsafe { *slot = Some(value) }
        });
        let live = Word { generation, occupancy: Occupancy::Live, users: 0 };
        place.word.store(live.to_bits(), Ordering::Release);
        Some(Handle { index, generation })
    }

    /// Enters the context that `handle` names.
    ///
    /// # Errors
    /// It names none, or one that is being destroyed.
    pub(crate) fn enter(&self, handle: Handle) -> Result<Entered<'_, T>, Refused> {
        let place = self.place(handle)?;
        let mut found = place.load();
        loop {
            let live = found.check(handle.generation)?;
            // 65,535 calls at a time in one context: whatever that is, it is refused rather than counted wrongly.
            let users = live.users.checked_add(1).ok_or(Refused::InUse)?;
            match place.swap(live, Word { users, ..live }) {
                Ok(()) => return Ok(Entered { place }),
                Err(changed) => found = changed,
            }
        }
    }

    /// Takes the context that `handle` names out of the table, if `is_free` allows it. The place gets its next
    /// generation with its next context.
    ///
    /// # Errors
    /// It names none; somebody is inside; or `is_free` says no, and then everything is as it was.
    pub(crate) fn remove(&self, handle: Handle, is_free: impl FnOnce(&T) -> bool) -> Result<Option<T>, Refused> {
        let place = self.place(handle)?;
        let live = place.load().check(handle.generation)?;
        let alone = Word { users: 0, ..live };
        let claimed = Word { occupancy: Occupancy::Claimed, ..alone };
        if live.users != 0 || place.swap(alone, claimed).is_err() {
            return Err(Refused::InUse);
        }
        let taken = place.value.with_mut(|slot| {
            // SAFETY: this thread claimed the place and nobody is inside, so this is the only reference; it ends with
            // this closure.
            let slot = unsafe { &mut *slot };
            if slot.as_ref().is_some_and(is_free) { Some(slot.take()) } else { None }
        });
        let (occupancy, answer) = match taken {
            Some(value) => (Occupancy::Vacant, Ok(value)),
            None => (Occupancy::Live, Err(Refused::Held)),
        };
        place.word.store(Word { occupancy, ..alone }.to_bits(), Ordering::Release);
        answer
    }

    fn place(&self, handle: Handle) -> Result<&Place<T>, Refused> {
        self.places.get(handle.index).ok_or(Refused::Not(NotAHandle::Foreign))
    }
}

impl<T> Entered<'_, T> {
    /// Looks at the context.
    pub(crate) fn with<R>(&self, look: impl FnOnce(&T) -> R) -> Option<R> {
        self.place.value.with(|slot| {
            // SAFETY: this call is counted in the word, so nobody can claim the place: the value is only read while
            // this lives.
            let slot = unsafe { &*slot };
            slot.as_ref().map(look)
        })
    }
}

impl<T> Drop for Entered<'_, T> {
    fn drop(&mut self) {
        // Release: who destroys the context afterwards sees all that this call did.
        self.place.word.fetch_sub(1, Ordering::Release);
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
