//! The simulated device: a vendor library, and the device process behind it.
//!

pub mod device;
pub mod ffi;
pub mod host;
pub mod shm;
