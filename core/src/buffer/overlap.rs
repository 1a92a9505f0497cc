//! Whether two views can touch the same bytes.
//!
//! The answer may be more than the truth and never less: an extra dependency costs time, a missing one costs the result. So
//! whatever is not modelled is [`Overlap::Partial`].

use zerocopy::IntoBytes;

use super::checked::{Backing, BufferRef};
use super::extent::size_log2;

closed_enum! {
    /// What two views have in common.
    pub enum Overlap: u8 {
        /// No byte.
        None = 0 => "none",
        /// Possibly some.
        Partial = 1 => "partial",
        /// Every byte of the entry is also in the probe.
        Covered = 2 => "covered",
    }
}

/// What `entry` has in common with `probe`.
///
/// Two identities are two backings, except that two of them may wrap the same memory: those are compared by what their bodies
/// say, and what meets is [`Overlap::Partial`].
#[must_use]
#[inline]
pub fn overlap(probe: &BufferRef, entry: &BufferRef) -> Overlap {
    if probe.descriptor.raw.identity.as_bytes() != entry.descriptor.raw.identity.as_bytes() {
        return overlap_of_two(probe, entry);
    }
    // Both ends are at most nbytes, by the validator.
    let ends = [probe, entry].map(|view| view.byte_offset.wrapping_add(view.extent_bytes));
    if ends[0] <= entry.byte_offset || ends[1] <= probe.byte_offset {
        return Overlap::None;
    }
    if !share_layout(probe, entry) {
        return Overlap::Partial;
    }
    // Divisions are most of what this costs, and narrow ones cost less.
    let size_log2 = size_log2(probe.dtype.code());
    let nbytes = probe.descriptor.raw.nbytes;
    match i64::try_from(nbytes) {
        Ok(_) if nbytes <= u64::from(u32::MAX) => boxes(probe, entry, size_log2, divide_narrow),
        Ok(_) => boxes(probe, entry, size_log2, divide),
        // No memory is that large.
        Err(_) => Overlap::Partial,
    }
}

/// Two identities: the same bytes only where both bodies lead to them.
#[cold]
fn overlap_of_two(probe: &BufferRef, entry: &BufferRef) -> Overlap {
    let bases = match (probe.descriptor.backing(), entry.descriptor.backing()) {
        // A named object starts at the same byte for everybody.
        (Backing::PosixShm(one), Backing::PosixShm(other)) => (one == other).then_some([0, 0]),
        (one, other) if one.address_space() == other.address_space() => {
            one.base().zip(other.base()).map(|(one, other)| [one.get(), other.get()])
        }
        _ => None,
    };
    let do_meet = |[one, other]: [u64; 2]| {
        let start = |base: u64, view: &BufferRef| u128::from(base).wrapping_add(u128::from(view.byte_offset));
        let (one, other) = (start(one, probe), start(other, entry));
        let one_end = one.wrapping_add(u128::from(probe.extent_bytes));
        let other_end = other.wrapping_add(u128::from(entry.extent_bytes));
        one < other_end && other < one_end
    };
    if bases.is_some_and(do_meet) { Overlap::Partial } else { Overlap::None }
}

/// Whether both views have the type and the strides of one array. Strides are 0 past the last axis and nowhere else, so the ranks
/// are the same too.
#[inline]
fn share_layout(probe: &BufferRef, entry: &BufferRef) -> bool {
    probe.descriptor.raw.nbytes == entry.descriptor.raw.nbytes
        && probe.dtype == entry.dtype
        && probe.strides == entry.strides
}

/// Compares two boxes of a row-major array axis by axis; the array's strides are the views'.
///
/// There is such an array when each stride is a multiple of the next down to 1, and the backing a whole number of the outermost.
/// Every element then has one position in it, and a box is known by one range per axis. No division waits for another one: an offset
/// is `q` whole strides from the start, of which `q′·n` are whole strides of the axis outside, `n` to each.
///
/// All numbers here are below 2⁶³, so the sign of a difference says which is larger, and signs are kept instead of conditions.
#[inline]
fn boxes(probe: &BufferRef, entry: &BufferRef, size_log2: u32, divide: impl Fn(i64, u32) -> i64) -> Overlap {
    let elements = |bytes: u64| bytes.wrapping_shr(size_log2).cast_signed();
    let offsets = [elements(probe.byte_offset), elements(entry.byte_offset)];
    let nbytes = probe.descriptor.raw.nbytes;
    // The stride of the axis outside, and how many of them are before each box. All of the backing is one stride outside all.
    let (mut outer_stride, mut outer_steps) = (elements(nbytes), [0_i64; 2]);
    // Not 0: there is no such array. Negative: an index is past its end; the boxes meet on every axis; the entry leaves the probe.
    let mut uneven = outer_stride.wrapping_shl(size_log2) ^ nbytes.cast_signed();
    let (mut past, mut meet, mut outside) = (0_i64, -1_i64, 0_i64);
    let lens = probe.shapes.iter().zip(&entry.shapes);
    for (stride, (probe_len, entry_len)) in probe.strides.iter().zip(lens).take(probe.ndims()) {
        // The innermost stride is 1, and nothing need be divided by it.
        let is_inner = *stride <= 1;
        let len = if is_inner { outer_stride } else { divide(outer_stride, *stride) };
        let steps = if is_inner { offsets } else { offsets.map(|offset| divide(offset, *stride)) };
        let probe_start = steps[0].wrapping_sub(outer_steps[0].wrapping_mul(len));
        let entry_start = steps[1].wrapping_sub(outer_steps[1].wrapping_mul(len));
        let probe_end = probe_start.wrapping_add(i64::from(*probe_len));
        let entry_end = entry_start.wrapping_add(i64::from(*entry_len));
        uneven |= len.wrapping_mul(i64::from(*stride)) ^ outer_stride;
        // An index past the array's end is a box that goes on in the next row.
        past |= len.wrapping_sub(probe_end) | len.wrapping_sub(entry_end);
        meet &= entry_start.wrapping_sub(probe_end) & probe_start.wrapping_sub(entry_end);
        outside |= entry_start.wrapping_sub(probe_start) | probe_end.wrapping_sub(entry_end);
        (outer_stride, outer_steps) = (i64::from(*stride), steps);
    }
    uneven |= outer_stride ^ 1;
    // No branch here could be predicted.
    let exact = if outside < 0 { Overlap::Partial } else { Overlap::Covered };
    let exact = if meet < 0 { exact } else { Overlap::None };
    if (uneven == 0) & (past >= 0) { exact } else { Overlap::Partial }
}

#[inline]
fn divide(number: i64, stride: u32) -> i64 {
    number.cast_unsigned().checked_div(u64::from(stride)).unwrap_or(0).cast_signed()
}

#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "elements of a backing whose bytes fit 32 bits"
)]
fn divide_narrow(number: i64, stride: u32) -> i64 {
    i64::from((number as u32).checked_div(stride).unwrap_or(0))
}
