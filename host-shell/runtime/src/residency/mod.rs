//! What a context keeps on the device: area, records, and the images they name.
//!
//! Both modes keep the same things in the same way; they differ in the stream that carries the writes.
//!
//! Record writes of one context are one sequence, whatever streams they come on: each stream first waits for RecordWritten and
//! records it after. The area's own first content is the first write of that sequence. A failure that leaves the sequence open,
//! so that a later write could overtake an earlier one, has to poison the context; [`Unfinished::is_sequence_open`] says so.
//!
//! | module | does |
//! | --- | --- |
//! | [`staging`] | pinned memory that record writes are copied from |
//! | [`upload`] | images, patched for the place where they lie |

mod staging;
mod upload;

use tenon_core::area::{AREA_ALIGN, AREA_BYTES, RECORDS_END, is_every_record_zero};
use tenon_core::callable::CallableImage;
use tenon_core::generation::{Generation, SlotIndex};
use tenon_core::record::{CLOSE_RANGE, SlotRecord, install_writes, retire_write};
use tenon_core::table::{CallableTable, ImageKey, ImageList, TableError, Tenant, UploadedImage};
use tenon_core::vocabulary::{ContextOps, EventId, MemoryKind, ResourceOps, StreamId, VendorError};

use self::staging::Staging;
use self::upload::Upload;
use crate::error::ContextError;
use crate::held::{Held, Holdings};
use crate::primitive::size;

/// A context's area, its table and its images.
#[derive(Debug)]
pub(crate) struct Residency {
    area: u64,
    record_written: EventId,
    staging: Staging,
    table: CallableTable<Images>,
    /// Each image of the table's list as it was given, to compare the next one with.
    originals: Vec<Box<[u8]>>,
}

/// Why a prepare or a release did not end well, and what it left.
#[derive(Debug)]
pub(crate) struct Unfinished {
    /// The first error.
    pub(crate) error: ContextError,
    /// Something that could not be let go of again; it stays held.
    pub(crate) teardown: Option<VendorError>,
    /// A write is enqueued that the next one may overtake: the context must not go on.
    pub(crate) is_sequence_open: bool,
}

impl Unfinished {
    const fn plain(error: ContextError) -> Self {
        Self { error, teardown: None, is_sequence_open: false }
    }

    const fn vendor(doing: &'static str, error: VendorError) -> Self {
        Self::plain(ContextError::vendor(doing, error))
    }
}

impl From<ContextError> for Unfinished {
    fn from(error: ContextError) -> Self {
        Self::plain(error)
    }
}

impl Residency {
    /// Makes the area and writes its first content in the order of `stream`. The area is held until the caller registers it.
    pub(crate) fn create<P: ContextOps + ResourceOps>(
        platform: &mut P,
        held: &mut Holdings,
        context_generation: u64,
        stream: StreamId,
        record_written: EventId,
    ) -> Result<Self, ContextError> {
        let area = platform
            .allocate_device(MemoryKind::Area, AREA_BYTES, AREA_ALIGN)
            .map_err(|error| ContextError::vendor("allocating the context area", error))?;
        held.note(Held::Device { kind: MemoryKind::Area, address: area });
        let staging = Staging::create(platform, held, context_generation)?;
        platform
            .copy_to_device(stream, area, staging.first(), 0, size(AREA_BYTES))
            .map_err(|error| ContextError::vendor("writing the context area", error))?;
        platform
            .record_event(record_written, stream)
            .map_err(|error| ContextError::vendor("recording RecordWritten", error))?;
        let table = CallableTable::new(Images::default());
        Ok(Self { area, record_written, staging, table, originals: Vec::new() })
    }

    /// Device address of the area.
    pub(crate) const fn area(&self) -> u64 {
        self.area
    }

    /// Device address of a slot's record.
    pub(crate) const fn record_address(&self, slot: SlotIndex) -> u64 {
        self.area + slot.record_offset()
    }

    /// Device memory of the area and of all images, in bytes.
    pub(crate) const fn device_bytes(&self) -> u64 {
        AREA_BYTES + self.table.charged_bytes()
    }

    /// Tells the device that the area exists. From then on the area stays for ever.
    pub(crate) fn register<P: ResourceOps>(
        &self,
        platform: &mut P,
        held: &mut Holdings,
        context_generation: u64,
    ) -> Result<(), ContextError> {
        platform
            .register_area(self.area, context_generation)
            .map_err(|error| ContextError::vendor("registering the context area", error))?;
        held.leave(Held::Device { kind: MemoryKind::Area, address: self.area });
        Ok(())
    }

    /// The generation of a slot's tenant, if it has one.
    pub(crate) fn generation(&self, slot: SlotIndex) -> Option<Generation> {
        self.table.tenant(slot).ok().map(|tenant| tenant.generation)
    }

    /// The callable in a slot.
    pub(crate) fn tenant(&self, slot: SlotIndex) -> Result<&Tenant, ContextError> {
        self.table.tenant(slot).map_err(|error| at(slot, error))
    }

    /// Puts an image into a slot: uploads it unless it is there, then writes the slot's record last.
    ///
    /// Everything that can be refused without a trace comes first. A failure before the first record write is enqueued leaves the
    /// table as it was; after it the slot is empty, its generation used and the bytes charged.
    pub(crate) fn prepare<P: ContextOps + ResourceOps>(
        &mut self,
        platform: &mut P,
        held: &mut Holdings,
        slot: SlotIndex,
        image: &CallableImage<'_>,
        stream: StreamId,
    ) -> Result<Generation, Unfinished> {
        let originals = &self.originals;
        let is_same =
            |index: usize, _: &UploadedImage| originals.get(index).is_some_and(|bytes| **bytes == *image.bytes());
        let reservation = self.table.reserve(slot, ImageKey::of(image), is_same).map_err(|error| at(slot, error))?;

        let mark = held.mark();
        let undo = |platform: &mut P, held: &mut Holdings, error| {
            let teardown = held.let_go_since(mark, platform).err();
            Unfinished { error, teardown, is_sequence_open: false }
        };
        let upload = match reservation.present() {
            Some(_) => None,
            None => Some(Upload::stage(platform, held, image).map_err(|error| undo(platform, held, error))?),
        };
        let address = upload.as_ref().map_or(0, |upload| upload.address);
        let record = SlotRecord {
            generation: reservation.generation(),
            address: reservation.present().unwrap_or(address),
            bytes: image.bytes().len() as u64,
        };
        let [empty, fields, generation] = install_writes(slot, &record);
        let staged = self
            .staging
            .stage(platform, held, fields.bytes(), generation.bytes())
            .map_err(|error| undo(platform, held, error))?;

        platform
            .wait_event(stream, self.record_written)
            .map_err(|error| undo(platform, held, ContextError::vendor("waiting for RecordWritten", error)))?;
        if let Some(upload) = &upload {
            upload
                .enqueue(platform, stream)
                .map_err(|error| undo(platform, held, ContextError::vendor("uploading the image", error)))?;
        }

        let mut writer = Writer { platform, stream, area: self.area, record_written: self.record_written };
        let zeroes = self.staging.zeroes();
        if let Err(error) = writer.write(empty.offset, zeroes, empty.bytes().len()) {
            let error = ContextError::vendor("emptying the slot", error);
            return Err(match upload {
                None => Unfinished::plain(error),
                // The image may be on its way, so it stays until close, and RecordWritten has to come after it.
                Some(_) => Unfinished { error, teardown: None, is_sequence_open: writer.close_sequence().is_err() },
            });
        }

        let preparation = reservation.begin(address);
        if upload.is_some() {
            self.originals.push(image.bytes().into());
        }
        let written = writer
            .write(fields.offset, staged.first, fields.bytes().len())
            .and_then(|()| writer.write(generation.offset, staged.second, generation.bytes().len()));
        if let Err(error) = written {
            let error = ContextError::vendor("writing the slot's record", error);
            return Err(Unfinished { error, teardown: None, is_sequence_open: writer.close_sequence().is_err() });
        }
        if let Err(error) = writer.close_sequence() {
            // The tenant is on its way, and nobody is told: it has to go again.
            let error = ContextError::vendor("recording RecordWritten", error);
            let is_empty =
                writer.write(empty.offset, zeroes, empty.bytes().len()).and_then(|()| writer.close_sequence());
            return Err(Unfinished { error, teardown: None, is_sequence_open: is_empty.is_err() });
        }
        Ok(preparation.publish().generation)
    }

    /// Empties a slot.
    pub(crate) fn release<P: ResourceOps>(
        &mut self,
        platform: &mut P,
        slot: SlotIndex,
        stream: StreamId,
    ) -> Result<(), Unfinished> {
        let release = self.table.release(slot).map_err(|error| at(slot, error))?;
        platform
            .wait_event(stream, self.record_written)
            .map_err(|error| Unfinished::vendor("waiting for RecordWritten", error))?;
        let empty = retire_write(slot);
        let mut writer = Writer { platform, stream, area: self.area, record_written: self.record_written };
        writer
            .write(empty.offset, self.staging.zeroes(), empty.bytes().len())
            .map_err(|error| Unfinished::vendor("emptying the slot", error))?;
        release.commit();
        writer.close_sequence().map_err(|error| {
            let error = ContextError::vendor("recording RecordWritten", error);
            Unfinished { error, teardown: None, is_sequence_open: writer.close_sequence().is_err() }
        })
    }

    /// Enqueues the end of all slots on a stream of the context's own, behind every record write.
    pub(crate) fn empty_all<P: ResourceOps>(&mut self, platform: &mut P, stream: StreamId) -> Result<(), VendorError> {
        platform.wait_event(stream, self.record_written)?;
        let mut writer = Writer { platform, stream, area: self.area, record_written: self.record_written };
        let bytes = size(CLOSE_RANGE.end - CLOSE_RANGE.start);
        writer.write(CLOSE_RANGE.start, self.staging.zeroes(), bytes)
    }

    /// Whether the end of all slots has landed; `None` where the platform cannot read without synchronising.
    pub(crate) fn is_empty_on_device<P: ResourceOps>(&self, platform: &mut P) -> Result<Option<bool>, VendorError> {
        let mut head = [0; RECORDS_END];
        let is_read = platform.read_area(self.area, 0, &mut head)?;
        Ok(is_read.then(|| is_every_record_zero(&head)))
    }
}

/// Names the slot that a table's error is about.
fn at(slot: SlotIndex, error: TableError) -> ContextError {
    ContextError::Table { slot: slot.to_id(), error }
}

/// Enqueues writes to the area from pinned staging.
struct Writer<'p, P> {
    platform: &'p mut P,
    stream: StreamId,
    area: u64,
    record_written: EventId,
}

impl<P: ResourceOps> Writer<'_, P> {
    fn write(&mut self, offset: u64, from: staging::Place, bytes: usize) -> Result<(), VendorError> {
        self.platform.copy_to_device(self.stream, self.area + offset, from.pinned, from.offset, bytes)
    }

    /// What is enqueued so far comes before every later record write.
    fn close_sequence(&mut self) -> Result<(), VendorError> {
        self.platform.record_event(self.record_written, self.stream)
    }
}

/// The list of uploaded images, in memory that grows.
#[derive(Debug, Default)]
struct Images(Vec<UploadedImage>);

impl ImageList for Images {
    fn images(&self) -> &[UploadedImage] {
        &self.0
    }

    fn make_room(&mut self) -> bool {
        self.0.try_reserve(1).is_ok()
    }

    fn push(&mut self, image: UploadedImage) {
        self.0.push(image);
    }

    fn pop(&mut self) -> Option<UploadedImage> {
        self.0.pop()
    }
}
