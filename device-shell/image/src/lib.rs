//! The device shell as the shared object that a device process loads.
//!
//! Four symbols and a panic handler; all else is in `tenon-device-shell`. Device images have no unwinder: a panic stops the core, or on
//! Linux the device process.

#![no_std]

use core::ffi::{c_int, c_void};

use tenon_core::device::AicpuPlatform;
use tenon_core::wire::Mode;

/// Receives one packet of a kernel-mode context and runs what it names. Answers a `TenonDispatchAnswer`.
///
/// Called on an AICPU thread, any number of them at once. The packet is read until the call returns and never written.
///
/// # Safety
/// `args` is null, misaligned, or a packet's copy: readable for 8 bytes, and for as many as those say. The rest as
/// [`tenon_device_shell::Shell::exec`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpler_aicpu_kernel_exec(args: *mut c_void) -> c_int {
    // SAFETY: this function's condition.
    unsafe { tenon_device_shell::exec(args, Mode::Kernel) }
}

/// As [`simpler_aicpu_kernel_exec`], for a program-mode context: the same packet and rules, mode 0.
///
/// # Safety
/// As [`simpler_aicpu_kernel_exec`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn simpler_aicpu_exec(args: *mut c_void) -> c_int {
    // SAFETY: this function's condition.
    unsafe { tenon_device_shell::exec(args, Mode::Program) }
}

/// Takes a copy of the device process's table, once: 0, or −1 when it is not usable or not the first.
///
/// # Safety
/// As [`tenon_device_shell::load`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_aicpu_load(platform: *const AicpuPlatform) -> c_int {
    // SAFETY: this function's condition.
    unsafe { tenon_device_shell::load(platform) }
}

/// Lets all loaded code go, before the image itself is unloaded: 0, or −1 when the system refused some of it.
///
/// # Safety
/// No launch is inside the image and none comes while this runs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenon_aicpu_unload() -> c_int {
    // SAFETY: this function's condition.
    unsafe { tenon_device_shell::unload() }
}

#[cfg(not(test))]
#[panic_handler]
fn stop(_: &core::panic::PanicInfo<'_>) -> ! {
    tenon_device_shell::stop()
}
