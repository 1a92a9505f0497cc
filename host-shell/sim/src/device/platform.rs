//! The table of functions that a loaded AICPU image calls the device through.
//!

use core::ffi::c_void;
use core::mem::size_of;
use core::{ptr, slice};

use tenon_core::device::{AicoreJob, AicpuPlatform, AreaInfo};
use tenon_core::status::DispatchAnswer;

use super::log::{self, Level};
use super::{Device, area};

/// The table for `device`.
#[must_use]
pub fn table(device: &'static Device) -> AicpuPlatform {
    AicpuPlatform {
        size: u32::try_from(size_of::<AicpuPlatform>()).expect("some eighty bytes"),
        aicore_count: device.aicore_workers,
        device: ptr::from_ref(device).cast_mut().cast(),
        find_area: Some(find_area),
        is_callable_memory: Some(is_callable_memory),
        notify_aicore: Some(notify_aicore),
        aicore_start: Some(aicore_start),
        aicore_wait: Some(aicore_wait),
        execution_ended: Some(execution_ended),
        log: Some(write_log),
    }
}

/// The device behind the pointer of the table.
///
/// # Safety
/// `device` is the pointer that [`table`] put there.
unsafe fn device(device: *mut c_void) -> &'static Device {
    // SAFETY: it was made from a `&'static Device`, says the caller.
    unsafe { &*device.cast_const().cast::<Device>() }
}

/// The device and the place of the registered area at `area`.
///
/// # Safety
/// As for [`device`].
unsafe fn device_and_area(this: *mut c_void, area: u64) -> (&'static Device, Option<usize>) {
    // SAFETY: the caller's promise is handed on.
    let this = unsafe { device(this) };
    let index = area::index_of(&this.machine, area);
    if index.is_none() {
        log::line(Level::Error, format_args!("the AICPU image names {area:#x}, where no context area is registered"));
    }
    (this, index)
}

unsafe extern "C" fn find_area(this: *mut c_void, address: u64, out: *mut AreaInfo) -> i32 {
    // SAFETY: the contract of the table.
    let this = unsafe { device(this) };
    let Some(info) = area::find(&this.machine, address) else { return 0 };
    // SAFETY: the contract of the table: `out` is for one `AreaInfo`.
    unsafe { out.write(info) };
    1
}

unsafe extern "C" fn is_callable_memory(this: *mut c_void, address: u64, bytes: u64) -> i32 {
    // SAFETY: the contract of the table.
    let this = unsafe { device(this) };
    i32::from(this.machine.is_callable(address, bytes))
}

unsafe extern "C" fn notify_aicore(this: *mut c_void, _area: u64) {
    // SAFETY: the contract of the table.
    let this = unsafe { device(this) };
    this.bell().ring();
}

unsafe extern "C" fn aicore_start(this: *mut c_void, area: u64, job: *const AicoreJob) -> i32 {
    // SAFETY: the contract of the table.
    let (this, index) = unsafe { device_and_area(this, area) };
    if job.is_null() || !job.is_aligned() {
        return DispatchAnswer::InvalidBinding.code().cast_signed();
    }
    // SAFETY: the contract of the table: a job that nobody changes during the call.
    let job = unsafe { *job };
    let answer = index.map_or(DispatchAnswer::InvalidArgs, |index| this.front.start(index, &job));
    answer.code().cast_signed()
}

unsafe extern "C" fn aicore_wait(this: *mut c_void, area: u64) -> i32 {
    // SAFETY: the contract of the table.
    let (this, index) = unsafe { device_and_area(this, area) };
    index.map_or(DispatchAnswer::InvalidArgs.code().cast_signed(), |index| this.front.wait(index))
}

unsafe extern "C" fn execution_ended(this: *mut c_void, area: u64) {
    // SAFETY: the contract of the table.
    let (this, index) = unsafe { device_and_area(this, area) };
    if let Some(index) = index {
        this.front.end(index);
        this.bell().ring();
    }
}

unsafe extern "C" fn write_log(_this: *mut c_void, level: i32, text: *const u8, len: usize) {
    if text.is_null() {
        return;
    }
    // SAFETY: the contract of the table: `len` bytes at `text`, unchanged during the call.
    let text = unsafe { slice::from_raw_parts(text, len) };
    let text = core::str::from_utf8(text).unwrap_or("a line that is no UTF-8");
    log::line(Level::from_syslog(level), format_args!("aicpu: {text}"));
}
