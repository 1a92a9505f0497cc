//! Kernel mode: a context that borrows the caller's device and stream.
//!
//! Its platform has no word for owning a device, synchronising or asking about capture, so none of that can be written here. Every
//! entry takes `&self` and may be called from any thread; prepare, launch, release and close exclude each other without waiting.
//! [`KernelContext::errors`] and [`KernelContext::slot_generation`] never disturb an entry that is inside.
//!
//! Dropping a context makes no platform call: a graph may still name its streams and events, so what was not closed leaks by
//! design.
//!
//! | module | entry |
//! | --- | --- |
//! | [`init`] | making everything, or nothing |
//! | [`launch`] | the nine steps |
//! | [`prepare`] | putting callables into slots and taking them out |
//! | [`close`] | letting go, as often as it takes |

mod close;
mod init;
mod launch;
mod prepare;

use std::sync::atomic::{AtomicU8, Ordering};

use tenon_core::arena::{ArenaSizes, Growth, REGIONS};
use tenon_core::entries::ContextState;
use tenon_core::generation::{Generation, SlotIndex};
use tenon_core::phase::{self, Event, Phase};
use tenon_core::table::TableError;
use tenon_core::vocabulary::{ContextOps, EventId, LaunchOps, ResourceOps, StreamId};
use tenon_core::wire::{ContextErrors, StorageTaskArgs};

pub use self::init::{Admission, KernelInit};
use crate::arena::Arena;
use crate::error::ContextError;
use crate::exclusive::Exclusive;
use crate::held::Holdings;
use crate::packet_buffer::PacketBuffer;
use crate::published::Published;
use crate::residency::Residency;

/// What kernel mode asks of a platform.
pub trait KernelPlatform: ContextOps + LaunchOps + ResourceOps {}
impl<P: ContextOps + LaunchOps + ResourceOps> KernelPlatform for P {}

/// A context in kernel mode, from its latch to its end.
#[derive(Debug)]
pub struct KernelContext<P> {
    inner: Exclusive<Inner<P>>,
    published: Published,
    /// [`Inner::phase`], for those that are not inside.
    phase: AtomicU8,
    /// Reads the device's line for those that are not inside.
    observer: Exclusive<P>,
}

/// What the thread inside may change.
#[derive(Debug)]
struct Inner<P> {
    platform: P,
    phase: Phase,
    held: Holdings,
    /// `None` when init failed, and after close.
    live: Option<Live>,
}

/// What a context has between a successful init and its end.
#[derive(Debug)]
struct Live {
    wiring: Wiring,
    residency: Residency,
    arena: Arena,
    packet: Box<PacketBuffer>,
    /// Close has enqueued the end of all slots.
    is_emptied: bool,
    /// `cancelled` is enqueued on some stream.
    is_cancelled: bool,
    /// A record write may land behind any later one.
    is_sequence_open: bool,
    operator_timeout_ms: u32,
}

/// The streams and events of a launch.
#[derive(Clone, Copy, Debug)]
struct Wiring {
    aicpu: StreamId,
    aicore: StreamId,
    start: EventId,
    aicore_done: EventId,
    aicpu_done: EventId,
    record_written: EventId,
}

impl<P: KernelPlatform> KernelContext<P> {
    /// Checks the image, uploads it unless identical bytes are there, and writes the slot's record last, in the order of `caller`.
    /// Gives the generation of the slot's new tenant. Outside capture only.
    ///
    /// # Errors
    /// [`ContextError`]; what it leaves is told at [`Residency::prepare`].
    pub fn prepare(&self, slot: SlotIndex, image: &[u8], caller: StreamId) -> Result<Generation, ContextError> {
        self.enter(|inner| prepare::prepare(inner, &self.published, slot, image, caller))
    }

    /// Empties a slot in the order of `caller`. Outside capture only.
    ///
    /// # Errors
    /// [`ContextError`]; a slot that cannot be emptied keeps its tenant.
    pub fn release(&self, slot: SlotIndex, caller: StreamId) -> Result<(), ContextError> {
        self.enter(|inner| prepare::release(inner, &self.published, slot, caller))
    }

    /// Enqueues one run of the callable in `slot`, between what is on `caller` and what comes next on it. Allocates nothing and
    /// waits for nothing; may be captured.
    ///
    /// # Errors
    /// [`ContextError::LaunchStep`] when a platform call failed, after step 1 with the context poisoned; any other with nothing
    /// enqueued.
    pub fn launch(&self, slot: SlotIndex, args: &StorageTaskArgs, caller: StreamId) -> Result<(), ContextError> {
        self.enter(|inner| launch::launch(inner, &self.published, slot, args, caller))
    }

    /// Lets go of everything, or of what an earlier close has left.
    ///
    /// # Errors
    /// [`ContextError::DeviceBusy`] with nothing freed, or [`ContextError::Vendor`] with the first thing that could not be let go
    /// of; in both cases the context is closing and this may be called again.
    pub fn close(&self) -> Result<(), ContextError> {
        self.enter(|inner| close::close(inner, &self.published))
    }

    /// Asks for these sizes of the arena's regions. A committed region never changes: what is there is enough, or this is refused.
    ///
    /// # Errors
    /// [`ContextError::Arena`], or a failed allocation; every base is as it was.
    pub fn commit_arena(&self, sizes: ArenaSizes) -> Result<(), ContextError> {
        self.enter(|inner| {
            let Inner { platform, phase, held, live } = inner;
            let (_, live) = allowed(*phase, live, Event::Prepare)?;
            live.arena.commit(platform, held, Growth::CommitOnce, sizes).map_err(|failed| {
                failed.teardown.inspect(|error| self.published.note_teardown(*error));
                failed.error
            })
        })
    }

    /// Base addresses of the arena's regions; 0 where nothing is committed.
    ///
    /// # Errors
    /// [`ContextError::Entered`] while another entry is inside.
    pub fn arena_bases(&self) -> Result<[u64; REGIONS], ContextError> {
        self.enter(|inner| Ok(inner.live.as_ref().map_or([0; REGIONS], |live| live.arena.bases())))
    }

    /// How long the platform lets an operator run, in milliseconds, as read at init; 0 means without bound.
    ///
    /// # Errors
    /// [`ContextError::Entered`] while another entry is inside.
    pub fn operator_timeout_ms(&self) -> Result<u32, ContextError> {
        self.enter(|inner| Ok(inner.live.as_ref().map_or(0, |live| live.operator_timeout_ms)))
    }

    /// The generation of the tenant of a slot.
    ///
    /// # Errors
    /// [`ContextError::Table`] when the slot is empty.
    pub fn slot_generation(&self, slot: SlotIndex) -> Result<Generation, ContextError> {
        let empty = ContextError::Table { slot: slot.to_id(), error: TableError::NotResident };
        self.published.generation(slot).ok_or(empty)
    }

    /// The error slots, with what the device has refused so far where the platform can tell without synchronising.
    pub fn errors(&self) -> ContextErrors {
        self.published.errors(&self.observer)
    }

    /// The phase, as the last entry has left it or as the one inside has got so far.
    pub fn phase(&self) -> Phase {
        // Only phases are stored, so the number is always one.
        Phase::try_from(self.phase.load(Ordering::Acquire)).unwrap_or(Phase::Closing)
    }

    /// The column of the table of entries that this context is in.
    pub fn state(&self) -> ContextState {
        self.phase().into()
    }

    /// Enters the context, and shows the phase that it is left in.
    fn enter<R>(&self, act: impl FnOnce(&mut Inner<P>) -> Result<R, ContextError>) -> Result<R, ContextError> {
        let enter = self.inner.enter(|inner| {
            let before = inner.phase;
            let result = act(inner);
            if inner.phase != before {
                self.phase.store(inner.phase.code(), Ordering::Release);
            }
            result
        });
        enter.unwrap_or(Err(ContextError::Entered))
    }
}

/// The phase after `event`, and what there is to work with.
#[inline]
fn allowed(phase: Phase, live: &mut Option<Live>, event: Event) -> Result<(Phase, &mut Live), ContextError> {
    let after = phase::next(phase, event)?;
    // Every phase that allows an event that asks for it came from a successful init.
    let refused = ContextError::Phase(phase::Refused { phase, event });
    live.as_mut().map(|live| (after, live)).ok_or(refused)
}
