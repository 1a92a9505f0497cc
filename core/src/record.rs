//! Slot records: how they are written, and read while somebody writes.
//!
//! A record is written as generation 0, then the fields, then the new generation; it is read as generation, fields, generation
//! again. A reader that sees the same generation twice has therefore seen the fields that belong to it and no others: had it met
//! a newer field, the writer's 0 came before that field, and the second look finds 0 or a later generation. This needs that a
//! generation never comes back, which [`Generation`] sees to.
//!
//! A host that copies to the device in stream order gets the writes as data ([`install_writes`], [`retire_write`],
//! [`CLOSE_RANGE`]); a host that shares memory with the device uses [`install`], [`retire`] and [`close`]. Both write the same
//! bytes in the same order.

use core::fmt;
use core::ops::Range;

use zerocopy::IntoBytes;

use crate::area::{
    AreaWords, BUSY, CANCELLED, CONTEXT_GENERATION, RECORD_ADDRESS, RECORD_BYTES, RECORD_GENERATION,
    RECORD_ID_AND_RESERVED, RECORD_LENGTH, RECORDS, RECORDS_END,
};
use crate::generation::{Generation, SlotIndex};

/// Least alignment of an image in device memory.
pub const IMAGE_ALIGN: u64 = 16;
/// Fewest bytes of an image: its header.
pub const IMAGE_MIN_BYTES: u64 = 9376;

/// What the host publishes about a slot's tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRecord {
    /// Which tenant it is.
    pub generation: Generation,
    /// Device address of its image.
    pub address: u64,
    /// Bytes of its image.
    pub bytes: u64,
}

/// One write of 8, 16 or 24 bytes to a context area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AreaWrite {
    /// Bytes from the start of the area.
    pub offset: u64,
    words: [u64; 3],
    count: usize,
}

impl AreaWrite {
    const fn word(offset: u64, value: u64) -> Self {
        Self { offset, words: [value, 0, 0], count: 1 }
    }

    /// What is written, as it lies in memory.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.words.get(..self.count).unwrap_or_default().as_bytes()
    }
}

/// The writes that give a slot to a tenant. Each must have landed before the next one lands.
#[must_use]
pub const fn install_writes(slot: SlotIndex, record: &SlotRecord) -> [AreaWrite; 3] {
    let at = slot.record_offset();
    [
        retire_write(slot),
        AreaWrite {
            offset: at.saturating_add(RECORD_ADDRESS),
            words: [record.address, record.bytes, id_and_reserved(slot)],
            count: 3,
        },
        AreaWrite::word(at.saturating_add(RECORD_GENERATION), record.generation.to_bits()),
    ]
}

/// The write that takes a slot from its tenant.
#[must_use]
pub const fn retire_write(slot: SlotIndex) -> AreaWrite {
    AreaWrite::word(slot.record_offset().saturating_add(RECORD_GENERATION), 0)
}

/// The bytes of the area that closing sets to zero: every slot record.
///
/// The bytes may land in any order. Every mixture of a record and zeroes is refused or is the record: a zero generation, address
/// or length each means that nothing is resident, an unchanged rest is what the record said.
pub const CLOSE_RANGE: Range<u64> = RECORDS..RECORDS_END as u64;

/// The write that makes a zeroed area that of a context, before it is registered.
#[must_use]
pub const fn context_write(context_generation: u64) -> AreaWrite {
    AreaWrite::word(CONTEXT_GENERATION, context_generation)
}

/// Gives a slot to a tenant, in memory that the device sees.
pub fn install<W: AreaWords + ?Sized>(words: &W, slot: SlotIndex, record: &SlotRecord) {
    let at = slot.record_offset();
    words.store_u64(at.saturating_add(RECORD_GENERATION), 0);
    words.store_u64(at.saturating_add(RECORD_ADDRESS), record.address);
    words.store_u64(at.saturating_add(RECORD_LENGTH), record.bytes);
    words.store_u64(at.saturating_add(RECORD_ID_AND_RESERVED), id_and_reserved(slot));
    words.store_u64(at.saturating_add(RECORD_GENERATION), record.generation.to_bits());
}

/// Takes a slot from its tenant, in memory that the device sees.
pub fn retire<W: AreaWords + ?Sized>(words: &W, slot: SlotIndex) {
    words.store_u64_seq_cst(slot.record_offset().saturating_add(RECORD_GENERATION), 0);
}

/// Takes every slot from its tenant, in memory that the device sees; whether a launch is still executing.
///
/// The device sets busy and then looks at the generation again; this writes the generations and then looks at busy, all in one
/// total order. So one of the two sees the other: a launch that this does not see is refused.
#[must_use = "nothing may be freed while a launch is executing"]
pub fn close<W: AreaWords + ?Sized>(words: &W) -> bool {
    SlotIndex::all().for_each(|slot| retire(words, slot));
    words.load_u32_seq_cst(BUSY) != 0
}

/// Cancels the context, for good.
pub fn cancel<W: AreaWords + ?Sized>(words: &W) {
    words.store_u32(CANCELLED, 1);
}

const fn id_and_reserved(slot: SlotIndex) -> u64 {
    slot.to_id().cast_unsigned() as u64
}

/// A record as it was found. The generation is one that was there; what the rest says is a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordClaim {
    /// Which tenant.
    pub generation: Generation,
    /// Device address of its image.
    pub address: u64,
    /// Bytes of its image.
    pub bytes: u64,
    /// Slot that the record says it belongs to.
    pub callable_id: i32,
    /// 0
    pub reserved: u32,
}

/// Why a slot's record names nothing that can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordFault {
    /// Generation 0: no tenant, or one is moving in.
    Vacant,
    /// The generation changed while the record was read, or after the launch was let in.
    Changed {
        /// At the first look.
        before: Generation,
        /// At the second look.
        after: Option<Generation>,
    },
    /// The record is another slot's.
    CallableId {
        /// The field.
        found: i32,
        /// The slot's.
        expected: i32,
    },
    /// The address is 0 or not a multiple of 16.
    Address {
        /// The field.
        found: u64,
    },
    /// Shorter than a callable's header.
    Bytes {
        /// The field.
        found: u64,
    },
    /// The image wraps around the address space or is not in callable memory.
    Memory {
        /// Where the image would begin.
        address: u64,
        /// Its length.
        bytes: u64,
    },
    /// The reserved field is not 0.
    Reserved {
        /// The field.
        found: u32,
    },
}

/// Reads a slot's record while the host may be writing it.
///
/// # Errors
/// [`RecordFault::Vacant`] or [`RecordFault::Changed`].
pub fn read<W: AreaWords + ?Sized>(words: &W, slot: SlotIndex) -> Result<RecordClaim, RecordFault> {
    let at = slot.record_offset();
    let generation = || {
        invalidate_record(words, slot);
        Generation::from_bits(words.load_u64(at.saturating_add(RECORD_GENERATION)))
    };
    let before = generation().ok_or(RecordFault::Vacant)?;
    invalidate_record(words, slot);
    let address = words.load_u64(at.saturating_add(RECORD_ADDRESS));
    let bytes = words.load_u64(at.saturating_add(RECORD_LENGTH));
    let [callable_id, reserved]: [u32; 2] =
        zerocopy::transmute!(words.load_u64(at.saturating_add(RECORD_ID_AND_RESERVED)));
    match generation() {
        Some(after) if after == before => {
            Ok(RecordClaim { generation: before, address, bytes, callable_id: callable_id.cast_signed(), reserved })
        }
        after => Err(RecordFault::Changed { before, after }),
    }
}

/// Reads a slot's generation once more, after busy was set, in the total order that [`close`] takes part in.
pub(crate) fn generation_seq_cst<W: AreaWords + ?Sized>(words: &W, slot: SlotIndex) -> Option<Generation> {
    invalidate_record(words, slot);
    Generation::from_bits(words.load_u64_seq_cst(slot.record_offset().saturating_add(RECORD_GENERATION)))
}

/// Drops the 64-byte line that the record lies in from the reader's cache.
fn invalidate_record<W: AreaWords + ?Sized>(words: &W, slot: SlotIndex) {
    words.invalidate(slot.record_offset() & !(LINE - 1), LINE);
}

const LINE: u64 = 64;
// A record lies in one line.
static_assertions::const_assert!(LINE.is_multiple_of(RECORD_BYTES) && RECORDS.is_multiple_of(RECORD_BYTES));

impl RecordClaim {
    /// Holds the record against the rules of step 5. Nothing at its address is touched.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn check(&self, slot: SlotIndex, is_callable_memory: impl FnOnce(u64, u64) -> bool) -> Result<(), RecordFault> {
        let Self { address, bytes, callable_id, reserved, .. } = *self;
        if callable_id != slot.to_id() {
            return Err(RecordFault::CallableId { found: callable_id, expected: slot.to_id() });
        }
        if address == 0 || !address.is_multiple_of(IMAGE_ALIGN) {
            return Err(RecordFault::Address { found: address });
        }
        if bytes < IMAGE_MIN_BYTES {
            return Err(RecordFault::Bytes { found: bytes });
        }
        if address.checked_add(bytes).is_none() || !is_callable_memory(address, bytes) {
            return Err(RecordFault::Memory { address, bytes });
        }
        if reserved != 0 {
            return Err(RecordFault::Reserved { found: reserved });
        }
        Ok(())
    }
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Vacant => write!(f, "the slot's generation is 0"),
            Self::Changed { before, after } => {
                let after = after.map_or(0, Generation::to_bits);
                write!(f, "the slot's generation went from {} to {after} meanwhile", before.to_bits())
            }
            Self::CallableId { found, expected } => {
                write!(f, "the record's callable_id is {found}, expected {expected}")
            }
            Self::Address { found } => {
                write!(f, "the record's device_address is {found:#x}, expected a multiple of 16 above 0")
            }
            Self::Bytes { found } => write!(f, "the record's bytes are {found}, expected at least 9376"),
            Self::Memory { address, bytes } => {
                write!(f, "the record's {bytes} bytes at {address:#x} are not in callable memory")
            }
            Self::Reserved { found } => write!(f, "the record's reserved is {found}, expected 0"),
        }
    }
}
