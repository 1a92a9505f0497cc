//! What a context has made and has to let go of.
//!
//! Everything that init and prepare make is noted here as soon as it exists. Letting go forgets one thing at a time, so that a
//! retry does only what is left. Dropping the list makes no platform call: what is still in it leaks by design, since a graph may
//! name it.

use tenon_core::vocabulary::{ContextOps, EventId, MemoryKind, PinnedId, ResourceOps, StreamId, VendorError};

/// One thing that is to be let go of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    Stream(StreamId),
    Event(EventId),
    Device { kind: MemoryKind, address: u64 },
    Pinned(PinnedId),
}

impl Held {
    fn let_go<P: ContextOps + ResourceOps>(self, platform: &mut P) -> Result<(), VendorError> {
        match self {
            Self::Stream(stream) => platform.destroy_stream(stream),
            Self::Event(event) => platform.destroy_event(event),
            Self::Device { kind, address } => platform.free_device(kind, address),
            Self::Pinned(pinned) => platform.free_pinned(pinned),
        }
    }
}

/// A place in the list of what is held: what was noted after it can be let go of together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark(usize);

/// The list, in the order of making: streams come first and go first, so that nothing on them still uses the memory behind them.
#[derive(Debug, Default)]
pub(crate) struct Holdings(Vec<Held>);

impl Holdings {
    /// Notes something that now exists.
    pub(crate) fn note(&mut self, held: Held) {
        self.0.push(held);
    }

    /// Stops holding something that is to stay for ever.
    pub(crate) fn leave(&mut self, held: Held) {
        self.0.retain(|other| *other != held);
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark(self.0.len())
    }

    /// Lets go of one thing; it stays noted when that fails.
    pub(crate) fn let_go<P: ContextOps + ResourceOps>(
        &mut self,
        held: Held,
        platform: &mut P,
    ) -> Result<(), VendorError> {
        held.let_go(platform)?;
        self.leave(held);
        Ok(())
    }

    /// Lets go of everything noted since `mark`. What fails stays noted; the first failure is answered.
    ///
    /// A lost device fails everything that follows, so nothing more is asked of it.
    pub(crate) fn let_go_since<P: ContextOps + ResourceOps>(
        &mut self,
        mark: Mark,
        platform: &mut P,
    ) -> Result<(), VendorError> {
        let mut first: Result<(), VendorError> = Ok(());
        let newer = self.0.split_off(mark.0);
        for held in newer {
            let is_lost = first.is_err_and(|error| error.is_device_lost);
            match if is_lost { first } else { held.let_go(platform) } {
                Ok(()) => {}
                Err(error) => {
                    first = first.and(Err(error));
                    self.0.push(held);
                }
            }
        }
        first
    }

    /// Lets go of everything.
    pub(crate) fn let_go_all<P: ContextOps + ResourceOps>(&mut self, platform: &mut P) -> Result<(), VendorError> {
        self.let_go_since(Mark(0), platform)
    }

    /// Forgets everything without a platform call: the device is gone, and its memory is left alone.
    pub(crate) fn abandon(&mut self) {
        self.0.clear();
    }
}
