//! What the tests of the vendor library share: one device, checked calls.
//!

use core::ffi::{CStr, c_void};
use core::ptr;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

pub(crate) use tenon_sim::ffi::{device::*, event::*, graph::*, kernel::*, memory::*, stream::*, testing::*};

/// Number of a copy's kind.
pub(crate) const HOST_TO_DEVICE: i32 = 1;
/// Number of a copy's kind.
pub(crate) const DEVICE_TO_HOST: i32 = 2;
/// Number of a copy's kind.
pub(crate) const DEVICE_TO_DEVICE: i32 = 3;
/// Flag of an event.
pub(crate) const SYNC: u32 = 1;

/// Runs an exported function, whose contract the test keeps.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: every pointer that a test passes is null, deliberately wrong as a value, or valid for the call.
        unsafe { $crate::support::$function($($argument),*) }
    };
}
pub(crate) use call;

/// Runs an exported function that has to answer 0.
macro_rules! ok {
    ($function:ident($($argument:expr),* $(,)?)) => {
        assert_eq!($crate::support::call!($function($($argument),*)), 0, "{}", $crate::support::message())
    };
}
pub(crate) use ok;

/// The thread's last message.
pub(crate) fn message() -> String {
    // SAFETY: the function has no condition.
    let text = unsafe { tenon_sim_recent_error_message() };
    // SAFETY: a C string that lives until this thread's next failing call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Tells the library where the device process is that was built with it.
pub(crate) fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("TENON_SIM_DEVICE").is_none() {
            // SAFETY: the tests' threads read the environment through std alone, which locks it.
            unsafe { std::env::set_var("TENON_SIM_DEVICE", env!("CARGO_BIN_EXE_tenon-sim-device")) };
        }
    });
}

/// Device 0, current for this thread. Tests of one program take turns, since faults, captures and counters belong to all.
pub(crate) struct Device {
    _turn: MutexGuard<'static, ()>,
}

impl Device {
    /// Waits for its turn.
    pub(crate) fn new() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        prepare();
        ok!(tenon_sim_set_device(0));
        Self { _turn: turn }
    }

    /// A stream.
    pub(crate) fn stream(&self) -> *mut c_void {
        let mut stream = ptr::null_mut();
        ok!(tenon_sim_create_stream(&raw mut stream));
        stream
    }

    /// An event.
    pub(crate) fn event(&self, flags: u32) -> *mut c_void {
        let mut event = ptr::null_mut();
        ok!(tenon_sim_create_event(&raw mut event, flags));
        event
    }

    /// Device memory, filled with a byte.
    pub(crate) fn memory(&self, bytes: usize, value: u8) -> *mut c_void {
        let mut memory = ptr::null_mut();
        ok!(tenon_sim_malloc(&raw mut memory, bytes));
        ok!(tenon_sim_memset(memory, bytes, value.into(), bytes));
        memory
    }

    /// Pinned host memory, filled with a byte.
    pub(crate) fn pinned(&self, bytes: usize, value: u8) -> *mut u8 {
        let mut memory = ptr::null_mut();
        ok!(tenon_sim_malloc_host(&raw mut memory, bytes));
        // SAFETY: the memory was just given, with `bytes` bytes.
        unsafe { ptr::write_bytes(memory.cast::<u8>(), value, bytes) };
        memory.cast()
    }

    /// What lies in device memory now.
    pub(crate) fn read(&self, memory: *const c_void, bytes: usize) -> Vec<u8> {
        let mut copy = vec![0; bytes];
        ok!(tenon_sim_read_device(copy.as_mut_ptr().cast(), memory, bytes));
        copy
    }

    /// The counters.
    pub(crate) fn stats(&self) -> tenon_sim_stats {
        let mut stats = tenon_sim_stats::default();
        ok!(tenon_sim_get_stats(&raw mut stats));
        stats
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        call!(tenon_sim_fault_clear());
        let answer = call!(tenon_sim_reset_device(0));
        assert!(answer == 0 || std::thread::panicking(), "{}", message());
    }
}

/// Copies of `value` bytes, for comparing.
pub(crate) fn filled(bytes: usize, value: u8) -> Vec<u8> {
    vec![value; bytes]
}
