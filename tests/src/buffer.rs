//! The rules of buffer references in C++, as Rust calls them.
//!

/// Bytes of a descriptor.
pub const DESCRIPTOR_BYTES: usize = 88;
/// Bytes of a reference.
pub const REF_BYTES: usize = 144;

/// A checked reference of the C++ side (`tenon_reference::CheckedRef`).
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CheckedRef {
    raw: [u64; 18],
    /// What the reference implementation computed.
    pub extent_bytes: u64,
}

// SAFETY: `reference/buffer.cpp` declares the same three functions. Each reads the whole array or structure behind each pointer
// and nothing else, writes only `out`, keeps no pointer and throws nothing. `CheckedRef` is its type of that name: 144 bytes and
// a u64, all of whose bit patterns are values in both languages.
unsafe extern "C" {
    /// 0, or the number of the first rule that a descriptor breaks.
    pub safe fn tenon_reference_descriptor_check(bytes: &[u8; DESCRIPTOR_BYTES]) -> u32;
    /// 0 and `out` filled, or the number of the first rule that a reference breaks.
    pub safe fn tenon_reference_buffer_check(bytes: &[u8; REF_BYTES], out: &mut CheckedRef) -> u32;
    /// The number of what `entry` has in common with `probe`.
    pub safe fn tenon_reference_buffer_overlap(probe: &CheckedRef, entry: &CheckedRef) -> u8;
}
