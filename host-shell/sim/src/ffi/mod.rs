//! The C interface of the vendor library: `tenon_sim_*`, modelled on ACL.
//!
//! Every function answers 0 or a code of [`Code`](crate::host::error::Code), and passes through the [`fence`]. A function is a
//! line or two: it checks the pointers that C gave and calls [`host`](crate::host). Calls that can be counted and made to fail
//! are listed in [`Call`](crate::host::fault::Call).
//!
//! Handles are values of `void *` that are never followed. Device addresses are addresses at which nothing can be read or
//! written by this process.

pub mod device;
pub mod event;
mod fence;
pub mod graph;
pub mod kernel;
pub mod memory;
pub mod stream;
pub mod testing;

/// Makes the capture that `stream` belongs to invalid, after a call on it has failed.
fn invalidate(stream: *mut core::ffi::c_void) {
    if let Ok(device) = crate::host::device::current() {
        device.invalidate_capture(stream);
    }
}
