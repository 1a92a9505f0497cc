//! One type for whichever platform the process uses.
//!

use tenon_core::vocabulary::{
    ContextEvent, ContextOps, DeviceImages, DeviceOwnership, EventId, HiddenStream, LaunchOps, MemoryKind, OrderOps,
    PinnedId, ResourceOps, StreamId, VendorError,
};

/// All four vocabularies, and free to move between threads as the caller's calls do.
pub trait Platform: ContextOps + LaunchOps + ResourceOps + DeviceOwnership + Send {}

impl<P: ContextOps + LaunchOps + ResourceOps + DeviceOwnership + Send> Platform for P {}

/// A platform that was chosen at run time. A call costs one indirect jump more than the platform's own.
pub struct AnyPlatform(Box<dyn Platform>);

impl AnyPlatform {
    /// Takes a platform.
    pub fn new(platform: impl Platform + 'static) -> Self {
        Self(Box::new(platform))
    }
}

impl core::fmt::Debug for AnyPlatform {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("AnyPlatform")
    }
}

/// Implements a vocabulary by handing every word on.
///
/// # Grammar
///
/// `Trait { fn word(argument: Type, …) -> Answer; … }`, as in the trait itself; every word takes `&mut self` and
/// answers `Result<Answer, VendorError>`.
macro_rules! hand_on {
    ($vocabulary:ident { $(fn $word:ident($($argument:ident: $ty:ty),*) -> $answer:ty;)+ }) => {
        impl $vocabulary for AnyPlatform {
            $(
                #[inline]
                fn $word(&mut self, $($argument: $ty),*) -> Result<$answer, VendorError> {
                    self.0.$word($($argument),*)
                }
            )+
        }
    };
}

hand_on!(ContextOps {
    fn current_device() -> i32;
    fn operator_timeout_ms() -> u32;
    fn create_stream(role: HiddenStream) -> StreamId;
    fn destroy_stream(stream: StreamId) -> ();
    fn create_event(role: ContextEvent) -> EventId;
    fn destroy_event(event: EventId) -> ();
});

hand_on!(OrderOps {
    fn wait_event(stream: StreamId, event: EventId) -> ();
    fn record_event(event: EventId, stream: StreamId) -> ();
});

hand_on!(LaunchOps {
    fn launch_aicpu(stream: StreamId, packet: &[u8]) -> ();
    fn launch_aicore(stream: StreamId, area: u64) -> ();
    fn cancel(stream: StreamId, area: u64) -> ();
});

hand_on!(ResourceOps {
    fn load_images(images: DeviceImages<'_>) -> ();
    fn allocate_device(kind: MemoryKind, bytes: u64, align: u64) -> u64;
    fn free_device(kind: MemoryKind, address: u64) -> ();
    fn allocate_pinned(bytes: usize) -> PinnedId;
    fn free_pinned(pinned: PinnedId) -> ();
    fn write_pinned(pinned: PinnedId, offset: usize, bytes: &[u8]) -> ();
    fn copy_to_device(stream: StreamId, device: u64, pinned: PinnedId, offset: usize, bytes: usize) -> ();
    fn register_area(area: u64, context_generation: u64) -> ();
    fn read_area(area: u64, offset: u64, out: &mut [u8]) -> bool;
});

hand_on!(DeviceOwnership {
    fn set_device(device: i32) -> ();
    fn reset_device(device: i32) -> ();
    fn launch_program(stream: StreamId, packet: &[u8]) -> ();
    fn synchronize_stream(stream: StreamId) -> ();
    fn copy_in(device: u64, host: &[u8]) -> ();
    fn copy_out(host: &mut [u8], device: u64) -> ();
});
