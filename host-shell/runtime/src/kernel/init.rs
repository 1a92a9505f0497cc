//! Init: everything is made, or nothing is left.
//!
//! What can be refused without touching a resource is asked before the latch, by [`Admission`]; the context is still fresh then.
//! The area is registered last, because a registered area stays for ever.

use std::sync::atomic::AtomicU8;

use tenon_core::arena::{ArenaPlan, ArenaSizes, Growth};
use tenon_core::phase::{Event, Phase, next};
use tenon_core::vocabulary::{ContextEvent, ContextOps, DeviceImages, EventId, HiddenStream, StreamId};
use tenon_core::wire::RuntimeEnv;

use super::{Inner, KernelContext, KernelPlatform, Live, Wiring};
use crate::arena::Arena;
use crate::context_generation::ContextGeneration;
use crate::error::ContextError;
use crate::exclusive::Exclusive;
use crate::held::{Held, Holdings};
use crate::packet_buffer::PacketBuffer;
use crate::published::Published;
use crate::residency::Residency;
use crate::unlatched::KernelPermit;

/// What the caller of kernel mode names, checked as arguments.
#[derive(Clone, Copy, Debug)]
pub struct KernelInit {
    /// The device that the caller says is current.
    pub device_id: i32,
    /// Minted by the caller, not 0.
    pub context_generation: u64,
    /// Capacity intent.
    pub runtime_env: RuntimeEnv,
}

/// A context that may be made: its device is current, its generation is its own, its rings add up to a size.
///
/// Dropping it without an init gives the generation back.
#[derive(Debug)]
pub struct Admission {
    generation: ContextGeneration,
    sizes: ArenaSizes,
}

impl Admission {
    /// Asks what has to hold before the latch is written.
    ///
    /// # Errors
    /// [`ContextError::Plan`], [`ContextError::CurrentDevice`], [`ContextError::ContextGeneration`],
    /// [`ContextError::NoAreaLeft`]; nothing is changed.
    pub fn check<P: ContextOps>(platform: &mut P, request: &KernelInit) -> Result<Self, ContextError> {
        let sizes = ArenaPlan::for_rings(&request.runtime_env)?.sizes();
        let current = platform.current_device().ok();
        if current != Some(request.device_id) {
            return Err(ContextError::CurrentDevice { current, asked: request.device_id });
        }
        Ok(Self { generation: ContextGeneration::take(request.context_generation)?, sizes })
    }
}

impl<P: KernelPlatform> KernelContext<P> {
    /// Makes everything that a context needs, through `platform`; `observer` reads the device's line for
    /// [`errors`](KernelContext::errors), beside whatever `platform` is doing.
    ///
    /// The context is there even when this fails: it has been latched, and has to be closed like any other. Then nothing is left
    /// of it, unless the roll-back failed too: what it could not undo is kept for close, with the first such failure in the error
    /// slots.
    pub fn init(
        _permit: KernelPermit,
        admission: Admission,
        platform: P,
        observer: P,
        images: DeviceImages<'_>,
    ) -> (Self, Result<(), ContextError>) {
        let published = Published::new();
        let mut inner = Inner { platform, phase: Phase::New, held: Holdings::default(), live: None };
        let made = make(&mut inner.platform, &mut inner.held, &admission, images);
        let (event, result) = match made {
            Ok(live) => {
                published.set_area(live.residency.area());
                admission.generation.keep();
                inner.live = Some(live);
                (Some(Event::Initialise), Ok(()))
            }
            Err(error) => {
                let left = inner.held.let_go_all(&mut inner.platform);
                left.inspect_err(|error| published.note_teardown(*error))
                    .map_or_else(|_| (Some(Event::LeaveHalfMade), Err(error)), |()| (None, Err(error)))
            }
        };
        // New allows both events.
        inner.phase = event.and_then(|event| next(Phase::New, event).ok()).unwrap_or(Phase::New);
        let context = Self {
            phase: AtomicU8::new(inner.phase.code()),
            inner: Exclusive::new(inner),
            published,
            observer: Exclusive::new(observer),
        };
        (context, result)
    }
}

/// Makes one thing after the other; what exists is in `held` when one fails.
fn make<P: KernelPlatform>(
    platform: &mut P,
    held: &mut Holdings,
    admission: &Admission,
    images: DeviceImages<'_>,
) -> Result<Live, ContextError> {
    let operator_timeout_ms =
        platform.operator_timeout_ms().map_err(|error| ContextError::vendor("reading the operator time-out", error))?;
    platform.load_images(images).map_err(|error| ContextError::vendor("loading the device images", error))?;

    let mut stream = |role: HiddenStream| -> Result<StreamId, ContextError> {
        let made =
            platform.create_stream(role).map_err(|error| ContextError::vendor("creating a hidden stream", error))?;
        held.note(Held::Stream(made));
        Ok(made)
    };
    let (aicpu, aicore) = (stream(HiddenStream::Aicpu)?, stream(HiddenStream::Aicore)?);
    let mut event = |role: ContextEvent| -> Result<EventId, ContextError> {
        let made = platform.create_event(role).map_err(|error| ContextError::vendor("creating an event", error))?;
        held.note(Held::Event(made));
        Ok(made)
    };
    let wiring = Wiring {
        aicpu,
        aicore,
        start: event(ContextEvent::Start)?,
        aicore_done: event(ContextEvent::AicoreDone)?,
        aicpu_done: event(ContextEvent::AicpuDone)?,
        record_written: event(ContextEvent::RecordWritten)?,
    };

    let generation = admission.generation.get();
    let residency = Residency::create(platform, held, generation, aicpu, wiring.record_written)?;
    let arena = Arena::create(platform, held, Growth::CommitOnce, admission.sizes)?;
    residency.register(platform, held, generation)?;
    Ok(Live {
        wiring,
        residency,
        arena,
        packet: PacketBuffer::new(),
        is_emptied: false,
        is_cancelled: false,
        is_sequence_open: false,
        operator_timeout_ms,
    })
}
