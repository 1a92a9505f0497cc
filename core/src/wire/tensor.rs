//! A tensor as the device sees it.
//!

use core::mem::{align_of, offset_of, size_of};

use static_assertions::{assert_impl_all, const_assert_eq};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

closed_enum! {
    /// Where a tensor's bytes are.
    pub enum AddressSpace: u8 {
        /// Host memory.
        Host = 0,
        /// Device memory; the only one that a launch takes.
        Device = 1,
    }
}

closed_enum! {
    /// Element types.
    pub enum DataType: u8 {
        /// 32-bit float.
        F32 = 0,
        /// 16-bit float.
        F16 = 1,
        /// Signed 32-bit.
        I32 = 2,
        /// Signed 16-bit.
        I16 = 3,
        /// Signed 8-bit.
        I8 = 4,
        /// Unsigned 8-bit.
        U8 = 5,
        /// Brain float: the upper half of an f32.
        Bf16 = 6,
        /// Signed 64-bit.
        I64 = 7,
        /// Unsigned 64-bit.
        U64 = 8,
        /// Unsigned 16-bit.
        U16 = 9,
        /// Unsigned 32-bit.
        U32 = 10,
        /// One byte, 0 or 1.
        Bool = 11,
        /// 8-bit float, 4 exponent bits, finite only.
        Fp8E4M3Fn = 12,
        /// 8-bit power of two.
        Fp8E8M0 = 13,
        /// 4-bit float, one to a byte.
        Fp4E2M1 = 14,
    }
}

impl DataType {
    /// Bytes of one element.
    #[must_use]
    pub const fn size_bytes(self) -> u64 {
        match self {
            Self::I8 | Self::U8 | Self::Bool | Self::Fp8E4M3Fn | Self::Fp8E8M0 | Self::Fp4E2M1 => 1,
            Self::F16 | Self::I16 | Self::Bf16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::I64 | Self::U64 => 8,
        }
    }
}

/// A strided view of device memory, 128 bytes (C: `SimplerChipTensor`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct Tensor {
    /// Address of the backing memory, which must be live device memory. The host cannot check that: a wrong address kills the
    /// simulated device for all who use it.
    pub addr: u64,
    /// Bytes of the backing memory from `addr`.
    pub size: u64,
    /// Carried untouched.
    pub owner_task_id: u64,
    /// First element of the view, in elements.
    pub start_offset: u64,
    /// Carried untouched.
    pub version: i32,
    /// Axes, `1..=5`.
    pub ndims: u32,
    /// [`DataType`]
    pub dtype: u8,
    /// Carried untouched.
    pub manual_dep: u8,
    /// 1 when the strides are those of a row-major array of this shape, else 0.
    pub is_contiguous: u8,
    /// [`AddressSpace`]
    pub address_space: u8,
    /// Elements per axis, outermost first; those from `ndims` on are ignored.
    pub shapes: [u32; 5],
    /// Elements from the first to one past the last that the view can touch.
    pub extent_elem: u64,
    /// Elements from one index to the next, per axis; those from `ndims` on are ignored.
    pub strides: [u32; 5],
    /// Alignment slack.
    pub pad: [u32; 9],
}

const_assert_eq!(size_of::<Tensor>(), 128);
const_assert_eq!(align_of::<Tensor>(), 8);
const_assert_eq!(offset_of!(Tensor, addr), 0);
const_assert_eq!(offset_of!(Tensor, size), 8);
const_assert_eq!(offset_of!(Tensor, owner_task_id), 16);
const_assert_eq!(offset_of!(Tensor, start_offset), 24);
const_assert_eq!(offset_of!(Tensor, version), 32);
const_assert_eq!(offset_of!(Tensor, ndims), 36);
const_assert_eq!(offset_of!(Tensor, dtype), 40);
const_assert_eq!(offset_of!(Tensor, manual_dep), 41);
const_assert_eq!(offset_of!(Tensor, is_contiguous), 42);
const_assert_eq!(offset_of!(Tensor, address_space), 43);
const_assert_eq!(offset_of!(Tensor, shapes), 44);
const_assert_eq!(offset_of!(Tensor, extent_elem), 64);
const_assert_eq!(offset_of!(Tensor, strides), 72);
const_assert_eq!(offset_of!(Tensor, pad), 92);
assert_impl_all!(Tensor: FromBytes, IntoBytes, Immutable, KnownLayout);
