//! Who is in which slot, and which images a context holds.
//!
//! Preparing has a point of no return: the moment the first write of the slot's record is enqueued. Before it nothing has
//! happened, after it the old tenant is gone whatever fails next. The types carry that:
//!
//! ```text
//!          reserve               begin                 publish
//! table ──────────▶ Reservation ───────▶ Preparation ──────────▶ slot occupied
//!                    │ drop               │ drop
//!                    ▼                    ▼
//!              table as it was      slot empty, generation used, bytes charged
//! ```
//!
//! An image that was replaced or released stays where it is and stays charged until the context closes: a launch that was
//! accepted may still be inside it. A lookup compares numbers and follows nothing, so a stale or forged id costs one comparison.
//!
//! # Not here
//!
//! The bytes: whoever keeps them answers whether two images are the same. Records in device memory: see [`crate::area`].

use core::fmt;

use crate::callable::layout::MAX_CONTEXT_BYTES;
use crate::callable::{CallableImage, Counts};
use crate::generation::{CallableId, Generation, SlotIndex};
use crate::status::RuntimeError;
use crate::wire::SLOTS;

mod images;

pub use images::{ImageList, UploadedImage};

/// An image that is to be prepared, as far as the table needs to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageKey {
    /// Content hash: finds candidates, decides nothing.
    pub hash: u64,
    /// Bytes of the image.
    pub bytes: u64,
    /// Tensors and scalars that the callable takes.
    pub counts: Counts,
}

/// The callable that occupies a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tenant {
    /// Which tenant of its slot it is.
    pub generation: Generation,
    /// Tensors and scalars that it takes.
    pub counts: Counts,
    /// Where its image is on the device.
    pub address: u64,
    /// Bytes of its image.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Slot {
    Vacant { next: Generation },
    Occupied(Tenant),
    Retired,
}

/// `N` slots and the images behind them, which `L` lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallableTable<L, const N: usize = SLOTS> {
    slots: [Slot; N],
    images: L,
    charged_bytes: u64,
}

/// Why the table does not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum TableError {
    /// The slot has used its last generation.
    Retired,
    /// The list of images is full.
    TooManyImages,
    /// More unique bytes than a context may hold.
    TooManyBytes {
        /// Bytes that are charged already.
        charged: u64,
        /// Bytes of the image.
        wanted: u64,
    },
    /// Nobody is in the slot.
    NotResident,
    /// The slot has another tenant.
    Stale {
        /// Its generation.
        current: Generation,
    },
}

/// A slot and room for an image. Dropping it leaves the table as it was.
#[derive(Debug)]
#[must_use = "nothing has happened before `begin`"]
pub struct Reservation<'t, L, const N: usize = SLOTS> {
    table: &'t mut CallableTable<L, N>,
    slot: SlotIndex<N>,
    generation: Generation,
    key: ImageKey,
    present: Option<u64>,
}

/// A slot whose record is being written. Dropping it leaves the slot empty, its generation used.
#[derive(Debug)]
#[must_use = "the slot stays empty without `publish`"]
pub struct Preparation<'t, L, const N: usize = SLOTS> {
    table: &'t mut CallableTable<L, N>,
    slot: SlotIndex<N>,
    tenant: Tenant,
}

/// A tenant that is to leave. Dropping it leaves the table as it was.
#[derive(Debug)]
#[must_use = "nothing has happened before `commit`"]
pub struct Release<'t, L, const N: usize = SLOTS> {
    table: &'t mut CallableTable<L, N>,
    slot: SlotIndex<N>,
    generation: Generation,
}

impl ImageKey {
    /// The key of a checked image.
    #[must_use]
    pub const fn of(image: &CallableImage<'_>) -> Self {
        Self { hash: image.hash(), bytes: image.bytes().len() as u64, counts: image.counts() }
    }
}

impl Slot {
    /// What the slot is once `used` has been: vacant, or retired after the last generation.
    const fn after(used: Generation) -> Self {
        match used.next() {
            Some(next) => Self::Vacant { next },
            None => Self::Retired,
        }
    }
}

impl<L: ImageList, const N: usize> CallableTable<L, N> {
    /// An empty table over an empty list.
    #[must_use]
    pub const fn new(images: L) -> Self {
        const { assert!(N <= 8192, "a slot index must stay a small number") };
        Self { slots: [Slot::Vacant { next: Generation::FIRST }; N], images, charged_bytes: 0 }
    }

    /// A table whose every slot would next have `next`: for tests of what happens at the end of the numbers.
    #[must_use]
    pub const fn starting_at(images: L, next: Generation) -> Self {
        let mut table = Self::new(images);
        table.slots = [Slot::Vacant { next }; N];
        table
    }

    /// Finds a place for an image: the slot's next generation, and the upload of identical bytes if there is one.
    ///
    /// `is_same` answers whether the listed image at an index has exactly the bytes of the new one; it is asked only for images
    /// of the same hash and length.
    ///
    /// # Errors
    /// [`TableError::Retired`], [`TableError::TooManyBytes`], [`TableError::TooManyImages`]; the table is as it was.
    pub fn reserve(
        &mut self,
        slot: SlotIndex<N>,
        key: ImageKey,
        mut is_same: impl FnMut(usize, &UploadedImage) -> bool,
    ) -> Result<Reservation<'_, L, N>, TableError> {
        let generation = self.next_generation(slot).ok_or(TableError::Retired)?;
        let candidates = self.images.images().iter().enumerate();
        let present = candidates
            .filter(|(_, image)| image.hash == key.hash && image.bytes == key.bytes)
            .find_map(|(index, image)| is_same(index, image).then_some(image.address));
        if present.is_none() {
            let within = self.charged_bytes.checked_add(key.bytes).is_some_and(|sum| sum <= MAX_CONTEXT_BYTES);
            if !within {
                return Err(TableError::TooManyBytes { charged: self.charged_bytes, wanted: key.bytes });
            }
            if !self.images.make_room() {
                return Err(TableError::TooManyImages);
            }
        }
        Ok(Reservation { table: self, slot, generation, key, present })
    }

    /// The callable in a slot.
    ///
    /// # Errors
    /// [`TableError::NotResident`].
    pub fn tenant(&self, slot: SlotIndex<N>) -> Result<&Tenant, TableError> {
        match self.slots.get(slot.to_index()) {
            Some(Slot::Occupied(tenant)) => Ok(tenant),
            _ => Err(TableError::NotResident),
        }
    }

    /// The callable that an id names, if it is still in its slot.
    ///
    /// # Errors
    /// [`TableError::NotResident`], [`TableError::Stale`].
    pub fn resolve(&self, id: CallableId<N>) -> Result<&Tenant, TableError> {
        let tenant = self.tenant(id.slot)?;
        if tenant.generation == id.generation {
            Ok(tenant)
        } else {
            Err(TableError::Stale { current: tenant.generation })
        }
    }

    /// The first step of a release.
    ///
    /// # Errors
    /// [`TableError::NotResident`]; the table is as it was.
    pub fn release(&mut self, slot: SlotIndex<N>) -> Result<Release<'_, L, N>, TableError> {
        let generation = self.tenant(slot)?.generation;
        Ok(Release { table: self, slot, generation })
    }

    /// Empties every slot, as close does with the records. Generations go on where they were; images stay listed.
    pub fn vacate_all(&mut self) {
        for slot in &mut self.slots {
            if let Slot::Occupied(tenant) = *slot {
                *slot = Slot::after(tenant.generation);
            }
        }
    }

    /// Forgets the last image and gives it, once its memory is free again; `None` when there is none, or while a slot is
    /// occupied. Close calls this image by image, so that a retry frees only what is left.
    pub fn forget_last_image(&mut self) -> Option<UploadedImage> {
        if self.slots.iter().any(|slot| matches!(slot, Slot::Occupied(_))) {
            return None;
        }
        let image = self.images.pop()?;
        self.charged_bytes = self.charged_bytes.saturating_sub(image.bytes);
        Some(image)
    }

    /// The list of images, each one once, in the order of their upload.
    pub const fn images(&self) -> &L {
        &self.images
    }

    /// Bytes of unique images.
    pub const fn charged_bytes(&self) -> u64 {
        self.charged_bytes
    }

    fn next_generation(&self, slot: SlotIndex<N>) -> Option<Generation> {
        match self.slots.get(slot.to_index())? {
            Slot::Vacant { next } => Some(*next),
            Slot::Occupied(tenant) => tenant.generation.next(),
            Slot::Retired => None,
        }
    }

    fn set(&mut self, slot: SlotIndex<N>, value: Slot) {
        if let Some(place) = self.slots.get_mut(slot.to_index()) {
            *place = value;
        }
    }
}

impl<'t, L: ImageList, const N: usize> Reservation<'t, L, N> {
    /// The slot that was asked for.
    pub const fn slot(&self) -> SlotIndex<N> {
        self.slot
    }

    /// The generation that the new tenant will have.
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// Where identical bytes are already; `None` when the image is to be uploaded.
    pub const fn present(&self) -> Option<u64> {
        self.present
    }

    /// The first write of the slot's record is enqueued: the old tenant is gone, the generation is used, and an image that was
    /// uploaded to `address` is charged. `address` is ignored when the image was [`present`](Self::present).
    pub fn begin(self, address: u64) -> Preparation<'t, L, N> {
        let Self { table, slot, generation, key, present } = self;
        table.set(slot, Slot::after(generation));
        if present.is_none() {
            table.images.push(UploadedImage { hash: key.hash, bytes: key.bytes, address });
            table.charged_bytes = table.charged_bytes.saturating_add(key.bytes);
        }
        let address = present.unwrap_or(address);
        let tenant = Tenant { generation, counts: key.counts, address, bytes: key.bytes };
        Preparation { table, slot, tenant }
    }
}

impl<L: ImageList, const N: usize> Preparation<'_, L, N> {
    /// What the slot's record is to say.
    pub const fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    /// The last write of the record is enqueued: the tenant is in its slot.
    pub fn publish(self) -> CallableId<N> {
        self.table.set(self.slot, Slot::Occupied(self.tenant));
        CallableId { slot: self.slot, generation: self.tenant.generation }
    }
}

impl<L: ImageList, const N: usize> Release<'_, L, N> {
    /// The generation of the tenant that is to leave.
    pub const fn generation(&self) -> Generation {
        self.generation
    }

    /// Generation 0 is enqueued for the slot's record: nobody is in the slot any more.
    pub fn commit(self) {
        self.table.set(self.slot, Slot::after(self.generation));
    }
}

impl TableError {
    /// What an entry of the host runtime answers.
    #[must_use]
    pub const fn runtime_error(self) -> RuntimeError {
        match self {
            Self::Retired | Self::TooManyImages => RuntimeError::CallableCountExceeded,
            Self::TooManyBytes { .. } => RuntimeError::CallableBytesExceeded,
            Self::NotResident => RuntimeError::CallableNotResident,
            Self::Stale { .. } => RuntimeError::CallableStale,
        }
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retired => f.write_str("the slot has used its last generation"),
            Self::TooManyImages => f.write_str("no more images can be listed"),
            Self::TooManyBytes { charged, wanted } => {
                write!(f, "{charged} bytes are held, {wanted} more would exceed {MAX_CONTEXT_BYTES}")
            }
            Self::NotResident => f.write_str("the slot is empty"),
            Self::Stale { current } => write!(f, "the slot has generation {} now", current.to_bits()),
        }
    }
}

impl core::error::Error for TableError {}

#[cfg(test)]
mod tests;
