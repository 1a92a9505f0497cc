//! Why an entry of a context did not do what it was asked.
//!
//! Errors keep their cause until the boundary; [`ContextError::code`] is the one place where they become numbers.

use tenon_core::arena::{CommitRefused, PlanError};
use tenon_core::callable;
use tenon_core::contents::LaunchRefusal;
use tenon_core::mode::ModeConflict;
use tenon_core::packet::EmitError;
use tenon_core::phase;
use tenon_core::settings::SettingsConflict;
use tenon_core::status::{DispatchAnswer, RuntimeError};
use tenon_core::table::TableError;
use tenon_core::vocabulary::VendorError;
use thiserror::Error;

/// What stopped an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ContextError {
    /// The context has the other mode.
    #[error("the context holds {} mode for ever, {} mode was asked for", held_name(.0), asked_name(.0))]
    Mode(ModeConflict),
    /// Kernel mode is initialised once.
    #[error("kernel mode was initialised before, or is being initialised")]
    SecondInit,
    /// The context is in a phase that does not allow it.
    #[error("{} is not possible while the context is {}", .0.event.name(), .0.phase.name())]
    Phase(phase::Refused),
    /// A program-mode context that is not initialised, or finalised, or unusable after a failure.
    #[error("the program context is {0}")]
    Program(&'static str),
    /// Another thread is inside the context.
    #[error("another thread is inside the context")]
    Entered,
    /// The caller's thread has another current device than it names, or none.
    #[error("device {asked} is not the caller's current device ({current:?})")]
    CurrentDevice {
        /// The one that is current, if one is.
        current: Option<i32>,
        /// The one that was named.
        asked: i32,
    },
    /// A context area of this process has the generation already.
    #[error("a context of this process has generation {0} already")]
    ContextGeneration(u64),
    /// This process has as many context areas as a device process can have.
    #[error("1024 contexts have been made in this process; no area is left")]
    NoAreaLeft,
    /// The rings do not add up to a size.
    #[error("the configured rings do not add up to a size: {0:?}")]
    Plan(PlanError),
    /// A committed region would have to change.
    #[error("region {} has {} bytes and cannot become {}", .0.region.name(), .0.committed, .0.requested)]
    Arena(CommitRefused),
    /// A run asks for another configuration than the context was prepared with.
    #[error("the configuration: {0}")]
    Settings(SettingsConflict),
    /// The callable image breaks a rule.
    #[error("the callable image: {0}")]
    Image(callable::Refusal),
    /// The arguments of a launch break a rule.
    #[error("the launch's arguments: {0}")]
    Contents(LaunchRefusal),
    /// The packet cannot be written: a fault of the runtime, since its arguments were checked.
    #[error("the packet: {0}")]
    Packet(EmitError),
    /// The callable table does not allow it.
    #[error("slot {slot}: {error}")]
    Table {
        /// Which slot.
        slot: i32,
        /// Why.
        error: TableError,
    },
    /// A range that is not inside memory that this context allocated.
    #[error("{bytes} bytes at {address:#x} are not inside memory of this context")]
    NotAllocated {
        /// Where.
        address: u64,
        /// How long.
        bytes: u64,
    },
    /// The device is still executing a launch of this context, or has not yet seen that the slots are empty.
    #[error("the device is still busy with the context; nothing was freed")]
    DeviceBusy,
    /// A platform call failed.
    #[error("{doing}: {} failed with {}", .error.call, .error.code)]
    Vendor {
        /// What the context was about to do.
        doing: &'static str,
        /// The vendor's own number.
        error: VendorError,
    },
    /// A step of the launch sequence failed.
    #[error("launch step {step}: {} failed with {}", .error.call, .error.code)]
    LaunchStep {
        /// Which, from 1.
        step: u8,
        /// The first error: the one that is reported.
        error: VendorError,
        /// The first compensation that failed, beside it.
        compensation: Option<VendorError>,
        /// The caller's stream may not join every branch.
        is_join_unproven: bool,
    },
    /// The device refused a run, or its callable reported failure.
    #[error("the device answered {}", .0.name())]
    Device(DispatchAnswer),
}

impl ContextError {
    /// A failed platform call.
    pub(crate) const fn vendor(doing: &'static str, error: VendorError) -> Self {
        Self::Vendor { doing, error }
    }

    /// What C is answered: a code of the host runtime, or one that is latched on the device.
    #[must_use]
    pub const fn code(&self) -> i32 {
        let error = match self {
            Self::Mode(_)
            | Self::SecondInit
            | Self::Phase(_)
            | Self::Program(_)
            | Self::Entered
            | Self::CurrentDevice { .. }
            | Self::ContextGeneration(_)
            | Self::DeviceBusy => RuntimeError::InvalidState,
            Self::NoAreaLeft => RuntimeError::CallableCountExceeded,
            Self::Settings(_) => RuntimeError::PreparedIncompatible,
            Self::Plan(_) | Self::Image(_) | Self::Contents(_) | Self::NotAllocated { .. } => {
                RuntimeError::InvalidArgument
            }
            Self::Table { error, .. } => error.runtime_error(),
            Self::Arena(_) | Self::Packet(_) | Self::Vendor { .. } | Self::LaunchStep { .. } => RuntimeError::Internal,
            Self::Device(answer) => return answer.latched_code(),
        };
        error.code()
    }

    /// The vendor's own number, where a platform call failed; else 0.
    #[must_use]
    pub const fn vendor_code(&self) -> i32 {
        match self {
            Self::Vendor { error, .. } | Self::LaunchStep { error, .. } => error.code,
            _ => 0,
        }
    }
}

impl From<ModeConflict> for ContextError {
    fn from(conflict: ModeConflict) -> Self {
        Self::Mode(conflict)
    }
}

impl From<phase::Refused> for ContextError {
    fn from(refused: phase::Refused) -> Self {
        Self::Phase(refused)
    }
}

impl From<PlanError> for ContextError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl From<CommitRefused> for ContextError {
    fn from(refused: CommitRefused) -> Self {
        Self::Arena(refused)
    }
}

impl From<callable::Refusal> for ContextError {
    fn from(refusal: callable::Refusal) -> Self {
        Self::Image(refusal)
    }
}

impl From<SettingsConflict> for ContextError {
    fn from(conflict: SettingsConflict) -> Self {
        Self::Settings(conflict)
    }
}

impl From<EmitError> for ContextError {
    fn from(error: EmitError) -> Self {
        Self::Packet(error)
    }
}

impl From<LaunchRefusal> for ContextError {
    fn from(refusal: LaunchRefusal) -> Self {
        Self::Contents(refusal)
    }
}

const fn held_name(conflict: &ModeConflict) -> &'static str {
    conflict.held.name()
}

const fn asked_name(conflict: &ModeConflict) -> &'static str {
    conflict.asked.name()
}
