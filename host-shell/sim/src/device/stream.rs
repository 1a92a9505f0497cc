//! One stream: takes tasks from its ring in order, one after the other.
//!
//! A failure goes two ways, each once. The stream's own word keeps the first one until the host takes it at a synchronise. And
//! the next event that is recorded carries it to the streams that wait for that event, where it counts as theirs: so what a
//! hidden stream refused arrives at the stream that its user knows. What the host has taken is not carried any further.

use core::mem;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use super::engines::LaneId;
use super::executor::{Executor, Progress, Waiting, malformed};
use super::failure::{Failure, Outcome};
use super::replay::Replay;
use super::task::{self, HEADER_BYTES, Malformed, Owner, Task, Work};
use super::{LANES_PER_STREAM, random::Random};
use crate::shm::{MAX_EVENTS, RING_BYTES, StreamControl, TaskHeader, kind};

/// What a lane is at.
#[derive(Clone, Copy, Debug)]
enum Doing {
    /// The next task is to be read.
    Nothing,
    /// An event has not reached a ticket yet.
    Event(usize, u64),
    /// Work has been begun.
    Work(Waiting),
    /// The stream's replay is running.
    Replay,
}

/// What became of one look at a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something has happened; more may.
    Advanced,
    /// It waits for something that will ring the bell.
    Blocked,
    /// Its ring is empty.
    Idle,
}

/// What streams share, lent to one of them at a time.
pub struct Shared {
    /// Work in progress.
    pub executor: Executor,
    /// Failures that events carry.
    pub carried: Carried,
    /// Of the scheduler.
    pub random: Random,
}

/// The last failure that each event was recorded with, and its ticket: a later record must not hide it from whoever waits for
/// the earlier one.
pub struct Carried(Box<[Option<(u64, Failure)>]>);

impl Default for Carried {
    fn default() -> Self {
        Self(vec![None; MAX_EVENTS].into())
    }
}

impl Carried {
    fn record(&mut self, event: usize, ticket: u64, failure: Option<Failure>) {
        let entry = &mut self.0[event];
        match (failure, *entry) {
            (Some(failure), _) => *entry = Some((ticket, failure)),
            // The event's number has been given to a new event, which counts from 1 again.
            (None, Some((old, _))) if old >= ticket => *entry = None,
            (None, _) => {}
        }
    }

    fn at(&self, event: usize, ticket: u64) -> Outcome {
        match self.0[event] {
            Some((failed, failure)) if failed == ticket => Err(failure),
            _ => Ok(()),
        }
    }
}

/// The device's side of one stream.
#[derive(Debug)]
pub struct Stream {
    number: usize,
    doing: Doing,
    /// Bytes of the task that is being done.
    bytes: u64,
    /// For the next record.
    carry: Option<Failure>,
    /// A task's length was no length; whatever comes after it is skipped.
    is_broken: bool,
    replay: Replay,
}

impl Stream {
    /// A stream that has done nothing yet.
    #[must_use]
    pub fn new(number: usize) -> Self {
        Self { number, doing: Doing::Nothing, bytes: 0, carry: None, is_broken: false, replay: Replay::default() }
    }

    /// Looks at the stream once: goes on with what it is at, or takes the next task.
    pub fn step(&mut self, shared: &mut Shared) -> Step {
        let control = &shared.executor.device().control().streams[self.number];
        match self.doing {
            Doing::Nothing => self.next(shared, control),
            Doing::Event(event, ticket) => {
                let is_reached = self.has_reached(shared, event, ticket);
                if !is_reached {
                    return Step::Blocked;
                }
                self.end(control, shared.carried.at(event, ticket))
            }
            Doing::Work(waiting) => {
                let progress = shared.executor.look(self.lane(), waiting);
                self.go_on(control, progress)
            }
            Doing::Replay => match self.replay.step(self.lane(), shared) {
                Progress::Ended(outcome) => self.end(control, outcome),
                Progress::Waiting(_) => Step::Blocked,
            },
        }
    }

    fn lane(&self) -> LaneId {
        LaneId(u32::try_from(self.number * LANES_PER_STREAM).expect("some thousands"))
    }

    fn has_reached(&self, shared: &Shared, event: usize, ticket: u64) -> bool {
        shared.executor.device().control().events[event].reached.load(Acquire) >= ticket
    }

    /// Reads the next task and begins it.
    fn next(&mut self, shared: &mut Shared, control: &StreamControl) -> Step {
        let (head, tail) = (control.head.load(Relaxed), control.tail.load(Acquire));
        if head == tail && !self.is_broken {
            return Step::Idle;
        }
        if head == 0 && control.completed.load(Relaxed) == 0 {
            // A new stream: what another one in this place left behind is not its business.
            (self.carry, self.is_broken) = (None, false);
        }
        if self.is_broken {
            return self.skip_all(control, tail);
        }
        let room = tail.wrapping_sub(head).min(RING_BYTES - head % RING_BYTES);
        let machine = &shared.executor.device().machine;
        let at = machine.ring(self.number, head);
        if room < HEADER_BYTES || !head.is_multiple_of(HEADER_BYTES) {
            return self.break_off(control, Malformed::Length(0, room));
        }
        // SAFETY:
        // 1. 64 bytes at `at` are mapped for good: `head` is a multiple of 64 and so is the ring;
        // 2. aligned, as both are multiples of 64;
        // 3. plain data: any bytes are a `TaskHeader`. The host has finished it: `tail` was read with acquire order. Were it to
        //    write all the same, the copy would be a mixture, which is judged like any other.
        let header = unsafe { at.cast::<TaskHeader>().read_volatile() };
        self.bytes = match task::extent(&header, room) {
            Ok(bytes) => bytes,
            Err(why) => return self.break_off(control, why),
        };
        if header.kind == kind::PAD {
            control.head.store(head + self.bytes, Release);
            return Step::Advanced;
        }
        let expected = control.completed.load(Relaxed) + 1;
        if header.sequence != expected {
            let why = Malformed::Sequence(header.sequence, expected);
            return self.end(control, Err(malformed(self.lane(), why)));
        }
        let payload = machine.ring(self.number, head + HEADER_BYTES);
        match task::check(machine, Owner::Stream, &header, payload) {
            Ok(task) => self.begin(shared, control, task),
            Err(why) => self.end(control, Err(malformed(self.lane(), why))),
        }
    }

    fn begin(&mut self, shared: &mut Shared, control: &StreamControl, task: Task) -> Step {
        match task {
            Task::Record { event, ticket } => {
                self.record(shared, control, event, ticket);
                self.end(control, Ok(()))
            }
            Task::Wait { event, ticket } => {
                self.doing = Doing::Event(event, ticket);
                Step::Advanced
            }
            Task::Work(work) => {
                let progress = self.begin_work(shared, work);
                self.go_on(control, progress)
            }
            Task::Graph(offset) => match self.replay.begin(&shared.executor.device().machine, offset) {
                Ok(()) => {
                    self.doing = Doing::Replay;
                    Step::Advanced
                }
                Err(why) => self.end(control, Err(malformed(self.lane(), why))),
            },
        }
    }

    fn begin_work(&self, shared: &mut Shared, work: Work) -> Progress {
        shared.executor.begin(self.lane(), work)
    }

    fn go_on(&mut self, control: &StreamControl, progress: Progress) -> Step {
        match progress {
            Progress::Ended(outcome) => self.end(control, outcome),
            Progress::Waiting(waiting) => {
                self.doing = Doing::Work(waiting);
                Step::Blocked
            }
        }
    }

    fn record(&mut self, shared: &mut Shared, control: &StreamControl, event: usize, ticket: u64) {
        // An empty word after a failure means that the host has heard of it.
        let failure = self.carry.take().filter(|_| control.error.load(Acquire) != 0);
        shared.carried.record(event, ticket, failure);
        let word = &shared.executor.device().control().events[event];
        word.answer.store(failure.map_or(0, |failure| failure.answer), Relaxed);
        word.error.store(failure.map_or(0, |failure| failure.code.get()), Release);
        word.reached.fetch_max(ticket, AcqRel);
    }

    /// The task has ended: its bytes are free, and the host may know.
    fn end(&mut self, control: &StreamControl, outcome: Outcome) -> Step {
        if let Err(failure) = outcome {
            self.fail(control, failure);
        }
        self.doing = Doing::Nothing;
        let bytes = mem::take(&mut self.bytes);
        control.head.fetch_add(bytes, Release);
        control.completed.fetch_add(1, Release);
        Step::Advanced
    }

    fn fail(&mut self, control: &StreamControl, failure: Failure) {
        if control.error.load(Acquire) == 0 {
            // The host has heard of everything before, so this is what there is to carry.
            self.carry = None;
            control.answer.store(failure.answer, Relaxed);
            control.error.store(failure.code.get(), Release);
        }
        self.carry.get_or_insert(failure);
    }

    /// Gives the stream up: nobody can tell where its next task begins.
    fn break_off(&mut self, control: &StreamControl, why: Malformed) -> Step {
        let failure = malformed(self.lane(), why);
        self.fail(control, failure);
        self.is_broken = true;
        self.skip_all(control, control.tail.load(Acquire))
    }

    /// Ends everything that was submitted, undone, so that whoever waits for it gets its answer.
    fn skip_all(&mut self, control: &StreamControl, tail: u64) -> Step {
        let submitted = control.submitted.load(Acquire);
        let is_news = control.head.swap(tail, AcqRel) != tail || control.completed.load(Relaxed) != submitted;
        if is_news {
            self.fail(control, Failure::of(super::failure::DRIVER));
            control.completed.store(submitted, Release);
        }
        if is_news { Step::Advanced } else { Step::Idle }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::failure::{AICPU_EXCEPTION, DRIVER};

    #[test]
    fn a_later_record_does_not_hide_a_failure_from_those_who_wait_for_the_earlier_one() {
        let failure = Failure { code: AICPU_EXCEPTION, answer: 3 };
        let mut carried = Carried::default();
        carried.record(7, 1, Some(failure));
        carried.record(7, 2, None);
        assert_eq!(carried.at(7, 1), Err(failure));
        assert_eq!(carried.at(7, 2), Ok(()));
        assert_eq!(carried.at(8, 1), Ok(()));
        carried.record(7, 3, Some(Failure::of(DRIVER)));
        assert_eq!(carried.at(7, 3), Err(Failure::of(DRIVER)));
    }

    #[test]
    fn a_new_event_in_the_same_place_starts_clean() {
        let mut carried = Carried::default();
        carried.record(0, 5, Some(Failure::of(DRIVER)));
        carried.record(0, 1, None);
        assert_eq!(carried.at(0, 5), Ok(()));
        assert_eq!(carried.at(0, 1), Ok(()));
    }
}
