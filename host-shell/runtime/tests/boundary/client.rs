//! What a C program would write, once.
//!

use core::ffi::{c_int, c_void};
use core::ptr;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use host_runtime::abi;
use tenon_core::wire::{CallConfig, ContextErrors, StorageTaskArgs};

use crate::fake::{CALLER, FakePlatform};
use crate::image::{Image, arguments, image};
use host_runtime::platform::AnyPlatform;

pub(crate) const INTERNAL: c_int = -1000;
pub(crate) const UNSUPPORTED: c_int = -1001;
pub(crate) const INVALID_STATE: c_int = -1003;
pub(crate) const INVALID_ARGUMENT: c_int = -1004;
pub(crate) const COUNT_EXCEEDED: c_int = -1005;
pub(crate) const NOT_RESIDENT: c_int = -1007;

/// A context generation that no other test of this process has.
pub(crate) fn new_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The caller's stream of every fake platform.
pub(crate) fn stream() -> *mut c_void {
    ptr::without_provenance_mut(CALLER)
}

/// A context as C holds it, and the platform behind it. Not destroyed on drop: tests say so themselves.
pub(crate) struct Client {
    pub(crate) context: *mut c_void,
    pub(crate) platform: FakePlatform,
}

/// What `simpler_kernel_mode_init` takes, right until a test changes it.
#[derive(Clone)]
pub(crate) struct Init {
    pub(crate) device_id: c_int,
    pub(crate) binaries: [(*const u8, usize); 3],
    pub(crate) config: *const CallConfig,
    pub(crate) generation: u64,
}

impl Init {
    pub(crate) fn new(config: &CallConfig) -> Self {
        Self { device_id: 0, binaries: [(ptr::null(), 0); 3], config, generation: new_generation() }
    }
}

impl Client {
    pub(crate) fn new() -> Self {
        Self::with(FakePlatform::new())
    }

    pub(crate) fn with(platform: FakePlatform) -> Self {
        let shared = platform.clone();
        let context = abi::create_with_platform(move || Ok(AnyPlatform::new(shared.clone())));
        assert!(!context.is_null());
        Self { context, platform }
    }

    /// The same calls on another handle.
    pub(crate) fn on(&self, context: *mut c_void) -> Self {
        Self { context, platform: self.platform.clone() }
    }

    pub(crate) fn kernel_init_with(&self, init: &Init) -> c_int {
        let [aicpu, aicore, dispatcher] = init.binaries;
        // SAFETY: binaries with an address have the size beside it, or sizes that are refused unread; `config` is null or live.
        unsafe {
            abi::simpler_kernel_mode_init(
                self.context,
                init.device_id,
                aicpu.0,
                aicpu.1,
                aicore.0,
                aicore.1,
                dispatcher.0,
                dispatcher.1,
                init.config,
                init.generation,
            )
        }
    }

    pub(crate) fn kernel_init(&self) -> c_int {
        self.kernel_init_with(&Init::new(&CallConfig::default()))
    }

    pub(crate) fn simpler_init(&self) -> c_int {
        let none = ptr::null();
        // SAFETY: every pointer is null.
        unsafe { abi::simpler_init(self.context, 0, none, 0, none, 0, none, 0, ptr::null(), 0, ptr::null(), 0) }
    }

    pub(crate) fn prepare_with(&self, id: i32, image: *const c_void, len_bytes: usize, stream: *mut c_void) -> c_int {
        // SAFETY: `image` is live for `len_bytes`, or one of both is refused unread.
        unsafe { abi::simpler_kernel_mode_prepare_callable(self.context, id, image, len_bytes, stream) }
    }

    pub(crate) fn prepare(&self, id: i32, image: &Image) -> c_int {
        image.with(|bytes| self.prepare_with(id, bytes.as_ptr().cast(), bytes.len(), stream()))
    }

    pub(crate) fn launch_with(&self, id: i32, args: *const StorageTaskArgs, stream: *mut c_void) -> c_int {
        // SAFETY: `args` is live, or refused unread.
        unsafe { abi::simpler_kernel_mode_launch(self.context, id, args, stream) }
    }

    pub(crate) fn launch(&self, id: i32) -> c_int {
        self.launch_with(id, &raw const *arguments(), stream())
    }

    pub(crate) fn release_with(&self, id: i32, stream: *mut c_void) -> c_int {
        // SAFETY: no pointer is followed.
        unsafe { abi::simpler_kernel_mode_release_callable(self.context, id, stream) }
    }

    pub(crate) fn slot_generation_to(&self, id: i32, out: *mut u64) -> c_int {
        // SAFETY: `out` is null or writable.
        unsafe { abi::simpler_kernel_mode_slot_generation(self.context, id, out) }
    }

    pub(crate) fn slot_generation(&self, id: i32) -> Result<u64, c_int> {
        let mut generation = 0;
        match self.slot_generation_to(id, &raw mut generation) {
            0 => Ok(generation),
            code => Err(code),
        }
    }

    pub(crate) fn errors_to(&self, out: *mut ContextErrors) -> c_int {
        // SAFETY: `out` is null or writable.
        unsafe { abi::simpler_context_errors(self.context, out) }
    }

    pub(crate) fn errors(&self) -> Result<ContextErrors, c_int> {
        let mut errors = ContextErrors::default();
        match self.errors_to(&raw mut errors) {
            0 => Ok(errors),
            code => Err(code),
        }
    }

    pub(crate) fn supported(&self) -> c_int {
        // SAFETY: any handle is allowed.
        unsafe { abi::simpler_kernel_mode_supported(self.context) }
    }

    pub(crate) fn finalize(&self) -> c_int {
        // SAFETY: any handle is allowed.
        unsafe { abi::finalize_device(self.context) }
    }

    pub(crate) fn destroy(&self) -> c_int {
        // SAFETY: any handle is allowed.
        unsafe { abi::destroy_device_context(self.context) }
    }

    pub(crate) fn register(&self, id: i32) -> c_int {
        image(b"code").with(|bytes| {
            // SAFETY: the image is live for its size.
            unsafe { abi::simpler_register_callable_sized(self.context, id, bytes.as_ptr().cast(), bytes.len()) }
        })
    }

    pub(crate) fn register_unsized(&self, id: i32) -> c_int {
        image(b"code").with(|bytes| {
            // SAFETY: the image is live and as long as its header says: a builder made it.
            unsafe { abi::simpler_register_callable(self.context, id, bytes.as_ptr().cast()) }
        })
    }

    pub(crate) fn unregister(&self, id: i32) -> c_int {
        // SAFETY: any handle is allowed.
        unsafe { abi::simpler_unregister_callable(self.context, id) }
    }

    pub(crate) fn run_with(&self, id: i32, args: *const StorageTaskArgs, config: *const CallConfig) -> c_int {
        // SAFETY: both are null, live, or refused unread.
        unsafe { abi::simpler_run(self.context, id, args, config) }
    }

    pub(crate) fn run(&self, id: i32) -> c_int {
        self.run_with(id, &raw const *arguments(), &CallConfig::default())
    }

    pub(crate) fn malloc(&self, len_bytes: usize) -> *mut c_void {
        // SAFETY: any handle is allowed.
        unsafe { abi::device_malloc_ctx(self.context, len_bytes) }
    }

    pub(crate) fn free(&self, device: *mut c_void) -> c_int {
        // SAFETY: any handle and any address are allowed.
        unsafe { abi::device_free_ctx(self.context, device) }
    }

    pub(crate) fn copy_in(&self, device: *mut c_void, host: &[u8]) -> c_int {
        // SAFETY: `host` is live.
        unsafe { abi::copy_to_device_ctx(self.context, device, host.as_ptr().cast(), host.len()) }
    }

    pub(crate) fn copy_out(&self, host: &mut [u8], device: *const c_void) -> c_int {
        // SAFETY: `host` is live.
        unsafe { abi::copy_from_device_ctx(self.context, host.as_mut_ptr().cast(), device, host.len()) }
    }

    pub(crate) fn committed_bytes(&self) -> usize {
        // SAFETY: any handle is allowed.
        unsafe { abi::committed_device_memory_ctx(self.context) }
    }

    /// Platform calls so far.
    pub(crate) fn calls(&self) -> usize {
        self.platform.fake().journal.len()
    }
}

/// Runs the test called `name` in a process of its own: `body` there, and here a look at how it ended.
pub(crate) fn in_process_of_its_own(name: &str, body: impl FnOnce()) -> Option<String> {
    const MARK: &str = "TENON_TEST_CHILD";
    if std::env::var_os(MARK).is_some() {
        body();
        return None;
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(MARK, "1")
        .output()
        .unwrap();
    let log = String::from_utf8_lossy(&child.stderr).into_owned();
    assert!(child.status.success(), "{name} ended with {}:\n{log}", child.status);
    Some(log)
}
