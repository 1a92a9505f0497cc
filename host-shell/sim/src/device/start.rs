//! How the device process starts and ends.
//!
//! `tenon-sim-device --control-fd N --memory-fd N --socket-fd N`, started by the vendor library.

use std::env;
use std::os::fd::{BorrowedFd, RawFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;

use core::num::NonZeroU32;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use super::failure::{DRIVER, INVALID_PARAM};
use super::image::{Image, ImageError};
use super::log::{self, Level};
use super::mapping::{ControlFile, Machine, MapError};
use super::scheduler::Scheduler;
use super::{Device, bell, engines, exit, platform};
use crate::shm::state;

/// Stack of a thread that runs operators. Untouched pages cost nothing.
const OPERATOR_STACK_BYTES: usize = 8 << 20;
/// Name of the AICPU image's file.
const IMAGE_NAME: &str = "libtenon_aicpu.so";

/// The three descriptors of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Descriptors {
    control: RawFd,
    memory: RawFd,
    socket: RawFd,
}

impl Descriptors {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let (mut control, mut memory, mut socket) = (None, None, None);
        while let Some(name) = arguments.next() {
            let place = match name.as_str() {
                "--control-fd" => &mut control,
                "--memory-fd" => &mut memory,
                "--socket-fd" => &mut socket,
                other => return Err(format!("unknown argument {other}")),
            };
            let value = arguments.next().ok_or_else(|| format!("{name} needs the number of a descriptor"))?;
            let number = value.parse::<RawFd>().ok().filter(|number| *number >= 0);
            *place = Some(number.ok_or_else(|| format!("{name} is {value}, expected the number of a descriptor"))?);
        }
        let needed = |fd: Option<RawFd>, name| fd.ok_or_else(|| format!("{name} is missing"));
        Ok(Self {
            control: needed(control, "--control-fd")?,
            memory: needed(memory, "--memory-fd")?,
            socket: needed(socket, "--socket-fd")?,
        })
    }
}

/// Runs the device process. Gives an exit code only when nobody but the log can be told why it could not start.
#[must_use]
pub fn main() -> ExitCode {
    // The first line makes the logger read its environment, so that no later one allocates.
    log::line(Level::Debug, format_args!("starting"));
    prepare_process();
    let descriptors = match Descriptors::parse(env::args().skip(1)) {
        Ok(descriptors) => descriptors,
        Err(why) => {
            let usage = "usage: tenon-sim-device --control-fd N --memory-fd N --socket-fd N";
            log::line(Level::Error, format_args!("{why}; {usage}. The vendor library starts this program"));
            return ExitCode::from(2);
        }
    };
    match start(descriptors) {
        Ok(()) => wait_for_last_user(descriptors.socket),
        Err(error) => {
            log::line(Level::Error, format_args!("{error}"));
            ExitCode::FAILURE
        }
    }
}

/// Maps the files, loads the image and starts the threads. The host learns how it went from `Control::state`.
fn start(descriptors: Descriptors) -> Result<(), MapError> {
    // SAFETY: whoever started this process opened the descriptor for it, and nobody here closes it.
    let control_fd = unsafe { BorrowedFd::borrow_raw(descriptors.control) };
    // SAFETY: as above.
    let memory_fd = unsafe { BorrowedFd::borrow_raw(descriptors.memory) };
    let file = ControlFile::map(control_fd)?;
    let control = file.control();
    control.device_pid.store(std::process::id(), Release);
    let (result, outcome) = match start_on(file, memory_fd) {
        Ok(()) => (Ok(()), state::READY),
        Err(error) => {
            let code = match &error {
                MapError::Device { code, .. } => *code,
                MapError::Control(_) => DRIVER,
            };
            control.start_error.store(code.get(), Release);
            (Err(error), state::FAILED)
        }
    };
    // A host that has given up meanwhile has written STOPPING, which stays.
    let _ = control.state.compare_exchange(state::STARTING, outcome, AcqRel, Acquire);
    bell::ring_host(control);
    result
}

fn start_on(file: ControlFile, memory: BorrowedFd<'_>) -> Result<(), MapError> {
    let device: &'static Device = Box::leak(Box::new(Device::new(Machine::map(file, memory)?)));
    load_own_image(device)?;
    let spawn = |name: String, body: fn(&'static Device)| {
        thread::Builder::new()
            .name(name)
            .stack_size(OPERATOR_STACK_BYTES)
            .spawn(move || body(device))
            .map(drop)
            .map_err(|error| MapError::Device {
                code: DRIVER,
                what: format!("a thread of the device cannot be started: {error}"),
            })
    };
    for number in 0..device.aicpu_threads {
        spawn(format!("aicpu-{number}"), |device| engines::run_aicpu(device))?;
    }
    for number in 0..device.aicore_workers {
        spawn(format!("aicore-{number}"), |device| device.front.work(&device.control().stats))?;
    }
    spawn("copies".into(), |device| engines::run_copies(device))?;
    spawn("scheduler".into(), |device| Scheduler::new(device).run())
}

/// Loads the device's own AICPU image: `TENON_AICPU`, else beside this executable, else in `../lib`.
///
/// A device without one still copies, fills and keeps its streams in order; only calls of its entries fail.
fn load_own_image(device: &'static Device) -> Result<(), MapError> {
    let Some(path) = own_image_path() else {
        log::line(
            Level::Warning,
            format_args!("no {IMAGE_NAME} in TENON_AICPU, beside this program or in ../lib: launches will fail"),
        );
        return Ok(());
    };
    let refused =
        |code: NonZeroU32, error: ImageError| MapError::Device { code, what: format!("{}: {error}", path.display()) };
    let image = Image::load_file(&path, &platform::table(device)).map_err(|error| refused(INVALID_PARAM, error))?;
    device.binaries.install_own(image);
    Ok(())
}

fn own_image_path() -> Option<PathBuf> {
    if let Some(path) = env::var_os("TENON_AICPU") {
        return Some(path.into());
    }
    let program = env::current_exe().ok()?;
    let folder = program.parent()?;
    [folder.join(IMAGE_NAME), folder.join("../lib").join(IMAGE_NAME)].into_iter().find(|path| Path::is_file(path))
}

/// Returns never: the process ends with the last descriptor of the socket's other end.
fn wait_for_last_user(socket: RawFd) -> ! {
    let mut byte = 0_u8;
    loop {
        // SAFETY: read(2): one byte of this function's own.
        let count = unsafe { libc::read(socket, (&raw mut byte).cast(), 1) };
        let is_interrupted = count < 0 && std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted;
        if count <= 0 && !is_interrupted {
            exit();
        }
    }
}

/// Makes the process one that ends as described and leaves nothing behind.
fn prepare_process() {
    // A panic on one thread would leave the others waiting for it.
    std::panic::set_hook(Box::new(|panic| {
        log::line(Level::Error, format_args!("internal fault, the device is lost: {panic}"));
        std::process::abort();
    }));
    // A core file would hold all of device memory.
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: setrlimit(2): the limit lives through the call.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
    // A key pressed in the terminal is meant for the user of the device, with whom it ends.
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
        // SAFETY: signal(2): ignoring runs no code.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE] {
        // SAFETY: all zeroes are a valid `sigaction`.
        let mut action = unsafe { core::mem::zeroed::<libc::sigaction>() };
        action.sa_sigaction = report_crash as extern "C" fn(i32) as usize;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_ONSTACK;
        // SAFETY: sigaction(2): the handler uses `write` alone, and the action lives through the call.
        unsafe { libc::sigaction(signal, &raw const action, core::ptr::null_mut()) };
    }
}

/// Says why the device is lost; then the instruction is tried again and the signal ends the process.
extern "C" fn report_crash(_signal: i32) {
    const LINE: &[u8] = b"tenon-sim-device: error: an operator or an AICPU image has crashed, the device is lost\n";
    // SAFETY: write(2) may be called in a signal handler; the line is a constant.
    unsafe { libc::write(libc::STDERR_FILENO, LINE.as_ptr().cast(), LINE.len()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Descriptors, String> {
        Descriptors::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn three_descriptors_are_needed() {
        let all = Descriptors { control: 3, memory: 4, socket: 5 };
        assert_eq!(parse("--control-fd 3 --memory-fd 4 --socket-fd 5"), Ok(all));
        assert_eq!(parse("--socket-fd 5 --control-fd 3 --memory-fd 4"), Ok(all));
        assert_eq!(parse("--control-fd 3 --memory-fd 4"), Err("--socket-fd is missing".into()));
        assert_eq!(parse("--control-fd"), Err("--control-fd needs the number of a descriptor".into()));
        assert_eq!(parse("--control-fd -1"), Err("--control-fd is -1, expected the number of a descriptor".into()));
        assert_eq!(parse("--help"), Err("unknown argument --help".into()));
    }
}
