//! One life of one device: its process, and the memory shared with it.
//!
//! Held by reference count, so that a thread that waits or copies keeps the mappings alive while another resets the device.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, Ordering};
use std::io;
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};

use super::error::{Result, fail};
use super::mapping::{self, Mapping};
use super::process::DeviceProcess;
use super::settings::Settings;
use super::{fork, wait};
use crate::shm::{self, Control, StreamControl, state};

/// How long a device process may take to say that it is ready.
const START_PATIENCE_MS: u64 = 60_000;

/// One life of one device.
#[derive(Debug)]
pub struct Session {
    id: u32,
    base: u64,
    memory_bytes: u64,
    control: Mapping,
    memory: Mapping,
    /// `None` once it was ended.
    process: Mutex<Option<DeviceProcess>>,
    socket: i32,
    is_lost: AtomicBool,
}

impl Session {
    /// Starts device `id` and waits until it is ready.
    ///
    /// # Errors
    /// 507033, with the reason, when any part of it fails; nothing is left behind.
    pub fn start(id: u32, settings: &Settings) -> Result<Self> {
        let files = |error: io::Error| fail!(DEVICE_SETUP, "device {id}: the shared memory could not be made: {error}");
        let control_file = mapping::create_file(c"tenon-sim-control", shm::CONTROL_FILE_BYTES).map_err(files)?;
        let memory_file = mapping::create_file(c"tenon-sim-memory", settings.memory_bytes).map_err(files)?;
        let control = Mapping::new(control_file.as_fd(), shm::CONTROL_FILE_BYTES).map_err(files)?;
        let memory = Mapping::new(memory_file.as_fd(), settings.memory_bytes).map_err(files)?;
        init(control_of(&control), id, settings);
        fork::install();
        let mut process = DeviceProcess::start(&control_file, &memory_file)
            .map_err(|error| fail!(DEVICE_SETUP, "device {id}: {error}"))?;
        if let Err(code) = until_ready(control_of(&control), id, &mut process) {
            process.end();
            return Err(code);
        }
        let socket = process.socket();
        fork::note_socket(id, socket);
        Ok(Self {
            id,
            base: settings.base_of(id),
            memory_bytes: settings.memory_bytes,
            control,
            memory,
            process: Mutex::new(Some(process)),
            socket,
            is_lost: AtomicBool::new(false),
        })
    }

    /// Ends the device process and waits for it. What it had not done yet is not done.
    pub fn end(&self) {
        let process = self.process.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(process) = process {
            fork::note_socket(self.id, -1);
            // Before the descriptor is closed and its number given to something else, which nobody should ask.
            self.is_lost.store(true, Ordering::Release);
            self.control().state.store(state::STOPPING, Ordering::Release);
            wait::ring(self.control());
            process.end();
        }
    }

    /// The shared words.
    #[inline]
    pub fn control(&self) -> &Control {
        control_of(&self.control)
    }

    /// The words of one stream.
    #[inline]
    pub fn stream(&self, index: usize) -> &StreamControl {
        &self.control().streams[index]
    }

    /// Start of the ring of stream `index`, which is below [`shm::MAX_STREAMS`].
    pub fn ring(&self, index: usize) -> NonNull<u8> {
        let offset = shm::RINGS_OFFSET + index as u64 * shm::RING_BYTES;
        self.control.at(offset, shm::RING_BYTES).expect("the control file has a ring for every stream")
    }

    /// Address in this process of `[offset, offset + bytes)` of the store.
    pub fn store(&self, offset: u64, bytes: u64) -> Option<NonNull<u8>> {
        let end = offset.checked_add(bytes)?;
        if end > shm::STORE_BYTES { None } else { self.control.at(shm::STORE_OFFSET + offset, bytes) }
    }

    /// Address in this process where pinned memory begins.
    pub fn pinned_start(&self) -> NonNull<u8> {
        self.control.at(shm::PINNED_OFFSET, shm::PINNED_BYTES).expect("the control file has pinned memory")
    }

    /// Address, in this process and only for copies, of device memory at device address `address`.
    pub fn device_memory(&self, address: u64, bytes: u64) -> Option<NonNull<u8>> {
        self.memory.at(address.checked_sub(self.base)?, bytes)
    }

    /// True when device memory has a byte at `address`.
    pub fn is_device_address(&self, address: u64) -> bool {
        address.checked_sub(self.base).is_some_and(|offset| offset < self.memory_bytes)
    }

    /// Which device it is.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Looks whether the device process still holds its end of the socket. Once lost, a device stays lost.
    pub fn is_lost(&self) -> bool {
        if self.is_lost.load(Ordering::Acquire) {
            return true;
        }
        let mut entry = libc::pollfd { fd: self.socket, events: 0, revents: 0 };
        // SAFETY: `entry` is one poll entry; hang-up is reported without being asked for, and the call does not wait.
        let count = unsafe { libc::poll(&raw mut entry, 1, 0) };
        let is_lost = count == 1 && entry.revents != 0;
        if is_lost {
            self.is_lost.store(true, Ordering::Release);
        }
        is_lost
    }

    /// Refuses what a lost device cannot do.
    ///
    /// # Errors
    /// 507010.
    pub fn is_there(&self) -> Result {
        if self.is_lost() { Err(self.lost_code()) } else { Ok(()) }
    }

    /// What a lost device answers to everything.
    pub fn lost_code(&self) -> super::error::Code {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let how = process.as_mut().and_then(DeviceProcess::exit);
        fail!(
            DEVICE_LOST,
            "device {}: its process is gone ({})",
            self.id,
            how.as_deref().unwrap_or("no exit status yet")
        )
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.end();
    }
}

fn control_of(mapping: &Mapping) -> &Control {
    // SAFETY:
    // 1. The mapping is page-aligned and longer than `Control`, which a const assertion of `shm` bounds by `RINGS_OFFSET`.
    // 2. Every word of `Control` that anybody writes is an atomic, so another process may change it under a shared reference;
    //    zero is a valid value of each.
    // 3. The reference lives as long as the borrow of the mapping.
    unsafe { mapping.start().cast::<Control>().as_ref() }
}

fn init(control: &Control, id: u32, settings: &Settings) {
    let words = [
        (&control.device_base, settings.base_of(id)),
        (&control.device_bytes, settings.memory_bytes),
        (&control.callable_offset, settings.memory_bytes - settings.callable_bytes),
        (&control.seed, settings.seed),
        (&control.magic, shm::MAGIC),
    ];
    let numbers = [
        (&control.version, shm::VERSION),
        (&control.device_id, id),
        (&control.aicpu_threads, settings.aicpu_threads),
        (&control.aicore_workers, settings.aicore_workers),
        (&control.aicore_timeout_ms, settings.aicore_timeout_ms),
        // The default stream always exists.
        (&control.streams[0].is_open, 1),
    ];
    // Nobody else has the file yet; starting the process publishes it.
    for (word, value) in words {
        word.store(value, Ordering::Relaxed);
    }
    for (word, value) in numbers {
        word.store(value, Ordering::Relaxed);
    }
}

fn until_ready(control: &Control, id: u32, process: &mut DeviceProcess) -> Result {
    let deadline = wait::Deadline::after_ms(START_PATIENCE_MS);
    loop {
        let seen = control.host_bell.load(Ordering::SeqCst);
        let path = process.executable().display().to_string();
        match control.state.load(Ordering::Acquire) {
            state::READY => return Ok(()),
            state::FAILED => {
                let code = control.start_error.load(Ordering::Acquire);
                return Err(fail!(
                    DEVICE_SETUP,
                    "device {id}: {path} could not start, error {code}; it says why on stderr"
                ));
            }
            _ => {}
        }
        if let Some(how) = process.exit() {
            return Err(fail!(DEVICE_SETUP, "device {id}: {path} ended before it was ready ({how})"));
        }
        if deadline.has_passed() {
            return Err(fail!(DEVICE_SETUP, "device {id}: {path} was not ready after {START_PATIENCE_MS} ms"));
        }
        wait::sleep(control, seen, wait::SLICE);
    }
}
