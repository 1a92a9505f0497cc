//! One replay of a graph: the lanes of the graph side by side, without the host.
//!
//! A stream has at most one replay at a time, so each stream carries the state of one and replays of the same graph on several
//! streams share nothing but the graph, which nobody changes. Lanes meet through the graph's own events. A failed task does not
//! stop the others; the first failure is that of the replay, and so of the stream that launched it.

use core::mem::offset_of;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use super::engines::LaneId;
use super::executor::{Progress, Waiting, malformed};
use super::failure::{Failure, Outcome};
use super::mapping::Machine;
use super::stream::Shared;
use super::task::{self, HEADER_BYTES, Malformed, Owner, Task};
use crate::shm::{GraphHeader, GraphLane, MAX_GRAPH_EVENTS, MAX_LANES, TaskHeader, kind};

/// What a lane is at.
#[derive(Clone, Copy, Debug, Default)]
enum Doing {
    /// The next task is to be read.
    #[default]
    Nothing,
    /// An event of the graph has not been recorded yet.
    Event(usize),
    /// Work has been begun.
    Work(Waiting),
    /// All its tasks have ended.
    Over,
}

/// A lane's place in its tasks.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    at: u64,
    end: u64,
    doing: Doing,
}

/// What became of one look at a lane.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Advanced,
    Blocked,
    Over,
}

/// The state of one replay; reused for the next.
#[derive(Debug)]
pub struct Replay {
    /// Offset of the graph in the store.
    graph: u64,
    lanes: Box<[Lane]>,
    lane_count: usize,
    event_count: u32,
    /// A bit per event that was recorded.
    events: Box<[u64]>,
    failure: Option<Failure>,
}

impl Default for Replay {
    fn default() -> Self {
        Self {
            graph: 0,
            lanes: vec![Lane::default(); MAX_LANES].into(),
            lane_count: 0,
            event_count: 0,
            events: vec![0; MAX_GRAPH_EVENTS / 64].into(),
            failure: None,
        }
    }
}

impl Replay {
    /// Starts over with the graph at `graph` in the store.
    ///
    /// # Errors
    /// [`Malformed::Graph`] when its header breaks the rules; nothing of it runs.
    pub fn begin(&mut self, machine: &Machine, graph: u64) -> Result<(), Malformed> {
        let wrong = Malformed::Graph(graph);
        let header = header_at(machine, graph).ok_or(wrong)?;
        let begun = self.read(machine, graph, header);
        if begun.is_err() {
            // The host counted this replay and waits for it.
            leave(header);
        }
        begun.map_err(|()| wrong)
    }

    fn read(&mut self, machine: &Machine, graph: u64, header: *const GraphHeader) -> Result<(), ()> {
        macro_rules! field {
            ($name:ident, $kind:ty, $index:expr) => {{
                let at = header.cast::<u8>().wrapping_add(offset_of!(GraphHeader, $name)).cast::<$kind>().wrapping_add($index);
                // SAFETY: inside the header, which `header_at` found in the store and aligned; plain data that the host has
                // finished before it submitted the replay, and copied out here.
                unsafe { at.read_volatile() }
            }};
        }
        let lane_count = usize::try_from(field!(lane_count, u32, 0)).map_err(drop)?;
        let event_count = field!(event_count, u32, 0);
        if lane_count > MAX_LANES || u64::from(event_count) > MAX_GRAPH_EVENTS as u64 {
            return Err(());
        }
        for (index, lane) in self.lanes.iter_mut().take(lane_count).enumerate() {
            let GraphLane { offset, bytes } = field!(lanes, GraphLane, index);
            let is_there = bytes == 0 || machine.store(offset, bytes).is_some();
            if !is_there || !offset.is_multiple_of(HEADER_BYTES) || !bytes.is_multiple_of(HEADER_BYTES) {
                return Err(());
            }
            *lane = Lane { at: offset, end: offset + bytes, doing: Doing::Nothing };
        }
        (self.graph, self.lane_count, self.event_count, self.failure) = (graph, lane_count, event_count, None);
        let used = usize::try_from(event_count.div_ceil(u64::BITS)).map_err(drop)?;
        self.events[..used].fill(0);
        Ok(())
    }

    /// Lets every lane go on as far as it can. `stream` is the lane of the stream that launched it.
    pub fn step(&mut self, stream: LaneId, shared: &mut Shared) -> Progress {
        loop {
            let count = self.lane_count;
            let first = match u32::try_from(count) {
                Ok(0) | Err(_) => 0,
                Ok(count) => shared.random.below(count) as usize,
            };
            let (mut over, mut has_advanced) = (0, false);
            for index in (first..count).chain(0..first) {
                match self.step_lane(stream, index, shared) {
                    Step::Advanced => has_advanced = true,
                    Step::Blocked => {}
                    Step::Over => over += 1,
                }
            }
            if over == count {
                return Progress::Ended(self.end(&shared.executor.device().machine));
            }
            if !has_advanced {
                return Progress::Waiting(Waiting::Engine);
            }
        }
    }

    fn end(&mut self, machine: &Machine) -> Outcome {
        if let Some(header) = header_at(machine, self.graph) {
            leave(header);
        }
        machine.control().stats.replays.fetch_add(1, Relaxed);
        self.failure.take().map_or(Ok(()), Err)
    }

    fn step_lane(&mut self, stream: LaneId, index: usize, shared: &mut Shared) -> Step {
        let id = LaneId(stream.0 + 1 + u32::try_from(index).expect("below 64"));
        let progress = match self.lanes[index].doing {
            Doing::Over => return Step::Over,
            Doing::Nothing => return self.next(id, index, shared),
            Doing::Event(event) if self.is_recorded(event) => Progress::Ended(Ok(())),
            Doing::Event(_) => return Step::Blocked,
            Doing::Work(waiting) => shared.executor.look(id, waiting),
        };
        self.go_on(index, progress)
    }

    /// Reads the next task of a lane and begins it.
    fn next(&mut self, id: LaneId, index: usize, shared: &mut Shared) -> Step {
        let lane = &mut self.lanes[index];
        let room = lane.end - lane.at;
        if room == 0 {
            lane.doing = Doing::Over;
            return Step::Over;
        }
        let machine = &shared.executor.device().machine;
        let Some(at) = machine.store(lane.at, room) else {
            return self.break_off(id, index, Malformed::Graph(self.graph));
        };
        // SAFETY:
        // 1. the lane lies in the store and both are multiples of 64, so 64 bytes are there, aligned;
        // 2. plain data that nobody changes while the graph is in flight; should somebody, the copy is judged like any other.
        let header = unsafe { at.cast::<TaskHeader>().read_volatile() };
        match task::extent(&header, room) {
            Ok(bytes) => lane.at += bytes,
            Err(why) => return self.break_off(id, index, why),
        }
        if header.kind == kind::PAD {
            return Step::Advanced;
        }
        let owner = Owner::Graph { events: self.event_count };
        let progress = match task::check(machine, owner, &header, at.wrapping_add(size_of::<TaskHeader>())) {
            Ok(Task::Record { event, .. }) => {
                self.events[event / 64] |= 1 << (event % 64);
                Progress::Ended(Ok(()))
            }
            Ok(Task::Wait { event, .. }) => {
                lane.doing = Doing::Event(event);
                return Step::Advanced;
            }
            Ok(Task::Work(work)) => shared.executor.begin(id, work),
            Ok(Task::Graph(_)) => Progress::Ended(Err(malformed(id, Malformed::Kind(header.kind)))),
            Err(why) => Progress::Ended(Err(malformed(id, why))),
        };
        self.go_on(index, progress)
    }

    fn go_on(&mut self, index: usize, progress: Progress) -> Step {
        let lane = &mut self.lanes[index];
        match progress {
            Progress::Ended(outcome) => {
                lane.doing = Doing::Nothing;
                if let Err(failure) = outcome {
                    self.failure.get_or_insert(failure);
                }
                Step::Advanced
            }
            Progress::Waiting(waiting) => {
                lane.doing = Doing::Work(waiting);
                Step::Blocked
            }
        }
    }

    /// Gives a lane up: nobody can tell where its next task begins. Lanes that wait for its events go on as if it had recorded
    /// them, since the replay as a whole has failed and has to end.
    fn break_off(&mut self, id: LaneId, index: usize, why: Malformed) -> Step {
        self.failure.get_or_insert(malformed(id, why));
        self.lanes[index].doing = Doing::Over;
        self.events.fill(u64::MAX);
        Step::Advanced
    }

    fn is_recorded(&self, event: usize) -> bool {
        self.events[event / 64] >> (event % 64) & 1 == 1
    }
}

/// The header of the graph at `offset`, when all of it is in the store and aligned.
fn header_at(machine: &Machine, offset: u64) -> Option<*const GraphHeader> {
    let at = machine.store(offset, size_of::<GraphHeader>() as u64)?;
    offset.is_multiple_of(HEADER_BYTES).then(|| at.cast())
}

/// One replay less is in flight.
fn leave(header: *const GraphHeader) {
    let word = header.cast::<u8>().wrapping_add(offset_of!(GraphHeader, in_flight)).cast_mut();
    // SAFETY: inside a header that `header_at` found in the store and aligned; both sides use it as an atomic alone.
    let in_flight = unsafe { AtomicU32::from_ptr(word.cast()) };
    in_flight.fetch_sub(1, AcqRel);
}
