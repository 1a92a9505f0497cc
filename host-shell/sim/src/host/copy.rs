//! Copies and fills, at once and in the order of a stream.
//!
//! Addresses are judged by what they are, whatever the caller says they are: device memory of the current device, pinned host
//! memory, or other host memory. Device memory is reached through a second mapping; the range of device addresses itself is
//! inaccessible in this process.

use core::ffi::c_void;
use core::ptr;

use super::capture::rules;
use super::device::{Device, lock};
use super::error::{Code, Result, fail};
use super::session::Session;
use super::stream::refuse;
use crate::shm::{PINNED_BYTES, TaskHeader, kind, place};

/// Where a copy goes; numbers of `aclrtMemcpyKind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Direction {
    /// Host to host.
    HostToHost = 0,
    /// Host to device. 5, host to device through a buffer, is taken as the same.
    HostToDevice = 1,
    /// Device to host.
    DeviceToHost = 2,
    /// Device to device.
    DeviceToDevice = 3,
    /// As the addresses say.
    Default = 4,
}

impl Direction {
    /// The direction with this number. 6 and 7 are not for plain copies.
    #[must_use]
    pub const fn from_number(number: i32) -> Option<Self> {
        match number {
            0 => Some(Self::HostToHost),
            1 | 5 => Some(Self::HostToDevice),
            2 => Some(Self::DeviceToHost),
            3 => Some(Self::DeviceToDevice),
            4 => Some(Self::Default),
            _ => None,
        }
    }

    /// Whether destination and source are device memory; `None` where the addresses decide.
    const fn is_device(self) -> Option<(bool, bool)> {
        match self {
            Self::HostToHost => Some((false, false)),
            Self::HostToDevice => Some((true, false)),
            Self::DeviceToHost => Some((false, true)),
            Self::DeviceToDevice => Some((true, true)),
            Self::Default => None,
        }
    }
}

/// A range of memory, checked as far as this library can.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Device memory at this device address.
    Device(u64),
    /// Pinned host memory at this offset.
    Pinned(u64),
    /// Other host memory, which is the caller's word.
    Host(*mut c_void),
}

/// What a copy or fill is asked to do.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Where to.
    pub destination: *mut c_void,
    /// Room there.
    pub room: usize,
    /// Where from.
    pub source: *const c_void,
    /// How much.
    pub bytes: usize,
    /// Which way.
    pub direction: Direction,
}

impl Transfer {
    /// True when there is nothing to do.
    ///
    /// # Errors
    /// 100000 for null, 107000 when the destination has too little room.
    fn is_nothing(&self) -> Result<bool> {
        let Self { destination, room, source, bytes, .. } = *self;
        if bytes == 0 {
            return Ok(true);
        }
        if destination.is_null() || source.is_null() {
            return Err(fail!(INVALID_PARAM, "a copy of {bytes} bytes: destination or source is null"));
        }
        if bytes > room {
            return Err(fail!(PARAM_INVALID, "{bytes} bytes do not fit in the destination's {room}"));
        }
        Ok(ptr::eq(destination, source))
    }
}

impl Device {
    /// Device memory.
    ///
    /// # Errors
    /// As [`Memory::allocate`](super::memory::Memory::allocate).
    pub fn allocate(&self, bytes: usize) -> Result<*mut c_void> {
        lock(&self.memory).allocate(bytes as u64).map(to_pointer)
    }

    /// Callable memory.
    ///
    /// # Errors
    /// As [`Memory::allocate`](super::memory::Memory::allocate).
    pub fn allocate_callable(&self, bytes: usize) -> Result<*mut c_void> {
        lock(&self.memory).allocate_callable(bytes as u64).map(to_pointer)
    }

    /// Gives device or callable memory back.
    ///
    /// # Errors
    /// As [`Memory::free`](super::memory::Memory::free).
    pub fn free(&self, address: *mut c_void) -> Result {
        lock(&self.memory).free(address.addr() as u64)
    }

    /// Pinned host memory.
    ///
    /// # Errors
    /// As [`Memory::allocate`](super::memory::Memory::allocate).
    pub fn allocate_pinned(&self, bytes: usize) -> Result<*mut c_void> {
        let session = self.session()?;
        let offset = lock(&self.memory).allocate_pinned(bytes as u64)?;
        address(&session, Place::Pinned(offset), bytes).ok_or_else(outside)
    }

    /// Gives pinned host memory back.
    ///
    /// # Errors
    /// 100000 for null or an address where none starts.
    pub fn free_pinned(&self, address: *mut c_void) -> Result {
        let start = self.session()?.pinned_start().addr().get();
        lock(&self.memory).free_pinned(address.addr().wrapping_sub(start) as u64)
    }

    /// Free and total bytes of device memory.
    ///
    /// # Errors
    /// 107000 on a processor that cannot count that far.
    pub fn memory_info(&self) -> Result<(usize, usize)> {
        let (free, total) = lock(&self.memory).info();
        match (usize::try_from(free), usize::try_from(total)) {
            (Ok(free), Ok(total)) => Ok((free, total)),
            _ => Err(fail!(PARAM_INVALID, "{total} bytes are more than this processor counts")),
        }
    }

    fn place(&self, session: &Session, what: &str, address: *const c_void, bytes: u64) -> Result<Place> {
        let at = address.addr() as u64;
        if session.is_device_address(at) {
            lock(&self.memory).check_device(what, at, bytes)?;
            return Ok(Place::Device(at));
        }
        let offset = at.wrapping_sub(session.pinned_start().addr().get() as u64);
        if offset < PINNED_BYTES {
            lock(&self.memory).check_pinned(what, offset, bytes)?;
            return Ok(Place::Pinned(offset));
        }
        Ok(Place::Host(address.cast_mut()))
    }

    fn places(&self, session: &Session, transfer: &Transfer) -> Result<(Place, Place)> {
        let bytes = transfer.bytes as u64;
        let destination = self.place(session, "destination", transfer.destination, bytes)?;
        let source = self.place(session, "source", transfer.source, bytes)?;
        let found = (matches!(destination, Place::Device(_)), matches!(source, Place::Device(_)));
        match transfer.direction.is_device() {
            Some(said) if said != found => Err(wrong_direction(transfer, found)),
            Some(_) | None => Ok((destination, source)),
        }
    }

    /// Copies at once, whatever streams are doing.
    ///
    /// # Errors
    /// 100000 for null, 107000 for memory that is too small, not allocated or not of the direction, 107030 in a capture.
    ///
    /// # Safety
    /// Host memory of the transfer is readable at the source, writable at the destination, for `bytes` bytes.
    pub unsafe fn copy(&self, transfer: &Transfer) -> Result {
        self.check_synchronous("memcpy")?;
        if transfer.is_nothing()? {
            return Ok(());
        }
        let session = self.session()?;
        session.is_there()?;
        let (destination, source) = self.places(&session, transfer)?;
        // SAFETY: the places were checked just above; host memory is the caller's promise.
        unsafe { copy_between(&session, destination, source, transfer.bytes) }
    }

    /// Copies from the device at once, in a capture too.
    ///
    /// # Errors
    /// As [`copy`](Self::copy), without 107030.
    ///
    /// # Safety
    /// As [`copy`](Self::copy).
    pub unsafe fn read(&self, destination: *mut c_void, source: *const c_void, bytes: usize) -> Result {
        let transfer = Transfer { destination, room: bytes, source, bytes, direction: Direction::DeviceToHost };
        if transfer.is_nothing()? {
            return Ok(());
        }
        let session = self.session()?;
        // Memory of a lost device still reads as it was: whoever waits for a change there would wait for ever.
        session.is_there()?;
        let (destination, source) = self.places(&session, &transfer)?;
        // SAFETY: as in `copy`.
        unsafe { copy_between(&session, destination, source, bytes) }
    }

    /// Copies in the order of a stream. Host memory that is not pinned makes it a synchronous copy that waits for the stream.
    ///
    /// # Errors
    /// As [`copy`](Self::copy); 107041 instead of waiting, when the stream is captured.
    ///
    /// # Safety
    /// As [`copy`](Self::copy); pinned memory until the copy has ended.
    pub unsafe fn copy_async(&self, transfer: &Transfer, stream: *mut c_void) -> Result {
        let mut stream = self.stream(stream)?;
        if transfer.is_nothing()? {
            return Ok(());
        }
        let (destination, source) = self.places(stream.session(), transfer)?;
        let (Some((a, to_pinned)), Some((b, from_pinned))) = (reachable(destination), reachable(source)) else {
            refuse(
                rules::blocking_copy(stream.role()),
                "memcpy_async: host memory is not pinned, so it would have to wait",
            )?;
            let session = std::sync::Arc::clone(stream.session());
            stream.drain()?;
            // SAFETY: as in `copy`.
            return unsafe { copy_between(&session, destination, source, transfer.bytes) };
        };
        let mut flags = 0;
        if to_pinned {
            flags |= place::DESTINATION_PINNED;
        }
        if from_pinned {
            flags |= place::SOURCE_PINNED;
        }
        let header = TaskHeader { kind: kind::COPY, a, b, c: transfer.bytes as u64, flags, ..TaskHeader::default() };
        stream.submit(header, &[])
    }

    /// Fills `bytes` bytes at once.
    ///
    /// # Errors
    /// As [`copy`](Self::copy).
    ///
    /// # Safety
    /// Host memory is writable for `bytes` bytes.
    pub unsafe fn fill(&self, destination: *mut c_void, room: usize, value: u8, bytes: usize) -> Result {
        self.check_synchronous("memset")?;
        if !has_room(destination, room, bytes)? {
            return Ok(());
        }
        let session = self.session()?;
        let place = self.place(&session, "destination", destination, bytes as u64)?;
        let Some(at) = address(&session, place, bytes) else { return Err(outside()) };
        // SAFETY: the range was checked by `place`, or is the caller's promise.
        unsafe { ptr::write_bytes(at.cast::<u8>(), value, bytes) };
        Ok(())
    }

    /// Fills device memory in the order of a stream.
    ///
    /// # Errors
    /// 100000 for null, 107000 for memory that is too small or not the device's.
    pub fn fill_async(
        &self,
        destination: *mut c_void,
        room: usize,
        value: u8,
        bytes: usize,
        stream: *mut c_void,
    ) -> Result {
        let mut stream = self.stream(stream)?;
        if !has_room(destination, room, bytes)? {
            return Ok(());
        }
        let a = self.device_place(stream.session(), destination, bytes as u64)?;
        let header = TaskHeader { kind: kind::FILL, a, b: value.into(), c: bytes as u64, ..TaskHeader::default() };
        stream.submit(header, &[])
    }

    /// Writes four bytes of device memory in the order of a stream.
    ///
    /// # Errors
    /// 100000 for null or an address that is not a multiple of 4, 107000 for memory that is not the device's.
    pub fn write_value(&self, destination: *mut c_void, value: u32, stream: *mut c_void) -> Result {
        let mut stream = self.stream(stream)?;
        if destination.is_null() || !destination.addr().is_multiple_of(4) {
            return Err(fail!(INVALID_PARAM, "{destination:?} is null or not a multiple of 4"));
        }
        let a = self.device_place(stream.session(), destination, 4)?;
        let header = TaskHeader { kind: kind::WRITE, a, c: 4, ..TaskHeader::default() };
        stream.submit(header, &value.to_le_bytes())
    }

    fn device_place(&self, session: &Session, address: *mut c_void, bytes: u64) -> Result<u64> {
        match self.place(session, "destination", address, bytes)? {
            Place::Device(at) => Ok(at),
            Place::Pinned(_) | Place::Host(_) => {
                Err(fail!(PARAM_INVALID, "{address:?} is not memory of device {}", self.id()))
            }
        }
    }
}

fn to_pointer(address: u64) -> *mut c_void {
    // Device memory ends below 2^47: `Settings`.
    ptr::without_provenance_mut(usize::try_from(address).unwrap_or(0))
}

fn has_room(destination: *mut c_void, room: usize, bytes: usize) -> Result<bool> {
    if bytes == 0 {
        return Ok(false);
    }
    if destination.is_null() {
        return Err(fail!(INVALID_PARAM, "a fill of {bytes} bytes: the destination is null"));
    }
    if bytes > room {
        return Err(fail!(PARAM_INVALID, "{bytes} bytes do not fit in the destination's {room}"));
    }
    Ok(true)
}

/// What the device can reach: the address or offset, and whether it is pinned memory.
fn reachable(place: Place) -> Option<(u64, bool)> {
    match place {
        Place::Device(at) => Some((at, false)),
        Place::Pinned(offset) => Some((offset, true)),
        Place::Host(_) => None,
    }
}

/// The address of a place in this process.
fn address(session: &Session, place: Place, bytes: usize) -> Option<*mut c_void> {
    match place {
        Place::Device(at) => session.device_memory(at, bytes as u64).map(|at| at.as_ptr().cast()),
        // The offset was found by subtracting the same start, and lies in an allocation.
        Place::Pinned(offset) => {
            let offset = usize::try_from(offset).ok()?;
            Some(session.pinned_start().as_ptr().wrapping_add(offset).cast())
        }
        Place::Host(at) => Some(at),
    }
}

/// # Safety
/// Host memory among the places is readable (source) or writable (destination) for `bytes` bytes.
unsafe fn copy_between(session: &Session, destination: Place, source: Place, bytes: usize) -> Result {
    let (Some(to), Some(from)) = (address(session, destination, bytes), address(session, source, bytes)) else {
        return Err(outside());
    };
    // SAFETY:
    // 1. Both ranges exist: device and pinned memory were checked against their allocations and are mapped while `session`
    //    lives; host memory is the caller's promise.
    // 2. They may overlap, and `copy` allows it. The device may write them at the same time; what then arrives is undefined by
    //    the vendor too, and bytes have no invalid value.
    unsafe { ptr::copy(from.cast::<u8>(), to.cast::<u8>(), bytes) };
    Ok(())
}

#[cold]
fn outside() -> Code {
    fail!(INTERNAL, "an allocation lies outside device memory")
}

#[cold]
fn wrong_direction(transfer: &Transfer, (to_device, from_device): (bool, bool)) -> Code {
    let name = |is_device| if is_device { "memory of the current device" } else { "not memory of the current device" };
    fail!(
        PARAM_INVALID,
        "{:?}: the destination {:?} is {}, the source {:?} is {}",
        transfer.direction,
        transfer.destination,
        name(to_device),
        transfer.source,
        name(from_device)
    )
}
