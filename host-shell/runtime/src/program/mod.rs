//! Program mode: a context that owns its device.
//!
//! It keeps the same area, records and images as kernel mode, on streams of its own, and waits for everything it starts: when an
//! entry has returned, nothing of it is left on the device. So its arena may grow between two runs. Its entries exclude each other
//! without waiting, like those of kernel mode.
//!
//! | module | entries |
//! | --- | --- |
//! | [`init`] | init, finalize |
//! | [`run`] | register, unregister, run |
//! | [`memory`] | the caller's device memory |

mod init;
mod memory;
mod run;

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use tenon_core::entries::ContextState;
use tenon_core::generation::SlotIndex;
use tenon_core::settings::Settings;
use tenon_core::vocabulary::{DeviceOwnership, StreamId, VendorError};
use tenon_core::wire::{CallConfig, ContextErrors, StorageTaskArgs};

pub use self::init::ProgramInit;
use self::memory::UserMemory;
use crate::arena::Arena;
use crate::error::ContextError;
use crate::exclusive::Exclusive;
use crate::held::Holdings;
use crate::kernel::KernelPlatform;
use crate::packet_buffer::PacketBuffer;
use crate::published::Published;
use crate::residency::Residency;
use crate::unlatched::ProgramPermit;

/// What program mode asks of a platform: everything.
pub trait ProgramPlatform: KernelPlatform + DeviceOwnership {}
impl<P: KernelPlatform + DeviceOwnership> ProgramPlatform for P {}

/// A context in program mode, from its latch to its end.
#[derive(Debug)]
pub struct ProgramContext<P> {
    inner: Exclusive<Inner<P>>,
    published: Published,
    /// [`Inner::stage`], for those that are not inside.
    stage: AtomicU8,
    committed_bytes: AtomicU64,
    /// Reads the device's line for those that are not inside.
    observer: Exclusive<P>,
}

/// What the thread inside may change.
#[derive(Debug)]
struct Inner<P> {
    platform: P,
    stage: Stage,
    held: Holdings,
    /// The device that init has taken and nobody has let go of yet.
    device: Option<i32>,
    user: UserMemory,
    live: Option<Live>,
}

/// What a context has between a successful init and its end.
#[derive(Debug)]
struct Live {
    aicpu: StreamId,
    aicore: StreamId,
    residency: Residency,
    arena: Arena,
    packet: Box<PacketBuffer>,
    /// What runs have in common; `None` until one has said.
    settings: Option<Settings>,
    /// Refusals on the device that have been answered already.
    refusals: u64,
}

/// Where a program-mode context is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Stage {
    /// Not initialised, or init failed.
    New = 0,
    Ready = 1,
    /// A failure has left something on the device that is not known; only finalize is left.
    Unusable = 2,
    /// Finalize has begun.
    Closing = 3,
    Finalized = 4,
}

impl Stage {
    const ALL: [Self; 5] = [Self::New, Self::Ready, Self::Unusable, Self::Closing, Self::Finalized];

    const fn describe(self) -> &'static str {
        match self {
            Self::New => "not initialised",
            Self::Ready => "initialised already",
            Self::Unusable => "unusable after a failure, finalize is left",
            Self::Closing => "being finalised",
            Self::Finalized => "finalised",
        }
    }
}

impl<P: ProgramPlatform> ProgramContext<P> {
    /// A context that is latched and not yet initialised; `observer` reads the device's line for [`errors`](Self::errors).
    pub fn new(_permit: ProgramPermit, platform: P, observer: P) -> Self {
        let inner = Inner {
            platform,
            stage: Stage::New,
            held: Holdings::default(),
            device: None,
            user: UserMemory::default(),
            live: None,
        };
        Self {
            inner: Exclusive::new(inner),
            published: Published::new(),
            stage: AtomicU8::new(Stage::New as u8),
            committed_bytes: AtomicU64::new(0),
            observer: Exclusive::new(observer),
        }
    }

    /// Takes the device and makes everything that a context needs. After a failure nothing is left, and it may be tried again.
    ///
    /// # Errors
    /// [`ContextError::Program`] where it was initialised before; else what stopped it.
    pub fn init(&self, request: &ProgramInit<'_>) -> Result<(), ContextError> {
        self.enter(|inner| init::init(inner, &self.published, request))
    }

    /// Puts a callable into a slot.
    ///
    /// # Errors
    /// [`ContextError`]; what it leaves is as for prepare in kernel mode.
    pub fn register(&self, slot: SlotIndex, image: &[u8]) -> Result<(), ContextError> {
        self.enter(|inner| run::register(inner, &self.published, slot, image))
    }

    /// Empties a slot; an empty one stays empty.
    ///
    /// # Errors
    /// [`ContextError`]; a slot that cannot be emptied keeps its tenant.
    pub fn unregister(&self, slot: SlotIndex) -> Result<(), ContextError> {
        self.enter(|inner| run::unregister(inner, &self.published, slot))
    }

    /// Runs the callable in `slot` and waits for its end. Where `config` asks for more than the arena has, the arena grows first.
    ///
    /// # Errors
    /// [`ContextError::Settings`] for another configuration than the context was prepared with, nothing is run.
    /// [`ContextError::Device`] when the device refused or the callable reported failure; the context goes on. Others are what
    /// stopped it on the host.
    pub fn run(&self, slot: SlotIndex, args: &StorageTaskArgs, config: &CallConfig) -> Result<(), ContextError> {
        self.enter(|inner| run::run(inner, &self.published, slot, args, config))
    }

    /// Allocates device memory for the caller.
    ///
    /// # Errors
    /// [`ContextError::NotAllocated`] for no bytes, or the failed allocation.
    pub fn malloc(&self, bytes: u64) -> Result<u64, ContextError> {
        self.enter(|inner| memory::malloc(inner, bytes))
    }

    /// Gives device memory back.
    ///
    /// # Errors
    /// [`ContextError::NotAllocated`] unless `address` came from [`malloc`](Self::malloc) and was not given back since.
    pub fn free(&self, address: u64) -> Result<(), ContextError> {
        self.enter(|inner| memory::free(inner, &self.published, address))
    }

    /// Copies to device memory that came from [`malloc`](Self::malloc).
    ///
    /// # Errors
    /// [`ContextError::NotAllocated`] for a range that is not inside one allocation, or the failed copy.
    pub fn copy_in(&self, address: u64, host: &[u8]) -> Result<(), ContextError> {
        self.enter(|inner| memory::copy_in(inner, address, host))
    }

    /// Copies from device memory that came from [`malloc`](Self::malloc).
    ///
    /// # Errors
    /// [`ContextError::NotAllocated`] for a range that is not inside one allocation, or the failed copy.
    pub fn copy_out(&self, host: &mut [u8], address: u64) -> Result<(), ContextError> {
        self.enter(|inner| memory::copy_out(inner, host, address))
    }

    /// Device memory that this context holds, in bytes: its area, its images, its arena and the caller's allocations.
    pub fn committed_bytes(&self) -> u64 {
        self.committed_bytes.load(Ordering::Acquire)
    }

    /// Lets go of everything, the caller's memory and the device included. A retry does what is left.
    ///
    /// # Errors
    /// The first thing that could not be let go of.
    pub fn finalize(&self) -> Result<(), ContextError> {
        self.enter(|inner| init::finalize(inner, &self.published))
    }

    /// The error slots.
    pub fn errors(&self) -> ContextErrors {
        self.published.errors(&self.observer)
    }

    /// The column of the table of entries that this context is in.
    pub fn state(&self) -> ContextState {
        let stage = Stage::ALL.get(usize::from(self.stage.load(Ordering::Acquire)));
        match stage {
            Some(Stage::New) | None => ContextState::ProgramInitFailed,
            Some(Stage::Ready | Stage::Unusable | Stage::Closing) => ContextState::Program,
            Some(Stage::Finalized) => ContextState::Finalized,
        }
    }

    /// Enters the context, and shows the stage and the bytes that it is left with.
    fn enter<R>(&self, act: impl FnOnce(&mut Inner<P>) -> Result<R, ContextError>) -> Result<R, ContextError> {
        let entered = self.inner.enter(|inner| {
            let result = act(inner);
            self.stage.store(inner.stage as u8, Ordering::Release);
            self.committed_bytes.store(inner.committed_bytes(), Ordering::Release);
            result
        });
        entered.unwrap_or(Err(ContextError::Entered))
    }
}

impl<P> Inner<P> {
    fn committed_bytes(&self) -> u64 {
        self.user.bytes() + self.live.as_ref().map_or(0, |live| live.residency.device_bytes() + live.arena.bytes())
    }

    fn refuse_unless_ready(&self) -> Result<(), ContextError> {
        if self.stage == Stage::Ready { Ok(()) } else { Err(ContextError::Program(self.stage.describe())) }
    }

    /// Gives the context up for everything but finalize.
    fn give_up(&mut self, published: &Published, error: VendorError) {
        self.stage = Stage::Unusable;
        published.note_poison(error.code);
    }
}

/// What there is to work with, if the context is ready.
fn ready(stage: Stage, live: &mut Option<Live>) -> Result<&mut Live, ContextError> {
    match live {
        Some(live) if stage == Stage::Ready => Ok(live),
        _ => Err(ContextError::Program(stage.describe())),
    }
}
