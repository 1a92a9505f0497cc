//! The execution mode of a context: written once, for ever.
//!
//! The first init entry decides whether a context owns its device or borrows one. There is no way back, not on close and not on
//! error: a handle from a failed kernel init can never become a program context, or it would come to own a device that somebody
//! else is using.
//!
//! [`decide`] is the rule, [`ModeLatch`] the word that threads race for.

use crate::wire::Mode;

#[cfg(all(loom, test))]
use loom::sync::atomic::{AtomicU8, Ordering};

#[cfg(not(all(loom, test)))]
use core::sync::atomic::{AtomicU8, Ordering};

/// A latch asked for a mode that it does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModeConflict {
    /// The mode that the context has for ever.
    pub held: Mode,
    /// The mode that was asked for.
    pub asked: Mode,
}

/// What a latch did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latched {
    /// This call wrote the mode.
    First,
    /// The mode was there already.
    Again,
}

/// What latching `asked` means where `held` is there: nothing is written unless this answers [`Latched::First`].
///
/// # Errors
/// [`ModeConflict`] when the other mode is held.
pub const fn decide(held: Option<Mode>, asked: Mode) -> Result<Latched, ModeConflict> {
    match (held, asked) {
        (None, _) => Ok(Latched::First),
        (Some(Mode::Program), Mode::Program) | (Some(Mode::Kernel), Mode::Kernel) => Ok(Latched::Again),
        (Some(held), asked) => Err(ModeConflict { held, asked }),
    }
}

/// A mode that is written at most once, by whichever thread comes first.
#[derive(Debug)]
pub struct ModeLatch(AtomicU8);

/// Word of a latch that holds no mode; the others are one more than the mode's own number.
const UNLATCHED: u8 = 0;

impl ModeLatch {
    /// A latch without a mode.
    #[must_use]
    #[cfg(not(all(loom, test)))]
    pub const fn new() -> Self {
        Self(AtomicU8::new(UNLATCHED))
    }

    /// A latch without a mode. Loom's atomics are made at run time.
    #[must_use]
    #[cfg(all(loom, test))]
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(UNLATCHED))
    }

    /// The mode that is held, if one is.
    pub fn mode(&self) -> Option<Mode> {
        // Acquire: who sees a mode also sees what its writer did before.
        from_word(self.0.load(Ordering::Acquire))
    }

    /// Latches `asked`, or finds it latched.
    ///
    /// # Errors
    /// [`ModeConflict`] when the other mode is held; the latch is as it was.
    pub fn latch(&self, asked: Mode) -> Result<Latched, ModeConflict> {
        // One exchange decides the race. A failed one has read the mode that won.
        let held = match self.0.compare_exchange(UNLATCHED, to_word(asked), Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => None,
            Err(word) => from_word(word),
        };
        decide(held, asked)
    }
}

impl Default for ModeLatch {
    fn default() -> Self {
        Self::new()
    }
}

const fn to_word(mode: Mode) -> u8 {
    match mode {
        Mode::Program => 1,
        Mode::Kernel => 2,
    }
}

const fn from_word(word: u8) -> Option<Mode> {
    match word {
        1 => Some(Mode::Program),
        2 => Some(Mode::Kernel),
        _ => None,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_modes_has_one_answer() {
        use Mode::{Kernel, Program};
        for asked in [Program, Kernel] {
            assert_eq!(decide(None, asked), Ok(Latched::First));
            assert_eq!(decide(Some(asked), asked), Ok(Latched::Again));
        }
        assert_eq!(decide(Some(Program), Kernel), Err(ModeConflict { held: Program, asked: Kernel }));
        assert_eq!(decide(Some(Kernel), Program), Err(ModeConflict { held: Kernel, asked: Program }));
    }

    #[test]
    fn a_latch_holds_the_first_mode_for_ever() {
        for first in Mode::ALL {
            let latch = ModeLatch::new();
            assert_eq!(latch.mode(), None);
            assert_eq!(latch.latch(*first), Ok(Latched::First));
            for asked in Mode::ALL.iter().chain(Mode::ALL) {
                assert_eq!(latch.latch(*asked), decide(Some(*first), *asked));
                assert_eq!(latch.mode(), Some(*first));
            }
        }
    }

    #[test]
    fn racing_threads_agree_on_one_mode() {
        use std::sync::Barrier;
        use std::vec::Vec;

        for round in 0..200_usize {
            let latch = ModeLatch::new();
            let start = Barrier::new(8);
            let answers: Vec<_> = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..8_usize)
                    .map(|thread| {
                        let asked = if (thread ^ round) % 2 == 0 { Mode::Kernel } else { Mode::Program };
                        let (latch, start) = (&latch, &start);
                        scope.spawn(move || {
                            start.wait();
                            (asked, latch.latch(asked))
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            let held = latch.mode().unwrap();
            assert_eq!(answers.iter().filter(|(_, answer)| *answer == Ok(Latched::First)).count(), 1);
            for (asked, answer) in answers {
                assert_eq!(answer.is_ok(), asked == held, "round {round}");
            }
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    #[test]
    fn both_inits_racing_latch_exactly_one_mode() {
        loom::model(|| {
            let latch = Arc::new(ModeLatch::new());
            let racers: std::vec::Vec<_> = [Mode::Kernel, Mode::Program]
                .into_iter()
                .map(|asked| {
                    let latch = Arc::clone(&latch);
                    thread::spawn(move || (asked, latch.latch(asked), latch.mode()))
                })
                .collect();
            let own = (Mode::Kernel, latch.latch(Mode::Kernel), latch.mode());
            let mut answers: std::vec::Vec<_> = racers.into_iter().map(|racer| racer.join().unwrap()).collect();
            answers.push(own);

            let held = latch.mode().unwrap();
            assert_eq!(answers.iter().filter(|(_, answer, _)| *answer == Ok(Latched::First)).count(), 1);
            for (asked, answer, seen) in answers {
                assert_eq!(answer.is_ok(), asked == held);
                assert_eq!(seen, Some(held), "whoever has latched or been refused sees the mode that won");
            }
        });
    }
}
