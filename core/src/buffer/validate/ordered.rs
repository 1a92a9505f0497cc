//! The rules one by one, in the order in which they answer.
//!

use core::num::NonZeroU64;

use crate::buffer::checked::{Access, BackendKind};
use crate::buffer::extent::extent_bytes;
use crate::buffer::refusal::{Reason, Refusal};
use crate::buffer::wire::{BODY_BYTES, MAGIC, MAX_AXES, RawBufferRef, RawDescriptor};
use crate::wire::{AddressSpace, DataType};

/// The first rule that a refused descriptor breaks.
#[cold]
#[inline(never)]
pub(super) fn descriptor_refusal(raw: &RawDescriptor) -> Refusal {
    // The quick answer said no, so the ordered one finds a rule; were they to differ, the caller still gets a refusal.
    check_descriptor(raw).err().unwrap_or(Refusal::new(Reason::BadMagic, u64::from(raw.magic)))
}

/// The first rule that a refused reference breaks.
#[cold]
#[inline(never)]
pub(super) fn reference_refusal(raw: &RawBufferRef) -> Refusal {
    let checked = check_descriptor(&raw.descriptor).and_then(|()| check_view(raw));
    checked.err().unwrap_or(Refusal::new(Reason::ViewOutOfBounds, raw.byte_offset))
}

/// A descriptor's rules, one by one, in the order in which they answer.
fn check_descriptor(raw: &RawDescriptor) -> Result<(), Refusal> {
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
        BackendKind::PosixShm => check_name(body)?,
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
fn check_view(raw: &RawBufferRef) -> Result<(), Refusal> {
    let used = usize::try_from(raw.ndims).unwrap_or(usize::MAX);
    if !(1..=MAX_AXES).contains(&used) {
        return Err(Refusal::new(Reason::NdimsOutOfRange, u64::from(raw.ndims)).limit(MAX_AXES as u64));
    }
    let Ok(dtype) = DataType::try_from(raw.dtype) else {
        return Err(Refusal::new(Reason::UnknownDtype, u64::from(raw.dtype)).limit(u64::from(DataType::Fp4E2M1.code())));
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

/// Checks the bytes of an object's name.
pub(in crate::buffer) fn check_name(name: &[u8]) -> Result<(), Refusal> {
    if name.is_empty() {
        return Err(Refusal::new(Reason::ShmNameMissing, 0));
    }
    match (0_u32..).zip(name).find(|(_, byte)| !is_name_byte(**byte)) {
        Some((index, byte)) => Err(Refusal::new(Reason::ShmNameInvalid, u64::from(*byte)).at(index)),
        None => Ok(()),
    }
}

#[inline]
pub(super) const fn is_name_byte(byte: u8) -> bool {
    // 0x21 to 0x7e, by one comparison.
    (byte.wrapping_sub(0x21) < 0x5e) & (byte != b'/')
}
