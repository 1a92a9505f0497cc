//! A bounded queue between threads of the device, without allocation.
//!

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use heapless::Deque;

/// Locks `mutex`. A thread that panics ends the process, so what a poisoned lock protects is never seen.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Inner<T, const N: usize> {
    queue: Deque<T, N>,
    /// Threads inside `receive` that found nothing.
    idle: usize,
}

/// First in, first out, for any number of senders and receivers.
pub struct Channel<T, const N: usize> {
    inner: Mutex<Inner<T, N>>,
    arrived: Condvar,
}

impl<T, const N: usize> Default for Channel<T, N> {
    fn default() -> Self {
        Self { inner: Mutex::new(Inner { queue: Deque::new(), idle: 0 }), arrived: Condvar::new() }
    }
}

impl<T, const N: usize> Channel<T, N> {
    /// Puts `item` at the end and wakes a receiver that sleeps; a full queue gives it back.
    ///
    /// # Errors
    /// The item, when there is no room.
    pub fn send(&self, item: T) -> Result<(), T> {
        let mut inner = lock(&self.inner);
        inner.queue.push_back(item)?;
        let has_sleeper = inner.idle > 0;
        drop(inner);
        // A notification is a system call whether somebody waits or not.
        if has_sleeper {
            self.arrived.notify_one();
        }
        Ok(())
    }

    /// Takes the first item, if there is one.
    pub fn try_receive(&self) -> Option<T> {
        lock(&self.inner).queue.pop_front()
    }

    /// Takes the first item; sleeps until there is one.
    pub fn receive(&self) -> T {
        let mut inner = lock(&self.inner);
        loop {
            if let Some(item) = inner.queue.pop_front() {
                return item;
            }
            inner.idle += 1;
            inner = self.arrived.wait(inner).unwrap_or_else(PoisonError::into_inner);
            inner.idle -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_gives_the_item_back() {
        let channel = Channel::<u32, 2>::default();
        assert_eq!(channel.send(1), Ok(()));
        assert_eq!(channel.send(2), Ok(()));
        assert_eq!(channel.send(3), Err(3));
        assert_eq!((channel.try_receive(), channel.try_receive(), channel.try_receive()), (Some(1), Some(2), None));
    }

    #[test]
    fn a_sleeping_receiver_gets_everything_in_order() {
        let channel = Channel::<u32, 4>::default();
        std::thread::scope(|scope| {
            let receiver = scope.spawn(|| (0..1000).map(|_| channel.receive()).collect::<Vec<_>>());
            for mut item in 0..1000 {
                while let Err(back) = channel.send(item) {
                    item = back;
                    std::thread::yield_now();
                }
            }
            assert!(receiver.join().expect("no panic").into_iter().eq(0..1000));
        });
    }
}
