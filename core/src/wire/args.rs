//! Arguments of an invocation as the host hands them over.
//!

use core::mem::{align_of, offset_of, size_of};

use static_assertions::{assert_impl_all, const_assert_eq};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::{MAX_SCALARS, MAX_TENSORS, Tensor};

/// Tensors and scalars of one invocation, 33,856 bytes (C: `SimplerChipStorageTaskArgs`).
///
/// Only what the two counts name is read; a packet carries no more than that. It lies at a multiple of 64.
#[derive(Clone, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C, align(64))]
pub struct StorageTaskArgs {
    /// The first `tensor_count` are used.
    pub tensors: [Tensor; MAX_TENSORS],
    /// The first `scalar_count` are used.
    pub scalars: [u64; MAX_SCALARS],
    /// `0..=256`
    pub tensor_count: i32,
    /// `0..=128`
    pub scalar_count: i32,
    /// Alignment slack.
    pub pad: [u8; 56],
}

const_assert_eq!(size_of::<StorageTaskArgs>(), 33_856);
const_assert_eq!(align_of::<StorageTaskArgs>(), 64);
const_assert_eq!(offset_of!(StorageTaskArgs, tensors), 0);
const_assert_eq!(offset_of!(StorageTaskArgs, scalars), 32_768);
const_assert_eq!(offset_of!(StorageTaskArgs, tensor_count), 33_792);
const_assert_eq!(offset_of!(StorageTaskArgs, scalar_count), 33_796);
assert_impl_all!(StorageTaskArgs: FromBytes, IntoBytes, Immutable, KnownLayout);
