//! The host runtime through its C entries: one context in kernel mode.
//!

use std::ffi::{c_char, c_int, c_void};

use tenon_core::status::{DispatchAnswer, RuntimeError};
use tenon_core::wire::{CallConfig, ContextErrors, StorageTaskArgs};

use crate::count;
use crate::device::{Stream, text};
use crate::failure::Failure;
use crate::library::symbol_table;

symbol_table! {
    /// The entries of the host runtime that this command uses (`tenon/runtime.h`).
    RuntimeTable "" {
        fn create_device_context() -> *mut c_void;
        fn destroy_device_context(context: *mut c_void) -> c_int;
        fn finalize_device(context: *mut c_void) -> c_int;
        fn simpler_kernel_mode_supported(context: *mut c_void) -> c_int;
        fn simpler_kernel_mode_init(
            context: *mut c_void,
            device_id: c_int,
            aicpu: *const u8,
            aicpu_size: usize,
            aicore: *const u8,
            aicore_size: usize,
            dispatcher: *const u8,
            dispatcher_size: usize,
            config: *const CallConfig,
            context_generation: u64,
        ) -> c_int;
        fn simpler_kernel_mode_prepare_callable(
            context: *mut c_void,
            callable_id: i32,
            callable: *const c_void,
            callable_size: usize,
            caller_stream: *mut c_void,
        ) -> c_int;
        fn simpler_kernel_mode_launch(
            context: *mut c_void,
            callable_id: i32,
            args: *const StorageTaskArgs,
            caller_stream: *mut c_void,
        ) -> c_int;
        fn simpler_context_errors(context: *mut c_void, errors: *mut ContextErrors) -> c_int;
        fn simpler_status_name(code: c_int) -> *const c_char;
    }
}

/// The slot that a launch from the command line uses.
const SLOT: i32 = 0;
/// Unique in its process: this command makes one context.
const CONTEXT_GENERATION: u64 = 1;

/// A context in kernel mode.
#[derive(Debug)]
pub(crate) struct Context<'t> {
    table: &'t RuntimeTable,
    handle: *mut c_void,
}

impl<'t> Context<'t> {
    /// Makes a context on `device`, which is current for this thread.
    pub(crate) fn init(table: &'t RuntimeTable, device: i32) -> Result<Self, Failure> {
        // SAFETY: takes nothing.
        let handle = unsafe { (table.create_device_context)() };
        let context = Self { table, handle };
        if handle.is_null() {
            return Err(context.failure("create_device_context", RuntimeError::Internal.code()));
        }
        // SAFETY: the handle is a live context of ours.
        if unsafe { (table.simpler_kernel_mode_supported)(handle) } != 1 {
            return Err(context.failure("simpler_kernel_mode_supported", RuntimeError::Unsupported.code()));
        }
        let config = CallConfig::default();
        let (none, no_bytes) = (std::ptr::null(), 0);
        // SAFETY:
        // 1. The handle is a live context of ours, used by this thread alone.
        // 2. Each binary is absent: null with size 0. The simulated device brings its own.
        // 3. `config` is readable during the call.
        let code = unsafe {
            (table.simpler_kernel_mode_init)(
                handle,
                device,
                none,
                no_bytes,
                none,
                no_bytes,
                none,
                no_bytes,
                &raw const config,
                CONTEXT_GENERATION,
            )
        };
        context.check("simpler_kernel_mode_init", code)?;
        Ok(context)
    }

    /// Puts an image into the slot, in the order of `stream`. The image's base is 16-aligned.
    pub(crate) fn prepare(&self, image: &[u8], stream: &Stream<'_>) -> Result<(), Failure> {
        let prepare = self.table.simpler_kernel_mode_prepare_callable;
        // SAFETY:
        // 1. The handle is a live context of ours, used by this thread alone; the stream is live too.
        // 2. The image is readable for its length, and nothing writes it during the call.
        let code = unsafe { prepare(self.handle, SLOT, image.as_ptr().cast(), image.len(), stream.handle()) };
        self.check("simpler_kernel_mode_prepare_callable", code)
    }

    /// Enqueues one launch on `stream`.
    pub(crate) fn launch(&self, args: &StorageTaskArgs, stream: &Stream<'_>) -> Result<(), Failure> {
        // SAFETY:
        // 1. The handle is a live context of ours, used by this thread alone; the stream is live too.
        // 2. `args` is readable and 64-aligned by its type, and nothing writes it during the call.
        let code = unsafe { (self.table.simpler_kernel_mode_launch)(self.handle, SLOT, args, stream.handle()) };
        self.check("simpler_kernel_mode_launch", code)
    }

    /// Adds what the context has to say to a failure of something that ran on the device.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        match failure {
            Failure::Call { call, code, name, detail } => {
                Failure::Call { call, code, name, detail: detail + &self.describe_errors() }
            }
            other => other,
        }
    }

    /// Closes the context; what it holds is given back.
    pub(crate) fn close(self) -> Result<(), Failure> {
        // SAFETY: the handle is a live context of ours, used by this thread alone.
        let code = unsafe { (self.table.finalize_device)(self.handle) };
        self.check("finalize_device", code)
    }

    fn check(&self, call: &'static str, code: c_int) -> Result<(), Failure> {
        if code == 0 { Ok(()) } else { Err(self.failure(call, code)) }
    }

    fn failure(&self, call: &'static str, code: c_int) -> Failure {
        // SAFETY: takes a number and gives a string that lives as long as the library, or null.
        let name = unsafe { (self.table.simpler_status_name)(code) };
        // SAFETY: as said above.
        let name = unsafe { text(name) };
        let detail = if self.handle.is_null() { String::new() } else { self.describe_errors() };
        Failure::Call { call, code, name, detail }
    }

    /// The error slots as text; nothing when they are empty.
    fn describe_errors(&self) -> String {
        let mut errors = ContextErrors::default();
        // SAFETY: the handle is a live context of ours; the call writes one structure, to a variable of ours.
        let code = unsafe { (self.table.simpler_context_errors)(self.handle, &raw mut errors) };
        if code == 0 { describe(&errors) } else { String::new() }
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // A context that was closed already answers 0; one that cannot close is left to the end of the process.
        // SAFETY: the handle is null or a context of ours; the entry refuses null.
        let closed = unsafe { (self.table.finalize_device)(self.handle) };
        // SAFETY: as above; the handle is not used again.
        let destroyed = unsafe { (self.table.destroy_device_context)(self.handle) };
        if (closed, destroyed) != (0, 0) && !self.handle.is_null() {
            tracing::warn!("the context was not closed: finalize {closed}, destroy {destroyed}");
        }
    }
}

fn describe(errors: &ContextErrors) -> String {
    let mut text = String::new();
    if errors.refusals != 0 {
        let first = u32::try_from(errors.first_refusal).map(DispatchAnswer::try_from);
        let first = match first {
            Ok(Ok(answer)) => answer.name().to_owned(),
            _ => errors.first_refusal.to_string(),
        };
        text += &format!("; the device refused {}, the first with {first}", count(errors.refusals, "launch"));
    }
    if errors.runtime_error != 0 {
        let (error, vendor) = (errors.runtime_error, errors.runtime_vendor_code);
        text +=
            &format!("; the context is poisoned by {error} (vendor code {vendor}, launch step {})", errors.failed_step);
    }
    if errors.teardown_error != 0 {
        let (error, vendor) = (errors.teardown_error, errors.teardown_vendor_code);
        text += &format!("; closing failed with {error} (vendor code {vendor})");
    }
    if errors.join_unproven != 0 {
        text += "; the stream may not join every branch of the launch";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_slots_are_told_in_words() {
        assert_eq!(describe(&ContextErrors::default()), "");
        let refused = ContextErrors { first_refusal: 5, refusals: 3, ..ContextErrors::default() };
        assert_eq!(describe(&refused), "; the device refused 3 launches, the first with InvalidBinding");
        let poisoned = ContextErrors {
            runtime_error: -1000,
            runtime_vendor_code: 207_005,
            failed_step: 6,
            join_unproven: 1,
            ..ContextErrors::default()
        };
        assert_eq!(
            describe(&poisoned),
            "; the context is poisoned by -1000 (vendor code 207005, launch step 6); the stream may not join every branch of \
             the launch"
        );
    }
}
