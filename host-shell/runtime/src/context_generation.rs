//! The context generations of this process.
//!
//! A context area is never freed, so its generation is taken for the life of the process: a captured packet that still names it
//! must never find another context. A generation whose init did not come as far as registering an area is given back.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tenon_core::area::MAX_AREAS;

use crate::error::ContextError;

/// Generations that have an area, or are about to get one.
static TAKEN: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// A generation that no other context of this process has. Dropping it gives it back, unless it was kept.
#[derive(Debug)]
pub(crate) struct ContextGeneration(u64);

impl ContextGeneration {
    /// Takes the generation that a caller minted.
    ///
    /// # Errors
    /// [`ContextError::ContextGeneration`] when it is taken, [`ContextError::NoAreaLeft`] when no context can be made any more.
    pub(crate) fn take(generation: u64) -> Result<Self, ContextError> {
        let mut taken = taken();
        if taken.contains(&generation) {
            return Err(ContextError::ContextGeneration(generation));
        }
        note(&mut taken, generation)
    }

    /// Takes one for a context whose caller does not mint any: the highest that is free, since callers count from below.
    ///
    /// # Errors
    /// [`ContextError::NoAreaLeft`].
    pub(crate) fn mint() -> Result<Self, ContextError> {
        let mut taken = taken();
        // More candidates than can be taken, so one of them is free.
        let free = (u64::MAX - MAX_AREAS as u64..=u64::MAX).rev().find(|candidate| !taken.contains(candidate));
        note(&mut taken, free.ok_or(ContextError::NoAreaLeft)?)
    }

    pub(crate) const fn get(&self) -> u64 {
        self.0
    }

    /// An area with this generation is registered: it stays taken.
    pub(crate) fn keep(self) {
        core::mem::forget(self);
    }
}

impl Drop for ContextGeneration {
    fn drop(&mut self) {
        taken().retain(|generation| *generation != self.0);
    }
}

fn note(taken: &mut Vec<u64>, generation: u64) -> Result<ContextGeneration, ContextError> {
    if taken.len() >= MAX_AREAS {
        return Err(ContextError::NoAreaLeft);
    }
    taken.push(generation);
    Ok(ContextGeneration(generation))
}

/// The list. Nothing can panic while it is locked, so a poisoned one is as good as any.
fn taken() -> MutexGuard<'static, Vec<u64>> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generation_is_free_again_unless_it_was_kept() {
        let first = ContextGeneration::take(0xA0).unwrap();
        assert_eq!(ContextGeneration::take(0xA0).err(), Some(ContextError::ContextGeneration(0xA0)));
        drop(first);
        ContextGeneration::take(0xA0).unwrap().keep();
        assert_eq!(ContextGeneration::take(0xA0).err(), Some(ContextError::ContextGeneration(0xA0)));
    }

    #[test]
    fn minted_generations_differ() {
        let (first, second) = (ContextGeneration::mint().unwrap(), ContextGeneration::mint().unwrap());
        assert_ne!(first.get(), second.get());
        assert_eq!(ContextGeneration::take(first.get()).err(), Some(ContextError::ContextGeneration(first.get())));
    }
}
