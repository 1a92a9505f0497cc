//! What the tests that cross boundaries share.
//!

pub mod libraries;
#[cfg(feature = "reference")]
pub mod packet;
pub mod reference;
