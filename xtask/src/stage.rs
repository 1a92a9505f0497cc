//! `cargo xtask build`: puts `build/` together.
//!
//! ```text
//! build/bin/       tenon, tenon-sim-device
//! build/lib/       libhost_runtime.so.0, libtenon_sim.so.0 (and links without the number), libtenon_aicpu.so, pkgconfig/
//! build/include/   tenon/*.h
//! build/operators/ NAME/NAME.callable and what it was packed from
//! ```
//!
//! A file is replaced by renaming a complete one over it: a program that runs from here keeps the file it started with.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use xshell::cmd;

use crate::operators;
use crate::variants::{Action, Profile, VARIANTS, Variant};
use crate::workspace::{Result, Workspace, run};

/// A built file and where it goes.
struct Artifact {
    /// Which variant makes it.
    variant: &'static str,
    /// Its name in cargo's folder.
    file: &'static str,
    /// Its place below `build/`.
    place: &'static str,
    /// A second name for it, in the same folder.
    link: Option<&'static str>,
}

const ARTIFACTS: &[Artifact] = &[
    Artifact {
        variant: "tenon-device-image/host/device",
        file: "libtenon_aicpu.so",
        place: "lib/libtenon_aicpu.so",
        link: None,
    },
    Artifact {
        variant: "tenon-sim/host/export",
        file: "libtenon_sim.so",
        place: "lib/libtenon_sim.so.0",
        link: Some("libtenon_sim.so"),
    },
    Artifact { variant: "tenon-sim/host/export", file: "tenon-sim-device", place: "bin/tenon-sim-device", link: None },
    Artifact {
        variant: "tenon-host-runtime/host/export+kernel-mode",
        file: "libhost_runtime.so",
        place: "lib/libhost_runtime.so.0",
        link: Some("libhost_runtime.so"),
    },
    Artifact { variant: "tenon-cli/host/release", file: "tenon", place: "bin/tenon", link: None },
];

/// Builds the variants whose names contain one of `names` (all staged ones when there are none) and stages what they make.
pub(crate) fn build(workspace: &Workspace, names: &[String], is_debug: bool) -> Result {
    if names.is_empty() {
        let staged = VARIANTS.iter().filter(|variant| ARTIFACTS.iter().any(|a| a.variant == variant.name()));
        for variant in staged {
            build_and_stage(workspace, variant, is_debug)?;
        }
        stage_headers(workspace)?;
        return operators::build(workspace);
    }
    for name in names {
        let chosen: Vec<&Variant> = VARIANTS.iter().filter(|variant| variant.name().contains(name)).collect();
        if chosen.is_empty() {
            return Err(format!("no variant has {name} in its name; `cargo xtask build --list` prints them").into());
        }
        for variant in chosen {
            build_and_stage(workspace, variant, is_debug)?;
        }
    }
    Ok(())
}

/// `cargo build` of exactly this variant.
pub(crate) fn cargo_build(workspace: &Workspace, variant: &Variant, profile: Profile) -> Result {
    let selection = variant.selection();
    let profile = profile.cargo_name();
    run(cmd!(workspace.shell, "cargo build --quiet --profile {profile} {selection...}"))
}

fn build_and_stage(workspace: &Workspace, variant: &Variant, is_debug: bool) -> Result {
    // A device image has no other profile, and loom's flag is for tests.
    let profile = if is_debug && variant.profile == Profile::Release { Profile::Dev } else { variant.profile };
    if !variant.does(Action::Build) {
        return cargo_build(workspace, variant, profile);
    }
    cargo_build(workspace, variant, profile)?;
    let folder = workspace.target.join(profile.folder());
    for artifact in ARTIFACTS.iter().filter(|artifact| artifact.variant == variant.name()) {
        let place = workspace.build().join(artifact.place);
        put(&folder.join(artifact.file), &place)?;
        if let Some(link) = artifact.link {
            link_beside(&place, link)?;
        }
    }
    Ok(())
}

fn stage_headers(workspace: &Workspace) -> Result {
    let build = workspace.build();
    let headers = workspace.root.join("abi-headers/include/tenon");
    for entry in fs::read_dir(&headers).map_err(|error| format!("{}: {error}", headers.display()))? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new("h")) {
            put(&path, &build.join("include/tenon").join(path.file_name().unwrap_or_default()))?;
        }
    }
    for name in ["tenon-host-runtime.pc", "tenon-sim.pc"] {
        put(&workspace.root.join("abi-headers/pkgconfig").join(name), &build.join("lib/pkgconfig").join(name))?;
    }
    Ok(())
}

/// Copies `from` to `to`, which is either the old file or the new one at any moment. What is the same already stays as it is, so
/// that its time tells when it changed.
fn put(from: &Path, to: &Path) -> Result {
    let contents = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
    if fs::read(to).is_ok_and(|old| old == contents) {
        return Ok(());
    }
    let folder = to.parent().ok_or("a place needs a folder")?;
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = to.with_file_name(name);
    fs::copy(from, &new).map_err(|error| format!("copying {} to {}: {error}", from.display(), new.display()))?;
    fs::rename(&new, to).map_err(|error| format!("{}: {error}", to.display()))?;
    Ok(())
}

/// Makes `name`, in the folder of `file`, a symbolic link to it.
fn link_beside(file: &Path, name: &str) -> Result {
    let link = file.with_file_name(name);
    if link.symlink_metadata().is_ok() {
        fs::remove_file(&link)?;
    }
    std::os::unix::fs::symlink(file.file_name().unwrap_or_default(), &link)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_artifact_comes_from_a_variant_that_builds() {
        for artifact in ARTIFACTS {
            let variant = VARIANTS.iter().find(|variant| variant.name() == artifact.variant);
            assert!(variant.is_some_and(|variant| variant.does(Action::Build)), "{}", artifact.variant);
        }
    }

    #[test]
    fn a_staged_file_is_replaced_whole_and_its_link_follows() {
        let folder = tempfile::tempdir().expect("a folder");
        let (from, to) = (folder.path().join("from"), folder.path().join("lib/x.so.0"));
        for text in ["first", "second"] {
            fs::write(&from, text).expect("written");
            put(&from, &to).expect("staged");
            link_beside(&to, "x.so").expect("linked");
            assert_eq!(fs::read_to_string(folder.path().join("lib/x.so")).expect("read"), text);
            let time = fs::metadata(&to).expect("there").modified().expect("a time");
            put(&from, &to).expect("staged again");
            assert_eq!(fs::metadata(&to).expect("there").modified().expect("a time"), time, "nothing changed");
        }
        assert_eq!(fs::read_dir(folder.path().join("lib")).expect("listed").count(), 2, "nothing half-made is left");
    }
}
