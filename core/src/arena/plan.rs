//! Reservations: how much of each region a context needs.
//!

use super::{BASE_ALIGN, REGIONS, Region};
use crate::wire::RuntimeEnv;

/// Most reservations in one arena.
pub const MAX_RESERVATIONS: usize = 128;
/// Device bytes of one task in a ring's window.
const TASK_BYTES: u64 = 128;
/// Device bytes of one dependency in a ring's pool.
const DEPENDENCY_BYTES: u64 = 16;
/// Alignment of a ring's part of a region: no two rings share a line of the device's cache.
const RING_ALIGN: u64 = 128;

/// Bytes that each region needs, in the order of [`Region::ALL`]; 0 where nothing is reserved.
pub type ArenaSizes = [u64; REGIONS];

/// A reservation that cannot be made; the plan is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanError {
    /// A reservation of no bytes.
    Empty,
    /// Not a power of two up to [`BASE_ALIGN`].
    Alignment(u64),
    /// The region would be larger than an address can say.
    Overflow {
        /// Which region.
        region: Region,
        /// Bytes reserved in it so far.
        reserved: u64,
        /// Bytes that were to be added.
        bytes: u64,
    },
    /// [`MAX_RESERVATIONS`] are there already.
    TooMany,
}

/// Where a reservation lies once its region is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// In which region.
    pub region: Region,
    /// Bytes from the region's base.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What is reserved so far. Offsets are final as soon as they are given: a later reservation goes behind the earlier ones.
#[derive(Clone, Debug, Default)]
pub struct ArenaPlan {
    sizes: ArenaSizes,
    reservations: usize,
}

impl ArenaPlan {
    /// A plan without reservations.
    #[must_use]
    pub const fn new() -> Self {
        Self { sizes: [0; REGIONS], reservations: 0 }
    }

    /// The plan for a configuration: a part of each region for each ring that has a size.
    ///
    /// # Errors
    /// [`PlanError::Overflow`] when the sizes of the rings do not add up to a size.
    pub fn for_rings(env: &RuntimeEnv) -> Result<Self, PlanError> {
        // The configuration is packed: its arrays are copied before they are looked at.
        let (heaps, windows, pools) = (env.ring_heap, env.ring_task_window, env.ring_dep_pool);
        let mut plan = Self::new();
        plan.reserve_rings(Region::GmHeap, heaps, 1)?;
        plan.reserve_rings(Region::GmSharedMemory, windows, TASK_BYTES)?;
        plan.reserve_rings(Region::RuntimePool, pools, DEPENDENCY_BYTES)?;
        Ok(plan)
    }

    /// Reserves `bytes` in `region`, at a multiple of `align`.
    ///
    /// # Errors
    /// [`PlanError`]; the plan is as it was.
    pub fn reserve(&mut self, region: Region, bytes: u64, align: u64) -> Result<Reservation, PlanError> {
        if bytes == 0 {
            return Err(PlanError::Empty);
        }
        if !align.is_power_of_two() || align > BASE_ALIGN {
            return Err(PlanError::Alignment(align));
        }
        let size = match region {
            Region::GmHeap => &mut self.sizes[0],
            Region::GmSharedMemory => &mut self.sizes[1],
            Region::RuntimePool => &mut self.sizes[2],
        };
        let overflow = PlanError::Overflow { region, reserved: *size, bytes };
        let offset = size.checked_next_multiple_of(align).ok_or(overflow)?;
        let end = offset.checked_add(bytes).ok_or(overflow)?;
        let reservations =
            self.reservations.checked_add(1).filter(|n| *n <= MAX_RESERVATIONS).ok_or(PlanError::TooMany)?;

        *size = end;
        self.reservations = reservations;
        Ok(Reservation { region, offset, bytes })
    }

    /// Bytes that each region needs.
    #[must_use]
    pub const fn sizes(&self) -> ArenaSizes {
        self.sizes
    }

    fn reserve_rings(&mut self, region: Region, counts: [u64; 4], unit_bytes: u64) -> Result<(), PlanError> {
        for count in counts.into_iter().filter(|count| *count != 0) {
            // A product that does not fit is no reservation that fits either.
            self.reserve(region, count.saturating_mul(unit_bytes), RING_ALIGN)?;
        }
        Ok(())
    }
}
