//! Starts and ends the device process.
//!
//! It is given three descriptors: the control file, the memory file, and one end of a socket that carries nothing. When the last
//! holder of our end is gone the device process reads end-of-file and ends, whatever way its user went.

use std::ffi::{CStr, OsStr};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Name of the executable.
const EXECUTABLE: &str = "tenon-sim-device";
/// How long an ending device may take before it is killed.
const END_PATIENCE: Duration = Duration::from_secs(5);

/// Why the device process could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no such file.
    #[error("the device process {EXECUTABLE} was not found; looked for {}", list(.0))]
    Missing(Vec<PathBuf>),
    /// The system refused to run it.
    #[error("{path}: could not be started: {cause}", path = .0.display(), cause = .1)]
    Spawn(PathBuf, io::Error),
    /// The socket to it could not be made.
    #[error("the socket of the device process could not be made: {0}")]
    Socket(io::Error),
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

/// A running device process and our end of its socket.
#[derive(Debug)]
pub struct DeviceProcess {
    child: Child,
    socket: UnixStream,
    executable: PathBuf,
}

impl DeviceProcess {
    /// Starts the device process with the two files. It leads a process group of its own, so that an interrupt typed at a
    /// terminal goes to its user alone, and ends it through the socket.
    ///
    /// # Errors
    /// [`StartError`], which says where it looked.
    pub fn start(control: &OwnedFd, memory: &OwnedFd) -> Result<Self, StartError> {
        let executable = find()?;
        let (ours, theirs) = UnixStream::pair().map_err(StartError::Socket)?;
        let passed = [control.as_raw_fd(), memory.as_raw_fd(), theirs.as_raw_fd()];
        let mut command = Command::new(&executable);
        command
            .args(["--control-fd", &passed[0].to_string()])
            .args(["--memory-fd", &passed[1].to_string()])
            .args(["--socket-fd", &passed[2].to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .process_group(0);
        // SAFETY: `pass` runs between fork and exec; it calls fcntl(2) only and takes no memory and no lock.
        unsafe { command.pre_exec(move || pass(passed)) };
        let child = command.spawn().map_err(|cause| StartError::Spawn(executable.clone(), cause))?;
        Ok(Self { child, socket: ours, executable })
    }

    /// Our end of the socket.
    pub fn socket(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// Which file it runs.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// How it ended, if it has.
    pub fn exit(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(None) => None,
            Ok(Some(status)) => Some(status.to_string()),
            // Somebody else waited for all children; the process is gone all the same.
            Err(error) => Some(format!("already waited for ({error})")),
        }
    }

    /// Closes the socket, waits until the process has ended, and kills it when it will not.
    pub fn end(mut self) {
        drop(self.socket);
        let deadline = Instant::now() + END_PATIENCE;
        let mut pause = Duration::from_micros(100);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

/// Lets the three descriptors live through exec, in the child alone: the parent's stay closed for all others that it starts.
fn pass(fds: [RawFd; 3]) -> io::Result<()> {
    for fd in fds {
        // SAFETY: fcntl(2) with F_SETFD changes a flag of a descriptor number, whatever it names.
        if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn find() -> Result<PathBuf, StartError> {
    if let Some(path) = std::env::var_os("TENON_SIM_DEVICE") {
        let path = PathBuf::from(path);
        return if path.is_file() { Ok(path) } else { Err(StartError::Missing(vec![path])) };
    }
    let directory = own_directory().unwrap_or_default();
    let candidates = vec![directory.join(EXECUTABLE), directory.join("../bin").join(EXECUTABLE)];
    match candidates.iter().find(|path| path.is_file()) {
        Some(path) => Ok(path.clone()),
        None => Err(StartError::Missing(candidates)),
    }
}

/// The folder of the file that this code was loaded from.
fn own_directory() -> Option<PathBuf> {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` only looks the address up; `info` is room for its answer.
    if unsafe { libc::dladdr((own_directory as fn() -> Option<PathBuf>) as *const _, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: zeroed above, which is a valid `Dl_info` (null pointers), and filled by the call.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: `dladdr` gives the loader's own C string, which lives as long as the object that holds this code.
    let file = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = Path::new(OsStr::from_bytes(file.to_bytes())).canonicalize().ok()?;
    path.parent().map(Path::to_owned)
}
