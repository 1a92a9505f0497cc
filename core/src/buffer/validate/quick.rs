//! Whether a claim keeps every rule, in as few steps as it takes.
//!
//! Compilers make vector instructions of the loops over bytes and axes, which have no branch for that reason.

use static_assertions::{const_assert, const_assert_eq};
use zerocopy::IntoBytes;

use super::ordered::is_name_byte;
use crate::buffer::extent::size_log2;
use crate::buffer::wire::{BODY_BYTES, MAGIC, MAX_AXES, RawBufferRef, RawDescriptor};
use crate::wire::DataType;

/// Bits of a descriptor's first word that must be those of the magic, or 0: the enumerations keep their low bits.
const HEAD_FIXED: u64 = 0x0000_00f8_fcfe_ffff;

/// What one backend asks of a descriptor.
#[derive(Clone, Copy, Default)]
struct KindRule {
    /// One bit for each address space and access, at `space | access << 1`.
    allowed: u8,
    /// Fewest bytes of the body, and how many more there may be.
    len: (u8, u8),
    /// Ones where the body may be anything but a name.
    no_name: u8,
    /// Not 0 where the body may be anything but a base.
    no_base: u64,
}

/// The rules by number; numbers that are no backend allow nothing.
const KIND_RULES: [KindRule; 8] = {
    const HOST: u8 = 0b01_01_01;
    const DEVICE: u8 = 0b10_10_10;
    const HOST_READ: u8 = 0b00_00_01;
    const fn base(allowed: u8) -> KindRule {
        KindRule { allowed, len: (8, 0), no_name: u8::MAX, no_base: 0 }
    }
    let posix_shm = KindRule { allowed: HOST, len: (1, 31), no_name: 0, no_base: 1 };
    let sidecar = KindRule { allowed: HOST | DEVICE, len: (0, 0), no_name: u8::MAX, no_base: 1 };
    [base(HOST), posix_shm, base(DEVICE), sidecar, base(DEVICE), base(HOST_READ), base(0), base(0)]
};

/// Whether a descriptor breaks a rule.
#[inline(always)]
pub(super) fn is_descriptor_broken(raw: &RawDescriptor) -> bool {
    let head = raw.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let rule = KIND_RULES.get(usize::from(raw.backend_kind & 7)).copied().unwrap_or_default();
    let combination = u32::from(raw.address_space) | u32::from(raw.access) << 1;
    let (min_len, more_len) = rule.len;
    let base = raw.body.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    ((head ^ u64::from(MAGIC)) & HEAD_FIXED != 0)
        | (u32::from(rule.allowed).wrapping_shr(combination) & 1 == 0)
        | (raw.identity.generation == 0)
        | (raw.body_len.wrapping_sub(u16::from(min_len)) > u16::from(more_len))
        | (base | rule.no_base == 0)
        || !is_body_right(raw, rule.no_name)
}

/// Whether each byte of a body is part of a name where it is used, unless it need not be, and 0 where it is not.
#[inline(always)]
fn is_body_right(raw: &RawDescriptor, no_name: u8) -> bool {
    let used: [u8; BODY_BYTES] = window(&USED_BYTES, BODY_BYTES.saturating_sub(usize::from(raw.body_len)));
    raw.body.iter().zip(used).fold(true, |is_right, (byte, used)| {
        let is_name = u8::from(is_name_byte(*byte)).wrapping_neg();
        let is_clear = u8::from(*byte == 0).wrapping_neg();
        is_right & (((is_name | no_name | !used) & (is_clear | used)) != 0)
    })
}

/// Whether a view of a good descriptor breaks a rule; `last` is the last element that it touches.
#[inline(always)]
pub(super) fn is_view_broken(raw: &RawBufferRef, last: u128) -> bool {
    let size_log2 = size_log2(raw.dtype);
    let unaligned = raw.byte_offset & u64::from(1_u32.wrapping_shl(size_log2).wrapping_sub(1));
    // An extent of u64::MAX cannot be told from a saturated one, and no other backing is large enough for it.
    let nbytes = raw.descriptor.nbytes.min(u64::MAX - 1);
    let room = nbytes.wrapping_sub(raw.byte_offset).wrapping_shr(size_log2);
    (raw.ndims.wrapping_sub(1) >= MAX_NDIMS)
        | (raw.dtype > LAST_DTYPE)
        | (unaligned != 0)
        | (raw.byte_offset > nbytes)
        | (last >= u128::from(room))
        || is_slot_misplaced(raw)
}

/// Whether a shape or stride is 0 where an axis is, or is not where none is.
#[inline(always)]
fn is_slot_misplaced(raw: &RawBufferRef) -> bool {
    // The fifth axis by itself: four fit a register.
    let ([shapes @ .., fifth_shape], [strides @ .., fifth_stride]) = (raw.shapes, raw.strides);
    let from = shapes.len().saturating_sub(usize::try_from(raw.ndims).unwrap_or(usize::MAX));
    let used: [u32; MAX_AXES - 1] = window(&USED_AXES, from);
    let wrong = shapes.into_iter().zip(strides).zip(used).fold(0, |wrong, ((shape, stride), used)| {
        let [shape, stride] = [shape, stride].map(|value| u32::from(value != 0).wrapping_neg());
        wrong | (shape ^ used) | (stride ^ used)
    });
    let is_fifth = raw.ndims == MAX_NDIMS;
    (wrong != 0) | ((fifth_shape != 0) != is_fifth) | ((fifth_stride != 0) != is_fifth)
}

/// `N` values of a table, from one of them on; zeroes where the table ends before.
#[inline(always)]
fn window<T: Copy + Default, const N: usize>(table: &[T], from: usize) -> [T; N] {
    table.get(from..).and_then(<[T]>::first_chunk).copied().unwrap_or([T::default(); N])
}

const USED_BYTES: [u8; 2 * BODY_BYTES] = {
    let mut masks = [0; 2 * BODY_BYTES];
    masks.split_at_mut(BODY_BYTES).0.copy_from_slice(&[u8::MAX; BODY_BYTES]);
    masks
};
const USED_AXES: [u32; 8] = [u32::MAX, u32::MAX, u32::MAX, u32::MAX, 0, 0, 0, 0];

// The bounds as the claims have them.
const MAX_NDIMS: u32 = 5;
const LAST_DTYPE: u8 = DataType::Fp4E2M1.code();

const_assert_eq!(MAX_NDIMS as usize, MAX_AXES);
const_assert_eq!(BODY_BYTES, 1 + 31);
const_assert!(matches!(DataType::ALL, [.., last] if last.code() == LAST_DTYPE));
