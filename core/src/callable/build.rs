//! Writing an image into a caller's buffer.
//!
//! Everything that a reader would refuse is refused here first, by the name of the field it would stand in. Pads, gaps, unused
//! entries and name tails are written as zero, so equal descriptions give equal bytes.

use super::layout::{
    BINARY_SIZE, CHILD_ALIGN, CHILD_BINARY_SIZE, CHILD_CODE, CHILD_COUNT, CHILD_FUNC_IDS, CHILD_OFFSETS,
    CHILD_SIG_COUNT, CONFIG_NAME, CONFIG_NAME_LEN, FUNC_NAME, FUNC_NAME_LEN, HEADER_BYTES, MAX_CHILD_SCALARS,
    MAX_CHILD_SIGNATURE, MAX_CHILDREN, MAX_SCALARS, MAX_SIGNATURE, NAME_BYTES, SCALAR_COUNT, SIG_COUNT, SIGNATURE,
};
use super::refusal::{Expected, Field, Refusal};
use super::signature::{Counts, Direction};
use super::validate::CallableImage;
use super::words::entry;

/// Description of an image.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallableSpec<'a> {
    /// The orchestration's symbol: below 64 bytes, none of them NUL.
    pub func_name: &'a [u8],
    /// Name of a configuration: below 64 bytes, none of them NUL.
    pub config_name: &'a [u8],
    /// Directions of the arguments, tensors before scalars.
    pub signature: &'a [Direction],
    /// What to store as `scalar_count`: 0 (not recorded) or the number of scalars.
    pub scalar_count: i32,
    /// The orchestration's code.
    pub orchestration: &'a [u8],
    /// The children, in the order of their index.
    pub children: &'a [ChildSpec<'a>],
}

/// Description of a child.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChildSpec<'a> {
    /// The caller's number for it, carried.
    pub func_id: i32,
    /// Directions of its arguments, tensors before scalars.
    pub signature: &'a [Direction],
    /// Its code.
    pub code: &'a [u8],
}

impl CallableSpec<'_> {
    /// Checks the description and gives the size of its image in bytes.
    ///
    /// # Errors
    /// The first field that an image could not have, in the order in which a reader would find it.
    pub fn image_bytes(&self) -> Result<u64, Refusal> {
        let counts = check_signature(self.signature, MAX_SIGNATURE, None)?;
        if counts.scalars > MAX_SCALARS {
            let expected = Expected::AtMost(u64::from(MAX_SCALARS));
            return Err(Refusal::new(Field::ScalarCount, SCALAR_COUNT, counts.scalars, expected));
        }
        if !counts.agree_with_stored(self.scalar_count) {
            let expected = Expected::ZeroOr(u64::from(counts.scalars));
            return Err(Refusal::new(Field::ScalarCount, SCALAR_COUNT, self.scalar_count, expected));
        }
        at_most(Field::ChildCount, CHILD_COUNT, self.children.len(), u64::from(MAX_CHILDREN))?;
        let longest = NAME_BYTES.saturating_sub(1);
        at_most(Field::FuncNameLen, FUNC_NAME_LEN, self.func_name.len(), longest)?;
        at_most(Field::ConfigNameLen, CONFIG_NAME_LEN, self.config_name.len(), longest)?;
        check_name(Field::FuncName, FUNC_NAME, self.func_name)?;
        check_name(Field::ConfigName, CONFIG_NAME, self.config_name)?;
        at_most(Field::BinarySize, BINARY_SIZE, self.orchestration.len(), u64::from(u32::MAX))?;

        let mut end = self.orchestration.len() as u64;
        for (index, child) in (0_u32..).zip(self.children) {
            let offset = end.next_multiple_of(CHILD_ALIGN);
            let field = entry(CHILD_OFFSETS, index);
            let in_child = |refusal| Refusal { child: Some(index), ..refusal };
            if offset > u64::from(u32::MAX) {
                let expected = Expected::AtMost(u64::from(u32::MAX));
                return Err(Refusal::in_child(index, Field::ChildOffset, field, offset, expected));
            }
            let start = HEADER_BYTES.saturating_add(offset);
            check_signature(child.signature, MAX_CHILD_SIGNATURE, Some((index, start)))?;
            let field = start.saturating_add(CHILD_BINARY_SIZE);
            at_most(Field::ChildBinarySize, field, child.code.len(), u64::from(u32::MAX)).map_err(in_child)?;
            end = offset.saturating_add(CHILD_CODE).saturating_add(child.code.len() as u64);
        }
        Ok(HEADER_BYTES.saturating_add(end))
    }

    /// Writes the image to the start of `out` and gives it, checked. The rest of `out` is left alone.
    ///
    /// # Errors
    /// As [`image_bytes`](Self::image_bytes), and `size` when `out` is too small; then nothing was written.
    pub fn write<'b>(&self, out: &'b mut [u8]) -> Result<CallableImage<'b>, Refusal> {
        let bytes = self.image_bytes()?;
        let available = out.len() as u64;
        let too_small = Refusal::new(Field::Size, 0, available, Expected::AtLeast(bytes));
        let Ok(length) = usize::try_from(bytes) else { return Err(too_small) };
        let Some(image) = out.get_mut(..length) else { return Err(too_small) };
        image.fill(0);
        self.fill(image);
        CallableImage::parse(image)
    }

    /// Fills in a zeroed image of the right size.
    fn fill(&self, image: &mut [u8]) {
        put_signature(image, SIGNATURE, SIG_COUNT, self.signature);
        put_len(image, BINARY_SIZE, self.orchestration.len());
        put(image, FUNC_NAME, self.func_name);
        put_len(image, FUNC_NAME_LEN, self.func_name.len());
        put_len(image, CHILD_COUNT, self.children.len());
        put(image, CONFIG_NAME, self.config_name);
        put_len(image, CONFIG_NAME_LEN, self.config_name.len());
        put(image, SCALAR_COUNT, &self.scalar_count.to_le_bytes());
        put(image, HEADER_BYTES, self.orchestration);

        let mut end = self.orchestration.len();
        for (index, child) in (0..).zip(self.children) {
            let offset = (end as u64).next_multiple_of(CHILD_ALIGN);
            put(image, entry(CHILD_FUNC_IDS, index), &child.func_id.to_le_bytes());
            let start = HEADER_BYTES.saturating_add(offset);
            end = usize::try_from(offset.saturating_add(CHILD_CODE)).unwrap_or(usize::MAX);
            put_len(image, entry(CHILD_OFFSETS, index), usize::try_from(offset).unwrap_or(usize::MAX));
            put_signature(image, start, start.saturating_add(CHILD_SIG_COUNT), child.signature);
            put_len(image, start.saturating_add(CHILD_BINARY_SIZE), child.code.len());
            put(image, start.saturating_add(CHILD_CODE), child.code);
            end = end.saturating_add(child.code.len());
        }
    }
}

/// Checks a signature; `child` is its index and where it starts in the image.
fn check_signature(signature: &[Direction], most: u32, child: Option<(u32, u64)>) -> Result<Counts, Refusal> {
    let (table, count_at) = match child {
        Some((_, start)) => (start, start.saturating_add(CHILD_SIG_COUNT)),
        None => (SIGNATURE, SIG_COUNT),
    };
    let (count_field, entry_field) = match child {
        Some(_) => (Field::ChildSigCount, Field::ChildSignature),
        None => (Field::SigCount, Field::Signature),
    };
    let child = child.map(|(index, _)| index);
    let refuse = |refusal| Refusal { child, ..refusal };
    at_most(count_field, count_at, signature.len(), u64::from(most)).map_err(refuse)?;
    let counts = Counts::of(signature.iter().map(|direction| direction.code())).map_err(|bad| {
        refuse(Refusal::new(entry_field, entry(table, bad.index), bad.found, Expected::TensorsBeforeScalars))
    })?;
    if child.is_some() && counts.scalars > MAX_CHILD_SCALARS {
        let at = entry(table, counts.tensors.saturating_add(MAX_CHILD_SCALARS));
        let expected = Expected::AtMost(u64::from(MAX_CHILD_SCALARS));
        return Err(refuse(Refusal::new(entry_field, at, counts.scalars, expected)));
    }
    Ok(counts)
}

fn check_name(field: Field, offset: u64, name: &[u8]) -> Result<(), Refusal> {
    match (offset..).zip(name).find(|(_, byte)| **byte == 0) {
        Some((at, _)) => Err(Refusal::new(field, at, 0, Expected::NotNul)),
        None => Ok(()),
    }
}

fn at_most(field: Field, offset: u64, found: usize, most: u64) -> Result<(), Refusal> {
    let found = found as u64;
    if found > most { Err(Refusal::new(field, offset, found, Expected::AtMost(most))) } else { Ok(()) }
}

/// Copies `bytes` to `offset`. The image has the size that the description needs, so they fit.
fn put(image: &mut [u8], offset: u64, bytes: &[u8]) {
    let place = usize::try_from(offset).ok().and_then(|offset| image.get_mut(offset..)?.get_mut(..bytes.len()));
    if let Some(place) = place {
        place.copy_from_slice(bytes);
    }
}

/// Writes a number of things, which was checked to fit 32 bits.
fn put_len(image: &mut [u8], offset: u64, length: usize) {
    put(image, offset, &u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_signature(image: &mut [u8], table: u64, count_at: u64, signature: &[Direction]) {
    put_len(image, count_at, signature.len());
    for (index, direction) in (0..).zip(signature) {
        put(image, entry(table, index), &direction.code().to_le_bytes());
    }
}
