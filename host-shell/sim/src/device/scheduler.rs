//! The scheduler: one thread that owns all streams and lets each go on when it can.
//!
//! A round looks at every stream that has something to do, in random order, each for a few tasks at most. What a stream waits
//! for is looked at again in every round, so a ring of the bell needs no address: whoever has changed something rings, and the
//! round finds out what. With nothing to do the thread sleeps on the bell, no longer than the next time-out of an AICore branch.

use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use super::bell::ring_host;
use super::engines::Job;
use super::executor::Executor;
use super::random::Random;
use super::stream::{Carried, Shared, Step, Stream};
use super::{Device, LANES_PER_STREAM, allocations, exit};
use crate::shm::MAX_STREAMS;

/// Steps that a stream may do before it is another one's turn.
const STEPS_PER_TURN: usize = 16;

const WORDS: usize = MAX_STREAMS / 64;

/// A set of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StreamSet([u64; WORDS]);

impl StreamSet {
    fn remove(&mut self, stream: usize) {
        self.0[stream / 64] &= !(1 << (stream % 64));
    }

    /// Takes one stream out, each with equal chance.
    fn take_any(&mut self, random: &mut Random) -> Option<usize> {
        let count: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        let mut place = match count {
            0 => return None,
            1 => 0,
            _ => random.below(count),
        };
        for (index, word) in self.0.iter_mut().enumerate() {
            let here = word.count_ones();
            if place >= here {
                place -= here;
                continue;
            }
            let mut rest = *word;
            (0..place).for_each(|_| rest &= rest - 1);
            let bit = rest.trailing_zeros();
            *word &= !(1 << bit);
            return Some(index * 64 + bit as usize);
        }
        None
    }
}

/// The scheduler's state.
pub struct Scheduler {
    device: &'static Device,
    streams: Box<[Stream]>,
    /// Streams that are at something or may have tasks in their ring.
    busy: StreamSet,
    shared: Shared,
}

impl Scheduler {
    /// Nothing to do yet.
    #[must_use]
    pub fn new(device: &'static Device) -> Self {
        Self {
            device,
            streams: (0..MAX_STREAMS).map(Stream::new).collect(),
            busy: StreamSet::default(),
            shared: Shared {
                executor: Executor::new(device, MAX_STREAMS * LANES_PER_STREAM),
                carried: Carried::default(),
                random: Random::split(device.seed, &[u64::from_le_bytes(*b"streams ")]),
            },
        }
    }

    /// Goes on until the host asks the device to end.
    pub fn run(mut self) -> ! {
        let bell = self.device.bell();
        loop {
            let rung = bell.rung();
            if self.device.machine.is_stopping() {
                exit();
            }
            self.change_binaries();
            let has_advanced = self.round();
            if has_advanced {
                self.device.control().stats.device_allocations.store(allocations::count(), Relaxed);
                ring_host(self.device.control());
            } else {
                bell.wait(rung, self.shared.executor.quiet_for());
            }
        }
    }

    /// Lets each stream that has something to do have its turn. Whether any of them got on.
    fn round(&mut self) -> bool {
        self.shared.executor.collect();
        self.shared.executor.forget_deadline();
        for (busy, active) in self.busy.0.iter_mut().zip(&self.device.control().active) {
            // Looking first spares the line a write when there is no news.
            if active.load(Relaxed) != 0 {
                *busy |= active.swap(0, AcqRel);
            }
        }
        let mut has_advanced = false;
        let mut turn = self.busy;
        while let Some(stream) = turn.take_any(&mut self.shared.random) {
            has_advanced |= self.take_turn(stream);
        }
        has_advanced
    }

    fn take_turn(&mut self, stream: usize) -> bool {
        let mut has_advanced = false;
        for _ in 0..STEPS_PER_TURN {
            match self.streams[stream].step(&mut self.shared) {
                Step::Advanced => has_advanced = true,
                Step::Blocked => break,
                Step::Idle => {
                    self.busy.remove(stream);
                    break;
                }
            }
        }
        has_advanced
    }

    /// Asks the AICPU threads to load and let go what the host wants loaded and let go.
    fn change_binaries(&self) {
        while let Some(binary) = self.device.binaries.next_change(self.device) {
            if self.device.engines.jobs.send(Job::ChangeBinary(binary)).is_err() {
                self.device.binaries.put_off(binary);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_gives_each_of_its_streams_once() {
        let mut random = Random::new(3);
        let mut set = StreamSet([1 | 1 << 63, 0, 0b1010, 1 << 63]);
        let mut taken: Vec<usize> = core::iter::from_fn(|| set.take_any(&mut random)).collect();
        taken.sort_unstable();
        assert_eq!(taken, [0, 63, 129, 131, 255]);
        assert_eq!(set, StreamSet::default());
    }

    #[test]
    fn the_same_seed_takes_the_same_order() {
        let order = |seed| {
            let (mut random, mut set) = (Random::new(seed), StreamSet([u64::MAX; WORDS]));
            core::iter::from_fn(|| set.take_any(&mut random)).collect::<Vec<_>>()
        };
        assert_eq!(order(9), order(9));
        assert_ne!(order(9), order(10));
    }
}
