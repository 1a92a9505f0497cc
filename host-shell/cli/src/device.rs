//! The simulated device through its vendor calls: what a launch borrows.
//!
//! Everything that is made here is given back when it is dropped; what cannot be given back is logged, because the failure that
//! led there is the one to report.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt;
use std::ptr::null_mut;
use std::str::FromStr;

use crate::failure::Failure;
use crate::library::symbol_table;

symbol_table! {
    /// The vendor calls of the simulated device that this command uses (`tenon/sim.h`).
    SimTable "tenon_sim_" {
        fn get_device_count(count: *mut u32) -> c_int;
        fn set_device(device: i32) -> c_int;
        fn reset_device(device: i32) -> c_int;
        fn create_stream(stream: *mut *mut c_void) -> c_int;
        fn destroy_stream(stream: *mut c_void) -> c_int;
        fn synchronize_stream(stream: *mut c_void) -> c_int;
        fn malloc(device: *mut *mut c_void, bytes: usize) -> c_int;
        fn free(device: *mut c_void) -> c_int;
        fn memcpy(to: *mut c_void, room: usize, from: *const c_void, bytes: usize, kind: i32) -> c_int;
        fn get_mem_info(free: *mut usize, total: *mut usize) -> c_int;
        fn capture_begin(stream: *mut c_void, mode: c_int) -> c_int;
        fn capture_end(stream: *mut c_void, graph: *mut *mut c_void) -> c_int;
        fn graph_launch(graph: *mut c_void, stream: *mut c_void) -> c_int;
        fn graph_destroy(graph: *mut c_void) -> c_int;
        fn error_name(code: c_int) -> *const c_char;
        fn recent_error_message() -> *const c_char;
    }
}

/// `aclrtMemcpyKind`: host to device.
const TO_DEVICE: c_int = 1;
/// `aclrtMemcpyKind`: device to host.
const TO_HOST: c_int = 2;
/// `aclmdlRICaptureMode`: other threads are not restricted.
const CAPTURE_THREAD_LOCAL: c_int = 1;

/// `sim` or `sim:INDEX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceName {
    pub(crate) index: i32,
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let index = match text.split_once(':') {
            None if text == "sim" => Some(0),
            Some(("sim", index)) => index.parse().ok().filter(|index| *index >= 0),
            _ => None,
        };
        index.map(|index| Self { index }).ok_or_else(|| "expected sim, or sim:INDEX as in sim:0".to_owned())
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sim:{}", self.index)
    }
}

/// A device that is current for this thread.
#[derive(Debug)]
pub(crate) struct Device<'t> {
    table: &'t SimTable,
    index: i32,
}

/// A stream of our own making.
#[derive(Debug)]
pub(crate) struct Stream<'d> {
    table: &'d SimTable,
    handle: *mut c_void,
}

/// Device memory.
#[derive(Debug)]
pub(crate) struct Buffer<'d> {
    table: &'d SimTable,
    address: *mut c_void,
    bytes: usize,
}

/// A captured graph.
#[derive(Debug)]
pub(crate) struct Graph<'d> {
    table: &'d SimTable,
    handle: *mut c_void,
}

impl SimTable {
    /// Number of devices.
    pub(crate) fn device_count(&self) -> Result<u32, Failure> {
        let mut count = 0;
        // SAFETY: the call writes one u32, to a variable of ours.
        let code = unsafe { (self.get_device_count)(&raw mut count) };
        self.check("tenon_sim_get_device_count", code).map(|()| count)
    }

    /// Turns a code into a failure that says what the device says about it.
    fn check(&self, call: &'static str, code: c_int) -> Result<(), Failure> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: takes a number and gives a string that lives as long as the library, or null.
        let name = unsafe { (self.error_name)(code) };
        // SAFETY: gives a string that stays until this thread's next vendor call, or null.
        let message = unsafe { (self.recent_error_message)() };
        // SAFETY: as said above; copied at once, no vendor call in between.
        let name = unsafe { text(name) };
        // SAFETY: as for the name.
        let message = unsafe { text(message) };
        // The message begins with what is said here already.
        let message = message.strip_prefix(&format!("{code} {name}: ")).unwrap_or(&message);
        let detail = if message.is_empty() { String::new() } else { format!(": {message}") };
        Err(Failure::Call { call, code, name, detail })
    }

    /// For a drop: the failure is logged, nothing else can be done.
    fn log(&self, call: &'static str, code: c_int) {
        if let Err(failure) = self.check(call, code) {
            tracing::warn!("{failure}");
        }
    }
}

impl<'t> Device<'t> {
    /// Makes the device current, and starts it on first use.
    pub(crate) fn open(table: &'t SimTable, name: DeviceName) -> Result<Self, Failure> {
        // SAFETY: takes a number.
        let code = unsafe { (table.set_device)(name.index) };
        table.check("tenon_sim_set_device", code)?;
        Ok(Self { table, index: name.index })
    }

    /// Free and total bytes of device memory.
    pub(crate) fn memory(&self) -> Result<(usize, usize), Failure> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two sizes, to variables of ours.
        let code = unsafe { (self.table.get_mem_info)(&raw mut free, &raw mut total) };
        self.table.check("tenon_sim_get_mem_info", code)?;
        Ok((free, total))
    }

    pub(crate) fn stream(&self) -> Result<Stream<'_>, Failure> {
        let mut handle = null_mut();
        // SAFETY: writes one handle, to a variable of ours.
        let code = unsafe { (self.table.create_stream)(&raw mut handle) };
        self.table.check("tenon_sim_create_stream", code)?;
        Ok(Stream { table: self.table, handle })
    }

    /// Allocates device memory and fills it with `contents`.
    pub(crate) fn buffer(&self, contents: &[u8]) -> Result<Buffer<'_>, Failure> {
        let mut address = null_mut();
        // SAFETY: writes one address, to a variable of ours.
        let code = unsafe { (self.table.malloc)(&raw mut address, contents.len()) };
        self.table.check("tenon_sim_malloc", code)?;
        let buffer = Buffer { table: self.table, address, bytes: contents.len() };
        let (room, from) = (buffer.bytes, contents.as_ptr().cast());
        // SAFETY:
        // 1. `from` is readable for `room` bytes: a slice of that length.
        // 2. `address` is device memory of that size, allocated above.
        // 3. The copy has ended on return: the call is synchronous.
        let code = unsafe { (self.table.memcpy)(address, room, from, room, TO_DEVICE) };
        self.table.check("tenon_sim_memcpy", code)?;
        Ok(buffer)
    }
}

impl<'d> Stream<'d> {
    pub(crate) fn handle(&self) -> *mut c_void {
        self.handle
    }

    /// Waits until everything has ended; the first failure of what ran, once.
    pub(crate) fn synchronize(&self) -> Result<(), Failure> {
        // SAFETY: the handle is a live stream of ours.
        let code = unsafe { (self.table.synchronize_stream)(self.handle) };
        self.table.check("tenon_sim_synchronize_stream", code)
    }

    /// Records what `enqueue` enqueues on this stream.
    pub(crate) fn capture(&self, enqueue: impl FnOnce() -> Result<(), Failure>) -> Result<Graph<'d>, Failure> {
        // SAFETY: the handle is a live stream of ours.
        let code = unsafe { (self.table.capture_begin)(self.handle, CAPTURE_THREAD_LOCAL) };
        self.table.check("tenon_sim_capture_begin", code)?;
        let enqueued = enqueue();
        let mut handle = null_mut();
        // SAFETY: the stream is ours and capturing; the call writes one handle, to a variable of ours.
        let code = unsafe { (self.table.capture_end)(self.handle, &raw mut handle) };
        let ended = self.table.check("tenon_sim_capture_end", code);
        // The first failure is the cause of the second.
        enqueued.and(ended)?;
        Ok(Graph { table: self.table, handle })
    }
}

impl Graph<'_> {
    /// Enqueues one replay.
    pub(crate) fn launch(&self, stream: &Stream<'_>) -> Result<(), Failure> {
        // SAFETY: both handles are live and ours.
        let code = unsafe { (self.table.graph_launch)(self.handle, stream.handle) };
        self.table.check("tenon_sim_graph_launch", code)
    }
}

impl Buffer<'_> {
    /// The device's address; nothing on the host is there.
    pub(crate) fn address(&self) -> u64 {
        self.address.addr() as u64
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Copies everything back.
    pub(crate) fn read(&self) -> Result<Vec<u8>, Failure> {
        let mut contents = vec![0; self.bytes];
        let (room, to) = (self.bytes, contents.as_mut_ptr().cast());
        // SAFETY:
        // 1. `to` is writable for `room` bytes: a vector of that length, which nobody else has.
        // 2. `address` is device memory of that size, alive until this value is dropped.
        // 3. The copy has ended on return: the call is synchronous.
        let code = unsafe { (self.table.memcpy)(to, room, self.address, room, TO_HOST) };
        self.table.check("tenon_sim_memcpy", code).map(|()| contents)
    }
}

impl Drop for Device<'_> {
    fn drop(&mut self) {
        // SAFETY: takes a number.
        let code = unsafe { (self.table.reset_device)(self.index) };
        self.table.log("tenon_sim_reset_device", code);
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is a live stream of ours and is not used again.
        let code = unsafe { (self.table.destroy_stream)(self.handle) };
        self.table.log("tenon_sim_destroy_stream", code);
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: the address came from malloc and is not used again.
        let code = unsafe { (self.table.free)(self.address) };
        self.table.log("tenon_sim_free", code);
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is a live graph of ours and is not used again.
        let code = unsafe { (self.table.graph_destroy)(self.handle) };
        self.table.log("tenon_sim_graph_destroy", code);
    }
}

/// Copies a C string; nothing for null.
///
/// # Safety
/// `pointer` is null or a NUL-terminated string that stays as it is during the call.
pub(crate) unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: not null, and the caller answers for the rest.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_kind_and_an_index() {
        assert_eq!("sim".parse(), Ok(DeviceName { index: 0 }));
        assert_eq!("sim:3".parse(), Ok(DeviceName { index: 3 }));
        for wrong in ["", "npu", "sim:", "sim:-1", "sim:x", "npu:0"] {
            assert!(wrong.parse::<DeviceName>().is_err(), "{wrong}");
        }
    }
}
