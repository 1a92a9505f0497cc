//! References and scalars of one task in a row of bytes.
//!
//! `i32 tensor_count`, `i32 scalar_count`, the references, the scalars. The bytes may have any alignment. A reader trusts the
//! counts as soon as they fit what it was given; each reference is checked when it is handed out, and copied before that.

use zerocopy::IntoBytes;

use super::checked::BufferRef;
use super::refusal::{Reason, Refusal};
use super::validate;
use super::wire::RawBufferRef;

/// Bytes of the two counts.
const HEADER_BYTES: usize = 8;

/// Bytes of a blob with these counts; `None` when there is no such blob.
#[must_use]
pub fn blob_bytes(tensor_count: usize, scalar_count: usize) -> Option<usize> {
    let counts_fit = i32::try_from(tensor_count).is_ok() && i32::try_from(scalar_count).is_ok();
    let references = tensor_count.checked_mul(size_of::<RawBufferRef>()).filter(|_| counts_fit)?;
    scalar_count.checked_mul(size_of::<u64>())?.checked_add(references)?.checked_add(HEADER_BYTES)
}

/// Reads a blob out of a region that may be larger than the blob.
#[derive(Clone, Copy, Debug)]
pub struct BlobReader<'a> {
    references: &'a [[u8; size_of::<RawBufferRef>()]],
    scalars: &'a [[u8; size_of::<u64>()]],
}

impl<'a> BlobReader<'a> {
    /// Reads the counts and finds what they count. The references are not looked at yet.
    ///
    /// # Errors
    /// [`Reason::Truncated`] for a region of fewer than 8 bytes, [`Reason::TensorCountNegative`] or
    /// [`Reason::ScalarCountNegative`], [`Reason::BlobTooLarge`] for counts whose elements do not fit the region.
    pub fn new(region: &'a [u8]) -> Result<Self, Refusal> {
        let Some((counts, rest)) = region.split_first_chunk::<HEADER_BYTES>() else {
            return Err(Refusal::new(Reason::Truncated, region.len() as u64).limit(HEADER_BYTES as u64));
        };
        let [tensors, scalars]: [i32; 2] = zerocopy::transmute!(*counts);
        let tensors = count(tensors, Reason::TensorCountNegative)?;
        let scalars = count(scalars, Reason::ScalarCountNegative)?;
        // 2³¹ × 144 and 2³¹ × 8 bytes fit 64 bits together.
        let references_bytes = tensors.wrapping_mul(size_of::<RawBufferRef>() as u64);
        let needed = references_bytes.wrapping_add(scalars.wrapping_mul(size_of::<u64>() as u64));
        let too_large = Refusal::new(Reason::BlobTooLarge, needed).limit(rest.len() as u64);
        let fitting = usize::try_from(needed).ok().and_then(|needed| rest.get(..needed));
        let parts = usize::try_from(references_bytes).ok().zip(fitting);
        match parts.and_then(|(middle, fitting)| fitting.split_at_checked(middle)) {
            Some((references, scalars)) => {
                Ok(Self { references: references.as_chunks().0, scalars: scalars.as_chunks().0 })
            }
            None => Err(too_large),
        }
    }

    /// References in the blob.
    #[must_use]
    pub const fn tensor_count(&self) -> usize {
        self.references.len()
    }

    /// Scalars in the blob.
    #[must_use]
    pub const fn scalar_count(&self) -> usize {
        self.scalars.len()
    }

    /// Copies a reference out and checks it.
    ///
    /// # Errors
    /// [`Reason::IndexOutOfRange`], or the first rule that the reference breaks.
    #[inline]
    pub fn reference(&self, index: usize) -> Result<BufferRef, Refusal> {
        match self.references.get(index) {
            Some(bytes) => check(bytes),
            None => Err(outside(index, self.references.len())),
        }
    }

    /// Copies a scalar out.
    ///
    /// # Errors
    /// [`Reason::IndexOutOfRange`]
    pub fn scalar(&self, index: usize) -> Result<u64, Refusal> {
        match self.scalars.get(index) {
            Some(bytes) => Ok(u64::from_le_bytes(*bytes)),
            None => Err(outside(index, self.scalars.len())),
        }
    }

    /// Every reference in order, each copied out and checked.
    pub fn references(&self) -> impl ExactSizeIterator<Item = Result<BufferRef, Refusal>> + use<'a> {
        self.references.iter().map(check)
    }

    /// Every scalar in order.
    pub fn scalars(&self) -> impl ExactSizeIterator<Item = u64> + use<'a> {
        self.scalars.iter().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

#[inline]
fn check(bytes: &[u8; size_of::<RawBufferRef>()]) -> Result<BufferRef, Refusal> {
    validate::reference_from_bytes(bytes)
}

fn count(found: i32, negative: Reason) -> Result<u64, Refusal> {
    // Shown as the signed number's bits: what is there, and not what it would be if it were a count.
    u64::try_from(found).map_err(|_| Refusal::new(negative, u64::from(found.cast_unsigned())))
}

#[cold]
fn outside(index: usize, count: usize) -> Refusal {
    Refusal::new(Reason::IndexOutOfRange, index as u64).limit(count as u64)
}

/// Writes a blob whose counts are known beforehand.
#[derive(Debug)]
pub struct BlobWriter<'a> {
    references: &'a mut [[u8; size_of::<RawBufferRef>()]],
    scalars: &'a mut [[u8; size_of::<u64>()]],
}

impl<'a> BlobWriter<'a> {
    /// Writes the counts, and zeroes where the elements will be: a reference that is never set is one that no reader takes.
    ///
    /// # Errors
    /// [`Reason::BlobTooLarge`] when the region has no room for them.
    pub fn new(region: &'a mut [u8], tensor_count: usize, scalar_count: usize) -> Result<Self, Refusal> {
        let room = region.len() as u64;
        let needed = blob_bytes(tensor_count, scalar_count).unwrap_or(usize::MAX);
        let blob = region.get_mut(..needed).and_then(|blob| blob.split_first_chunk_mut::<HEADER_BYTES>());
        let Some((header, rest)) = blob else {
            return Err(Refusal::new(Reason::BlobTooLarge, needed as u64).limit(room));
        };
        // `blob_bytes` has seen that both fit.
        let counts = [tensor_count, scalar_count].map(|count| i32::try_from(count).unwrap_or(i32::MAX));
        header.copy_from_slice(counts.as_bytes());
        rest.fill(0);
        let middle = tensor_count.saturating_mul(size_of::<RawBufferRef>()).min(rest.len());
        let (references, scalars) = rest.split_at_mut(middle);
        Ok(Self { references: references.as_chunks_mut().0, scalars: scalars.as_chunks_mut().0 })
    }

    /// Writes a reference.
    ///
    /// # Errors
    /// [`Reason::IndexOutOfRange`]
    pub fn set_reference(&mut self, index: usize, reference: &BufferRef) -> Result<(), Refusal> {
        let count = self.references.len();
        let bytes = self.references.get_mut(index).ok_or_else(|| outside(index, count))?;
        *bytes = zerocopy::transmute!(reference.to_raw());
        Ok(())
    }

    /// Writes a scalar.
    ///
    /// # Errors
    /// [`Reason::IndexOutOfRange`]
    pub fn set_scalar(&mut self, index: usize, scalar: u64) -> Result<(), Refusal> {
        let count = self.scalars.len();
        let bytes = self.scalars.get_mut(index).ok_or_else(|| outside(index, count))?;
        *bytes = scalar.to_le_bytes();
        Ok(())
    }
}
