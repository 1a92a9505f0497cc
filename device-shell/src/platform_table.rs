//! The device process's table for the shell, checked once and called safely.
//!

use core::ffi::c_void;

use tenon_core::device::{AicoreJob, AicpuPlatform, AreaInfo};

/// The device process's table, with none of its functions missing.
#[derive(Clone, Copy, Debug)]
pub struct Platform {
    device: *mut c_void,
    aicore_count: u32,
    find_area: unsafe extern "C" fn(*mut c_void, u64, *mut AreaInfo) -> i32,
    is_callable_memory: unsafe extern "C" fn(*mut c_void, u64, u64) -> i32,
    notify_aicore: unsafe extern "C" fn(*mut c_void, u64),
    aicore_start: unsafe extern "C" fn(*mut c_void, u64, *const AicoreJob) -> i32,
    aicore_wait: unsafe extern "C" fn(*mut c_void, u64) -> i32,
    execution_ended: unsafe extern "C" fn(*mut c_void, u64),
    log: unsafe extern "C" fn(*mut c_void, i32, *const u8, usize),
}

// SAFETY: the one field that is not Send is the platform's own pointer, and `Platform::new`'s condition 2 lets every thread use it.
unsafe impl Send for Platform {}
// SAFETY: as above; nothing in here is ever written.
unsafe impl Sync for Platform {}

impl Platform {
    /// Checks a table; `None` when it is smaller than this build's or lacks a function.
    ///
    /// # Safety
    /// 1. The functions are what their fields' types and documentation say, for as long as the result is used.
    /// 2. They may be called from any thread with the table's `device`.
    #[must_use]
    pub unsafe fn new(table: AicpuPlatform) -> Option<Self> {
        if (table.size as usize) < size_of::<AicpuPlatform>() {
            return None;
        }
        Some(Self {
            device: table.device,
            aicore_count: table.aicore_count,
            find_area: table.find_area?,
            is_callable_memory: table.is_callable_memory?,
            notify_aicore: table.notify_aicore?,
            aicore_start: table.aicore_start?,
            aicore_wait: table.aicore_wait?,
            execution_ended: table.execution_ended?,
            log: table.log?,
        })
    }

    /// AICore workers.
    pub(crate) const fn aicore_count(&self) -> u32 {
        self.aicore_count
    }

    /// The registered area that contains `address`.
    #[inline]
    pub(crate) fn find_area(&self, address: u64) -> Option<AreaInfo> {
        let mut area = AreaInfo::default();
        // SAFETY: `new`'s conditions; `area` is a valid place for the answer during the call.
        let found = unsafe { (self.find_area)(self.device, address, &raw mut area) };
        (found == 1).then_some(area)
    }

    /// Whether all of `[address, address + bytes)` is callable memory.
    #[inline]
    pub(crate) fn is_callable_memory(&self, address: u64, bytes: u64) -> bool {
        // SAFETY: `new`'s conditions.
        let answer = unsafe { (self.is_callable_memory)(self.device, address, bytes) };
        answer == 1
    }

    /// Wakes the AICore branches of an area.
    pub(crate) fn notify_aicore(&self, area: u64) {
        // SAFETY: `new`'s conditions.
        unsafe { (self.notify_aicore)(self.device, area) };
    }

    /// Queues one child; 0 or a dispatch answer.
    pub(crate) fn aicore_start(&self, area: u64, job: &AicoreJob) -> i32 {
        // SAFETY: `new`'s conditions; the job is copied during the call.
        unsafe { (self.aicore_start)(self.device, area, job) }
    }

    /// Waits for what the executing launch started; the first child's result that is not 0, or 0.
    pub(crate) fn aicore_wait(&self, area: u64) -> i32 {
        // SAFETY: `new`'s conditions.
        unsafe { (self.aicore_wait)(self.device, area) }
    }

    /// Lets the AICore branch of the executing launch leave.
    pub(crate) fn execution_ended(&self, area: u64) {
        // SAFETY: `new`'s conditions.
        unsafe { (self.execution_ended)(self.device, area) };
    }

    /// Writes a line of log.
    pub(crate) fn log(&self, level: i32, line: &[u8]) {
        // SAFETY: `new`'s conditions; the line is valid for its length during the call.
        unsafe { (self.log)(self.device, level, line.as_ptr(), line.len()) };
    }
}
