//! The entries of any mode: making, closing, destroying, asking what went wrong.
//!

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use tenon_core::arguments;
use tenon_core::wire::ContextErrors;

use super::claim;
use super::context::Context;
use super::failure::Failure;
use super::fence::{CONTEXTS, enter, fence};
use super::handle::Handle;
use super::registry::Refused;
use super::status;
use crate::platform::{self, AnyPlatform, PlatformError};
use crate::{diag, fork};

/// Makes a context without a mode. The first init entry gives it one, for ever.
///
/// Returns a handle, to be given to `destroy_device_context` when the context is fresh again or closed; null when 4,096
/// contexts exist. The handle is not an address. It may be used from any thread of this process, and not in a forked
/// child.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub extern "C" fn create_device_context() -> *mut c_void {
    create_with_platform(platform::open)
}

/// Makes a context whose platform comes from `open` instead of `TENON_PLATFORM`. `open` is called when the context is
/// asked what it supports and when it is initialised; kernel mode takes two.
pub fn create_with_platform(
    open: impl Fn() -> Result<AnyPlatform, PlatformError> + Send + Sync + 'static,
) -> *mut c_void {
    fence("create_device_context", || {
        diag::init();
        fork::watch();
        let handle = CONTEXTS.insert(Context::new(open)).ok_or(Failure::NoPlace)?;
        Ok(ptr::without_provenance_mut(handle.to_bits()))
    })
}

/// Destroys a context that has no mode yet, or is closed, or finalized. Makes no platform call.
///
/// Returns 0; INVALID_STATE when the context is in another state or a thread is inside; INVALID_ARGUMENT when `ctx` is
/// not a context, or not any more.
///
/// # Safety
/// Any value of `ctx` is allowed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn destroy_device_context(ctx: *mut c_void) -> c_int {
    fence("destroy_device_context", || {
        arguments::context_only(ctx.addr())?;
        let refused = |refused| Failure::Handle { context: ctx.addr(), refused };
        // Asked on the way in, so that a child is told what is wrong with its handle; nothing can make it right again.
        enter(ctx, |_| Ok(()))?;
        let handle = Handle::from_bits(ctx.addr()).map_err(|reason| refused(Refused::Not(reason)))?;
        let context = CONTEXTS.remove(handle, Context::may_be_destroyed).map_err(refused)?;
        drop(context);
        Ok(0)
    })
}

/// Closes a context in either mode: releases what it made, or what an earlier call has left. In kernel mode nothing of
/// the device is changed for others, and it comes before the device is reset. A lost device does not keep a context
/// open.
///
/// Returns 0, also for a context without a mode or one that is closed; INVALID_STATE, with nothing freed, while the
/// device is busy with the context or a thread is inside: call again; INTERNAL when something could not be released:
/// call again.
///
/// # Safety
/// Any value of `ctx` is allowed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn finalize_device(ctx: *mut c_void) -> c_int {
    fence("finalize_device", || {
        arguments::context_only(ctx.addr())?;
        enter(ctx, Context::finalize)?;
        Ok(0)
    })
}

/// Tells what has gone wrong in a context so far. May be asked in any state, and never disturbs a call that another
/// thread has inside.
///
/// Returns 0 or INVALID_ARGUMENT; `out` is written only with 0.
///
/// # Safety
/// Any value of `ctx` is allowed; `out` is null or 64 bytes are writable there.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_context_errors(ctx: *mut c_void, out: *mut ContextErrors) -> c_int {
    fence("simpler_context_errors", || {
        arguments::context_errors(ctx.addr(), out.addr())?;
        let errors = enter(ctx, |context| Ok(context.errors()))?;
        // SAFETY: not null, see the check above, and writable: this function's contract.
        unsafe { claim::write_out(out, errors) };
        Ok(0)
    })
}

/// The name of a code that an entry answered, as text for people.
///
/// Returns a terminated text that stays for ever, never null.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub extern "C" fn simpler_status_name(code: c_int) -> *const c_char {
    status::name(code).as_ptr()
}
