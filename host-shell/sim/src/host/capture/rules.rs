//! What a capture allows, as pure decisions.
//!
//! | call | while | answer |
//! | --- | --- | --- |
//! | synchronise, query or destroy a stream; launch a graph on it | the stream is captured | 107027 |
//! | synchronise the device | any of its streams is captured | 107027 |
//! | synchronise or query an event | its last record is captured | 107028 |
//! | record or wait on the default stream | a capture is active on the device | 107031 |
//! | record an event without flags on a captured stream | | 207000 |
//! | record an event that has flags but not SYNC there | | 0, and nothing is recorded |
//! | wait there for an event without a record of this capture | | 107024 |
//! | wait elsewhere for an event with a captured record | | the stream joins the capture |
//! | synchronous copy or fill | by mode, see [`synchronous`] | 107030 |
//! | asynchronous copy that would have to wait | the stream is captured | 107041 |
//! | begin on a captured stream | | 107027 |
//! | end | see [`end`] | 107029, 107036, 107038, 507903, 107025 |
//! | destroy a graph | it is being captured; it is running | 107026; 107037 |
//!
//! Any failure of a record or wait on a captured stream makes the whole capture invalid. Nothing else does.

use crate::host::error::Code;

/// Whom a capture forbids synchronous copies; numbers of `aclmdlRICaptureMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i32)]
pub enum Mode {
    /// For every thread of the device's users.
    Global = 0,
    /// For the thread that began it.
    ThreadLocal = 1,
    /// Not at all.
    Relaxed = 2,
}

impl Mode {
    /// The mode with this number.
    #[must_use]
    pub const fn from_number(number: i32) -> Option<Self> {
        match number {
            0 => Some(Self::Global),
            1 => Some(Self::ThreadLocal),
            2 => Some(Self::Relaxed),
            _ => None,
        }
    }
}

/// A capture's name, never used again in the process.
pub type CaptureId = u64;

/// What a stream is to captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// The default stream, which is never captured.
    Default {
        /// A capture is active on its device.
        device_captures: bool,
    },
    /// Not captured.
    Plain,
    /// Part of this capture.
    Captured(CaptureId),
}

/// What an event can do, by the flags that it was created with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// No flag: an ordinary event that knows nothing of captures.
    Ordinary,
    /// Has flags, but not SYNC: nobody can wait for it on a stream.
    WithoutSync,
    /// SYNC: orders streams, in a capture too.
    Sync,
}

/// An event's last record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastRecord {
    /// Never recorded.
    None,
    /// On a stream that was not captured.
    Plain,
    /// In this capture, which is still going on.
    Captured(CaptureId),
}

/// What to do about a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// Enqueue it.
    Enqueue,
    /// Make it part of the capture.
    Capture,
    /// Nothing at all.
    Nothing,
}

/// What to do about a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Enqueue it.
    Enqueue,
    /// Make it part of the capture.
    Capture,
    /// The stream becomes part of this capture, and the wait its first task.
    Join(CaptureId),
    /// Nothing: the event was never recorded.
    Nothing,
}

/// A call that waits for a stream, looks at it or ends it.
///
/// # Errors
/// 107027 when the stream is captured.
pub const fn stream(stream: Stream) -> Result<(), Code> {
    match stream {
        Stream::Default { .. } | Stream::Plain => Ok(()),
        Stream::Captured(_) => Err(Code::STREAM_CAPTURED),
    }
}

/// Synchronising the device.
///
/// # Errors
/// 107027 while any stream of it is captured.
pub const fn device(device_captures: bool) -> Result<(), Code> {
    if device_captures { Err(Code::STREAM_CAPTURED) } else { Ok(()) }
}

/// Synchronising or querying an event.
///
/// # Errors
/// 107028 when its last record is part of a capture.
pub const fn event(last: LastRecord) -> Result<(), Code> {
    match last {
        LastRecord::None | LastRecord::Plain => Ok(()),
        LastRecord::Captured(_) => Err(Code::EVENT_CAPTURED),
    }
}

/// Recording an event on a stream.
///
/// # Errors
/// 107031 on the default stream while a capture is active, 207000 for an ordinary event on a captured stream.
pub const fn record(stream: Stream, event: EventKind) -> Result<Record, Code> {
    match (stream, event) {
        (Stream::Default { device_captures: true }, _) => Err(Code::CAPTURE_IMPLICIT),
        (Stream::Default { device_captures: false } | Stream::Plain, _) => Ok(Record::Enqueue),
        (Stream::Captured(_), EventKind::Ordinary) => Err(Code::NOT_SUPPORTED),
        (Stream::Captured(_), EventKind::WithoutSync) => Ok(Record::Nothing),
        (Stream::Captured(_), EventKind::Sync) => Ok(Record::Capture),
    }
}

/// Making a stream wait for an event.
///
/// # Errors
/// 107031 on the default stream while a capture is active, 207000 for an event that no stream can wait for, 107024 when a
/// captured stream would depend on something outside its capture.
pub const fn wait(stream: Stream, event: EventKind, last: LastRecord) -> Result<Wait, Code> {
    match (stream, event, last) {
        (Stream::Default { device_captures: true }, _, _) => Err(Code::CAPTURE_IMPLICIT),
        (_, EventKind::WithoutSync, _) => Err(Code::NOT_SUPPORTED),
        (Stream::Captured(own), _, LastRecord::Captured(other)) if own == other => Ok(Wait::Capture),
        (Stream::Captured(_), _, _) => Err(Code::CAPTURE_DEPENDENCY),
        (Stream::Default { device_captures: false } | Stream::Plain, _, LastRecord::None) => Ok(Wait::Nothing),
        (Stream::Default { device_captures: false } | Stream::Plain, _, LastRecord::Plain) => Ok(Wait::Enqueue),
        // A captured record means that a capture is active, so the default stream never gets here.
        (Stream::Default { device_captures: false }, _, LastRecord::Captured(_)) => Err(Code::CAPTURE_IMPLICIT),
        (Stream::Plain, _, LastRecord::Captured(capture)) => Ok(Wait::Join(capture)),
    }
}

/// A synchronous copy or fill by a thread whose own setting is `exchange`.
///
/// `device_mode` is the strictest mode of the captures active on the device, `thread_mode` that of those which this thread
/// began.
///
/// # Errors
/// 107030 when a mode forbids it.
pub const fn synchronous(device_mode: Option<Mode>, thread_mode: Option<Mode>, exchange: Mode) -> Result<(), Code> {
    let Some(device_mode) = device_mode else { return Ok(()) };
    let is_refused = match exchange {
        Mode::Relaxed => false,
        Mode::Global => matches!(device_mode, Mode::Global) || matches!(thread_mode, Some(Mode::ThreadLocal)),
        Mode::ThreadLocal => matches!(thread_mode, Some(Mode::Global | Mode::ThreadLocal)),
    };
    if is_refused { Err(Code::CAPTURE_MODE) } else { Ok(()) }
}

/// An asynchronous copy that cannot be done without waiting for its stream first.
///
/// # Errors
/// 107041 when the stream is captured.
pub const fn blocking_copy(stream: Stream) -> Result<(), Code> {
    match stream {
        Stream::Default { .. } | Stream::Plain => Ok(()),
        Stream::Captured(_) => Err(Code::CAPTURE_BLOCKS),
    }
}

/// Beginning a capture.
///
/// # Errors
/// 100000 on the default stream, 107027 when the stream is captured already.
pub const fn begin(stream: Stream) -> Result<(), Code> {
    match stream {
        Stream::Default { .. } => Err(Code::INVALID_PARAM),
        Stream::Plain => Ok(()),
        Stream::Captured(_) => Err(Code::STREAM_CAPTURED),
    }
}

/// What the end of a capture is decided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtEnd {
    /// The stream is the one it began on.
    pub is_origin: bool,
    /// The thread is the one it began on.
    pub is_thread: bool,
    /// Its mode.
    pub mode: Mode,
    /// A record or wait failed.
    pub is_invalid: bool,
    /// Every stream that joined has returned to the origin, with all that was put on it.
    pub is_joined: bool,
}

/// The end of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There is a graph.
    Graph,
    /// The capture ends with this code, and its graph is destroyed.
    Failed(Code),
    /// The call is refused with this code, and the capture goes on.
    Refused(Code),
}

/// Ending a capture on a stream that is captured.
pub const fn end(facts: AtEnd) -> End {
    match facts {
        AtEnd { is_origin: false, .. } => End::Refused(Code::CAPTURE_UNMATCHED),
        AtEnd { is_thread: false, mode: Mode::Global | Mode::ThreadLocal, .. } => End::Refused(Code::CAPTURE_THREAD),
        AtEnd { is_invalid: true, .. } => End::Failed(Code::CAPTURE_INVALIDATED),
        AtEnd { is_joined: false, .. } => End::Failed(Code::STREAM_UNJOINED),
        AtEnd { .. } => End::Graph,
    }
}

/// Destroying a graph.
///
/// # Errors
/// 107026 while it is being captured, 107037 while replays of it have not ended.
pub const fn destroy(is_capturing: bool, replays_in_flight: u32) -> Result<(), Code> {
    match (is_capturing, replays_in_flight) {
        (true, _) => Err(Code::MODEL_CAPTURED),
        (false, 0) => Ok(()),
        (false, _) => Err(Code::MODEL_RUNNING),
    }
}
