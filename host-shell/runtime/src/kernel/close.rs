//! Close: as often as it takes, and each time only what is left.
//!
//! Order matters. First the slots are emptied, in stream order on the context's own stream, behind every record write. Then the
//! device is looked at until the zeroes are there, and only then whether it is busy: so *not busy* is said after the last launch
//! that could be let in. Only then anything is freed. Nothing here synchronises.

use std::thread;
use std::time::{Duration, Instant};

use tenon_core::phase::{Event, next};
use tenon_core::vocabulary::VendorError;

use super::{Inner, KernelPlatform, Live};
use crate::error::ContextError;
use crate::published::{Published, read_line};

/// How long close looks for its zeroes before it answers *busy*.
const LANDING_TIME: Duration = Duration::from_secs(1);
/// How long it leaves the device alone between two looks.
const LOOK_AGAIN: Duration = Duration::from_micros(50);

pub(super) fn close<P: KernelPlatform>(inner: &mut Inner<P>, published: &Published) -> Result<(), ContextError> {
    inner.phase = next(inner.phase, Event::Close)?;
    published.empty_all_slots();
    let closed = match inner.live.as_mut() {
        Some(live) => quiesce(&mut inner.platform, live, published),
        // Init failed: no launch was ever possible.
        None => Ok(()),
    }
    .and_then(|()| Ok(inner.held.let_go_all(&mut inner.platform)?));
    match closed {
        Ok(()) => {}
        Err(NotClosed::Busy) => return Err(ContextError::DeviceBusy),
        Err(NotClosed::Vendor(error)) => {
            published.note_teardown(error);
            if !error.is_device_lost {
                return Err(ContextError::vendor("closing the context", error));
            }
            // Nobody can run on a lost device, and nobody can free its memory.
            inner.held.abandon();
        }
    }
    inner.live = None;
    inner.phase = next(inner.phase, Event::TornDown)?;
    Ok(())
}

/// Why a close did not come to its end.
enum NotClosed {
    Busy,
    Vendor(VendorError),
}

impl From<VendorError> for NotClosed {
    fn from(error: VendorError) -> Self {
        Self::Vendor(error)
    }
}

/// Sees to it that the device will not enter an image of this context again, and has left every one.
fn quiesce<P: KernelPlatform>(platform: &mut P, live: &mut Live, published: &Published) -> Result<(), NotClosed> {
    if live.is_sequence_open && !live.is_cancelled {
        // A record write may still land behind the zeroes. Once this has landed it does not matter.
        platform.cancel(live.wiring.aicpu, live.residency.area())?;
        live.is_cancelled = true;
    }
    if !live.is_emptied {
        live.residency.empty_all(platform, live.wiring.aicpu)?;
        live.is_emptied = true;
    }
    let start = Instant::now();
    loop {
        match live.residency.is_empty_on_device(platform)? {
            // That no launch is in flight is the caller's word.
            None => return Ok(()),
            Some(true) => break,
            Some(false) if start.elapsed() >= LANDING_TIME => return Err(NotClosed::Busy),
            Some(false) => thread::sleep(LOOK_AGAIN),
        }
    }
    let Some(line) = read_line(platform, live.residency.area())? else { return Ok(()) };
    published.note_line(line);
    if line.is_busy { Err(NotClosed::Busy) } else { Ok(()) }
}
