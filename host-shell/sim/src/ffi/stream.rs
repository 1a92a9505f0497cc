//! Streams of the C interface; null is the default stream.
//!

use core::ffi::{c_int, c_void};

use super::fence::{Out, enter};
use crate::host::device;
use crate::host::error::fail;
use crate::host::fault::Call;
use crate::host::wait::Deadline;

/// A new stream on the current device; 207008 when there are no more.
///
/// # Safety
/// `stream` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_create_stream(stream: *mut *mut c_void) -> c_int {
    enter(Call::CreateStream, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(stream, "stream") }?;
        out.set(device::current()?.create_stream()?);
        Ok(())
    })
}

/// Destroys a stream. What is on it still runs.
///
/// 100000 for the default stream, 107027 while it is being captured.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_destroy_stream(stream: *mut c_void) -> c_int {
    enter(Call::DestroyStream, || device::current()?.destroy_stream(stream))
}

/// Waits until everything on the stream has ended; the first failure since the last synchronise, once.
///
/// 107027 while it is being captured, 507010 when the device is lost.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_synchronize_stream(stream: *mut c_void) -> c_int {
    enter(Call::SynchronizeStream, || device::current()?.synchronize_stream(stream, Deadline::NEVER))
}

/// As `tenon_sim_synchronize_stream`, for at most `milliseconds`; -1 is for ever. 507046 when the time is over.
///
/// 100000 for 0 and other negative times.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_synchronize_stream_with_timeout(stream: *mut c_void, milliseconds: i32) -> c_int {
    enter(Call::SynchronizeStreamWithTimeout, || {
        let deadline = match u64::try_from(milliseconds) {
            Ok(milliseconds @ 1..) => Deadline::after_ms(milliseconds),
            Err(_) if milliseconds == -1 => Deadline::NEVER,
            Ok(_) | Err(_) => {
                return Err(fail!(INVALID_PARAM, "a time of {milliseconds} ms, expected -1 or more than 0"));
            }
        };
        device::current()?.synchronize_stream(stream, deadline)
    })
}

/// Whether everything on the stream has ended: 0 complete, 1 not. Reports no failure of a task.
///
/// 107027 while it is being captured.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed. `status` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_query_stream(stream: *mut c_void, status: *mut i32) -> c_int {
    enter(Call::QueryStream, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(status, "status") }?;
        out.set(i32::from(!device::current()?.query_stream(stream)?));
        Ok(())
    })
}
