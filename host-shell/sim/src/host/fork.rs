//! What a forked child may not inherit: its parent's devices.
//!
//! A device process serves one user process. After `fork()` the child's copy of every device socket is closed at once, so that
//! a device still dies with its last user, and everything that this library knew is forgotten: devices set before the fork are
//! refused with a sentence that says so, and `set_device` starts the child's own. The old state is leaked rather than dropped,
//! because another thread of the parent may have been changing it at the moment of the fork. So no lock is needed either.

use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::os::fd::RawFd;
use std::sync::Once;

use super::device;
use super::settings::MAX_DEVICES;

/// How many forks lie between this process and the first one that loaded the library.
static EPOCH: AtomicU32 = AtomicU32::new(0);
/// Our end of each running device's socket, or -1.
static SOCKETS: [AtomicI32; MAX_DEVICES] = [const { AtomicI32::new(-1) }; MAX_DEVICES];

/// The current [`EPOCH`]; a value that was kept from before a fork no longer equals it.
#[inline]
pub fn epoch() -> u32 {
    EPOCH.load(Ordering::Relaxed)
}

/// Notes the socket of device `id`, so that a child closes it; -1 forgets it.
pub fn note_socket(id: u32, socket: RawFd) {
    if let Some(slot) = SOCKETS.get(id as usize) {
        slot.store(socket, Ordering::Release);
    }
}

/// Installs the handler, once per process.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY:
        // 1. `in_child` has the type that is asked for and lives as long as this library, which is never unloaded.
        // 2. It does what is allowed between fork and exec: atomics and close(2).
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

unsafe extern "C" fn in_child() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
    for socket in &SOCKETS {
        let fd = socket.swap(-1, Ordering::AcqRel);
        if fd >= 0 {
            // SAFETY: the descriptor is the child's copy of a socket that nobody in the child will use: its owner is forgotten below.
            unsafe { libc::close(fd) };
        }
    }
    device::forget_all();
}
