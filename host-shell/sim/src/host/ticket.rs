//! Tickets: what an event's records are to the device.
//!
//! A slot is a word of the control file that holds the highest ticket reached. Tickets of one slot are handed out in order and
//! never twice, whatever event the slot belongs to.

use core::sync::atomic::Ordering;

use super::error::{Result, fail};
use super::session::Session;
use crate::shm::MAX_EVENTS;

/// Where an event's last record is to be found: slot 12 bits, stream 8 bits, ticket 44 bits (0: never recorded).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Slot.
    pub slot: usize,
    /// Place of the stream that the record is on.
    pub stream: usize,
    /// Ticket in the slot.
    pub ticket: u64,
}

/// The last ticket of a slot.
pub const LAST_TICKET: u64 = (1 << 44) - 1;
/// The mark of an event that does not exist. No other has it: the last ticket of a slot is never handed out.
pub const DEAD: u64 = u64::MAX;

impl Mark {
    /// Never recorded.
    pub const NONE: Self = Self { slot: 0, stream: 0, ticket: 0 };

    /// As one word.
    pub const fn pack(self) -> u64 {
        (self.slot as u64) << 52 | (self.stream as u64) << 44 | self.ticket
    }

    /// From one word; `None` for [`DEAD`].
    pub const fn unpack(bits: u64) -> Option<Self> {
        if bits == DEAD {
            return None;
        }
        Some(Self { slot: (bits >> 52) as usize, stream: (bits >> 44) as usize & 0xff, ticket: bits & LAST_TICKET })
    }
}

/// The slots of a device.
#[derive(Debug)]
pub struct Slots {
    free: Vec<usize>,
    /// Slots that no event has any more, with a ticket that is still to be reached.
    leaving: Vec<(usize, u64)>,
    /// The last ticket handed out of each slot, for those in the two lists.
    tickets: Vec<u64>,
}

/// True when the device has reached `ticket` of `slot`.
pub fn is_reached(session: &Session, slot: usize, ticket: u64) -> bool {
    session.control().events[slot].reached.load(Ordering::Acquire) >= ticket
}

impl Default for Slots {
    fn default() -> Self {
        Self { free: (0..MAX_EVENTS).rev().collect(), leaving: Vec::new(), tickets: vec![0; MAX_EVENTS] }
    }
}

impl Slots {
    /// A slot, and its next ticket.
    ///
    /// # Errors
    /// 207007 when every slot has a record that is still to come.
    pub fn take(&mut self, session: &Session) -> Result<(usize, u64)> {
        if self.free.is_empty() {
            let (reached, leaving): (Vec<_>, Vec<_>) =
                self.leaving.drain(..).partition(|&(slot, ticket)| is_reached(session, slot, ticket));
            self.leaving = leaving;
            self.free.extend(reached.into_iter().map(|(slot, _)| slot));
        }
        match self.free.pop() {
            Some(slot) => Ok((slot, self.tickets[slot] + 1)),
            None => Err(fail!(NO_EVENTS, "all {MAX_EVENTS} event slots have records that are still to come")),
        }
    }

    /// Takes back a slot whose last ticket was `ticket`.
    pub fn give(&mut self, slot: usize, ticket: u64) {
        self.tickets[slot] = ticket;
        // A slot that is near its last ticket is retired.
        if ticket + 1 < LAST_TICKET {
            self.leaving.push((slot, ticket));
        }
    }

    /// Takes back a slot of which `ticket` was taken and never recorded.
    pub fn give_unused(&mut self, slot: usize, ticket: u64) {
        self.tickets[slot] = ticket;
        self.free.push(slot);
    }
}

// The packing of a mark has room for every slot and every stream.
static_assertions::const_assert!(MAX_EVENTS <= 1 << 12);
static_assertions::const_assert!(crate::shm::MAX_STREAMS <= 1 << 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_comes_back_with_every_field_at_its_largest() {
        for mark in [
            Mark { slot: 4095, stream: 0, ticket: 0 },
            Mark { slot: 0, stream: 255, ticket: 0 },
            Mark { slot: 4095, stream: 255, ticket: LAST_TICKET - 1 },
        ] {
            assert_eq!(Mark::unpack(mark.pack()), Some(mark));
        }
        assert_eq!(Mark::unpack(DEAD), None);
    }

    #[test]
    fn the_last_ticket_of_a_slot_retires_it() {
        let mut slots = Slots::default();
        slots.give(3, LAST_TICKET - 1);
        assert!(slots.leaving.is_empty());
        slots.give(3, LAST_TICKET - 2);
        assert_eq!(slots.leaving, [(3, LAST_TICKET - 2)]);
    }
}
