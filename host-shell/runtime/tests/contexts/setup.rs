//! Contexts that are ready to be used, and the words in which tests speak of them.
//!

use std::sync::atomic::{AtomicU64, Ordering};

use host_runtime::error::ContextError;
use host_runtime::kernel::{Admission, KernelContext, KernelInit};
use host_runtime::unlatched::UnlatchedContext;
use tenon_core::generation::{Generation, SlotIndex};
use tenon_core::vocabulary::{DeviceImages, StreamId};
use tenon_core::wire::RuntimeEnv;

use crate::fake::{CALLER, FakePlatform, OTHER_CALLER};
use crate::image::Image;

pub(crate) type Kernel = KernelContext<FakePlatform>;

/// A context generation that no other test has: they share a process.
pub(crate) fn new_generation() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

pub(crate) fn request() -> KernelInit {
    // Something in every region of the arena.
    let runtime_env = RuntimeEnv { ring_task_window: [4, 0, 0, 0], ring_heap: [2048; 4], ring_dep_pool: [0, 0, 0, 16] };
    KernelInit { device_id: 0, context_generation: new_generation(), runtime_env }
}

/// Admits, latches and initialises.
pub(crate) fn try_init(platform: &FakePlatform, request: &KernelInit) -> (Kernel, Result<(), ContextError>) {
    let admission = Admission::check(&mut platform.clone(), request).unwrap();
    let permit = UnlatchedContext::new().latch_kernel().unwrap();
    KernelContext::init(permit, admission, platform.clone(), platform.clone(), DeviceImages::default())
}

/// A live context, and its platform with an empty journal.
pub(crate) fn live() -> (FakePlatform, Kernel) {
    let platform = FakePlatform::new();
    let (context, result) = try_init(&platform, &request());
    result.unwrap();
    platform.fake().journal.clear();
    (platform, context)
}

pub(crate) fn slot(id: i32) -> SlotIndex {
    SlotIndex::from_id(id).unwrap()
}

pub(crate) fn caller() -> StreamId {
    StreamId::from_bits(CALLER).unwrap()
}

pub(crate) fn other_caller() -> StreamId {
    StreamId::from_bits(OTHER_CALLER).unwrap()
}

/// Prepares on the caller's stream.
pub(crate) fn prepare(context: &Kernel, id: i32, image: &Image) -> Result<Generation, ContextError> {
    image.with(|bytes| context.prepare(slot(id), bytes, caller()))
}

/// The bytes of an image as they were given.
pub(crate) fn bytes(image: &Image) -> Vec<u8> {
    image.with(<[u8]>::to_vec)
}

pub(crate) fn generation(number: u64) -> Generation {
    Generation::from_bits(number).unwrap()
}
