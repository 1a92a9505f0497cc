//! From what C names to what Rust may look at.
//!
//! Every function here takes what the argument check of its entry has passed.

use core::ffi::c_void;
use core::{ptr, slice};

use tenon_core::arguments::{BinaryClaim, BinaryClaims};
use tenon_core::callable::layout;
use tenon_core::vocabulary::DeviceImages;
use tenon_core::wire::{CallConfig, StorageTaskArgs};

use crate::primitive::size;

/// A range of the caller's memory, as the caller names it.
#[derive(Clone, Copy)]
pub(super) struct Claimed {
    address: *const u8,
    len_bytes: usize,
}

/// The three binaries of an init entry, as the caller names them.
#[derive(Clone, Copy)]
pub(super) struct ClaimedImages {
    pub(super) aicpu: Claimed,
    pub(super) aicore: Claimed,
    pub(super) dispatcher: Claimed,
}

impl Claimed {
    pub(super) const fn new(address: *const u8, len_bytes: usize) -> Self {
        Self { address, len_bytes }
    }

    pub(super) fn claim(self) -> BinaryClaim {
        BinaryClaim { address: self.address.addr(), len_bytes: self.len_bytes }
    }

    /// The bytes; none for a null pointer.
    ///
    /// # Safety The argument check of the entry has passed, and what its `# Safety` says of the pointer holds until the
    /// entry returns.
    pub(super) unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.address.is_null() {
            return &[];
        }
        // SAFETY:
        // 1. `address` is not null, see above, and a byte needs no alignment.
        // 2. `len_bytes` bytes are readable there, and nobody writes them before the entry returns: the caller's
        //    contract.
        // 3. `len_bytes` is at most `isize::MAX`: the argument check.
        unsafe { slice::from_raw_parts(self.address, self.len_bytes) }
    }
}

impl ClaimedImages {
    pub(super) fn claim(self) -> BinaryClaims {
        BinaryClaims { aicpu: self.aicpu.claim(), aicore: self.aicore.claim(), dispatcher: self.dispatcher.claim() }
    }

    /// The bytes of all three.
    ///
    /// # Safety
    /// As for [`Claimed::bytes`].
    pub(super) unsafe fn images<'a>(self) -> DeviceImages<'a> {
        // SAFETY: this function's contract.
        let aicpu = unsafe { self.aicpu.bytes() };
        // SAFETY: as above.
        let aicore = unsafe { self.aicore.bytes() };
        // SAFETY: as above.
        let dispatcher = unsafe { self.dispatcher.bytes() };
        DeviceImages { aicpu, aicore, dispatcher }
    }
}

/// A copy of the configuration; `None` for a null pointer.
///
/// # Safety
/// `config` is null, or 1,144 bytes are readable there and nobody writes them meanwhile.
pub(super) unsafe fn config(config: *const CallConfig) -> Option<CallConfig> {
    if config.is_null() {
        return None;
    }
    // SAFETY:
    // 1. Readable for the size of the type: this function's contract. The type is packed, so no alignment is needed.
    // 2. Every bit pattern is a value of the type: it is `FromBytes`.
    Some(unsafe { ptr::read(config) })
}

/// The arguments of a launch or a run.
///
/// # Safety The argument check of the entry has passed, and 33,856 bytes are readable there that nobody writes before
/// the entry returns.
pub(super) unsafe fn task_args<'a>(args: *const StorageTaskArgs) -> &'a StorageTaskArgs {
    // SAFETY:
    // 1. Not null and 64-aligned: the argument check.
    // 2. Readable, and not written meanwhile: this function's contract.
    // 3. Every bit pattern is a value of the type: it is `FromBytes`.
    unsafe { &*args }
}

/// Writes an answer to where the caller wants it, aligned or not.
///
/// # Safety
/// `out` is not null, and the size of `T` is writable there.
pub(super) unsafe fn write_out<T>(out: *mut T, value: T) {
    // SAFETY: this function's contract; the write asks for no alignment.
    unsafe { ptr::write_unaligned(out, value) }
}

/// A device address as C passes it.
pub(super) fn device_address(device: *const c_void) -> u64 {
    device.addr() as u64
}

/// A device address as C is given it. It is no address of the host, so it has no provenance here.
pub(super) fn device_pointer(address: u64) -> *mut c_void {
    ptr::without_provenance_mut(size(address))
}

/// An image that was given without a size: its own header is trusted for it.
///
/// # Safety `image` is not null, and readable for as much as its header says: the 9,376 bytes of the header, the
/// orchestration binary and the children. Nobody writes it before the entry returns.
pub(super) unsafe fn image_by_its_header(image: *const u8) -> Claimed {
    // SAFETY: the field lies in the header: this function's contract.
    let binary_size = unsafe { word(image, layout::BINARY_SIZE) };
    // SAFETY: as above.
    let child_count = unsafe { word(image, layout::CHILD_COUNT) };
    let mut end = u64::from(binary_size);
    // A count that is no count is left to the check of the image, which names it.
    if (1..=layout::MAX_CHILDREN).contains(&child_count) {
        // SAFETY: as above; an entry below 1,024 lies in the header.
        let last = unsafe { word(image, layout::CHILD_OFFSETS + 4 * u64::from(child_count - 1)) };
        // SAFETY: the header says that the last child lies there.
        let code = unsafe { word(image, layout::HEADER_BYTES + u64::from(last) + layout::CHILD_BINARY_SIZE) };
        end = u64::from(last) + layout::CHILD_CODE + u64::from(code);
    }
    Claimed::new(image, size(layout::HEADER_BYTES + end))
}

/// # Safety
/// Four bytes at `offset` are readable and not written meanwhile.
unsafe fn word(image: *const u8, offset: u64) -> u32 {
    // SAFETY: this function's contract; the read asks for no alignment.
    unsafe { ptr::read_unaligned(image.wrapping_add(size(offset)).cast()) }
}
