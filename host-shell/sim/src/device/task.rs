//! Tasks as the host writes them, checked before anything is done.
//!
//! A header is copied out of the shared file and judged on the copy. What comes out holds pointers to spans that exist.

use core::mem::size_of;

use tenon_core::wire::MAX_PACKET_BYTES;

use super::mapping::Machine;
use crate::shm::{self, TaskHeader, kind, place};

/// Bytes of a task's head, and the alignment of a task.
pub const HEADER_BYTES: u64 = size_of::<TaskHeader>() as u64;

/// What a task asks for.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// Event `event` reaches `ticket`.
    Record {
        /// Number of the event.
        event: usize,
        /// The ticket.
        ticket: u64,
    },
    /// Waits until event `event` has reached `ticket`.
    Wait {
        /// Number of the event.
        event: usize,
        /// The ticket.
        ticket: u64,
    },
    /// Runs the graph at this offset of the store.
    Graph(u64),
    /// Something that streams and graphs do alike.
    Work(Work),
}

/// What the engines of the device do.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Calls an AICPU entry.
    Call(Call),
    /// Takes one verdict of the area at this address.
    Aicore(u64),
    /// Moves bytes.
    Transfer(Transfer),
}

/// One call of an AICPU entry.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Which image.
    pub binary: usize,
    /// Which entry of it.
    pub entry: Entry,
    /// The arguments in the ring or in the store.
    pub args: *const u8,
    /// Bytes of the arguments, at most [`MAX_PACKET_BYTES`].
    pub args_bytes: usize,
}

/// The entries of an AICPU image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// `simpler_aicpu_kernel_exec`
    Kernel,
    /// `simpler_aicpu_exec`
    Program,
}

/// One movement of bytes; source and destination were found to exist.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Where to.
    pub destination: *mut u8,
    /// What.
    pub source: Source,
    /// How much.
    pub bytes: usize,
}

/// Where bytes come from.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// Other memory; it may overlap with the destination.
    Memory(*const u8),
    /// One value for all.
    Byte(u8),
}

// SAFETY: the pointers are into mappings that live until the process ends; which thread follows them does not matter.
unsafe impl Send for Work {}
// SAFETY: as for `Work`.
unsafe impl Send for Call {}
// SAFETY: as for `Work`.
unsafe impl Send for Transfer {}

/// Whose task it is.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// A stream's: events are the device's, graphs may be launched.
    Stream,
    /// A graph's: events are its own.
    Graph {
        /// How many it has.
        events: u32,
    },
}

/// How a task breaks the rules of [`shm`]; the numbers are what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The length cannot be that of a task, so nobody knows where the next one begins.
    #[error("bytes is {0}, expected a multiple of 64 up to {1}")]
    Length(u32, u64),
    /// A number that is no kind, or not of a task in this place.
    #[error("kind {0} is not one of a task here")]
    Kind(u32),
    /// Not the number after the last task's.
    #[error("sequence is {0}, expected {1}")]
    Sequence(u64, u64),
    /// Flags that this kind does not have, or a reserved word that is not 0.
    #[error("flags {0:#x} or a reserved word is set where 0 was expected")]
    Reserved(u32),
    /// No such event.
    #[error("event {0} does not exist")]
    Event(u64),
    /// No such binary or entry.
    #[error("binary {0} entry {1} does not exist")]
    Binary(u64, u64),
    /// More arguments than the task has bytes, or than a packet has.
    #[error("{0} bytes of arguments do not fit")]
    Arguments(u64),
    /// Memory that is not there.
    #[error("[{0:#x}, +{1:#x}) is not in the memory that it names")]
    Span(u64, u64),
    /// A graph that breaks the rules itself.
    #[error("graph at {0:#x} of the store: its header is wrong")]
    Graph(u64),
    /// No such context area.
    #[error("no context area is registered at {0:#x}")]
    Area(u64),
}

/// Bytes of the whole task, when it can be one and lies within the next `room` bytes.
///
/// # Errors
/// [`Malformed::Length`].
pub const fn extent(header: &TaskHeader, room: u64) -> Result<u64, Malformed> {
    let bytes = header.bytes as u64;
    if bytes >= HEADER_BYTES && bytes.is_multiple_of(HEADER_BYTES) && bytes <= room {
        Ok(bytes)
    } else {
        Err(Malformed::Length(header.bytes, room))
    }
}

/// Checks a task whose [`extent`] is known. `payload` points behind its header.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(machine: &Machine, owner: Owner, header: &TaskHeader, payload: *const u8) -> Result<Task, Malformed> {
    let allowed = if header.kind == kind::COPY { place::DESTINATION_PINNED | place::SOURCE_PINNED } else { 0 };
    if header.flags & !allowed != 0 || header.reserved != [0; 5] {
        return Err(Malformed::Reserved(header.flags));
    }
    let TaskHeader { a, b, .. } = *header;
    Ok(match (header.kind, owner) {
        (kind::RECORD, _) => Task::Record { event: event(owner, a)?, ticket: b },
        (kind::WAIT, _) => Task::Wait { event: event(owner, a)?, ticket: b },
        (kind::AICPU, _) => Task::Work(Work::Call(call(header, payload)?)),
        (kind::AICORE, _) => Task::Work(Work::Aicore(a)),
        (kind::COPY | kind::FILL | kind::WRITE, _) => Task::Work(Work::Transfer(transfer(machine, header, payload)?)),
        (kind::GRAPH, Owner::Stream) => Task::Graph(a),
        (other, _) => return Err(Malformed::Kind(other)),
    })
}

fn event(owner: Owner, number: u64) -> Result<usize, Malformed> {
    let count = match owner {
        Owner::Stream => shm::MAX_EVENTS as u64,
        Owner::Graph { events } => events.into(),
    };
    usize::try_from(number).ok().filter(|_| number < count).ok_or(Malformed::Event(number))
}

fn call(header: &TaskHeader, args: *const u8) -> Result<Call, Malformed> {
    let entry = match header.b {
        0 => Entry::Kernel,
        1 => Entry::Program,
        other => return Err(Malformed::Binary(header.a, other)),
    };
    let binary = usize::try_from(header.a)
        .ok()
        .filter(|binary| *binary < shm::MAX_BINARIES)
        .ok_or(Malformed::Binary(header.a, header.b))?;
    let args_bytes = payload_bytes(header)?;
    if args_bytes > MAX_PACKET_BYTES {
        return Err(Malformed::Arguments(header.c));
    }
    Ok(Call { binary, entry, args, args_bytes })
}

/// `c` as the number of bytes that follow the header.
fn payload_bytes(header: &TaskHeader) -> Result<usize, Malformed> {
    let room = u64::from(header.bytes).saturating_sub(HEADER_BYTES);
    usize::try_from(header.c).ok().filter(|_| header.c <= room).ok_or(Malformed::Arguments(header.c))
}

fn transfer(machine: &Machine, header: &TaskHeader, payload: *const u8) -> Result<Transfer, Malformed> {
    let TaskHeader { kind: this, a, b, c, flags, .. } = *header;
    let span = |is_pinned, at| {
        if is_pinned { machine.pinned(at, c) } else { machine.device(at, c) }.ok_or(Malformed::Span(at, c))
    };
    let source = match this {
        kind::COPY => Source::Memory(span(flags & place::SOURCE_PINNED != 0, b)?.cast_const()),
        kind::FILL => Source::Byte(b.to_le_bytes()[0]),
        _ => {
            payload_bytes(header)?;
            Source::Memory(payload)
        }
    };
    let destination = span(flags & place::DESTINATION_PINNED != 0, a)?;
    let bytes = usize::try_from(c).map_err(|_| Malformed::Span(a, c))?;
    Ok(Transfer { destination, source, bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(bytes: u32) -> TaskHeader {
        TaskHeader { bytes, ..TaskHeader::default() }
    }

    #[test]
    fn a_length_is_a_multiple_of_the_header_and_fits() {
        assert_eq!(extent(&header(64), 64), Ok(64));
        assert_eq!(extent(&header(128), 4096), Ok(128));
        for (bytes, room) in [(0, 64), (63, 64), (65, 128), (128, 64), (u32::MAX, 1 << 20), (64, 0)] {
            assert_eq!(extent(&header(bytes), room), Err(Malformed::Length(bytes, room)));
        }
    }

    #[test]
    fn arguments_end_inside_the_task() {
        let with = |bytes, c| payload_bytes(&TaskHeader { bytes, c, ..TaskHeader::default() });
        assert_eq!(with(128, 64), Ok(64));
        assert_eq!(with(64, 0), Ok(0));
        assert_eq!(with(128, 65), Err(Malformed::Arguments(65)));
        assert_eq!(with(128, u64::MAX), Err(Malformed::Arguments(u64::MAX)));
    }

    #[test]
    fn a_graph_has_its_own_events() {
        assert_eq!(event(Owner::Graph { events: 2 }, 1), Ok(1));
        assert_eq!(event(Owner::Graph { events: 2 }, 2), Err(Malformed::Event(2)));
        assert_eq!(event(Owner::Stream, 4095), Ok(4095));
        assert_eq!(event(Owner::Stream, 4096), Err(Malformed::Event(4096)));
    }

    #[test]
    fn an_entry_is_one_of_two() {
        let with =
            |a, b| call(&TaskHeader { kind: kind::AICPU, bytes: 64, a, b, ..TaskHeader::default() }, core::ptr::null());
        assert_eq!(with(0, 0).map(|call| call.entry), Ok(Entry::Kernel));
        assert_eq!(with(63, 1).map(|call| call.entry), Ok(Entry::Program));
        assert_eq!(with(0, 2).map(|call| call.entry), Err(Malformed::Binary(0, 2)));
        assert_eq!(with(64, 0).map(|call| call.entry), Err(Malformed::Binary(64, 0)));
    }
}
