//! A platform that only records: what is left is what a launch costs the host.
//!
//! It allocates nothing, asks the system for nothing and never fails. Device memory is numbers that nobody looks behind.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};

use host_runtime::kernel::{Admission, KernelContext, KernelInit, KernelPlatform};
use host_runtime::unlatched::UnlatchedContext;
use tenon_core::generation::SlotIndex;
use tenon_core::vocabulary::{
    ContextEvent, ContextOps, DeviceImages, DeviceOwnership, EventId, HiddenStream, LaunchOps, MemoryKind, OrderOps,
    PinnedId, ResourceOps, StreamId, VendorError,
};
use tenon_core::wire::RuntimeEnv;

use crate::image::image;

/// Entries that are kept; older ones are overwritten.
pub(crate) const KEPT: usize = 64;

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// Everything that a launch may not say.
    Other,
    Wait,
    Record,
    LaunchAicpu,
    LaunchAicore,
    Cancel,
}

/// What was written down. One thread at a time writes, since a context lets only one in; so nothing here is added to atomically.
#[derive(Debug)]
pub(crate) struct Tape {
    /// Word, stream and argument of each call.
    pub(crate) entries: [[AtomicU64; 3]; KEPT],
    written: AtomicUsize,
}

impl Tape {
    /// Calls so far.
    pub(crate) fn written(&self) -> usize {
        self.written.load(Relaxed)
    }
}

/// The platform; a clone writes on the same tape.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    tape: Arc<Tape>,
    next_handle: usize,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        let entries = [const { [const { AtomicU64::new(0) }; 3] }; KEPT];
        Self { tape: Arc::new(Tape { entries, written: AtomicUsize::new(0) }), next_handle: 1 }
    }

    pub(crate) fn tape(&self) -> Arc<Tape> {
        Arc::clone(&self.tape)
    }

    fn note(&mut self, word: Word, stream: usize, argument: u64) -> Result<(), VendorError> {
        let written = self.tape.written.load(Relaxed);
        let [at_word, at_stream, at_argument] = &self.tape.entries[written % KEPT];
        at_word.store(word as u64, Relaxed);
        at_stream.store(stream as u64, Relaxed);
        at_argument.store(argument, Relaxed);
        self.tape.written.store(written + 1, Relaxed);
        Ok(())
    }

    fn handle(&mut self) -> usize {
        self.next_handle += 64;
        self.next_handle
    }
}

/// A live context on a recorder, with an operator of two tensors and a scalar in slot 0.
pub(crate) fn context<P: KernelPlatform>(platform: P, observer: P) -> KernelContext<P> {
    static NEXT_GENERATION: AtomicU64 = AtomicU64::new(1);
    let request = KernelInit {
        device_id: 0,
        context_generation: NEXT_GENERATION.fetch_add(1, Relaxed),
        runtime_env: RuntimeEnv::default(),
    };
    let mut platform = platform;
    let admission = Admission::check(&mut platform, &request).expect("device 0 is current");
    let permit = UnlatchedContext::new().latch_kernel().expect("a new latch");
    let (context, result) = KernelContext::init(permit, admission, platform, observer, DeviceImages::default());
    result.expect("a recorder never fails");
    image(b"code").with(|bytes| context.prepare(slot(), bytes, stream())).expect("a valid image");
    context
}

/// The slot that [`context`] prepares.
pub(crate) fn slot() -> SlotIndex {
    SlotIndex::from_id(0).expect("below 64")
}

/// The caller's stream.
pub(crate) fn stream() -> StreamId {
    StreamId::from_bits(8).expect("not null")
}

impl ContextOps for Recorder {
    fn current_device(&mut self) -> Result<i32, VendorError> {
        Ok(0)
    }

    fn operator_timeout_ms(&mut self) -> Result<u32, VendorError> {
        Ok(0)
    }

    fn create_stream(&mut self, _role: HiddenStream) -> Result<StreamId, VendorError> {
        Ok(StreamId::from_bits(self.handle()).expect("not null"))
    }

    fn destroy_stream(&mut self, stream: StreamId) -> Result<(), VendorError> {
        self.note(Word::Other, stream.to_bits(), 0)
    }

    fn create_event(&mut self, _role: ContextEvent) -> Result<EventId, VendorError> {
        Ok(EventId::from_bits(self.handle()).expect("not null"))
    }

    fn destroy_event(&mut self, event: EventId) -> Result<(), VendorError> {
        self.note(Word::Other, 0, event.to_bits() as u64)
    }
}

impl OrderOps for Recorder {
    fn wait_event(&mut self, stream: StreamId, event: EventId) -> Result<(), VendorError> {
        self.note(Word::Wait, stream.to_bits(), event.to_bits() as u64)
    }

    fn record_event(&mut self, event: EventId, stream: StreamId) -> Result<(), VendorError> {
        self.note(Word::Record, stream.to_bits(), event.to_bits() as u64)
    }
}

impl LaunchOps for Recorder {
    fn launch_aicpu(&mut self, stream: StreamId, packet: &[u8]) -> Result<(), VendorError> {
        // The packet's bytes must be there, as they must for a vendor that copies them.
        black_box(packet);
        self.note(Word::LaunchAicpu, stream.to_bits(), packet.len() as u64)
    }

    fn launch_aicore(&mut self, stream: StreamId, area: u64) -> Result<(), VendorError> {
        self.note(Word::LaunchAicore, stream.to_bits(), area)
    }

    fn cancel(&mut self, stream: StreamId, area: u64) -> Result<(), VendorError> {
        self.note(Word::Cancel, stream.to_bits(), area)
    }
}

impl ResourceOps for Recorder {
    fn load_images(&mut self, _images: DeviceImages<'_>) -> Result<(), VendorError> {
        self.note(Word::Other, 0, 0)
    }

    fn allocate_device(&mut self, _kind: MemoryKind, bytes: u64, align: u64) -> Result<u64, VendorError> {
        self.note(Word::Other, 0, bytes)?;
        Ok((self.handle() as u64).next_multiple_of(align))
    }

    fn free_device(&mut self, _kind: MemoryKind, address: u64) -> Result<(), VendorError> {
        self.note(Word::Other, 0, address)
    }

    fn allocate_pinned(&mut self, bytes: usize) -> Result<PinnedId, VendorError> {
        self.note(Word::Other, 0, bytes as u64)?;
        Ok(PinnedId::from_bits(self.handle()).expect("not null"))
    }

    fn free_pinned(&mut self, pinned: PinnedId) -> Result<(), VendorError> {
        self.note(Word::Other, 0, pinned.to_bits() as u64)
    }

    fn write_pinned(&mut self, _pinned: PinnedId, offset: usize, _bytes: &[u8]) -> Result<(), VendorError> {
        self.note(Word::Other, 0, offset as u64)
    }

    fn copy_to_device(
        &mut self,
        stream: StreamId,
        device: u64,
        _pinned: PinnedId,
        _offset: usize,
        _bytes: usize,
    ) -> Result<(), VendorError> {
        self.note(Word::Other, stream.to_bits(), device)
    }

    fn register_area(&mut self, area: u64, _context_generation: u64) -> Result<(), VendorError> {
        self.note(Word::Other, 0, area)
    }

    fn read_area(&mut self, area: u64, _offset: u64, _out: &mut [u8]) -> Result<bool, VendorError> {
        self.note(Word::Other, 0, area)?;
        Ok(false)
    }
}

impl DeviceOwnership for Recorder {
    fn set_device(&mut self, _device: i32) -> Result<(), VendorError> {
        self.note(Word::Other, 0, 0)
    }

    fn reset_device(&mut self, _device: i32) -> Result<(), VendorError> {
        self.note(Word::Other, 0, 0)
    }

    fn launch_program(&mut self, stream: StreamId, _packet: &[u8]) -> Result<(), VendorError> {
        self.note(Word::Other, stream.to_bits(), 0)
    }

    fn synchronize_stream(&mut self, stream: StreamId) -> Result<(), VendorError> {
        self.note(Word::Other, stream.to_bits(), 0)
    }

    fn copy_in(&mut self, device: u64, _host: &[u8]) -> Result<(), VendorError> {
        self.note(Word::Other, 0, device)
    }

    fn copy_out(&mut self, _host: &mut [u8], device: u64) -> Result<(), VendorError> {
        self.note(Word::Other, 0, device)
    }
}
