//! The vendor library against its device process, through its C interface.
//!

mod memory;
mod streams;
mod support;
mod wakes;
