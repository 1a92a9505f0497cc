//! AICPU images that a user brings, launches of them, and context areas.
//!

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::Ordering;
use std::sync::Mutex;

use tenon_core::wire::MAX_PACKET_BYTES;

use super::device::{Device, lock};
use super::error::{Code, Result, fail};
use super::handle::{self, Handle, Kind};
use super::session::Session;
use super::wait::{self, Deadline};
use crate::shm::{MAX_BINARIES, TaskHeader, binary_state, kind};

/// How long the device may take to load an image.
const LOAD_PATIENCE_MS: u64 = 60_000;
/// Entries of an AICPU image: kernel mode, program mode.
const ENTRIES: u32 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Free,
    /// A thread is waiting for the device to load it.
    Loading,
    Loaded,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    generation: u32,
    state: State,
    /// Where the image lies in the store. It stays there for as long as the place is used.
    offset: u64,
    bytes: u64,
    /// Loads that have not been undone.
    loads: u32,
}

/// The images of one device; place 0 is the device's own.
#[derive(Debug)]
pub struct Binaries(Mutex<[Place; MAX_BINARIES]>);

impl Default for Binaries {
    fn default() -> Self {
        Self(Mutex::new([Place::default(); MAX_BINARIES]))
    }
}

impl Binaries {
    /// Forgets all of them, with a device that is gone.
    pub fn clear(&self) {
        lock(&self.0).iter_mut().for_each(|place| place.state = State::Free);
    }

    fn index(&self, device: u32, handle: *mut c_void) -> Result<usize> {
        let handle = Handle::unpack(Kind::Binary, handle)?;
        match lock(&self.0).get(handle.index) {
            Some(place)
                if handle.device == device && place.generation == handle.generation && place.state == State::Loaded =>
            {
                Ok(handle.index)
            }
            Some(_) | None => Err(handle::stale(Kind::Binary, handle)),
        }
    }
}

impl Device {
    /// Has the device load an AICPU image, and waits until it has. Identical bytes are loaded once and share a handle, which is good
    /// until it has been unloaded as often as it was loaded: a runtime hands over its image with every context.
    ///
    /// # Errors
    /// 100000 for no bytes, 207005 without a place or room, the device's code for an image that it cannot load, 507010.
    ///
    /// # Safety
    /// `bytes` bytes at `data` are readable.
    pub unsafe fn load_binary(&self, data: *const c_void, bytes: usize) -> Result<*mut c_void> {
        if data.is_null() || bytes == 0 {
            return Err(fail!(INVALID_PARAM, "an image needs bytes"));
        }
        let session = self.session()?;
        let size = bytes as u64;
        // SAFETY: the caller's promise, for the length of this call.
        let image = unsafe { core::slice::from_raw_parts(data.cast::<u8>(), bytes) };
        if let Some(handle) = self.share_binary(&session, image) {
            return Ok(handle);
        }
        let offset = lock(&self.memory).allocate_store(size)?;
        let give_back = |code: Code| {
            lock(&self.memory).free_store(offset);
            code
        };
        let Some(room) = session.store(offset, size) else {
            return Err(give_back(fail!(INTERNAL, "the store gave a range outside itself")));
        };
        // SAFETY:
        // 1. The source is the slice above.
        // 2. The destination is room of the store that was just given to this image alone.
        unsafe { ptr::copy_nonoverlapping(image.as_ptr(), room.as_ptr(), bytes) };
        let (index, generation) = self.reserve_binary(offset, size).map_err(give_back)?;
        let words = &session.control().binaries[index];
        words.offset.store(offset, Ordering::Relaxed);
        words.bytes.store(size, Ordering::Relaxed);
        words.state.store(binary_state::LOAD_ASKED, Ordering::Release);
        wait::ring(session.control());
        let is_answered = || words.state.load(Ordering::Acquire) != binary_state::LOAD_ASKED;
        let loaded = wait::until(&session, Deadline::after_ms(LOAD_PATIENCE_MS), "loading the image", is_answered)
            .and_then(|()| match words.state.load(Ordering::Acquire) {
                binary_state::LOADED => Ok(()),
                _ => Err(refused(words.error.load(Ordering::Acquire))),
            });
        match loaded {
            Ok(()) => {
                lock(&self.binaries.0)[index].state = State::Loaded;
                Ok(Handle::pack(Kind::Binary, self.id(), index, generation))
            }
            Err(code) => {
                words.state.store(binary_state::FREE, Ordering::Release);
                lock(&self.binaries.0)[index].state = State::Free;
                Err(give_back(code))
            }
        }
    }

    /// One more load of an image that is loaded already.
    fn share_binary(&self, session: &Session, image: &[u8]) -> Option<*mut c_void> {
        let mut places = lock(&self.binaries.0);
        let is_same = |place: &Place| {
            place.state == State::Loaded
                && place.bytes == image.len() as u64
                && session.store(place.offset, place.bytes).is_some_and(|room| {
                    // SAFETY:
                    // 1. The range is inside the store, which is mapped for as long as the session lives, and as long as the
                    //    image, since the place says so.
                    // 2. The device shares the store, so no reference is made; it only reads images, and the lock keeps the
                    //    place loaded.
                    (unsafe { libc::memcmp(room.as_ptr().cast(), image.as_ptr().cast(), image.len()) }) == 0
                })
        };
        let index = places.iter().skip(1).position(is_same)? + 1;
        let place = &mut places[index];
        place.loads = place.loads.checked_add(1)?;
        Some(Handle::pack(Kind::Binary, self.id(), index, place.generation))
    }

    fn reserve_binary(&self, offset: u64, bytes: u64) -> Result<(usize, u32)> {
        let mut places = lock(&self.binaries.0);
        let free = places
            .iter_mut()
            .enumerate()
            .skip(1)
            .find(|(_, place)| place.state == State::Free && place.generation < u32::MAX);
        let Some((index, place)) = free else {
            return Err(fail!(NO_RESOURCES, "{} AICPU images are loaded already", MAX_BINARIES - 1));
        };
        *place = Place { generation: place.generation + 1, state: State::Loading, offset, bytes, loads: 1 };
        Ok((index, place.generation))
    }

    /// Undoes one load; the last one lets the image go. Launches of it that are still enqueued fail; a call that is running ends first.
    ///
    /// # Errors
    /// 100000 for null, 107017 for an image that is not loaded.
    pub fn unload_binary(&self, binary: *mut c_void) -> Result {
        let session = self.session()?;
        let index = self.binaries.index(self.id(), binary)?;
        let offset = {
            let mut places = lock(&self.binaries.0);
            let place = &mut places[index];
            if place.state != State::Loaded {
                return Err(fail!(INVALID_HANDLE, "another thread has just unloaded the image"));
            }
            place.loads -= 1;
            if place.loads > 0 {
                return Ok(());
            }
            place.state = State::Free;
            place.offset
        };
        session.control().binaries[index].state.store(binary_state::FREE, Ordering::Release);
        wait::ring(session.control());
        lock(&self.memory).free_store(offset);
        Ok(())
    }

    /// Enqueues a call of entry `entry` (0 kernel mode, 1 program mode) of an image (null: the device's own) with a copy of
    /// `args`.
    ///
    /// # Errors
    /// 100000 for an entry that does not exist or too many bytes, 107017 for an image that is not loaded, 507010; 507903 on a
    /// stream of an invalid capture.
    pub fn launch_aicpu(&self, binary: *mut c_void, entry: u32, args: &[u8], stream: *mut c_void) -> Result {
        if entry >= ENTRIES || args.is_empty() || args.len() > MAX_PACKET_BYTES {
            let bytes = args.len();
            return Err(fail!(
                INVALID_PARAM,
                "entry {entry} with {bytes} bytes, expected an entry below {ENTRIES} and 1..={MAX_PACKET_BYTES} bytes"
            ));
        }
        let index = if binary.is_null() { 0 } else { self.binaries.index(self.id(), binary)? };
        let header = TaskHeader {
            kind: kind::AICPU,
            a: index as u64,
            b: entry.into(),
            c: args.len() as u64,
            ..TaskHeader::default()
        };
        self.stream(stream)?.submit(header, args)
    }

    /// Enqueues an AICore branch, which takes one verdict of the context area at `area`.
    ///
    /// # Errors
    /// 107000 for an address outside device memory, 507010; 507903 on a stream of an invalid capture.
    pub fn launch_aicore(&self, area: u64, stream: *mut c_void) -> Result {
        let mut stream = self.stream(stream)?;
        if !stream.session().is_device_address(area) {
            return Err(fail!(PARAM_INVALID, "the area {area:#x} is not memory of device {}", self.id()));
        }
        stream.submit(TaskHeader { kind: kind::AICORE, a: area, ..TaskHeader::default() }, &[])
    }

    /// Tells the device that a context area exists, for the rest of the device's life.
    ///
    /// # Errors
    /// 100000 for a generation of 0 or a wrong alignment, 107000 for memory that is not allocated or overlaps another area,
    /// 207005 for one area too many.
    pub fn register_area(&self, area: u64, context_generation: u64) -> Result {
        if context_generation == 0 {
            return Err(fail!(INVALID_PARAM, "a context generation is never 0"));
        }
        let session = self.session()?;
        // The lock orders the writers of the table.
        let mut memory = lock(&self.memory);
        let index = memory.add_area(area)?;
        let words = &session.control().areas[index];
        words.generation.store(context_generation, Ordering::Relaxed);
        words.base.store(area, Ordering::Release);
        let count = u32::try_from(index + 1).unwrap_or(u32::MAX);
        session.control().area_count.store(count, Ordering::Release);
        Ok(())
    }
}

fn refused(error: u32) -> Code {
    match i32::try_from(error).ok().and_then(Code::from_number) {
        Some(code) => {
            super::error::failure(code, format_args!("the device cannot load the image; it says why on stderr"))
        }
        None => fail!(INTERNAL, "the device refused the image without a reason"),
    }
}
