//! What decides in Tenon: wire formats, rules and state machines.
//!
//! Nothing here performs an effect: no allocation, no clock, no logging, no lock, no `unsafe`. Shells act on what these functions
//! answer. Bytes become a checked value, a checked value becomes a decision, and a shell turns the decision into an effect.
//!
//! # Words
//!
//! *wire format* (bytes that cross a boundary), *envelope* (the header of one invocation), *packet* (envelope and payload),
//! *reserved field* (written as zero, anything else refused), *pad* (written as zero, never read) · *slot* (a place in a table),
//! *generation* (how often a slot has been occupied), *stale* (an older generation), *retired* (a slot that will never be used
//! again) · *arena*, *region*, *reserve* then *commit* · *context* (one user of a device), *phase*, *latch* (written once),
//! *poisoned* (a failure after the first enqueue; nothing more is dispatched), *refused* (nothing was done) · *host*, *device*,
//! *AICPU* (the core that decides on the device), *AICore* (the workers), *stream*, *event*, *capture*, *replay* · *verdict*
//! (what the AICPU branch of a launch tells an AICore branch) · *boundary* (where Rust meets C or another processor).
//!
//! # Not here
//!
//! Reading memory that somebody else may write: shells copy it out first, or give an implementation of [`area::AreaWords`].
#![no_std]
#![forbid(unsafe_code)]
// Tests may index and add: a panic there is a failed test.
#![cfg_attr(not(test), warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::arithmetic_side_effects))]

#[cfg(target_endian = "big")]
compile_error!("Tenon's wire formats are little-endian; a big-endian target is not supported");

#[cfg(test)]
extern crate std;

#[macro_use]
mod closed_enum;

pub mod area;
pub mod arena;
pub mod arguments;
pub mod buffer;
pub mod callable;
pub mod contents;
pub mod device;
pub mod dispatch;
pub mod entries;
pub mod generation;
pub mod launch;
pub mod mode;
pub mod packet;
pub mod phase;
pub mod record;
pub mod settings;
pub mod status;
pub mod table;
pub mod tensor;
pub mod verdict;
pub mod vocabulary;
pub mod wire;
