//! Graphs: captured tasks in the store, where the device replays them alone.
//!

use core::ffi::c_void;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::Mutex;

use super::capture::lane::{Capture, GRAPH_HEADER_BYTES};
use super::capture::rules;
use super::device::{Device, lock};
use super::error::{Result, fail};
use super::handle::{self, Handle, Kind};
use super::session::Session;
use super::stream::refuse;
use crate::shm::{GraphHeader, GraphLane, MAX_LANES, TaskHeader, kind};

/// Graphs that one device can have at once.
const MAX_GRAPHS: usize = 4096;

/// The graphs of one device.
#[derive(Debug)]
pub struct Graphs(Mutex<Vec<Place>>);

#[derive(Clone, Copy, Debug)]
struct Place {
    generation: u32,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    Capturing,
    /// In the store, at this offset.
    Ready(u64),
}

impl Default for Graphs {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl Graphs {
    /// Forgets all of them, with a device whose store is gone.
    pub fn clear(&self) {
        lock(&self.0).iter_mut().for_each(|place| place.state = State::Free);
    }

    /// A place for a graph that is being captured.
    ///
    /// # Errors
    /// 207005 when there are 4,096 graphs.
    pub fn reserve(&self) -> Result<usize> {
        let mut places = lock(&self.0);
        let free = places.iter().position(|place| place.state == State::Free && place.generation < u32::MAX);
        let index = match free {
            Some(index) => index,
            None if places.len() < MAX_GRAPHS => {
                places.push(Place { generation: 0, state: State::Free });
                places.len() - 1
            }
            None => return Err(fail!(NO_RESOURCES, "there are {MAX_GRAPHS} graphs already")),
        };
        places[index].generation += 1;
        places[index].state = State::Capturing;
        Ok(index)
    }

    /// Gives back the place of a capture that came to nothing.
    pub fn release(&self, index: usize) {
        if let Some(place) = lock(&self.0).get_mut(index) {
            place.state = State::Free;
        }
    }

    /// The handle of the graph at `index`.
    pub fn handle(&self, device: u32, index: usize) -> *mut c_void {
        let generation = lock(&self.0).get(index).map_or(0, |place| place.generation);
        Handle::pack(Kind::Graph, device, index, generation)
    }

    fn find(places: &mut [Place], device: u32, handle: *mut c_void) -> Result<&mut Place> {
        let handle = Handle::unpack(Kind::Graph, handle)?;
        if handle.device != device {
            let other = handle.device;
            return Err(fail!(MODEL_CONTEXT, "the graph belongs to device {other}, the current device is {device}"));
        }
        match places.get_mut(handle.index) {
            Some(place) if place.generation == handle.generation && place.state != State::Free => Ok(place),
            Some(_) | None => Err(handle::stale(Kind::Graph, handle)),
        }
    }
}

/// The word that counts the replays of the graph at `offset`.
fn in_flight(session: &Session, offset: u64) -> Option<&AtomicU32> {
    let header = session.store(offset, GRAPH_HEADER_BYTES as u64)?.cast::<GraphHeader>();
    // SAFETY: the header lies in the store, checked by `store`; only the address of a field is taken.
    let word = unsafe { &raw const (*header.as_ptr()).in_flight };
    // SAFETY:
    // 1. `word` is aligned and lies in the store, which is mapped for as long as `session` is borrowed.
    // 2. It is an atomic, which the device process may change under a shared reference.
    Some(unsafe { &*word })
}

impl Device {
    /// Lays a capture out in the store; the handle of the graph.
    ///
    /// # Errors
    /// 207005 when the store has no room.
    pub(super) fn finish_graph(&self, session: &Session, capture: &Capture) -> Result<*mut c_void> {
        let bytes = capture.graph_bytes();
        let offset = lock(&self.memory).allocate_store(bytes)?;
        let Some(start) = session.store(offset, bytes) else {
            return Err(fail!(INTERNAL, "the store gave a range outside itself"));
        };
        let (lanes, event_count, tasks) = capture.lay_out(offset);
        let mut header = GraphHeader {
            lane_count: u32::try_from(lanes.len()).unwrap_or(0),
            event_count,
            in_flight: AtomicU32::new(0),
            reserved: 0,
            lanes: [GraphLane::default(); MAX_LANES],
        };
        for (place, lane) in header.lanes.iter_mut().zip(lanes) {
            *place = lane;
        }
        // SAFETY: `[start, start + bytes)` is in the store and was just given to this graph alone; 64 divides `offset`. The
        // device reads it only after a launch has published it.
        unsafe { start.cast::<GraphHeader>().write(header) };
        // SAFETY: the header is at the beginning of the range, and shorter than it.
        let mut next: NonNull<u8> = unsafe { start.add(GRAPH_HEADER_BYTES) };
        for lane in tasks {
            // SAFETY: `graph_bytes` is the header with all lanes, so the lane fits behind those before it.
            unsafe { ptr::copy_nonoverlapping(lane.as_ptr(), next.as_ptr(), lane.len()) };
            // SAFETY: as above.
            next = unsafe { next.add(lane.len()) };
        }
        if let Some(place) = lock(&self.graphs.0).get_mut(capture.graph) {
            place.state = State::Ready(offset);
        }
        Ok(self.graphs.handle(self.id(), capture.graph))
    }

    /// Enqueues one replay of a graph.
    ///
    /// # Errors
    /// 100000 for a null graph, 107017 for one that does not exist, 107004 for one of another device, 107026 while it is being
    /// captured, 107027 on a captured stream, 507010 for a lost device.
    pub fn launch_graph(&self, graph: *mut c_void, stream: *mut c_void) -> Result {
        let mut stream = self.stream(stream)?;
        refuse(rules::stream(stream.role()), "graph_launch")?;
        stream.make_room(0)?;
        let offset = {
            let mut places = lock(&self.graphs.0);
            match Graphs::find(&mut places, self.id(), graph)?.state {
                State::Ready(offset) => {
                    // Counted before the lock is let go, so that the graph cannot be destroyed in between.
                    if let Some(word) = in_flight(stream.session(), offset) {
                        word.fetch_add(1, Ordering::AcqRel);
                    }
                    offset
                }
                State::Capturing | State::Free => {
                    return Err(fail!(MODEL_CAPTURED, "the graph is still being captured"));
                }
            }
        };
        stream.put(TaskHeader { kind: kind::GRAPH, a: offset, ..TaskHeader::default() }, &[]);
        Ok(())
    }

    /// Destroys a graph.
    ///
    /// # Errors
    /// 107026 while it is being captured, 107037 while a replay has not ended; 107004 and 107017 as for a launch.
    pub fn destroy_graph(&self, graph: *mut c_void) -> Result {
        let session = self.session()?;
        let mut places = lock(&self.graphs.0);
        let place = Graphs::find(&mut places, self.id(), graph)?;
        let (is_capturing, offset) = match place.state {
            State::Ready(offset) => (false, Some(offset)),
            State::Capturing | State::Free => (true, None),
        };
        let replays =
            offset.and_then(|offset| in_flight(&session, offset)).map_or(0, |word| word.load(Ordering::Acquire));
        // A lost device will never end what it began.
        let replays = if replays > 0 && session.is_lost() { 0 } else { replays };
        if let Err(code) = rules::destroy(is_capturing, replays) {
            return Err(super::error::failure(code, format_args!("graph_destroy: {replays} replays have not ended")));
        }
        place.state = State::Free;
        drop(places);
        if let Some(offset) = offset {
            lock(&self.memory).free_store(offset);
        }
        Ok(())
    }
}
