//! From a reference and a base to a tensor that a launch takes.
//!
//! A reference says which bytes, never where they are; a tensor says where. The wire carries no device: which one a backing is
//! on, and at which address, is what the launching process has written in its own registry.

use core::num::NonZeroU64;

use super::checked::{Backing, BufferRef};
use super::refusal::{Reason, Refusal};
use crate::wire::{AddressSpace, Tensor};

/// Where the launching process has a device backing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceBinding {
    /// The device.
    pub device_id: i32,
    /// Where the backing begins in that device's memory.
    pub base: NonZeroU64,
}

/// Checks that all of a backing has addresses when it begins at `base`.
///
/// # Errors
/// [`Reason::AddressWraps`] when `base + nbytes` does not fit 64 bits.
pub fn check_base(base: NonZeroU64, nbytes: u64) -> Result<(), Refusal> {
    match base.get().checked_add(nbytes) {
        Some(_) => Ok(()),
        None => Err(Refusal::new(Reason::AddressWraps, base.get()).limit(nbytes)),
    }
}

/// The tensor that an operator on `device_id` gets for a reference, where the registry has found `binding` for its identity.
///
/// # Errors
/// [`Reason::SidecarNotMaterialised`]; [`Reason::HostReferenceInLaunch`]; [`Reason::IdentityNotBound`] when there is no binding;
/// [`Reason::DeviceMismatch`]; [`Reason::AddressWraps`].
pub fn device_tensor(
    reference: &BufferRef,
    binding: Option<&DeviceBinding>,
    device_id: i32,
) -> Result<Tensor, Refusal> {
    let descriptor = reference.descriptor();
    match descriptor.backing() {
        Backing::RemoteSidecar(space) => {
            return Err(Refusal::new(Reason::SidecarNotMaterialised, u64::from(space.code())));
        }
        Backing::ForkShm(_) | Backing::PosixShm(_) | Backing::ForkCow(_) => {
            let kind = u64::from(descriptor.backend_kind().code());
            return Err(Refusal::new(Reason::HostReferenceInLaunch, kind));
        }
        Backing::VmmWindow(_) | Backing::DeviceMalloc(_) => {}
    }
    let Some(binding) = binding else {
        return Err(Refusal::new(Reason::IdentityNotBound, descriptor.identity().buffer_id));
    };
    if binding.device_id != device_id {
        let [found, expected] = [binding.device_id, device_id].map(|id| u64::from(id.cast_unsigned()));
        return Err(Refusal::new(Reason::DeviceMismatch, found).limit(expected));
    }
    materialise(reference, binding.base)
}

/// The tensor for a view of a backing that begins at `base`.
fn materialise(reference: &BufferRef, base: NonZeroU64) -> Result<Tensor, Refusal> {
    check_base(base, reference.descriptor.nbytes())?;
    let size_log2 = super::extent::size_log2(reference.dtype.code());
    Ok(Tensor {
        addr: base.get(),
        size: reference.descriptor.nbytes(),
        // The validator has seen that the offset is a multiple of the element size, as an extent always is.
        start_offset: reference.byte_offset.wrapping_shr(size_log2),
        extent_elem: reference.extent_bytes.wrapping_shr(size_log2),
        ndims: reference.ndims,
        dtype: reference.dtype.code(),
        is_contiguous: u8::from(reference.is_contiguous()),
        address_space: AddressSpace::Device.code(),
        shapes: reference.shapes,
        strides: reference.strides,
        ..Tensor::default()
    })
}
