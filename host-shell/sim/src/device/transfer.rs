//! The copy engine: moves bytes between device memory and pinned host memory.
//!
//! Small transfers are done where they come up, large ones by a thread of their own, so that a long copy holds up nobody but its
//! stream.

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, fence};

use super::task::{Source, Transfer};

/// Up to here a transfer is small.
pub const SMALL_BYTES: usize = 4096;

/// Moves the bytes.
///
/// A small transfer is made of whole, aligned words in ascending order, each stored with release order: that is how hosts write
/// records that the AICPU reads at the same time. After any transfer a full barrier stands, which the proof of close needs
/// (`core/docs/decisions/0001-close-sees-its-zeroes.md`).
pub fn run(transfer: &Transfer) {
    if transfer.bytes > SMALL_BYTES {
        run_large(transfer);
    } else {
        run_small(transfer);
    }
    fence(SeqCst);
}

fn run_large(transfer: &Transfer) {
    let Transfer { destination, source, bytes } = *transfer;
    match source {
        // SAFETY:
        // 1. both spans lie in mappings that live until the process ends: `task::check` made sure;
        // 2. overlap is allowed by `copy`;
        // 3. other processors may write these bytes at the same time, as beside any copy engine: they are bytes without a
        //    meaning to this process, so whatever mixture arrives is a value.
        Source::Memory(source) => unsafe { ptr::copy(source, destination, bytes) },
        // SAFETY: as above, for the destination alone.
        Source::Byte(byte) => unsafe { ptr::write_bytes(destination, byte, bytes) },
    }
}

fn run_small(transfer: &Transfer) {
    let Transfer { destination, source, mut bytes } = *transfer;
    let mut at = 0;
    if let Source::Memory(source) = source
        && source.addr() < destination.addr()
        && destination.addr() - source.addr() < bytes
    {
        // In ascending order the words would be overwritten before they are read.
        run_large(transfer);
        return;
    }
    let source_addr = match source {
        Source::Memory(source) => source.addr(),
        Source::Byte(_) => 0,
    };
    let alignment = destination.addr() | source_addr;
    while bytes > 0 {
        let width = match bytes {
            8.. if (alignment | at).is_multiple_of(size_of::<u64>()) => 8,
            4.. if (alignment | at).is_multiple_of(size_of::<u32>()) => 4,
            _ => 1,
        };
        word(destination, source, at, width);
        at += width;
        bytes -= width;
    }
}

/// Moves the `width` bytes at `at`; 8, 4 or 1, aligned on both sides.
fn word(destination: *mut u8, source: Source, at: usize, width: usize) {
    macro_rules! move_as {
        ($atomic:ident, $word:ident) => {{
            let value = match source {
                Source::Memory(source) => {
                    // SAFETY: `at` and `width` stay inside the span, which `task::check` found to exist.
                    let from = unsafe { source.add(at) };
                    // SAFETY: aligned, as the caller says; mapped for good; whoever else touches it does so as one word.
                    unsafe { $atomic::from_ptr(from.cast_mut().cast()) }.load(Acquire)
                }
                Source::Byte(byte) => $word::from_ne_bytes([byte; size_of::<$word>()]),
            };
            // SAFETY: as for the source.
            let to = unsafe { destination.add(at) };
            // SAFETY: as for the source.
            unsafe { $atomic::from_ptr(to.cast()) }.store(value, Release);
        }};
    }
    match width {
        8 => move_as!(AtomicU64, u64),
        4 => move_as!(AtomicU32, u32),
        _ => move_as!(AtomicU8, u8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C, align(8))]
    struct Bytes([u8; 256]);

    fn numbers() -> Bytes {
        Bytes(core::array::from_fn(|i| u8::try_from(i).expect("256 of them")))
    }

    #[test]
    fn a_small_copy_moves_every_byte_whatever_the_alignment() {
        for from in 0..9 {
            for to in 0..9 {
                for bytes in 0..40 {
                    let (source, mut destination) = (numbers(), Bytes([0xEE; 256]));
                    let base = ptr::from_mut(&mut destination).cast::<u8>();
                    run(&Transfer {
                        destination: base.wrapping_add(to),
                        source: Source::Memory(ptr::from_ref(&source).cast::<u8>().wrapping_add(from)),
                        bytes,
                    });
                    assert_eq!(destination.0[to..to + bytes], source.0[from..from + bytes]);
                    assert!(destination.0[..to].iter().chain(&destination.0[to + bytes..]).all(|b| *b == 0xEE));
                }
            }
        }
    }

    #[test]
    fn an_overlapping_copy_is_as_if_there_were_a_buffer_between() {
        for (from, to) in [(0, 8), (8, 0), (0, 1), (3, 0)] {
            let mut bytes = numbers();
            let base = ptr::from_mut(&mut bytes).cast::<u8>();
            let source = Source::Memory(base.wrapping_add(from).cast_const());
            run(&Transfer { destination: base.wrapping_add(to), source, bytes: 100 });
            assert_eq!(bytes.0[to..to + 100], numbers().0[from..from + 100]);
        }
    }

    #[test]
    fn a_fill_stays_inside() {
        let mut bytes = Bytes([1; 256]);
        let base = ptr::from_mut(&mut bytes).cast::<u8>();
        run(&Transfer { destination: base.wrapping_add(3), source: Source::Byte(0xAB), bytes: 50 });
        assert!(bytes.0[3..53].iter().all(|b| *b == 0xAB));
        assert!(bytes.0[..3].iter().chain(&bytes.0[53..]).all(|b| *b == 1));
    }
}
