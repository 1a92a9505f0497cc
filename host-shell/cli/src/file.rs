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
///
/// Only a regular file is replaced, with its permissions kept, and only where a link leads. A device or a pipe is written to.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failure = |source| Failure::File { path: path.into(), action: "write", source };
    let (path, permissions) = match fs::metadata(path) {
        Ok(there) if !there.is_file() => {
            return fs::OpenOptions::new()
                .write(true)
                .open(path)
                .and_then(|mut file| file.write_all(bytes))
                .map_err(failure);
        }
        Ok(there) => (&fs::canonicalize(path).map_err(failure)?, Some(there.permissions())),
        Err(_) => (&path.to_path_buf(), None),
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(name);
    let written = fs::File::create_new(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        permissions.map_or(Ok(()), |permissions| file.set_permissions(permissions))
    });
    written.and_then(|()| fs::rename(&beside, path)).map_err(|source| {
        // The half-written file is no use to anybody; that it cannot be removed would hide why it was not written.
        let _ = fs::remove_file(&beside);
        failure(source)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_device_is_written_to_and_stays_a_device() {
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        assert!(write(Path::new("/dev/full"), b"no room").is_err());
    }

    #[test]
    fn a_file_behind_a_link_is_replaced_and_keeps_its_permissions() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        write(&file, b"old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&file, &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(read(&file).unwrap(), b"new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 2, "nothing is left beside them");
    }
}
