//! How code in device memory becomes something to call.
//!
//! Both kinds of device have a [`CodeStore`] with `prepare`, which gives the entry points of one tenant of one slot, and `unload`. What
//! differs is all inside.

#[cfg(target_os = "none")]
mod bare;
#[cfg(not(target_os = "none"))]
mod linux;

#[cfg(target_os = "none")]
pub use bare::stop;
#[cfg(target_os = "none")]
pub(crate) use bare::{CodeStore, Loaded};
#[cfg(not(target_os = "none"))]
pub use linux::stop;
#[cfg(not(target_os = "none"))]
pub(crate) use linux::{CodeStore, Loaded};
