//! The phases of a kernel-mode context.
//!
#![doc = concat!("```text\n", include_str!("phase_transitions.txt"), "```")]
//!
//! ```text
//!                     ┌──────(4)───────────┐
//!                     v                    │
//! latch ─> New ─(1)─> Collecting ─(3)─> ReadyEnqueued
//!           │ │        │     │             │      │
//!           │ │        │     └────(5)──┬───┘      │
//!           │ │        │               v          │
//!           │ │        │           Poisoned       │
//!           │ │        │               │          │
//!           │ └──(6)───┴──────(6)──────┴────(6)───┤
//!           │                                     v
//!           └───────────────(2)──────────────> Closing ─(7)─> Closed
//! ```
//!
//! 1. Init made everything.
//! 2. Init failed, and so did its roll-back: something is left that only close can let go of.
//! 3. A launch. Further launches stay there.
//! 4. A prepare, also from ReadyEnqueued. A release changes no phase.
//! 5. A failure after the first enqueue. Nothing is dispatched from here on.
//! 6. Close; from New when init failed and was rolled back, and again from Closing: a retry does only what is left.
//! 7. The last thing is gone, or the device is.
//!
//! An init that runs is in no phase: nobody else can see the context before it ends.

closed_enum! {
    /// Where a kernel-mode context is in its life.
    pub enum Phase: u8 {
        /// Latched; init failed and left nothing behind.
        New = 0,
        /// Usable; no launch since the last prepare.
        Collecting = 1,
        /// Usable; launched since the last prepare.
        ReadyEnqueued = 2,
        /// A failure came after the first enqueue; only close is left.
        Poisoned = 3,
        /// Being taken down; never left but for Closed.
        Closing = 4,
        /// Nothing is left but the context area.
        Closed = 5,
    }
}

closed_enum! {
    /// What happens to a kernel-mode context.
    pub enum Event: u8 {
        /// Init made everything.
        Initialise = 0,
        /// Init failed and could not undo all it had done.
        LeaveHalfMade = 1,
        /// A callable is put into a slot.
        Prepare = 2,
        /// A slot is emptied.
        Release = 3,
        /// A callable is launched.
        Launch = 4,
        /// An operation failed after something was enqueued.
        Poison = 5,
        /// Somebody asks to close.
        Close = 6,
        /// Close has let go of the last thing.
        TornDown = 7,
    }
}

/// An event that the phase does not allow; nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Where the context is.
    pub phase: Phase,
    /// What was asked of it.
    pub event: Event,
}

/// The phase after `event`.
///
/// # Errors
/// [`Refused`] where the table has a dash.
pub const fn next(phase: Phase, event: Event) -> Result<Phase, Refused> {
    use Phase::{Closed, Closing, Collecting, New, Poisoned, ReadyEnqueued};
    Ok(match (phase, event) {
        (New, Event::Initialise) => Collecting,
        (New, Event::LeaveHalfMade) => Closing,
        (Collecting | ReadyEnqueued, Event::Prepare) => Collecting,
        (Collecting | ReadyEnqueued, Event::Release) => phase,
        (Collecting | ReadyEnqueued, Event::Launch) => ReadyEnqueued,
        (Collecting | ReadyEnqueued, Event::Poison) => Poisoned,
        (New | Collecting | ReadyEnqueued | Poisoned | Closing, Event::Close) => Closing,
        (Closing, Event::TornDown) => Closed,
        _ => return Err(Refused { phase, event }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    #[test]
    fn every_pair_agrees_with_the_written_table() {
        let mut lines = include_str!("phase_transitions.txt").lines();
        let events: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        assert_eq!(events, Event::ALL.iter().map(|event| event.name()).collect::<Vec<_>>());

        let rows: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows.len(), Phase::ALL.len());
        for (phase, row) in Phase::ALL.iter().zip(rows) {
            assert_eq!(row[0], phase.name());
            assert_eq!(row.len(), 1 + Event::ALL.len(), "{}", phase.name());
            for (event, written) in Event::ALL.iter().zip(&row[1..]) {
                let decided = next(*phase, *event).map_or("-", Phase::name);
                assert_eq!(decided, *written, "{} on {}", phase.name(), event.name());
            }
        }
    }

    #[test]
    fn a_refusal_names_what_was_asked_and_where() {
        assert_eq!(next(Phase::Poisoned, Event::Launch), Err(Refused { phase: Phase::Poisoned, event: Event::Launch }));
    }

    #[test]
    fn nothing_leads_back_from_closing() {
        for event in Event::ALL {
            let after = next(Phase::Closing, *event);
            assert!(matches!(after, Err(_) | Ok(Phase::Closing | Phase::Closed)), "{}", event.name());
            assert!(next(Phase::Closed, *event).is_err(), "{}", event.name());
        }
    }
}
