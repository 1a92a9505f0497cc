//! Init and finalize of program mode: the device is taken first and let go of last.
//!

use tenon_core::arena::{ArenaPlan, ArenaSizes, Growth};
use tenon_core::settings::Settings;
use tenon_core::vocabulary::{ContextEvent, DeviceImages, HiddenStream, StreamId, VendorError};
use tenon_core::wire::CallConfig;

use super::{Inner, Live, ProgramPlatform, Stage};
use crate::arena::Arena;
use crate::context_generation::ContextGeneration;
use crate::error::ContextError;
use crate::held::Held;
use crate::packet_buffer::PacketBuffer;
use crate::published::Published;
use crate::residency::Residency;

/// What the caller of program mode names, checked as arguments.
#[derive(Clone, Copy, Debug)]
pub struct ProgramInit<'a> {
    /// The device to own.
    pub device_id: i32,
    /// Device images.
    pub images: DeviceImages<'a>,
    /// The configuration that runs will have, and what the arena has from the start; `None` leaves both to the first run.
    pub prewarm: Option<&'a CallConfig>,
}

pub(super) fn init<P: ProgramPlatform>(
    inner: &mut Inner<P>,
    published: &Published,
    request: &ProgramInit<'_>,
) -> Result<(), ContextError> {
    if inner.stage != Stage::New {
        return Err(ContextError::Program(inner.stage.describe()));
    }
    let sizes =
        request.prewarm.map_or(Ok(ArenaPlan::new()), |config| ArenaPlan::for_rings(&{ config.runtime_env }))?.sizes();
    // What an earlier init could not undo is in the way of this one.
    let_go(inner).map_err(|error| ContextError::vendor("undoing an earlier init", error))?;
    let generation = ContextGeneration::mint()?;
    match make(inner, request, &generation, sizes) {
        Ok(live) => {
            published.set_area(live.residency.area());
            generation.keep();
            inner.live = Some(live);
            inner.stage = Stage::Ready;
            Ok(())
        }
        Err(error) => {
            if let Err(error) = let_go(inner) {
                published.note_teardown(error);
            }
            Err(error)
        }
    }
}

fn make<P: ProgramPlatform>(
    inner: &mut Inner<P>,
    request: &ProgramInit<'_>,
    generation: &ContextGeneration,
    sizes: ArenaSizes,
) -> Result<Live, ContextError> {
    let Inner { platform, held, device, .. } = inner;
    platform.set_device(request.device_id).map_err(|error| ContextError::vendor("taking the device", error))?;
    *device = Some(request.device_id);
    platform.load_images(request.images).map_err(|error| ContextError::vendor("loading the device images", error))?;

    let mut stream = |role: HiddenStream| -> Result<StreamId, ContextError> {
        let made = platform.create_stream(role).map_err(|error| ContextError::vendor("creating a stream", error))?;
        held.note(Held::Stream(made));
        Ok(made)
    };
    let (aicpu, aicore) = (stream(HiddenStream::Aicpu)?, stream(HiddenStream::Aicore)?);
    let record_written = platform
        .create_event(ContextEvent::RecordWritten)
        .map_err(|error| ContextError::vendor("creating an event", error))?;
    held.note(Held::Event(record_written));

    let residency = Residency::create(platform, held, generation.get(), aicpu, record_written)?;
    platform.synchronize_stream(aicpu).map_err(|error| ContextError::vendor("writing the context area", error))?;
    let arena = Arena::create(platform, held, Growth::BetweenRuns, sizes)?;
    residency.register(platform, held, generation.get())?;
    Ok(Live {
        aicpu,
        aicore,
        residency,
        arena,
        packet: PacketBuffer::new(),
        settings: request.prewarm.map(Settings::of),
        refusals: 0,
    })
}

pub(super) fn finalize<P: ProgramPlatform>(inner: &mut Inner<P>, published: &Published) -> Result<(), ContextError> {
    if inner.stage == Stage::Finalized {
        return Ok(());
    }
    inner.stage = Stage::Closing;
    published.empty_all_slots();
    let closed = match inner.live.as_mut() {
        Some(live) => quiesce(&mut inner.platform, live),
        None => Ok(()),
    }
    .and_then(|()| {
        inner.live = None;
        let_go(inner)
    });
    if let Err(error) = closed {
        published.note_teardown(error);
        if !error.is_device_lost {
            return Err(ContextError::vendor("finalising the context", error));
        }
        // Nobody can free the memory of a lost device, and nobody needs it reset by us.
        inner.held.abandon();
        inner.device = None;
    }
    inner.live = None;
    inner.user.forget_all();
    inner.stage = Stage::Finalized;
    Ok(())
}

/// Empties the slots and waits until nothing of this context is on the device.
fn quiesce<P: ProgramPlatform>(platform: &mut P, live: &mut Live) -> Result<(), VendorError> {
    live.residency.empty_all(platform, live.aicpu)?;
    for stream in [live.aicpu, live.aicore] {
        // The first wait may report a failure of something that ran long ago; only a second one is about the wait itself.
        platform.synchronize_stream(stream).or_else(|_| platform.synchronize_stream(stream))?;
    }
    Ok(())
}

/// Lets go of all that is held, then of the device.
fn let_go<P: ProgramPlatform>(inner: &mut Inner<P>) -> Result<(), VendorError> {
    inner.held.let_go_all(&mut inner.platform)?;
    if let Some(device) = inner.device {
        inner.platform.reset_device(device)?;
        inner.device = None;
    }
    Ok(())
}
