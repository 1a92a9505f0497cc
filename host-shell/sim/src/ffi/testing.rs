//! Faults, counts and messages of the C interface: for tests and for people.
//!
//! These calls are neither counted nor made to fail.

use core::ffi::{c_char, c_int};
use core::sync::atomic::Ordering;

use super::fence::{self, Out, guard};
use crate::host::error::{self, Code};
use crate::host::{device, fault};

/// Counters of the current device since it started (C: `tenon_sim_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct tenon_sim_stats {
    /// Times that a host thread had to wake the device.
    pub host_wakes: u64,
    /// Tasks that the host submitted.
    pub host_tasks: u64,
    /// Heap allocations of the device process.
    pub device_allocations: u64,
    /// AICPU entries called.
    pub aicpu_calls: u64,
    /// AICore branches that took *work*.
    pub aicore_work: u64,
    /// AICore branches that took *leave* or were cancelled.
    pub aicore_leave: u64,
    /// AICore branches that got no verdict in time.
    pub aicore_timeouts: u64,
    /// Blocks of children run.
    pub blocks: u64,
    /// Graph replays ended.
    pub replays: u64,
}

/// Makes the `nth` call from now (1 is the next) of `call` (a function's name without its prefix, or `*`) fail with `code`,
/// once, before it has any effect.
///
/// 100000 for an unknown name, `nth` 0 or `code` 0; 207005 when 64 faults wait already.
///
/// # Safety
/// `call` is null or a C string.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_fault_inject(call: *const c_char, nth: u64, code: i32) -> c_int {
    guard(|| {
        // SAFETY: this function's contract.
        fault::inject(unsafe { fence::name(call) }?, nth, code)
    })
}

/// Forgets every fault that has not struck.
///
/// # Safety
/// None.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_fault_clear() -> c_int {
    guard(|| {
        fault::clear();
        Ok(())
    })
}

/// How often `call` (a function's name without its prefix, or `*` for all) was called in this process.
///
/// # Safety
/// `call` is null or a C string. `count` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_call_count(call: *const c_char, count: *mut u64) -> c_int {
    guard(|| {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(count, "count") }?;
        // SAFETY: this function's contract.
        out.set(fault::count(unsafe { fence::name(call) }?)?);
        Ok(())
    })
}

/// The current device's counters.
///
/// # Safety
/// `stats` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_get_stats(stats: *mut tenon_sim_stats) -> c_int {
    guard(|| {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(stats, "stats") }?;
        let device = device::current()?;
        let session = device.session()?;
        let words = &session.control().stats;
        out.set(tenon_sim_stats {
            host_wakes: words.host_wakes.load(Ordering::Relaxed),
            host_tasks: device.submitted(),
            device_allocations: words.device_allocations.load(Ordering::Relaxed),
            aicpu_calls: words.aicpu_calls.load(Ordering::Relaxed),
            aicore_work: words.aicore_work.load(Ordering::Relaxed),
            aicore_leave: words.aicore_leave.load(Ordering::Relaxed),
            aicore_timeouts: words.aicore_timeouts.load(Ordering::Relaxed),
            blocks: words.blocks.load(Ordering::Relaxed),
            replays: words.replays.load(Ordering::Relaxed),
        });
        Ok(())
    })
}

/// The name of a code; `UNKNOWN` for a number that is none. The string lives as long as the library.
///
/// # Safety
/// None.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_error_name(code: c_int) -> *const c_char {
    Code::name_of(code).unwrap_or(c"UNKNOWN").as_ptr()
}

/// What the calling thread's last failed call found wrong, where, and what was expected; empty before the first. The string is
/// valid until the thread's next failed call.
///
/// # Safety
/// None.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_recent_error_message() -> *const c_char {
    error::recent_message()
}
