//! Whether an ELF object is whole.
//!
//! The dynamic loader maps segments without asking whether the file is long enough, and a page past its end is fatal to the process
//! that touches it. So a truncated object is refused here. Offsets are those of the ELF-64 gABI.

use tenon_core::callable::ImageWords;

use crate::words::DeviceImage;

/// `e_phoff`, u64
const PROGRAM_HEADERS: u64 = 32;
/// `e_phentsize`, u16
const ENTRY_SIZE: u64 = 54;
/// `e_phnum`, u16
const ENTRY_COUNT: u64 = 56;
/// Bytes of an `Elf64_Phdr`.
const ENTRY_BYTES: u64 = 56;
/// In an `Elf64_Phdr`: `p_offset`, u64
const SEGMENT_OFFSET: u64 = 8;
/// In an `Elf64_Phdr`: `p_filesz`, u64
const SEGMENT_BYTES: u64 = 32;

/// Whether the program headers, and the bytes of every segment, lie inside an object that is known to be ELF of this machine.
pub(super) fn is_whole(object: &DeviceImage) -> bool {
    let start = number::<8>(object, PROGRAM_HEADERS);
    let count = number::<2>(object, ENTRY_COUNT);
    if number::<2>(object, ENTRY_SIZE) != ENTRY_BYTES || object.range(start, count * ENTRY_BYTES).is_none() {
        return false;
    }
    (0..count).all(|index| {
        let entry = start + index * ENTRY_BYTES;
        let bytes = number::<8>(object, entry + SEGMENT_BYTES);
        object.range(number::<8>(object, entry + SEGMENT_OFFSET), bytes).is_some()
    })
}

/// A little-endian number of `SIZE` bytes, at any alignment; past the end there are zeroes.
fn number<const SIZE: u64>(object: &DeviceImage, offset: u64) -> u64 {
    (0..SIZE).rev().fold(0, |number, byte| number << 8 | u64::from(object.u8_at(offset.saturating_add(byte))))
}
