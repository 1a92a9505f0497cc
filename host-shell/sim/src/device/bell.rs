//! Bells: how threads of two processes sleep and wake each other.
//!
//! A bell is a counter with a futex on it. Who has work for a sleeper publishes the work, then adds to the counter; who wants to
//! sleep reads the counter, looks for work once more, and sleeps only while the counter is still what it read. So no ring is ever
//! missed. Beside the counter stands a word that says whether a wake is needed at all, so that ringing a busy thread is two
//! instructions and no system call.
//!
//! The futexes are never the private kind: the other side is another process.

use core::hint::spin_loop;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use crate::shm::Control;

/// How often a thread looks before it sleeps: some tens of microseconds, more than a host takes from one task of a launch to the
/// next, so that one launch costs at most one wake.
const LOOKS: u32 = 64;
/// Every so many looks the processor is offered to others: host and device may have only two between them.
const LOOKS_PER_YIELD: u32 = 8;
/// Pauses from one look to the next.
const PAUSES_PER_LOOK: u32 = 16;

/// The bell of the scheduler: rung by hosts and by the other threads of the device, waited for by one thread.
#[derive(Clone, Copy)]
pub struct DeviceBell<'a> {
    count: &'a AtomicU32,
    sleeps: &'a AtomicU32,
}

impl<'a> DeviceBell<'a> {
    /// The bell in the control file.
    #[must_use]
    pub const fn of(control: &'a Control) -> Self {
        Self { count: &control.device_bell, sleeps: &control.device_sleeps }
    }

    /// Says that there is work. What was written before is seen by whoever comes out of [`wait`](Self::wait) for it.
    pub fn ring(self) {
        self.count.fetch_add(1, SeqCst);
        if self.sleeps.load(SeqCst) == 1 && self.sleeps.swap(0, SeqCst) == 1 {
            wake(self.count, 1);
        }
    }

    /// How often it has been rung. To be read before looking for work.
    #[must_use]
    pub fn rung(self) -> u32 {
        self.count.load(SeqCst)
    }

    /// Waits until it has been rung since it was at `seen`, at most for `limit`. It may also come back for no reason.
    pub fn wait(self, seen: u32, limit: Option<Duration>) {
        for look in 1..=LOOKS {
            if self.rung() != seen {
                return;
            }
            if look % LOOKS_PER_YIELD == 0 {
                thread::yield_now();
            } else {
                (0..PAUSES_PER_LOOK).for_each(|_| spin_loop());
            }
        }
        self.sleeps.store(1, SeqCst);
        if self.rung() == seen {
            sleep(self.count, seen, limit);
        }
        self.sleeps.store(0, SeqCst);
    }
}

/// Says to the host threads that something has ended.
pub fn ring_host(control: &Control) {
    control.host_bell.fetch_add(1, SeqCst);
    if control.host_waiters.load(SeqCst) != 0 {
        wake(&control.host_bell, i32::MAX);
    }
}

/// Sleeps while `word` is `value`.
fn sleep(word: &AtomicU32, value: u32, limit: Option<Duration>) {
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    });
    let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    // The result is of no use: woken, timed out, interrupted or changed before, the caller looks again.
    // SAFETY: futex(2), FUTEX_WAIT:
    // 1. the word is an aligned `u32` that lives as long as the borrow;
    // 2. the time-out is null or a valid `timespec` that lives until the end of this function.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, limit) };
}

/// Wakes at most `count` threads that sleep on `word`.
fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: futex(2), FUTEX_WAKE: the word is an aligned `u32`; only its address is used.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count) };
}
