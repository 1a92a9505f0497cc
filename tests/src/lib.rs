//! What the tests that cross boundaries share.
//!

pub mod packet;
pub mod reference;
