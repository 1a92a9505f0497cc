//! Capture and graphs of the C interface.
//!

use core::ffi::{c_int, c_void};

use super::fence::{Out, enter};
use crate::host::capture;
use crate::host::capture::rules::Mode;
use crate::host::device;
use crate::host::error::{Result, fail};
use crate::host::fault::Call;

/// Begins to capture a stream: what is put on it from now on becomes a graph. `mode` is a `TenonSimCaptureMode`.
///
/// 100000 for the default stream or another mode, 107027 when it is being captured already.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_capture_begin(stream: *mut c_void, mode: i32) -> c_int {
    enter(Call::CaptureBegin, || device::current()?.begin_capture(stream, known(mode)?))
}

/// Ends the capture that began on this stream; null unless 0 is the answer.
///
/// 107029 when the stream is not being captured, 107036 when the capture began on another stream, 107038 on another thread (unless
/// relaxed): the capture goes on. 507903 when a record or wait had failed, 107025 when a stream that joined has not returned: the
/// capture is over, and there is no graph.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed. `graph` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_capture_end(stream: *mut c_void, graph: *mut *mut c_void) -> c_int {
    enter(Call::CaptureEnd, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(graph, "graph") }?;
        out.set(core::ptr::null_mut());
        out.set(device::current()?.end_capture(stream)?);
        Ok(())
    })
}

/// What a stream is to captures, a `TenonSimCaptureStatus`, and its graph, null unless active. Either may be left out.
///
/// 100000 for the default stream, or when both are null.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
/// Both are null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_capture_get_info(
    stream: *mut c_void,
    status: *mut i32,
    graph: *mut *mut c_void,
) -> c_int {
    enter(Call::CaptureGetInfo, || {
        if status.is_null() && graph.is_null() {
            return Err(fail!(INVALID_PARAM, "status and graph are both null"));
        }
        let (found, handle) = device::current()?.capture_info(stream)?;
        if !status.is_null() {
            // SAFETY: this function's contract.
            unsafe { Out::claim(status, "status") }?.set(found as i32);
        }
        if !graph.is_null() {
            // SAFETY: this function's contract.
            unsafe { Out::claim(graph, "graph") }?.set(handle.unwrap_or(core::ptr::null_mut()));
        }
        Ok(())
    })
}

/// Exchanges the calling thread's mode, a `TenonSimCaptureMode`, global at first: how strict the captures of others
/// are towards its synchronous copies.
///
/// 100000 for null or another mode.
///
/// # Safety
/// `mode` is null, or valid for one read and one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_capture_exchange_mode(mode: *mut i32) -> c_int {
    enter(Call::CaptureExchangeMode, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(mode, "mode") }?;
        // SAFETY: aligned and not null, checked above; valid for a read by this function's contract.
        let wanted = known(unsafe { mode.read() })?;
        out.set(capture::exchange_mode(wanted) as i32);
        Ok(())
    })
}

/// Enqueues one replay of a graph.
///
/// When one of its tasks fails, the later ones still run; the next synchronise of `stream` tells the first failure.
///
/// 107026 while it is being captured, 107027 on a stream that is, 107004 for a graph of another device.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_graph_launch(graph: *mut c_void, stream: *mut c_void) -> c_int {
    enter(Call::GraphLaunch, || device::current()?.launch_graph(graph, stream))
}

/// Destroys a graph.
///
/// 107026 while it is being captured, 107037 while a replay has not ended.
///
/// # Safety
/// Any value of a handle is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_graph_destroy(graph: *mut c_void) -> c_int {
    enter(Call::GraphDestroy, || device::current()?.destroy_graph(graph))
}

fn known(mode: i32) -> Result<Mode> {
    Mode::from_number(mode).ok_or_else(|| fail!(INVALID_PARAM, "capture mode {mode}, expected 0, 1 or 2"))
}
