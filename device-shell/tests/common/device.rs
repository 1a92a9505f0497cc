//! The platform table, with AICore workers that are this process's own threads.
//!

use std::collections::HashMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use tenon_core::device::{AicoreJob, AicpuPlatform, AreaInfo};
use tenon_core::status::DispatchAnswer;
use tenon_core::wire::Mode;
use tenon_device_shell::{Platform, Shell};

use super::context::Packet;
use super::image::Image;
use super::memory::Mapping;

/// Where children run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// When the orchestration waits, on its own thread.
    Inline,
    /// At once, on a thread for each block.
    Threads,
}

/// A device with a shell of its own.
#[derive(Debug)]
pub struct Device {
    shell: Shell,
    /// Boxed, because the shell's platform table points to it.
    state: Box<State>,
}

/// What the device process knows.
#[derive(Debug)]
pub struct State {
    workers: Workers,
    areas: Mutex<Vec<AreaInfo>>,
    callable: Mutex<Vec<Range<u64>>>,
    /// Areas and images: nothing of a device is ever unmapped.
    memory: Mutex<Vec<Arc<Mapping>>>,
    started: Mutex<HashMap<u64, Vec<Started>>>,
    lines: Mutex<Vec<String>>,
    notifications: AtomicU64,
    executions_ended: AtomicU64,
}

/// A started child.
#[derive(Debug)]
enum Started {
    Queued(Box<Job>),
    Running(JoinHandle<i32>),
}

#[derive(Clone, Copy, Debug)]
struct Job(AicoreJob);

// SAFETY: the tensors that the job points to live until the launch has ended, and nobody writes them.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

pub const AICORE_COUNT: u32 = 3;

impl Device {
    pub fn new(workers: Workers) -> Self {
        let state = Box::new(State {
            workers,
            areas: Mutex::default(),
            callable: Mutex::default(),
            memory: Mutex::default(),
            started: Mutex::default(),
            lines: Mutex::default(),
            notifications: AtomicU64::new(0),
            executions_ended: AtomicU64::new(0),
        });
        let table = AicpuPlatform {
            size: u32::try_from(size_of::<AicpuPlatform>()).unwrap(),
            aicore_count: AICORE_COUNT,
            device: std::ptr::from_ref(&*state).cast_mut().cast(),
            find_area: Some(find_area),
            is_callable_memory: Some(is_callable_memory),
            notify_aicore: Some(notify_aicore),
            aicore_start: Some(aicore_start),
            aicore_wait: Some(aicore_wait),
            execution_ended: Some(execution_ended),
            log: Some(log),
        };
        // SAFETY: the functions below are what the table says, for a `device` that is a `State`, which lives as long as the shell
        // and may be used from any thread.
        let platform = unsafe { Platform::new(table) }.unwrap();
        Self { shell: Shell::new(platform), state }
    }

    /// Receives a packet of a kernel-mode context.
    pub fn launch(&self, packet: &Packet) -> DispatchAnswer {
        self.receive(packet.address(), Mode::Kernel)
    }

    /// Receives whatever is at an address, which is a packet as `Shell::exec` asks for.
    pub fn receive(&self, address: u64, mode: Mode) -> DispatchAnswer {
        let args = std::ptr::with_exposed_provenance::<c_void>(usize::try_from(address).unwrap());
        // SAFETY: tests keep packets, areas and images mapped as long as the device, and only pack code that they compiled.
        unsafe { self.shell.exec(args, mode) }
    }

    /// Registers an area, which stays as long as the device.
    pub fn register(&self, area: &Arc<Mapping>, context_generation: u64) {
        let mut areas = self.state.areas.lock().unwrap();
        let index = u32::try_from(areas.len()).unwrap();
        areas.push(AreaInfo { base: area.address(), context_generation, index, reserved: 0 });
        self.state.memory.lock().unwrap().push(Arc::clone(area));
    }

    /// Makes memory callable memory.
    pub fn make_callable(&self, range: Range<u64>) {
        self.state.callable.lock().unwrap().push(range);
    }

    /// Puts an image into callable memory, its children's code 64-aligned, where it stays as long as the device.
    pub fn upload(&self, image: &Image) -> u64 {
        let mapping = Mapping::new(32 + image.0.len());
        mapping.write(32, &image.0);
        let address = mapping.address() + 32;
        self.make_callable(address..address + image.0.len() as u64);
        self.state.memory.lock().unwrap().push(Arc::new(mapping));
        address
    }

    /// Lines of log so far.
    pub fn lines(&self) -> Vec<String> {
        self.state.lines.lock().unwrap().clone()
    }

    /// Times that AICore branches were woken.
    pub fn notifications(&self) -> u64 {
        self.state.notifications.load(Ordering::SeqCst)
    }

    /// Executions that the shell said had ended.
    pub fn executions_ended(&self) -> u64 {
        self.state.executions_ended.load(Ordering::SeqCst)
    }

    /// Lets all code go.
    pub fn unload(&self) -> bool {
        // SAFETY: tests call this when no launch is inside.
        unsafe { self.shell.unload() }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.unload();
    }
}

/// The state behind a table's `device`.
///
/// # Safety
/// `device` is the one that `Device::new` put into the table.
unsafe fn state<'a>(device: *mut c_void) -> &'a State {
    // SAFETY: this function's condition; the state is only ever borrowed, and outlives every call.
    unsafe { &*device.cast::<State>() }
}

unsafe extern "C" fn find_area(device: *mut c_void, address: u64, out: *mut AreaInfo) -> i32 {
    // SAFETY: the table's own `device`.
    let state = unsafe { state(device) };
    let areas = state.areas.lock().unwrap();
    let Some(area) = areas.iter().find(|area| (area.base..area.base + 2240).contains(&address)) else { return 0 };
    // SAFETY: the shell gives a valid place.
    unsafe { out.write(*area) };
    1
}

unsafe extern "C" fn is_callable_memory(device: *mut c_void, address: u64, bytes: u64) -> i32 {
    // SAFETY: the table's own `device`.
    let state = unsafe { state(device) };
    let end = address.checked_add(bytes).expect("the shell asks for a range that does not wrap");
    let callable = state.callable.lock().unwrap();
    i32::from(callable.iter().any(|range| range.start <= address && end <= range.end))
}

unsafe extern "C" fn notify_aicore(device: *mut c_void, _area: u64) {
    // SAFETY: the table's own `device`.
    let state = unsafe { state(device) };
    state.notifications.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn aicore_start(device: *mut c_void, area: u64, job: *const AicoreJob) -> i32 {
    // SAFETY: the table's own `device`.
    let state = unsafe { state(device) };
    // SAFETY: the shell gives a valid job.
    let job = Job(unsafe { job.read() });
    let mut started = state.started.lock().unwrap();
    let mine = started.entry(area).or_default();
    match state.workers {
        Workers::Inline => mine.push(Started::Queued(Box::new(job))),
        Workers::Threads => {
            // Children run in the order in which they were started: each thread first waits for the one before it.
            let before = mine.pop();
            mine.push(Started::Running(thread::spawn(move || {
                let before = before.map_or(0, finish);
                first_failure([before, job.run(Workers::Threads)])
            })));
        }
    }
    0
}

unsafe extern "C" fn aicore_wait(device: *mut c_void, area: u64) -> i32 {
    // SAFETY: the table's own `device`.
    let state = unsafe { state(device) };
    let mine = state.started.lock().unwrap().remove(&area).unwrap_or_default();
    first_failure(mine.into_iter().map(finish))
}

unsafe extern "C" fn execution_ended(device: *mut c_void, area: u64) {
    // SAFETY: the table's own `device`.
    let state = unsafe { state(device) };
    assert!(!state.started.lock().unwrap().contains_key(&area), "a child was left running");
    state.executions_ended.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn log(device: *mut c_void, _level: i32, text: *const u8, len: usize) {
    // SAFETY: the table's own `device`.
    let state = unsafe { state(device) };
    // SAFETY: the shell gives a line of this length.
    let line = unsafe { std::slice::from_raw_parts(text, len) };
    state.lines.lock().unwrap().push(String::from_utf8_lossy(line).into_owned());
}

fn finish(started: Started) -> i32 {
    match started {
        Started::Queued(job) => job.run(Workers::Inline),
        Started::Running(thread) => thread.join().unwrap(),
    }
}

impl Job {
    fn run_block(&self, block: u32) -> i32 {
        let Self(AicoreJob { entry, blocks, tensor_count, tensors, scalar_count, scalars, .. }) = self;
        // SAFETY: the entry is a child's, and the shell has checked the arguments against its signature.
        unsafe { entry.unwrap()(tensors.as_ptr(), *tensor_count, scalars.as_ptr(), *scalar_count, block, *blocks) }
    }

    /// Runs all blocks; the first result that is not 0, or 0.
    fn run(&self, workers: Workers) -> i32 {
        let blocks = 0..self.0.blocks;
        match workers {
            Workers::Inline => first_failure(blocks.map(|block| self.run_block(block))),
            Workers::Threads => thread::scope(|scope| {
                let threads: Vec<_> = blocks.map(|block| scope.spawn(move || self.run_block(block))).collect();
                first_failure(threads.into_iter().map(|thread| thread.join().unwrap()))
            }),
        }
    }
}

/// All results are waited for; the first that is not 0, or 0.
fn first_failure(results: impl IntoIterator<Item = i32>) -> i32 {
    results.into_iter().fold(0, |first, result| if first == 0 { result } else { first })
}
