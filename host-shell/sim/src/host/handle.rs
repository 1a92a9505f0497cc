//! Handles: numbers that look like pointers and are never followed.
//!
//! A handle says what kind of object it names, on which device, in which place, and how often that place has been used. A
//! handle that was destroyed, made up, or brought through a fork therefore finds nothing, and says so.

use core::ffi::c_void;

use super::error::{Result, fail};
use super::fork;

/// What a handle names. The numbers make a handle an address that no process can have, so following one faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A stream.
    Stream = 0xb1,
    /// An event.
    Event = 0xb2,
    /// A graph, captured or being captured.
    Graph = 0xb3,
    /// An AICPU image.
    Binary = 0xb4,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Event => "event",
            Self::Graph => "graph",
            Self::Binary => "binary",
        }
    }
}

/// A handle taken apart: kind 8 bits, device 8, place 16, use of the place 32 (from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// Device that the object belongs to.
    pub device: u32,
    /// Place in the device's table.
    pub index: usize,
    /// How often the place has been used.
    pub generation: u32,
}

impl Handle {
    /// The handle of the object of `kind` at `index` (below 65,536) of `device` (below 16).
    pub fn pack(kind: Kind, device: u32, index: usize, generation: u32) -> *mut c_void {
        // Forks are counted modulo 16, beside the device: enough to refuse what a parent left.
        let home = u64::from((fork::epoch() & 15) << 4 | device & 15);
        let bits = (kind as u64) << 56 | home << 48 | (index as u64 & 0xffff) << 32 | u64::from(generation);
        core::ptr::without_provenance_mut(usize::try_from(bits).unwrap_or(0))
    }

    /// Takes `handle` apart; whether it still names something is for the table to say.
    ///
    /// # Errors
    /// 100000 for null, 107017 for what is no handle of this kind, or one from before a fork.
    #[inline]
    pub fn unpack(kind: Kind, handle: *mut c_void) -> Result<Self> {
        let bits = handle.addr() as u64;
        let home = bits >> 48 & 0xff;
        if bits >> 56 != kind as u64 || home >> 4 != u64::from(fork::epoch() & 15) {
            return Err(not_a_handle(kind, bits));
        }
        #[expect(clippy::cast_possible_truncation, reason = "the fields are cut to their own width")]
        Ok(Self { device: home as u32 & 15, index: (bits >> 32 & 0xffff) as usize, generation: bits as u32 })
    }
}

#[cold]
fn not_a_handle(kind: Kind, bits: u64) -> super::error::Code {
    let name = kind.name();
    if bits == 0 {
        fail!(INVALID_PARAM, "the {name} is null")
    } else if bits >> 56 == kind as u64 {
        fail!(INVALID_HANDLE, "{bits:#x} is a {name} of the process before fork()")
    } else {
        fail!(INVALID_HANDLE, "{bits:#x} is not a {name}")
    }
}

/// The answer for a handle whose object is gone.
#[cold]
pub fn stale(kind: Kind, handle: Handle) -> super::error::Code {
    fail!(
        INVALID_HANDLE,
        "the {} ({} use {}) does not exist or was destroyed",
        kind.name(),
        handle.index,
        handle.generation
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::error::Code;

    #[test]
    fn every_field_comes_back_at_its_largest() {
        for (device, index, generation) in [(15, 0, 0), (0, 0xffff, 0), (0, 0, u32::MAX), (15, 0xffff, u32::MAX)] {
            let handle = Handle::pack(Kind::Event, device, index, generation);
            assert_eq!(Handle::unpack(Kind::Event, handle), Ok(Handle { device, index, generation }));
        }
    }

    #[test]
    fn a_packed_handle_is_these_bits() {
        assert_eq!(Handle::pack(Kind::Stream, 1, 2, 3).addr(), 0xb101_0002_0000_0003);
    }

    #[test]
    fn null_foreign_and_other_kinds_are_refused() {
        let stream = Handle::pack(Kind::Stream, 0, 1, 1);
        assert_eq!(Handle::unpack(Kind::Event, stream), Err(Code::INVALID_HANDLE));
        assert_eq!(Handle::unpack(Kind::Stream, core::ptr::null_mut()), Err(Code::INVALID_PARAM));
        let mut local = 0u8;
        assert_eq!(Handle::unpack(Kind::Stream, (&raw mut local).cast()), Err(Code::INVALID_HANDLE));
    }
}
