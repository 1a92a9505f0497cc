//! Streams: putting tasks into rings, and waiting for them.
//!
//! A ring is written under its stream's lock and read by the device alone. A launch takes the lock, writes 64 bytes and its
//! arguments, moves the tail, sets the stream's bit and rings the bell: no allocation, and no system call while the device is
//! busy.
//!
//! # Order of locks
//!
//! stream, then captures, then one of: an event's captured record, event slots, graphs, memory. Two streams are never locked at
//! once. A thread may wait for room in a ring with its stream's lock held: the device never takes it.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};

use super::capture::rules::{self, CaptureId};
use super::device::{Device, lock};
use super::error::{Code, Result, fail};
use super::handle::{self, Handle, Kind};
use super::session::Session;
use super::wait::{self, Deadline};
use crate::shm::{self, MAX_STREAMS, RING_BYTES, TaskHeader, kind};

/// Bytes of a task's header, and what a task's size is a multiple of.
pub const TASK_ALIGN: u64 = size_of::<TaskHeader>() as u64;

/// The streams of one device; place 0 is the default stream.
#[derive(Debug)]
pub struct Streams(Box<[Mutex<State>]>);

/// One place for a stream.
#[derive(Debug, Default)]
struct State {
    /// Set while the stream exists.
    session: Option<Arc<Session>>,
    /// How often the place has been used.
    generation: u32,
    /// Which lane of which capture it is, if that capture is still active.
    capture: Option<(CaptureId, usize)>,
    /// Bytes ever written to the ring.
    tail: u64,
    /// Bytes that the device had consumed when somebody last looked.
    head: u64,
    /// Tasks ever submitted.
    submitted: u64,
}

/// A stream that exists, locked.
pub struct StreamGuard<'a> {
    /// Its device.
    pub device: &'a Device,
    /// Its place.
    pub index: usize,
    /// Its `session` is set.
    state: MutexGuard<'a, State>,
}

impl Default for Streams {
    fn default() -> Self {
        Self((0..MAX_STREAMS).map(|_| Mutex::new(State::default())).collect())
    }
}

impl Streams {
    /// Opens the default stream of a device that has just started.
    pub fn open(&self, session: &Arc<Session>) {
        for (index, place) in self.0.iter().enumerate() {
            let mut state = lock(place);
            let session = (index == 0).then(|| Arc::clone(session));
            *state = State { generation: state.generation, session, ..State::default() };
        }
    }

    /// Closes every stream; which places still had work, and how far it goes.
    pub fn close(&self) -> Vec<(usize, u64)> {
        let mut open = Vec::new();
        for (index, place) in self.0.iter().enumerate() {
            let mut state = lock(place);
            if state.submitted > 0 {
                open.push((index, state.submitted));
            }
            state.session = None;
            state.capture = None;
        }
        open
    }
}

impl Device {
    /// Locks the stream that `handle` names; null is the default stream.
    ///
    /// # Errors
    /// 107003 for a stream of another device, 107017 for one that does not exist.
    #[inline]
    pub fn stream(&self, handle: *mut c_void) -> Result<StreamGuard<'_>> {
        if handle.is_null() {
            return self.stream_at(0).ok_or_else(|| fail!(NO_DEVICE, "device {} was reset", self.id()));
        }
        let handle = Handle::unpack(Kind::Stream, handle)?;
        if handle.device != self.id() {
            return Err(other_device(handle.device, self.id()));
        }
        match self.stream_at(handle.index) {
            Some(guard) if guard.state.generation == handle.generation && handle.index != 0 => Ok(guard),
            Some(_) | None => Err(handle::stale(Kind::Stream, handle)),
        }
    }

    #[inline]
    fn stream_at(&self, index: usize) -> Option<StreamGuard<'_>> {
        let state = lock(self.streams.0.get(index)?);
        state.session.is_some().then_some(StreamGuard { device: self, index, state })
    }

    /// A new stream.
    ///
    /// # Errors
    /// 207008 when every place is taken, also by destroyed streams whose tasks have not ended.
    pub fn create_stream(&self) -> Result<*mut c_void> {
        let session = self.session()?;
        for (index, place) in self.streams.0.iter().enumerate().skip(1) {
            let mut state = lock(place);
            let words = session.stream(index);
            let is_free = state.session.is_none() && words.completed.load(Ordering::Acquire) == state.submitted;
            // The last generation is not followed by another: that place is retired.
            if is_free && let Some(generation) = state.generation.checked_add(1) {
                words.error.store(0, Ordering::Relaxed);
                words.is_open.store(1, Ordering::Release);
                state.generation = generation;
                state.capture = None;
                state.session = Some(Arc::clone(&session));
                return Ok(Handle::pack(Kind::Stream, self.id(), index, generation));
            }
        }
        Err(fail!(NO_STREAMS, "all {} streams of device {} are in use", MAX_STREAMS - 1, self.id()))
    }

    /// Destroys a stream. Tasks on it still run; its place is used again when they have ended.
    ///
    /// # Errors
    /// 100000 for null, 107027 while it is captured, else as [`stream`](Self::stream).
    pub fn destroy_stream(&self, handle: *mut c_void) -> Result {
        if handle.is_null() {
            return Err(fail!(INVALID_PARAM, "the default stream cannot be destroyed"));
        }
        let mut stream = self.stream(handle)?;
        refuse(rules::stream(stream.role()), "destroy_stream")?;
        let words = stream.session().stream(stream.index);
        // A place that still has work stays open until it is used again.
        if words.completed.load(Ordering::Acquire) == stream.state.submitted {
            words.is_open.store(0, Ordering::Release);
        }
        stream.state.session = None;
        Ok(())
    }

    /// Waits until what is on the stream now has ended, and takes the first failure since the last time.
    ///
    /// # Errors
    /// 107027 while it is captured, 507046 at the deadline, 507010 when the device is lost, else the first failed task's code.
    pub fn synchronize_stream(&self, handle: *mut c_void, deadline: Deadline) -> Result {
        let (session, index, target) = {
            let mut stream = self.stream(handle)?;
            refuse(rules::stream(stream.role()), "synchronize_stream")?;
            (Arc::clone(stream.session()), stream.index, stream.state.submitted)
        };
        finish(&session, index, target, deadline)
    }

    /// Waits until what is on every stream now has ended. The first failure found is taken; others stay with their streams.
    ///
    /// # Errors
    /// As [`synchronize_stream`](Self::synchronize_stream); 107027 while any stream is captured.
    pub fn synchronize(&self) -> Result {
        refuse(rules::device(self.captures.is_active()), "synchronize_device")?;
        let session = self.session()?;
        let targets: Vec<_> = self.streams.0.iter().map(|place| lock(place).submitted).enumerate().collect();
        let mut first = Ok(());
        for (index, target) in targets {
            let deadline = Deadline::NEVER;
            if first.is_ok() && (target > 0) {
                first = finish(&session, index, target, deadline);
            } else if target > 0 {
                completed(&session, index, target, deadline)?;
            }
        }
        first
    }

    /// True when everything on the stream has ended. Takes no failure.
    ///
    /// # Errors
    /// 107027 while it is captured, 507010 when the device is lost.
    pub fn query_stream(&self, handle: *mut c_void) -> Result<bool> {
        let mut stream = self.stream(handle)?;
        refuse(rules::stream(stream.role()), "query_stream")?;
        let is_complete =
            stream.session().stream(stream.index).completed.load(Ordering::Acquire) >= stream.state.submitted;
        if !is_complete && stream.session().is_lost() {
            return Err(stream.session().lost_code());
        }
        Ok(is_complete)
    }

    /// Tasks submitted in this life of the device.
    pub fn submitted(&self) -> u64 {
        self.streams.0.iter().map(|place| lock(place).submitted).sum()
    }
}

/// Adds the sentence to a rule's refusal.
pub fn refuse<T>(decision: core::result::Result<T, Code>, call: &str) -> Result<T> {
    decision.map_err(|code| super::error::failure(code, format_args!("{call}: refused because of a capture")))
}

fn completed(session: &Session, index: usize, target: u64, deadline: Deadline) -> Result {
    let completed = &session.stream(index).completed;
    wait::until(session, deadline, "the stream", || completed.load(Ordering::Acquire) >= target)
}

fn finish(session: &Session, index: usize, target: u64, deadline: Deadline) -> Result {
    completed(session, index, target, deadline)?;
    let words = session.stream(index);
    if words.error.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    let answer = words.answer.swap(0, Ordering::AcqRel);
    let error = words.error.swap(0, Ordering::AcqRel);
    match i32::try_from(error).ok().and_then(Code::from_number) {
        // Another thread has just taken it.
        None => Ok(()),
        Some(code) => {
            Err(super::error::failure(code, format_args!("a task on stream {index} failed; dispatch answer {answer}")))
        }
    }
}

#[cold]
fn other_device(stream: u32, current: u32) -> Code {
    fail!(STREAM_CONTEXT, "the stream belongs to device {stream}, the current device is {current}")
}

impl StreamGuard<'_> {
    /// The shared memory of the stream's device.
    #[inline]
    pub fn session(&self) -> &Arc<Session> {
        self.state.session.as_ref().expect("a guard is only made of a stream that exists")
    }

    /// What the stream is to captures now. A capture that ended by another stream's hand is forgotten here.
    #[inline]
    pub fn role(&mut self) -> rules::Stream {
        if self.index == 0 {
            return rules::Stream::Default { device_captures: self.device.captures.is_active() };
        }
        match self.state.capture {
            None => rules::Stream::Plain,
            Some((capture, _)) if self.device.captures.contains(capture) => rules::Stream::Captured(capture),
            Some(_) => {
                self.state.capture = None;
                rules::Stream::Plain
            }
        }
    }

    /// The lane that the stream is, while [`role`](Self::role) says that it is captured.
    pub fn lane(&self) -> Option<usize> {
        self.state.capture.map(|(_, lane)| lane)
    }

    /// Makes the stream part of a capture, or of none.
    pub fn set_capture(&mut self, capture: Option<(CaptureId, usize)>) {
        self.state.capture = capture;
    }

    /// Enqueues a task, or makes it part of the capture that the stream belongs to.
    ///
    /// # Errors
    /// 507903 on a stream of an invalid capture; else as [`make_room`](Self::make_room).
    pub fn submit(&mut self, header: TaskHeader, args: &[u8]) -> Result {
        match self.role() {
            rules::Stream::Captured(capture) => self.capture_task(capture, header, args),
            rules::Stream::Default { .. } | rules::Stream::Plain => {
                self.make_room(args.len())?;
                self.put(header, args);
                Ok(())
            }
        }
    }

    #[cold]
    fn capture_task(&mut self, capture: CaptureId, header: TaskHeader, args: &[u8]) -> Result {
        let lane = self.lane().unwrap_or(0);
        self.device.captures.with(capture, |capture| capture.task(lane, header, args))
    }

    /// Waits until the ring has room for one task with `args_bytes` bytes of arguments, wherever in the ring it begins.
    ///
    /// # Errors
    /// 507010 when the device is lost.
    #[inline]
    pub fn make_room(&mut self, args_bytes: usize) -> Result {
        let needed = task_bytes(args_bytes) + self.pad(task_bytes(args_bytes));
        if self.state.tail + needed - self.state.head > RING_BYTES { self.wait_for_room(needed) } else { Ok(()) }
    }

    #[cold]
    fn wait_for_room(&mut self, needed: u64) -> Result {
        let head = &self.session().stream(self.index).head;
        let tail = self.state.tail;
        let has_room = || tail + needed - head.load(Ordering::Acquire) <= RING_BYTES;
        wait::until(self.session(), Deadline::NEVER, "a full ring", has_room)?;
        self.state.head = head.load(Ordering::Acquire);
        Ok(())
    }

    /// Bytes to leave out so that a task of `bytes` bytes does not run over the ring's end.
    fn pad(&self, bytes: u64) -> u64 {
        let to_end = RING_BYTES - self.state.tail % RING_BYTES;
        if bytes > to_end { to_end } else { 0 }
    }

    /// Writes a task that [`make_room`](Self::make_room) has just found room for.
    #[inline]
    pub fn put(&mut self, mut header: TaskHeader, args: &[u8]) {
        let bytes = task_bytes(args.len());
        let pad = self.pad(bytes);
        if pad > 0 {
            self.write(TaskHeader { kind: kind::PAD, bytes: narrow(pad), ..TaskHeader::default() }, &[]);
            self.state.tail += pad;
        }
        self.state.submitted += 1;
        header.sequence = self.state.submitted;
        header.bytes = narrow(bytes);
        self.write(header, args);
        self.state.tail += bytes;
        let session = self.session();
        let words = session.stream(self.index);
        words.submitted.store(self.state.submitted, Ordering::Relaxed);
        words.tail.store(self.state.tail, Ordering::Release);
        let control = session.control();
        let bit = 1 << (self.index % 64);
        // A bit that the device has not taken yet was set by a task before, which also rang: the device will look at this stream
        // once more, and then sees this task too.
        if control.active[self.index / 64].fetch_or(bit, Ordering::SeqCst) & bit == 0 {
            wait::ring(control);
        }
    }

    fn write(&self, header: TaskHeader, args: &[u8]) {
        let offset = usize::try_from(self.state.tail % RING_BYTES).unwrap_or(0);
        // SAFETY: `offset` is below the ring's length.
        let at = unsafe { self.session().ring(self.index).add(offset) };
        // SAFETY:
        // 1. The task ends inside the ring: `pad` saw to that, and a pad itself is a header of 64 bytes at most up to the end.
        // 2. It is aligned to 64: the ring is, and every task is a multiple of 64.
        // 3. The device does not read it before the tail has moved, and has done with what lay there: `make_room`.
        // 4. No other host thread writes it: the stream is locked.
        unsafe { at.cast::<TaskHeader>().write(header) };
        // SAFETY: one header behind `at` is still inside the task, or at its end.
        let behind = unsafe { at.add(size_of::<TaskHeader>()) };
        // SAFETY: as above for the destination; `args` is a live slice that the ring cannot overlap.
        unsafe { ptr::copy_nonoverlapping(args.as_ptr(), behind.as_ptr(), args.len()) };
    }

    /// Waits until everything on the stream has ended; takes no failure.
    ///
    /// # Errors
    /// 507010 when the device is lost.
    pub fn drain(self) -> Result {
        let (session, index, target) = (Arc::clone(self.session()), self.index, self.state.submitted);
        drop(self);
        completed(&session, index, target, Deadline::NEVER)
    }
}

/// Bytes of a task with `args_bytes` bytes of arguments.
pub const fn task_bytes(args_bytes: usize) -> u64 {
    TASK_ALIGN + (args_bytes as u64).next_multiple_of(TASK_ALIGN)
}

fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).expect("a task is smaller than its ring")
}

// The largest task and the pad before it always find room in an empty ring.
static_assertions::const_assert!(2 * task_bytes(tenon_core::wire::MAX_PACKET_BYTES) <= shm::RING_BYTES);
