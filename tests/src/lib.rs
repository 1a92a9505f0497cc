//! What the tests that cross boundaries share.
//!

#[cfg(feature = "reference")]
pub mod buffer;
pub mod libraries;
#[cfg(feature = "reference")]
pub mod packet;
pub mod reference;
