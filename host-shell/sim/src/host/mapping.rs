//! Shared memory files and the ways that they are mapped.
//!
//! Mappings are not inherited by a forked child: it has no device (see [`fork`](super::fork)), so it must not be able to write
//! into its parent's rings either. The reservation of the device's range is inherited, and inaccessible in both.

use core::ffi::CStr;
use core::ptr::{self, NonNull};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Makes an anonymous memory file of `bytes` bytes, all zero and none of them taken yet. It is closed on exec.
///
/// # Errors
/// The system's.
pub fn create_file(name: &CStr, bytes: u64) -> io::Result<OwnedFd> {
    // SAFETY: `name` is a C string; the call takes nothing else.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was opened just above and nobody else owns it.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let length = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: `fd` is an open memory file.
    if unsafe { libc::ftruncate(fd.as_raw_fd(), length) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(fd)
}

/// A shared, readable and writable mapping of a whole file, gone when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping stays where it is and belongs to nobody's thread; it gives out raw pointers only.
unsafe impl Send for Mapping {}
// SAFETY: as above; `&Mapping` allows no access by itself.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `bytes` bytes of `file` where the system likes.
    ///
    /// # Errors
    /// The system's.
    pub fn new(file: BorrowedFd<'_>, bytes: u64) -> io::Result<Self> {
        let bytes = usize::try_from(bytes).map_err(io::Error::other)?;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: no address is asked for, so nothing that exists is replaced; `file` is open.
        let start = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, flags, file.as_raw_fd(), 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        let mapping = Self { start, bytes };
        // SAFETY: the range is the mapping made above.
        if unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTFORK) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(mapping)
    }

    /// Address of the byte at `offset`; `None` unless `[offset, offset + bytes)` lies in the mapping.
    #[must_use]
    pub fn at(&self, offset: u64, bytes: u64) -> Option<NonNull<u8>> {
        let offset = usize::try_from(offset).ok()?;
        let end = offset.checked_add(usize::try_from(bytes).ok()?)?;
        if end > self.bytes {
            return None;
        }
        // SAFETY: `offset <= self.bytes`, checked above, so the result stays in the mapping or just behind it.
        Some(unsafe { self.start.add(offset) })
    }

    /// Address of the first byte.
    #[must_use]
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY:
        // 1. The range is exactly the mapping that `new` made.
        // 2. Pointers into it are only used by those who hold this value, and it is being dropped.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Takes `[base, base + bytes)` out of this process's address space for ever: any access faults, nothing else is mapped there.
///
/// # Errors
/// The system's; `AlreadyExists` when something lies there already.
pub fn reserve(base: u64, bytes: u64) -> io::Result<()> {
    let address = ptr::without_provenance_mut(usize::try_from(base).map_err(io::Error::other)?);
    let length = usize::try_from(bytes).map_err(io::Error::other)?;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: MAP_FIXED_NOREPLACE never replaces what exists, and the new range is inaccessible.
    let got = unsafe { libc::mmap(address, length, libc::PROT_NONE, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    if got != address {
        // Kernels before 4.17 and some emulators take the address as a hint.
        // SAFETY: the range is the one that was just mapped.
        unsafe { libc::munmap(got, length) };
        return Err(io::Error::from(io::ErrorKind::AlreadyExists));
    }
    Ok(())
}

/// Undoes [`reserve`]. No device may be using the range.
pub fn give_up(base: u64, bytes: u64) {
    let (Ok(address), Ok(length)) = (usize::try_from(base), usize::try_from(bytes)) else { return };
    // SAFETY: the range was reserved by this module, inaccessible, so that nothing of the program lies in it.
    unsafe { libc::munmap(ptr::without_provenance_mut(address), length) };
}
