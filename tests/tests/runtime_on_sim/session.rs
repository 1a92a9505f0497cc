//! A caller: a device, a stream, a context, and operators in its slots.
//!

use core::ffi::{CStr, c_int, c_void};
use core::ptr;
use std::ffi::CString;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tenon_core::wire::{CallConfig, ContextErrors, DataType, StorageTaskArgs, Tensor};
use tenon_tests::libraries::{Runtime, Sim, build_directory};
use zerocopy::FromZeros as _;

/// What a synchronise answers when an AICPU entry answered other than 0 (ACL: `ACL_ERROR_RT_AICPU_EXCEPTION`).
pub(crate) const AICPU_EXCEPTION: c_int = 507_018;
pub(crate) const INTERNAL: c_int = -1000;
pub(crate) const INVALID_STATE: c_int = -1003;
/// A synchronise that takes longer has hung.
const LONGEST_WAIT_MS: i32 = 20_000;
const HOST_TO_DEVICE: i32 = 1;

/// Words of the faulty operator's trace, and what it can be told; see its `behaviour.h`.
pub(crate) mod faulty {
    pub(crate) const GATE: usize = 0;
    pub(crate) const ENTERED: usize = 1;
    pub(crate) const BLOCKS: usize = 2;
    pub(crate) const WORDS: usize = 5;
    pub(crate) const SUCCEED: u64 = 0;
    pub(crate) const FAIL: u64 = 1;
    pub(crate) const WAIT_AT_GATE: u64 = 13;
}

/// Faults, counts and device processes belong to the process, so sessions come one at a time.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    // A test that failed has poisoned nothing but itself.
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device that is current, and one stream of the caller's.
pub(crate) struct Device {
    pub(crate) sim: &'static Sim,
    pub(crate) stream: *mut c_void,
    _turn: MutexGuard<'static, ()>,
}

impl Device {
    pub(crate) fn new() -> Self {
        let turn = one_at_a_time();
        let sim = Sim::get();
        // SAFETY: no pointer.
        vendor(unsafe { (sim.set_device)(0) });
        let stream = new_stream(sim);
        Self { sim, stream, _turn: turn }
    }

    /// Waits for `stream`; what it answers.
    pub(crate) fn synchronize(&self, stream: *mut c_void) -> c_int {
        // SAFETY: no pointer that is followed.
        let answer = unsafe { (self.sim.synchronize_stream_with_timeout)(stream, LONGEST_WAIT_MS) };
        assert_ne!(answer, 507_046, "the stream hangs");
        answer
    }

    /// Lets go of the device and takes it again: it starts anew, and every handle from before names nothing. Not for streams of this
    /// value afterwards.
    pub(crate) fn restart(&self) {
        // SAFETY: no pointer.
        vendor(unsafe { (self.sim.reset_device)(0) });
        // SAFETY: no pointer.
        vendor(unsafe { (self.sim.set_device)(0) });
    }

    /// Device memory with these words in it.
    pub(crate) fn words(&self, words: &[u32]) -> *mut c_void {
        let (mut device, size) = (ptr::null_mut(), size_of_val(words));
        // SAFETY: `device` is writable.
        vendor(unsafe { (self.sim.malloc)(&raw mut device, size) });
        self.write(device, words);
        device
    }

    pub(crate) fn write(&self, device: *mut c_void, words: &[u32]) {
        let size = size_of_val(words);
        // SAFETY: `words` is readable; the rest is a device address.
        vendor(unsafe { (self.sim.memcpy)(device, size, words.as_ptr().cast(), size, HOST_TO_DEVICE) });
    }

    /// What `count` words at a device address are now, whatever the streams are doing.
    pub(crate) fn read(&self, device: *const c_void, count: usize) -> Vec<u32> {
        let mut words = vec![0_u32; count];
        // SAFETY: `words` is writable; the rest is a device address.
        vendor(unsafe { (self.sim.read_device)(words.as_mut_ptr().cast(), device, count * 4) });
        words
    }

    /// Captures what `enqueue` puts on the caller's stream; its graph, or what ending the capture answered.
    pub(crate) fn try_capture(&self, enqueue: impl FnOnce()) -> Result<*mut c_void, c_int> {
        // SAFETY: no pointer that is followed.
        vendor(unsafe { (self.sim.capture_begin)(self.stream, 0) });
        enqueue();
        let mut graph = ptr::null_mut();
        // SAFETY: `graph` is writable.
        match unsafe { (self.sim.capture_end)(self.stream, &raw mut graph) } {
            0 => Ok(graph),
            code => Err(code),
        }
    }

    pub(crate) fn replay(&self, graph: *mut c_void, stream: *mut c_void) {
        // SAFETY: no pointer that is followed.
        vendor(unsafe { (self.sim.graph_launch)(graph, stream) });
    }

    /// Calls of a name so far.
    pub(crate) fn count(&self, call: &str) -> u64 {
        let (name, mut count) = (CString::new(call).unwrap(), 0);
        // SAFETY: `name` is terminated and `count` writable.
        vendor(unsafe { (self.sim.call_count)(name.as_ptr(), &raw mut count) });
        count
    }

    /// Makes the `nth` call from now fail with `code`.
    pub(crate) fn fail(&self, call: &str, nth: u64, code: c_int) {
        let name = CString::new(call).unwrap();
        // SAFETY: `name` is terminated.
        vendor(unsafe { (self.sim.fault_inject)(name.as_ptr(), nth, code) });
    }

    pub(crate) fn clear_faults(&self) {
        // SAFETY: no pointer.
        vendor(unsafe { (self.sim.fault_clear)() });
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.clear_faults();
        // SAFETY: no pointer that is followed. A test that failed may have left work on the stream: nothing to be said
        // about that.
        unsafe { (self.sim.destroy_stream)(self.stream) };
        // SAFETY: no pointer.
        unsafe { (self.sim.reset_device)(0) };
    }
}

pub(crate) fn new_stream(sim: &Sim) -> *mut c_void {
    let mut stream = ptr::null_mut();
    // SAFETY: `stream` is writable.
    vendor(unsafe { (sim.create_stream)(&raw mut stream) });
    stream
}

/// A call of the simulator that has to work.
#[track_caller]
pub(crate) fn vendor(code: c_int) {
    let message = || {
        // SAFETY: no requirements.
        let text = unsafe { (Sim::get().recent_error_message)() };
        // SAFETY: the text is terminated, and stays until this thread's next failed call.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    };
    assert_eq!(code, 0, "{}", message());
}

/// A context on a device.
pub(crate) struct Context<'d> {
    pub(crate) device: &'d Device,
    pub(crate) runtime: &'static Runtime,
    pub(crate) handle: *mut c_void,
}

impl<'d> Context<'d> {
    /// Without a mode.
    pub(crate) fn fresh(device: &'d Device) -> Self {
        let runtime = Runtime::get();
        // SAFETY: no requirements.
        let handle = unsafe { (runtime.create_device_context)() };
        assert!(!handle.is_null());
        Self { device, runtime, handle }
    }

    /// In kernel mode.
    pub(crate) fn live(device: &'d Device) -> Self {
        let context = Self::fresh(device);
        assert_eq!(context.init(), 0);
        context
    }

    pub(crate) fn init(&self) -> c_int {
        self.init_with(&[])
    }

    /// Initialises with a device image of the caller's; empty for the platform's own.
    pub(crate) fn init_with(&self, aicpu: &[u8]) -> c_int {
        static GENERATION: AtomicU64 = AtomicU64::new(1);
        let (none, config) = (ptr::null(), CallConfig::default());
        let image = if aicpu.is_empty() { none } else { aicpu.as_ptr() };
        let (init, generation) = (self.runtime.simpler_kernel_mode_init, GENERATION.fetch_add(1, Ordering::Relaxed));
        // SAFETY: pointers are null or live.
        unsafe { init(self.handle, 0, image, aicpu.len(), none, 0, none, 0, &raw const config, generation) }
    }

    pub(crate) fn prepare(&self, id: i32, image: &Image) -> c_int {
        // SAFETY: the image is live.
        unsafe {
            (self.runtime.simpler_kernel_mode_prepare_callable)(
                self.handle,
                id,
                image.address(),
                image.len_bytes,
                self.device.stream,
            )
        }
    }

    pub(crate) fn launch(&self, id: i32, args: &StorageTaskArgs) -> c_int {
        self.launch_on(id, args, self.device.stream)
    }

    pub(crate) fn launch_on(&self, id: i32, args: &StorageTaskArgs, stream: *mut c_void) -> c_int {
        // SAFETY: the arguments are live.
        unsafe { (self.runtime.simpler_kernel_mode_launch)(self.handle, id, args, stream) }
    }

    pub(crate) fn release(&self, id: i32) -> c_int {
        // SAFETY: no pointer that is followed.
        unsafe { (self.runtime.simpler_kernel_mode_release_callable)(self.handle, id, self.device.stream) }
    }

    pub(crate) fn errors(&self) -> ContextErrors {
        let mut errors = ContextErrors::default();
        // SAFETY: `errors` is writable.
        assert_eq!(unsafe { (self.runtime.simpler_context_errors)(self.handle, &raw mut errors) }, 0);
        errors
    }

    pub(crate) fn finalize(&self) -> c_int {
        // SAFETY: any handle is allowed.
        unsafe { (self.runtime.finalize_device)(self.handle) }
    }

    pub(crate) fn destroy(&self) -> c_int {
        // SAFETY: any handle is allowed.
        unsafe { (self.runtime.destroy_device_context)(self.handle) }
    }

    /// Captures one launch.
    pub(crate) fn capture(&self, id: i32, args: &StorageTaskArgs) -> *mut c_void {
        self.device.try_capture(|| assert_eq!(self.launch(id, args), 0)).expect("a capture without faults")
    }

    /// Finalizes and destroys.
    pub(crate) fn close(&self) {
        assert_eq!(self.finalize(), 0);
        assert_eq!(self.destroy(), 0);
    }
}

/// A callable image, 16-aligned.
pub(crate) struct Image {
    words: Vec<u128>,
    pub(crate) len_bytes: usize,
}

impl Image {
    /// The operator of that name, as it was packed.
    pub(crate) fn of(name: &str) -> Self {
        let path = build_directory().join(format!("operators/{name}/{name}.callable"));
        let bytes =
            fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}: run `cargo xtask build`", path.display()));
        let words = bytes.chunks(16).map(|chunk| {
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        });
        Self { words: words.collect(), len_bytes: bytes.len() }
    }

    pub(crate) fn address(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }
}

/// Arguments of so many vectors, then scalars.
pub(crate) fn arguments(vectors: &[(*mut c_void, usize, DataType)], scalars: &[u64]) -> Box<StorageTaskArgs> {
    let mut args: Box<StorageTaskArgs> = Box::new(StorageTaskArgs::new_zeroed());
    for (tensor, (device, elements, dtype)) in args.tensors.iter_mut().zip(vectors) {
        let count = u32::try_from(*elements).unwrap();
        *tensor = Tensor {
            addr: device.addr() as u64,
            size: 4 * u64::from(count),
            ndims: 1,
            dtype: dtype.code(),
            is_contiguous: 1,
            address_space: 1,
            shapes: [count, 0, 0, 0, 0],
            extent_elem: u64::from(count),
            strides: [1, 0, 0, 0, 0],
            ..Tensor::default()
        };
    }
    args.scalars[..scalars.len()].copy_from_slice(scalars);
    args.tensor_count = i32::try_from(vectors.len()).unwrap();
    args.scalar_count = i32::try_from(scalars.len()).unwrap();
    args
}

/// Arguments of the faulty operator: its trace, another tensor, what it is told.
pub(crate) fn tell_faulty(
    trace: *mut c_void,
    other: *mut c_void,
    behaviour: u64,
    argument: u64,
) -> Box<StorageTaskArgs> {
    let words = DataType::U32;
    arguments(&[(trace, faulty::WORDS, words), (other, faulty::WORDS, words)], &[behaviour, argument])
}
