//! Reading and writing whole files, with errors that name them.
//!

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::failure::Failure;

/// Reads a file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|source| Failure::File { path: path.into(), action: "read", source })
}

/// Writes a file so that nobody sees half of it: beside its place first, then renamed into it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failure = |source| Failure::File { path: path.into(), action: "write", source };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(name);
    let written = fs::File::create_new(&beside).and_then(|mut file| file.write_all(bytes));
    written.and_then(|()| fs::rename(&beside, path)).map_err(|source| {
        // The half-written file is no use to anybody; that it cannot be removed would hide why it was not written.
        let _ = fs::remove_file(&beside);
        failure(source)
    })
}
