//! The one validator, at every boundary.
//!
//! A claim is accepted without asking which rule might be broken: every rule leaves a bit in one accumulator, and the accumulator
//! is looked at once. Only when something is in it a cold function goes through the rules in the specification's order and names
//! the first that is broken. The ordered function is the definition; the accumulator may only be quicker, never different.

use core::num::NonZeroU64;

use static_assertions::{const_assert, const_assert_eq};
use zerocopy::{FromBytes, IntoBytes};

use super::checked::{Access, BackendKind, BufferGeneration, BufferHandleDescriptor, BufferRef, CanonicalIdentity};
use super::extent::{extent_bytes, size_log2, wide_extent_bytes};
use super::refusal::{Reason, Refusal};
use super::wire::{BODY_BYTES, MAGIC, MAX_AXES, RawBufferRef, RawDescriptor};
use crate::wire::{AddressSpace, DataType};

/// Checks a copy of a descriptor.
///
/// # Errors
/// The first rule that it breaks, in the specification's order.
#[inline]
pub fn descriptor(raw: &RawDescriptor) -> Result<BufferHandleDescriptor, Refusal> {
    match BufferGeneration::from_bits(raw.identity.generation) {
        Some(generation) if !is_descriptor_broken(raw) => Ok(take_descriptor(raw, generation)),
        _ => Err(descriptor_refusal(raw)),
    }
}

/// Checks a copy of a reference, its descriptor first.
///
/// # Errors
/// The first rule that it breaks, in the specification's order.
#[inline]
pub fn reference(raw: &RawBufferRef) -> Result<BufferRef, Refusal> {
    let extent = wide_extent_bytes(&raw.shapes, &raw.strides, size_log2(raw.dtype));
    let broken = is_descriptor_broken(&raw.descriptor) | is_view_broken(raw, extent);
    match BufferGeneration::from_bits(raw.descriptor.identity.generation) {
        Some(generation) if !broken => Ok(take_reference(raw, generation, extent)),
        _ => Err(reference_refusal(raw)),
    }
}

/// Reads and checks the descriptor at the start of a slice of any alignment. What follows it is not read.
///
/// # Errors
/// [`Reason::Truncated`] for fewer than 88 bytes, else as [`descriptor`].
pub fn descriptor_from_bytes(bytes: &[u8]) -> Result<BufferHandleDescriptor, Refusal> {
    match RawDescriptor::read_from_prefix(bytes) {
        Ok((raw, _)) => descriptor(&raw),
        Err(_) => Err(truncated(bytes, size_of::<RawDescriptor>())),
    }
}

/// Reads and checks the reference at the start of a slice of any alignment. What follows it is not read.
///
/// # Errors
/// [`Reason::Truncated`] for fewer than 144 bytes, else as [`reference`].
pub fn reference_from_bytes(bytes: &[u8]) -> Result<BufferRef, Refusal> {
    match RawBufferRef::read_from_prefix(bytes) {
        Ok((raw, _)) => reference(&raw),
        Err(_) => Err(truncated(bytes, size_of::<RawBufferRef>())),
    }
}

/// Checks the bytes of an object's name.
pub(super) fn name(name: &[u8]) -> Result<(), Refusal> {
    if name.is_empty() {
        return Err(Refusal::new(Reason::ShmNameMissing, 0));
    }
    match (0_u32..).zip(name).find(|(_, byte)| !is_name_byte(**byte)) {
        Some((index, byte)) => Err(Refusal::new(Reason::ShmNameInvalid, u64::from(*byte)).at(index)),
        None => Ok(()),
    }
}

#[cold]
fn truncated(bytes: &[u8], expected: usize) -> Refusal {
    Refusal::new(Reason::Truncated, bytes.len() as u64).limit(expected as u64)
}

#[inline]
const fn is_name_byte(byte: u8) -> bool {
    // 0x21 to 0x7e, by one comparison.
    (byte.wrapping_sub(0x21) < 0x5e) & (byte != b'/')
}

// The quick answer.

/// Bits of a descriptor's first word that must be those of the magic, or 0: the enumerations keep their low bits.
const HEAD_FIXED: u64 = 0x0000_00f8_fcfe_ffff;

/// One bit per backend, access and space: whether the three go together.
const ALLOWED: u64 = {
    let (host, device, any_access) = (0b01, 0b10, 0b01_01_01);
    let read = 0b01;
    (host * any_access) << (8 * BackendKind::ForkShm as u8)
        | (host * any_access) << (8 * BackendKind::PosixShm as u8)
        | (device * any_access) << (8 * BackendKind::VmmWindow as u8)
        | ((host | device) * any_access) << (8 * BackendKind::RemoteSidecar as u8)
        | (device * any_access) << (8 * BackendKind::DeviceMalloc as u8)
        | (host * read) << (8 * BackendKind::ForkCow as u8)
};

/// Everything but the generation.
#[inline]
fn is_descriptor_broken(raw: &RawDescriptor) -> bool {
    let head = raw.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let kinds = u32::from(raw.address_space) | u32::from(raw.access) << 1 | u32::from(raw.backend_kind) << 3;
    ((head ^ u64::from(MAGIC)) & HEAD_FIXED != 0) | (ALLOWED.wrapping_shr(kinds) & 1 == 0) | is_body_broken(raw)
}

#[inline]
fn is_body_broken(raw: &RawDescriptor) -> bool {
    // A length that does not fit is refused below; until then it may be any other one.
    let len = raw.body_len.to_le_bytes()[0];
    let (mut unprintable, mut tail) = (0_u8, 0_u8);
    for (index, byte) in (0_u8..).zip(raw.body) {
        let is_used = index < len;
        unprintable |= u8::from(is_used & !is_name_byte(byte));
        tail |= if is_used { 0 } else { byte };
    }
    let base = raw.body.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let is_name = (len != 0) & (unprintable == 0);
    let is_base = (len == 8) & (base != 0);
    let is_named = raw.backend_kind == BackendKind::PosixShm.code();
    let is_sidecar = raw.backend_kind == BackendKind::RemoteSidecar.code();
    let is_right = (is_named & is_name) | (is_sidecar & (len == 0)) | (!is_named & !is_sidecar & is_base);
    !is_right | (raw.body_len > MAX_BODY_LEN) | (tail != 0)
}

#[inline]
fn is_view_broken(raw: &RawBufferRef, extent: u128) -> bool {
    let mut misplaced = false;
    for (axis, (shape, stride)) in (0_u32..).zip(raw.shapes.iter().zip(&raw.strides)) {
        let is_used = axis < raw.ndims;
        misplaced |= ((*shape != 0) ^ is_used) | ((*stride != 0) ^ is_used);
    }
    let unaligned = raw.byte_offset & u64::from(1_u32.wrapping_shl(size_log2(raw.dtype)).wrapping_sub(1));
    let end = u128::from(raw.byte_offset).wrapping_add(extent);
    misplaced
        | (raw.ndims.wrapping_sub(1) >= MAX_NDIMS)
        | (raw.dtype > LAST_DTYPE)
        | (unaligned != 0)
        | (end > u128::from(raw.descriptor.nbytes))
        // The one extent that 64 bits hold and that saturation cannot be told from.
        | (extent == u128::from(u64::MAX))
}

/// The bounds as the claims have them.
const MAX_BODY_LEN: u16 = 32;
const MAX_NDIMS: u32 = 5;
const LAST_DTYPE: u8 = DataType::Fp4E2M1.code();

const_assert_eq!(MAX_BODY_LEN as usize, BODY_BYTES);
const_assert_eq!(MAX_NDIMS as usize, MAX_AXES);
const_assert!(matches!(DataType::ALL, [.., last] if last.code() == LAST_DTYPE));

// From an accepted claim to the checked value. Numbers are in range here, so the last arm of each match stands for one number.

#[inline]
fn take_descriptor(raw: &RawDescriptor, generation: BufferGeneration) -> BufferHandleDescriptor {
    let RawDescriptor { nbytes, body, owner_path_id, .. } = *raw;
    BufferHandleDescriptor {
        identity: CanonicalIdentity {
            owner_instance_id: raw.identity.owner_instance_id,
            buffer_id: raw.identity.buffer_id,
            generation,
        },
        nbytes,
        body,
        owner_path_id,
        body_len: raw.body_len.to_le_bytes()[0],
        address_space: AddressSpace::try_from(raw.address_space).unwrap_or(AddressSpace::Device),
        access: Access::try_from(raw.access).unwrap_or(Access::ReadWrite),
        backend_kind: BackendKind::try_from(raw.backend_kind).unwrap_or(BackendKind::ForkCow),
    }
}

#[inline]
fn take_reference(raw: &RawBufferRef, generation: BufferGeneration, extent: u128) -> BufferRef {
    BufferRef {
        descriptor: take_descriptor(&raw.descriptor, generation),
        byte_offset: raw.byte_offset,
        extent_bytes: u64::try_from(extent).unwrap_or(u64::MAX),
        shapes: raw.shapes,
        strides: raw.strides,
        ndims: raw.ndims.to_le_bytes()[0],
        dtype: DataType::try_from(raw.dtype).unwrap_or(DataType::Fp4E2M1),
    }
}

// The ordered answer.

/// The first rule that a refused descriptor breaks.
#[cold]
#[inline(never)]
fn descriptor_refusal(raw: &RawDescriptor) -> Refusal {
    // The quick answer said no, so the ordered one finds a rule; were they to differ, the caller still gets a refusal.
    check_descriptor(raw).err().unwrap_or(Refusal::new(Reason::BadMagic, u64::from(raw.magic)))
}

/// The first rule that a refused reference breaks.
#[cold]
#[inline(never)]
fn reference_refusal(raw: &RawBufferRef) -> Refusal {
    let checked = check_descriptor(&raw.descriptor).and_then(|()| check_view(raw));
    checked.err().unwrap_or(Refusal::new(Reason::ViewOutOfBounds, raw.byte_offset))
}

/// A descriptor's rules, one by one, in the order in which they answer.
pub(super) fn check_descriptor(raw: &RawDescriptor) -> Result<(), Refusal> {
    if raw.magic != MAGIC {
        return Err(Refusal::new(Reason::BadMagic, u64::from(raw.magic)).limit(u64::from(MAGIC)));
    }
    let Ok(space) = AddressSpace::try_from(raw.address_space) else {
        return Err(Refusal::new(Reason::AddressSpaceOutOfRange, u64::from(raw.address_space)).limit(1));
    };
    let Ok(access) = Access::try_from(raw.access) else {
        return Err(Refusal::new(Reason::AccessOutOfRange, u64::from(raw.access)).limit(2));
    };
    let Ok(kind) = BackendKind::try_from(raw.backend_kind) else {
        return Err(Refusal::new(Reason::BackendKindOutOfRange, u64::from(raw.backend_kind)).limit(5));
    };
    let Some((body, tail)) = raw.body.split_at_checked(usize::from(raw.body_len)) else {
        return Err(Refusal::new(Reason::BodyLenOutOfRange, u64::from(raw.body_len)).limit(BODY_BYTES as u64));
    };
    if raw.identity.generation == 0 {
        return Err(Refusal::new(Reason::GenerationZero, 0));
    }
    if !is_in_space(kind, space) {
        return Err(Refusal::new(Reason::BackendAddressSpaceMismatch, u64::from(raw.address_space)));
    }
    if kind == BackendKind::ForkCow && access != Access::Read {
        return Err(Refusal::new(Reason::ForkCowNotReadOnly, u64::from(raw.access)));
    }
    match kind {
        BackendKind::PosixShm => name(body)?,
        BackendKind::RemoteSidecar if !body.is_empty() => {
            return Err(Refusal::new(Reason::SidecarBodyNotEmpty, body.len() as u64).limit(0));
        }
        BackendKind::RemoteSidecar => {}
        BackendKind::ForkShm | BackendKind::VmmWindow | BackendKind::DeviceMalloc | BackendKind::ForkCow => {
            let Ok(base) = <[u8; 8]>::try_from(body) else {
                return Err(Refusal::new(Reason::AddressBodyLength, body.len() as u64).limit(8));
            };
            if NonZeroU64::new(u64::from_le_bytes(base)).is_none() {
                return Err(Refusal::new(Reason::AddressBodyNull, 0));
            }
        }
    }
    match (u32::from(raw.body_len)..).zip(tail).find(|(_, byte)| **byte != 0) {
        Some((index, byte)) => Err(Refusal::new(Reason::BodyTailNotZero, u64::from(*byte)).at(index)),
        None => Ok(()),
    }
}

const fn is_in_space(kind: BackendKind, space: AddressSpace) -> bool {
    match kind {
        BackendKind::ForkShm | BackendKind::PosixShm | BackendKind::ForkCow => matches!(space, AddressSpace::Host),
        BackendKind::VmmWindow | BackendKind::DeviceMalloc => matches!(space, AddressSpace::Device),
        BackendKind::RemoteSidecar => true,
    }
}

/// The rules of a view of a checked descriptor, one by one, in the order in which they answer.
pub(super) fn check_view(raw: &RawBufferRef) -> Result<(), Refusal> {
    let used = usize::try_from(raw.ndims).unwrap_or(usize::MAX);
    if !(1..=MAX_AXES).contains(&used) {
        return Err(Refusal::new(Reason::NdimsOutOfRange, u64::from(raw.ndims)).limit(MAX_AXES as u64));
    }
    let Ok(dtype) = DataType::try_from(raw.dtype) else {
        return Err(Refusal::new(Reason::UnknownDtype, u64::from(raw.dtype)).limit(u64::from(LAST_DTYPE)));
    };
    if !raw.byte_offset.is_multiple_of(dtype.size_bytes()) {
        return Err(Refusal::new(Reason::ByteOffsetMisaligned, raw.byte_offset).limit(dtype.size_bytes()));
    }
    let axes = || raw.shapes.iter().zip(&raw.strides).enumerate();
    for (axis, (shape, stride)) in axes().take(used) {
        if *shape == 0 {
            return Err(Refusal::new(Reason::ShapeZero, 0).on_axis(axis));
        }
        if *stride == 0 {
            return Err(Refusal::new(Reason::StrideZero, 0).on_axis(axis));
        }
    }
    for (axis, (shape, stride)) in axes().skip(used) {
        if let Some(stray) = [*shape, *stride].into_iter().find(|value| *value != 0) {
            return Err(Refusal::new(Reason::InactiveSlotNotZero, u64::from(stray)).on_axis(axis));
        }
    }
    let extent = extent_bytes(&raw.shapes, &raw.strides, dtype);
    if extent == u64::MAX {
        return Err(Refusal::new(Reason::ExtentOverflow, extent));
    }
    let nbytes = raw.descriptor.nbytes;
    match nbytes.checked_sub(raw.byte_offset) {
        None => Err(Refusal::new(Reason::ViewOutOfBounds, raw.byte_offset).limit(nbytes)),
        Some(room) if extent > room => Err(Refusal::new(Reason::ViewOutOfBounds, extent).limit(room)),
        Some(_) => Ok(()),
    }
}
