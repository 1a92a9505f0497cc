//! Devices of the C interface.
//!

use core::ffi::c_int;

use super::fence::{Out, enter};
use crate::host::device;
use crate::host::fault::Call;

/// How many devices this machine has.
///
/// # Safety
/// `count` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_get_device_count(count: *mut u32) -> c_int {
    enter(Call::GetDeviceCount, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(count, "count") }?;
        out.set(device::count()?);
        Ok(())
    })
}

/// Makes `device` current for the calling thread and counts one user more. The first one starts the device process.
///
/// 107001 for a device that does not exist, 507033 when the device process cannot start.
///
/// # Safety
/// None.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_set_device(device: i32) -> c_int {
    enter(Call::SetDevice, || device::set(device))
}

/// The calling thread's current device; 107002 when it has none.
///
/// # Safety
/// `device` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_get_device(device: *mut i32) -> c_int {
    enter(Call::GetDevice, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(device, "device") }?;
        out.set(device::current()?.id().cast_signed());
        Ok(())
    })
}

/// Takes one user of `device` away. With the last one the device finishes what it was given, and its process ends.
///
/// 107002 when it was reset as often as it was set.
///
/// # Safety
/// None.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_reset_device(device: i32) -> c_int {
    enter(Call::ResetDevice, || device::reset(device))
}

/// Waits until everything on every stream of the current device has ended; the first failure found.
///
/// 107027 while any of its streams is being captured.
///
/// # Safety
/// None.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_synchronize_device() -> c_int {
    enter(Call::SynchronizeDevice, || device::current()?.synchronize())
}

/// How long an AICore branch of the current device waits for the verdict of its AICPU counterpart, in milliseconds. Operators
/// themselves may run for as long as they like.
///
/// # Safety
/// `milliseconds` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_get_op_timeout(milliseconds: *mut u32) -> c_int {
    enter(Call::GetOpTimeout, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(milliseconds, "milliseconds") }?;
        out.set(device::current()?.operator_timeout_ms()?);
        Ok(())
    })
}
