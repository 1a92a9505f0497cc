//! Callables and runs of program mode: enqueued on own streams and waited for.
//!

use tenon_core::arena::{ArenaPlan, Growth};
use tenon_core::callable::CallableImage;
use tenon_core::contents::LaunchArguments;
use tenon_core::generation::{CallableId, SlotIndex};
use tenon_core::packet::Draft;
use tenon_core::settings::Settings;
use tenon_core::status::DispatchAnswer;
use tenon_core::vocabulary::VendorError;
use tenon_core::wire::{CallConfig, Mode, StorageTaskArgs};

use super::{Inner, Live, ProgramPlatform, Stage, ready};
use crate::error::ContextError;
use crate::published::{Published, read_line};
use crate::residency::Unfinished;

pub(super) fn register<P: ProgramPlatform>(
    inner: &mut Inner<P>,
    published: &Published,
    slot: SlotIndex,
    image: &[u8],
) -> Result<(), ContextError> {
    let live = ready(inner.stage, &mut inner.live)?;
    let image = CallableImage::parse_in_memory(image)?;
    let prepared = live.residency.prepare(&mut inner.platform, &mut inner.held, slot, &image, live.aicpu);
    finish_write(inner, published, slot, prepared.map(|_| ()))
}

pub(super) fn unregister<P: ProgramPlatform>(
    inner: &mut Inner<P>,
    published: &Published,
    slot: SlotIndex,
) -> Result<(), ContextError> {
    let live = ready(inner.stage, &mut inner.live)?;
    if live.residency.tenant(slot).is_err() {
        return Ok(());
    }
    let released = live.residency.release(&mut inner.platform, slot, live.aicpu);
    finish_write(inner, published, slot, released)
}

/// Waits for a record write, also for one that was broken off, and shows the slot's tenant.
fn finish_write<P: ProgramPlatform>(
    inner: &mut Inner<P>,
    published: &Published,
    slot: SlotIndex,
    written: Result<(), Unfinished>,
) -> Result<(), ContextError> {
    let live = ready(inner.stage, &mut inner.live)?;
    published.set_generation(slot, live.residency.generation(slot));
    let landed = inner.platform.synchronize_stream(live.aicpu);
    if let Err(error) = landed {
        inner.give_up(published, error);
    }
    written.map_err(|unfinished| {
        unfinished.teardown.inspect(|error| published.note_teardown(*error));
        unfinished.error
    })?;
    landed.map_err(|error| ContextError::vendor("writing the slot's record", error))
}

pub(super) fn run<P: ProgramPlatform>(
    inner: &mut Inner<P>,
    published: &Published,
    slot: SlotIndex,
    args: &StorageTaskArgs,
    config: &CallConfig,
) -> Result<(), ContextError> {
    let Inner { platform, held, stage, live, .. } = inner;
    let live = ready(*stage, live)?;
    let arguments = LaunchArguments::check(args)?;
    let tenant = live.residency.tenant(slot)?;
    arguments.match_callable(tenant.counts)?;
    let draft = Draft {
        mode: Mode::Program,
        callable: CallableId { slot, generation: tenant.generation },
        residency_address: live.residency.record_address(slot),
        tensors: arguments.tensors,
        scalars: arguments.scalars,
    };
    let packet = draft.emit(&mut live.packet.0)?;
    let settings = Settings::of(config);
    let settings = live.settings.map_or(Ok(settings), |held| held.admit(settings))?;

    // A run asks for what it needs; what an earlier one needed stays.
    let mut sizes = ArenaPlan::for_rings(&{ config.runtime_env })?.sizes();
    for (size, committed) in sizes.iter_mut().zip(live.arena.sizes()) {
        *size = committed.max(*size);
    }
    live.arena.commit(platform, held, Growth::BetweenRuns, sizes).map_err(|failed| {
        failed.teardown.inspect(|error| published.note_teardown(*error));
        failed.error
    })?;
    live.settings = Some(settings);

    // AICore goes first: the AICPU side needs it resident.
    let area = live.residency.area();
    platform
        .launch_aicore(live.aicore, area)
        .map_err(|error| ContextError::vendor("launching the AICore branch", error))?;
    let ran = match platform.launch_program(live.aicpu, packet) {
        Ok(()) => platform.synchronize_stream(live.aicpu),
        Err(error) => {
            // The AICore branch has no verdict to leave with, and will have none from this context again.
            let _best_effort = platform.cancel(live.aicpu, area).and_then(|()| platform.synchronize_stream(live.aicpu));
            *stage = Stage::Unusable;
            published.note_poison(error.code);
            Err(error)
        }
    };
    let left = platform.synchronize_stream(live.aicore);
    let Err(error) = ran.and(left) else { return Ok(()) };
    let failure = explain(platform, live, published, error);
    if !matches!(failure, ContextError::Device(_)) {
        inner.give_up(published, error);
    }
    Err(failure)
}

/// What a failed run was: an answer of the device if it has counted one more, else the vendor's error.
///
/// The device tells which answer it was only for the first one; a later one is told as a failed execution, the only one left that
/// a callable can cause again and again.
fn explain<P: ProgramPlatform>(
    platform: &mut P,
    live: &mut Live,
    published: &Published,
    error: VendorError,
) -> ContextError {
    let line = read_line(platform, live.residency.area()).ok().flatten().filter(|line| line.refusals > live.refusals);
    let Some(line) = line else { return ContextError::vendor("running the callable", error) };
    let is_first = live.refusals == 0;
    live.refusals = line.refusals;
    published.note_line(line);
    let first = DispatchAnswer::try_from(line.first_refusal).ok().filter(|_| is_first);
    ContextError::Device(first.unwrap_or(DispatchAnswer::ExecutionFailed))
}
