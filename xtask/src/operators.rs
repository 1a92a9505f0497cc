//! Compiles the operators in `tests/operators/` and packs each of them.
//!
//! One folder is one operator: `NAME/NAME.toml` describes the image, every `*.c` beside it is one shared object (the
//! orchestration or a child), compiled for the device that will load it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use xshell::cmd;

use crate::workspace::{Result, Workspace, run};

/// How operators are compiled. They use no library, so that the same sources serve a device without a loader: the compiler must
/// not turn loops into calls of `memset`, nor functions into ones that set `errno`.
const FLAGS: &[&str] = &[
    "-std=c11",
    "-O2",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fPIC",
    "-shared",
    "-nostdlib",
    "-fno-math-errno",
    "-fno-tree-loop-distribute-patterns",
];

/// Compiles and packs all of them into `build/operators/`.
pub(crate) fn build(workspace: &Workspace) -> Result {
    for source in folders(workspace)? {
        let name = source.file_name().unwrap_or_default();
        let place = workspace.build().join("operators").join(name);
        fs::create_dir_all(&place)?;
        if !is_current(workspace, &source, &place)? {
            compile(workspace, &source, &place)?;
            pack(workspace, &source, &place)?;
        }
    }
    Ok(())
}

/// Whether the packed image is newer than everything that it is made from.
fn is_current(workspace: &Workspace, source: &Path, place: &Path) -> Result<bool> {
    let Ok(image) = fs::metadata(place.join(place.file_name().unwrap_or_default()).with_extension("callable")) else {
        return Ok(false);
    };
    let mut inputs = vec![workspace.build().join("bin/tenon")];
    for folder in
        [source, &workspace.root.join("tests/operators/common"), &workspace.root.join("abi-headers/include/tenon")]
    {
        for entry in fs::read_dir(folder)? {
            inputs.push(entry?.path());
        }
    }
    let made = image.modified()?;
    inputs
        .iter()
        .map(|path| Ok(fs::metadata(path)?.modified()? < made))
        .try_fold(true, |all, one: Result<bool>| Ok(all && one?))
}

/// The folders that hold an operator, in a fixed order.
fn folders(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let root = workspace.root.join("tests/operators");
    let entries = fs::read_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| description(path).is_file()).collect();
    folders.sort();
    if folders.is_empty() {
        return Err(format!("{}: no folder NAME with a NAME.toml", root.display()).into());
    }
    Ok(folders)
}

fn description(folder: &Path) -> PathBuf {
    folder.join(folder.file_name().unwrap_or_default()).with_extension("toml")
}

fn compile(workspace: &Workspace, source: &Path, place: &Path) -> Result {
    let (include, common) = ("abi-headers/include", "tests/operators");
    let mut files: Vec<PathBuf> = fs::read_dir(source)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension() == Some(OsStr::new("c")));
    files.sort();
    for file in files {
        let object = place.join(file.file_stem().unwrap_or_default()).with_extension("so");
        let (object, file) = (workspace.relative(&object), workspace.relative(&file));
        run(cmd!(workspace.shell, "cc {FLAGS...} -I {include} -I {common} -o {object} {file}"))?;
    }
    Ok(())
}

fn pack(workspace: &Workspace, source: &Path, place: &Path) -> Result {
    let description = description(source);
    let file_name = description.file_name().unwrap_or_default();
    let staged = place.join(file_name);
    fs::copy(&description, &staged)?;
    let image = staged.with_extension("callable");
    let (staged, image) = (workspace.relative(&staged), workspace.relative(&image));
    run(cmd!(workspace.shell, "build/bin/tenon pack {staged} --out {image}"))
}
