//! AICPU images: shared objects that bring the device entries.
//!
//! The device's own image is loaded when the device starts; hosts bring others through the store.

use core::ffi::{CStr, c_int, c_void};
use core::mem::transmute_copy;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::path::Path;

use tenon_core::device::AicpuPlatform;

use super::task::Entry;

/// A device entry: takes the packet, gives 0 or an answer.
pub type EntryFn = unsafe extern "C" fn(args: *mut c_void) -> c_int;

/// A loaded image. It is let go by [`unload`](Self::unload) alone: dropping it leaves it where it is.
#[derive(Debug)]
pub struct Image {
    handle: *mut c_void,
    kernel: EntryFn,
    program: EntryFn,
    unload: unsafe extern "C" fn() -> c_int,
    /// Kept open for as long as the image is loaded.
    _file: Option<File>,
}

// SAFETY: a handle of `dlopen` and functions may be used from any thread.
unsafe impl Send for Image {}

/// Why an image was refused.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It could not be brought into a file.
    #[error("image cannot be written to memory: {0}")]
    File(#[from] io::Error),
    /// It is not in the store.
    #[error("image [{0:#x}, +{1:#x}) is not in the store")]
    Outside(u64, u64),
    /// The dynamic loader's own words.
    #[error("image cannot be loaded: {0}")]
    Load(String),
    /// It lacks an entry.
    #[error("image has no symbol {0}: expected the entries of libtenon_aicpu.so")]
    Symbol(String),
    /// Its `tenon_aicpu_load` said no.
    #[error("tenon_aicpu_load answered {0}, expected 0")]
    Refused(c_int),
    /// A path with a zero byte.
    #[error("path {0} contains a zero byte")]
    Path(String),
}

impl Image {
    /// Loads the image in a file.
    ///
    /// # Errors
    /// What the loader or the image has against it.
    pub fn load_file(path: &Path, platform: &AicpuPlatform) -> Result<Self, ImageError> {
        let name = path.as_os_str().as_encoded_bytes();
        let path = CString::new(name).map_err(|_| ImageError::Path(path.display().to_string()))?;
        Self::load(&path, None, platform)
    }

    /// Loads the image in `bytes`. `number` differs for every load of this process.
    ///
    /// # Errors
    /// What the system, the loader or the image has against it.
    pub fn load_bytes(bytes: &[u8], number: u16, platform: &AicpuPlatform) -> Result<Self, ImageError> {
        // SAFETY: memfd_create(2): the name is a C string.
        let fd = unsafe { libc::memfd_create(c"tenon-aicpu".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error().into());
        }
        // SAFETY: just made, and owned by nobody else.
        let mut file = unsafe { File::from_raw_fd(fd) };
        file.write_all(bytes)?;
        let path = unique_path(file.as_raw_fd(), number);
        Self::load(&path, Some(file), platform)
    }

    fn load(path: &CStr, file: Option<File>, platform: &AicpuPlatform) -> Result<Self, ImageError> {
        // SAFETY: dlopen(3): the path is a C string. The image's constructors run; whoever starts a device trusts its images.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(ImageError::Load(loader_message()));
        }
        let this = Self::resolve(handle, file).and_then(|(load, image)| {
            // SAFETY: the contract of `tenon_aicpu_load`: called once, with a table that it copies.
            match unsafe { load(platform) } {
                0 => Ok(image),
                other => Err(ImageError::Refused(other)),
            }
        });
        if this.is_err() {
            // SAFETY: the handle of this function's `dlopen`; nothing of the image is in use.
            unsafe { libc::dlclose(handle) };
        }
        this
    }

    fn resolve(handle: *mut c_void, file: Option<File>) -> Result<(LoadFn, Self), ImageError> {
        let load = symbol(handle, c"tenon_aicpu_load")?;
        let image = Self {
            handle,
            kernel: symbol(handle, c"simpler_aicpu_kernel_exec")?,
            program: symbol(handle, c"simpler_aicpu_exec")?,
            unload: symbol(handle, c"tenon_aicpu_unload")?,
            _file: file,
        };
        Ok((load, image))
    }

    /// The function behind an entry.
    #[must_use]
    pub const fn entry(&self, entry: Entry) -> EntryFn {
        match entry {
            Entry::Kernel => self.kernel,
            Entry::Program => self.program,
        }
    }

    /// Lets the image go; nothing of it may be running. Gives what its own `tenon_aicpu_unload` answered.
    pub fn unload(self) -> c_int {
        // SAFETY: the contract of `tenon_aicpu_unload`: nothing of the image is running, says the caller.
        let answer = unsafe { (self.unload)() };
        // SAFETY: the handle came from `dlopen` and is closed once: `self` is consumed.
        unsafe { libc::dlclose(self.handle) };
        answer
    }
}

type LoadFn = unsafe extern "C" fn(*const AicpuPlatform) -> c_int;

/// The function called `name`. `F` is its type.
fn symbol<F: Copy>(handle: *mut c_void, name: &CStr) -> Result<F, ImageError> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>(), "a function pointer") };
    // SAFETY: dlsym(3): a handle of `dlopen` that is still open, and a C string.
    let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
    if address.is_null() {
        return Err(ImageError::Symbol(name.to_string_lossy().into_owned()));
    }
    // SAFETY: the size was asserted above; that the function has this type is the contract of the image's exports.
    Ok(unsafe { transmute_copy::<*mut c_void, F>(&address) })
}

fn loader_message() -> String {
    // SAFETY: dlerror(3) has no conditions.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "the loader gives no reason".into();
    }
    // SAFETY: not null, so a C string that stays until this thread's next call into the loader.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

/// A path to the file behind `fd` that no other load of this process has used.
///
/// glibc takes an object for already loaded when the string of its path is one that it knows, even when another file is there
/// now, and numbers of descriptors come back. So the number of the load is written into the path, in empty steps: `/` is a 0 and
/// `./` is a 1.
fn unique_path(fd: i32, number: u16) -> CString {
    let steps: String = (0..u16::BITS).map(|bit| if number >> bit & 1 == 0 { "/" } else { "./" }).collect();
    CString::new(format!("/proc/self/fd/{steps}{fd}")).expect("no zero byte in it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_has_a_path_of_its_own_to_the_same_file() {
        let mut paths: Vec<CString> = (0..=u16::MAX).map(|number| unique_path(0, number)).collect();
        let file = |path: &CString| std::fs::canonicalize(path.to_str().expect("ASCII")).ok();
        assert_eq!(file(&paths[0]), file(&paths[0xA5A5]));
        assert_eq!(file(&paths[0]), std::fs::canonicalize("/proc/self/fd/0").ok());
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), 1 << 16);
    }
}
