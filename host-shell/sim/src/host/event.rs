//! Events: tickets that the host hands out and the device reaches.
//!
//! An event is a name; what the device knows is a *slot* with the highest ticket reached there. A record takes the slot's next
//! ticket, a wait asks for the ticket of the last record. Tickets of one slot must be reached in order, so an event that is
//! recorded again on another stream, while its last record there is still to come, moves to another slot: who waits for the first
//! record then still waits for the first.
//!
//! A ticket is never handed out twice, not even when a slot changes its event, so a wait that is late finds its ticket reached.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::capture::rules::{self, CaptureId, EventKind, LastRecord, Record, Wait};
use super::device::{Device, lock};
use super::error::{Code, Result, fail};
use super::handle::{self, Handle, Kind};
use super::session::Session;
use super::stream::{StreamGuard, refuse};
use super::ticket::{DEAD, LAST_TICKET, Mark, Slots, is_reached};
use super::wait::{self, Deadline};
use crate::shm::{MAX_EVENTS, TaskHeader, kind};

/// Flag of an event: streams can wait for it, and it can be used in a capture.
pub const SYNC: u32 = 1;
/// Every flag that an event can have; what the others are for does not exist here.
const KNOWN_FLAGS: u32 = 0x1 | 0x2 | 0x8 | 0x10 | 0x20 | 0x40;

/// One place for an event.
#[derive(Debug)]
struct Event {
    /// The use of the place that exists now, or 0.
    generation: AtomicU32,
    /// How often the place has been used.
    uses: AtomicU32,
    flags: AtomicU32,
    mark: AtomicU64,
    /// The last record, when that is part of a capture: the capture, and the event's number in it.
    captured: Mutex<Option<(CaptureId, u32)>>,
    /// `captured` may be set; to look at without the lock.
    has_captured: AtomicBool,
}

/// The events of one device.
#[derive(Debug)]
pub struct Events {
    places: Box<[Event]>,
    slots: Mutex<Slots>,
}

impl Default for Events {
    fn default() -> Self {
        let place = |_| Event {
            generation: AtomicU32::new(0),
            uses: AtomicU32::new(0),
            flags: AtomicU32::new(0),
            mark: AtomicU64::new(DEAD),
            captured: Mutex::new(None),
            has_captured: AtomicBool::new(false),
        };
        Self { places: (0..MAX_EVENTS).map(place).collect(), slots: Mutex::new(Slots::default()) }
    }
}

impl Events {
    /// Destroys all events, for a device that starts or ends.
    pub fn clear(&self) {
        for event in &self.places {
            event.generation.store(0, Ordering::Release);
            event.mark.store(DEAD, Ordering::Release);
            event.set_captured(None);
        }
        *lock(&self.slots) = Slots::default();
    }

    fn find(&self, device: u32, handle: *mut c_void) -> Result<&Event> {
        let handle = Handle::unpack(Kind::Event, handle)?;
        match self.places.get(handle.index) {
            Some(event) if handle.device == device && event.generation.load(Ordering::Acquire) == handle.generation => {
                Ok(event)
            }
            Some(_) | None => Err(handle::stale(Kind::Event, handle)),
        }
    }

    /// Gives `event` the next ticket for a record on `stream`: the slot and the ticket.
    fn next_ticket(&self, event: &Event, session: &Session, stream: usize) -> Result<Mark> {
        let mut bits = event.mark.load(Ordering::Acquire);
        loop {
            let Some(last) = Mark::unpack(bits) else {
                return Err(fail!(INVALID_HANDLE, "another thread has just destroyed the event"));
            };
            let is_new = last.ticket == 0;
            let can_stay = !is_new
                && last.ticket + 1 < LAST_TICKET
                && (last.stream == stream || is_reached(session, last.slot, last.ticket));
            let next = if can_stay {
                Mark { stream, ticket: last.ticket + 1, ..last }
            } else {
                let (slot, ticket) = lock(&self.slots).take(session)?;
                Mark { slot, stream, ticket }
            };
            match event.mark.compare_exchange(bits, next.pack(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    if !can_stay && !is_new {
                        lock(&self.slots).give(last.slot, last.ticket);
                    }
                    return Ok(next);
                }
                Err(found) => {
                    if !can_stay {
                        // Its ticket is lost: it counts as handed out, and nobody will record it.
                        lock(&self.slots).give_unused(next.slot, next.ticket);
                    }
                    bits = found;
                }
            }
        }
    }
}

impl Event {
    fn kind(&self) -> EventKind {
        match self.flags.load(Ordering::Relaxed) {
            0 => EventKind::Ordinary,
            flags if flags & SYNC == 0 => EventKind::WithoutSync,
            _ => EventKind::Sync,
        }
    }

    fn set_captured(&self, captured: Option<(CaptureId, u32)>) {
        if captured.is_none() && !self.has_captured.load(Ordering::Acquire) {
            return;
        }
        let mut place = lock(&self.captured);
        *place = captured;
        self.has_captured.store(captured.is_some(), Ordering::Release);
    }

    /// The capture that the last record is part of, while that goes on. One that has ended left the event as it was before.
    fn captured(&self, device: &Device) -> Option<(CaptureId, u32)> {
        if !self.has_captured.load(Ordering::Acquire) {
            return None;
        }
        let captured = *lock(&self.captured);
        captured.filter(|(capture, _)| device.captures.contains(*capture))
    }

    fn last(&self, device: &Device) -> LastRecord {
        match (self.captured(device), Mark::unpack(self.mark.load(Ordering::Acquire))) {
            (Some((capture, _)), _) => LastRecord::Captured(capture),
            (None, Some(Mark { ticket: 1.., .. })) => LastRecord::Plain,
            (None, _) => LastRecord::None,
        }
    }
}

impl Device {
    /// A new event that was never recorded.
    ///
    /// # Errors
    /// 100000 for a flag that does not exist, 207007 when there are 4,096 events.
    pub fn create_event(&self, flags: u32) -> Result<*mut c_void> {
        if flags & !KNOWN_FLAGS != 0 {
            return Err(fail!(INVALID_PARAM, "event flags {flags:#x} have a bit that means nothing"));
        }
        // The slots' lock also makes sure that a place is given out once.
        let _slots = lock(&self.events.slots);
        for (index, event) in self.events.places.iter().enumerate() {
            if event.generation.load(Ordering::Acquire) != 0 {
                continue;
            }
            let Some(generation) = event.uses.load(Ordering::Relaxed).checked_add(1) else { continue };
            event.uses.store(generation, Ordering::Relaxed);
            event.flags.store(flags, Ordering::Relaxed);
            event.mark.store(Mark::NONE.pack(), Ordering::Release);
            event.generation.store(generation, Ordering::Release);
            return Ok(Handle::pack(Kind::Event, self.id(), index, generation));
        }
        Err(fail!(NO_EVENTS, "device {} has {MAX_EVENTS} events already", self.id()))
    }

    /// Destroys an event. Records and waits that were enqueued are not touched.
    ///
    /// # Errors
    /// 100000 for null, 107017 for an event that does not exist.
    pub fn destroy_event(&self, handle: *mut c_void) -> Result {
        let event = self.events.find(self.id(), handle)?;
        let generation = Handle::unpack(Kind::Event, handle)?.generation;
        let mut slots = lock(&self.events.slots);
        if event.generation.compare_exchange(generation, 0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return Err(fail!(INVALID_HANDLE, "another thread has just destroyed the event"));
        }
        if let Some(Mark { slot, ticket: ticket @ 1.., .. }) = Mark::unpack(event.mark.swap(DEAD, Ordering::AcqRel)) {
            slots.give(slot, ticket);
        }
        drop(slots);
        event.set_captured(None);
        Ok(())
    }

    /// Records an event on a stream: it is reached when everything that is on the stream now has ended.
    ///
    /// # Errors
    /// As [`rules::record`] says; 107017 for handles that do not exist; 207007 without a free slot; 507010 for a lost device.
    pub fn record_event(&self, handle: *mut c_void, stream: *mut c_void) -> Result {
        let event = self.events.find(self.id(), handle)?;
        let mut stream = self.stream(stream)?;
        let role = stream.role();
        match refuse(rules::record(role, event.kind()), "record_event")? {
            Record::Nothing => Ok(()),
            Record::Enqueue => {
                stream.make_room(0)?;
                let Mark { slot, ticket, .. } = self.events.next_ticket(event, stream.session(), stream.index)?;
                event.set_captured(None);
                stream.put(task(kind::RECORD, slot, ticket), &[]);
                Ok(())
            }
            Record::Capture => {
                let (rules::Stream::Captured(capture), Some(lane)) = (role, stream.lane()) else { return Ok(()) };
                let number = self.captures.with(capture, |capture| capture.record(lane))?;
                event.set_captured(Some((capture, number)));
                Ok(())
            }
        }
    }

    /// What is put on the stream from now on waits for the event's last record; a record that comes later does not change that.
    ///
    /// # Errors
    /// As [`rules::wait`] says; 107017 for handles that do not exist; 507010 for a lost device.
    pub fn wait_event(&self, stream: *mut c_void, handle: *mut c_void) -> Result {
        let event = self.events.find(self.id(), handle)?;
        let mut stream = self.stream(stream)?;
        let role = stream.role();
        let captured = event.captured(self);
        match refuse(rules::wait(role, event.kind(), event.last(self)), "stream_wait_event")? {
            Wait::Nothing => Ok(()),
            Wait::Enqueue => {
                let Some(Mark { slot, ticket, .. }) = Mark::unpack(event.mark.load(Ordering::Acquire)) else {
                    return Err(fail!(INVALID_HANDLE, "another thread has just destroyed the event"));
                };
                stream.make_room(0)?;
                stream.put(task(kind::WAIT, slot, ticket), &[]);
                Ok(())
            }
            Wait::Capture => self.capture_wait(&mut stream, captured, false),
            Wait::Join(_) => self.capture_wait(&mut stream, captured, true),
        }
    }

    fn capture_wait(&self, stream: &mut StreamGuard<'_>, captured: Option<(CaptureId, u32)>, joins: bool) -> Result {
        let Some((id, number)) = captured else {
            return Err(fail!(CAPTURE_DEPENDENCY, "another thread has just ended the event's capture"));
        };
        let known = stream.lane();
        let lane = self.captures.with(id, |capture| {
            let lane = if joins { capture.join()? } else { known.unwrap_or(0) };
            capture.wait(lane, number).map(|()| lane)
        })?;
        stream.set_capture(Some((id, lane)));
        Ok(())
    }

    /// Waits until the event's last record is reached; one that was never recorded is. Gives the failure that the record
    /// carries, if any, without taking it from its stream.
    ///
    /// # Errors
    /// 107028 when the last record is captured, 507010 for a lost device, else the failure.
    pub fn synchronize_event(&self, handle: *mut c_void) -> Result {
        let Some((session, Mark { slot, ticket, .. })) = self.recorded(handle, "synchronize_event")? else {
            return Ok(());
        };
        wait::until(&session, Deadline::NEVER, "the event", || is_reached(&session, slot, ticket))?;
        let words = &session.control().events[slot];
        let answer = words.answer.load(Ordering::Acquire);
        match i32::try_from(words.error.load(Ordering::Acquire)).ok().and_then(Code::from_number) {
            None => Ok(()),
            Some(code) => Err(super::error::failure(
                code,
                format_args!("a task before the event failed; dispatch answer {answer}"),
            )),
        }
    }

    /// True when the event's last record is reached, or it was never recorded.
    ///
    /// # Errors
    /// 107028 when the last record is captured, 507010 for a lost device.
    pub fn query_event(&self, handle: *mut c_void) -> Result<bool> {
        let Some((session, Mark { slot, ticket, .. })) = self.recorded(handle, "query_event")? else { return Ok(true) };
        let is_complete = is_reached(&session, slot, ticket);
        if !is_complete && session.is_lost() {
            return Err(session.lost_code());
        }
        Ok(is_complete)
    }

    fn recorded(&self, handle: *mut c_void, call: &str) -> Result<Option<(Arc<Session>, Mark)>> {
        let event = self.events.find(self.id(), handle)?;
        refuse(rules::event(event.last(self)), call)?;
        match Mark::unpack(event.mark.load(Ordering::Acquire)) {
            Some(mark) if mark.ticket != 0 => Ok(Some((self.session()?, mark))),
            Some(_) | None => Ok(None),
        }
    }
}

fn task(kind: u32, slot: usize, ticket: u64) -> TaskHeader {
    TaskHeader { kind, a: slot as u64, b: ticket, ..TaskHeader::default() }
}
