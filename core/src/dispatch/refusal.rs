//! Why a launch is refused on the device, with the evidence.
//!

use core::fmt;

use crate::generation::Generation;
use crate::record::RecordFault;
use crate::status::DispatchAnswer;

/// Why a packet belongs to no context (step 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unlocated {
    /// No registered area contains the residency address.
    NoArea {
        /// The residency address.
        found: u64,
    },
    /// The residency address is in an area, but is not the record of the packet's slot.
    NotTheRecord {
        /// The residency address.
        found: u64,
        /// Start of the area.
        base: u64,
    },
    /// Record 0 has another context generation than was registered.
    ContextGeneration {
        /// What record 0 says.
        found: u64,
        /// What was registered.
        expected: u64,
    },
}

/// Why a launch of a known context does not run (steps 5 to 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The context was cancelled.
    Poisoned,
    /// The slot's record names nothing that can run.
    NotResident(RecordFault),
    /// The slot has another tenant.
    Stale {
        /// The packet's.
        found: Generation,
        /// The slot's.
        current: Generation,
    },
    /// Code that this build cannot run.
    UnsupportedPayload,
    /// The callable's header breaks a rule.
    InvalidHeader,
    /// The packet's counts are not the callable's.
    InvalidBinding {
        /// The packet's tensors and scalars.
        found: (u32, u32),
        /// The callable's.
        expected: (u32, u32),
    },
    /// Another launch of the context executes.
    Busy,
    /// The callable could not be started.
    ExecutionFailed,
}

impl Unlocated {
    /// What the device entry answers.
    #[must_use]
    pub const fn answer(self) -> DispatchAnswer {
        DispatchAnswer::InvalidArgs
    }
}

impl Refusal {
    /// What the device entry answers.
    #[must_use]
    pub const fn answer(self) -> DispatchAnswer {
        match self {
            Self::Poisoned => DispatchAnswer::Poisoned,
            Self::NotResident(_) => DispatchAnswer::NotResident,
            Self::Stale { .. } => DispatchAnswer::Stale,
            Self::UnsupportedPayload => DispatchAnswer::UnsupportedPayload,
            Self::InvalidHeader | Self::InvalidBinding { .. } => DispatchAnswer::InvalidBinding,
            Self::Busy => DispatchAnswer::Busy,
            Self::ExecutionFailed => DispatchAnswer::ExecutionFailed,
        }
    }
}

impl fmt::Display for Unlocated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoArea { found } => write!(f, "residency_address {found:#x} is in no registered context area"),
            Self::NotTheRecord { found, base } => {
                write!(f, "residency_address {found:#x} is not the slot's record in the area at {base:#x}")
            }
            Self::ContextGeneration { found, expected } => {
                write!(f, "the area's context generation is {found}, {expected} was registered")
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Poisoned => write!(f, "the context was cancelled"),
            Self::NotResident(fault) => write!(f, "not resident: {fault}"),
            Self::Stale { found, current } => {
                write!(f, "the packet's generation is {}, the slot's is {}", found.to_bits(), current.to_bits())
            }
            Self::UnsupportedPayload => write!(f, "the callable's code cannot run here"),
            Self::InvalidHeader => write!(f, "the callable's header is not valid"),
            Self::InvalidBinding { found, expected } => write!(
                f,
                "the packet has {} tensors and {} scalars, the callable takes {} and {}",
                found.0, found.1, expected.0, expected.1
            ),
            Self::Busy => write!(f, "another launch of the context is executing"),
            Self::ExecutionFailed => write!(f, "the callable could not be started"),
        }
    }
}

impl core::error::Error for Unlocated {}
impl core::error::Error for Refusal {}
