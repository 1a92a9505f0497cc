//! A host in miniature: drives the device process through the shared files.
//!

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use tenon_sim::shm::{self, Control, GraphHeader, GraphLane, TaskHeader, kind, state};

use crate::task::{Task, task};

/// Bytes of device memory in these tests; the upper half is callable memory.
pub(crate) const MEMORY_BYTES: u64 = 64 << 20;
/// How long a test waits for something before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a device is started with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) aicpu_threads: u32,
    pub(crate) aicore_workers: u32,
    pub(crate) aicore_timeout_ms: u32,
    pub(crate) seed: u64,
    pub(crate) image: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        Self { aicpu_threads: 2, aicore_workers: 2, aicore_timeout_ms: 60_000, seed: 1, image: fake_image() }
    }
}

/// The path of the compiled `fake_aicpu.c`.
pub(crate) fn fake_image() -> PathBuf {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/device_process/fake_aicpu.c");
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let path = folder.join(format!("fake_aicpu-{}.so", std::process::id()));
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let status = Command::new(&compiler)
            .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
            .args([path.as_path(), source.as_ref()])
            .status()
            .unwrap_or_else(|error| panic!("{compiler}: {error}; set CC to a C compiler"));
        assert!(status.success(), "{compiler} {source}: {status}");
        path
    })
    .clone()
}

/// A running device process and both files.
pub(crate) struct Machine {
    control: *mut u8,
    memory: *mut u8,
    child: Child,
    socket: Option<UnixStream>,
    next_store: u64,
    next_memory: u64,
}

impl Machine {
    /// Starts a device that has to become ready.
    pub(crate) fn start(settings: &Settings) -> Self {
        let machine = Self::try_start(settings, |_| {});
        assert_eq!(machine.control().state.load(SeqCst), state::READY);
        machine
    }

    /// Starts a device with a control file that was changed by `change`, and waits until it is no longer starting.
    pub(crate) fn try_start(settings: &Settings, change: impl FnOnce(&Control)) -> Self {
        let control_file = memory_file(c"control", shm::CONTROL_FILE_BYTES);
        let memory_file = memory_file(c"memory", MEMORY_BYTES);
        let control = map(&control_file, shm::CONTROL_FILE_BYTES);
        let memory = map(&memory_file, MEMORY_BYTES);
        // SAFETY: mapped above, zeroed, larger than `Control`, all of whose words are atomics.
        let words = unsafe { &*control.cast::<Control>() };
        words.magic.store(shm::MAGIC, SeqCst);
        words.version.store(shm::VERSION, SeqCst);
        words.device_base.store(shm::DEVICE_BASE, SeqCst);
        words.device_bytes.store(MEMORY_BYTES, SeqCst);
        words.callable_offset.store(MEMORY_BYTES / 2, SeqCst);
        words.seed.store(settings.seed, SeqCst);
        words.aicpu_threads.store(settings.aicpu_threads, SeqCst);
        words.aicore_workers.store(settings.aicore_workers, SeqCst);
        words.aicore_timeout_ms.store(settings.aicore_timeout_ms, SeqCst);
        change(words);
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        let fds = [control_file.as_raw_fd(), memory_file.as_raw_fd(), theirs.as_raw_fd()];
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenon-sim-device"));
        command.env("TENON_AICPU", &settings.image);
        for (name, fd) in ["--control-fd", "--memory-fd", "--socket-fd"].iter().zip(fds) {
            command.arg(name).arg(fd.to_string());
        }
        // SAFETY: `keep_open` makes one system call and no allocation: allowed between fork and exec.
        unsafe { command.pre_exec(move || fds.into_iter().try_for_each(keep_open)) };
        let child = command.spawn().expect("the device process starts");
        drop(theirs);
        let mut machine = Self { control, memory, child, socket: Some(ours), next_store: 0, next_memory: 4096 };
        let deadline = Instant::now() + PATIENCE;
        while machine.control().state.load(SeqCst) == state::STARTING {
            if machine.child.try_wait().expect("a child").is_some() {
                break;
            }
            assert!(Instant::now() < deadline, "the device does not become ready");
            machine.sleep(machine.control().host_bell.load(SeqCst));
        }
        machine
    }

    pub(crate) fn control(&self) -> &Control {
        // SAFETY: mapped for the life of `self`; all words are atomics.
        unsafe { &*self.control.cast::<Control>() }
    }

    /// Writes a task into a ring and counts it, without telling the device.
    pub(crate) fn push(&self, stream: usize, task: &Task) {
        let control = &self.control().streams[stream];
        let bytes = (64 + task.payload.len() as u64).next_multiple_of(64);
        let mut tail = control.tail.load(SeqCst);
        let rest = shm::RING_BYTES - tail % shm::RING_BYTES;
        let needed = if rest < bytes { rest + bytes } else { bytes };
        self.until(|| tail + needed - control.head.load(SeqCst) <= shm::RING_BYTES);
        if rest < bytes {
            let pad =
                TaskHeader { kind: kind::PAD, bytes: u32::try_from(rest).expect("small"), ..TaskHeader::default() };
            self.put(Self::ring(stream, tail), &pad, &[]);
            tail += rest;
        }
        let sequence = control.submitted.load(SeqCst) + 1;
        let mut header = TaskHeader { sequence, ..task.header };
        if header.bytes == 0 {
            header.bytes = u32::try_from(bytes).expect("small");
        }
        self.put(Self::ring(stream, tail), &header, &task.payload);
        control.submitted.store(sequence, SeqCst);
        control.tail.store(tail + bytes, SeqCst);
    }

    /// Tells the device that these streams have tasks.
    pub(crate) fn ring_bell(&self, streams: &[usize]) {
        for stream in streams {
            self.control().active[stream / 64].fetch_or(1 << (stream % 64), SeqCst);
        }
        self.control().device_bell.fetch_add(1, SeqCst);
        if self.control().device_sleeps.swap(0, SeqCst) == 1 {
            self.control().stats.host_wakes.fetch_add(1, SeqCst);
            // SAFETY: futex(2): an aligned word of a live mapping.
            unsafe { libc::syscall(libc::SYS_futex, self.control().device_bell.as_ptr(), libc::FUTEX_WAKE, 1) };
        }
    }

    /// Submits tasks to one stream.
    pub(crate) fn submit(&self, stream: usize, tasks: &[Task]) {
        for task in tasks {
            self.push(stream, task);
            self.ring_bell(&[stream]);
        }
    }

    /// Submits tasks, waits for them, and takes the stream's failure: code and answer.
    pub(crate) fn run(&self, stream: usize, tasks: &[Task]) -> Option<(u32, u32)> {
        self.submit(stream, tasks);
        self.synchronize(stream)
    }

    /// Waits until a stream has done everything, and takes its failure.
    pub(crate) fn synchronize(&self, stream: usize) -> Option<(u32, u32)> {
        let control = &self.control().streams[stream];
        self.until(|| control.completed.load(SeqCst) == control.submitted.load(SeqCst));
        match control.error.swap(0, SeqCst) {
            0 => None,
            code => Some((code, control.answer.swap(0, SeqCst))),
        }
    }

    /// Waits until `is_met`, as a host thread does: asleep, woken by the device.
    pub(crate) fn until(&self, is_met: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let seen = self.control().host_bell.load(SeqCst);
            if is_met() {
                return;
            }
            assert!(Instant::now() < deadline, "waited too long");
            self.sleep(seen);
        }
    }

    fn sleep(&self, seen: u32) {
        let control = self.control();
        control.host_waiters.fetch_add(1, SeqCst);
        let limit = libc::timespec { tv_sec: 0, tv_nsec: 20_000_000 };
        // SAFETY: futex(2): an aligned word of a live mapping, and a `timespec` of this function.
        unsafe { libc::syscall(libc::SYS_futex, control.host_bell.as_ptr(), libc::FUTEX_WAIT, seen, &raw const limit) };
        control.host_waiters.fetch_sub(1, SeqCst);
    }

    /// Reserves zeroed device memory; gives its device address, 64-aligned.
    pub(crate) fn allocate(&mut self, bytes: u64) -> u64 {
        let at = self.next_memory;
        self.next_memory += bytes.next_multiple_of(64);
        assert!(self.next_memory <= MEMORY_BYTES / 2, "out of device memory");
        shm::DEVICE_BASE + at
    }

    /// Reads a word of device memory.
    pub(crate) fn read(&self, address: u64) -> u64 {
        // SAFETY: inside device memory, 8-aligned; the device may write it, so it is read as it is at this moment.
        unsafe { self.in_memory(address).read_volatile() }
    }

    /// Writes a word of device memory.
    pub(crate) fn poke(&self, address: u64, value: u64) {
        // SAFETY: as in `read`.
        unsafe { self.in_memory(address).write_volatile(value) };
    }

    fn in_memory(&self, address: u64) -> *mut u64 {
        let offset = address - shm::DEVICE_BASE;
        assert!(offset + 8 <= MEMORY_BYTES && offset.is_multiple_of(8));
        self.memory.wrapping_add(usize::try_from(offset).expect("64-bit")).cast()
    }

    /// Entries of a log that the fake image has written.
    pub(crate) fn log(&self, address: u64) -> Vec<u64> {
        (1..=self.read(address)).map(|entry| self.read(address + 8 * entry)).collect()
    }

    /// Registers a context area; gives its address.
    pub(crate) fn register_area(&mut self, generation: u64) -> u64 {
        let base = self.allocate(2240);
        let control = self.control();
        let index = control.area_count.load(SeqCst);
        let entry = &control.areas[index as usize];
        entry.base.store(base, SeqCst);
        entry.generation.store(generation, SeqCst);
        control.area_count.store(index + 1, SeqCst);
        self.poke(base, generation);
        base
    }

    /// Puts bytes into the store; gives their offset.
    pub(crate) fn store(&mut self, bytes: &[u8]) -> u64 {
        let at = self.next_store;
        self.next_store = (at + bytes.len() as u64).next_multiple_of(64);
        self.copy_in(shm::STORE_OFFSET + at, bytes);
        at
    }

    /// Puts a graph into the store; gives its offset.
    pub(crate) fn graph(&mut self, lanes: &[Vec<Task>], events: u32) -> u64 {
        let lanes: Vec<GraphLane> = lanes
            .iter()
            .map(|tasks| {
                let offset = self.next_store;
                for task in tasks {
                    let bytes = (64 + task.payload.len()).next_multiple_of(64);
                    let at = self.store(&vec![0; bytes]);
                    let mut header = task.header;
                    if header.bytes == 0 {
                        header.bytes = u32::try_from(bytes).expect("small");
                    }
                    self.put(shm::STORE_OFFSET + at, &header, &task.payload);
                }
                GraphLane { offset, bytes: self.next_store - offset }
            })
            .collect();
        let at = self.store(&[0; size_of::<GraphHeader>()]);
        let words: [u32; 4] = [u32::try_from(lanes.len()).expect("small"), events, 0, 0];
        let mut header: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        header.extend(lanes.iter().flat_map(|lane| [lane.offset, lane.bytes]).flat_map(u64::to_le_bytes));
        self.copy_in(shm::STORE_OFFSET + at, &header);
        at
    }

    /// The task that replays a graph, counted as in flight.
    pub(crate) fn replay(&self, graph: u64) -> Task {
        self.in_flight(graph).fetch_add(1, SeqCst);
        task(kind::GRAPH, graph, 0, 0)
    }

    /// Replays of a graph that have not ended.
    pub(crate) fn in_flight(&self, graph: u64) -> &std::sync::atomic::AtomicU32 {
        let at = self.in_control(shm::STORE_OFFSET + graph + std::mem::offset_of!(GraphHeader, in_flight) as u64);
        // SAFETY: in the store, 4-aligned, an atomic for both sides.
        unsafe { std::sync::atomic::AtomicU32::from_ptr(at.cast()) }
    }

    /// Changes a word of the store.
    pub(crate) fn poke_store(&self, offset: u64, value: u32) {
        self.copy_in(shm::STORE_OFFSET + offset, &value.to_le_bytes());
    }

    /// Where a byte of pinned memory is for this process.
    pub(crate) fn pinned(&self, offset: u64) -> *mut u8 {
        self.in_control(shm::PINNED_OFFSET + offset)
    }

    fn ring(stream: usize, tail: u64) -> u64 {
        shm::RINGS_OFFSET + stream as u64 * shm::RING_BYTES + tail % shm::RING_BYTES
    }

    fn put(&self, at: u64, header: &TaskHeader, payload: &[u8]) {
        // SAFETY: in a ring or in the store, 64-aligned; the device does not read it before it is submitted.
        unsafe { self.in_control(at).cast::<TaskHeader>().write(*header) };
        self.copy_in(at + 64, payload);
    }

    fn copy_in(&self, at: u64, bytes: &[u8]) {
        assert!(at + bytes.len() as u64 <= shm::CONTROL_FILE_BYTES);
        // SAFETY: inside the control file, and the device does not read it yet.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.in_control(at), bytes.len()) };
    }

    fn in_control(&self, at: u64) -> *mut u8 {
        self.control.wrapping_add(usize::try_from(at).expect("64-bit"))
    }

    /// Lets go of the device as its last user does; gives how the process ended.
    pub(crate) fn hang_up(&mut self) -> ExitStatus {
        self.socket = None;
        self.child.wait().expect("a child")
    }

    /// How the process ended, waiting for it.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.child.wait().expect("a child")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.hang_up();
        // SAFETY: mapped in `try_start`, unmapped once; nothing borrowed from `self` is left.
        unsafe { libc::munmap(self.control.cast(), usize::try_from(shm::CONTROL_FILE_BYTES).expect("64-bit")) };
        // SAFETY: as above.
        unsafe { libc::munmap(self.memory.cast(), usize::try_from(MEMORY_BYTES).expect("64-bit")) };
    }
}

fn keep_open(fd: RawFd) -> io::Result<()> {
    // SAFETY: fcntl(2) on a descriptor that is open in the child.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn memory_file(name: &CStr, bytes: u64) -> File {
    // SAFETY: memfd_create(2): a C string.
    let fd = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    assert!(fd >= 0, "{}", io::Error::last_os_error());
    // SAFETY: just made, owned by nobody else.
    let file = unsafe { File::from_raw_fd(fd) };
    file.set_len(bytes).expect("a sparse file");
    file
}

fn map(file: &File, bytes: u64) -> *mut u8 {
    let len = usize::try_from(bytes).expect("64-bit");
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
    // SAFETY: mmap(2) without a fixed address changes no memory in use.
    let base = unsafe { libc::mmap(ptr::null_mut(), len, protection, flags, file.as_raw_fd(), 0) };
    assert_ne!(base, libc::MAP_FAILED, "{}", io::Error::last_os_error());
    base.cast()
}
