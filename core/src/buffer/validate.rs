//! The one validator, at every boundary.
//!
//! A claim is accepted without asking which rule might be broken: every rule leaves a bit in one accumulator, and the accumulator
//! is looked at once. Only when something is in it a cold function goes through the rules in the specification's order and names
//! the first that is broken. The ordered function is the definition; the accumulator may only be quicker, never different.

use core::num::NonZeroU64;

use static_assertions::{const_assert, const_assert_eq};
use zerocopy::{FromBytes, IntoBytes};

use super::checked::{Access, BackendKind, BufferHandleDescriptor, BufferRef};
use super::extent::{extent_bytes, last_element, size_log2};
use super::refusal::{Reason, Refusal};
use super::wire::{BODY_BYTES, MAGIC, MAX_AXES, RawBufferRef, RawDescriptor};
use crate::wire::{AddressSpace, DataType};

/// Checks a descriptor that nobody else can write.
///
/// # Errors
/// The first rule that it breaks, in the specification's order.
#[inline]
pub fn descriptor(raw: &RawDescriptor) -> Result<BufferHandleDescriptor, Refusal> {
    if is_descriptor_broken(raw) { Err(descriptor_refusal(*raw)) } else { Ok(take_descriptor(raw)) }
}

/// Checks a reference that nobody else can write, its descriptor first.
///
/// # Errors
/// The first rule that it breaks, in the specification's order.
// A copy of the claim that is inlined into is never made: each field is loaded from where the claim was.
#[inline(always)]
pub fn reference(raw: &RawBufferRef) -> Result<BufferRef, Refusal> {
    let last = last_element(&raw.shapes, &raw.strides);
    if is_descriptor_broken(&raw.descriptor) || is_view_broken(raw, last) {
        return Err(reference_refusal(*raw));
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
    match RawDescriptor::read_from_prefix(bytes) {
        Ok((raw, _)) => descriptor(&raw),
        Err(_) => Err(truncated(bytes, size_of::<RawDescriptor>())),
    }
}

/// Reads and checks the reference at the start of a slice of any alignment. What follows it is not read.
///
/// # Errors
/// [`Reason::Truncated`] for fewer than 144 bytes, else as [`reference()`].
#[inline]
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

/// One bit per backend whose body is an address.
const ADDRESS_KINDS: u32 = {
    use BackendKind::{DeviceMalloc, ForkCow, ForkShm, VmmWindow};
    1 << ForkShm as u8 | 1 << VmmWindow as u8 | 1 << DeviceMalloc as u8 | 1 << ForkCow as u8
};

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

#[inline(always)]
fn is_descriptor_broken(raw: &RawDescriptor) -> bool {
    is_head_broken(raw) || is_body_broken(raw)
}

#[inline(always)]
fn is_head_broken(raw: &RawDescriptor) -> bool {
    let head = raw.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let kinds = u32::from(raw.address_space) | u32::from(raw.access) << 1 | u32::from(raw.backend_kind) << 3;
    ((head ^ u64::from(MAGIC)) & HEAD_FIXED != 0)
        | (ALLOWED.wrapping_shr(kinds) & 1 == 0)
        | (raw.identity.generation == 0)
        | (raw.body_len > MAX_BODY_LEN)
}

/// For a body whose length is in range.
#[inline(always)]
fn is_body_broken(raw: &RawDescriptor) -> bool {
    let used: [u8; BODY_BYTES] = window(&USED_BYTES, usize::from(raw.body_len));
    let (mut is_name, mut is_tail_clear) = (raw.body_len != 0, true);
    for (byte, used) in raw.body.iter().zip(used) {
        is_name &= is_name_byte(*byte) | (used == 0);
        is_tail_clear &= (*byte & !used) == 0;
    }
    let base = raw.body.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    // One bit per backend whose rule the used bytes keep.
    let is_base = u32::from((raw.body_len == 8) & (base != 0)).wrapping_neg();
    let kept = (is_base & ADDRESS_KINDS)
        | u32::from(is_name) << BackendKind::PosixShm.code()
        | u32::from(raw.body_len == 0) << BackendKind::RemoteSidecar.code();
    !is_tail_clear | (kept.wrapping_shr(u32::from(raw.backend_kind)) & 1 == 0)
}

#[inline(always)]
fn is_view_broken(raw: &RawBufferRef, last: u128) -> bool {
    let used: [u32; MAX_AXES] = window(&USED_AXES, usize::try_from(raw.ndims).unwrap_or(usize::MAX));
    let misplaced = |values: &[u32; MAX_AXES]| {
        values.iter().zip(used).fold(0, |wrong, (value, used)| wrong | (u32::from(*value != 0).wrapping_neg() ^ used))
    };
    let size_log2 = size_log2(raw.dtype);
    let unaligned = raw.byte_offset & u64::from(1_u32.wrapping_shl(size_log2).wrapping_sub(1));
    // An extent of u64::MAX cannot be told from a saturated one, and no other backing is large enough for it.
    let nbytes = raw.descriptor.nbytes.min(u64::MAX - 1);
    let room = nbytes.wrapping_sub(raw.byte_offset).wrapping_shr(size_log2);
    ((misplaced(&raw.shapes) | misplaced(&raw.strides)) != 0)
        | (raw.ndims.wrapping_sub(1) >= MAX_NDIMS)
        | (raw.dtype > LAST_DTYPE)
        | (unaligned != 0)
        | (raw.byte_offset > nbytes)
        | (last >= u128::from(room))
}

/// `N` masks of which the first `len` are ones, cut out of as many ones and then as many zeroes. All zeroes for a `len` above `N`
/// would do as well as any: such a length is refused by itself.
#[inline(always)]
fn window<T: Copy + Default, const N: usize>(ones_then_zeroes: &[T], len: usize) -> [T; N] {
    let from = ones_then_zeroes.get(N.saturating_sub(len)..);
    from.and_then(<[T]>::first_chunk).copied().unwrap_or([T::default(); N])
}

const USED_BYTES: [u8; 2 * BODY_BYTES] = {
    let mut masks = [0; 2 * BODY_BYTES];
    masks.split_at_mut(BODY_BYTES).0.copy_from_slice(&[u8::MAX; BODY_BYTES]);
    masks
};
const USED_AXES: [u32; 2 * MAX_AXES] = {
    let mut masks = [0; 2 * MAX_AXES];
    masks.split_at_mut(MAX_AXES).0.copy_from_slice(&[u32::MAX; MAX_AXES]);
    masks
};

/// The bounds as the claims have them.
const MAX_BODY_LEN: u16 = 32;
const MAX_NDIMS: u32 = 5;
const LAST_DTYPE: u8 = DataType::Fp4E2M1.code();

const_assert_eq!(MAX_BODY_LEN as usize, BODY_BYTES);
const_assert_eq!(MAX_NDIMS as usize, MAX_AXES);
const_assert!(matches!(DataType::ALL, [.., last] if last.code() == LAST_DTYPE));

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

// The ordered answer.

/// The first rule that a refused descriptor breaks.
#[cold]
#[inline(never)]
fn descriptor_refusal(raw: RawDescriptor) -> Refusal {
    // The quick answer said no, so the ordered one finds a rule; were they to differ, the caller still gets a refusal.
    check_descriptor(&raw).err().unwrap_or(Refusal::new(Reason::BadMagic, u64::from(raw.magic)))
}

/// The first rule that a refused reference breaks.
#[cold]
#[inline(never)]
fn reference_refusal(raw: RawBufferRef) -> Refusal {
    let checked = check_descriptor(&raw.descriptor).and_then(|()| check_view(&raw));
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
