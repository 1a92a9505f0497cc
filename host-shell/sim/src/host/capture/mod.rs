//! Stream capture: what is put on a stream becomes a graph instead of running.
//!
//! [`rules`] decides, [`lane`] collects, and this module keeps the captures of a device and acts. A stream remembers which
//! capture it belongs to by the capture's name, an event likewise; a name whose capture has ended means nothing, so ending a
//! capture needs to visit neither.

pub mod lane;
pub mod rules;
#[cfg(test)]
mod tests;

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Mutex;

use self::lane::Capture;
use self::rules::{AtEnd, CaptureId, End, Mode, Stream};
use super::device::{Device, lock, thread_number};
use super::error::{Code, Result, fail};
use super::stream::refuse;

/// What a stream is to captures; numbers of `aclmdlRICaptureStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Not captured.
    None = 0,
    /// Captured.
    Active = 1,
    /// Captured, and a record or wait has failed.
    Invalidated = 2,
}

thread_local! {
    /// How strict captures are towards this thread.
    static EXCHANGE: Cell<Mode> = const { Cell::new(Mode::Global) };
}

/// The captures that are going on on one device.
#[derive(Debug)]
pub struct Captures {
    list: Mutex<Vec<Capture>>,
    /// Length of the list, to look at without the lock.
    count: AtomicU32,
}

impl Default for Captures {
    fn default() -> Self {
        Self { list: Mutex::new(Vec::new()), count: AtomicU32::new(0) }
    }
}

impl Captures {
    /// Forgets all of them.
    pub fn clear(&self) {
        let mut list = lock(&self.list);
        list.clear();
        self.count.store(0, Ordering::Release);
    }

    /// True while a capture is going on.
    #[inline]
    pub fn is_active(&self) -> bool {
        self.count.load(Ordering::Acquire) != 0
    }

    /// True while this capture is going on.
    pub fn contains(&self, id: CaptureId) -> bool {
        self.is_active() && lock(&self.list).iter().any(|capture| capture.id == id)
    }

    /// Changes a capture that is going on.
    ///
    /// # Errors
    /// 507903 when it has just ended, else what `change` answers.
    pub fn with<T>(&self, id: CaptureId, change: impl FnOnce(&mut Capture) -> Result<T>) -> Result<T> {
        match lock(&self.list).iter_mut().find(|capture| capture.id == id) {
            Some(capture) => change(capture),
            None => Err(fail!(CAPTURE_INVALIDATED, "another thread has just ended the capture")),
        }
    }

    fn add(&self, capture: Capture) {
        let mut list = lock(&self.list);
        list.push(capture);
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    /// Decides how a capture ends; unless that is refused, it is no longer in the list.
    fn end(&self, id: CaptureId, stream: usize, thread: u64) -> Result<(Capture, Option<Code>)> {
        let mut list = lock(&self.list);
        let Some(at) = list.iter().position(|capture| capture.id == id) else {
            return Err(fail!(STREAM_NOT_CAPTURED, "another thread has just ended the capture"));
        };
        let capture = &list[at];
        let facts = AtEnd {
            is_origin: capture.origin == stream,
            is_thread: capture.thread == thread,
            mode: capture.mode,
            is_invalid: capture.is_invalid,
            is_joined: capture.is_joined(),
        };
        let failure = match rules::end(facts) {
            End::Refused(code) => return refuse(Err(code), "capture_end: it began elsewhere"),
            End::Failed(code) => Some(code),
            End::Graph => None,
        };
        self.count.fetch_sub(1, Ordering::AcqRel);
        Ok((list.swap_remove(at), failure))
    }

    /// The strictest mode of all captures, and of those that `thread` began.
    fn modes(&self, thread: u64) -> (Option<Mode>, Option<Mode>) {
        let list = lock(&self.list);
        let strictest = list.iter().map(|capture| capture.mode).min();
        let own = list.iter().filter(|capture| capture.thread == thread).map(|capture| capture.mode).min();
        (strictest, own)
    }
}

/// Sets how strict captures are towards the calling thread; what it was before.
pub fn exchange_mode(mode: Mode) -> Mode {
    EXCHANGE.replace(mode)
}

impl Device {
    /// Begins to capture a stream.
    ///
    /// # Errors
    /// 100000 for the default stream, 107027 when it is captured, 207005 when there is no place for a graph.
    pub fn begin_capture(&self, stream: *mut c_void, mode: Mode) -> Result {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let mut stream = self.stream(stream)?;
        refuse(rules::begin(stream.role()), "capture_begin")?;
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        let graph = self.graphs.reserve()?;
        self.captures.add(Capture::new(id, stream.index, thread_number(), mode, graph));
        stream.set_capture(Some((id, 0)));
        Ok(())
    }

    /// Ends the capture that began on this stream: its graph.
    ///
    /// # Errors
    /// As [`rules::end`] says; 107029 when the stream is not captured; 207005 when the store has no room for the graph.
    pub fn end_capture(&self, stream: *mut c_void) -> Result<*mut c_void> {
        let mut stream = self.stream(stream)?;
        let id = match stream.role() {
            Stream::Captured(id) => id,
            Stream::Default { .. } => return Err(fail!(INVALID_PARAM, "the default stream is never captured")),
            Stream::Plain => return Err(fail!(STREAM_NOT_CAPTURED, "capture_end: the stream is not captured")),
        };
        let (capture, failure) = self.captures.end(id, stream.index, thread_number())?;
        stream.set_capture(None);
        let graph = match failure {
            None => self.finish_graph(stream.session(), &capture),
            Some(code) => refuse(Err(code), "capture_end: the graph was destroyed"),
        };
        if graph.is_err() {
            self.graphs.release(capture.graph);
        }
        graph
    }

    /// Where a stream stands, and the graph of its capture while that is valid.
    ///
    /// # Errors
    /// 100000 for the default stream, else as [`stream`](Self::stream).
    pub fn capture_info(&self, stream: *mut c_void) -> Result<(Status, Option<*mut c_void>)> {
        let mut stream = self.stream(stream)?;
        match stream.role() {
            Stream::Default { .. } => Err(fail!(INVALID_PARAM, "the default stream is never captured")),
            Stream::Plain => Ok((Status::None, None)),
            Stream::Captured(id) => self.captures.with(id, |capture| {
                Ok(if capture.is_invalid {
                    (Status::Invalidated, None)
                } else {
                    (Status::Active, Some(self.graphs.handle(self.id(), capture.graph)))
                })
            }),
        }
    }

    /// Makes the capture that `stream` belongs to invalid, if it belongs to one. Never fails: it is called because something did.
    pub fn invalidate_capture(&self, stream: *mut c_void) {
        if !self.captures.is_active() || stream.is_null() {
            return;
        }
        if let Ok(mut stream) = self.stream(stream)
            && let Stream::Captured(id) = stream.role()
        {
            // It may have ended in between, and then there is nothing to do.
            let _ = self.captures.with(id, |capture| {
                capture.is_invalid = true;
                Ok(())
            });
        }
    }

    /// Refuses a synchronous copy or fill by the calling thread where a capture forbids it.
    ///
    /// # Errors
    /// 107030.
    pub fn check_synchronous(&self, call: &str) -> Result {
        if !self.captures.is_active() {
            return Ok(());
        }
        let (device_mode, thread_mode) = self.captures.modes(thread_number());
        refuse(rules::synchronous(device_mode, thread_mode, EXCHANGE.get()), call)
    }
}
