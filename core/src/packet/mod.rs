//! The envelope's rules: one function, for the host's slices and the device's copy.
//!
//! [`check`] applies steps 2 and 3 of the device entry to a copied [`DispatchPrefix`]; [`parse`] does the same for a slice of any
//! length and alignment and finds the payload in it. Neither allocates, locks or reads past what it is given.
//!
//! A packet is accepted by one comparison: every rule that is kept leaves zero in an accumulator, and the accumulator is looked at
//! once. Only when it is not zero a cold function goes through the rules in the specification's order and names the first that is
//! broken. The ordered functions are the definition; the accumulator may only be quicker, never different.
//!
//! What is accepted is still a claim about a context: [`dispatch`](crate::dispatch) holds it against the context's area.

mod emit;
mod error;

pub use emit::{Draft, EmitError};
pub use error::PacketError;

use zerocopy::FromBytes;

use crate::generation::{CallableId, Generation, SlotIndex};
use crate::wire::{DispatchPrefix, MAX_ARGUMENTS, MAX_SCALARS, MAX_TENSORS, Mode, PREFIX_BYTES, Tensor};

/// An envelope that keeps every rule of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invocation {
    callable: CallableId,
    residency_address: u64,
    tensor_count: u32,
    scalar_count: u32,
}

impl Invocation {
    /// The callable that shall run: this slot's tenant of this generation and no other.
    #[must_use]
    pub const fn callable(&self) -> CallableId {
        self.callable
    }

    /// Device address at which the sender believes the slot's record to be. Nobody has looked yet.
    #[must_use]
    pub const fn residency_address(&self) -> u64 {
        self.residency_address
    }

    /// Tensors in the payload, `0..=256`.
    #[must_use]
    pub const fn tensor_count(&self) -> u32 {
        self.tensor_count
    }

    /// Scalars in the payload, `0..=128`; with the tensors at most 256.
    #[must_use]
    pub const fn scalar_count(&self) -> u32 {
        self.scalar_count
    }

    /// Bytes of the payload's tensors; the scalars follow them.
    #[must_use]
    #[expect(clippy::arithmetic_side_effects, reason = "at most 256 × 128")]
    pub const fn tensor_bytes(&self) -> usize {
        self.tensor_count as usize * size_of::<Tensor>()
    }

    /// Bytes of the whole payload.
    #[must_use]
    #[expect(clippy::arithmetic_side_effects, reason = "at most 256 × 128 + 128 × 8")]
    pub const fn payload_bytes(&self) -> usize {
        self.tensor_bytes() + self.scalar_count as usize * size_of::<u64>()
    }
}

/// A packet in a slice, accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// What it asks for.
    pub invocation: Invocation,
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The tensors' bytes and then the scalars', nothing else. Of any alignment, as the packet is.
    #[must_use]
    pub const fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// The tensors, each copied out.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Tensor> + use<'a> {
        let bytes = self.payload.get(..self.invocation.tensor_bytes()).unwrap_or_default();
        bytes.as_chunks().0.iter().map(|bytes: &[u8; size_of::<Tensor>()]| zerocopy::transmute!(*bytes))
    }

    /// The scalars, each copied out.
    pub fn scalars(&self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        let bytes = self.payload.get(self.invocation.tensor_bytes()..).unwrap_or_default();
        bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

/// Reads the packet at the start of a slice, of any length and alignment. What follows the packet is not the packet's.
///
/// # Errors
/// The first rule that the packet breaks; [`PacketError::Truncated`] when the slice ends before the packet does.
#[inline]
pub fn parse(bytes: &[u8], mode: Mode) -> Result<Packet<'_>, PacketError> {
    if let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX_BYTES>()
        && let Some(invocation) = accept(&zerocopy::transmute!(*prefix), mode)
        && let Some(payload) = rest.get(..invocation.payload_bytes())
    {
        return Ok(Packet { invocation, payload });
    }
    // The slice again and not the prefix read from it, whose fields may so stay in registers.
    parse_in_order(bytes, mode)
}

/// Checks a copy of what a packet begins with: steps 2 and 3 of the device entry.
///
/// The device has only a pointer, so there `packet_bytes` is trusted to describe the copy that the prefix was read from: once
/// this function accepts, that copy has [`Invocation::payload_bytes`] more bytes.
///
/// # Errors
/// The first rule that the prefix breaks.
#[inline]
pub fn check(prefix: &DispatchPrefix, mode: Mode) -> Result<Invocation, PacketError> {
    accept(prefix, mode).map_or_else(|| check_in_order(prefix, mode), Ok)
}

/// The invocation when no rule is broken, in few instructions.
#[inline]
fn accept(prefix: &DispatchPrefix, mode: Mode) -> Option<Invocation> {
    let header = &prefix.header;
    // Negative numbers are large ones here, so each range needs one comparison.
    let id = header.callable_id.cast_unsigned();
    let (tensors, scalars) = (header.tensor_count.cast_unsigned(), header.scalar_count.cast_unsigned());
    // Two 32-bit counts cannot overflow 64 bits, nor can 128 of one and 8 of the other.
    let (wide_tensors, wide_scalars) = (u64::from(tensors), u64::from(scalars));
    let payload = wide_tensors.wrapping_mul(size_of::<Tensor>() as u64).wrapping_add(wide_scalars.wrapping_mul(8));
    // A payload size that is right cannot wrap, so a packet size that is right is at least the prefix's.
    let broken = u64::from(header.mode ^ mode.code())
        | u64::from(id & !SlotIndex::ID_BITS)
        | u64::from(wide_scalars > MAX_SCALARS as u64)
        | u64::from(wide_tensors.wrapping_add(wide_scalars) > MAX_ARGUMENTS as u64)
        | u64::from(header.host_copy_tensor_count.cast_unsigned() | header.reserved)
        | (header.payload_bytes ^ payload)
        | (prefix.packet_bytes ^ payload.wrapping_add(PREFIX_BYTES as u64));
    match Generation::from_bits(header.generation) {
        Some(generation) if broken == 0 => Some(Invocation {
            callable: CallableId { slot: SlotIndex::from_low_bits(id), generation },
            residency_address: prefix.residency_address,
            tensor_count: tensors,
            scalar_count: scalars,
        }),
        _ => None,
    }
}

// One bound on the sum is enough for the tensors.
static_assertions::const_assert!(MAX_ARGUMENTS <= MAX_TENSORS);

/// [`parse`], one rule after the other.
#[cold]
#[inline(never)]
fn parse_in_order(bytes: &[u8], mode: Mode) -> Result<Packet<'_>, PacketError> {
    let truncated = |expected| PacketError::Truncated { found: bytes.len(), expected };
    let Ok((prefix, rest)) = DispatchPrefix::read_from_prefix(bytes) else {
        return Err(truncated(PREFIX_BYTES as u64));
    };
    let invocation = check_in_order(&prefix, mode)?;
    let payload = rest.get(..invocation.payload_bytes()).ok_or_else(|| truncated(prefix.packet_bytes))?;
    Ok(Packet { invocation, payload })
}

/// The envelope's rules, one by one, in the order in which they answer.
#[cold]
#[inline(never)]
fn check_in_order(prefix: &DispatchPrefix, mode: Mode) -> Result<Invocation, PacketError> {
    let DispatchPrefix { packet_bytes, residency_address, header } = *prefix;
    let Some(payload_bytes) = packet_bytes.checked_sub(PREFIX_BYTES as u64) else {
        return Err(PacketError::PacketBytes { found: packet_bytes });
    };
    if header.payload_bytes != payload_bytes {
        return Err(PacketError::PayloadBytes { found: header.payload_bytes, expected: payload_bytes });
    }
    if header.mode != mode.code() {
        return Err(PacketError::Mode { found: header.mode, expected: mode });
    }
    let Some(slot) = SlotIndex::from_id(header.callable_id) else {
        return Err(PacketError::CallableId { found: header.callable_id });
    };
    let Some(generation) = Generation::from_bits(header.generation) else {
        return Err(PacketError::Generation);
    };
    let tensor_count = match u32::try_from(header.tensor_count) {
        Ok(count) if count as usize <= MAX_TENSORS => count,
        _ => return Err(PacketError::TensorCount { found: header.tensor_count }),
    };
    let scalar_count = match u32::try_from(header.scalar_count) {
        Ok(count) if count as usize <= MAX_SCALARS => count,
        _ => return Err(PacketError::ScalarCount { found: header.scalar_count }),
    };
    let arguments = tensor_count.saturating_add(scalar_count);
    if arguments as usize > MAX_ARGUMENTS {
        return Err(PacketError::ArgumentCount { found: arguments });
    }
    if header.host_copy_tensor_count != 0 {
        return Err(PacketError::HostCopyTensorCount { found: header.host_copy_tensor_count });
    }
    if header.reserved != 0 {
        return Err(PacketError::Reserved { found: header.reserved });
    }
    let invocation =
        Invocation { callable: CallableId { slot, generation }, residency_address, tensor_count, scalar_count };
    if header.payload_bytes != invocation.payload_bytes() as u64 {
        return Err(PacketError::PayloadSize {
            found: header.payload_bytes,
            expected: invocation.payload_bytes() as u64,
        });
    }
    Ok(invocation)
}
