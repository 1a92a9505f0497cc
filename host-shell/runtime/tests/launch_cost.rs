//! What a launch does not do: allocate, wait, ask, or call the system.
//!
#![cfg(not(loom))]

#[path = "support/allocations.rs"]
mod allocations;
#[path = "support/image.rs"]
mod image;
#[path = "support/recorder.rs"]
mod recorder;

use allocations::allocations;
use image::arguments;
use recorder::{KEPT, Recorder, Tape, Word, context, slot, stream};
use std::sync::atomic::Ordering::Relaxed;

/// What one launch says.
const LAUNCH: [Word; 9] = [
    Word::Record,
    Word::Wait,
    Word::LaunchAicore,
    Word::Record,
    Word::Wait,
    Word::LaunchAicpu,
    Word::Record,
    Word::Wait,
    Word::Wait,
];

#[test]
fn ten_thousand_launches_allocate_nothing_and_say_only_launch_words() {
    let recorder = Recorder::new();
    let tape = recorder.tape();
    let context = context(recorder.clone(), recorder);
    let args = arguments();
    let before = tape.written();
    let count = allocations(|| {
        for launch in 1..=10_000 {
            assert_eq!(context.launch(slot(), &args, stream()), Ok(()));
            assert_eq!(tape.written(), before + launch * LAUNCH.len());
            assert!(last_words(&tape).eq(LAUNCH.map(|word| word as u64)));
        }
    });
    assert_eq!(count, 0);
}

/// The words of the last nine calls.
fn last_words(tape: &Tape) -> impl Iterator<Item = u64> {
    let written = tape.written();
    (written - LAUNCH.len()..written).map(|index| tape.entries[index % KEPT][0].load(Relaxed))
}

#[test]
fn the_allocator_counts() {
    assert_eq!(allocations(|| drop(Box::new(arguments()))), 2);
}

#[test]
#[cfg(target_os = "linux")]
fn launches_make_no_system_call() {
    let recorder = Recorder::new();
    let context = context(recorder.clone(), recorder);
    let args = arguments();
    // A first launch here, so that what the loader binds late is bound.
    context.launch(slot(), &args, stream()).unwrap();
    let status = in_strict_child(|| (0..1000).all(|_| context.launch(slot(), &args, stream()).is_ok()));
    assert_eq!(status, Ended::With(0), "a system call would have ended the child with SIGKILL");

    let status = in_strict_child(|| std::thread::available_parallelism().is_ok());
    assert_eq!(status, Ended::ByKill, "and this one makes some");
}

/// How a child ended.
#[derive(Debug, PartialEq, Eq)]
enum Ended {
    With(i32),
    ByKill,
    Otherwise,
}

/// Runs `act` in a child that may only read, write, return from signals and exit: anything else kills it.
#[cfg(target_os = "linux")]
fn in_strict_child(act: impl FnOnce() -> bool) -> Ended {
    // SAFETY: fork(2). The child has one thread, this one; until it exits it runs `act` and makes no call that another thread of the
    // parent could have left a lock for: `act` allocates nothing, and a child that tried would be killed.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: prctl(2) with numbers; it only takes rights away from this process.
        let restricted = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) };
        let code: libc::c_long = if restricted == 0 && act() { 0 } else { 1 };
        loop {
            // SAFETY: exit(2), the one of a single thread, which strict mode allows; it does not return.
            unsafe { libc::syscall(libc::SYS_exit, code) };
        }
    }
    assert!(child > 0, "fork");
    let mut status = 0;
    // SAFETY: waitpid(2) for our own child; `status` is an integer of this frame.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(waited, child);
    if libc::WIFEXITED(status) {
        Ended::With(libc::WEXITSTATUS(status))
    } else if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL {
        Ended::ByKill
    } else {
        Ended::Otherwise
    }
}
