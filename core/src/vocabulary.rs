//! The operations that a context may use, given to it as closed sets.
//!
//! A function that launches takes a [`LaunchOps`]: synchronising, allocating or asking about capture cannot be written there,
//! because the words do not exist. Kernel mode's type holds [`ContextOps`], [`LaunchOps`] and [`ResourceOps`]; only program
//! mode's type also holds [`DeviceOwnership`].
//!
//! Platforms (the simulated device, ACL, recording stand-ins in tests) implement these traits and nothing else.

use core::num::NonZeroUsize;

/// A failed platform call: the vendor's own number, kept beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorError {
    /// What the vendor's call returned.
    pub code: i32,
    /// Name of the vendor's call.
    pub call: &'static str,
    /// The device is gone: its memory is left alone and the context closes.
    pub is_device_lost: bool,
}

/// A vendor's stream handle. Its value means nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(NonZeroUsize);

/// A vendor's event handle. Its value means nothing here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventId(NonZeroUsize);

/// Pinned host memory that the platform holds for a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PinnedId(NonZeroUsize);

macro_rules! handle {
    ($name:ident) => {
        impl $name {
            /// Makes the handle from the vendor's value; `None` for null.
            #[must_use]
            pub const fn from_bits(bits: usize) -> Option<Self> {
                match NonZeroUsize::new(bits) {
                    Some(bits) => Some(Self(bits)),
                    None => None,
                }
            }

            /// The vendor's value.
            #[must_use]
            pub const fn to_bits(self) -> usize {
                self.0.get()
            }
        }
    };
}
handle!(StreamId);
handle!(EventId);
handle!(PinnedId);

closed_enum! {
    /// The two streams that a context makes for itself.
    pub enum HiddenStream: u8 {
        /// Carries the AICPU branch of a launch, and the record writes of close.
        Aicpu = 0,
        /// Carries the AICore branch.
        Aicore = 1,
    }
}

closed_enum! {
    /// The four events that a context makes for itself.
    pub enum ContextEvent: u8 {
        /// The caller's stream reached the launch.
        Start = 0,
        /// The AICore branch ended.
        AicoreDone = 1,
        /// The AICPU branch ended.
        AicpuDone = 2,
        /// The last record write of this context landed.
        RecordWritten = 3,
    }
}

closed_enum! {
    /// What device memory is for; platforms may place the kinds differently.
    pub enum MemoryKind: u8 {
        /// The context area. Never given back before the device process ends.
        Area = 0,
        /// A callable image. The platform gives a base that is 32 more than a multiple of 64 where it can.
        Callable = 1,
        /// A region of the arena.
        Arena = 2,
        /// The caller's own (program mode).
        User = 3,
    }
}

/// The three binaries of an init entry; an empty slice where the platform brings its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceImages<'a> {
    /// The device shell.
    pub aicpu: &'a [u8],
    /// The AICore image.
    pub aicore: &'a [u8],
    /// The dispatcher.
    pub dispatcher: &'a [u8],
}

/// Device identity, the hidden streams and the events.
pub trait ContextOps {
    /// The calling thread's current device.
    ///
    /// # Errors
    /// The vendor's, when there is none.
    fn current_device(&mut self) -> Result<i32, VendorError>;
    /// Reads, never sets, how long an operator may run, in milliseconds; 0 means without bound.
    ///
    /// # Errors
    /// The vendor's.
    fn operator_timeout_ms(&mut self) -> Result<u32, VendorError>;
    /// Creates one of the hidden streams.
    ///
    /// # Errors
    /// The vendor's.
    fn create_stream(&mut self, role: HiddenStream) -> Result<StreamId, VendorError>;
    /// Destroys a hidden stream.
    ///
    /// # Errors
    /// The vendor's; the handle may be tried again.
    fn destroy_stream(&mut self, stream: StreamId) -> Result<(), VendorError>;
    /// Creates one of the four events, usable inside a capture.
    ///
    /// # Errors
    /// The vendor's.
    fn create_event(&mut self, role: ContextEvent) -> Result<EventId, VendorError>;
    /// Destroys an event.
    ///
    /// # Errors
    /// The vendor's; the handle may be tried again.
    fn destroy_event(&mut self, event: EventId) -> Result<(), VendorError>;
}

/// Order between streams.
pub trait OrderOps {
    /// What is enqueued on `stream` from now on waits for `event`'s last record.
    ///
    /// # Errors
    /// The vendor's; inside a capture the capture is then invalid.
    fn wait_event(&mut self, stream: StreamId, event: EventId) -> Result<(), VendorError>;
    /// Marks the place in `stream`.
    ///
    /// # Errors
    /// The vendor's; inside a capture the capture is then invalid.
    fn record_event(&mut self, event: EventId, stream: StreamId) -> Result<(), VendorError>;
}

/// All that a launch may do. No synchronise, no allocation, no question about capture exists here.
pub trait LaunchOps: OrderOps {
    /// Enqueues the device entry with a copy of `packet`; the bytes are the caller's again on return.
    ///
    /// # Errors
    /// The vendor's; nothing was enqueued.
    fn launch_aicpu(&mut self, stream: StreamId, packet: &[u8]) -> Result<(), VendorError>;
    /// Enqueues the AICore branch, which waits for one verdict of the area at `area`.
    ///
    /// # Errors
    /// The vendor's; nothing was enqueued.
    fn launch_aicore(&mut self, stream: StreamId, area: u64) -> Result<(), VendorError>;
    /// Writes `cancelled` of the area at `area`, in the order of `stream`.
    ///
    /// # Errors
    /// The vendor's; `cancelled` was not written.
    fn cancel(&mut self, stream: StreamId, area: u64) -> Result<(), VendorError>;
}

/// Memory and what fills it: init, prepare, release and close only.
pub trait ResourceOps: OrderOps {
    /// Makes the device images known to the device, once per context.
    ///
    /// # Errors
    /// The vendor's, also for an image that the device cannot load.
    fn load_images(&mut self, images: DeviceImages<'_>) -> Result<(), VendorError>;
    /// Allocates device memory; the address is a multiple of `align`, except as [`MemoryKind::Callable`] says.
    ///
    /// # Errors
    /// The vendor's.
    fn allocate_device(&mut self, kind: MemoryKind, bytes: u64, align: u64) -> Result<u64, VendorError>;
    /// Gives device memory back.
    ///
    /// # Errors
    /// The vendor's; the memory is still held.
    fn free_device(&mut self, kind: MemoryKind, address: u64) -> Result<(), VendorError>;
    /// Allocates pinned host memory.
    ///
    /// # Errors
    /// The vendor's.
    fn allocate_pinned(&mut self, bytes: usize) -> Result<PinnedId, VendorError>;
    /// Gives pinned host memory back.
    ///
    /// # Errors
    /// The vendor's; the memory is still held.
    fn free_pinned(&mut self, pinned: PinnedId) -> Result<(), VendorError>;
    /// Writes into pinned memory from the host. Out of range is an error and writes nothing.
    ///
    /// # Errors
    /// A platform's own number when the range does not fit.
    fn write_pinned(&mut self, pinned: PinnedId, offset: usize, bytes: &[u8]) -> Result<(), VendorError>;
    /// Copies from pinned memory to the device in the order of `stream`.
    ///
    /// # Errors
    /// The vendor's; nothing was enqueued.
    fn copy_to_device(
        &mut self,
        stream: StreamId,
        device: u64,
        pinned: PinnedId,
        offset: usize,
        bytes: usize,
    ) -> Result<(), VendorError>;
    /// Tells the device that the area at `area` exists.
    ///
    /// # Errors
    /// The vendor's; the area is not registered.
    fn register_area(&mut self, area: u64, context_generation: u64) -> Result<(), VendorError>;
    /// Copies `out.len()` bytes at `offset` of the context area at `area` to the host, without synchronising anything. `false`
    /// where the platform cannot, with `out` untouched. Close reads with it: first the records, to see that its zeroes have
    /// landed, and only then the device's line, so that *not busy* is an answer from after the zeroes.
    ///
    /// # Errors
    /// The vendor's.
    fn read_area(&mut self, area: u64, offset: u64, out: &mut [u8]) -> Result<bool, VendorError>;
}

/// What changes a device for others: program mode only.
pub trait DeviceOwnership {
    /// Makes `device` current for the calling thread, and starts it.
    ///
    /// # Errors
    /// The vendor's.
    fn set_device(&mut self, device: i32) -> Result<(), VendorError>;
    /// Lets go of the device.
    ///
    /// # Errors
    /// The vendor's.
    fn reset_device(&mut self, device: i32) -> Result<(), VendorError>;
    /// Enqueues program mode's device entry with a copy of `packet`.
    ///
    /// # Errors
    /// The vendor's; nothing was enqueued.
    fn launch_program(&mut self, stream: StreamId, packet: &[u8]) -> Result<(), VendorError>;
    /// Waits until everything on `stream` has ended.
    ///
    /// # Errors
    /// The vendor's, also the first failure of what ran.
    fn synchronize_stream(&mut self, stream: StreamId) -> Result<(), VendorError>;
    /// Copies from host memory to the device, at once.
    ///
    /// # Errors
    /// The vendor's.
    fn copy_in(&mut self, device: u64, host: &[u8]) -> Result<(), VendorError>;
    /// Copies from the device to host memory, at once.
    ///
    /// # Errors
    /// The vendor's.
    fn copy_out(&mut self, host: &mut [u8], device: u64) -> Result<(), VendorError>;
}
