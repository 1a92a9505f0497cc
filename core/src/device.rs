//! What a device process gives the device shell, and the shell an operator.
//!
//! These tables cross from one binary to another on the device, so they are C: plain function pointers, a size first.

use core::ffi::c_void;
use core::mem::{offset_of, size_of};

use static_assertions::const_assert_eq;

use crate::wire::Tensor;

/// What an orchestration is given to start its children with (C: `TenonOperatorApi`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OperatorApi {
    /// Bytes of this table, as the device built it.
    pub size: u32,
    /// AICore workers.
    pub aicore_count: u32,
    /// Handed back in every call.
    pub context: *mut c_void,
    /// Starts child `index` of the image over `blocks` blocks on the AICore workers. `tensors` are indices into the orchestration's
    /// own tensors; `scalars` go by value. Children run in the order in which they were started; blocks beyond the number of
    /// workers run in waves.
    ///
    /// Answers 0, or a dispatch answer with nothing started: invalid binding for an index that is out of range, no blocks, counts
    /// that disagree with the child's signature, more than 16 scalars, or an input of the orchestration that the child would write.
    pub start: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            index: u32,
            tensors: *const u32,
            tensor_count: u32,
            scalars: *const u64,
            scalar_count: u32,
            blocks: u32,
        ) -> i32,
    >,
    /// Waits for everything started so far; the first failure, or 0. What is still running when the orchestration returns is
    /// waited for before the launch ends.
    pub wait: Option<unsafe extern "C" fn(context: *mut c_void) -> i32>,
}

/// An orchestration's entry: looks at its arguments and starts children. One AICPU thread enters it. Answers 0, or anything else for
/// failure. Everything that it is given lives until it returns.
pub type Orchestration = unsafe extern "C" fn(
    api: *const OperatorApi,
    tensors: *const Tensor,
    tensor_count: i32,
    scalars: *const u64,
    scalar_count: i32,
) -> i32;

/// A child's entry, called once for each of `blocks` blocks, blocks in parallel. Answers 0, or anything else for failure.
pub type Child = unsafe extern "C" fn(
    tensors: *const *const Tensor,
    tensor_count: u32,
    scalars: *const u64,
    scalar_count: u32,
    block: u32,
    blocks: u32,
) -> i32;

/// Most tensors that a child takes: its 32 signature entries.
pub const MAX_CHILD_TENSORS: usize = 32;
/// Most scalars that a child takes.
pub const MAX_CHILD_SCALARS: usize = 16;

/// One child, ready to run on the AICore workers (C: `TenonAicoreJob`). The platform copies it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AicoreJob {
    /// The child's code.
    pub entry: Option<Child>,
    /// Blocks to run, at least 1.
    pub blocks: u32,
    /// Used entries of `tensors`.
    pub tensor_count: u32,
    /// Used entries of `scalars`.
    pub scalar_count: u32,
    /// 0
    pub reserved: u32,
    /// Tensors of the packet; they live until the launch has ended.
    pub tensors: [*const Tensor; MAX_CHILD_TENSORS],
    /// By value.
    pub scalars: [u64; MAX_CHILD_SCALARS],
}

/// A registered context area, as the platform knows it (C: `TenonAreaInfo`).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct AreaInfo {
    /// Address of the area.
    pub base: u64,
    /// The context generation that was registered with it.
    pub context_generation: u64,
    /// Which area of this device process it is, `0..1024`.
    pub index: u32,
    /// 0
    pub reserved: u32,
}

/// What the device process does for the device shell (C: `TenonAicpuPlatform`).
///
/// Every function may be called from any AICPU thread. `device` is handed back in every call.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct AicpuPlatform {
    /// Bytes of this table.
    pub size: u32,
    /// AICore workers.
    pub aicore_count: u32,
    /// The platform's own.
    pub device: *mut c_void,
    /// Finds the registered area that contains `address`; 1 when found, else 0. Reads nothing at `address`.
    pub find_area: Option<unsafe extern "C" fn(device: *mut c_void, address: u64, out: *mut AreaInfo) -> i32>,
    /// 1 when all of `[address, address + bytes)` is callable memory, else 0.
    pub is_callable_memory: Option<unsafe extern "C" fn(device: *mut c_void, address: u64, bytes: u64) -> i32>,
    /// A verdict was posted in the area at `area`, or an execution of it ended: AICore branches look again.
    pub notify_aicore: Option<unsafe extern "C" fn(device: *mut c_void, area: u64)>,
    /// Queues one child behind those already started by the executing launch of `area`; 0 or a dispatch answer. Copies the job.
    pub aicore_start: Option<unsafe extern "C" fn(device: *mut c_void, area: u64, job: *const AicoreJob) -> i32>,
    /// Waits for everything that the executing launch of `area` started; the first child's non-zero result, or 0.
    pub aicore_wait: Option<unsafe extern "C" fn(device: *mut c_void, area: u64) -> i32>,
    /// The executing launch of `area` has ended, everything it started has been waited for: the AICore branch that works for it
    /// may leave. Called once per *work* verdict, before `busy` goes back to 0.
    pub execution_ended: Option<unsafe extern "C" fn(device: *mut c_void, area: u64)>,
    /// A line of log; not terminated. Level as in syslog: 3 error, 4 warning, 6 info, 7 debug.
    pub log: Option<unsafe extern "C" fn(device: *mut c_void, level: i32, text: *const u8, len: usize)>,
}

const_assert_eq!(offset_of!(OperatorApi, size), 0);
const_assert_eq!(offset_of!(OperatorApi, aicore_count), 4);
const_assert_eq!(offset_of!(OperatorApi, context), 8);
#[cfg(target_pointer_width = "64")]
const_assert_eq!(size_of::<OperatorApi>(), 32);
const_assert_eq!(size_of::<AreaInfo>(), 24);
