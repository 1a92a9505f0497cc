//! The built libraries, loaded as a caller's program loads them.
//!

use core::ffi::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use libloading::os::unix::Library;
use tenon_core::wire::{CallConfig, ContextErrors, StorageTaskArgs};

/// Where `cargo xtask build` has put things: `TENON_BUILD`, else `build/` at the root of the workspace.
///
/// # Panics
/// When nothing was built.
#[must_use]
pub fn build_directory() -> PathBuf {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../build");
    let directory = std::env::var_os("TENON_BUILD").map_or_else(default, PathBuf::from);
    assert!(
        directory.join("lib/libhost_runtime.so.0").exists(),
        "{} is not complete: run `cargo xtask build`",
        directory.display()
    );
    directory
}

/// Declares a library's functions.
///
/// # Grammar
///
/// `Name, "file", "prefix of its symbols" { fn name(argument: C type, …) -> C type; … }`. Each becomes a field.
macro_rules! library {
    ($(#[$doc:meta])* $name:ident, $file:literal, $prefix:literal { $(fn $function:ident($($argument:ident: $ty:ty),* $(,)?) -> $answer:ty;)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            $(
                #[doc = concat!("`", $prefix, stringify!($function), "`; called as its header says.")]
                pub $function: unsafe extern "C" fn($($ty),*) -> $answer,
            )+
        }

        impl $name {
            /// The library, loaded once per process and never let go of.
            ///
            /// # Panics
            /// When it cannot be loaded, or lacks a function.
            pub fn get() -> &'static Self {
                static LOADED: OnceLock<$name> = OnceLock::new();
                LOADED.get_or_init(|| {
                    let path = build_directory().join($file);
                    // SAFETY: a library of this workspace, whose initialisers do nothing that a test could notice.
                    let library = unsafe { Library::new(&path) }.unwrap_or_else(|error| panic!("{error}"));
                    let library = core::mem::ManuallyDrop::new(library);
                    $name { $($function: {
                        let name = concat!($prefix, stringify!($function));
                        // SAFETY: the function has this type: the header that it is declared in is made from the same
                        // sources.
                        *unsafe { library.get(name.as_bytes()) }.unwrap_or_else(|error| panic!("{name}: {error}"))
                    },)+ }
                })
            }
        }
    };
}

library! {
    /// `libtenon_sim`: the vendor's side.
    Sim, "lib/libtenon_sim.so.0", "tenon_sim_" {
        fn set_device(device: i32) -> c_int;
        fn reset_device(device: i32) -> c_int;
        fn create_stream(stream: *mut *mut c_void) -> c_int;
        fn destroy_stream(stream: *mut c_void) -> c_int;
        fn synchronize_stream_with_timeout(stream: *mut c_void, milliseconds: i32) -> c_int;
        fn malloc(device: *mut *mut c_void, size: usize) -> c_int;
        fn free(device: *mut c_void) -> c_int;
        fn memcpy(to: *mut c_void, room: usize, from: *const c_void, size: usize, kind: i32) -> c_int;
        fn memset(to: *mut c_void, room: usize, value: i32, size: usize) -> c_int;
        fn read_device(host: *mut c_void, device: *const c_void, size: usize) -> c_int;
        fn write_value32_async(device: *mut c_void, value: u32, stream: *mut c_void) -> c_int;
        fn capture_begin(stream: *mut c_void, mode: i32) -> c_int;
        fn capture_end(stream: *mut c_void, graph: *mut *mut c_void) -> c_int;
        fn graph_launch(graph: *mut c_void, stream: *mut c_void) -> c_int;
        fn graph_destroy(graph: *mut c_void) -> c_int;
        fn fault_inject(call: *const c_char, nth: u64, code: i32) -> c_int;
        fn fault_clear() -> c_int;
        fn call_count(call: *const c_char, count: *mut u64) -> c_int;
        fn recent_error_message() -> *const c_char;
    }
}

library! {
    /// `libhost_runtime`: every entry.
    Runtime, "lib/libhost_runtime.so.0", "" {
        fn create_device_context() -> *mut c_void;
        fn destroy_device_context(ctx: *mut c_void) -> c_int;
        fn finalize_device(ctx: *mut c_void) -> c_int;
        fn simpler_context_errors(ctx: *mut c_void, out: *mut ContextErrors) -> c_int;
        fn simpler_status_name(code: c_int) -> *const c_char;
        fn simpler_init(
            ctx: *mut c_void, device_id: c_int,
            aicpu: *const u8, aicpu_size: usize, aicore: *const u8, aicore_size: usize, dispatcher: *const u8, dispatcher_size: usize,
            prewarm: *const CallConfig, enable_sdma: c_int, sdma_warmup: *const c_void, sdma_warmup_size: u64,
        ) -> c_int;
        fn simpler_register_callable(ctx: *mut c_void, callable_id: i32, callable: *const c_void) -> c_int;
        fn simpler_register_callable_sized(ctx: *mut c_void, callable_id: i32, callable: *const c_void, size: usize) -> c_int;
        fn simpler_unregister_callable(ctx: *mut c_void, callable_id: i32) -> c_int;
        fn simpler_run(ctx: *mut c_void, callable_id: i32, args: *const StorageTaskArgs, config: *const CallConfig) -> c_int;
        fn device_malloc_ctx(ctx: *mut c_void, size: usize) -> *mut c_void;
        fn device_free_ctx(ctx: *mut c_void, device: *mut c_void) -> c_int;
        fn copy_to_device_ctx(ctx: *mut c_void, device: *mut c_void, host: *const c_void, size: usize) -> c_int;
        fn copy_from_device_ctx(ctx: *mut c_void, host: *mut c_void, device: *const c_void, size: usize) -> c_int;
        fn committed_device_memory_ctx(ctx: *mut c_void) -> usize;
        fn simpler_kernel_mode_supported(ctx: *mut c_void) -> c_int;
        fn simpler_kernel_mode_init(
            ctx: *mut c_void, device_id: c_int,
            aicpu: *const u8, aicpu_size: usize, aicore: *const u8, aicore_size: usize, dispatcher: *const u8, dispatcher_size: usize,
            config: *const CallConfig, context_generation: u64,
        ) -> c_int;
        fn simpler_kernel_mode_prepare_callable(
            ctx: *mut c_void, callable_id: i32, callable: *const c_void, callable_size: usize, caller_stream: *mut c_void,
        ) -> c_int;
        fn simpler_kernel_mode_launch(ctx: *mut c_void, callable_id: i32, args: *const StorageTaskArgs, caller_stream: *mut c_void) -> c_int;
        fn simpler_kernel_mode_release_callable(ctx: *mut c_void, callable_id: i32, caller_stream: *mut c_void) -> c_int;
        fn simpler_kernel_mode_slot_generation(ctx: *mut c_void, callable_id: i32, generation: *mut u64) -> c_int;
    }
}
