//! Writing a packet that carries only what is used.
//!

use core::fmt;

use zerocopy::IntoBytes;

use crate::generation::CallableId;
use crate::wire::{
    DispatchPrefix, InvocationHeader, MAX_ARGUMENTS, MAX_SCALARS, MAX_TENSORS, Mode, PREFIX_BYTES, Tensor,
};

/// What a packet shall say, before it is bytes.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// Mode of the issuing context.
    pub mode: Mode,
    /// The callable that shall run.
    pub callable: CallableId,
    /// Device address of the record of the callable's slot.
    pub residency_address: u64,
    /// At most 256.
    pub tensors: &'a [Tensor],
    /// At most 128, and with the tensors at most 256.
    pub scalars: &'a [u64],
}

/// Why no packet was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmitError {
    /// More tensors, scalars or arguments than a packet can carry.
    TooManyArguments {
        /// Tensors of the draft.
        tensors: usize,
        /// Scalars of the draft.
        scalars: usize,
    },
    /// The buffer is too short.
    BufferTooSmall {
        /// Bytes of the buffer.
        found: usize,
        /// Bytes of the packet.
        expected: usize,
    },
}

impl Draft<'_> {
    /// Bytes of the packet.
    ///
    /// # Errors
    /// [`EmitError::TooManyArguments`].
    pub const fn packet_bytes(&self) -> Result<usize, EmitError> {
        let (tensors, scalars) = (self.tensors.len(), self.scalars.len());
        if tensors > MAX_TENSORS || scalars > MAX_SCALARS || tensors.saturating_add(scalars) > MAX_ARGUMENTS {
            return Err(EmitError::TooManyArguments { tensors, scalars });
        }
        #[expect(clippy::arithmetic_side_effects, reason = "at most 56 + 256 × 128 + 128 × 8")]
        Ok(PREFIX_BYTES + size_of_val(self.tensors) + size_of_val(self.scalars))
    }

    /// Writes the packet to the start of `out` and gives its bytes back. What lies behind it in `out` is left alone.
    ///
    /// # Errors
    /// Either [`EmitError`]; `out` is as it was.
    pub fn emit<'out>(&self, out: &'out mut [u8]) -> Result<&'out [u8], EmitError> {
        let expected = self.packet_bytes()?;
        let found = out.len();
        let too_small = EmitError::BufferTooSmall { found, expected };
        let packet = out.get_mut(..expected).ok_or(too_small)?;
        let (prefix, payload) = packet.split_at_mut_checked(PREFIX_BYTES).ok_or(too_small)?;
        let (tensors, scalars) = payload.split_at_mut_checked(size_of_val(self.tensors)).ok_or(too_small)?;

        prefix.copy_from_slice(self.prefix(payload_bytes(expected)).as_bytes());
        // Pieces of a fixed size are copied without a call. The caller's pad is slack and may hold anything; on the wire it is zero.
        for (to, from) in tensors.as_chunks_mut::<{ size_of::<Tensor>() }>().0.iter_mut().zip(self.tensors) {
            *to = zerocopy::transmute!(Tensor { pad: [0; 9], ..*from });
        }
        for (to, from) in scalars.as_chunks_mut::<8>().0.iter_mut().zip(self.scalars) {
            *to = from.to_le_bytes();
        }
        Ok(packet)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "packet_bytes has bounded both counts by 256"
    )]
    fn prefix(&self, payload_bytes: u64) -> DispatchPrefix {
        DispatchPrefix {
            packet_bytes: payload_bytes.saturating_add(PREFIX_BYTES as u64),
            residency_address: self.residency_address,
            header: InvocationHeader {
                mode: self.mode.code(),
                callable_id: self.callable.slot.to_id(),
                generation: self.callable.generation.to_bits(),
                payload_bytes,
                tensor_count: self.tensors.len() as i32,
                scalar_count: self.scalars.len() as i32,
                host_copy_tensor_count: 0,
                reserved: 0,
            },
        }
    }
}

const fn payload_bytes(packet_bytes: usize) -> u64 {
    packet_bytes.saturating_sub(PREFIX_BYTES) as u64
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyArguments { tensors, scalars } => {
                write!(f, "{tensors} tensors and {scalars} scalars, expected at most 256 and 128, and 256 together")
            }
            Self::BufferTooSmall { found, expected } => {
                write!(f, "the packet needs {expected} bytes, the buffer has {found}")
            }
        }
    }
}

impl core::error::Error for EmitError {}
