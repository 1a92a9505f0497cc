//! What a context has to say about its failures.
//!

use core::mem::{align_of, offset_of, size_of};

use static_assertions::{assert_impl_all, const_assert_eq};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The error slots of a context, 64 bytes (C: `SimplerContextErrors`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct ContextErrors {
    /// First cause of poison, else 0.
    pub runtime_error: i32,
    /// The vendor's own number for it.
    pub runtime_vendor_code: i32,
    /// First failure to release something, else 0.
    pub teardown_error: i32,
    /// The vendor's own number for it.
    pub teardown_vendor_code: i32,
    /// Dispatch answer, 2 to 9, of the first launch or replay that was refused or failed on the device, else 0.
    pub first_refusal: i32,
    /// Step of the launch sequence that failed, a number of `core/src/launch_steps.txt`, else 0.
    pub failed_step: i32,
    /// Launches and replays that were refused or failed on the device: answers 2 to 9. `InvalidArgs`, which knows no context, is
    /// not counted.
    pub refusals: u64,
    /// 1: the caller's stream may not join every branch.
    pub join_unproven: u32,
    /// 0
    pub reserved: [u32; 7],
}

const_assert_eq!(size_of::<ContextErrors>(), 64);
const_assert_eq!(offset_of!(ContextErrors, runtime_error), 0);
const_assert_eq!(offset_of!(ContextErrors, runtime_vendor_code), 4);
const_assert_eq!(offset_of!(ContextErrors, teardown_error), 8);
const_assert_eq!(offset_of!(ContextErrors, teardown_vendor_code), 12);
const_assert_eq!(offset_of!(ContextErrors, first_refusal), 16);
const_assert_eq!(offset_of!(ContextErrors, failed_step), 20);
const_assert_eq!(offset_of!(ContextErrors, refusals), 24);
const_assert_eq!(offset_of!(ContextErrors, join_unproven), 32);
const_assert_eq!(offset_of!(ContextErrors, reserved), 36);
assert_impl_all!(ContextErrors: FromBytes, IntoBytes, Immutable, KnownLayout);
// 9 × 4 bytes, one u64 at 24, seven reserved words: no hole, and a size that is a multiple of 8.
const_assert_eq!(align_of::<ContextErrors>(), 8);
