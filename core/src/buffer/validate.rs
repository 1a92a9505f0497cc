//! The one validator, at every boundary.
//!
//! A claim is accepted without asking which rule might be broken: a few questions, each over many rules, are all that a good
//! claim is asked. Only when one says no a cold function goes through the rules in the
//! specification's order and names the first that is broken. The ordered function is the definition; the quick one may only be
//! quicker, never different.

mod ordered;
mod quick;

pub(super) use ordered::check_name;

use zerocopy::FromBytes;

use super::checked::{BufferHandleDescriptor, BufferRef};
use super::extent::{last_element, size_log2};
use super::refusal::{Reason, Refusal};
use super::wire::{RawBufferRef, RawDescriptor};
use crate::wire::DataType;

/// Checks a descriptor that nobody else can write.
///
/// # Errors
/// The first rule that it breaks, in the specification's order.
#[inline]
pub fn descriptor(raw: &RawDescriptor) -> Result<BufferHandleDescriptor, Refusal> {
    if quick::is_descriptor_broken(raw) { Err(ordered::descriptor_refusal(raw)) } else { Ok(take_descriptor(raw)) }
}

/// Checks a reference that nobody else can write, its descriptor first.
///
/// # Errors
/// The first rule that it breaks, in the specification's order.
// A copy of the claim that is inlined into is never made: each field is loaded from where the claim was.
#[inline(always)]
pub fn reference(raw: &RawBufferRef) -> Result<BufferRef, Refusal> {
    if quick::is_descriptor_broken(&raw.descriptor) {
        return Err(ordered::reference_refusal(raw));
    }
    let last = last_element(&raw.shapes, &raw.strides);
    if quick::is_view_broken(raw, last) {
        return Err(ordered::reference_refusal(raw));
    }
    // In bounds, so it fits 64 bits.
    let extent_bytes = u64::try_from(last).unwrap_or(u64::MAX).wrapping_add(1).wrapping_shl(size_log2(raw.dtype));
    Ok(take_reference(raw, extent_bytes))
}

/// Reads and checks the descriptor at the start of a slice of any alignment. What follows it is not read.
///
/// # Errors
/// [`Reason::Truncated`] for fewer than 88 bytes, else as [`descriptor`].
#[inline]
pub fn descriptor_from_bytes(bytes: &[u8]) -> Result<BufferHandleDescriptor, Refusal> {
    let copy;
    let raw = match RawDescriptor::ref_from_prefix(bytes) {
        Ok((raw, _)) => raw,
        Err(_) => match RawDescriptor::read_from_prefix(bytes) {
            Ok((raw, _)) => {
                copy = raw;
                &copy
            }
            Err(_) => return Err(truncated(bytes, size_of::<RawDescriptor>())),
        },
    };
    descriptor(raw)
}

/// Reads and checks the reference at the start of a slice of any alignment. What follows it is not read.
///
/// # Errors
/// [`Reason::Truncated`] for fewer than 144 bytes, else as [`reference()`].
#[inline]
pub fn reference_from_bytes(bytes: &[u8]) -> Result<BufferRef, Refusal> {
    let copy;
    let raw = match RawBufferRef::ref_from_prefix(bytes) {
        Ok((raw, _)) => raw,
        Err(_) => match RawBufferRef::read_from_prefix(bytes) {
            Ok((raw, _)) => {
                copy = raw;
                &copy
            }
            Err(_) => return Err(truncated(bytes, size_of::<RawBufferRef>())),
        },
    };
    reference(raw)
}

#[cold]
fn truncated(bytes: &[u8], expected: usize) -> Refusal {
    Refusal::new(Reason::Truncated, bytes.len() as u64).limit(expected as u64)
}

/// The checked value of an accepted claim: the claim without what its pads carry.
#[inline(always)]
fn take_descriptor(raw: &RawDescriptor) -> BufferHandleDescriptor {
    let mut words: [u64; 11] = zerocopy::transmute!(*raw);
    words.iter_mut().zip(NOT_PADS).for_each(|(word, mask)| *word &= mask);
    BufferHandleDescriptor { raw: zerocopy::transmute!(words) }
}

/// A descriptor's words without its pads: three bytes after the backend, twelve in the identity, two before the body.
const NOT_PADS: [u64; 11] = {
    let mut masks = [u64::MAX; 11];
    masks[0] >>= 24;
    masks[3] >>= 32;
    masks[4] = 0;
    masks[6] >>= 16;
    masks
};

#[inline(always)]
fn take_reference(raw: &RawBufferRef, extent_bytes: u64) -> BufferRef {
    let RawBufferRef { ref descriptor, byte_offset, ndims, shapes, strides, dtype, .. } = *raw;
    BufferRef {
        descriptor: take_descriptor(descriptor),
        byte_offset,
        ndims,
        shapes,
        strides,
        // In range, so the last arm stands for one number.
        dtype: DataType::try_from(dtype).unwrap_or(DataType::Fp4E2M1),
        extent_bytes,
    }
}
