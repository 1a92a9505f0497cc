//! The host runtime: kernel mode borrows a device, program mode owns one.
//!
//! A context starts [`unlatched`]; its latch permits one of two types to be made, [`kernel`] or [`program`]. Each is given a platform
//! by its vocabulary, so what a mode may not do cannot be written in it. Decisions are those of `tenon-core`; here they are acted
//! on.

// Under loom only its table of contexts is there, for that table's tests.
#[cfg(any(not(loom), test))]
pub mod abi;
pub mod diag;
pub mod error;
pub mod exclusive;
pub mod kernel;
pub mod platform;
pub mod program;
pub mod unlatched;

mod arena;
mod context_generation;
#[cfg(not(loom))]
mod fork;
mod held;
mod packet_buffer;
mod primitive;
mod published;
mod residency;
