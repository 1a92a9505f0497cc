//! Why a packet is refused, with the evidence.
//!

use core::fmt;

use crate::status::DispatchAnswer;
use crate::wire::Mode;

/// The first rule that a packet breaks, in the order of the checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PacketError {
    /// The bytes end before the packet does. Only a slice can tell; the device has just a pointer.
    Truncated {
        /// Bytes there are.
        found: usize,
        /// Bytes there must be.
        expected: u64,
    },
    /// Fewer bytes than the prefix has.
    PacketBytes {
        /// The field.
        found: u64,
    },
    /// The payload is not what follows the prefix.
    PayloadBytes {
        /// The field.
        found: u64,
        /// `packet_bytes - 56`
        expected: u64,
    },
    /// Another mode than the entry's.
    Mode {
        /// The field.
        found: u32,
        /// The entry's.
        expected: Mode,
    },
    /// No such slot.
    CallableId {
        /// The field.
        found: i32,
    },
    /// Generation 0: not recorded.
    Generation,
    /// Outside `0..=256`.
    TensorCount {
        /// The field.
        found: i32,
    },
    /// Outside `0..=128`.
    ScalarCount {
        /// The field.
        found: i32,
    },
    /// Tensors and scalars together above 256.
    ArgumentCount {
        /// Their sum.
        found: u32,
    },
    /// Not 0.
    HostCopyTensorCount {
        /// The field.
        found: i32,
    },
    /// Not 0.
    Reserved {
        /// The field.
        found: u32,
    },
    /// The payload is not as long as the counts say.
    PayloadSize {
        /// The field.
        found: u64,
        /// `128 · tensors + 8 · scalars`
        expected: u64,
    },
}

impl PacketError {
    /// The field that is wrong, as the specification spells it.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Truncated { .. } | Self::PacketBytes { .. } => "packet_bytes",
            Self::PayloadBytes { .. } | Self::PayloadSize { .. } => "payload_bytes",
            Self::Mode { .. } => "mode",
            Self::CallableId { .. } => "callable_id",
            Self::Generation => "generation",
            Self::TensorCount { .. } | Self::ArgumentCount { .. } => "tensor_count",
            Self::ScalarCount { .. } => "scalar_count",
            Self::HostCopyTensorCount { .. } => "host_copy_tensor_count",
            Self::Reserved { .. } => "reserved",
        }
    }

    /// What the device entry answers: the same for every rule of the envelope.
    #[must_use]
    pub const fn answer(self) -> DispatchAnswer {
        DispatchAnswer::InvalidArgs
    }
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = self.field();
        match *self {
            Self::Truncated { found, expected } => {
                write!(f, "{field}: the packet needs {expected} bytes, there are {found}")
            }
            Self::PacketBytes { found } => write!(f, "{field} is {found}, expected at least 56"),
            Self::PayloadBytes { found, expected } => {
                write!(f, "{field} is {found}, expected {expected} (packet_bytes - 56)")
            }
            Self::Mode { found, expected } => write!(f, "{field} is {found}, expected {}", expected.code()),
            Self::CallableId { found } => write!(f, "{field} is {found}, expected 0..64"),
            Self::Generation => write!(f, "{field} is 0, expected a recorded one"),
            Self::TensorCount { found } => write!(f, "{field} is {found}, expected 0..=256"),
            Self::ScalarCount { found } => write!(f, "{field} is {found}, expected 0..=128"),
            Self::ArgumentCount { found } => {
                write!(f, "{field} and scalar_count are {found} together, expected at most 256")
            }
            Self::HostCopyTensorCount { found } => write!(f, "{field} is {found}, expected 0"),
            Self::Reserved { found } => write!(f, "{field} is {found}, expected 0"),
            Self::PayloadSize { found, expected } => {
                write!(f, "{field} is {found}, expected {expected} (128 × tensors + 8 × scalars)")
            }
        }
    }
}

impl core::error::Error for PacketError {}
