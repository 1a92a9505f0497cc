//! Views of views: other shapes, strides and offsets over the same backing.
//!
//! Every result goes through the validator, so it is inside the backing or it is refused. There are no views without axes or
//! elements, and none that repeat an element or run backwards: the wire has no way to say them.

use super::checked::BufferRef;
use super::refusal::{Reason, Refusal};
use super::validate;
use super::wire::MAX_AXES;

impl BufferRef {
    /// Every `step`-th index of one axis from `start` up to and without `stop`.
    ///
    /// # Errors
    /// [`Reason::AxisOutOfRange`]; [`Reason::StepNotPositive`]; [`Reason::RangeOutOfRange`] when `stop` lies before `start` or
    /// after the axis' end; [`Reason::ViewEmpty`] when both are the same; [`Reason::StrideOverflow`].
    pub fn slice(&self, axis: usize, start: u32, stop: u32, step: u32) -> Result<Self, Refusal> {
        let (len, stride) = self.axis(axis)?;
        if step == 0 {
            return Err(Refusal::new(Reason::StepNotPositive, 0).on_axis(axis));
        }
        if stop > len {
            return Err(Refusal::new(Reason::RangeOutOfRange, u64::from(stop)).on_axis(axis).limit(u64::from(len)));
        }
        let Some(indices) = stop.checked_sub(start) else {
            return Err(Refusal::new(Reason::RangeOutOfRange, u64::from(start)).on_axis(axis).limit(u64::from(stop)));
        };
        let taken = indices.div_ceil(step);
        if taken == 0 {
            return Err(Refusal::new(Reason::ViewEmpty, 0).on_axis(axis));
        }
        // The stride of an axis of one element is never used, so it need not grow past 32 bits.
        let stepped = if taken == 1 { Some(stride) } else { stride.checked_mul(step) };
        let Some(stepped) = stepped else {
            let product = u64::from(stride).saturating_mul(u64::from(step));
            return Err(Refusal::new(Reason::StrideOverflow, product).on_axis(axis).limit(u32::MAX.into()));
        };
        let mut view = *self;
        view.skip(start, stride);
        set(&mut view.shapes, axis, taken);
        set(&mut view.strides, axis, stepped);
        view.checked()
    }

    /// One index of one axis; the result has an axis less.
    ///
    /// # Errors
    /// [`Reason::AxisOutOfRange`]; [`Reason::IndexOutOfRange`]; [`Reason::NdimsOutOfRange`] when it is the only axis.
    pub fn select(&self, axis: usize, index: u32) -> Result<Self, Refusal> {
        let (len, stride) = self.axis(axis)?;
        if index >= len {
            return Err(Refusal::new(Reason::IndexOutOfRange, u64::from(index)).on_axis(axis).limit(u64::from(len)));
        }
        let mut view = *self;
        view.skip(index, stride);
        for slots in [&mut view.shapes, &mut view.strides] {
            if let Some(tail) = slots.get_mut(axis..) {
                // The slot of the axis goes to the end and is cleared there.
                tail.rotate_left(1);
            }
            set(slots, MAX_AXES - 1, 0);
        }
        view.ndims = view.ndims.saturating_sub(1);
        view.checked()
    }

    /// A box: from `offsets`, `shape` elements per axis.
    ///
    /// # Errors
    /// [`Reason::NdimsOutOfRange`] when one of the two has not one value per axis; [`Reason::ViewEmpty`];
    /// [`Reason::RangeOutOfRange`] when the box ends after the view on some axis.
    pub fn sub_view(&self, offsets: &[u32], shape: &[u32]) -> Result<Self, Refusal> {
        for values in [offsets, shape] {
            if values.len() != self.ndims() {
                return Err(Refusal::new(Reason::NdimsOutOfRange, values.len() as u64).limit(self.ndims() as u64));
            }
        }
        let mut view = *self;
        for (axis, ((offset, len), (whole, stride))) in
            offsets.iter().zip(shape).zip(self.shape().iter().zip(self.strides())).enumerate()
        {
            if *len == 0 {
                return Err(Refusal::new(Reason::ViewEmpty, 0).on_axis(axis));
            }
            let end = u64::from(*offset).saturating_add(u64::from(*len));
            if end > u64::from(*whole) {
                return Err(Refusal::new(Reason::RangeOutOfRange, end).on_axis(axis).limit(u64::from(*whole)));
            }
            view.skip(*offset, *stride);
            set(&mut view.shapes, axis, *len);
        }
        view.checked()
    }

    /// Two axes changed for each other.
    ///
    /// # Errors
    /// [`Reason::AxisOutOfRange`]
    pub fn transpose(&self, one: usize, other: usize) -> Result<Self, Refusal> {
        self.axis(one)?;
        self.axis(other)?;
        let mut view = *self;
        view.shapes.swap(one, other);
        view.strides.swap(one, other);
        view.checked()
    }

    /// The axes in another order: axis `i` of the result is axis `order[i]` of this view.
    ///
    /// # Errors
    /// [`Reason::PermutationInvalid`] unless `order` names every axis once.
    pub fn permute(&self, order: &[usize]) -> Result<Self, Refusal> {
        if order.len() != self.ndims() {
            return Err(Refusal::new(Reason::PermutationInvalid, order.len() as u64).limit(self.ndims() as u64));
        }
        let mut view = *self;
        for (target, source) in order.iter().enumerate() {
            let twice = order.iter().take(target).any(|earlier| earlier == source);
            let Ok((len, stride)) =
                self.axis(*source).map_err(|_| ()).and_then(|axis| if twice { Err(()) } else { Ok(axis) })
            else {
                return Err(Refusal::new(Reason::PermutationInvalid, *source as u64).on_axis(target));
            };
            set(&mut view.shapes, target, len);
            set(&mut view.strides, target, stride);
        }
        view.checked()
    }

    /// The same elements in the same order under another shape.
    ///
    /// # Errors
    /// [`Reason::NdimsOutOfRange`]; [`Reason::ShapeZero`]; [`Reason::ElementCountDiffers`]; [`Reason::ReshapeNeedsCopy`] when no
    /// strides describe it; [`Reason::StrideOverflow`].
    pub fn reshape(&self, shape: &[u32]) -> Result<Self, Refusal> {
        let mut view = *self;
        view.shapes = super::checked::axes(shape)?;
        view.ndims = u32::try_from(shape.len()).unwrap_or(u32::MAX);
        if let Some(axis) = shape.iter().position(|len| *len == 0) {
            return Err(Refusal::new(Reason::ShapeZero, 0).on_axis(axis));
        }
        let wanted = shape.iter().try_fold(1_u64, |count, len| count.checked_mul(u64::from(*len)));
        if wanted.is_none() || wanted != self.element_count() {
            let [found, limit] = [wanted, self.element_count()].map(|count| count.unwrap_or(u64::MAX));
            return Err(Refusal::new(Reason::ElementCountDiffers, found).limit(limit));
        }
        view.strides = self.strides_for(shape)?;
        view.checked()
    }

    /// Strides under which `shape` means this view's elements in this view's order.
    ///
    /// Both shapes are cut, from the innermost axis, into the shortest runs of axes with equally many elements. Within a run of
    /// old axes the elements must have one distance; the new axes of the run then have row-major strides times that distance.
    ///
    /// A new axis of one element gets the stride that it would have if it had more.
    fn strides_for(&self, shape: &[u32]) -> Result<[u32; MAX_AXES], Refusal> {
        let mut strides = [0; MAX_AXES];
        let mut old = self.shape().iter().zip(self.strides()).rev().filter(|(len, _)| **len != 1);
        // Elements of the run of old axes and their distance; how many of them the new axes so far have used.
        let (mut run, mut distance, mut used) = (1_u64, 1_u64, 1_u64);
        for (axis, (stride, len)) in strides.iter_mut().zip(shape).enumerate().rev() {
            let len = u64::from(*len);
            if used == run && len != 1 {
                // Both sides are used up: the next old axis begins a run.
                (run, distance) = old.next().map_or((1, 1), |(len, stride)| (u64::from(*len), u64::from(*stride)));
                used = 1;
            }
            let wanted = used.saturating_mul(distance);
            *stride = match u32::try_from(wanted) {
                Ok(fits) => fits,
                Err(_) if len == 1 => 1,
                Err(_) => {
                    return Err(Refusal::new(Reason::StrideOverflow, wanted).on_axis(axis).limit(u32::MAX.into()));
                }
            };
            // Neither can pass the number of elements, which fits 64 bits.
            used = used.saturating_mul(len);
            while !run.is_multiple_of(used) {
                let joined = old.next().filter(|(_, stride)| u64::from(**stride) == run.saturating_mul(distance));
                let Some((more, _)) = joined else {
                    return Err(Refusal::new(Reason::ReshapeNeedsCopy, len).on_axis(axis));
                };
                run = run.saturating_mul(u64::from(*more));
            }
        }
        Ok(strides)
    }

    /// Shape and stride of one axis.
    fn axis(&self, axis: usize) -> Result<(u32, u32), Refusal> {
        match (self.shape().get(axis), self.strides().get(axis)) {
            (Some(len), Some(stride)) => Ok((*len, *stride)),
            _ => Err(Refusal::new(Reason::AxisOutOfRange, axis as u64).limit(self.ndims() as u64)),
        }
    }

    /// Moves the first element; 2³² × 2³² × 8 would not fit, and is then out of bounds anyway.
    fn skip(&mut self, indices: u32, stride: u32) {
        let elements = u64::from(indices).saturating_mul(u64::from(stride));
        let bytes = elements.saturating_mul(self.dtype.size_bytes());
        self.byte_offset = self.byte_offset.saturating_add(bytes);
    }

    fn checked(&self) -> Result<Self, Refusal> {
        validate::reference(&self.to_raw())
    }
}

fn set(slots: &mut [u32; MAX_AXES], axis: usize, value: u32) {
    if let Some(slot) = slots.get_mut(axis) {
        *slot = value;
    }
}
