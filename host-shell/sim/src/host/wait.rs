//! Waiting for the device, and waking it.
//!
//! Both sides sleep on futexes in the control file. Whoever changes something first publishes it, then looks whether the other
//! sleeps; whoever goes to sleep first says so, then looks again for work. All four steps are sequentially consistent, so at
//! least one of the two sees the other: a wake-up is never lost, and a busy device costs no system call.

use core::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::error::{Result, fail};
use super::session::Session;
use crate::shm::Control;

/// Longest sleep before looking whether the device process is still there.
pub const SLICE: Duration = Duration::from_millis(20);
/// Looks before the first sleep: about the time that a sleep and a wake would take.
const SPINS: u32 = 200;

/// When to stop waiting.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

impl Deadline {
    /// Never.
    pub const NEVER: Self = Self(None);

    /// `ms` milliseconds from now; never, when that is beyond the clock.
    pub fn after_ms(ms: u64) -> Self {
        Self(Instant::now().checked_add(Duration::from_millis(ms)))
    }

    /// True from then on.
    pub fn has_passed(self) -> bool {
        self.0.is_some_and(|at| Instant::now() >= at)
    }

    fn left(self) -> Duration {
        self.0.map_or(SLICE, |at| at.saturating_duration_since(Instant::now()).min(SLICE))
    }
}

/// Tells the device that there is work, after it was published. A system call only when the device sleeps.
#[inline]
pub fn ring(control: &Control) {
    control.device_bell.fetch_add(1, Ordering::SeqCst);
    if control.device_sleeps.load(Ordering::SeqCst) == 1 {
        wake(control);
    }
}

#[cold]
fn wake(control: &Control) {
    // Of several that find it asleep one makes the system call.
    if control.device_sleeps.swap(0, Ordering::SeqCst) == 1 {
        control.stats.host_wakes.fetch_add(1, Ordering::Relaxed);
        futex_wake(&control.device_bell);
    }
}

/// Waits until `is_done` says so.
///
/// # Errors
/// 507046 at the deadline, 507010 when the device process is gone and never got that far.
pub fn until(session: &Session, deadline: Deadline, what: &str, is_done: impl Fn() -> bool) -> Result {
    for _ in 0..SPINS {
        if is_done() {
            return Ok(());
        }
        core::hint::spin_loop();
    }
    let control = session.control();
    loop {
        let seen = control.host_bell.load(Ordering::SeqCst);
        if is_done() {
            return Ok(());
        }
        if session.is_lost() {
            // It may have finished this just before it went.
            return if is_done() { Ok(()) } else { Err(session.lost_code()) };
        }
        if deadline.has_passed() {
            return Err(fail!(SYNC_TIMEOUT, "{what} had not ended at the deadline"));
        }
        sleep(control, seen, deadline.left());
    }
}

/// Sleeps until the device rings, at most `time`; not at all when the bell no longer shows `seen`.
pub fn sleep(control: &Control, seen: u32, time: Duration) {
    control.host_waiters.fetch_add(1, Ordering::SeqCst);
    futex_wait(&control.host_bell, seen, time);
    control.host_waiters.fetch_sub(1, Ordering::SeqCst);
}

fn futex_wait(word: &AtomicU32, seen: u32, time: Duration) {
    let nanoseconds = i32::try_from(time.subsec_nanos()).unwrap_or(0);
    let seconds = libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX);
    let time = libc::timespec { tv_sec: seconds, tv_nsec: nanoseconds.into() };
    // SAFETY:
    // 1. `word` is an aligned 32-bit word for as long as its reference lives.
    // 2. `time` is a valid relative time; its pointer is used during the call only.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, seen, &raw const time) };
    // Every reason to return (woken, changed, time, signal) is answered the same way: the caller looks again.
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: `word` is an aligned 32-bit word; waking reads nothing.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
