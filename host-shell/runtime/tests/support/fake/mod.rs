//! A platform in memory: streams run and calls fail when a test says so.
//!
//! It keeps a journal of every call and a list of everything that lives, so a test can say what was called, in which order, and
//! that nothing is left. Streams run a task as soon as it can, or, while [`Fake::is_held`] is on, only in [`Fake::step`]: then every
//! order that a device could choose can be tried. Pinned memory is read when a copy runs, not when it is enqueued.
//!
//! [`vocabulary`] has the words that a context says; here is what stands behind them.

mod vocabulary;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Barrier, Mutex, MutexGuard};

use tenon_core::area::CANCELLED;
use tenon_core::vocabulary::{ContextEvent, EventId, HiddenStream, MemoryKind, StreamId, VendorError};

/// Streams that belong to the caller.
pub(crate) const CALLER: usize = 1;
pub(crate) const OTHER_CALLER: usize = 2;
/// The number that injected failures have, plus the number of the call.
pub(crate) const INJECTED: i32 = 500_000;

/// One call, as the journal keeps it. Streams and events are told by their role, so that journals of two runs compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    CurrentDevice,
    OperatorTimeout,
    LoadImages,
    CreateStream(HiddenStream),
    DestroyStream(Stream),
    CreateEvent(ContextEvent),
    DestroyEvent(ContextEvent),
    Wait(Stream, ContextEvent),
    Record(Stream, ContextEvent),
    LaunchAicpu(Stream),
    LaunchAicore(Stream),
    Cancel(Stream),
    Allocate(MemoryKind),
    Free(MemoryKind),
    AllocatePinned,
    FreePinned,
    WritePinned,
    Copy(Stream),
    RegisterArea,
    ReadArea,
    SetDevice,
    ResetDevice,
    LaunchProgram(Stream),
    Synchronize(Stream),
    CopyIn,
    CopyOut,
}

/// Whose stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Caller,
    OtherCaller,
    Aicpu,
    Aicore,
}

/// Something enqueued.
#[derive(Clone, Debug)]
enum Task {
    Copy { device: u64, pinned: usize, offset: usize, bytes: usize },
    Wait { event: usize, serial: u64 },
    Record { event: usize, serial: u64 },
    Cancel { area: u64 },
    Packet(Vec<u8>),
    Nothing,
}

/// A packet as the device met it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrived {
    pub(crate) packet: Vec<u8>,
    /// The generation in the slot's record when it arrived.
    pub(crate) resident_generation: u64,
    /// `cancelled` when it arrived.
    pub(crate) is_cancelled: bool,
}

#[derive(Debug, Default)]
struct Event {
    role: Option<ContextEvent>,
    recorded: u64,
    done: u64,
}

/// Everything behind the platform.
#[derive(Debug, Default)]
pub(crate) struct Fake {
    pub(crate) journal: Vec<Call>,
    /// Numbers of calls (from 1, see [`Fake::calls`]) that fail.
    pub(crate) failing: Vec<u64>,
    /// Every call from this number on fails, and says that the device is lost.
    pub(crate) lost_from: Option<u64>,
    pub(crate) calls: u64,
    pub(crate) current_device: Option<i32>,
    /// Tasks wait for [`Fake::step`].
    pub(crate) is_held: bool,
    /// Whether the platform can read an area without synchronising.
    pub(crate) is_blind: bool,
    pub(crate) arrived: Vec<Arrived>,
    pub(crate) registered: Vec<(u64, u64)>,
    /// Answer of the next program-mode run: fails its synchronise and counts a refusal with this number.
    pub(crate) refuse_next_run: Option<u32>,
    next_id: usize,
    next_address: u64,
    streams: BTreeMap<usize, (Stream, VecDeque<Task>)>,
    events: BTreeMap<usize, Event>,
    memory: BTreeMap<u64, (MemoryKind, Vec<u8>)>,
    pinned: BTreeMap<usize, Vec<u8>>,
    owned_devices: Vec<i32>,
}

/// What is alive, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Balance {
    pub(crate) streams: usize,
    pub(crate) events: usize,
    pub(crate) pinned: usize,
    pub(crate) areas: usize,
    pub(crate) images: usize,
    pub(crate) regions: usize,
    pub(crate) user: usize,
    pub(crate) devices: usize,
}

impl Fake {
    /// What lives, without the caller's streams.
    pub(crate) fn balance(&self) -> Balance {
        let count = |kind| self.memory.values().filter(|(other, _)| *other == kind).count();
        Balance {
            streams: self.streams.len() - 2,
            events: self.events.len(),
            pinned: self.pinned.len(),
            areas: count(MemoryKind::Area),
            images: count(MemoryKind::Callable),
            regions: count(MemoryKind::Arena),
            user: count(MemoryKind::User),
            devices: self.owned_devices.len(),
        }
    }

    /// Bytes of the device allocation that begins at `address`.
    pub(crate) fn device_bytes(&self, address: u64) -> &[u8] {
        &self.memory[&address].1
    }

    /// Base addresses of the device memory of a kind, in the order of their addresses.
    pub(crate) fn addresses(&self, kind: MemoryKind) -> Vec<u64> {
        self.memory.iter().filter(|(_, (other, _))| *other == kind).map(|(address, _)| *address).collect()
    }

    /// Eight bytes of device memory.
    pub(crate) fn word(&self, address: u64) -> u64 {
        u64::from_le_bytes(self.at(address, 8).try_into().unwrap())
    }

    /// Sets a word of the context area, as the device does.
    pub(crate) fn poke(&mut self, address: u64, value: u32) {
        self.at_mut(address, 4).copy_from_slice(&value.to_le_bytes());
    }

    /// The context area: there is one in each test.
    pub(crate) fn area(&self) -> u64 {
        self.addresses(MemoryKind::Area)[0]
    }

    /// Runs the next task of a stream, if it can run; whether it did.
    pub(crate) fn step(&mut self, stream: Stream) -> bool {
        let Some((id, _)) = self.streams.iter().find(|(_, (role, _))| *role == stream) else { return false };
        let id = *id;
        self.run_next(id)
    }

    /// Runs everything that can run.
    pub(crate) fn drain(&mut self) {
        let ids: Vec<usize> = self.streams.keys().copied().collect();
        while ids.iter().any(|id| self.run_next(*id)) {}
    }

    /// Tasks that no stream has run.
    pub(crate) fn waiting(&self) -> usize {
        self.streams.values().map(|(_, tasks)| tasks.len()).sum()
    }

    fn run_next(&mut self, id: usize) -> bool {
        let Some(task) = self.streams.get(&id).and_then(|(_, tasks)| tasks.front().cloned()) else { return false };
        match task {
            Task::Wait { event, serial } if self.events.get(&event).is_some_and(|event| event.done < serial) => {
                return false;
            }
            Task::Wait { .. } | Task::Nothing => {}
            Task::Record { event, serial } => {
                if let Some(event) = self.events.get_mut(&event) {
                    event.done = event.done.max(serial);
                }
            }
            Task::Copy { device, pinned, offset, bytes } => {
                let from = self.pinned[&pinned][offset..offset + bytes].to_vec();
                self.at_mut(device, bytes).copy_from_slice(&from);
            }
            Task::Cancel { area } => self.poke(area + CANCELLED, 1),
            Task::Packet(packet) => {
                let record = u64::from_le_bytes(packet[8..16].try_into().unwrap());
                let area = self.addresses(MemoryKind::Area).into_iter().rfind(|area| *area <= record).unwrap();
                self.arrived.push(Arrived {
                    resident_generation: self.word(record),
                    is_cancelled: self.at(area + CANCELLED, 4) != [0; 4],
                    packet,
                });
            }
        }
        self.streams.get_mut(&id).unwrap().1.pop_front();
        true
    }

    fn at(&self, address: u64, bytes: usize) -> &[u8] {
        let (base, (_, memory)) = self.memory.range(..=address).next_back().expect("a device address");
        let offset = usize::try_from(address - base).unwrap();
        &memory[offset..offset + bytes]
    }

    fn at_mut(&mut self, address: u64, bytes: usize) -> &mut [u8] {
        let (base, (_, memory)) = self.memory.range_mut(..=address).next_back().expect("a device address");
        let offset = usize::try_from(address - base).unwrap();
        &mut memory[offset..offset + bytes]
    }

    /// Notes a call; fails it if a test wants that.
    fn call(&mut self, call: Call) -> Result<(), VendorError> {
        self.journal.push(call);
        self.calls += 1;
        let is_device_lost = self.lost_from.is_some_and(|first| self.calls >= first);
        if is_device_lost || self.failing.contains(&self.calls) {
            let code = INJECTED + i32::try_from(self.calls).unwrap();
            return Err(VendorError { code, call: "injected", is_device_lost });
        }
        Ok(())
    }

    fn enqueue(&mut self, stream: StreamId, task: Task) {
        self.streams.get_mut(&stream.to_bits()).expect("a stream that lives").1.push_back(task);
        if !self.is_held {
            self.drain();
        }
    }

    fn stream(&self, stream: StreamId) -> Stream {
        self.streams.get(&stream.to_bits()).expect("a stream that lives").0
    }

    fn event(&self, event: EventId) -> ContextEvent {
        self.events.get(&event.to_bits()).and_then(|event| event.role).expect("an event that lives")
    }

    fn new_id(&mut self) -> usize {
        self.next_id += 1;
        self.next_id
    }
}

/// The platform: a share of a [`Fake`].
#[derive(Clone, Debug)]
pub(crate) struct FakePlatform {
    fake: Arc<Mutex<Fake>>,
    gate: Option<Arc<Gate>>,
}

/// A place inside a vendor call where a launch meets a test: once when it has come, once to go on.
#[derive(Debug)]
pub(crate) struct Gate {
    pub(crate) reached: Barrier,
    pub(crate) opened: Barrier,
}

impl FakePlatform {
    /// Device 0 is current, and two streams of the caller are there.
    pub(crate) fn new() -> Self {
        let mut fake =
            Fake { current_device: Some(0), next_id: 100, next_address: 0x5500_0000_0000, ..Fake::default() };
        fake.streams.insert(CALLER, (Stream::Caller, VecDeque::new()));
        fake.streams.insert(OTHER_CALLER, (Stream::OtherCaller, VecDeque::new()));
        Self { fake: Arc::new(Mutex::new(fake)), gate: None }
    }

    /// The same platform, whose launches stop in the vendor's call for AICore.
    pub(crate) fn with_gate(self) -> (Self, Arc<Gate>) {
        let gate = Arc::new(Gate { reached: Barrier::new(2), opened: Barrier::new(2) });
        (Self { gate: Some(Arc::clone(&gate)), ..self }, gate)
    }

    /// Looks at what is behind the platform, or changes it.
    pub(crate) fn fake(&self) -> MutexGuard<'_, Fake> {
        self.fake.lock().unwrap()
    }

    /// From now on the `nth` call (from 1) fails.
    pub(crate) fn fail(&self, nth: u64) {
        let mut fake = self.fake();
        let number = fake.calls + nth;
        fake.failing.push(number);
    }

    /// Calls made since `before` of them.
    pub(crate) fn journal_since(&self, before: usize) -> Vec<Call> {
        self.fake().journal[before..].to_vec()
    }
}
