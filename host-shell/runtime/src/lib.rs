//! The host runtime: kernel mode on a borrowed device, program mode on an owned one.
//!

pub mod diag;
pub mod platform;
