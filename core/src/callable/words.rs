//! Reading an image without making a reference into it.
//!

/// Reads the bytes of one image, by offset from its start.
///
/// The rules ask only for what lies inside [`image_bytes`](Self::image_bytes), and for four bytes only at multiples of 4 from an
/// image whose base is at least 4-aligned. A device implements this by volatile reads of memory that the host may write: what a
/// rule has seen is a copy, and nothing is read twice for one decision.
pub trait ImageWords {
    /// Bytes of the image, header included.
    fn image_bytes(&self) -> u64;
    /// The byte at `offset`.
    fn u8_at(&self, offset: u64) -> u8;
    /// The four bytes at `offset`, little-endian.
    fn u32_at(&self, offset: u64) -> u32;
}

/// An image in memory that only this program can write. Whatever its address; outside the slice there are zeroes.
impl ImageWords for [u8] {
    fn image_bytes(&self) -> u64 {
        self.len() as u64
    }

    fn u8_at(&self, offset: u64) -> u8 {
        bytes_at::<1>(self, offset).map_or(0, |[byte]| byte)
    }

    fn u32_at(&self, offset: u64) -> u32 {
        bytes_at(self, offset).map_or(0, u32::from_le_bytes)
    }
}

fn bytes_at<const N: usize>(bytes: &[u8], offset: u64) -> Option<[u8; N]> {
    bytes.get(usize::try_from(offset).ok()?..)?.first_chunk().copied()
}

/// A signed word, as most fields of a header are.
pub(super) fn i32_at<W: ImageWords + ?Sized>(image: &W, offset: u64) -> i32 {
    image.u32_at(offset).cast_signed()
}

/// The `index`-th word of a table that starts at `table`.
///
/// Tables end below 10 KiB and indices are checked first, so the sum never reaches the bound at which it would saturate.
pub(super) const fn entry(table: u64, index: u32) -> u64 {
    table.saturating_add((index as u64).saturating_mul(4))
}
