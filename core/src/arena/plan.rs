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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_empty_plan_needs_nothing() {
        assert_eq!(ArenaPlan::new().sizes(), [0; REGIONS]);
        assert_eq!(ArenaPlan::for_rings(&RuntimeEnv::default()).map(|plan| plan.sizes()), Ok([0; REGIONS]));
    }

    #[test]
    fn reservations_follow_each_other_at_their_alignment() {
        let mut plan = ArenaPlan::new();
        let heap = Region::GmHeap;
        assert_eq!(plan.reserve(heap, 3, 1), Ok(Reservation { region: heap, offset: 0, bytes: 3 }));
        assert_eq!(plan.reserve(heap, 8, 8), Ok(Reservation { region: heap, offset: 8, bytes: 8 }));
        assert_eq!(plan.reserve(heap, 1, 1024), Ok(Reservation { region: heap, offset: 1024, bytes: 1 }));
        let pool = Region::RuntimePool;
        assert_eq!(plan.reserve(pool, 16, 16), Ok(Reservation { region: pool, offset: 0, bytes: 16 }));
        assert_eq!(plan.sizes(), [1025, 0, 16]);
    }

    #[test]
    fn a_refused_reservation_leaves_the_plan_as_it_was() {
        let mut plan = ArenaPlan::new();
        plan.reserve(Region::GmHeap, u64::MAX - 8, 1).unwrap();
        let before = plan.sizes();
        assert_eq!(plan.reserve(Region::GmHeap, 0, 1), Err(PlanError::Empty));
        for align in [0, 3, 12, 2048, u64::MAX] {
            assert_eq!(plan.reserve(Region::GmHeap, 1, align), Err(PlanError::Alignment(align)));
        }
        for (bytes, align) in [(9, 1), (1, 1024), (u64::MAX, 1)] {
            let refused = PlanError::Overflow { region: Region::GmHeap, reserved: u64::MAX - 8, bytes };
            assert_eq!(plan.reserve(Region::GmHeap, bytes, align), Err(refused));
        }
        assert_eq!(plan.sizes(), before);
        assert_eq!(plan.reserve(Region::GmHeap, 8, 1).map(|reserved| reserved.offset), Ok(u64::MAX - 8));
    }

    #[test]
    fn the_hundred_and_twenty_ninth_reservation_is_refused() {
        let mut plan = ArenaPlan::new();
        for index in 0..128 {
            let region = Region::ALL[index % REGIONS];
            plan.reserve(region, 1, 1).unwrap();
        }
        let before = plan.sizes();
        for region in Region::ALL {
            assert_eq!(plan.reserve(*region, 1, 1), Err(PlanError::TooMany));
        }
        assert_eq!(plan.sizes(), before);
    }

    #[test]
    fn rings_get_their_parts_of_each_region() {
        let env = RuntimeEnv {
            ring_task_window: [4, 0, 8, 0],
            ring_heap: [1024, 1025, 0, 4096],
            ring_dep_pool: [0, 0, 0, 5],
        };
        let sizes = ArenaPlan::for_rings(&env).unwrap().sizes();
        assert_eq!(sizes, [1024 + 1152 + 4096, 12 * TASK_BYTES, 5 * DEPENDENCY_BYTES]);
    }

    #[test]
    fn rings_whose_sizes_do_not_add_up_are_refused() {
        let two_halves = [1 << 63, 1 << 63, 0, 0];
        let env = RuntimeEnv { ring_heap: two_halves, ..RuntimeEnv::default() };
        assert!(matches!(
            ArenaPlan::for_rings(&env).map(|plan| plan.sizes()),
            Err(PlanError::Overflow { region: Region::GmHeap, .. })
        ));
        let env = RuntimeEnv { ring_task_window: [u64::MAX / 64, 0, 0, 4], ..RuntimeEnv::default() };
        assert!(matches!(
            ArenaPlan::for_rings(&env).map(|plan| plan.sizes()),
            Err(PlanError::Overflow { region: Region::GmSharedMemory, .. })
        ));
    }

    proptest! {
        #[test]
        fn reservations_never_overlap_and_lie_inside(
            wishes in prop::collection::vec((0_usize..REGIONS, 1_u64..1 << 40, 0_u32..=10), 1..200)
        ) {
            let mut plan = ArenaPlan::new();
            let mut ends = [0_u64; REGIONS];
            for (index, (region, bytes, align)) in wishes.into_iter().enumerate() {
                let made = plan.reserve(Region::ALL[region], bytes, 1 << align);
                prop_assert_eq!(made.is_ok(), index < MAX_RESERVATIONS);
                if let Ok(made) = made {
                    prop_assert!(made.offset >= ends[region] && made.offset.is_multiple_of(1 << align));
                    ends[region] = made.offset + made.bytes;
                }
                prop_assert_eq!(plan.sizes(), ends);
            }
        }
    }
}
