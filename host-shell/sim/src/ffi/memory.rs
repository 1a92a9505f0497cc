//! Memory and copies of the C interface.
//!

use core::ffi::{c_int, c_void};

use super::fence::{Out, enter};
use crate::host::copy::{Direction, Transfer};
use crate::host::device;
use crate::host::error::{Result, fail};
use crate::host::fault::Call;

/// Device memory, at a multiple of 64. What is in it is undefined.
///
/// 100000 for 0 bytes, 207001 when there is no room.
///
/// # Safety
/// `memory` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_malloc(memory: *mut *mut c_void, bytes: usize) -> c_int {
    enter(Call::Malloc, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(memory, "memory") }?;
        out.set(device::current()?.allocate(bytes)?);
        Ok(())
    })
}

/// Gives device or callable memory back. It does not wait for the device.
///
/// 100000 for what is not the start of an allocation.
///
/// # Safety
/// Any value of the address is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_free(memory: *mut c_void) -> c_int {
    enter(Call::Free, || device::current()?.free(memory))
}

/// Callable memory, at 32 more than a multiple of 64; otherwise as `tenon_sim_malloc`.
///
/// # Safety
/// `memory` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_malloc_callable(memory: *mut *mut c_void, bytes: usize) -> c_int {
    enter(Call::MallocCallable, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(memory, "memory") }?;
        out.set(device::current()?.allocate_callable(bytes)?);
        Ok(())
    })
}

/// Pinned host memory, which the device can reach; at a multiple of 64. It belongs to the current device and ends with it.
///
/// 100000 for 0 bytes, 207001 when there is no room.
///
/// # Safety
/// `memory` is null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_malloc_host(memory: *mut *mut c_void, bytes: usize) -> c_int {
    enter(Call::MallocHost, || {
        // SAFETY: this function's contract.
        let out = unsafe { Out::claim(memory, "memory") }?;
        out.set(device::current()?.allocate_pinned(bytes)?);
        Ok(())
    })
}

/// Gives pinned host memory back. Copies on streams must have ended.
///
/// # Safety
/// Nobody uses the memory any more.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_free_host(memory: *mut c_void) -> c_int {
    enter(Call::FreeHost, || device::current()?.free_pinned(memory))
}

/// Copies at once, whatever streams are doing. `kind` is a `TenonSimCopyKind`.
///
/// 0 bytes and equal addresses are nothing to do. 100000 for null or another kind, 107000 when `bytes` is more than `room` or
/// leaves an allocation, or the addresses are not of the kind; 107030 when a capture's mode forbids it.
///
/// # Safety
/// Host memory is readable at `source` and writable at `destination` for `bytes` bytes.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_memcpy(
    destination: *mut c_void,
    room: usize,
    source: *const c_void,
    bytes: usize,
    kind: i32,
) -> c_int {
    enter(Call::Memcpy, || {
        let transfer = transfer(destination, room, source, bytes, kind)?;
        // SAFETY: this function's contract.
        unsafe { device::current()?.copy(&transfer) }
    })
}

/// Copies in the order of a stream; `kind` is a `TenonSimCopyKind`. With host memory that is not pinned it waits for the stream
/// and copies at once.
///
/// As `tenon_sim_memcpy`; 107041 when it would have to wait and the stream is being captured.
///
/// # Safety
/// Host memory is readable at `source` and writable at `destination` for `bytes` bytes.
/// Pinned memory stays so until the copy has ended.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_memcpy_async(
    destination: *mut c_void,
    room: usize,
    source: *const c_void,
    bytes: usize,
    kind: i32,
    stream: *mut c_void,
) -> c_int {
    enter(Call::MemcpyAsync, || {
        let transfer = transfer(destination, room, source, bytes, kind)?;
        // SAFETY: this function's contract.
        unsafe { device::current()?.copy_async(&transfer, stream) }
    })
}

/// Fills `bytes` bytes of device or host memory with the low byte of `value`, at once.
///
/// As `tenon_sim_memcpy`.
///
/// # Safety
/// Host memory is writable at `destination` for `bytes` bytes.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_memset(destination: *mut c_void, room: usize, value: i32, bytes: usize) -> c_int {
    enter(Call::Memset, || {
        // SAFETY: this function's contract.
        unsafe { device::current()?.fill(destination, room, low_byte(value), bytes) }
    })
}

/// Fills device memory with the low byte of `value` in the order of a stream.
///
/// As `tenon_sim_memcpy`; 107000 for memory that is not the device's.
///
/// # Safety
/// Any value of the address is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_memset_async(
    destination: *mut c_void,
    room: usize,
    value: i32,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    enter(Call::MemsetAsync, || device::current()?.fill_async(destination, room, low_byte(value), bytes, stream))
}

/// Writes four bytes of device memory in the order of a stream.
///
/// 100000 for null or an address that is not a multiple of 4, 107000 for memory that is not the device's.
///
/// # Safety
/// Any value of the address is checked; nothing is followed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_write_value32_async(device: *mut c_void, value: u32, stream: *mut c_void) -> c_int {
    enter(Call::WriteValue32Async, || device::current()?.write_value(device, value, stream))
}

/// Reads device memory at once, also during a capture.
///
/// # Safety
/// Host memory is writable at `host` for `bytes` bytes.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_read_device(host: *mut c_void, device: *const c_void, bytes: usize) -> c_int {
    enter(Call::ReadDevice, || {
        // SAFETY: this function's contract.
        unsafe { device::current()?.read(host, device, bytes) }
    })
}

/// How much device memory is free, and how much there is; callable memory is not counted.
///
/// # Safety
/// Both are null or valid for one write.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn tenon_sim_get_mem_info(free: *mut usize, total: *mut usize) -> c_int {
    enter(Call::GetMemInfo, || {
        // SAFETY: this function's contract.
        let free_out = unsafe { Out::claim(free, "free") }?;
        // SAFETY: this function's contract.
        let total_out = unsafe { Out::claim(total, "total") }?;
        let (free, total) = device::current()?.memory_info()?;
        free_out.set(free);
        total_out.set(total);
        Ok(())
    })
}

fn transfer(destination: *mut c_void, room: usize, source: *const c_void, bytes: usize, kind: i32) -> Result<Transfer> {
    match Direction::from_number(kind) {
        Some(direction) => Ok(Transfer { destination, room, source, bytes, direction }),
        // Nothing to copy is right whatever the rest says.
        None if bytes == 0 => Ok(Transfer { destination, room, source, bytes, direction: Direction::Default }),
        None => Err(fail!(INVALID_PARAM, "copy kind {kind}, expected 0..=5")),
    }
}

fn low_byte(value: i32) -> u8 {
    value.to_le_bytes()[0]
}
