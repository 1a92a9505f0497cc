//! What an orchestration starts its children with.
//!
//! An execution remembers the first thing that went wrong, so an orchestration that swallows a child's failure, or a start that was
//! refused, cannot turn it into success. Whatever the orchestration leaves running is waited for before the launch ends.

use core::cell::Cell;
use core::ffi::c_void;

use static_assertions::const_assert_eq;
use tenon_core::callable::start::{ChildStart, StartRefusal, check_start};
use tenon_core::device::{AicoreJob, MAX_CHILD_SCALARS, MAX_CHILD_TENSORS, OperatorApi};
use tenon_core::packet::Invocation;
use tenon_core::status::DispatchAnswer;
use tenon_core::wire::{DispatchPrefix, Tensor};

use crate::code::Callable;
use crate::log::{Level, Line};
use crate::platform::Loaded;
use crate::platform_table::Platform;

/// What an orchestration is told about the size of its table.
const API_BYTES: u32 = 32;
const_assert_eq!(size_of::<OperatorApi>(), API_BYTES as usize);

/// A packet's arguments, in the device's copy of the packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments {
    /// First of the tensors.
    pub(crate) tensors: *const Tensor,
    /// First of the scalars.
    pub(crate) scalars: *const u64,
}

impl Arguments {
    /// Finds the arguments behind a packet's prefix.
    ///
    /// # Safety
    /// `prefix` begins a packet that has the payload which `invocation` says it has.
    pub(crate) unsafe fn after_prefix(prefix: *const DispatchPrefix, invocation: &Invocation) -> Self {
        // SAFETY: one past the prefix is in the packet, or its end: this function's condition.
        let tensors = unsafe { prefix.add(1) };
        // SAFETY: likewise for what follows the tensors.
        let scalars = unsafe { tensors.byte_add(invocation.tensor_bytes()) };
        Self { tensors: tensors.cast(), scalars: scalars.cast() }
    }
}

/// One execution of a callable.
#[derive(Debug)]
pub(crate) struct Execution<'a> {
    platform: &'a Platform,
    /// Address of the context area, by which the platform knows the execution.
    area: u64,
    callable: &'a Callable,
    code: Loaded<'a>,
    arguments: Arguments,
    /// The first thing that went wrong, else success.
    outcome: Cell<DispatchAnswer>,
    /// The first result of a child that was not 0.
    child_result: Cell<i32>,
    /// Something was started since the last wait.
    is_running: Cell<bool>,
}

impl<'a> Execution<'a> {
    /// Puts an execution together.
    pub(crate) const fn new(
        platform: &'a Platform,
        area: u64,
        callable: &'a Callable,
        code: Loaded<'a>,
        arguments: Arguments,
    ) -> Self {
        Self {
            platform,
            area,
            callable,
            code,
            arguments,
            outcome: Cell::new(DispatchAnswer::Success),
            child_result: Cell::new(0),
            is_running: Cell::new(false),
        }
    }

    /// Runs the orchestration and waits for all that it started.
    ///
    /// # Safety
    /// 1. The arguments have as many tensors and scalars as the invocation says, valid and unchanged until this returns.
    /// 2. The execution holds the busy word of its context, so nobody else starts or waits in its name.
    pub(crate) unsafe fn run(&self, invocation: &Invocation) -> DispatchAnswer {
        let api = OperatorApi {
            size: API_BYTES,
            aicore_count: self.platform.aicore_count(),
            context: core::ptr::from_ref(self).cast_mut().cast::<c_void>(),
            start: Some(start),
            wait: Some(wait),
        };
        let orchestration = self.code.orchestration();
        // SAFETY:
        // 1. The table and all it points to live until the call is over; the arguments by condition 1.
        // 2. The counts are below 257, so they are the same numbers as i32.
        let result = unsafe {
            orchestration(
                &raw const api,
                self.arguments.tensors,
                invocation.tensor_count().cast_signed(),
                self.arguments.scalars,
                invocation.scalar_count().cast_signed(),
            )
        };
        self.wait();
        if result != 0 {
            self.fail(DispatchAnswer::ExecutionFailed);
            Line::new("the orchestration answered ").number(result).send(Level::Warning, self.platform);
        }
        self.outcome.get()
    }

    /// Remembers what went wrong, if it is the first.
    fn fail(&self, answer: DispatchAnswer) {
        if self.outcome.get() == DispatchAnswer::Success {
            self.outcome.set(answer);
        }
    }

    /// Starts a child; 0 or a dispatch answer.
    fn start(&self, asked: &ChildStart<'_>, scalars: &[u64]) -> DispatchAnswer {
        let answer = match check_start(self.callable.image(), self.callable.header(), asked) {
            Ok(()) => self.queue(asked, scalars),
            Err(refusal) => {
                self.report(asked.index, refusal);
                DispatchAnswer::InvalidBinding
            }
        };
        if answer != DispatchAnswer::Success {
            self.fail(answer);
        }
        answer
    }

    /// Hands a child that fits its arguments to the AICore workers.
    #[expect(clippy::cast_possible_truncation, reason = "at most 32 tensors: `check_start`")]
    fn queue(&self, asked: &ChildStart<'_>, scalars: &[u64]) -> DispatchAnswer {
        let mut job = AicoreJob {
            entry: self.code.child(asked.index),
            blocks: asked.blocks,
            tensor_count: asked.tensors.len() as u32,
            scalar_count: asked.scalar_count,
            reserved: 0,
            tensors: [core::ptr::null(); MAX_CHILD_TENSORS],
            scalars: [0; MAX_CHILD_SCALARS],
        };
        for (to, index) in job.tensors.iter_mut().zip(asked.tensors) {
            // The index is below the packet's number of tensors: `check_start`.
            *to = self.arguments.tensors.wrapping_add(*index as usize);
        }
        for (to, from) in job.scalars.iter_mut().zip(scalars) {
            *to = *from;
        }
        // Also when it fails: whatever the platform has taken on by then is waited for.
        self.is_running.set(true);
        match self.platform.aicore_start(self.area, &job) {
            0 => DispatchAnswer::Success,
            other => match u32::try_from(other).map(DispatchAnswer::try_from) {
                Ok(Ok(answer)) => answer,
                _ => DispatchAnswer::ExecutionFailed,
            },
        }
    }

    /// Waits for everything started so far; the first result of a child that was not 0, or 0.
    fn wait(&self) -> i32 {
        if self.is_running.replace(false) {
            let result = self.platform.aicore_wait(self.area);
            if result != 0 && self.child_result.get() == 0 {
                self.child_result.set(result);
                self.fail(DispatchAnswer::ExecutionFailed);
                Line::new("a child answered ").number(result).send(Level::Warning, self.platform);
            }
        }
        self.child_result.get()
    }

    #[cold]
    fn report(&self, child: u32, refusal: StartRefusal) {
        let line = Line::new("child ").number(child).text(" is not started: ");
        let line = match refusal {
            StartRefusal::NoSuchChild { children } => line.text("children: ").number(children),
            StartRefusal::NoBlocks => line.text("0 blocks"),
            StartRefusal::TooManyScalars => line.text("more than 16 scalars"),
            StartRefusal::BadChild => line.text("its header breaks a rule"),
            StartRefusal::CountMismatch { tensors, scalars } => {
                line.text("it takes ").number(tensors).text(" tensors and ").number(scalars).text(" scalars")
            }
            StartRefusal::NoSuchTensor { place, index } => {
                line.text("tensor ").number(place).text(" is argument ").number(index).text(", which does not exist")
            }
            StartRefusal::WouldWriteInput { place, index } => line
                .text("tensor ")
                .number(place)
                .text(" would be written, argument ")
                .number(index)
                .text(" is an input"),
        };
        line.send(Level::Warning, self.platform);
    }
}

/// What stands behind `TenonOperatorApi::start`.
///
/// # Safety
/// 1. `context` is the one of the table that the orchestration was given, whose call is not over; on the thread that it was called on.
/// 2. `tensors` and `scalars` are valid for as many elements as their counts say, or the count is 0.
unsafe extern "C" fn start(
    context: *mut c_void,
    index: u32,
    tensors: *const u32,
    tensor_count: u32,
    scalars: *const u64,
    scalar_count: u32,
    blocks: u32,
) -> i32 {
    if context.is_null() {
        return DispatchAnswer::InvalidBinding.code().cast_signed();
    }
    // SAFETY: condition 1; the execution is only read, its cells by this thread alone.
    let execution = unsafe { &*context.cast_const().cast::<Execution<'_>>() };
    // More than any child takes is refused by the counts; the rest of such a list is not looked at.
    let tensor_count = (tensor_count as usize).min(MAX_CHILD_TENSORS + 1);
    let scalars_used = (scalar_count as usize).min(MAX_CHILD_SCALARS);
    let is_list = |is_null: bool, count: usize| !is_null || count == 0;
    if !is_list(tensors.is_null(), tensor_count) || !is_list(scalars.is_null(), scalars_used) {
        execution.fail(DispatchAnswer::InvalidBinding);
        return DispatchAnswer::InvalidBinding.code().cast_signed();
    }
    // SAFETY: condition 2, and not null as was just seen.
    let tensors = unsafe { list(tensors, tensor_count) };
    // SAFETY: as for the tensors.
    let scalars = unsafe { list(scalars, scalars_used) };
    let asked = ChildStart { index, tensors, scalar_count, blocks };
    execution.start(&asked, scalars).code().cast_signed()
}

/// What stands behind `TenonOperatorApi::wait`.
///
/// # Safety
/// `context` is the one of the table that the orchestration was given, whose call is not over; on the thread that it was called on.
unsafe extern "C" fn wait(context: *mut c_void) -> i32 {
    if context.is_null() {
        return DispatchAnswer::InvalidBinding.code().cast_signed();
    }
    // SAFETY: this function's condition; the execution is only read, its cells by this thread alone.
    let execution = unsafe { &*context.cast_const().cast::<Execution<'_>>() };
    execution.wait()
}

/// A list that C names by its start and length; the start may be anything when the length is 0.
///
/// # Safety
/// `start` is aligned and valid for `len` elements, which nobody writes during the life of the result, or `len` is 0.
unsafe fn list<'a, T>(start: *const T, len: usize) -> &'a [T] {
    if len == 0 {
        return &[];
    }
    // SAFETY: this function's condition.
    unsafe { core::slice::from_raw_parts(start, len) }
}
