//! Prepare and release: record writes in the order of the caller's stream.
//!

use tenon_core::callable::CallableImage;
use tenon_core::generation::{Generation, SlotIndex};
use tenon_core::phase::{Event, next};
use tenon_core::vocabulary::StreamId;

use super::{Inner, KernelPlatform, allowed};
use crate::error::ContextError;
use crate::published::Published;
use crate::residency::Unfinished;

pub(super) fn prepare<P: KernelPlatform>(
    inner: &mut Inner<P>,
    published: &Published,
    slot: SlotIndex,
    image: &[u8],
    caller: StreamId,
) -> Result<Generation, ContextError> {
    let (after, live) = allowed(inner.phase, &mut inner.live, Event::Prepare)?;
    let image = CallableImage::parse_in_memory(image)?;
    let prepared = live.residency.prepare(&mut inner.platform, &mut inner.held, slot, &image, caller);
    published.set_generation(slot, live.residency.generation(slot));
    match prepared {
        Ok(generation) => {
            inner.phase = after;
            Ok(generation)
        }
        Err(unfinished) => Err(give_up(inner, published, unfinished, caller)),
    }
}

pub(super) fn release<P: KernelPlatform>(
    inner: &mut Inner<P>,
    published: &Published,
    slot: SlotIndex,
    caller: StreamId,
) -> Result<(), ContextError> {
    let (after, live) = allowed(inner.phase, &mut inner.live, Event::Release)?;
    let released = live.residency.release(&mut inner.platform, slot, caller);
    published.set_generation(slot, live.residency.generation(slot));
    match released {
        Ok(()) => {
            inner.phase = after;
            Ok(())
        }
        Err(unfinished) => Err(give_up(inner, published, unfinished, caller)),
    }
}

/// Keeps what has to be kept of a failure, and poisons if the sequence of record writes could not be closed.
#[cold]
fn give_up<P: KernelPlatform>(
    inner: &mut Inner<P>,
    published: &Published,
    unfinished: Unfinished,
    caller: StreamId,
) -> ContextError {
    if let Some(error) = unfinished.teardown {
        published.note_teardown(error);
    }
    if unfinished.is_sequence_open
        && let Ok(after) = next(inner.phase, Event::Poison)
        && let Some(live) = inner.live.as_mut()
    {
        live.is_sequence_open = true;
        live.is_cancelled |= inner.platform.cancel(caller, live.residency.area()).is_ok();
        inner.phase = after;
        published.note_poison(unfinished.error.vendor_code());
    }
    unfinished.error
}
