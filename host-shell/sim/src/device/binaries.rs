//! The table of loaded AICPU images, kept as the host wants it.
//!
//! Place 0 is the device's own image. The others follow the words of [`BinaryControl`](crate::shm::BinaryControl): the host asks
//! for a load, or frees the place and so asks for the image to go. An AICPU thread does either; an image in use stays until the
//! last call has left it.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use core::sync::atomic::{AtomicBool, AtomicU16};
use std::sync::Mutex;

use super::Device;
use super::channel::lock;
use super::failure::INVALID_PARAM;
use super::image::{EntryFn, Image, ImageError};
use super::log::{self, Level};
use super::platform;
use super::task::Entry;
use crate::shm::{MAX_BINARIES, binary_state};

#[derive(Default)]
struct Place {
    image: Option<Image>,
    /// Calls inside.
    users: u32,
}

#[derive(Default)]
struct Entries {
    place: Mutex<Place>,
    /// An image is in the place.
    is_taken: AtomicBool,
    /// An AICPU thread has been asked to bring the place in line, or is at it.
    is_changing: AtomicBool,
}

/// The table.
pub struct Binaries {
    entries: Box<[Entries]>,
    loads: AtomicU16,
}

impl Default for Binaries {
    fn default() -> Self {
        Self { entries: (0..MAX_BINARIES).map(|_| Entries::default()).collect(), loads: AtomicU16::new(0) }
    }
}

impl Binaries {
    /// Puts the device's own image into place 0.
    pub fn install_own(&self, image: Image) {
        let own = &self.entries[0];
        lock(&own.place).image = Some(image);
        own.is_taken.store(true, Release);
    }

    /// The entry of an image, which stays loaded until [`leave`](Self::leave).
    #[must_use]
    pub fn enter(&self, device: &Device, binary: usize, entry: Entry) -> Option<EntryFn> {
        let is_wanted = binary == 0 || device.control().binaries[binary].state.load(Acquire) == binary_state::LOADED;
        let mut place = lock(&self.entries[binary].place);
        let function = place.image.as_ref().filter(|_| is_wanted)?.entry(entry);
        place.users += 1;
        Some(function)
    }

    /// A call has come back from the image.
    pub fn leave(&self, binary: usize) {
        lock(&self.entries[binary].place).users -= 1;
    }

    /// The next place that is not as the host wants it and that nobody is at; it counts as being changed from now on.
    #[must_use]
    pub fn next_change(&self, device: &Device) -> Option<usize> {
        let controls = &device.control().binaries;
        (1..MAX_BINARIES).find(|&binary| {
            let entry = &self.entries[binary];
            let is_wrong = match controls[binary].state.load(Acquire) {
                binary_state::LOAD_ASKED => true,
                binary_state::FREE => entry.is_taken.load(Acquire),
                _ => false,
            };
            // The last call that leaves rings the bell, and the place is found then.
            is_wrong && lock(&entry.place).users == 0 && !entry.is_changing.swap(true, AcqRel)
        })
    }

    /// Nobody could be asked to change this place: it is to be found again.
    pub fn put_off(&self, binary: usize) {
        self.entries[binary].is_changing.store(false, Release);
    }

    /// Brings one place in line. On an AICPU thread; no lock is held while code of an image runs.
    pub fn change(&self, device: &'static Device, binary: usize) {
        let entry = &self.entries[binary];
        let control = &device.control().binaries[binary];
        let old = {
            let mut place = lock(&entry.place);
            if place.users > 0 {
                None
            } else {
                entry.is_taken.store(false, Release);
                place.image.take()
            }
        };
        if let Some(answer) = old.map(Image::unload)
            && answer != 0
        {
            log::line(Level::Warning, format_args!("binary {binary}: tenon_aicpu_unload answered {answer}"));
        }
        let is_free = !entry.is_taken.load(Acquire);
        if is_free && control.state.load(Acquire) == binary_state::LOAD_ASKED {
            let state = match self.load(device, binary) {
                Ok(image) => {
                    lock(&entry.place).image = Some(image);
                    entry.is_taken.store(true, Release);
                    binary_state::LOADED
                }
                Err(error) => {
                    log::line(Level::Error, format_args!("binary {binary}: {error}"));
                    control.error.store(INVALID_PARAM.get(), Release);
                    binary_state::REFUSED
                }
            };
            // A host that has changed its mind in between is left with what it wrote, and the place is looked at again.
            let _ = control.state.compare_exchange(binary_state::LOAD_ASKED, state, AcqRel, Acquire);
        }
        entry.is_changing.store(false, Release);
    }

    fn load(&self, device: &'static Device, binary: usize) -> Result<Image, ImageError> {
        let control = &device.control().binaries[binary];
        let (offset, bytes) = (control.offset.load(Acquire), control.bytes.load(Acquire));
        let outside = || ImageError::Outside(offset, bytes);
        let from = device.machine.store(offset, bytes).ok_or_else(outside)?;
        let len = usize::try_from(bytes).map_err(|_| outside())?;
        let mut copy = vec![0; len];
        // SAFETY:
        // 1. `len` bytes at `from` are mapped for good: `store` found them inside;
        // 2. `copy` has as many, and is memory of its own;
        // 3. the host does not change an image that it has asked to be loaded; if it does, a mixture of bytes is refused by the
        //    loader or is the host's own undoing.
        unsafe { core::ptr::copy_nonoverlapping(from, copy.as_mut_ptr(), len) };
        Image::load_bytes(&copy, self.loads.fetch_add(1, AcqRel), &platform::table(device))
    }
}
