//! Exclusion that is never waited for.
//!
//! The entries of one context exclude each other by a flag that is held across vendor calls. A lock would make a second thread wait
//! for the vendor, perhaps for ever; here it is told to go away, and the thread inside is not disturbed.

use core::sync::atomic::Ordering;

use crate::primitive::{AtomicBool, UnsafeCell};

/// A value that one thread at a time may change.
#[derive(Debug)]
pub struct Exclusive<T> {
    is_entered: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY:
// 1. A shared `Exclusive` gives out the value only in `enter`, to the one thread that has turned the flag from false to true; so
//    `&T` is never shared and `T: Sync` is not needed.
// 2. The value can be changed, and replaced, by any thread that enters, so it moves between threads: `T: Send`.
unsafe impl<T: Send> Sync for Exclusive<T> {}

impl<T> Exclusive<T> {
    /// A value that nobody is inside of.
    pub fn new(value: T) -> Self {
        Self { is_entered: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Runs `act` on the value, unless somebody is inside; then answers `None` at once.
    ///
    /// A panic in `act` leaves the flag set: what it was doing is half done, and nobody may find it so. The value is never entered
    /// again.
    pub fn enter<R>(&self, act: impl FnOnce(&mut T) -> R) -> Option<R> {
        // Acquire pairs with the release below: who enters sees all that the last one did. A failed attempt reads nothing.
        self.is_entered.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let result = self.value.with_mut(|value| {
            // SAFETY:
            // 1. `value` is the cell's own, so it is valid and aligned.
            // 2. The flag went from false to true just now and nobody else sets it to false, so this is the only reference until
            //    the store below; it does not outlive this closure.
            let value = unsafe { &mut *value };
            act(value)
        });
        self.is_entered.store(false, Ordering::Release);
        Some(result)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Barrier;

    #[test]
    fn a_second_entry_is_refused_and_the_first_is_unharmed() {
        let exclusive = Exclusive::new(1);
        let inner = exclusive.enter(|value| {
            *value += 1;
            assert_eq!(exclusive.enter(|value| *value = 99), None);
            *value
        });
        assert_eq!(inner, Some(2));
        assert_eq!(exclusive.enter(|value| *value), Some(2));
    }

    #[test]
    fn a_value_whose_change_panicked_is_never_entered_again() {
        let exclusive = Exclusive::new(0);
        let panicked = catch_unwind(AssertUnwindSafe(|| exclusive.enter(|_| panic!("half done"))));
        assert!(panicked.is_err());
        assert_eq!(exclusive.enter(|value| *value), None);
    }

    #[test]
    fn threads_that_get_in_never_lose_each_others_changes() {
        let exclusive = Exclusive::new(0_u64);
        let start = Barrier::new(4);
        let entered: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        start.wait();
                        (0..20_000).filter_map(|_| exclusive.enter(|value| *value += 1)).count() as u64
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert!(entered > 0);
        assert_eq!(exclusive.enter(|value| *value), Some(entered));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    #[test]
    fn nobody_is_inside_with_somebody_else() {
        loom::model(|| {
            let exclusive = Arc::new(Exclusive::new(0_u32));
            let racers: Vec<_> = (0..2)
                .map(|_| {
                    let exclusive = Arc::clone(&exclusive);
                    // Loom's cell panics when two threads are inside, or when one enters without seeing what the last one did.
                    thread::spawn(move || exclusive.enter(|value| *value += 1).is_some())
                })
                .collect();
            let own = exclusive.enter(|value| *value += 1).is_some();
            let entered =
                racers.into_iter().filter(|_| true).map(|racer| racer.join().unwrap()).filter(|in_| *in_).count();
            let expected = u32::try_from(entered).unwrap() + u32::from(own);
            assert!(expected >= 1, "somebody gets in");
            assert_eq!(exclusive.enter(|value| *value), Some(expected));
        });
    }
}
