//! Libraries loaded at run time, each against one table of required symbols.
//!

use std::path::{Path, PathBuf};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::failure::Failure;

/// Declares the functions that a library must export.
///
/// # Grammar
///
/// `Name "prefix" { fn symbol(argument: Type, …) -> Type; … }`, with a document line for the table. The exported name is the prefix
/// followed by the symbol.
///
/// Gives a structure of function pointers, `SYMBOLS`, and `load`, which names every symbol that is missing.
macro_rules! symbol_table {
    ($(#[$meta:meta])* $name:ident $prefix:literal {
        $(fn $symbol:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty;)+
    }) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub(crate) struct $name {
            $(pub(crate) $symbol: unsafe extern "C" fn($($argument: $type),*) -> $result,)+
        }

        impl $name {
            /// The names that the library must export.
            pub(crate) const SYMBOLS: &'static [&'static str] = &[$(concat!($prefix, stringify!($symbol)),)+];

            /// Loads the library and finds every symbol.
            pub(crate) fn load(path: &std::path::Path) -> Result<Self, $crate::failure::Failure> {
                let library = $crate::library::open(path)?;
                $crate::library::require(&library, path, Self::SYMBOLS)?;
                let table = Self {
                    $($symbol: {
                        // SAFETY:
                        // 1. The symbol is a function of this type: the table is written from the header of the library that
                        //    exports the name.
                        // 2. The pointer stays valid: the library is never unloaded, see `keep`.
                        unsafe { $crate::library::function(&library, concat!($prefix, stringify!($symbol))) }
                    }?,)+
                };
                $crate::library::keep(library);
                Ok(table)
            }
        }
    };
}
pub(crate) use symbol_table;

/// Opens a library; its symbols stay its own.
pub(crate) fn open(path: &Path) -> Result<Library, Failure> {
    // SAFETY: loading runs the library's initialisers. The path is one of this project's libraries, whose initialisers are those of
    // the Rust standard library; that the file is what its name says is the user's choice of `--runtime` or of the environment.
    let opened = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    opened.map_err(|error| Failure::Library { path: path.into(), what: error.to_string() })
}

/// Names every symbol that is missing, not only the first.
pub(crate) fn require(library: &Library, path: &Path, symbols: &[&'static str]) -> Result<(), Failure> {
    let is_missing = |symbol: &&&'static str| {
        // SAFETY: the address is not used, so nothing is assumed of what is there.
        unsafe { library.get::<*const ()>(**symbol) }.is_err()
    };
    let missing: Vec<&'static str> = symbols.iter().filter(is_missing).copied().collect();
    if missing.is_empty() { Ok(()) } else { Err(Failure::Symbols { path: path.into(), symbols: missing }) }
}

/// Finds one function.
///
/// # Safety
/// `F` is the type of the function that the library exports under this name, and the library is never unloaded.
pub(crate) unsafe fn function<F: Copy>(library: &Library, symbol: &'static str) -> Result<F, Failure> {
    // SAFETY: the caller answers for the type.
    let found = unsafe { library.get::<F>(symbol) };
    found.map(|found| *found).map_err(|error| Failure::Library { path: symbol.into(), what: error.to_string() })
}

/// Leaves a library loaded until the process ends: device images may still run code of it.
pub(crate) fn keep(library: Library) {
    let _ = library.into_raw();
}

/// Where the host runtime is: `chosen`, else the environment's `TENON_RUNTIME`, else beside this program as it is staged or
/// installed, else wherever the loader finds it.
pub(crate) fn runtime_path(chosen: Option<&Path>) -> PathBuf {
    chosen.map_or_else(|| find("TENON_RUNTIME", None, "libhost_runtime.so"), Path::to_owned)
}

/// Where the simulated device is: the environment's `TENON_SIM`, else beside the runtime, else as for the runtime. The runtime
/// looks in the same order, and takes the one that is loaded already.
pub(crate) fn sim_path(runtime: &Path) -> PathBuf {
    find("TENON_SIM", runtime.parent(), "libtenon_sim.so")
}

fn find(variable: &str, first: Option<&Path>, name: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable) {
        return path.into();
    }
    let own = std::env::current_exe().ok();
    let own = own.as_deref().and_then(Path::parent);
    let places = [first.map(Path::to_owned), own.map(|directory| directory.join("../lib")), own.map(Path::to_owned)];
    let found = places.into_iter().flatten().map(|directory| directory.join(name)).find(|path| path.is_file());
    // With a name that has no directory the loader searches where it always does; there the version is part of the name.
    found.unwrap_or_else(|| PathBuf::from(format!("{name}.0")))
}
