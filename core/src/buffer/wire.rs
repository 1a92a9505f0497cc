//! Identity, descriptor and reference exactly as they lie in memory.
//!
//! They are claims. [`validate`](super::validate) makes checked values of them, and nothing else does.

use core::mem::{align_of, offset_of, size_of};

use static_assertions::{assert_impl_all, const_assert_eq};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Most axes of a view.
pub const MAX_AXES: usize = 5;
/// Bytes of a descriptor's body.
pub const BODY_BYTES: usize = 32;
/// What a descriptor begins with: `BS` in memory.
pub const MAGIC: u16 = 0x5342;

/// Which backing is meant, 32 bytes (C: `tenon_buffer_identity_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RawCanonicalIdentity {
    /// A random draw per owner incarnation; opaque.
    pub owner_instance_id: [u8; 8],
    /// Which of that owner's buffers.
    pub buffer_id: u64,
    /// How often that `buffer_id` has been used, from 1; 0 is refused.
    pub generation: u32,
    /// Alignment slack; no part of equality.
    pub pad: [u8; 12],
}

/// What a backing is and what its holder may do, 88 bytes (C: `tenon_buffer_descriptor_t`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RawDescriptor {
    /// [`MAGIC`]
    pub magic: u16,
    /// [`AddressSpace`](crate::wire::AddressSpace)
    pub address_space: u8,
    /// [`Access`](super::Access)
    pub access: u8,
    /// [`BackendKind`](super::BackendKind)
    pub backend_kind: u8,
    /// Alignment slack.
    pub pad_head: [u8; 3],
    /// Which backing.
    pub identity: RawCanonicalIdentity,
    /// Bytes of the backing.
    pub nbytes: u64,
    /// For people only: routes nothing, gates nothing.
    pub owner_path_id: u32,
    /// Bytes of the body that are used, `0..=32`.
    pub body_len: u16,
    /// Alignment slack.
    pub pad_body: [u8; 2],
    /// A base address or a name, by backend; zero after `body_len` bytes.
    pub body: [u8; BODY_BYTES],
}

/// A typed, strided view of a backing, 144 bytes (C: `tenon_buffer_ref_t`). It carries no address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RawBufferRef {
    /// The backing.
    pub descriptor: RawDescriptor,
    /// First byte of the view from the start of the backing.
    pub byte_offset: u64,
    /// Axes, `1..=5`.
    pub ndims: u32,
    /// Elements per axis, outermost first; unused axes are 0.
    pub shapes: [u32; MAX_AXES],
    /// Elements from one index to the next, per axis; unused axes are 0.
    pub strides: [u32; MAX_AXES],
    /// [`DataType`](crate::wire::DataType)
    pub dtype: u8,
    /// Alignment slack.
    pub pad: [u8; 3],
}

const_assert_eq!(size_of::<RawCanonicalIdentity>(), 32);
const_assert_eq!(align_of::<RawCanonicalIdentity>(), 8);
const_assert_eq!(offset_of!(RawCanonicalIdentity, owner_instance_id), 0);
const_assert_eq!(offset_of!(RawCanonicalIdentity, buffer_id), 8);
const_assert_eq!(offset_of!(RawCanonicalIdentity, generation), 16);
const_assert_eq!(offset_of!(RawCanonicalIdentity, pad), 20);
const_assert_eq!(size_of::<RawDescriptor>(), 88);
const_assert_eq!(align_of::<RawDescriptor>(), 8);
const_assert_eq!(offset_of!(RawDescriptor, magic), 0);
const_assert_eq!(offset_of!(RawDescriptor, address_space), 2);
const_assert_eq!(offset_of!(RawDescriptor, access), 3);
const_assert_eq!(offset_of!(RawDescriptor, backend_kind), 4);
const_assert_eq!(offset_of!(RawDescriptor, pad_head), 5);
const_assert_eq!(offset_of!(RawDescriptor, identity), 8);
const_assert_eq!(offset_of!(RawDescriptor, nbytes), 40);
const_assert_eq!(offset_of!(RawDescriptor, owner_path_id), 48);
const_assert_eq!(offset_of!(RawDescriptor, body_len), 52);
const_assert_eq!(offset_of!(RawDescriptor, pad_body), 54);
const_assert_eq!(offset_of!(RawDescriptor, body), 56);
const_assert_eq!(size_of::<RawBufferRef>(), 144);
const_assert_eq!(align_of::<RawBufferRef>(), 8);
const_assert_eq!(offset_of!(RawBufferRef, descriptor), 0);
const_assert_eq!(offset_of!(RawBufferRef, byte_offset), 88);
const_assert_eq!(offset_of!(RawBufferRef, ndims), 96);
const_assert_eq!(offset_of!(RawBufferRef, shapes), 100);
const_assert_eq!(offset_of!(RawBufferRef, strides), 120);
const_assert_eq!(offset_of!(RawBufferRef, dtype), 140);
const_assert_eq!(offset_of!(RawBufferRef, pad), 141);
assert_impl_all!(RawBufferRef: FromBytes, IntoBytes, Immutable, KnownLayout);
assert_impl_all!(RawDescriptor: FromBytes, IntoBytes, Immutable, KnownLayout);
