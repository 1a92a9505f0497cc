//! What the tests that cross boundaries share.
//!

pub mod reference;
