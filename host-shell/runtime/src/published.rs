//! What a context shows to threads that are not inside it.
//!
//! A monitor must be able to ask while a launch is going on, and must never make that launch fail. So these words are read without
//! entering the context, and the device's line is read through a platform of its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tenon_core::area::{BUSY, DEVICE_LINE_BYTES, DeviceLine};
use tenon_core::generation::{Generation, SlotIndex};
use tenon_core::launch::Outcome;
use tenon_core::status::RuntimeError;
use tenon_core::vocabulary::{ResourceOps, VendorError};
use tenon_core::wire::{ContextErrors, SLOTS};

use crate::exclusive::Exclusive;

/// The words.
#[derive(Debug)]
pub(crate) struct Published {
    errors: Mutex<ContextErrors>,
    /// 0 for an empty slot.
    generations: [AtomicU64; SLOTS],
    /// The registered context area; 0 before there is one.
    area: AtomicU64,
}

impl Published {
    pub(crate) fn new() -> Self {
        Self {
            errors: Mutex::new(ContextErrors::default()),
            generations: [const { AtomicU64::new(0) }; SLOTS],
            area: AtomicU64::new(0),
        }
    }

    /// The tenant of a slot; `None` when it is empty.
    pub(crate) fn generation(&self, slot: SlotIndex) -> Option<Generation> {
        Generation::from_bits(self.generations[slot.to_index()].load(Ordering::Acquire))
    }

    pub(crate) fn set_generation(&self, slot: SlotIndex, generation: Option<Generation>) {
        self.generations[slot.to_index()].store(generation.map_or(0, Generation::to_bits), Ordering::Release);
    }

    pub(crate) fn empty_all_slots(&self) {
        SlotIndex::all().for_each(|slot| self.set_generation(slot, None));
    }

    pub(crate) fn set_area(&self, area: u64) {
        self.area.store(area, Ordering::Release);
    }

    /// Notes why the context is poisoned; only the first cause stays.
    pub(crate) fn note_poison(&self, vendor_code: i32) {
        let mut errors = self.lock();
        if errors.runtime_error == 0 {
            errors.runtime_error = RuntimeError::Internal.code();
            errors.runtime_vendor_code = vendor_code;
        }
    }

    /// Notes how a launch failed; of several failures the one that poisoned.
    pub(crate) fn note_launch(&self, outcome: Outcome) {
        let mut errors = self.lock();
        errors.failed_step = i32::from(outcome.failed_step);
        errors.join_unproven = u32::from(outcome.is_join_unproven);
    }

    /// Notes that something could not be released; only the first failure stays.
    pub(crate) fn note_teardown(&self, error: VendorError) {
        let mut errors = self.lock();
        if errors.teardown_error == 0 {
            errors.teardown_error = RuntimeError::Internal.code();
            errors.teardown_vendor_code = error.code;
        }
    }

    /// The error slots, with the device's line as `observer` sees it now. Where the platform cannot read it, or another thread is
    /// just reading it, the line is that of the last look.
    pub(crate) fn errors<P: ResourceOps>(&self, observer: &Exclusive<P>) -> ContextErrors {
        let area = self.area.load(Ordering::Acquire);
        if area != 0
            && let Some(Some(line)) = observer.enter(|platform| read_line(platform, area).ok().flatten())
        {
            self.note_line(line);
        }
        *self.lock()
    }

    pub(crate) fn note_line(&self, line: DeviceLine) {
        let mut errors = self.lock();
        // Refusals only ever grow, so an older look that comes late is left out.
        if line.refusals >= errors.refusals {
            errors.refusals = line.refusals;
            errors.first_refusal = line.first_refusal.cast_signed();
        }
    }

    /// The slots. Nothing can panic while they are locked, so poisoned ones are as good as any.
    fn lock(&self) -> MutexGuard<'_, ContextErrors> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the device's line of an area; `None` where the platform cannot without synchronising.
pub(crate) fn read_line<P: ResourceOps>(platform: &mut P, area: u64) -> Result<Option<DeviceLine>, VendorError> {
    let mut bytes = [0; DEVICE_LINE_BYTES];
    let is_read = platform.read_area(area, BUSY, &mut bytes)?;
    Ok(is_read.then(|| DeviceLine::decode(&bytes)))
}
