//! The simulated device: all four vocabularies over `libtenon_sim`.
//!
//! Nothing is decided here; each word is one call, sometimes with a table look-up beside it. Caller's streams are
//! handed on as they came: the simulator checks every handle.

mod bind;
mod symbol;

use core::ffi::c_void;
use core::ptr;

use tenon_core::area;
use tenon_core::vocabulary::{
    ContextEvent, ContextOps, DeviceImages, DeviceOwnership, EventId, HiddenStream, LaunchOps, MemoryKind, OrderOps,
    PinnedId, ResourceOps, StreamId, VendorError,
};

pub use bind::BindError;
pub(super) use bind::bound;
pub use symbol::REQUIRED_SYMBOLS;
use symbol::Symbols;

use crate::primitive::size;

/// Makes an event usable in a capture (`tenon/sim.h`; ACL: `ACL_EVENT_SYNC`).
const EVENT_SYNC: u32 = 1;
/// Directions of a copy, numbered as ACL's `aclrtMemcpyKind`.
const HOST_TO_DEVICE: i32 = 1;
/// See [`HOST_TO_DEVICE`].
const DEVICE_TO_HOST: i32 = 2;
/// Entries of a device image, by number.
const KERNEL_ENTRY: u32 = 0;
/// See [`KERNEL_ENTRY`].
const PROGRAM_ENTRY: u32 = 1;
/// What the simulator's allocations are aligned to without being asked.
const MALLOC_ALIGN: u64 = 64;

/// Our own answers where the simulator is not asked, numbered as it numbers them.
const INVALID_PARAM: i32 = 100_000;
/// See [`INVALID_PARAM`].
const INVALID_HANDLE: i32 = 107_017;

/// One context's share of the simulated device.
pub(super) struct SimPlatform {
    symbols: Symbols,
    /// The device image that the caller brought; null for the device's own.
    aicpu: Handle,
    /// Pinned memory that this context holds.
    pinned: Vec<Pinned>,
    /// Allocations whose address was moved up to a coarser alignment than the simulator's.
    moved: Vec<Moved>,
}

/// A handle of the simulator.
struct Handle(*mut c_void);

// SAFETY: the simulator's handles are numbers for any thread; nothing here dereferences one.
unsafe impl Send for Handle {}

struct Pinned {
    id: PinnedId,
    len_bytes: usize,
}

struct Moved {
    /// What the context was given.
    address: u64,
    /// What the simulator gave.
    allocation: u64,
}

impl SimPlatform {
    pub(super) fn new(symbols: &Symbols) -> Self {
        Self { symbols: *symbols, aicpu: Handle(ptr::null_mut()), pinned: Vec::new(), moved: Vec::new() }
    }

    /// Where `len_bytes` at `offset` of a piece of pinned memory lie.
    fn pinned_range(&self, pinned: PinnedId, offset: usize, len_bytes: usize) -> Result<*mut u8, VendorError> {
        let held = self.pinned.iter().find(|held| held.id == pinned).ok_or(own("pinned memory", INVALID_HANDLE))?;
        let fits = offset.checked_add(len_bytes).is_some_and(|end| end <= held.len_bytes);
        if fits {
            Ok(ptr::with_exposed_provenance_mut::<u8>(pinned.to_bits()).wrapping_add(offset))
        } else {
            Err(own("pinned memory", INVALID_PARAM))
        }
    }

    fn launch(&mut self, entry: u32, stream: StreamId, packet: &[u8]) -> Result<(), VendorError> {
        // SAFETY: `packet` is readable for its length, and the call copies it before it returns.
        unsafe {
            self.symbols.launch_aicpu(self.aicpu.0, entry, packet.as_ptr().cast(), packet.len(), stream_handle(stream))
        }
    }
}

impl ContextOps for SimPlatform {
    fn current_device(&mut self) -> Result<i32, VendorError> {
        let mut device = 0;
        // SAFETY: the call writes one `i32`, which `device` is.
        unsafe { self.symbols.get_device(&raw mut device) }?;
        Ok(device)
    }

    fn operator_timeout_ms(&mut self) -> Result<u32, VendorError> {
        let mut milliseconds = 0;
        // SAFETY: the call writes one `u32`, which `milliseconds` is.
        unsafe { self.symbols.get_op_timeout(&raw mut milliseconds) }?;
        Ok(milliseconds)
    }

    fn create_stream(&mut self, _role: HiddenStream) -> Result<StreamId, VendorError> {
        let mut stream = ptr::null_mut();
        // SAFETY: the call writes one handle, which `stream` is.
        unsafe { self.symbols.create_stream(&raw mut stream) }?;
        StreamId::from_bits(stream.expose_provenance()).ok_or(own("tenon_sim_create_stream", INVALID_HANDLE))
    }

    fn destroy_stream(&mut self, stream: StreamId) -> Result<(), VendorError> {
        // SAFETY: no pointer, a handle.
        unsafe { self.symbols.destroy_stream(stream_handle(stream)) }
    }

    fn create_event(&mut self, _role: ContextEvent) -> Result<EventId, VendorError> {
        let mut event = ptr::null_mut();
        // SAFETY: the call writes one handle, which `event` is.
        unsafe { self.symbols.create_event(&raw mut event, EVENT_SYNC) }?;
        EventId::from_bits(event.expose_provenance()).ok_or(own("tenon_sim_create_event", INVALID_HANDLE))
    }

    fn destroy_event(&mut self, event: EventId) -> Result<(), VendorError> {
        // SAFETY: no pointer, a handle.
        unsafe { self.symbols.destroy_event(event_handle(event)) }
    }
}

impl OrderOps for SimPlatform {
    fn wait_event(&mut self, stream: StreamId, event: EventId) -> Result<(), VendorError> {
        // SAFETY: no pointers, two handles.
        unsafe { self.symbols.stream_wait_event(stream_handle(stream), event_handle(event)) }
    }

    fn record_event(&mut self, event: EventId, stream: StreamId) -> Result<(), VendorError> {
        // SAFETY: no pointers, two handles.
        unsafe { self.symbols.record_event(event_handle(event), stream_handle(stream)) }
    }
}

impl LaunchOps for SimPlatform {
    fn launch_aicpu(&mut self, stream: StreamId, packet: &[u8]) -> Result<(), VendorError> {
        self.launch(KERNEL_ENTRY, stream, packet)
    }

    fn launch_aicore(&mut self, stream: StreamId, area: u64) -> Result<(), VendorError> {
        // SAFETY: no pointer, a device address and a handle.
        unsafe { self.symbols.launch_aicore(area, stream_handle(stream)) }
    }

    fn cancel(&mut self, stream: StreamId, area: u64) -> Result<(), VendorError> {
        // SAFETY: no pointer, a device address and a handle.
        unsafe {
            self.symbols.write_value32_async(
                device_address(area.wrapping_add(area::CANCELLED)),
                1,
                stream_handle(stream),
            )
        }
    }
}

impl ResourceOps for SimPlatform {
    /// The simulator's AICore workers run the children themselves and nothing dispatches to them: of the three images
    /// only the device shell's is used.
    fn load_images(&mut self, images: DeviceImages<'_>) -> Result<(), VendorError> {
        if images.aicpu.is_empty() {
            return Ok(());
        }
        let mut binary = ptr::null_mut();
        // SAFETY:
        // 1. `images.aicpu` is readable for its length, and the call copies it before it returns.
        // 2. The call writes one handle, which `binary` is.
        unsafe { self.symbols.load_binary(images.aicpu.as_ptr().cast(), images.aicpu.len(), &raw mut binary) }?;
        self.aicpu = Handle(binary);
        Ok(())
    }

    fn allocate_device(&mut self, kind: MemoryKind, bytes: u64, align: u64) -> Result<u64, VendorError> {
        let is_callable = kind == MemoryKind::Callable;
        let slack = if is_callable || align <= MALLOC_ALIGN { 0 } else { align - MALLOC_ALIGN };
        let size = bytes.checked_add(slack).and_then(|size| usize::try_from(size).ok());
        let size = size.filter(|_| align.is_power_of_two()).ok_or(own("device memory", INVALID_PARAM))?;
        let mut device = ptr::null_mut();
        if is_callable {
            // SAFETY: the call writes one address, which `device` is.
            unsafe { self.symbols.malloc_callable(&raw mut device, size) }?;
        } else {
            // SAFETY: the call writes one address, which `device` is.
            unsafe { self.symbols.malloc(&raw mut device, size) }?;
        }
        let allocation = device.addr() as u64;
        if slack == 0 {
            return Ok(allocation);
        }
        // `slack` was allocated beyond `bytes`, so what lies behind the rounded address is still all there.
        let address = allocation.next_multiple_of(align);
        if address != allocation {
            self.moved.push(Moved { address, allocation });
        }
        Ok(address)
    }

    fn free_device(&mut self, _kind: MemoryKind, address: u64) -> Result<(), VendorError> {
        let moved = self.moved.iter().position(|moved| moved.address == address);
        let allocation = moved.and_then(|index| self.moved.get(index)).map_or(address, |moved| moved.allocation);
        // SAFETY: no pointer, a device address.
        unsafe { self.symbols.free(device_address(allocation)) }?;
        if let Some(index) = moved {
            self.moved.swap_remove(index);
        }
        Ok(())
    }

    fn allocate_pinned(&mut self, bytes: usize) -> Result<PinnedId, VendorError> {
        let mut host = ptr::null_mut();
        // SAFETY: the call writes one address, which `host` is.
        unsafe { self.symbols.malloc_host(&raw mut host, bytes) }?;
        let id = PinnedId::from_bits(host.expose_provenance()).ok_or(own("tenon_sim_malloc_host", INVALID_HANDLE))?;
        self.pinned.push(Pinned { id, len_bytes: bytes });
        Ok(id)
    }

    fn free_pinned(&mut self, pinned: PinnedId) -> Result<(), VendorError> {
        let index =
            self.pinned.iter().position(|held| held.id == pinned).ok_or(own("pinned memory", INVALID_HANDLE))?;
        // SAFETY: the address is one that `malloc_host` gave to this context and that was not given back.
        unsafe { self.symbols.free_host(ptr::with_exposed_provenance_mut(pinned.to_bits())) }?;
        self.pinned.swap_remove(index);
        Ok(())
    }

    fn write_pinned(&mut self, pinned: PinnedId, offset: usize, bytes: &[u8]) -> Result<(), VendorError> {
        let to = self.pinned_range(pinned, offset, bytes.len())?;
        // SAFETY:
        // 1. `bytes` is readable for its length.
        // 2. `to` is writable for as much: `pinned_range` found it inside memory that this context holds.
        // 3. They do not overlap: nobody has a reference into pinned memory, this platform gives none out.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    fn copy_to_device(
        &mut self,
        stream: StreamId,
        device: u64,
        pinned: PinnedId,
        offset: usize,
        bytes: usize,
    ) -> Result<(), VendorError> {
        let from = self.pinned_range(pinned, offset, bytes)?;
        // SAFETY: `from` is readable for `bytes` as `pinned_range` found. The copy reads it later; the context keeps it
        // until the stream has passed the copy, which is the contract of this word.
        unsafe {
            self.symbols.memcpy_async(
                device_address(device),
                bytes,
                from.cast(),
                bytes,
                HOST_TO_DEVICE,
                stream_handle(stream),
            )
        }
    }

    fn register_area(&mut self, area: u64, context_generation: u64) -> Result<(), VendorError> {
        // SAFETY: no pointer, a device address and a number.
        unsafe { self.symbols.register_area(area, context_generation) }
    }

    fn read_area(&mut self, area: u64, offset: u64, out: &mut [u8]) -> Result<bool, VendorError> {
        // SAFETY: `out` is writable for its length; the rest is a device address.
        unsafe {
            self.symbols.read_device(out.as_mut_ptr().cast(), device_address(area.wrapping_add(offset)), out.len())
        }?;
        Ok(true)
    }
}

impl DeviceOwnership for SimPlatform {
    fn set_device(&mut self, device: i32) -> Result<(), VendorError> {
        // SAFETY: no pointer, a number.
        unsafe { self.symbols.set_device(device) }
    }

    fn reset_device(&mut self, device: i32) -> Result<(), VendorError> {
        // SAFETY: no pointer, a number.
        unsafe { self.symbols.reset_device(device) }
    }

    fn launch_program(&mut self, stream: StreamId, packet: &[u8]) -> Result<(), VendorError> {
        self.launch(PROGRAM_ENTRY, stream, packet)
    }

    fn synchronize_stream(&mut self, stream: StreamId) -> Result<(), VendorError> {
        // SAFETY: no pointer, a handle.
        unsafe { self.symbols.synchronize_stream(stream_handle(stream)) }
    }

    fn copy_in(&mut self, device: u64, host: &[u8]) -> Result<(), VendorError> {
        // SAFETY: `host` is readable for its length; the rest is a device address.
        unsafe {
            self.symbols.memcpy(device_address(device), host.len(), host.as_ptr().cast(), host.len(), HOST_TO_DEVICE)
        }
    }

    fn copy_out(&mut self, host: &mut [u8], device: u64) -> Result<(), VendorError> {
        // SAFETY: `host` is writable for its length; the rest is a device address.
        unsafe {
            self.symbols.memcpy(
                host.as_mut_ptr().cast(),
                host.len(),
                device_address(device),
                host.len(),
                DEVICE_TO_HOST,
            )
        }
    }
}

/// An answer of this platform itself, in the simulator's numbers.
const fn own(call: &'static str, code: i32) -> VendorError {
    VendorError { code, call, is_device_lost: false }
}

fn stream_handle(stream: StreamId) -> *mut c_void {
    ptr::with_exposed_provenance_mut(stream.to_bits())
}

fn event_handle(event: EventId) -> *mut c_void {
    ptr::with_exposed_provenance_mut(event.to_bits())
}

/// A device address as the simulator's functions take it. It is no address of the host: it has no provenance here.
fn device_address(address: u64) -> *mut c_void {
    ptr::without_provenance_mut(size(address))
}
