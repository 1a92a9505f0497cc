//! One ELF shared object, loaded from device memory.
//!

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use heapless::Vec;

use crate::cache;
use crate::code::{CodeRange, LoadFault};
use crate::log::{Level, Line};
use crate::platform_table::Platform;
use crate::words::{DeviceImage, at};

use super::elf;

/// A loaded object and its entry. All zeroes is no object.
#[derive(Debug)]
pub(super) struct Object {
    handle: *mut c_void,
    entry: *mut c_void,
}

impl Object {
    /// Loads `code` and finds `symbol` in it. `child` is for what the log says.
    pub(super) fn load(
        platform: &Platform,
        code: CodeRange,
        symbol: &CStr,
        child: Option<u32>,
    ) -> Result<Self, LoadFault> {
        // SAFETY: code lies inside a resident image (`CodeRange`), which is mapped.
        let object = unsafe { DeviceImage::new(code.address, code.bytes) };
        if !elf::is_whole(&object) {
            line_about(child).text(" is not whole").send(Level::Error, platform);
            return Err(LoadFault::Unloadable { child });
        }
        let file = File::with(code).ok_or(LoadFault::NoResources)?;
        let path = unique_path(file.0);
        // SAFETY: the path ends with a NUL. The object's initialisers run: they are the callable's code, which is about to run anyway.
        let handle = unsafe { libc::dlopen(path.as_ptr().cast::<c_char>(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        let mut object = Self { handle, entry: ptr::null_mut() };
        if !handle.is_null() {
            // SAFETY: the handle is an open object's, the name ends with a NUL.
            object.entry = unsafe { libc::dlsym(handle, symbol.as_ptr()) };
        }
        if object.entry.is_null() {
            report(platform, child);
            object.unload();
            return Err(LoadFault::Unloadable { child });
        }
        Ok(object)
    }

    /// The entry that was found.
    pub(super) const fn entry(&self) -> *mut c_void {
        self.entry
    }

    /// Lets the object go, if there is one. Whether the system agreed.
    pub(super) fn unload(&mut self) -> bool {
        let handle = core::mem::replace(&mut self.handle, ptr::null_mut());
        self.entry = ptr::null_mut();
        // SAFETY: the handle is an open object's, forgotten just now, and none of its code is entered any more.
        handle.is_null() || unsafe { libc::dlclose(handle) } == 0
    }
}

/// A file without a name, closed on drop. Mappings of it stay.
struct File(c_int);

impl File {
    /// Makes a file with a copy of `code`.
    #[expect(clippy::cast_possible_truncation, reason = "pointers have 64 bits: `words::at`")]
    fn with(code: CodeRange) -> Option<Self> {
        // SAFETY: the name ends with a NUL.
        let descriptor = unsafe { libc::memfd_create(c"tenon-code".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return None;
        }
        let file = Self(descriptor);
        cache::invalidate(code.address, code.bytes);
        let mut from = code;
        while from.bytes != 0 {
            let start = at::<c_void>(from.address);
            // SAFETY: the bytes lie inside a resident image (`CodeRange`). The system copies them; no reference is made.
            let written = unsafe { libc::write(file.0, start, from.bytes as usize) };
            // A file in memory takes some of the bytes, unless there is no memory.
            let written = u64::try_from(written).ok().filter(|written| *written != 0)?;
            from.address = from.address.wrapping_add(written);
            from.bytes = from.bytes.saturating_sub(written);
        }
        Some(file)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: this value owns the descriptor.
        unsafe { libc::close(self.0) };
    }
}

/// Loads of this image so far. Its address tells this image from others that are loaded at the same time.
static LOADS: AtomicU64 = AtomicU64::new(0);

/// Longest path: the folder, two bytes for each of 128 bits, a separator, ten digits, NUL.
const PATH_BYTES: usize = 13 + 2 * 128 + 1 + 10 + 1;

/// A path of the descriptor that no object in this process was ever loaded by.
///
/// glibc gives back an object that is already loaded when the path's text equals one of its names, whatever file the path leads to by
/// now, and descriptors are small numbers that come again. `/` and `/.` lead nowhere in a path, so each bit of a number that is never
/// used twice is written as one of them: first where this image lies, then how many loads it has made.
fn unique_path(descriptor: c_int) -> Vec<u8, PATH_BYTES> {
    let mut path = Vec::new();
    let image = ptr::from_ref(&LOADS).expose_provenance() as u64;
    let load = LOADS.fetch_add(1, Ordering::Relaxed);
    // The vector is as long as the longest path, so nothing below is cut.
    let _ = path.extend_from_slice(b"/proc/self/fd");
    for number in [image, load] {
        for bit in 0..u64::BITS {
            let part: &[u8] = if number >> bit & 1 == 0 { b"/" } else { b"/." };
            let _ = path.extend_from_slice(part);
        }
    }
    let _ = path.push(b'/');
    let mut digits = Vec::<u8, 10>::new();
    let mut rest = descriptor.unsigned_abs();
    while rest != 0 || digits.is_empty() {
        let _ = digits.push(b'0' + (rest % 10) as u8);
        rest /= 10;
    }
    for digit in digits.iter().rev() {
        let _ = path.push(*digit);
    }
    let _ = path.push(0);
    path
}

fn line_about(child: Option<u32>) -> Line {
    match child {
        Some(child) => Line::new("code of child ").number(child),
        None => Line::new("code of the orchestration"),
    }
}

/// Says why the last call of the loader failed.
fn report(platform: &Platform, child: Option<u32>) {
    let line = line_about(child);
    // SAFETY: no condition; the text is this thread's until its next call of the loader.
    let reason = unsafe { libc::dlerror() };
    if reason.is_null() {
        line.text(" cannot be loaded: its symbol is null").send(Level::Error, platform);
    } else {
        // SAFETY: the loader's text ends with a NUL and stays until this thread's next call of the loader, which comes later.
        let reason = unsafe { CStr::from_ptr(reason) };
        // What matters stands after the path, which says nothing to anybody.
        let reason = reason.to_bytes();
        let from = reason.iter().position(|byte| *byte == b' ').unwrap_or(0);
        line.text(" cannot be loaded:").bytes(reason.get(from..).unwrap_or(reason)).send(Level::Error, platform);
    }
}
