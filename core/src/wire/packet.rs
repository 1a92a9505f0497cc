//! The envelope of one invocation and what stands before it.
//!

use core::mem::{align_of, offset_of, size_of};

use static_assertions::{assert_impl_all, const_assert_eq};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

closed_enum! {
    /// Execution mode of the context that issued an invocation.
    pub enum Mode: u32 {
        /// Owns the device.
        Program = 0,
        /// Borrows the caller's device and stream.
        Kernel = 1,
    }
}

/// One invocation's envelope, 40 bytes (C: `SimplerKernelInvocationHeader`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(C)]
pub struct InvocationHeader {
    /// [`Mode`] of the issuing context.
    pub mode: u32,
    /// Slot in the callable table, `0..64`.
    pub callable_id: i32,
    /// How often that slot has been occupied, from 1; 0 is refused.
    pub generation: u64,
    /// Bytes after this header.
    pub payload_bytes: u64,
    /// `0..=256`
    pub tensor_count: i32,
    /// `0..=128`, with the tensors at most 256.
    pub scalar_count: i32,
    /// 0; the contract for host-only duplicates does not exist yet.
    pub host_copy_tensor_count: i32,
    /// 0
    pub reserved: u32,
}

/// What a packet begins with, 56 bytes (C: `SimplerDispatchArgs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[repr(C)]
pub struct DispatchPrefix {
    /// Bytes of the whole packet.
    pub packet_bytes: u64,
    /// Device address of the record of the slot that the header names.
    pub residency_address: u64,
    /// The envelope.
    pub header: InvocationHeader,
}

const_assert_eq!(size_of::<InvocationHeader>(), 40);
const_assert_eq!(align_of::<InvocationHeader>(), 8);
const_assert_eq!(offset_of!(InvocationHeader, mode), 0);
const_assert_eq!(offset_of!(InvocationHeader, callable_id), 4);
const_assert_eq!(offset_of!(InvocationHeader, generation), 8);
const_assert_eq!(offset_of!(InvocationHeader, payload_bytes), 16);
const_assert_eq!(offset_of!(InvocationHeader, tensor_count), 24);
const_assert_eq!(offset_of!(InvocationHeader, scalar_count), 28);
const_assert_eq!(offset_of!(InvocationHeader, host_copy_tensor_count), 32);
const_assert_eq!(offset_of!(InvocationHeader, reserved), 36);
const_assert_eq!(size_of::<DispatchPrefix>(), 56);
const_assert_eq!(align_of::<DispatchPrefix>(), 8);
const_assert_eq!(offset_of!(DispatchPrefix, packet_bytes), 0);
const_assert_eq!(offset_of!(DispatchPrefix, residency_address), 8);
const_assert_eq!(offset_of!(DispatchPrefix, header), 16);
assert_impl_all!(DispatchPrefix: FromBytes, IntoBytes, Immutable, KnownLayout);
