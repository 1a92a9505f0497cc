//! What the header of an image can tell without its storage.
//!
//! Both readers of images use [`Header::check`]: the whole-image rules of [`super::validate`] begin with it, and a device, which
//! must not walk an image on every launch, asks [`Header::check_alone`].

use super::layout::{
    BINARY_SIZE, CHILD_ALIGN, CHILD_CODE, CHILD_COUNT, CHILD_FUNC_IDS, CHILD_OFFSETS, CONFIG_NAME, CONFIG_NAME_LEN,
    FUNC_NAME, FUNC_NAME_LEN, HEADER_BYTES, MAX_CHILDREN, MAX_SCALARS, MAX_SIGNATURE, NAME_BYTES, SCALAR_COUNT,
    SIG_COUNT, SIGNATURE,
};
use super::refusal::{Expected, Field, Refusal};
use super::signature::{Counts, Direction};
use super::words::{ImageWords, entry, i32_at};

/// The checked fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Header {
    counts: Counts,
    stored_scalar_count: i32,
    child_count: u32,
    func_name_bytes: u32,
    config_name_bytes: u32,
    orchestration_bytes: u32,
    storage_bytes: u64,
}

impl Header {
    /// Checks the rules that need no child, in their order: `size` to `binary_size`.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check<W: ImageWords + ?Sized>(image: &W) -> Result<Self, Refusal> {
        let image_bytes = image.image_bytes();
        let Some(storage_bytes) = image_bytes.checked_sub(HEADER_BYTES) else {
            return Err(Refusal::new(Field::Size, 0, image_bytes, Expected::AtLeast(HEADER_BYTES)));
        };
        let counts = signature(image)?;
        let stored_scalar_count = stored_scalar_count(image, counts)?;
        let child_count = bounded(image, Field::ChildCount, CHILD_COUNT, MAX_CHILDREN)?;
        let func_name_bytes = name_bytes(image, Field::FuncNameLen, FUNC_NAME_LEN)?;
        let config_name_bytes = name_bytes(image, Field::ConfigNameLen, CONFIG_NAME_LEN)?;
        name(image, Field::FuncName, FUNC_NAME, func_name_bytes)?;
        name(image, Field::ConfigName, CONFIG_NAME, config_name_bytes)?;
        let orchestration_bytes = image.u32_at(BINARY_SIZE);
        if u64::from(orchestration_bytes) > storage_bytes {
            let expected = Expected::AtMost(storage_bytes);
            return Err(Refusal::new(Field::BinarySize, BINARY_SIZE, orchestration_bytes, expected));
        }
        Ok(Self {
            counts,
            stored_scalar_count,
            child_count,
            func_name_bytes,
            config_name_bytes,
            orchestration_bytes,
            storage_bytes,
        })
    }

    /// Checks all that can be told without looking into the storage: [`check`](Self::check), then that every child's place is
    /// one it could have, and the storage's size when there is no child.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check_alone<W: ImageWords + ?Sized>(image: &W) -> Result<Self, Refusal> {
        let header = Self::check(image)?;
        let mut end = u64::from(header.orchestration_bytes);
        for index in 0..header.child_count {
            let field = entry(CHILD_OFFSETS, index);
            let start = u64::from(image.u32_at(field));
            let least = end.next_multiple_of(CHILD_ALIGN);
            let refuse = |expected| Err(Refusal::in_child(index, Field::ChildOffset, field, start, expected));
            // The first child follows the orchestration; where the others follow depends on sizes in the storage.
            if index == 0 && start != least {
                return refuse(Expected::Exactly(least));
            }
            if start < least {
                return refuse(Expected::AtLeast(least));
            }
            if !start.is_multiple_of(CHILD_ALIGN) {
                return refuse(Expected::MultipleOf(CHILD_ALIGN));
            }
            end = start.saturating_add(CHILD_CODE);
            if end > header.storage_bytes {
                let offset = HEADER_BYTES.saturating_add(start);
                let expected = Expected::AtLeast(end);
                return Err(Refusal::in_child(index, Field::ChildHeader, offset, header.storage_bytes, expected));
            }
        }
        if header.child_count == 0 && header.storage_bytes != end {
            return Err(Refusal::new(Field::Storage, HEADER_BYTES, header.storage_bytes, Expected::Exactly(end)));
        }
        Ok(header)
    }

    /// Tensors and scalars that the callable takes.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// The field as stored: 0 for "not recorded", else equal to `counts().scalars`.
    #[must_use]
    pub const fn stored_scalar_count(&self) -> i32 {
        self.stored_scalar_count
    }

    /// Number of children.
    #[must_use]
    pub const fn child_count(&self) -> u32 {
        self.child_count
    }

    /// Bytes of the orchestration's name.
    #[must_use]
    pub const fn func_name_bytes(&self) -> u32 {
        self.func_name_bytes
    }

    /// Bytes of the configuration's name.
    #[must_use]
    pub const fn config_name_bytes(&self) -> u32 {
        self.config_name_bytes
    }

    /// Bytes of the orchestration, which starts at the start of the storage.
    #[must_use]
    pub const fn orchestration_bytes(&self) -> u32 {
        self.orchestration_bytes
    }

    /// Bytes of the storage.
    #[must_use]
    pub const fn storage_bytes(&self) -> u64 {
        self.storage_bytes
    }

    /// Direction of argument `index`; `None` past the last one.
    pub fn direction<W: ImageWords + ?Sized>(&self, image: &W, index: u32) -> Option<Direction> {
        if index >= self.counts.tensors.saturating_add(self.counts.scalars) {
            return None;
        }
        Direction::try_from(i32_at(image, entry(SIGNATURE, index))).ok()
    }

    /// The caller's number for child `index`, which nothing here interprets; `None` past the last child.
    pub fn child_func_id<W: ImageWords + ?Sized>(&self, image: &W, index: u32) -> Option<i32> {
        (index < self.child_count).then(|| i32_at(image, entry(CHILD_FUNC_IDS, index)))
    }

    /// Where child `index` starts in the storage; `None` past the last child.
    pub fn child_offset<W: ImageWords + ?Sized>(&self, image: &W, index: u32) -> Option<u32> {
        (index < self.child_count).then(|| image.u32_at(entry(CHILD_OFFSETS, index)))
    }
}

fn signature<W: ImageWords + ?Sized>(image: &W) -> Result<Counts, Refusal> {
    let used = bounded(image, Field::SigCount, SIG_COUNT, MAX_SIGNATURE)?;
    Counts::of((0..used).map(|index| i32_at(image, entry(SIGNATURE, index)))).map_err(|bad| {
        let expected = if bad.is_known { Expected::TensorsBeforeScalars } else { Expected::Direction };
        Refusal::new(Field::Signature, entry(SIGNATURE, bad.index), bad.found, expected)
    })
}

fn stored_scalar_count<W: ImageWords + ?Sized>(image: &W, counts: Counts) -> Result<i32, Refusal> {
    if counts.scalars > MAX_SCALARS {
        let expected = Expected::AtMost(u64::from(MAX_SCALARS));
        return Err(Refusal::new(Field::ScalarCount, SCALAR_COUNT, counts.scalars, expected));
    }
    let stored = i32_at(image, SCALAR_COUNT);
    if !counts.agree_with_stored(stored) {
        let expected = Expected::ZeroOr(u64::from(counts.scalars));
        return Err(Refusal::new(Field::ScalarCount, SCALAR_COUNT, stored, expected));
    }
    Ok(stored)
}

fn name_bytes<W: ImageWords + ?Sized>(image: &W, field: Field, offset: u64) -> Result<u32, Refusal> {
    let most = NAME_BYTES.saturating_sub(1);
    let found = image.u32_at(offset);
    if u64::from(found) > most {
        return Err(Refusal::new(field, offset, found, Expected::AtMost(most)));
    }
    Ok(found)
}

fn name<W: ImageWords + ?Sized>(image: &W, field: Field, offset: u64, bytes: u32) -> Result<(), Refusal> {
    let end = offset.saturating_add(u64::from(bytes));
    let terminator = image.u8_at(end);
    if terminator != 0 {
        return Err(Refusal::new(field, end, terminator, Expected::Nul));
    }
    match (offset..end).find(|at| image.u8_at(*at) == 0) {
        Some(at) => Err(Refusal::new(field, at, 0, Expected::NotNul)),
        None => Ok(()),
    }
}

/// Reads a signed count that must lie in `0..=most`.
fn bounded<W: ImageWords + ?Sized>(image: &W, field: Field, offset: u64, most: u32) -> Result<u32, Refusal> {
    let found = i32_at(image, offset);
    match u32::try_from(found) {
        Ok(count) if count <= most => Ok(count),
        _ => Err(Refusal::new(field, offset, found, Expected::AtMost(u64::from(most)))),
    }
}
