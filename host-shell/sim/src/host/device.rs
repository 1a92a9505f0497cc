//! The devices of this process: counted use, and which one is current for a thread.
//!
//! ```text
//!            set_device                  started
//!   Off ───────────────────▶ Starting ────────────▶ On(users)
//!    ▲                          │ failed              │ last reset_device
//!    ├──────────────────────────┘                     ▼
//!    └─────────────────────────────────────────── Ending
//! ```
//!
//! Threads that find a device starting or ending wait for it. A device has an *era*, one per life, so that a thread whose device
//! was reset by another thread notices; a device lives for ever as an object, so nobody needs a count to look at it.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::binary::Binaries;
use super::capture::Captures;
use super::error::{Code, Result, fail};
use super::event::Events;
use super::graph::Graphs;
use super::memory::Memory;
use super::session::Session;
use super::settings::{MAX_DEVICES, Settings};
use super::stream::Streams;
use super::{fork, mapping, wait};

/// Everything known about one device.
#[derive(Debug)]
pub struct Device {
    id: u32,
    /// 0 before the first life, odd while on, even after.
    era: AtomicU32,
    life: Mutex<Life>,
    changed: Condvar,
    pub(super) memory: Mutex<Memory>,
    pub(super) streams: Streams,
    pub(super) events: Events,
    pub(super) captures: Captures,
    pub(super) graphs: Graphs,
    pub(super) binaries: Binaries,
}

#[derive(Debug)]
enum Life {
    Off,
    Starting,
    On { users: u32, session: Arc<Session>, operator_timeout_ms: u32 },
    Ending,
}

/// The devices that were ever set in this process, by id. Never freed: a device off is a few hundred kilobytes.
static DEVICES: [AtomicPtr<Device>; MAX_DEVICES] = [const { AtomicPtr::new(ptr::null_mut()) }; MAX_DEVICES];
/// The range that is reserved for each device, base and bytes: a child inherits it with its address space. Only the thread that
/// starts the device looks.
static RESERVED: [[AtomicU64; 2]; MAX_DEVICES] = [const { [const { AtomicU64::new(0) }; 2] }; MAX_DEVICES];

#[derive(Clone, Copy)]
struct Current {
    device: &'static Device,
    era: u32,
    epoch: u32,
}

thread_local! {
    static CURRENT: Cell<Option<Current>> = const { Cell::new(None) };
}

/// Locks `mutex`; a panic while it was held is answered by the fence, and what it protects is changed in one step or not at all.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Forgets every device, in a forked child.
pub(super) fn forget_all() {
    for device in &DEVICES {
        device.store(ptr::null_mut(), Ordering::Release);
    }
}

/// The calling thread's current device.
///
/// # Errors
/// 107002 when it has none, or one from before a reset or a fork.
#[inline]
pub fn current() -> Result<&'static Device> {
    match CURRENT.get() {
        Some(Current { device, era, epoch }) if epoch == fork::epoch() && era == device.era.load(Ordering::Acquire) => {
            Ok(device)
        }
        other => Err(no_current(other)),
    }
}

#[cold]
fn no_current(current: Option<Current>) -> Code {
    match current {
        None => fail!(NO_DEVICE, "no device is set for this thread"),
        Some(Current { device, epoch, .. }) if epoch != fork::epoch() => {
            fail!(NO_DEVICE, "device {} was set before fork(); a child sets its own", device.id)
        }
        Some(Current { device, .. }) => fail!(NO_DEVICE, "device {} was reset", device.id),
    }
}

/// How many devices this machine has.
///
/// # Errors
/// 107000 for a variable that is not what it must be.
pub fn count() -> Result<u32> {
    settings().map(|settings| settings.devices)
}

fn settings() -> Result<Settings> {
    Settings::from_environment().map_err(|error| fail!(PARAM_INVALID, "{error}"))
}

/// Makes device `id` current for this thread and counts one user more; the first one starts it.
///
/// # Errors
/// 107001 for a device that the machine does not have, 107000 for a wrong setting, 507033 when it cannot start.
pub fn set(id: i32) -> Result {
    let settings = settings()?;
    let device = match u32::try_from(id) {
        Ok(id) if id < settings.devices => known(id, &settings),
        Ok(_) | Err(_) => {
            let last = settings.devices - 1;
            return Err(fail!(DEVICE_ID, "device {id} does not exist, expected 0..={last}"));
        }
    };
    let mut life = lock(&device.life);
    loop {
        match &mut *life {
            Life::On { users, .. } => {
                *users += 1;
                break;
            }
            Life::Starting | Life::Ending => life = device.changed.wait(life).unwrap_or_else(PoisonError::into_inner),
            Life::Off => {
                *life = Life::Starting;
                drop(life);
                let started = device.start(&settings);
                life = lock(&device.life);
                device.changed.notify_all();
                match started {
                    Ok(session) => {
                        let operator_timeout_ms = settings.aicore_timeout_ms;
                        *life = Life::On { users: 0, session, operator_timeout_ms };
                        device.era.fetch_add(1, Ordering::Release);
                    }
                    Err(code) => {
                        *life = Life::Off;
                        return Err(code);
                    }
                }
            }
        }
    }
    CURRENT.set(Some(Current { device, era: device.era.load(Ordering::Acquire), epoch: fork::epoch() }));
    Ok(())
}

/// Takes one user away from device `id`. With the last one the device finishes what it was given, and ends.
///
/// # Errors
/// 107001 for an id that no machine has, 107002 when nobody uses the device.
pub fn reset(id: i32) -> Result {
    let unused = || fail!(NO_DEVICE, "device {id} is not set, or was reset as often as it was set");
    let slot = usize::try_from(id).ok().and_then(|id| DEVICES.get(id));
    let slot = slot.ok_or_else(|| fail!(DEVICE_ID, "device {id} does not exist"))?;
    // SAFETY: the pointer is null or a device that is never freed; it is only ever shared.
    let device = unsafe { slot.load(Ordering::Acquire).as_ref() }.ok_or_else(unused)?;
    let mut life = lock(&device.life);
    let session = match &mut *life {
        Life::Off | Life::Starting | Life::Ending => return Err(unused()),
        Life::On { users, .. } if *users > 1 => {
            *users -= 1;
            return Ok(());
        }
        Life::On { session, .. } => Arc::clone(session),
    };
    *life = Life::Ending;
    device.era.fetch_add(1, Ordering::Release);
    drop(life);
    device.end(session);
    *lock(&device.life) = Life::Off;
    device.changed.notify_all();
    Ok(())
}

/// The object of device `id`, made at its first use.
fn known(id: u32, settings: &Settings) -> &'static Device {
    let slot = &DEVICES[id as usize];
    let mut device = slot.load(Ordering::Acquire);
    if device.is_null() {
        let made = Box::into_raw(Box::new(Device::new(id, settings)));
        device = match slot.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => made,
            Err(first) => {
                // SAFETY: `made` came from `Box::into_raw` above and was shared with nobody.
                drop(unsafe { Box::from_raw(made) });
                first
            }
        };
    }
    // SAFETY: not null, made by `Box::into_raw`, never freed and only ever shared.
    unsafe { &*device }
}

impl Device {
    fn new(id: u32, settings: &Settings) -> Self {
        Self {
            id,
            era: AtomicU32::new(0),
            life: Mutex::new(Life::Off),
            changed: Condvar::new(),
            memory: Mutex::new(Memory::new(id, settings)),
            streams: Streams::default(),
            events: Events::default(),
            captures: Captures::default(),
            graphs: Graphs::default(),
            binaries: Binaries::default(),
        }
    }

    /// Number of the device.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The running process and its memory.
    ///
    /// # Errors
    /// 107002 when another thread has just reset the device.
    pub fn session(&self) -> Result<Arc<Session>> {
        match &*lock(&self.life) {
            Life::On { session, .. } => Ok(Arc::clone(session)),
            Life::Off | Life::Starting | Life::Ending => Err(fail!(NO_DEVICE, "device {} was reset", self.id)),
        }
    }

    /// How long an operator may take, in milliseconds.
    ///
    /// # Errors
    /// As [`session`](Self::session).
    pub fn operator_timeout_ms(&self) -> Result<u32> {
        match &*lock(&self.life) {
            Life::On { operator_timeout_ms, .. } => Ok(*operator_timeout_ms),
            Life::Off | Life::Starting | Life::Ending => Err(fail!(NO_DEVICE, "device {} was reset", self.id)),
        }
    }

    fn start(&'static self, settings: &Settings) -> Result<Arc<Session>> {
        reserve(self.id, settings)?;
        let session = Arc::new(Session::start(self.id, settings)?);
        *lock(&self.memory) = Memory::new(self.id, settings);
        self.events.clear();
        self.captures.clear();
        self.graphs.clear();
        self.binaries.clear();
        self.streams.open(&session);
        Ok(session)
    }

    fn end(&self, session: Arc<Session>) {
        for (index, target) in self.streams.close() {
            let completed = &session.stream(index).completed;
            // A lost device has nothing more to finish.
            if wait::until(&session, wait::Deadline::NEVER, "the device", || {
                completed.load(Ordering::Acquire) >= target
            })
            .is_err()
            {
                break;
            }
        }
        self.captures.clear();
        self.graphs.clear();
        self.binaries.clear();
        self.events.clear();
        session.end();
    }
}

/// Reserves the address range of device `id`, unless that was done in an earlier life of it.
fn reserve(id: u32, settings: &Settings) -> Result {
    let (base, bytes) = (settings.base_of(id), settings.memory_bytes);
    let [reserved_base, reserved_bytes] = &RESERVED[id as usize];
    let before = (reserved_base.load(Ordering::Relaxed), reserved_bytes.load(Ordering::Relaxed));
    if before == (base, bytes) {
        return Ok(());
    }
    if before.1 != 0 {
        mapping::give_up(before.0, before.1);
        reserved_bytes.store(0, Ordering::Relaxed);
    }
    mapping::reserve(base, bytes).map_err(|error| {
        fail!(
            DEVICE_SETUP,
            "device {id}: {bytes:#x} bytes at {base:#x} could not be reserved ({error}); set TENON_SIM_BASE"
        )
    })?;
    reserved_base.store(base, Ordering::Relaxed);
    reserved_bytes.store(bytes, Ordering::Relaxed);
    Ok(())
}

/// A number for the calling thread that no other thread of the process ever has.
pub fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}
