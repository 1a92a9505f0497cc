//! What a launch's tensors must say before anything is enqueued.
//!
//! The device trusts these rules: it hands the tensors to an operator as they are. All arithmetic is checked; a view that cannot
//! be represented is refused, whatever its backing claims to be.

use core::fmt;

use crate::wire::{AddressSpace, DataType, Tensor};

/// Most axes of a tensor.
pub const MAX_AXES: u32 = 5;

/// A tensor that a launch does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct TensorRefusal {
    /// The field, as the C header spells it.
    pub field: &'static str,
    /// The axis, for a field that has one value per axis.
    pub axis: Option<u8>,
    /// What is there.
    pub found: u64,
    /// What should be.
    pub expected: Expected,
}

/// What would have been right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Expected {
    /// This and nothing else.
    Exactly(u64),
    /// This or more.
    AtLeast(u64),
    /// A number from the first to the second.
    Between(u64, u64),
    /// A view whose last byte has an address: offset, extent and element size do not fit 64 bits.
    Representable,
}

/// Checks one tensor of a launch.
///
/// `is_contiguous` of 1 needs row-major strides on every axis of more than one element. Where strides are row-major only because
/// such axes of one element are passed over, 0 is as true as 1.
///
/// # Errors
/// The first rule that is broken: shape, strides and type before what is derived from them.
pub fn check_tensor(tensor: &Tensor) -> Result<(), TensorRefusal> {
    if is_packed_and_inside(tensor) { Ok(()) } else { check_in_order(tensor) }
}

/// Recognises what nearly every tensor of a launch is, an array in one piece inside its backing, at a fraction of the cost of the
/// rules. That it says no means nothing.
fn is_packed_and_inside(tensor: &Tensor) -> bool {
    let used = usize::try_from(tensor.ndims).unwrap_or(usize::MAX);
    let (Some(shapes), Some(strides)) = (tensor.shapes.get(..used), tensor.strides.get(..used)) else { return false };
    let Ok(dtype) = DataType::try_from(tensor.dtype) else { return false };
    let mut elements = 1_u64;
    let mut is_packed = !shapes.is_empty();
    for (shape, stride) in shapes.iter().zip(strides).rev() {
        is_packed &= u64::from(*stride) == elements;
        // While every stride was the product so far, it fits 32 bits and the next product 64; after one that was not, the answer
        // is no whatever comes.
        elements = elements.wrapping_mul(u64::from(*shape));
    }
    let end = tensor.start_offset.checked_add(elements).and_then(|end| end.checked_mul(dtype.size_bytes()));
    let Some(end) = end else { return false };
    let is_described = (tensor.extent_elem == elements) & (tensor.is_contiguous == 1);
    let is_on_device = tensor.address_space == AddressSpace::Device.code();
    let is_inside = (end <= tensor.size) & tensor.addr.checked_add(end).is_some();
    // No element at all means an axis of none.
    is_packed & (elements != 0) & is_described & is_on_device & is_inside
}

#[cold]
fn check_in_order(tensor: &Tensor) -> Result<(), TensorRefusal> {
    if !(1..=MAX_AXES).contains(&tensor.ndims) {
        return Err(refuse("ndims", tensor.ndims, Expected::Between(1, u64::from(MAX_AXES))));
    }
    let Ok(dtype) = DataType::try_from(tensor.dtype) else {
        let last = DataType::ALL.last().map_or(0, |dtype| u64::from(dtype.code()));
        return Err(refuse("dtype", tensor.dtype, Expected::Between(0, last)));
    };
    if tensor.address_space != AddressSpace::Device.code() {
        let expected = Expected::Exactly(u64::from(AddressSpace::Device.code()));
        return Err(refuse("address_space", tensor.address_space, expected));
    }
    let layout = Layout::of(tensor)?;
    if tensor.extent_elem != layout.extent_elem {
        return Err(refuse("extent_elem", tensor.extent_elem, Expected::Exactly(layout.extent_elem)));
    }
    let may_be = [!layout.is_strictly_row_major, layout.is_row_major];
    if !may_be.get(usize::from(tensor.is_contiguous)).is_some_and(|allowed| *allowed) {
        let expected = Expected::Exactly(u64::from(layout.is_row_major));
        return Err(refuse("is_contiguous", tensor.is_contiguous, expected));
    }
    let end_elem = tensor.start_offset.checked_add(tensor.extent_elem);
    let Some(end) = end_elem.and_then(|elements| elements.checked_mul(dtype.size_bytes())) else {
        return Err(refuse("start_offset", tensor.start_offset, Expected::Representable));
    };
    if end > tensor.size {
        return Err(refuse("size", tensor.size, Expected::AtLeast(end)));
    }
    if tensor.addr.checked_add(end).is_none() {
        return Err(refuse("addr", tensor.addr, Expected::Representable));
    }
    Ok(())
}

/// What follows from shape and strides.
struct Layout {
    /// Elements from the first to one past the last.
    extent_elem: u64,
    /// Row-major, whatever the strides of axes of one element.
    is_row_major: bool,
    /// Row-major on every axis.
    is_strictly_row_major: bool,
}

impl Layout {
    fn of(tensor: &Tensor) -> Result<Self, TensorRefusal> {
        let mut extent_elem = 1_u64;
        let mut is_row_major = true;
        let mut is_strictly_row_major = true;
        // Saturated, it equals no stride of 32 bits, so the comparison stays right.
        let mut packed_stride = 1_u64;
        let axes = (0_u8..5).zip(tensor.shapes.iter().zip(&tensor.strides));
        let used = usize::try_from(tensor.ndims).unwrap_or(usize::MAX);
        // A shape is looked at before its stride, axis by axis from the outermost.
        for (axis, (shape, stride)) in axes.clone().take(used) {
            for (field, value) in [("shapes", *shape), ("strides", *stride)] {
                if value == 0 {
                    let expected = Expected::AtLeast(1);
                    return Err(TensorRefusal { field, axis: Some(axis), found: 0, expected });
                }
            }
        }
        for (axis, (shape, stride)) in axes.rev().skip(5_usize.saturating_sub(used)) {
            let (shape, stride) = (u64::from(*shape), u64::from(*stride));
            // Two factors of 32 bits fit 64; only their sum over the axes may not.
            let Some(sum) = extent_elem.checked_add(shape.saturating_sub(1).saturating_mul(stride)) else {
                let expected = Expected::Representable;
                return Err(TensorRefusal { field: "strides", axis: Some(axis), found: stride, expected });
            };
            extent_elem = sum;
            is_strictly_row_major &= stride == packed_stride;
            is_row_major &= shape == 1 || stride == packed_stride;
            packed_stride = packed_stride.saturating_mul(shape);
        }
        Ok(Self { extent_elem, is_row_major, is_strictly_row_major })
    }
}

#[cold]
fn refuse(field: &'static str, found: impl Into<u64>, expected: Expected) -> TensorRefusal {
    TensorRefusal { field, axis: None, found: found.into(), expected }
}

impl fmt::Display for TensorRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field)?;
        if let Some(axis) = self.axis {
            write!(f, "[{axis}]")?;
        }
        write!(f, " is {}; expected ", self.found)?;
        match self.expected {
            Expected::Exactly(value) => write!(f, "{value}"),
            Expected::AtLeast(least) => write!(f, "at least {least}"),
            Expected::Between(first, last) => write!(f, "{first} to {last}"),
            Expected::Representable => f.write_str("a view that 64 bits can describe"),
        }
    }
}

impl core::error::Error for TensorRefusal {}

#[cfg(test)]
mod tests;
