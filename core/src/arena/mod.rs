//! The arena: sized once, committed once.
//!
//! Three regions of device memory serve a context for its whole life. [`ArenaPlan`] sums up what is reserved in each;
//! [`decide_all`] says, before anything is changed, what a shell has to do to have that much. A captured graph keeps the base
//! address of a region, so in kernel mode a committed region is never grown, moved or released.

mod commit;
mod plan;

pub use commit::{CommitRefused, Decision, Growth, decide, decide_all};
pub use plan::{ArenaPlan, ArenaSizes, MAX_RESERVATIONS, PlanError, Reservation};

/// Alignment of every region's base, in bytes; no reservation asks for more.
pub const BASE_ALIGN: u64 = 1024;
/// Regions of an arena.
pub const REGIONS: usize = 3;

closed_enum! {
    /// One region: one allocation of device memory.
    pub enum Region: u8 {
        /// Heap of the rings, in global memory.
        GmHeap = 0,
        /// Task windows of the rings, shared between AICPU and AICore.
        GmSharedMemory = 1,
        /// Dependency pools of the rings.
        RuntimePool = 2,
    }
}
