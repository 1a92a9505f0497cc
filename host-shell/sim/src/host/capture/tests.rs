//! Every row of the rules of captures, written out by hand.
//!

use super::rules::*;
use crate::host::error::Code;

const QUIET: Stream = Stream::Default { device_captures: false };
const IMPLICIT: Stream = Stream::Default { device_captures: true };
const HERE: CaptureId = 7;
const ELSEWHERE: CaptureId = 8;
const STREAMS: [Stream; 4] = [QUIET, IMPLICIT, Stream::Plain, Stream::Captured(HERE)];
const EVENTS: [EventKind; 3] = [EventKind::Ordinary, EventKind::WithoutSync, EventKind::Sync];

#[test]
fn streams_are_left_alone_while_they_are_captured() {
    let answers = STREAMS.map(|role| (stream(role).err(), blocking_copy(role).err()));
    let captured = (Some(Code::STREAM_CAPTURED), Some(Code::CAPTURE_BLOCKS));
    assert_eq!(answers, [(None, None), (None, None), (None, None), captured]);
    assert_eq!((device(false), device(true)), (Ok(()), Err(Code::STREAM_CAPTURED)));
}

#[test]
fn a_capture_begins_on_a_plain_stream_only() {
    let answers = STREAMS.map(|role| begin(role).err());
    let default = Some(Code::INVALID_PARAM);
    assert_eq!(answers, [default, default, None, Some(Code::STREAM_CAPTURED)]);
}

#[test]
fn the_host_cannot_look_at_an_event_of_a_capture() {
    let answers = [LastRecord::None, LastRecord::Plain, LastRecord::Captured(HERE)].map(|last| event(last).err());
    assert_eq!(answers, [None, None, Some(Code::EVENT_CAPTURED)]);
}

#[test]
fn a_record_on_each_stream_with_each_kind_of_event() {
    use Record::{Capture, Enqueue, Nothing};
    let implicit = Err(Code::CAPTURE_IMPLICIT);
    // Columns: no flags, flags without SYNC, SYNC.
    let rows = [
        (QUIET, [Ok(Enqueue), Ok(Enqueue), Ok(Enqueue)]),
        (IMPLICIT, [implicit, implicit, implicit]),
        (Stream::Plain, [Ok(Enqueue), Ok(Enqueue), Ok(Enqueue)]),
        (Stream::Captured(HERE), [Err(Code::NOT_SUPPORTED), Ok(Nothing), Ok(Capture)]),
    ];
    for (role, expected) in rows {
        assert_eq!(EVENTS.map(|kind| record(role, kind)), expected, "{role:?}");
    }
}

#[test]
fn a_wait_on_each_stream_for_each_last_record() {
    use Wait::{Capture, Enqueue, Join, Nothing};
    let implicit = Err(Code::CAPTURE_IMPLICIT);
    let isolated = Err(Code::CAPTURE_DEPENDENCY);
    // Columns: never recorded, recorded outside, in this capture, in another capture.
    let last = [LastRecord::None, LastRecord::Plain, LastRecord::Captured(HERE), LastRecord::Captured(ELSEWHERE)];
    let rows = [
        (QUIET, [Ok(Nothing), Ok(Enqueue), implicit, implicit]),
        (IMPLICIT, [implicit, implicit, implicit, implicit]),
        (Stream::Plain, [Ok(Nothing), Ok(Enqueue), Ok(Join(HERE)), Ok(Join(ELSEWHERE))]),
        (Stream::Captured(HERE), [isolated, isolated, Ok(Capture), isolated]),
    ];
    for (role, expected) in rows {
        assert_eq!(last.map(|last| wait(role, EventKind::Sync, last)), expected, "{role:?}");
        if role != IMPLICIT {
            let refused = Err(Code::NOT_SUPPORTED);
            assert_eq!(last.map(|last| wait(role, EventKind::WithoutSync, last)), [refused; 4], "{role:?}");
        }
    }
    assert_eq!(wait(Stream::Plain, EventKind::Ordinary, LastRecord::Plain), Ok(Enqueue));
    assert_eq!(wait(Stream::Captured(HERE), EventKind::Ordinary, LastRecord::Plain), isolated);
}

#[test]
fn a_synchronous_copy_under_each_mode_and_each_setting_of_the_thread() {
    const GLOBAL: Option<Mode> = Some(Mode::Global);
    const LOCAL: Option<Mode> = Some(Mode::ThreadLocal);
    const RELAXED: Option<Mode> = Some(Mode::Relaxed);
    // (strictest of the device, strictest of this thread, refused for a thread set to global / thread-local / relaxed)
    let rows = [
        (None, None, [false, false, false]),
        // Another thread captures.
        (GLOBAL, None, [true, false, false]),
        (LOCAL, None, [false, false, false]),
        (RELAXED, None, [false, false, false]),
        // This thread captures.
        (GLOBAL, GLOBAL, [true, true, false]),
        (LOCAL, LOCAL, [true, true, false]),
        (RELAXED, RELAXED, [false, false, false]),
        // Both do.
        (GLOBAL, LOCAL, [true, true, false]),
        (GLOBAL, RELAXED, [true, false, false]),
        (LOCAL, RELAXED, [false, false, false]),
    ];
    for (device_mode, thread_mode, expected) in rows {
        let answers = [Mode::Global, Mode::ThreadLocal, Mode::Relaxed].map(|exchange| {
            let answer = synchronous(device_mode, thread_mode, exchange);
            assert!(matches!(answer, Ok(()) | Err(Code::CAPTURE_MODE)));
            answer.is_err()
        });
        assert_eq!(answers, expected, "{device_mode:?} {thread_mode:?}");
    }
}

#[test]
fn every_way_for_a_capture_to_end() {
    for mode in [Mode::Global, Mode::ThreadLocal, Mode::Relaxed] {
        for bits in 0..16u32 {
            let [is_origin, is_thread, is_invalid, is_joined] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
            let answer = end(AtEnd { is_origin, is_thread, mode, is_invalid, is_joined });
            let expected = if !is_origin {
                End::Refused(Code::CAPTURE_UNMATCHED)
            } else if !is_thread && mode != Mode::Relaxed {
                End::Refused(Code::CAPTURE_THREAD)
            } else if is_invalid {
                End::Failed(Code::CAPTURE_INVALIDATED)
            } else if !is_joined {
                End::Failed(Code::STREAM_UNJOINED)
            } else {
                End::Graph
            };
            assert_eq!(answer, expected, "{mode:?} {bits:04b}");
        }
    }
}

#[test]
fn a_graph_is_destroyed_when_nobody_needs_it() {
    assert_eq!(destroy(false, 0), Ok(()));
    assert_eq!(destroy(false, 1), Err(Code::MODEL_RUNNING));
    assert_eq!(destroy(true, 0), Err(Code::MODEL_CAPTURED));
}

#[test]
fn modes_and_their_numbers() {
    let modes = [-1, 0, 1, 2, 3].map(Mode::from_number);
    assert_eq!(modes, [None, Some(Mode::Global), Some(Mode::ThreadLocal), Some(Mode::Relaxed), None]);
}
