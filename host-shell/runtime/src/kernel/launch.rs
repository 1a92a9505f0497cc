//! Launch: the nine steps, and what follows when one fails.
//!
//! The checks come before the first enqueue and the packet is written into the context's own buffer, so what remains is nine calls.
//! The table in [`tenon_core::launch`] decides which, in which order, and what is done about a failure.

use tenon_core::contents::LaunchArguments;
use tenon_core::generation::{CallableId, SlotIndex};
use tenon_core::launch::{Call, Lane, Operation, Recovery, STEPS, Step};
use tenon_core::packet::Draft;
use tenon_core::phase::{Event, next};
use tenon_core::vocabulary::{LaunchOps, StreamId, VendorError};
use tenon_core::wire::{Mode, StorageTaskArgs};

use super::{Inner, Wiring, allowed};
use crate::error::ContextError;
use crate::published::Published;

pub(super) fn launch<P: LaunchOps>(
    inner: &mut Inner<P>,
    published: &Published,
    slot: SlotIndex,
    args: &StorageTaskArgs,
    caller: StreamId,
) -> Result<(), ContextError> {
    let (after, live) = allowed(inner.phase, &mut inner.live, Event::Launch)?;
    let arguments = LaunchArguments::check(args)?;
    let tenant = live.residency.tenant(slot)?;
    arguments.match_callable(tenant.counts)?;
    let draft = Draft {
        mode: Mode::Kernel,
        callable: CallableId { slot, generation: tenant.generation },
        residency_address: live.residency.record_address(slot),
        tensors: arguments.tensors,
        scalars: arguments.scalars,
    };
    let packet = draft.emit(&mut live.packet.0)?;

    let area = live.residency.area();
    let mut branches = Branches { platform: &mut inner.platform, wiring: &live.wiring, caller, area, packet };
    for step in &STEPS {
        if let Err(error) = branches.enqueue(step.lane, step.operation) {
            let failure = recover(&mut branches, *step, error, published);
            live.is_cancelled |= failure.is_cancelled;
            if failure.is_poisoned {
                inner.phase = next(inner.phase, Event::Poison)?;
            }
            return Err(failure.error);
        }
    }
    inner.phase = after;
    Ok(())
}

/// The caller's stream, the two that fork from it, and what a launch puts on them.
struct Branches<'a, P> {
    platform: &'a mut P,
    wiring: &'a Wiring,
    caller: StreamId,
    area: u64,
    packet: &'a [u8],
}

impl<P: LaunchOps> Branches<'_, P> {
    #[inline]
    fn enqueue(&mut self, lane: Lane, operation: Operation) -> Result<(), VendorError> {
        let Wiring { aicpu, aicore, start, aicore_done, aicpu_done, .. } = *self.wiring;
        let stream = match lane {
            Lane::Caller => self.caller,
            Lane::Aicore => aicore,
            Lane::Aicpu => aicpu,
        };
        match operation {
            Operation::RecordStart => self.platform.record_event(start, stream),
            Operation::WaitStart => self.platform.wait_event(stream, start),
            Operation::LaunchAicore => self.platform.launch_aicore(stream, self.area),
            Operation::RecordAicoreDone => self.platform.record_event(aicore_done, stream),
            Operation::LaunchAicpu => self.platform.launch_aicpu(stream, self.packet),
            Operation::RecordAicpuDone => self.platform.record_event(aicpu_done, stream),
            Operation::WaitAicpuDone => self.platform.wait_event(stream, aicpu_done),
            Operation::WaitAicoreDone => self.platform.wait_event(stream, aicore_done),
        }
    }
}

/// A launch that failed, after all that could be done about it.
struct Failure {
    error: ContextError,
    is_poisoned: bool,
    is_cancelled: bool,
}

/// Does what the table says about a failed step. The first error is the one that is reported.
#[cold]
fn recover<P: LaunchOps>(
    branches: &mut Branches<'_, P>,
    step: Step,
    error: VendorError,
    published: &Published,
) -> Failure {
    let mut recovery = Recovery::after(step);
    let mut compensation = None;
    while let Some(call) = recovery.next_call() {
        let result = match call {
            Call::Enqueue(lane, operation) => branches.enqueue(lane, operation),
            Call::Cancel => branches.platform.cancel(branches.caller, branches.area),
        };
        recovery.report(result.is_ok());
        compensation = compensation.or(result.err());
    }
    let outcome = recovery.outcome();
    published.note_launch(outcome);
    if outcome.is_poisoned {
        published.note_poison(error.code);
    }
    Failure {
        error: ContextError::LaunchStep {
            step: outcome.failed_step,
            error,
            compensation,
            is_join_unproven: outcome.is_join_unproven,
        },
        is_poisoned: outcome.is_poisoned,
        is_cancelled: outcome.is_cancelled,
    }
}
