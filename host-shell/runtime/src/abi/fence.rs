//! What every entry passes through: handles, panics, codes and one line of log.
//!
//! Nothing unwinds into C. A panic inside is our own fault; it is answered with INTERNAL, and the context it happened
//! in stays closed to everybody for ever, because what it was doing is half done.

use core::ffi::{c_int, c_void};
use core::panic::AssertUnwindSafe;
use core::ptr;
use std::panic::catch_unwind;

use tenon_core::status::RuntimeError;

use super::context::Context;
use super::failure::Failure;
use super::handle::Handle;
use super::registry::{Refused, Registry};
use crate::diag::{self, Level};

/// All contexts of this process.
pub(super) static CONTEXTS: Registry<Context, { super::handle::PLACES }> = Registry::new();

/// What C gets back from an entry, and what stands for a failure there.
pub(super) trait Answer: Sized {
    /// The failure with `code`.
    fn failed(code: c_int) -> Self;
}

impl Answer for c_int {
    fn failed(code: c_int) -> Self {
        code
    }
}

impl Answer for *mut c_void {
    fn failed(_code: c_int) -> Self {
        ptr::null_mut()
    }
}

impl Answer for usize {
    fn failed(_code: c_int) -> Self {
        0
    }
}

/// Runs the body of the entry called `entry`.
pub(super) fn fence<A: Answer>(entry: &'static str, body: impl FnOnce() -> Result<A, Failure>) -> A {
    // A body owns nothing that could be seen half changed afterwards: a context guards itself, see `Exclusive`.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(answer)) => answer,
        Ok(Err(failure)) => {
            let code = failure.code();
            diag::log(Level::Error, entry, format_args!("{failure} ({})", status_name(code)));
            A::failed(code)
        }
        Err(panic) => {
            // Dropping what was thrown may run anything, a panic included.
            core::mem::forget(panic);
            let code = RuntimeError::Internal.code();
            diag::log(Level::Error, entry, format_args!("a fault inside the library ({})", status_name(code)));
            A::failed(code)
        }
    }
}

/// Finds the context that C means by `context`, and looks at it.
///
/// # Errors
/// There is none, or it is not this process's.
pub(super) fn enter<R>(context: *mut c_void, body: impl FnOnce(&Context) -> Result<R, Failure>) -> Result<R, Failure> {
    let bits = context.addr();
    let entered = Handle::from_bits(bits).map_err(Refused::Not).and_then(|handle| CONTEXTS.enter(handle));
    let entered = entered.map_err(|refused| Failure::Handle { context: bits, refused })?;
    let found = entered.with(|context| if context.is_inherited() { Err(Failure::Inherited) } else { body(context) });
    // A place that was entered holds a context; that it does not is answered, never assumed away.
    found.unwrap_or(Err(Failure::Handle { context: bits, refused: Refused::InUse }))
}

/// The name of a code, for a line of log.
pub(super) fn status_name(code: c_int) -> &'static str {
    super::status::name(code).to_str().unwrap_or_default()
}
