//! What vendor library and device process share: two files, and their words.
//!
//! The *control file* holds [`Control`], one ring per stream, the graph store and pinned host memory. The *memory file* is the
//! device's memory. Both processes map them; every word that both touch is an atomic of fixed size, so the device process may be
//! built for another processor. Futexes on these words are never the private kind.
//!
//! A task is a [`TaskHeader`] followed by its arguments, padded to 64 bytes. It looks the same in a stream's ring and in a graph.

use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64};

use static_assertions::const_assert_eq;
use tenon_core::area::MAX_AREAS;

/// `tenonsim` in ASCII.
pub const MAGIC: u64 = u64::from_le_bytes(*b"tenonsim");
/// Changes whenever a structure of this file changes.
pub const VERSION: u32 = 2;

/// Where device memory begins in every process, unless the environment says otherwise.
/// Free in every run measured, with and without sanitizers.
pub const DEVICE_BASE: u64 = 0x5500_0000_0000;
/// Bytes of device memory, unless the environment says otherwise. Untouched pages cost nothing.
pub const DEVICE_BYTES: u64 = 8 << 30;
/// The upper part of device memory is callable memory.
pub const CALLABLE_BYTES: u64 = 2 << 30;

/// Streams that can exist at once; stream 0 is the default stream.
pub const MAX_STREAMS: usize = 256;
/// Events that can exist at once.
pub const MAX_EVENTS: usize = 4096;
/// Bytes of one stream's ring.
pub const RING_BYTES: u64 = 1 << 20;
/// Bytes of the store that graphs and binaries are placed in by the host.
pub const STORE_BYTES: u64 = 1 << 30;
/// Bytes of pinned host memory.
pub const PINNED_BYTES: u64 = 4 << 30;
/// AICPU images that can be loaded at once; 0 is the device's own.
pub const MAX_BINARIES: usize = 64;
/// Lanes (captured streams) of one graph.
pub const MAX_LANES: usize = 64;
/// Events of one graph.
pub const MAX_GRAPH_EVENTS: usize = 65_536;

/// Offset of the rings in the control file.
pub const RINGS_OFFSET: u64 = 1 << 20;
/// Offset of the store in the control file.
pub const STORE_OFFSET: u64 = RINGS_OFFSET + MAX_STREAMS as u64 * RING_BYTES;
/// Offset of pinned memory in the control file.
pub const PINNED_OFFSET: u64 = STORE_OFFSET + STORE_BYTES;
/// Bytes of the control file.
pub const CONTROL_FILE_BYTES: u64 = PINNED_OFFSET + PINNED_BYTES;

/// Values of [`Control::state`].
pub mod state {
    /// The device process has not finished starting.
    pub const STARTING: u32 = 0;
    /// It takes work.
    pub const READY: u32 = 1;
    /// It could not start; `Control::start_error` says why.
    pub const FAILED: u32 = 2;
    /// The host asked it to end.
    pub const STOPPING: u32 = 3;
}

/// Values of [`TaskHeader::kind`], with the meaning of `a`, `b`, `c`.
pub mod kind {
    /// Unused bytes up to the end of the ring.
    pub const PAD: u32 = 0;
    /// Event `a` reaches ticket `b`. In a graph `a` is the graph's own event number and `b` is 1.
    pub const RECORD: u32 = 1;
    /// Waits until event `a` has reached ticket `b`.
    pub const WAIT: u32 = 2;
    /// Calls entry `b` (0 kernel mode, 1 program mode) of binary `a` with the `c` bytes that follow.
    pub const AICPU: u32 = 3;
    /// The AICore branch: takes one verdict of the context area at device address `a`.
    pub const AICORE: u32 = 4;
    /// Copies `c` bytes from address `b` to address `a`; `flags` holds bits of [`super::place`].
    pub const COPY: u32 = 5;
    /// Fills `c` bytes at device address `a` with the low byte of `b`.
    pub const FILL: u32 = 6;
    /// Writes the `c` bytes that follow to device address `a`.
    pub const WRITE: u32 = 7;
    /// Runs the graph at offset `a` of the store.
    pub const GRAPH: u32 = 8;
}

/// Bits of [`TaskHeader::flags`] for a copy: which addresses are offsets into pinned memory instead of device addresses.
pub mod place {
    /// The destination is an offset into pinned memory.
    pub const DESTINATION_PINNED: u32 = 1;
    /// The source is an offset into pinned memory.
    pub const SOURCE_PINNED: u32 = 2;
}

/// One task. Written by the host, read by the device, never changed in between.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct TaskHeader {
    /// One of [`kind`].
    pub kind: u32,
    /// Bytes of the task with its arguments, a multiple of 64.
    pub bytes: u32,
    /// Number of the task on its stream, from 1; 0 in a graph.
    pub sequence: u64,
    /// By kind.
    pub a: u64,
    /// By kind.
    pub b: u64,
    /// By kind.
    pub c: u64,
    /// By kind.
    pub flags: u32,
    /// 0
    pub reserved: [u32; 5],
}

/// The host's and the device's ends of one stream.
#[repr(C, align(64))]
pub struct StreamControl {
    /// Bytes ever written to the ring (host).
    pub tail: AtomicU64,
    /// Tasks ever submitted (host).
    pub submitted: AtomicU64,
    /// 1 while the stream exists (host).
    pub is_open: AtomicU32,
    pad0: [u32; 11],
    /// Bytes ever consumed from the ring (device).
    pub head: AtomicU64,
    /// Tasks ever ended, in order (device).
    pub completed: AtomicU64,
    /// First failure since the host last took it, as a vendor code, else 0 (device sets, host takes).
    pub error: AtomicU32,
    /// The dispatch answer behind `error`, else 0.
    pub answer: AtomicU32,
    pad1: [u32; 10],
}

/// One event.
#[repr(C)]
pub struct EventControl {
    /// Highest ticket reached (device).
    pub reached: AtomicU64,
    /// Failure that the last record carried, as a vendor code, else 0 (device).
    pub error: AtomicU32,
    /// The dispatch answer behind `error`, else 0 (device).
    pub answer: AtomicU32,
}

/// A registered context area.
#[repr(C)]
pub struct AreaControl {
    /// Device address, or 0.
    pub base: AtomicU64,
    /// Context generation.
    pub generation: AtomicU64,
}

/// Values of [`BinaryControl::state`].
pub mod binary_state {
    /// Nothing is wanted here; an image that is still here is let go.
    pub const FREE: u32 = 0;
    /// The host asks for a load.
    pub const LOAD_ASKED: u32 = 1;
    /// The device has loaded it.
    pub const LOADED: u32 = 2;
    /// The device cannot load it.
    pub const REFUSED: u32 = 3;
}

/// An AICPU image that the host wants loaded.
#[repr(C)]
pub struct BinaryControl {
    /// Offset in the store.
    pub offset: AtomicU64,
    /// Bytes.
    pub bytes: AtomicU64,
    /// One of [`binary_state`].
    pub state: AtomicU32,
    /// Why it was refused: a vendor code.
    pub error: AtomicU32,
}

/// Counters, for tests and for `tenon doctor`.
#[repr(C)]
pub struct Stats {
    /// Times a host thread had to wake the device.
    pub host_wakes: AtomicU64,
    /// Tasks that the host submitted.
    pub host_tasks: AtomicU64,
    /// Heap allocations of the device process so far.
    pub device_allocations: AtomicU64,
    /// AICPU entries called.
    pub aicpu_calls: AtomicU64,
    /// AICore branches ended with *work*.
    pub aicore_work: AtomicU64,
    /// AICore branches ended with *leave* or by cancellation.
    pub aicore_leave: AtomicU64,
    /// AICore branches ended by time-out.
    pub aicore_timeouts: AtomicU64,
    /// Child blocks run.
    pub blocks: AtomicU64,
    /// Graph replays ended.
    pub replays: AtomicU64,
}

/// The head of the control file.
#[repr(C)]
pub struct Control {
    /// [`MAGIC`]
    pub magic: AtomicU64,
    /// [`VERSION`]
    pub version: AtomicU32,
    /// Which device of the process this is.
    pub device_id: AtomicU32,
    /// Address of device memory, in every process.
    pub device_base: AtomicU64,
    /// Bytes of device memory.
    pub device_bytes: AtomicU64,
    /// Offset in device memory where callable memory begins; it goes on to the end.
    pub callable_offset: AtomicU64,
    /// Seed of every random choice of the device.
    pub seed: AtomicU64,
    /// AICPU threads.
    pub aicpu_threads: AtomicU32,
    /// AICore workers.
    pub aicore_workers: AtomicU32,
    /// How long an AICore branch waits for a verdict, in milliseconds.
    pub aicore_timeout_ms: AtomicU32,
    /// One of [`state`].
    pub state: AtomicU32,
    /// Vendor code when `state` is FAILED.
    pub start_error: AtomicU32,
    /// Process id of the device process, in its own namespace.
    pub device_pid: AtomicU32,

    // What one side writes often and the other reads often has a cache line to itself.
    pad0: [u32; 14],
    /// Futex: the device sleeps on it. Whoever gives it work adds 1, and wakes when `device_sleeps` was 1 and it was who set it 0.
    pub device_bell: AtomicU32,
    /// 1 while the device is about to sleep or sleeps.
    pub device_sleeps: AtomicU32,
    pad1: [u32; 14],
    /// Futex: host threads sleep on it. The device adds 1 after progress and wakes all when `host_waiters` is not 0.
    pub host_bell: AtomicU32,
    /// Host threads that sleep.
    pub host_waiters: AtomicU32,

    pad2: [u32; 14],
    /// A bit for each stream that has new tasks: the host sets, the device takes.
    pub active: [AtomicU64; MAX_STREAMS / 64],
    /// Areas in use; entries below are complete.
    pub area_count: AtomicU32,
    pad: u32,
    /// Registered context areas.
    pub areas: [AreaControl; MAX_AREAS],
    /// AICPU images.
    pub binaries: [BinaryControl; MAX_BINARIES],
    /// Events.
    pub events: [EventControl; MAX_EVENTS],
    /// Streams.
    pub streams: [StreamControl; MAX_STREAMS],
    /// Counters.
    pub stats: Stats,
}

/// A lane of a graph: the tasks captured from one stream.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct GraphLane {
    /// Offset of the first task in the store.
    pub offset: u64,
    /// Bytes of all its tasks.
    pub bytes: u64,
}

/// A graph in the store. Lanes run side by side; a replay ends when all have ended.
#[repr(C)]
pub struct GraphHeader {
    /// Used entries of `lanes`.
    pub lane_count: u32,
    /// Events of the graph, numbered from 0; each is recorded once.
    pub event_count: u32,
    /// Replays submitted and not yet ended: the host adds, the device takes away.
    pub in_flight: AtomicU32,
    /// 0
    pub reserved: u32,
    /// Lanes.
    pub lanes: [GraphLane; MAX_LANES],
}

const_assert_eq!(size_of::<TaskHeader>(), 64);
const_assert_eq!(size_of::<StreamControl>(), 128);
const_assert_eq!(offset_of!(Control, device_bell) % 64, 0);
const_assert_eq!(offset_of!(Control, host_bell) % 64, 0);
const_assert_eq!(offset_of!(Control, active) % 64, 0);
static_assertions::const_assert!(size_of::<Control>() as u64 <= RINGS_OFFSET);
