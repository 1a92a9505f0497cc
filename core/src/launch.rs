//! The launch sequence and its compensation, as data.
//!
//! Both device branches fork from the caller's stream and join it again. AICore goes first: the AICPU side needs it resident.
//!
#![doc = concat!("```text\n", include_str!("launch_steps.txt"), "```")]
//!
//! [`STEPS`] is that table. A shell performs the steps in order; at the first failure it asks a [`Recovery`] what to do next and
//! tells it how that went, until there is nothing left. `refuse` is a plain refusal, since nothing was enqueued. `poison` latches
//! the phase and cancels: where the list says `cancel`, else at the end, and only once. A step that a list names (`step8`) is that
//! step with its own `again`. What a list names without a number is tried once.
//!
//! Two rules keep the caller's stream from waiting for what may never come: a Done event is waited for only if this launch has
//! recorded it, and after a failed cancel nobody waits for AICore, whose branch then has no verdict to leave with. Where a wait was
//! left out or failed, the join is not proven.

closed_enum! {
    /// Where an operation of a launch is enqueued.
    pub enum Lane: u8 {
        /// The caller's stream.
        Caller = 0,
        /// The context's hidden stream for AICore.
        Aicore = 1,
        /// The context's hidden stream for the AICPU.
        Aicpu = 2,
    }
}

closed_enum! {
    /// What a launch enqueues.
    pub enum Operation: u8 {
        /// Records Start.
        RecordStart = 0,
        /// Waits for Start.
        WaitStart = 1,
        /// Launches the AICore branch.
        LaunchAicore = 2,
        /// Records AicoreDone.
        RecordAicoreDone = 3,
        /// Launches the AICPU branch with the packet, which the call copies.
        LaunchAicpu = 4,
        /// Records AicpuDone.
        RecordAicpuDone = 5,
        /// Waits for AicpuDone.
        WaitAicpuDone = 6,
        /// Waits for AicoreDone.
        WaitAicoreDone = 7,
    }
}

/// One thing to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Nothing was enqueued: answer the error and leave the context as it is.
    Refuse,
    /// Try the failed step once more.
    Again,
    /// Write `cancelled` in the order of the caller's stream.
    Cancel,
    /// Try this operation once.
    Do(Lane, Operation),
    /// Perform this step, and once more if it fails.
    Step(u8),
    /// Latch the phase; cancel if that was not tried yet.
    Poison,
}

/// One row of the launch sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// From 1, as the error slots report it.
    pub number: u8,
    /// Where.
    pub lane: Lane,
    /// What.
    pub operation: Operation,
    /// What to do when it fails.
    pub on_failure: &'static [Remedy],
}

/// The sequence, in order.
pub const STEPS: [Step; 9] = {
    use Lane::{Aicore, Aicpu, Caller};
    use Operation::{
        LaunchAicore, LaunchAicpu, RecordAicoreDone, RecordAicpuDone, RecordStart, WaitAicoreDone, WaitAicpuDone,
        WaitStart,
    };
    use Remedy::{Again, Cancel, Do, Poison, Refuse, Step};

    const fn step(number: u8, lane: Lane, operation: Operation, on_failure: &'static [Remedy]) -> self::Step {
        self::Step { number, lane, operation, on_failure }
    }
    [
        step(1, Caller, RecordStart, &[Refuse]),
        step(2, Aicore, WaitStart, &[Poison]),
        step(3, Aicore, LaunchAicore, &[Do(Aicore, RecordAicoreDone), Do(Caller, WaitAicoreDone), Poison]),
        step(4, Aicore, RecordAicoreDone, &[Cancel, Do(Aicore, RecordAicoreDone), Do(Caller, WaitAicoreDone), Poison]),
        step(5, Aicpu, WaitStart, &[Cancel, Do(Caller, WaitAicoreDone), Poison]),
        step(
            6,
            Aicpu,
            LaunchAicpu,
            &[Cancel, Do(Aicpu, RecordAicpuDone), Do(Caller, WaitAicpuDone), Do(Caller, WaitAicoreDone), Poison],
        ),
        step(7, Aicpu, RecordAicpuDone, &[Again, Step(8), Step(9), Cancel, Poison]),
        step(8, Caller, WaitAicpuDone, &[Again, Step(9), Cancel, Poison]),
        step(9, Caller, WaitAicoreDone, &[Again, Cancel, Poison]),
    ]
};

/// What a shell does next in a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Enqueue this operation there.
    Enqueue(Lane, Operation),
    /// Write `cancelled` in the order of the caller's stream.
    Cancel,
}

/// How a failed launch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The step whose failure is reported.
    pub failed_step: u8,
    /// The context is poisoned; otherwise this was a plain refusal.
    pub is_poisoned: bool,
    /// The caller's stream may not join every branch.
    pub is_join_unproven: bool,
    /// `cancelled` was enqueued, so the device refuses from there on.
    pub is_cancelled: bool,
}

/// Plans what follows a failed step: what to call next, given how every call so far went.
#[derive(Clone, Debug)]
pub struct Recovery {
    failed: Step,
    rest: &'static [Remedy],
    pending: Option<Pending>,
    is_aicore_done_recorded: bool,
    is_aicpu_done_recorded: bool,
    cancel: Cancellation,
    is_poisoned: bool,
    is_join_unproven: bool,
}

/// A call whose result is not known yet, or which is to be made once more.
#[derive(Clone, Copy, Debug)]
struct Pending {
    call: Call,
    tries_left: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cancellation {
    Untried,
    Enqueued,
    Failed,
}

impl Recovery {
    /// The recovery of a launch whose `failed` step is the first that failed: all before it have succeeded.
    #[must_use]
    pub const fn after(failed: Step) -> Self {
        Self {
            failed,
            rest: failed.on_failure,
            pending: None,
            is_aicore_done_recorded: failed.number > 4,
            is_aicpu_done_recorded: failed.number > 7,
            cancel: Cancellation::Untried,
            is_poisoned: false,
            is_join_unproven: false,
        }
    }

    /// The next call to make; its result goes to [`report`](Self::report). `None` when the recovery has ended.
    pub fn next_call(&mut self) -> Option<Call> {
        while self.pending.is_none() {
            let (remedy, rest) = self.rest.split_first()?;
            self.rest = rest;
            self.pending = self.plan(*remedy);
        }
        self.pending.map(|pending| pending.call)
    }

    /// Takes the result of the call that [`next_call`](Self::next_call) gave.
    pub fn report(&mut self, is_success: bool) {
        let Some(Pending { call, tries_left }) = self.pending.take() else { return };
        match (call, is_success) {
            (Call::Cancel, true) => self.cancel = Cancellation::Enqueued,
            (Call::Cancel, false) => self.cancel = Cancellation::Failed,
            (Call::Enqueue(_, Operation::RecordAicoreDone), true) => self.is_aicore_done_recorded = true,
            (Call::Enqueue(_, Operation::RecordAicpuDone), true) => self.is_aicpu_done_recorded = true,
            (Call::Enqueue(..), true) => {}
            (Call::Enqueue(_, operation), false) => match tries_left.checked_sub(1) {
                Some(tries_left) if tries_left > 0 => self.pending = Some(Pending { call, tries_left }),
                _ => self.is_join_unproven |= is_join(operation),
            },
        }
    }

    /// How the launch ended. Meaningful once [`next_call`](Self::next_call) has answered `None`.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        Outcome {
            failed_step: self.failed.number,
            is_poisoned: self.is_poisoned,
            is_join_unproven: self.is_join_unproven,
            is_cancelled: matches!(self.cancel, Cancellation::Enqueued),
        }
    }

    /// The call that a remedy asks for, if it asks for one here.
    fn plan(&mut self, remedy: Remedy) -> Option<Pending> {
        match remedy {
            Remedy::Refuse => None,
            Remedy::Poison => {
                self.is_poisoned = true;
                self.plan_cancel()
            }
            Remedy::Cancel => self.plan_cancel(),
            Remedy::Again => self.plan_operation(self.failed.lane, self.failed.operation, 1),
            Remedy::Do(lane, operation) => self.plan_operation(lane, operation, 1),
            Remedy::Step(number) => {
                let step = STEPS.iter().find(|step| step.number == number)?;
                self.plan_operation(step.lane, step.operation, 2)
            }
        }
    }

    fn plan_cancel(&self) -> Option<Pending> {
        matches!(self.cancel, Cancellation::Untried).then_some(Pending { call: Call::Cancel, tries_left: 1 })
    }

    fn plan_operation(&mut self, lane: Lane, operation: Operation, tries_left: u8) -> Option<Pending> {
        let may_wait = match operation {
            Operation::WaitAicoreDone => self.is_aicore_done_recorded && self.cancel != Cancellation::Failed,
            Operation::WaitAicpuDone => self.is_aicpu_done_recorded,
            _ => true,
        };
        if may_wait {
            Some(Pending { call: Call::Enqueue(lane, operation), tries_left })
        } else {
            self.is_join_unproven = true;
            None
        }
    }
}

/// Whether the caller's stream joins a branch by `operation`.
const fn is_join(operation: Operation) -> bool {
    matches!(operation, Operation::WaitAicoreDone | Operation::WaitAicpuDone)
}

#[cfg(test)]
mod tests;
