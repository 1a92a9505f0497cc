//! Descriptors, views and the bytes that views touch, one by one.
//!
#![allow(dead_code, reason = "each test file uses a part of this module")]

use std::collections::BTreeSet;
use std::num::NonZeroU64;

use tenon_core::buffer::{
    Access, Backing, BufferGeneration, BufferHandleDescriptor, BufferRef, CanonicalIdentity, Draft, ShmName,
};
use tenon_core::wire::DataType;

/// An identity with this number.
pub(crate) fn identity(buffer_id: u64) -> CanonicalIdentity {
    CanonicalIdentity { owner_instance_id: *b"ABCDEFGH", buffer_id, generation: BufferGeneration::FIRST }
}

/// A named object that its holder may read and write.
pub(crate) fn named(nbytes: u64) -> BufferHandleDescriptor {
    let backing = Backing::PosixShm(ShmName::new("tenon.abcdefghijklmnopqrstuvwxyz").unwrap());
    BufferHandleDescriptor::new(identity(1), &backing, Access::ReadWrite, nbytes).unwrap()
}

/// Device memory at this address.
pub(crate) fn device(base: u64, nbytes: u64) -> BufferHandleDescriptor {
    let backing = Backing::DeviceMalloc(NonZeroU64::new(base).unwrap());
    BufferHandleDescriptor::new(identity(2), &backing, Access::ReadWrite, nbytes).unwrap()
}

/// A view, which must be valid.
pub(crate) fn view(
    descriptor: &BufferHandleDescriptor,
    dtype: DataType,
    byte_offset: u64,
    shape: &[u32],
    strides: Option<&[u32]>,
) -> BufferRef {
    BufferRef::new(descriptor, &Draft { byte_offset, shape, strides, dtype }).unwrap()
}

/// Where each element of a small view begins, in order, from the start of the backing.
pub(crate) fn element_bytes(view: &BufferRef) -> Vec<u64> {
    let mut elements = vec![0_u64];
    for (len, stride) in view.shape().iter().zip(view.strides()) {
        let inner = |start: u64| (0..u64::from(*len)).map(move |index| start + index * u64::from(*stride));
        elements = elements.into_iter().flat_map(inner).collect();
    }
    elements.into_iter().map(|element| view.byte_offset() + element * view.dtype().size_bytes()).collect()
}

/// Every byte that a small view touches.
pub(crate) fn touched(view: &BufferRef) -> BTreeSet<u64> {
    let element = |start: u64| start..start + view.dtype().size_bytes();
    element_bytes(view).into_iter().flat_map(element).collect()
}
