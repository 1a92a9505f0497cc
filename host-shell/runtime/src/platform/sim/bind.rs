//! Finding `libtenon_sim` and binding it, once per process.
//!
//! In this order: the copy that the caller's program has loaded already, `TENON_SIM`, the directory of this library,
//! what the loader finds. The caller and this library have to drive the same simulator, so a loaded one always wins. It
//! is never unloaded: streams and events of contexts that were not closed live in it.

use core::ffi::{CStr, c_int, c_void};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use thiserror::Error;

use super::symbol::Symbols;

const SONAME: &CStr = c"libtenon_sim.so.0";

/// Why the simulator could not be bound.
#[derive(Clone, Debug, Error)]
pub enum BindError {
    /// No library was found; the loader's own words for the last place that was tried.
    #[error("cannot load libtenon_sim.so.0: {0}; set TENON_SIM to its path, or run `cargo xtask build`")]
    NotFound(String),
    /// A library was found that is not of this build.
    #[error("libtenon_sim lacks {0}: it is of another build than this library; rebuild both with `cargo xtask build`")]
    MissingSymbol(&'static str),
}

/// The calls of this process's simulator.
///
/// # Errors
/// [`BindError`]; the first answer stays, good or bad.
pub(in crate::platform) fn bound() -> Result<&'static Symbols, BindError> {
    static BOUND: OnceLock<Result<Symbols, BindError>> = OnceLock::new();
    BOUND.get_or_init(bind).as_ref().map_err(Clone::clone)
}

fn bind() -> Result<Symbols, BindError> {
    let library = load()?;
    let lookup = |name: &CStr| {
        // SAFETY:
        // 1. `library` is a handle that `dlopen` gave and that is never closed.
        // 2. `name` is terminated: it is a `CStr`.
        unsafe { libc::dlsym(library, name.as_ptr()) }
    };
    // SAFETY:
    // 1. The library has the simulator's SONAME or was named as the simulator by who set `TENON_SIM`; the names are
    //    `tenon_sim_*`, which nobody else defines, and both headers come from one tree.
    // 2. The library is never closed.
    unsafe { Symbols::bind(lookup) }.map_err(BindError::MissingSymbol)
}

fn load() -> Result<*mut c_void, BindError> {
    if let Ok(loaded) = open(SONAME, libc::RTLD_NOLOAD) {
        return Ok(loaded);
    }
    if let Some(path) = std::env::var_os("TENON_SIM").filter(|path| !path.is_empty()) {
        let path = CString::new(path.as_bytes()).map_err(|error| BindError::NotFound(error.to_string()))?;
        return open(&path, 0).map_err(BindError::NotFound);
    }
    let beside = own_directory().map(|directory| directory.join("libtenon_sim.so.0")).filter(|path| path.exists());
    if let Some(path) = beside.and_then(|path| CString::new(path.into_os_string().as_bytes()).ok()) {
        return open(&path, 0).map_err(BindError::NotFound);
    }
    open(SONAME, 0).map_err(BindError::NotFound)
}

fn open(name: &CStr, flags: c_int) -> Result<*mut c_void, String> {
    // SAFETY:
    // 1. `name` is terminated: it is a `CStr`.
    // 2. The library's initialisers run: it is the simulator, whose initialisers do nothing but register for `fork`.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | flags) };
    if library.is_null() { Err(loader_message()) } else { Ok(library) }
}

/// What the loader says of its last failure in this thread.
fn loader_message() -> String {
    // SAFETY: no requirements.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "not found".to_owned();
    }
    // SAFETY: the loader's message is terminated, and stays until the thread's next call of the loader, which comes
    // after the copy.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

/// Where the file lies that this function was loaded from.
fn own_directory() -> Option<PathBuf> {
    let mut info = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let own = own_directory as *const c_void;
    // SAFETY:
    // 1. `own` may be any address; it is only compared.
    // 2. `info` is writable for the answer.
    let found = unsafe { libc::dladdr(own, info.as_mut_ptr()) };
    // SAFETY: it was zeroed, and every field of it may be 0.
    let info = unsafe { info.assume_init() };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's name of a loaded file is terminated and stays while the file is loaded, which this
    // function's own file is.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()));
    // A bare name has no directory: it would be taken from wherever the process happens to be.
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).map(PathBuf::from)
}
