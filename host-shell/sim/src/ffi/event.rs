//! Events of the C interface.
//!

use core::ffi::{c_int, c_void};

use super::fence::{Out, enter, enter_or};
use crate::host::device;
use crate::host::fault::Call;

/// A new event on the current device. `flags` is 0 or `TENON_SIM_EVENT_SYNC`, without which it cannot be used in a
/// capture.
///
/// 100000 for a flag that does not exist, 207007 when there are no more events.
///
/// # Safety
/// `event` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_create_event(event: *mut *mut c_void, flags: u32) -> c_int {
    enter(Call::CreateEvent, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(event, "event") }?;
        out.set(device::current()?.create_event(flags)?);
        Ok(())
    })
}

/// Destroys an event, also one that is still to be reached.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_destroy_event(event: *mut c_void) -> c_int {
    enter(Call::DestroyEvent, || device::current()?.destroy_event(event))
}

/// Records an event on a stream. A later record takes its place.
///
/// 107031 on the default stream during a capture, 207000 for an event without flags on a captured stream; one with flags but
/// without SYNC is not recorded there, and the answer is 0.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_record_event(event: *mut c_void, stream: *mut c_void) -> c_int {
    let record = || device::current()?.record_event(event, stream);
    // Any failure of a record on a captured stream makes the capture invalid, an injected one too.
    enter_or(Call::RecordEvent, record, || super::invalidate(stream))
}

/// Makes what is put on the stream from now on wait for the event's last record. An event that was never recorded is no wait.
///
/// 107024 when a captured stream would depend on something outside its capture, 107031 on the default stream during a capture,
/// 207000 for an event with flags but without SYNC.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_stream_wait_event(stream: *mut c_void, event: *mut c_void) -> c_int {
    let wait = || device::current()?.wait_event(stream, event);
    // As for a record.
    enter_or(Call::StreamWaitEvent, wait, || super::invalidate(stream))
}

/// Waits until the event's last record is reached; the failure that the record carries, if any, also if it was reported before.
///
/// 107028 when the last record is part of a capture.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_synchronize_event(event: *mut c_void) -> c_int {
    enter(Call::SynchronizeEvent, || device::current()?.synchronize_event(event))
}

/// Whether the event's last record is reached: 0 complete, 1 not. One that was never recorded is complete.
///
/// 107028 when the last record is part of a capture.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed. `status` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_query_event(event: *mut c_void, status: *mut i32) -> c_int {
    enter(Call::QueryEvent, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(status, "status") }?;
        out.set(i32::from(!device::current()?.query_event(event)?));
        Ok(())
    })
}
