//! What every exported function goes through.
//!
//! 1. The call is counted, and a fault that was injected for it strikes, before it has any effect.
//! 2. Its body runs.
//! 3. A failure becomes its number. A panic is caught and becomes 507899: nothing unwinds into C.

use core::ffi::{CStr, c_char, c_int};
use core::ptr::NonNull;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::host::error::{Code, Result, fail};
use crate::host::fault::{self, Call};

/// Runs the body of `call`.
#[inline]
pub(super) fn enter(call: Call, body: impl FnOnce() -> Result) -> c_int {
    guard(|| {
        fault::enter(call)?;
        body()
    })
}

/// Runs the body of `call`; `failed` runs when it, or an injected fault, fails the call.
#[inline]
pub(super) fn enter_or(call: Call, body: impl FnOnce() -> Result, failed: impl FnOnce()) -> c_int {
    guard(|| fault::enter(call).and_then(|()| body()).inspect_err(|_| failed()))
}

/// Runs the body of a function that is neither counted nor made to fail.
#[inline]
pub(super) fn guard(body: impl FnOnce() -> Result) -> c_int {
    // What a body leaves half done when it panics is behind locks that are taken over, or dropped.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(code)) => code.number(),
        Err(_) => panicked().number(),
    }
}

#[cold]
fn panicked() -> Code {
    fail!(INTERNAL, "the simulator's vendor library has a fault; the panic's message is on stderr")
}

/// A pointer that the caller gave for an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Out<T>(NonNull<T>);

impl<T> Out<T> {
    /// Takes the caller's pointer; `name` is for the message.
    ///
    /// # Errors
    /// 100000 for null, or a pointer that is not aligned.
    ///
    /// # Safety
    /// Unless null, `pointer` is valid for writing one `T` until the exported function returns.
    #[inline]
    pub(super) unsafe fn claim(pointer: *mut T, name: &str) -> Result<Self> {
        match NonNull::new(pointer) {
            Some(pointer) if pointer.is_aligned() => Ok(Self(pointer)),
            Some(_) => Err(fail!(INVALID_PARAM, "{name} is not aligned")),
            None => Err(fail!(INVALID_PARAM, "{name} is null")),
        }
    }

    /// Writes the answer.
    #[inline]
    pub(super) fn set(self, value: T) {
        // SAFETY: the pointer is aligned and valid for writing: `claim`, whose caller promised it until the function returns.
        unsafe { self.0.write(value) };
    }
}

/// A name that the caller gave.
///
/// # Errors
/// 100000 for null or bytes that are not UTF-8.
///
/// # Safety
/// Unless null, `text` is a C string for as long as the answer is used.
pub(super) unsafe fn name<'a>(text: *const c_char) -> Result<&'a str> {
    if text.is_null() {
        return Err(fail!(INVALID_PARAM, "the name is null"));
    }
    // SAFETY: not null; a C string by this function's contract.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| fail!(INVALID_PARAM, "the name is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_the_internal_code() {
        // The message that the panic prints is part of this test's output.
        assert_eq!(guard(|| panic!("on purpose")), Code::INTERNAL.number());
    }

    #[test]
    fn null_and_unaligned_answers_are_refused() {
        let mut words = [0u64; 2];
        // SAFETY: null is allowed.
        assert_eq!(unsafe { Out::<u64>::claim(core::ptr::null_mut(), "x") }.unwrap_err(), Code::INVALID_PARAM);
        let odd = words.as_mut_ptr().wrapping_byte_add(1);
        // SAFETY: eight bytes from `odd` lie in `words`.
        assert_eq!(unsafe { Out::claim(odd, "x") }.unwrap_err(), Code::INVALID_PARAM);
    }
}
