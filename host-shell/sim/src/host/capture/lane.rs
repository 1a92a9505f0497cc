//! A capture as it grows: lanes of tasks, and which comes after which.
//!
//! Every stream of a capture is a lane. A lane keeps, for each other lane, how many of that lane's tasks come before whatever it
//! does next; an event carries what its lane knew at the record, and a wait takes it over. When the capture ends, the origin
//! must know of every task of every lane, or a stream has not returned. A record at the end of a lane is not work: that nobody
//! waits for it is no reason to refuse.

use super::rules::{CaptureId, Mode};
use crate::host::error::{Result, fail};
use crate::host::stream::task_bytes;
use crate::shm::{GraphHeader, GraphLane, MAX_GRAPH_EVENTS, MAX_LANES, TaskHeader, kind};

/// The first lane is the stream that the capture began on.
const ORIGIN: usize = 0;
/// Bytes of a graph's header in the store, with what aligns the tasks behind it.
pub const GRAPH_HEADER_BYTES: usize = size_of::<GraphHeader>().next_multiple_of(64);

/// A capture that is going on.
#[derive(Debug)]
pub struct Capture {
    /// Its name.
    pub id: CaptureId,
    /// Place of the stream that it began on.
    pub origin: usize,
    /// Number of the thread that began it.
    pub thread: u64,
    /// Its mode.
    pub mode: Mode,
    /// Place of its graph.
    pub graph: usize,
    /// A record or wait failed.
    pub is_invalid: bool,
    lanes: Vec<Lane>,
    events: Vec<Record>,
}

#[derive(Debug, Default)]
struct Lane {
    tasks: Vec<u8>,
    count: u32,
    /// Tasks up to the last one that is not a record.
    work: u32,
    /// By lane: tasks that come before what this lane does next.
    knows: Vec<u32>,
}

/// An event record of the capture: what its lane knew, itself included.
#[derive(Debug)]
struct Record {
    knows: Vec<u32>,
}

impl Capture {
    /// A capture that begins on the stream at `origin`.
    #[must_use]
    pub fn new(id: CaptureId, origin: usize, thread: u64, mode: Mode, graph: usize) -> Self {
        let lanes = vec![Lane::default()];
        Self { id, origin, thread, mode, graph, is_invalid: false, lanes, events: Vec::new() }
    }

    /// Appends a task with its arguments to a lane.
    ///
    /// # Errors
    /// 507903 when the capture is invalid, 207005 when a lane is longer than the store.
    pub fn task(&mut self, lane: usize, header: TaskHeader, args: &[u8]) -> Result {
        if self.is_invalid {
            return Err(fail!(CAPTURE_INVALIDATED, "the capture is invalid; end it"));
        }
        let is_work = header.kind != kind::RECORD;
        let lane = &mut self.lanes[lane];
        let bytes = task_bytes(args.len());
        let Ok(bytes) = u32::try_from(bytes) else {
            return Err(fail!(NO_RESOURCES, "a task of {bytes} bytes is too long for a graph"));
        };
        let end = lane.tasks.len() + bytes as usize;
        lane.tasks.extend_from_slice(&to_bytes(TaskHeader { bytes, sequence: 0, ..header }));
        lane.tasks.extend_from_slice(args);
        lane.tasks.resize(end, 0);
        lane.count += 1;
        if is_work {
            lane.work = lane.count;
        }
        Ok(())
    }

    /// Appends an event record to a lane: the event's number in the graph.
    ///
    /// # Errors
    /// As [`task`](Self::task); 207007 for one event too many.
    pub fn record(&mut self, lane: usize) -> Result<u32> {
        let number = match u32::try_from(self.events.len()) {
            Ok(number) if self.events.len() < MAX_GRAPH_EVENTS => number,
            Ok(_) | Err(_) => return Err(fail!(NO_EVENTS, "a graph has at most {MAX_GRAPH_EVENTS} events")),
        };
        self.task(lane, TaskHeader { kind: kind::RECORD, a: number.into(), b: 1, ..TaskHeader::default() }, &[])?;
        let mut knows = self.lanes[lane].knows.clone();
        learn(&mut knows, lane, self.lanes[lane].count);
        self.events.push(Record { knows });
        Ok(number)
    }

    /// Appends a wait for an event of this capture to a lane.
    ///
    /// # Errors
    /// As [`task`](Self::task).
    pub fn wait(&mut self, lane: usize, event: u32) -> Result {
        self.task(lane, TaskHeader { kind: kind::WAIT, a: event.into(), b: 1, ..TaskHeader::default() }, &[])?;
        let Some(record) = self.events.get(event as usize) else {
            return Err(fail!(INTERNAL, "event {event} is not one of the capture"));
        };
        for (other, count) in record.knows.iter().enumerate() {
            learn(&mut self.lanes[lane].knows, other, *count);
        }
        Ok(())
    }

    /// Makes a stream a lane; which one.
    ///
    /// # Errors
    /// 507903 when the capture is invalid, 207008 for one lane too many.
    pub fn join(&mut self) -> Result<usize> {
        if self.is_invalid {
            return Err(fail!(CAPTURE_INVALIDATED, "the capture is invalid; no stream can join it"));
        }
        if self.lanes.len() == MAX_LANES {
            return Err(fail!(NO_STREAMS, "a capture has at most {MAX_LANES} streams"));
        }
        self.lanes.push(Lane::default());
        Ok(self.lanes.len() - 1)
    }

    /// True when the origin comes after all work of all lanes.
    #[must_use]
    pub fn is_joined(&self) -> bool {
        let knows = &self.lanes[ORIGIN].knows;
        self.lanes.iter().enumerate().skip(1).all(|(lane, l)| knows.get(lane).copied().unwrap_or(0) >= l.work)
    }

    /// Bytes of the graph in the store.
    #[must_use]
    pub fn graph_bytes(&self) -> u64 {
        let tasks: usize = self.lanes.iter().map(|lane| lane.tasks.len()).sum();
        (GRAPH_HEADER_BYTES + tasks) as u64
    }

    /// The graph as it will lie at `offset` of the store: its header's lanes, its number of events, and the bytes of its tasks
    /// lane by lane, which begin [`GRAPH_HEADER_BYTES`] behind `offset`.
    pub fn lay_out(&self, offset: u64) -> (Vec<GraphLane>, u32, impl Iterator<Item = &[u8]>) {
        let mut next = offset + GRAPH_HEADER_BYTES as u64;
        let lanes = self.lanes.iter().map(|lane| {
            let place = GraphLane { offset: next, bytes: lane.tasks.len() as u64 };
            next += place.bytes;
            place
        });
        let lanes = lanes.collect();
        let events = u32::try_from(self.events.len()).unwrap_or(u32::MAX);
        (lanes, events, self.lanes.iter().map(|lane| lane.tasks.as_slice()))
    }
}

fn learn(knows: &mut Vec<u32>, lane: usize, count: u32) {
    if knows.len() <= lane {
        knows.resize(lane + 1, 0);
    }
    knows[lane] = knows[lane].max(count);
}

fn to_bytes(header: TaskHeader) -> [u8; 64] {
    // SAFETY: both are 64 bytes of plain data: the fields of `TaskHeader` fill it without padding (6 × 8 + 4 + 5 × 4 - 8 + … =
    // 4 + 4 + 5 × 8 - 8 + 8 + 4 + 20 = 64 with `bytes`), and any bytes are a valid array.
    unsafe { core::mem::transmute(header) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::error::Code;

    fn capture() -> Capture {
        Capture::new(1, 7, 1, Mode::Global, 0)
    }

    fn work() -> TaskHeader {
        TaskHeader { kind: kind::AICORE, ..TaskHeader::default() }
    }

    /// Origin forks to a new lane, which does some work.
    fn forked(capture: &mut Capture) -> usize {
        let start = capture.record(ORIGIN).unwrap();
        let lane = capture.join().unwrap();
        capture.wait(lane, start).unwrap();
        capture.task(lane, work(), &[]).unwrap();
        lane
    }

    #[test]
    fn a_lane_that_never_returned_is_not_joined() {
        let mut capture = capture();
        assert!(capture.is_joined());
        forked(&mut capture);
        assert!(!capture.is_joined());
    }

    #[test]
    fn a_lane_whose_last_work_the_origin_waited_for_is_joined() {
        let mut capture = capture();
        let lane = forked(&mut capture);
        let done = capture.record(lane).unwrap();
        assert!(!capture.is_joined());
        capture.wait(ORIGIN, done).unwrap();
        assert!(capture.is_joined());
    }

    #[test]
    fn work_after_the_return_is_not_joined_but_a_record_is_no_work() {
        let mut capture = capture();
        let lane = forked(&mut capture);
        let done = capture.record(lane).unwrap();
        capture.wait(ORIGIN, done).unwrap();
        capture.record(lane).unwrap();
        assert!(capture.is_joined());
        capture.task(lane, work(), &[]).unwrap();
        assert!(!capture.is_joined());
    }

    #[test]
    fn a_lane_may_return_through_another() {
        let mut capture = capture();
        let (first, second) = (forked(&mut capture), forked(&mut capture));
        let done = capture.record(first).unwrap();
        capture.wait(second, done).unwrap();
        let done = capture.record(second).unwrap();
        capture.wait(ORIGIN, done).unwrap();
        assert!(capture.is_joined());
    }

    #[test]
    fn a_lane_that_joined_and_did_nothing_must_return_too() {
        let mut capture = capture();
        let start = capture.record(ORIGIN).unwrap();
        let lane = capture.join().unwrap();
        capture.wait(lane, start).unwrap();
        assert!(!capture.is_joined());
    }

    #[test]
    fn nothing_enters_an_invalid_capture() {
        let mut capture = capture();
        capture.is_invalid = true;
        assert_eq!(capture.task(ORIGIN, work(), &[]), Err(Code::CAPTURE_INVALIDATED));
        assert_eq!(capture.record(ORIGIN), Err(Code::CAPTURE_INVALIDATED));
        assert_eq!(capture.join(), Err(Code::CAPTURE_INVALIDATED));
        assert_eq!(capture.graph_bytes(), GRAPH_HEADER_BYTES as u64);
    }

    #[test]
    fn lanes_and_events_have_limits() {
        let mut capture = capture();
        for lane in 1..MAX_LANES {
            assert_eq!(capture.join(), Ok(lane));
        }
        assert_eq!(capture.join(), Err(Code::NO_STREAMS));
        for event in 0..MAX_GRAPH_EVENTS {
            assert_eq!(capture.record(ORIGIN).map(|number| number as usize), Ok(event));
        }
        assert_eq!(capture.record(ORIGIN), Err(Code::NO_EVENTS));
    }

    #[test]
    fn the_layout_puts_lanes_behind_the_header_one_after_another() {
        let mut capture = capture();
        capture.task(ORIGIN, TaskHeader { kind: kind::AICPU, c: 65, ..TaskHeader::default() }, &[0xa5; 65]).unwrap();
        let lane = forked(&mut capture);
        let (lanes, events, tasks) = capture.lay_out(4096);
        let tasks: Vec<&[u8]> = tasks.collect();
        assert_eq!((lanes.len(), events, lane), (2, 1, 1));
        assert_eq!((lanes[0].offset, lanes[0].bytes), (4096 + GRAPH_HEADER_BYTES as u64, 64 + 128 + 64));
        assert_eq!((lanes[1].offset, lanes[1].bytes), (lanes[0].offset + lanes[0].bytes, 128));
        assert_eq!(tasks[0][..8], [3, 0, 0, 0, 192, 0, 0, 0], "kind and bytes come first");
        assert_eq!(tasks[0][64..129], [0xa5; 65]);
        assert_eq!(tasks[0][129..192], [0; 63], "arguments are padded with zero");
        assert_eq!(capture.graph_bytes(), GRAPH_HEADER_BYTES as u64 + 256 + 128);
    }
}
