//! Whether two views can touch the same bytes.
//!
//! The answer may be more than the truth and never less: an extra dependency costs time, a missing one costs the result. So
//! whatever is not modelled is [`Overlap::Partial`].

use super::checked::{Backing, BufferRef};
use super::extent::size_log2;
use super::wire::MAX_AXES;

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
    if probe.descriptor.raw.identity != entry.descriptor.raw.identity {
        return overlap_of_two(probe, entry);
    }
    // Both ends are at most nbytes, by the validator.
    let ends = [probe, entry].map(|view| view.byte_offset.wrapping_add(view.extent_bytes));
    if ends[0] <= entry.byte_offset || ends[1] <= probe.byte_offset {
        return Overlap::None;
    }
    if !share_lattice(probe, entry) {
        return Overlap::Partial;
    }
    boxes(probe, entry)
}

/// Two identities: the same bytes only where both bodies lead to them.
#[cold]
fn overlap_of_two(probe: &BufferRef, entry: &BufferRef) -> Overlap {
    let (first, second) = (probe.descriptor.backing(), entry.descriptor.backing());
    let may_meet = match (first.base(), second.base()) {
        (Some(first_base), Some(second_base)) => {
            let start = |base: u64, view: &BufferRef| u128::from(base).wrapping_add(u128::from(view.byte_offset));
            let end = |start: u128, view: &BufferRef| start.wrapping_add(u128::from(view.extent_bytes));
            let (one, other) = (start(first_base.get(), probe), start(second_base.get(), entry));
            first.address_space() == second.address_space() && one < end(other, entry) && other < end(one, probe)
        }
        // Named objects start at the same byte for everybody; a sidecar's bytes are in another machine.
        _ => matches!((first, second), (Backing::PosixShm(one), Backing::PosixShm(other)) if one == other),
    };
    if may_meet { Overlap::Partial } else { Overlap::None }
}

/// Whether both views are boxes of one row-major array that fills the backing.
///
/// The array's strides are the views' own: the innermost is 1 and each is a multiple of the next, so every element has one
/// position in the array, and a box is known by one range per axis.
#[inline]
fn share_lattice(probe: &BufferRef, entry: &BufferRef) -> bool {
    let same = (probe.dtype == entry.dtype)
        & (probe.ndims == entry.ndims)
        & (probe.strides == entry.strides)
        & (probe.descriptor.raw.nbytes == entry.descriptor.raw.nbytes);
    if !same {
        return false;
    }
    let strides = probe.strides();
    let mut inner = 1_u32;
    for (index, stride) in strides.iter().rev().enumerate() {
        let is_multiple = if index == 0 { *stride == 1 } else { stride.is_multiple_of(inner) };
        if !is_multiple {
            return false;
        }
        inner = *stride;
    }
    let row_bytes = u64::from(inner).wrapping_shl(size_log2(probe.dtype.code()));
    probe.descriptor.raw.nbytes.is_multiple_of(row_bytes)
}

/// Compares the two boxes axis by axis.
#[inline]
fn boxes(probe: &BufferRef, entry: &BufferRef) -> Overlap {
    let size_log2 = size_log2(probe.dtype.code());
    let mut rests = [probe, entry].map(|view| view.byte_offset.wrapping_shr(size_log2));
    // Elements of the array from one index of the axis outside this one to the next; the outermost axis ends with the backing.
    let mut outer = probe.descriptor.raw.nbytes.wrapping_shr(size_log2);
    let (mut is_apart, mut is_inside, mut is_array) = (false, true, true);
    for axis in 0..MAX_AXES.min(probe.ndims()) {
        let (Some(stride), Some(probe_len), Some(entry_len)) =
            (probe.strides.get(axis), probe.shapes.get(axis), entry.shapes.get(axis))
        else {
            break;
        };
        let stride = u64::from(*stride);
        let lens = [u64::from(*probe_len), u64::from(*entry_len)];
        let mut starts = [0; 2];
        for (start, rest) in starts.iter_mut().zip(&mut rests) {
            *start = rest.checked_div(stride).unwrap_or(0);
            *rest = rest.wrapping_sub(start.wrapping_mul(stride));
        }
        let ends = [starts[0].wrapping_add(lens[0]), starts[1].wrapping_add(lens[1])];
        // An index past the array's own shape is a box that wraps into the next row.
        is_array &= (ends[0].saturating_mul(stride) <= outer) & (ends[1].saturating_mul(stride) <= outer);
        is_apart |= (ends[0] <= starts[1]) | (ends[1] <= starts[0]);
        is_inside &= (starts[0] <= starts[1]) & (ends[1] <= ends[0]);
        outer = stride;
    }
    match (is_array, is_apart, is_inside) {
        (false, _, _) => Overlap::Partial,
        (true, true, _) => Overlap::None,
        (true, false, true) => Overlap::Covered,
        (true, false, false) => Overlap::Partial,
    }
}
