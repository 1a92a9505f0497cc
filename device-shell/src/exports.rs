//! What stands behind the four symbols of the device image.
//!
//! There is one shell for each image in a device process.

use core::ffi::c_void;

use spin::Once;
use tenon_core::device::AicpuPlatform;
use tenon_core::status::DispatchAnswer;
use tenon_core::wire::Mode;

use crate::entry::Shell;
use crate::platform_table::Platform;

static SHELL: Once<Shell> = Once::new();

/// Takes a copy of the device process's table, once: 0, or −1 when it is null, misaligned, too small, incomplete, or not the first.
///
/// # Safety
/// 1. `table` is null, misaligned, or readable for its first four bytes and for as many as those say.
/// 2. What [`Platform::new`] and [`Shell::exec`] ask of the device process holds as long as the image is loaded.
pub unsafe fn load(table: *const AicpuPlatform) -> i32 {
    if table.is_null() || !table.is_aligned() {
        return -1;
    }
    // SAFETY: condition 1; aligned, as was just asked.
    let size = unsafe { table.cast::<u32>().read() };
    if (size as usize) < size_of::<AicpuPlatform>() {
        return -1;
    }
    // SAFETY: condition 1; the table is at least as long as this build's.
    let table = unsafe { table.read() };
    // SAFETY: condition 2.
    let Some(platform) = (unsafe { Platform::new(table) }) else { return -1 };
    let mut is_first = false;
    SHELL.call_once(|| {
        is_first = true;
        Shell::new(platform)
    });
    if is_first { 0 } else { -1 }
}

/// Receives a packet of a context of `mode`: a dispatch answer, *invalid args* too before [`load`].
///
/// # Safety
/// As [`Shell::exec`].
pub unsafe fn exec(args: *const c_void, mode: Mode) -> i32 {
    let answer = match SHELL.get() {
        // SAFETY: this function's condition.
        Some(shell) => unsafe { shell.exec(args, mode) },
        None => DispatchAnswer::InvalidArgs,
    };
    answer.code().cast_signed()
}

/// Lets all loaded code go: 0, or −1 when the system refused some of it. The shell may be used again afterwards.
///
/// # Safety
/// No launch is inside and none comes while this runs.
pub unsafe fn unload() -> i32 {
    match SHELL.get() {
        // SAFETY: this function's condition.
        Some(shell) if !(unsafe { shell.unload() }) => -1,
        _ => 0,
    }
}
