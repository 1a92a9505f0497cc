//! The two memory files, mapped: where offsets and addresses become pointers.
//!
//! Every span is checked here against the file that it lies in. Both files are written by other processes while this one reads
//! them, so no reference is made into them except to atomics; everything else goes through raw pointers and copies.

use core::fmt;
use core::num::NonZeroU32;
use core::ptr;
use core::sync::atomic::Ordering::{Acquire, SeqCst};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

use super::failure::{DRIVER, INVALID_PARAM};
use crate::shm::{self, Control, state};

/// Most AICPU threads that a device has.
pub const MAX_AICPU_THREADS: u32 = 64;
/// Most AICore workers that a device has.
pub const MAX_AICORE_WORKERS: u32 = 256;

/// The memory of one device. Mapped once and never unmapped.
#[derive(Debug)]
pub struct Machine {
    control: *mut u8,
    device_base: u64,
    device_bytes: u64,
    callable_offset: u64,
}

// SAFETY: the pointer is to a mapping that lives until the process ends, and is used through atomics and copies only.
unsafe impl Send for Machine {}
// SAFETY: as for `Send`; nothing in the struct changes after it was made.
unsafe impl Sync for Machine {}

/// Why the files could not be mapped.
#[derive(Debug, thiserror::Error)]
pub enum MapError {
    /// The control file cannot be mapped, or is not one: nobody can be told but the log.
    #[error("control file: {0}")]
    Control(String),
    /// The host's settings or the memory file are wrong; the host is told.
    #[error("{what}")]
    Device {
        /// Vendor code for `Control::start_error`.
        code: NonZeroU32,
        /// What, where, and what was expected.
        what: String,
    },
}

fn refuse(what: impl fmt::Display) -> MapError {
    MapError::Device { code: INVALID_PARAM, what: what.to_string() }
}

/// The control file, mapped and known to be one.
#[derive(Clone, Copy, Debug)]
pub struct ControlFile(*mut u8);

impl ControlFile {
    /// Maps it and checks magic and version.
    ///
    /// # Errors
    /// [`MapError::Control`].
    pub fn map(file: BorrowedFd<'_>) -> Result<Self, MapError> {
        let bytes = file_bytes(file).map_err(|error| MapError::Control(error.to_string()))?;
        if bytes < shm::CONTROL_FILE_BYTES {
            let expected = shm::CONTROL_FILE_BYTES;
            return Err(MapError::Control(format!("has {bytes} bytes, expected {expected}")));
        }
        let base = map(file, ptr::null_mut(), shm::CONTROL_FILE_BYTES, 0)
            .map_err(|error| MapError::Control(format!("cannot be mapped: {error}")))?;
        let this = Self(base);
        let (magic, version) = (this.control().magic.load(Acquire), this.control().version.load(Acquire));
        if (magic, version) != (shm::MAGIC, shm::VERSION) {
            return Err(MapError::Control(format!(
                "magic {magic:#x} version {version}, expected {:#x} version {}: host library and device are of two builds",
                shm::MAGIC,
                shm::VERSION
            )));
        }
        Ok(this)
    }

    /// The head of the file.
    #[must_use]
    pub fn control(&self) -> &'static Control {
        // SAFETY:
        // 1. non-null, page-aligned and at least `size_of::<Control>()` bytes: `map` above and the assertion in `shm`;
        // 2. every field is an atomic or padding that nobody reads, so any bytes are a valid value and others may write;
        // 3. the mapping is never removed.
        unsafe { &*self.0.cast::<Control>() }
    }
}

impl Machine {
    /// Checks the host's settings and maps device memory at its address.
    ///
    /// # Errors
    /// [`MapError::Device`] with what was wrong.
    pub fn map(file: ControlFile, memory: BorrowedFd<'_>) -> Result<Self, MapError> {
        let control = file.control();
        let device_base = control.device_base.load(Acquire);
        let device_bytes = control.device_bytes.load(Acquire);
        let callable_offset = control.callable_offset.load(Acquire);
        let (aicpu, aicore) = (control.aicpu_threads.load(Acquire), control.aicore_workers.load(Acquire));
        if !(1..=MAX_AICPU_THREADS).contains(&aicpu) {
            return Err(refuse(format_args!("aicpu_threads is {aicpu}, expected 1..={MAX_AICPU_THREADS}")));
        }
        if !(1..=MAX_AICORE_WORKERS).contains(&aicore) {
            return Err(refuse(format_args!("aicore_workers is {aicore}, expected 1..={MAX_AICORE_WORKERS}")));
        }
        if device_base == 0 || device_bytes == 0 || device_base.checked_add(device_bytes).is_none() {
            return Err(refuse(format_args!("device memory of {device_bytes} bytes at {device_base:#x} cannot be")));
        }
        if callable_offset > device_bytes || !callable_offset.is_multiple_of(64) {
            return Err(refuse(format_args!(
                "callable_offset is {callable_offset:#x}, expected a multiple of 64 up to {device_bytes:#x}"
            )));
        }
        let found = file_bytes(memory).map_err(|error| refuse(format_args!("memory file: {error}")))?;
        if found < device_bytes {
            return Err(refuse(format_args!("memory file has {found} bytes, expected {device_bytes}")));
        }
        map_at(memory, device_base, device_bytes)?;
        Ok(Self { control: file.0, device_base, device_bytes, callable_offset })
    }

    /// The head of the control file.
    #[must_use]
    pub fn control(&self) -> &'static Control {
        ControlFile(self.control).control()
    }

    /// Whether the host has asked the device to end.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.control().state.load(SeqCst) == state::STOPPING
    }

    /// Where the byte at position `at` of the endless tape of `stream`'s ring lies. `stream` is below `MAX_STREAMS`.
    #[must_use]
    pub fn ring(&self, stream: usize, at: u64) -> *const u8 {
        debug_assert!(stream < shm::MAX_STREAMS);
        self.in_control(shm::RINGS_OFFSET + stream as u64 * shm::RING_BYTES + at % shm::RING_BYTES)
    }

    /// `bytes` bytes of the store from `offset`, when they are all inside.
    #[must_use]
    pub fn store(&self, offset: u64, bytes: u64) -> Option<*const u8> {
        is_inside(offset, bytes, shm::STORE_BYTES).then(|| self.in_control(shm::STORE_OFFSET + offset).cast_const())
    }

    /// `bytes` bytes of pinned host memory from `offset`, when they are all inside.
    #[must_use]
    pub fn pinned(&self, offset: u64, bytes: u64) -> Option<*mut u8> {
        is_inside(offset, bytes, shm::PINNED_BYTES).then(|| self.in_control(shm::PINNED_OFFSET + offset))
    }

    /// `bytes` bytes of device memory from `address`, when they are all inside.
    #[must_use]
    pub fn device(&self, address: u64, bytes: u64) -> Option<*mut u8> {
        let offset = address.checked_sub(self.device_base)?;
        is_inside(offset, bytes, self.device_bytes)
            .then(|| usize::try_from(address).ok().map(ptr::with_exposed_provenance_mut))
            .flatten()
    }

    /// Whether all of `bytes` bytes from `address` are callable memory.
    #[must_use]
    pub fn is_callable(&self, address: u64, bytes: u64) -> bool {
        self.device(address, bytes).is_some() && address - self.device_base >= self.callable_offset
    }

    /// A pointer into the control file; `offset` is below its size.
    fn in_control(&self, offset: u64) -> *mut u8 {
        debug_assert!(offset < shm::CONTROL_FILE_BYTES);
        let offset = usize::try_from(offset).expect("the whole file was mapped, so its offsets fit");
        // SAFETY: the offset is inside the one mapping that `control` points to: callers check theirs against their part of it.
        unsafe { self.control.add(offset) }
    }
}

/// Whether `[offset, offset + bytes)` lies in `[0, whole)` and does not begin at its end.
const fn is_inside(offset: u64, bytes: u64, whole: u64) -> bool {
    offset < whole && bytes <= whole - offset
}

fn file_bytes(file: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: `stat` is plain data; all zeroes are a value of it.
    let mut stat = unsafe { core::mem::zeroed::<libc::stat>() };
    // SAFETY: fstat(2): the descriptor is open for the borrow, and the buffer is a `stat` of this function.
    let result = unsafe { libc::fstat(file.as_raw_fd(), &raw mut stat) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(u64::try_from(stat.st_size).unwrap_or(0))
}

/// Maps device memory where every process of this device has it.
///
/// The address is a request without force: on a kernel that knows `MAP_FIXED_NOREPLACE` a taken range is an error, elsewhere
/// (qemu's user mode) it is a hint and the result tells.
fn map_at(memory: BorrowedFd<'_>, base: u64, bytes: u64) -> Result<(), MapError> {
    let refused = |why: &dyn fmt::Display| MapError::Device {
        code: DRIVER,
        what: format!("device memory of {bytes} bytes cannot be mapped at {base:#x}: {why}"),
    };
    let wanted = usize::try_from(base).map_err(|_| refused(&"not an address here"))?;
    let wanted = ptr::without_provenance_mut::<u8>(wanted);
    let found = map(memory, wanted, bytes, libc::MAP_FIXED_NOREPLACE).map_err(|error| refused(&error))?;
    if found != wanted {
        return Err(refused(&format_args!("the range is taken, the system offers {found:p}")));
    }
    // From here on addresses of the range are turned into pointers by `Machine::device`.
    let _ = found.expose_provenance();
    Ok(())
}

/// Maps `bytes` bytes of `file`, shared, for reading and writing.
fn map(file: BorrowedFd<'_>, address: *mut u8, bytes: u64, flags: i32) -> io::Result<*mut u8> {
    let len = usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: mmap(2) without MAP_FIXED takes no range that is in use, so no memory of this program changes.
    let base = unsafe {
        libc::mmap(address.cast(), len, protection, libc::MAP_SHARED | libc::MAP_NORESERVE | flags, file.as_raw_fd(), 0)
    };
    if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(base.cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_inside_only_when_all_of_it_is() {
        assert!(is_inside(0, 10, 10));
        assert!(is_inside(9, 1, 10));
        assert!(!is_inside(9, 2, 10));
        assert!(!is_inside(10, 0, 10));
        assert!(!is_inside(5, u64::MAX, 10));
    }
}
