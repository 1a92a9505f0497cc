//! The vendor library against its device process, through the functions of its C interface.
//!

mod memory;
mod streams;
mod support;
mod wakes;
