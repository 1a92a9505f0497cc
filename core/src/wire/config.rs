//! What a context is configured with at init, for its whole life.
//!

use core::mem::{align_of, offset_of, size_of};

use static_assertions::{assert_impl_all, const_assert_eq};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Sizes of the four rings, 96 bytes. 0 leaves the choice to the platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C, packed)]
pub struct RuntimeEnv {
    /// Tasks per ring: 0 or a power of two in `4..=i32::MAX`.
    pub ring_task_window: [u64; 4],
    /// Bytes of heap per ring: 0 or at least 1024.
    pub ring_heap: [u64; 4],
    /// Dependencies per ring: 0 or in `4..=i32::MAX`.
    pub ring_dep_pool: [u64; 4],
}

/// Configuration of a context, 1,144 bytes, packed (C: `SimplerCallConfig`).
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C, packed)]
pub struct CallConfig {
    /// 0 for the platform's choice, else `2..=8`.
    pub aicpu_thread_num: i32,
    /// Diagnostic, 0 or 1.
    pub enable_chip_swimlane: i32,
    /// Diagnostic, 0 or 1.
    pub enable_dump_args: i32,
    /// Diagnostic, 0 or 1.
    pub enable_pmu: i32,
    /// Diagnostic, 0 or 1.
    pub enable_dep_gen: i32,
    /// Diagnostic, 0 or 1.
    pub enable_scope_stats: i32,
    /// Capacity intent.
    pub runtime_env: RuntimeEnv,
    /// NUL-terminated path prefix; needed when a diagnostic is on.
    pub output_prefix: [u8; 1024],
}

impl Default for CallConfig {
    fn default() -> Self {
        Self {
            aicpu_thread_num: 0,
            enable_chip_swimlane: 0,
            enable_dump_args: 0,
            enable_pmu: 0,
            enable_dep_gen: 0,
            enable_scope_stats: 0,
            runtime_env: RuntimeEnv::default(),
            output_prefix: [0; 1024],
        }
    }
}

const_assert_eq!(size_of::<RuntimeEnv>(), 96);
const_assert_eq!(offset_of!(RuntimeEnv, ring_task_window), 0);
const_assert_eq!(offset_of!(RuntimeEnv, ring_heap), 32);
const_assert_eq!(offset_of!(RuntimeEnv, ring_dep_pool), 64);
const_assert_eq!(size_of::<CallConfig>(), 1144);
const_assert_eq!(align_of::<CallConfig>(), 1);
const_assert_eq!(offset_of!(CallConfig, aicpu_thread_num), 0);
const_assert_eq!(offset_of!(CallConfig, enable_chip_swimlane), 4);
const_assert_eq!(offset_of!(CallConfig, enable_dump_args), 8);
const_assert_eq!(offset_of!(CallConfig, enable_pmu), 12);
const_assert_eq!(offset_of!(CallConfig, enable_dep_gen), 16);
const_assert_eq!(offset_of!(CallConfig, enable_scope_stats), 20);
const_assert_eq!(offset_of!(CallConfig, runtime_env), 24);
const_assert_eq!(offset_of!(CallConfig, output_prefix), 120);
assert_impl_all!(CallConfig: FromBytes, IntoBytes, Immutable, KnownLayout);
