//! The vendor library against its device process, through its C interface.
//!

mod capture;
mod faults;
mod graphs;
mod memory;
mod process;
mod streams;
mod support;
mod wakes;
