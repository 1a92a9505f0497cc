//! Atomics and cells of this crate, from one place, with loom underneath in tests.
//!

#[cfg(all(loom, test))]
pub(crate) use loom::sync::atomic::AtomicU64;
#[cfg(loom)]
pub(crate) use loom::{cell::UnsafeCell, sync::atomic::AtomicBool};

#[cfg(not(loom))]
pub(crate) use self::cell::UnsafeCell;
#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicU64};

/// A number of bytes on the device as a size on the host.
#[expect(clippy::cast_possible_truncation, reason = "a host has 64 bits, as asserted below")]
pub(crate) const fn size(bytes: u64) -> usize {
    bytes as usize
}

const _: () = assert!(usize::BITS >= u64::BITS, "a size on the host has to hold an address on the device");

/// The standard cell, with the part of loom's interface that is used here.
#[cfg(not(loom))]
mod cell {
    #[derive(Debug)]
    pub(crate) struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) const fn new(value: T) -> Self {
            Self(core::cell::UnsafeCell::new(value))
        }

        pub(crate) fn with<R>(&self, look: impl FnOnce(*const T) -> R) -> R {
            look(self.0.get())
        }

        pub(crate) fn with_mut<R>(&self, change: impl FnOnce(*mut T) -> R) -> R {
            change(self.0.get())
        }
    }
}
