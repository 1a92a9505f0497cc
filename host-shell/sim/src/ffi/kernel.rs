//! AICPU images, launches and context areas of the C interface.
//!

use core::ffi::{c_int, c_void};
use core::slice;

use super::fence::{Out, enter};
use crate::host::device;
use crate::host::error::fail;
use crate::host::fault::Call;

/// Has the device load an AICPU image, and waits until it has. The bytes are copied.
///
/// 100000 for no bytes or an image that the device refuses, 207005 when there is no room.
///
/// # Safety
/// `data` is readable for `bytes` bytes. `binary` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_load_binary(data: *const c_void, bytes: usize, binary: *mut *mut c_void) -> c_int {
    enter(Call::LoadBinary, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(binary, "binary") }?;
        // SAFETY: this function's contract.
        out.set(unsafe { device::current()?.load_binary(data, bytes) }?);
        Ok(())
    })
}

/// Lets an AICPU image go. Launches of it that have not begun fail.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_unload_binary(binary: *mut c_void) -> c_int {
    enter(Call::UnloadBinary, || device::current()?.unload_binary(binary))
}

/// Enqueues a call of an entry (0 kernel mode, 1 program mode) of an image, with a copy of its arguments. A null binary is the
/// device's own image.
///
/// 100000 for null arguments, none, more than a packet has, or another entry. An answer other than 0 is 507018 at the next
/// synchronise.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed. `args` is readable for `bytes` bytes.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_launch_aicpu(
    binary: *mut c_void,
    entry: u32,
    args: *const c_void,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    enter(Call::LaunchAicpu, || {
        if args.is_null() {
            return Err(fail!(INVALID_PARAM, "the arguments are null"));
        }
        // SAFETY: not null; readable for `bytes` bytes, which nobody writes during the call: this function's contract.
        let args = unsafe { slice::from_raw_parts(args.cast::<u8>(), bytes) };
        device::current()?.launch_aicpu(binary, entry, args, stream)
    })
}

/// Enqueues an AICore branch, which takes one verdict of the context area at `area`. Without one in time it is 507014 at the next
/// synchronise.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_launch_aicore(area: u64, stream: *mut c_void) -> c_int {
    enter(Call::LaunchAicore, || device::current()?.launch_aicore(area, stream))
}

/// Makes a context area known to the device, for as long as the device lives.
///
/// 100000 for a generation of 0 or an area that is not a multiple of 64, 107000 for memory that is not allocated or overlaps
/// another area, 207005 when there are 1,024.
///
/// # Safety
/// None; the address is checked.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_register_area(area: u64, context_generation: u64) -> c_int {
    enter(Call::RegisterArea, || device::current()?.register_area(area, context_generation))
}
