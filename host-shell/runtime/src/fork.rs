//! Telling a forked child from the process that made a context.
//!
//! A child inherits the memory of its parent's contexts but nothing of what they stand for: the threads that were
//! inside, the vendor's connection, the device's idea of who it talks to. So a context remembers the epoch in which it
//! was made, every fork starts another epoch in the child, and a context of an older epoch is refused there. Asking
//! costs one load and no system call.
//!
//! # Not here
//!
//! A child made by a bare `clone` system call, which runs no handlers: whoever does that has no C library either.

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Once;

use crate::diag::{self, Level};

static EPOCH: AtomicU32 = AtomicU32::new(0);

/// How many forks lie between this process and the one that loaded the library.
pub(crate) fn epoch() -> u32 {
    // Relaxed: only the handler writes it, in a process that has a single thread then.
    EPOCH.load(Ordering::Relaxed)
}

/// Has forks noticed from now on.
pub(crate) fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // SAFETY: the handler is a function of this library, which the C library forgets when this library is unloaded;
        // it calls nothing, so it may run in a child of a program with many threads.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(begin_epoch)) };
        if failed != 0 {
            diag::log(Level::Warn, "fork", format_args!("cannot notice forks: pthread_atfork answered {failed}"));
        }
    });
}

unsafe extern "C" fn begin_epoch() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_in_another_epoch_and_its_parent_is_not() {
        watch();
        let before = epoch();
        // SAFETY: the child only loads a number and ends at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let status = i32::from(epoch() == before);
            // SAFETY: no requirements; no destructor runs.
            unsafe { libc::_exit(status) };
        }
        let mut status = -1;
        // SAFETY: `status` is writable.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!((waited, status), (child, 0));
        assert_eq!(epoch(), before);
    }
}
