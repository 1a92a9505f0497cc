//! Where everything is in a callable image.
//!
//! The two structures are plain data for C headers and for pins; readers use the offsets, because an image may lie at any
//! address on the host and in memory that a reference must not be made into on the device.

use core::mem::{align_of, offset_of, size_of};

use static_assertions::{assert_impl_all, const_assert_eq};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of an image's header; the storage follows.
pub const HEADER_BYTES: u64 = 9376;
/// Least alignment of an image in memory.
pub const IMAGE_ALIGN: u64 = 16;
/// What the base of an uploaded image is beyond a multiple of [`CHILD_ALIGN`], so that children's code is aligned.
///
/// The header is 146·64 + 32 bytes long.
pub const BASE_REMAINDER: u64 = 32;

/// `i32[256]`
pub const SIGNATURE: u64 = 0;
/// `i32`
pub const SIG_COUNT: u64 = 1024;
/// `u32`
pub const BINARY_SIZE: u64 = 1028;
/// `u8[64]`
pub const FUNC_NAME: u64 = 1032;
/// `u32`
pub const FUNC_NAME_LEN: u64 = 1096;
/// `i32[1024]`
pub const CHILD_FUNC_IDS: u64 = 1100;
/// `u32[1024]`, from the start of storage
pub const CHILD_OFFSETS: u64 = 5196;
/// `i32`
pub const CHILD_COUNT: u64 = 9292;
/// `u8[64]`
pub const CONFIG_NAME: u64 = 9296;
/// `u32`
pub const CONFIG_NAME_LEN: u64 = 9360;
/// `i32`; 0 in images from before the field existed
pub const SCALAR_COUNT: u64 = 9364;

/// Bytes of a child's header.
pub const CHILD_HEADER_BYTES: u64 = 144;
/// From the start of a child to its code; what lies between header and code is pad.
pub const CHILD_CODE: u64 = 192;
/// Children start at multiples of this in the storage.
pub const CHILD_ALIGN: u64 = 64;
/// Within a child: `i32[32]`
pub const CHILD_SIGNATURE: u64 = 0;
/// Within a child: `i32`
pub const CHILD_SIG_COUNT: u64 = 128;
/// Within a child: `u32`
pub const CHILD_BINARY_SIZE: u64 = 132;
/// Within a child: `u64`; filled in only in the uploaded copy
pub const CHILD_RESOLVED_ADDR: u64 = 136;

/// Most entries of a callable's signature.
pub const MAX_SIGNATURE: u32 = 256;
/// Most scalars of a callable.
pub const MAX_SCALARS: u32 = 128;
/// Most children of a callable.
pub const MAX_CHILDREN: u32 = 1024;
/// Bytes of a name's field; the name itself is shorter, since a NUL ends it.
pub const NAME_BYTES: u64 = 64;
/// Most entries of a child's signature.
pub const MAX_CHILD_SIGNATURE: u32 = 32;
/// Most scalars of a child.
pub const MAX_CHILD_SCALARS: u32 = 16;
/// Bytes of unique images that one context holds at most.
pub const MAX_CONTEXT_BYTES: u64 = 512 << 20;

/// Header of an image, 9,376 bytes, as it lies in memory (C: `SimplerChipCallable`).
#[derive(Clone, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(16))]
pub struct RawCallable {
    /// Directions of the arguments, tensors before scalars.
    pub signature: [i32; 256],
    /// Used entries of `signature`, scalars included: `0..=256`
    pub sig_count: i32,
    /// Bytes of the orchestration binary, at the start of storage.
    pub binary_size: u32,
    /// The orchestration's symbol, NUL-terminated.
    pub func_name: [u8; 64],
    /// Bytes of `func_name` before the NUL: below 64
    pub func_name_len: u32,
    /// Carried, not interpreted.
    pub child_func_ids: [i32; 1024],
    /// Each child's place, from the start of storage.
    pub child_offsets: [u32; 1024],
    /// `0..=1024`
    pub child_count: i32,
    /// Name of a configuration, NUL-terminated.
    pub config_name: [u8; 64],
    /// Bytes of `config_name` before the NUL: below 64
    pub config_name_len: u32,
    /// 0 (not recorded) or the number of scalars in `signature`.
    pub scalar_count: i32,
    /// Alignment slack.
    pub pad: [u8; 8],
}

/// Header of a child, 144 bytes, as it lies in memory (C: `SimplerCoreCallable`). Its code starts at 192.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct RawChild {
    /// Directions of the arguments, tensors before scalars.
    pub signature: [i32; 32],
    /// Used entries of `signature`, scalars included: `0..=32`
    pub sig_count: i32,
    /// Bytes of the code.
    pub binary_size: u32,
    /// Address of the code on the device; ignored in an image as given.
    pub resolved_addr: u64,
}

const_assert_eq!(size_of::<RawCallable>() as u64, HEADER_BYTES);
const_assert_eq!(size_of::<RawCallable>(), 9376);
const_assert_eq!(align_of::<RawCallable>(), 16);
const_assert_eq!(offset_of!(RawCallable, signature) as u64, SIGNATURE);
const_assert_eq!(offset_of!(RawCallable, sig_count) as u64, SIG_COUNT);
const_assert_eq!(offset_of!(RawCallable, binary_size) as u64, BINARY_SIZE);
const_assert_eq!(offset_of!(RawCallable, func_name) as u64, FUNC_NAME);
const_assert_eq!(offset_of!(RawCallable, func_name_len) as u64, FUNC_NAME_LEN);
const_assert_eq!(offset_of!(RawCallable, child_func_ids) as u64, CHILD_FUNC_IDS);
const_assert_eq!(offset_of!(RawCallable, child_offsets) as u64, CHILD_OFFSETS);
const_assert_eq!(offset_of!(RawCallable, child_count) as u64, CHILD_COUNT);
const_assert_eq!(offset_of!(RawCallable, config_name) as u64, CONFIG_NAME);
const_assert_eq!(offset_of!(RawCallable, config_name_len) as u64, CONFIG_NAME_LEN);
const_assert_eq!(offset_of!(RawCallable, scalar_count) as u64, SCALAR_COUNT);
const_assert_eq!(offset_of!(RawCallable, pad), 9368);
assert_impl_all!(RawCallable: FromBytes, IntoBytes, Immutable, KnownLayout);

const_assert_eq!(size_of::<RawChild>() as u64, CHILD_HEADER_BYTES);
const_assert_eq!(size_of::<RawChild>(), 144);
const_assert_eq!(align_of::<RawChild>(), 8);
const_assert_eq!(offset_of!(RawChild, signature) as u64, CHILD_SIGNATURE);
const_assert_eq!(offset_of!(RawChild, sig_count) as u64, CHILD_SIG_COUNT);
const_assert_eq!(offset_of!(RawChild, binary_size) as u64, CHILD_BINARY_SIZE);
const_assert_eq!(offset_of!(RawChild, resolved_addr) as u64, CHILD_RESOLVED_ADDR);
assert_impl_all!(RawChild: FromBytes, IntoBytes, Immutable, KnownLayout);

// A base that is 32 more than a multiple of 64 puts every child, and its code, on a multiple of 64.
const_assert_eq!((BASE_REMAINDER + HEADER_BYTES) % CHILD_ALIGN, 0);
const_assert_eq!(CHILD_CODE % CHILD_ALIGN, 0);
