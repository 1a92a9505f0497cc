//! Which entry of the C boundary does what, in which state of a context.
//!
#![doc = concat!("```text\n", include_str!("entries.txt"), "```")]
//!
//! *latches*: the entry writes the mode and initialises (a program context whose init failed may try again) · *works*: it does
//! its job, or refuses for a reason of its own · *state*: `INVALID_STATE`, nothing is touched · *zero*: success, nothing is
//! touched · *closes*: it begins to close, or goes on with what is left · *frees*: the handle is gone.
//!
//! The table says what is allowed; what has to be checked before and after it is the order of checks of the C boundary. That an
//! entry finds another thread inside is not a state: it is `INVALID_STATE` wherever the entry would have worked.

use crate::phase::Phase;

closed_enum! {
    /// The entries that the state of a context decides about.
    pub enum Entry: u8 {
        /// `simpler_init`
        SimplerInit = 0,
        /// Every other entry of program mode: callables, run, memory, copies.
        ProgramEntries = 1,
        /// `simpler_kernel_mode_supported`
        KernelModeSupported = 2,
        /// `simpler_kernel_mode_init`
        KernelModeInit = 3,
        /// `simpler_kernel_mode_prepare_callable`
        Prepare = 4,
        /// `simpler_kernel_mode_launch`
        Launch = 5,
        /// `simpler_kernel_mode_release_callable`
        Release = 6,
        /// `simpler_kernel_mode_slot_generation`
        SlotGeneration = 7,
        /// `simpler_context_errors`
        ContextErrors = 8,
        /// `finalize_device`
        FinalizeDevice = 9,
        /// `destroy_device_context`
        DestroyDeviceContext = 10,
    }
}

closed_enum! {
    /// What a context can be found in.
    pub enum ContextState: u8 {
        /// No mode yet.
        Fresh = 0,
        /// Program mode is latched; its init failed or has not ended.
        ProgramInitFailed = 1,
        /// Program mode, initialised.
        Program = 2,
        /// Program mode, finalised.
        Finalized = 3,
        /// Kernel mode is latched; its init failed and left nothing behind, or has not ended.
        KernelInitFailed = 4,
        /// Kernel mode, initialised.
        Live = 5,
        /// Kernel mode, after a failure behind the first enqueue.
        Poisoned = 6,
        /// Kernel mode, being taken down.
        Closing = 7,
        /// Kernel mode, closed.
        Closed = 8,
    }
}

closed_enum! {
    /// What an entry does.
    pub enum Action: u8 {
        /// Writes the mode, then initialises.
        Latches = 0,
        /// Does its job.
        Works = 1,
        /// Answers `INVALID_STATE`.
        State = 2,
        /// Answers 0.
        Zero = 3,
        /// Begins to close, or goes on with what is left.
        Closes = 4,
        /// Lets go of the handle.
        Frees = 5,
    }
}

impl From<Phase> for ContextState {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::New => Self::KernelInitFailed,
            Phase::Collecting | Phase::ReadyEnqueued => Self::Live,
            Phase::Poisoned => Self::Poisoned,
            Phase::Closing => Self::Closing,
            Phase::Closed => Self::Closed,
        }
    }
}

/// What `entry` does to a context in `state`.
#[must_use]
pub const fn action(entry: Entry, state: ContextState) -> Action {
    use ContextState::{Closed, Closing, Finalized, Fresh, Live, Poisoned, Program, ProgramInitFailed};
    match (entry, state) {
        (Entry::SimplerInit, Fresh | ProgramInitFailed) | (Entry::KernelModeInit, Fresh) => Action::Latches,
        (Entry::SimplerInit, Finalized) => Action::Zero,
        (Entry::ProgramEntries, Program)
        | (Entry::KernelModeSupported | Entry::ContextErrors, _)
        | (Entry::Prepare | Entry::Launch | Entry::Release, Live)
        | (Entry::SlotGeneration, Live | Poisoned | Closing) => Action::Works,
        (Entry::FinalizeDevice, Fresh | Finalized | Closed) => Action::Zero,
        (Entry::FinalizeDevice, _) => Action::Closes,
        (Entry::DestroyDeviceContext, Fresh | Finalized | Closed) => Action::Frees,
        _ => Action::State,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::{self, Event};
    use std::string::String;
    use std::vec::Vec;

    /// `KernelModeInit` as it stands in the text: `kernel_mode_init`.
    fn snake(name: &str) -> String {
        let mut snake = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.extend(letter.to_lowercase());
        }
        snake
    }

    #[test]
    fn every_entry_in_every_state_agrees_with_the_written_table() {
        let mut lines = include_str!("entries.txt").lines();
        let states: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
        assert_eq!(states, ContextState::ALL.iter().map(|state| snake(state.name())).collect::<Vec<_>>());

        let rows: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows.len(), Entry::ALL.len());
        for (entry, row) in Entry::ALL.iter().zip(rows) {
            let (name, cells) = row.split_first().unwrap();
            assert_eq!(*name, snake(entry.name()));
            assert_eq!(cells.len(), ContextState::ALL.len(), "{name}");
            for (state, written) in ContextState::ALL.iter().zip(cells) {
                assert_eq!(snake(action(*entry, *state).name()), *written, "{name} in {}", state.name());
            }
        }
    }

    #[test]
    fn what_the_phases_allow_is_what_the_entries_do() {
        for (entry, event) in
            [(Entry::Prepare, Event::Prepare), (Entry::Launch, Event::Launch), (Entry::Release, Event::Release)]
        {
            for phase in Phase::ALL {
                let allowed = phase::next(*phase, event).is_ok();
                let works = action(entry, (*phase).into()) == Action::Works;
                assert_eq!(works, allowed, "{} in {}", entry.name(), phase.name());
            }
        }
        for phase in Phase::ALL {
            let allowed = phase::next(*phase, Event::Close).is_ok();
            assert_eq!(action(Entry::FinalizeDevice, (*phase).into()) == Action::Closes, allowed, "{}", phase.name());
        }
    }

    #[test]
    fn a_latched_context_never_latches_the_other_mode() {
        let kernel = [
            ContextState::KernelInitFailed,
            ContextState::Live,
            ContextState::Poisoned,
            ContextState::Closing,
            ContextState::Closed,
        ];
        let program = [ContextState::ProgramInitFailed, ContextState::Program, ContextState::Finalized];
        for state in kernel {
            assert_eq!(action(Entry::SimplerInit, state), Action::State, "{}", state.name());
            assert_eq!(action(Entry::KernelModeInit, state), Action::State, "{}", state.name());
        }
        for state in program {
            assert_eq!(action(Entry::KernelModeInit, state), Action::State, "{}", state.name());
        }
    }
}
