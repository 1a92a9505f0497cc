//! How many bytes a view spans, and how its elements lie.
//!
//! A view of shape `n` and strides `s` touches the elements `Σ iₐ·sₐ` with `iₐ < nₐ`; the last one is `Σ (nₐ−1)·sₐ`.

use super::wire::MAX_AXES;
use crate::wire::DataType;

/// Bytes from the first of a view to one past its last, without its `byte_offset`; `u64::MAX` when 64 bits do not hold it.
///
/// Axes past the last one have shape and stride 0, and add nothing.
#[must_use]
#[inline]
pub fn extent_bytes(shapes: &[u32; MAX_AXES], strides: &[u32; MAX_AXES], dtype: DataType) -> u64 {
    let bytes = last_element(shapes, strides).wrapping_add(1).wrapping_shl(size_log2(dtype.code()));
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The last element that a view touches, from its first: below 2⁶⁷ for every bit pattern, so nothing in it can wrap.
#[inline]
pub(super) fn last_element(shapes: &[u32; MAX_AXES], strides: &[u32; MAX_AXES]) -> u128 {
    // (2³²−1)² fits 64 bits; an axis of shape 0 is refused elsewhere, or is unused and has stride 0.
    shapes.iter().zip(strides).fold(0, |last: u128, (shape, stride)| {
        let steps = u64::from(shape.wrapping_sub(1)).wrapping_mul(u64::from(*stride));
        last.wrapping_add(u128::from(steps))
    })
}

/// Logarithm of an element's size; for a number that is no type, that of some other.
#[inline]
pub(super) const fn size_log2(dtype: u8) -> u32 {
    SIZES_LOG2.wrapping_shr((dtype as u32).wrapping_mul(2)) & 3
}

/// Two bits for each type.
const SIZES_LOG2: u32 = {
    let mut packed = 0;
    let mut index = 0;
    while index < DataType::ALL.len() {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        let dtype = DataType::ALL[index];
        packed |= dtype.size_bytes().trailing_zeros() << (2 * dtype.code());
        index += 1;
    }
    packed
};

/// Whether the strides are those of a row-major array of this shape, whatever they are on axes of one element.
#[must_use]
pub fn is_row_major(shape: &[u32], strides: &[u32]) -> bool {
    // Saturated, it equals no stride of 32 bits.
    let mut packed = 1_u64;
    shape.iter().zip(strides).rev().all(|(shape, stride)| {
        let fits = *shape == 1 || u64::from(*stride) == packed;
        packed = packed.saturating_mul(u64::from(*shape));
        fits
    })
}
