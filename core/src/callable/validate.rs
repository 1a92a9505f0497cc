//! The whole image: the ordered rules, and the value that has passed them.
//!
//! In this order, the first that is broken answers: `size`, `base`; `sig_count`, `signature`; `scalar_count`; `child_count`;
//! the names; `binary_size`; each child in turn; `storage`. What no rule names (pads, gaps, unused entries, name tails,
//! `resolved_addr` as given) is ignored, and is part of the hash.

use super::hash::fnv1a_64;
use super::header::Header;
use super::layout::{
    CHILD_ALIGN, CHILD_BINARY_SIZE, CHILD_CODE, CHILD_OFFSETS, CHILD_SIG_COUNT, CONFIG_NAME, FUNC_NAME, HEADER_BYTES,
    IMAGE_ALIGN, MAX_CHILD_SCALARS, MAX_CHILD_SIGNATURE,
};
use super::refusal::{Expected, Field, Refusal};
use super::signature::{Counts, Direction};
use super::words::{ImageWords, entry, i32_at};

/// An image that has passed every rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallableImage<'a> {
    bytes: &'a [u8],
    header: Header,
}

/// A checked child of a checked image, with its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Child<'a> {
    /// Where it is and what it takes.
    pub header: ChildHeader,
    /// The caller's number for it.
    pub func_id: i32,
    /// Its code.
    pub code: &'a [u8],
}

/// The checked fields of a child's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ChildHeader {
    index: u32,
    offset: u32,
    counts: Counts,
    code_bytes: u32,
}

/// Walks the children of an image, checking each before it gives it. Ends after the first refusal.
#[derive(Clone, Debug)]
pub struct Children<'i, W: ?Sized> {
    image: &'i W,
    header: Header,
    next: u32,
    end: u64,
}

/// Checks every rule but `base`, wherever the image lies.
///
/// # Errors
/// The first rule that is broken.
pub fn check_image<W: ImageWords + ?Sized>(image: &W) -> Result<Header, Refusal> {
    let header = Header::check(image)?;
    let mut children = Children::new(image, header);
    for child in &mut children {
        child?;
    }
    if children.end != header.storage_bytes() {
        let expected = Expected::Exactly(children.end);
        return Err(Refusal::new(Field::Storage, HEADER_BYTES, header.storage_bytes(), expected));
    }
    Ok(header)
}

impl<'a> CallableImage<'a> {
    /// Checks an image that was read or received, at any address.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Refusal> {
        check_image(bytes).map(|header| Self { bytes, header })
    }

    /// Checks an image where it lies in a caller's memory: its base must be 16-aligned too.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn parse_in_memory(bytes: &'a [u8]) -> Result<Self, Refusal> {
        let base = bytes.as_ptr().addr() as u64;
        if bytes.image_bytes() >= HEADER_BYTES && !base.is_multiple_of(IMAGE_ALIGN) {
            return Err(Refusal::new(Field::Base, 0, base, Expected::MultipleOf(IMAGE_ALIGN)));
        }
        Self::parse(bytes)
    }

    /// The image as it was given.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The checked header.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Tensors and scalars that the callable takes.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.header.counts()
    }

    /// 64-bit FNV-1a over all bytes as given.
    #[must_use]
    pub const fn hash(&self) -> u64 {
        fnv1a_64(self.bytes)
    }

    /// Directions of the arguments, tensors first.
    pub fn signature(&self) -> impl Iterator<Item = Direction> + use<'a> {
        let Self { bytes, header } = *self;
        (0..).map_while(move |index| header.direction(bytes, index))
    }

    /// The orchestration's symbol. Any bytes but NUL; whoever shows it escapes it.
    #[must_use]
    pub fn func_name(&self) -> &'a [u8] {
        span(self.bytes, FUNC_NAME, self.header.func_name_bytes())
    }

    /// The configuration's name. Any bytes but NUL; whoever shows it escapes it.
    #[must_use]
    pub fn config_name(&self) -> &'a [u8] {
        span(self.bytes, CONFIG_NAME, self.header.config_name_bytes())
    }

    /// The orchestration's code.
    #[must_use]
    pub fn orchestration(&self) -> &'a [u8] {
        span(self.bytes, HEADER_BYTES, self.header.orchestration_bytes())
    }

    /// The children, in the order of their index.
    pub fn children(&self) -> impl Iterator<Item = Child<'a>> + use<'a> {
        let Self { bytes, header } = *self;
        Children::new(bytes, header).map_while(move |child| {
            let child = child.ok()?;
            Some(Child {
                header: child,
                func_id: header.child_func_id(bytes, child.index)?,
                code: span(bytes, child.code_offset(), child.code_bytes),
            })
        })
    }
}

impl ChildHeader {
    /// Reads and checks child `index`, whose predecessor ends at `previous_end` in the storage.
    fn check<W: ImageWords + ?Sized>(
        image: &W,
        header: &Header,
        index: u32,
        previous_end: u64,
    ) -> Result<Self, Refusal> {
        let field = entry(CHILD_OFFSETS, index);
        let offset = image.u32_at(field);
        let expected = previous_end.next_multiple_of(CHILD_ALIGN);
        if u64::from(offset) != expected {
            let expected = Expected::Exactly(expected);
            return Err(Refusal::in_child(index, Field::ChildOffset, field, offset, expected));
        }
        let start = HEADER_BYTES.saturating_add(u64::from(offset));
        let code = u64::from(offset).saturating_add(CHILD_CODE);
        let Some(room) = header.storage_bytes().checked_sub(code) else {
            let expected = Expected::AtLeast(code);
            return Err(Refusal::in_child(index, Field::ChildHeader, start, header.storage_bytes(), expected));
        };
        let counts = Self::read_counts(image, index, start)?;
        let field = start.saturating_add(CHILD_BINARY_SIZE);
        let code_bytes = image.u32_at(field);
        if u64::from(code_bytes) > room {
            let expected = Expected::AtMost(room);
            return Err(Refusal::in_child(index, Field::ChildBinarySize, field, code_bytes, expected));
        }
        Ok(Self { index, offset, counts, code_bytes })
    }

    /// Reads and checks the signature of child `index`, which starts at `start` in the image.
    pub(super) fn read_counts<W: ImageWords + ?Sized>(image: &W, index: u32, start: u64) -> Result<Counts, Refusal> {
        let field = start.saturating_add(CHILD_SIG_COUNT);
        let found = i32_at(image, field);
        let used = match u32::try_from(found) {
            Ok(used) if used <= MAX_CHILD_SIGNATURE => used,
            _ => {
                let expected = Expected::AtMost(u64::from(MAX_CHILD_SIGNATURE));
                return Err(Refusal::in_child(index, Field::ChildSigCount, field, found, expected));
            }
        };
        // The signature is the first thing in a child.
        let counts = Counts::of((0..used).map(|at| i32_at(image, entry(start, at)))).map_err(|bad| {
            let expected = if bad.is_known { Expected::TensorsBeforeScalars } else { Expected::Direction };
            Refusal::in_child(index, Field::ChildSignature, entry(start, bad.index), bad.found, expected)
        })?;
        if counts.scalars > MAX_CHILD_SCALARS {
            // The first scalar that is one too many.
            let at = entry(start, counts.tensors.saturating_add(MAX_CHILD_SCALARS));
            let expected = Expected::AtMost(u64::from(MAX_CHILD_SCALARS));
            return Err(Refusal::in_child(index, Field::ChildSignature, at, counts.scalars, expected));
        }
        Ok(counts)
    }

    /// Which child it is.
    #[must_use]
    pub const fn index(&self) -> u32 {
        self.index
    }

    /// Where it starts in the storage.
    #[must_use]
    pub const fn offset(&self) -> u32 {
        self.offset
    }

    /// Tensors and scalars that the child takes.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Where its code starts in the image.
    #[must_use]
    pub const fn code_offset(&self) -> u64 {
        HEADER_BYTES.saturating_add(self.offset as u64).saturating_add(CHILD_CODE)
    }

    /// Bytes of its code.
    #[must_use]
    pub const fn code_bytes(&self) -> u32 {
        self.code_bytes
    }

    /// What `resolved_addr` becomes in the copy that lies at `base`; `None` when the address would wrap.
    #[must_use]
    pub const fn resolved_address(&self, base: u64) -> Option<u64> {
        base.checked_add(self.code_offset())
    }

    /// Direction of its argument `index`; `None` past the last one.
    pub fn direction<W: ImageWords + ?Sized>(&self, image: &W, index: u32) -> Option<Direction> {
        if index >= self.counts.tensors.saturating_add(self.counts.scalars) {
            return None;
        }
        let start = HEADER_BYTES.saturating_add(u64::from(self.offset));
        Direction::try_from(i32_at(image, entry(start, index))).ok()
    }
}

impl<'i, W: ImageWords + ?Sized> Children<'i, W> {
    /// Starts at the first child of `image`, whose header is `header`.
    #[must_use]
    pub fn new(image: &'i W, header: Header) -> Self {
        Self { image, header, next: 0, end: u64::from(header.orchestration_bytes()) }
    }
}

impl<W: ImageWords + ?Sized> Iterator for Children<'_, W> {
    type Item = Result<ChildHeader, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.header.child_count() {
            return None;
        }
        let child = ChildHeader::check(self.image, &self.header, self.next, self.end);
        match &child {
            Ok(child) => {
                self.next = self.next.saturating_add(1);
                let code = u64::from(child.offset).saturating_add(CHILD_CODE);
                self.end = code.saturating_add(u64::from(child.code_bytes));
            }
            Err(_) => self.next = self.header.child_count(),
        }
        Some(child)
    }
}

/// `bytes` bytes at `offset`; the rules have established that they are inside.
fn span(image: &[u8], offset: u64, bytes: u32) -> &[u8] {
    let Ok(offset) = usize::try_from(offset) else { return &[] };
    let end = offset.saturating_add(bytes as usize);
    image.get(offset..end).unwrap_or(&[])
}
