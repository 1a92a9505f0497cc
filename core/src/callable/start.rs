//! Whether an orchestration may start a child with these arguments.
//!
//! Nothing of a refused start has happened. Every refusal is the dispatch answer *invalid binding*; the reason is for the log.

use super::header::Header;
use super::layout::{CHILD_CODE, HEADER_BYTES, MAX_CHILD_SCALARS};
use super::signature::Direction;
use super::validate::ChildHeader;
use super::words::{ImageWords, entry, i32_at};

/// What an orchestration asks for.
#[derive(Clone, Copy, Debug)]
pub struct ChildStart<'a> {
    /// The child's position in the image.
    pub index: u32,
    /// Tensors, by their index in the orchestration's arguments.
    pub tensors: &'a [u32],
    /// Number of scalars.
    pub scalar_count: u32,
    /// Blocks to run.
    pub blocks: u32,
}

/// Why a child is not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum StartRefusal {
    /// No child has this index.
    NoSuchChild {
        /// Number of children.
        children: u32,
    },
    /// 0 blocks.
    NoBlocks,
    /// More scalars than any child takes.
    TooManyScalars,
    /// The child's own header breaks a rule.
    BadChild,
    /// The child takes another number of tensors or scalars.
    CountMismatch {
        /// Tensors that it takes.
        tensors: u32,
        /// Scalars that it takes.
        scalars: u32,
    },
    /// No tensor of the orchestration has this index.
    NoSuchTensor {
        /// Place among the child's tensors.
        place: u32,
        /// The index that was given.
        index: u32,
    },
    /// The child would write what the orchestration only reads.
    WouldWriteInput {
        /// Place among the child's tensors.
        place: u32,
        /// The tensor's index.
        index: u32,
    },
}

/// Checks a start against the image whose header is `header`.
///
/// # Errors
/// Why the child is not started.
pub fn check_start<W: ImageWords + ?Sized>(
    image: &W,
    header: &Header,
    start: &ChildStart<'_>,
) -> Result<(), StartRefusal> {
    let Some(offset) = header.child_offset(image, start.index) else {
        return Err(StartRefusal::NoSuchChild { children: header.child_count() });
    };
    if start.blocks == 0 {
        return Err(StartRefusal::NoBlocks);
    }
    if start.scalar_count > MAX_CHILD_SCALARS {
        return Err(StartRefusal::TooManyScalars);
    }
    if u64::from(offset).saturating_add(CHILD_CODE) > header.storage_bytes() {
        return Err(StartRefusal::BadChild);
    }
    let child = HEADER_BYTES.saturating_add(u64::from(offset));
    let counts = ChildHeader::read_counts(image, start.index, child).map_err(|_| StartRefusal::BadChild)?;
    if start.tensors.len() as u64 != u64::from(counts.tensors) || start.scalar_count != counts.scalars {
        return Err(StartRefusal::CountMismatch { tensors: counts.tensors, scalars: counts.scalars });
    }
    for (place, &index) in (0..).zip(start.tensors) {
        if index >= header.counts().tensors {
            return Err(StartRefusal::NoSuchTensor { place, index });
        }
        let own = header.direction(image, index);
        let child = Direction::try_from(i32_at(image, entry(child, place))).ok();
        if own == Some(Direction::In) && child.is_none_or(Direction::is_written) {
            return Err(StartRefusal::WouldWriteInput { place, index });
        }
    }
    Ok(())
}
