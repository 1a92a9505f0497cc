//! Where things are, what the workspace contains, and how commands are run.
//!

#[cfg(test)]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use xshell::{Cmd, Shell, cmd};

/// What every part of xtask answers: a sentence for a person when it goes wrong.
pub(crate) type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

/// The repository that this program was built from.
pub(crate) struct Workspace {
    /// Runs commands, at the root.
    pub(crate) shell: Shell,
    /// The folder with the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Where cargo puts what it builds.
    pub(crate) target: PathBuf,
    /// The packages of the workspace.
    pub(crate) members: Vec<Package>,
}

/// One package, as `cargo metadata` describes it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// SPDX expression; `None` is a package that says nothing.
    pub(crate) license: Option<String>,
    /// Registry or repository; `None` for a package of this workspace.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    /// Its features and what each turns on; the guard of the variants compares.
    #[cfg(test)]
    pub(crate) features: BTreeMap<String, Vec<String>>,
    pub(crate) dependencies: Vec<Dependency>,
}

/// One entry of a package's dependency tables.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `None` for a package of this workspace.
    pub(crate) source: Option<String>,
}

/// What `cargo metadata` prints, as far as it is used here.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    target_directory: PathBuf,
    workspace_root: PathBuf,
}

impl Workspace {
    /// Asks cargo about the workspace that xtask itself belongs to.
    pub(crate) fn find() -> Result<Self> {
        let shell = Shell::new()?;
        // Cargo sets this for `cargo run`; the fallback serves a copy of the program that is started by itself.
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        shell.change_dir(manifest);
        let metadata = Self::metadata(&shell, &["--no-deps"])?;
        shell.change_dir(&metadata.workspace_root);
        Ok(Self { shell, root: metadata.workspace_root, target: metadata.target_directory, members: metadata.packages })
    }

    /// Everything that the workspace depends on, itself included.
    pub(crate) fn all_packages(&self) -> Result<Vec<Package>> {
        Ok(Self::metadata(&self.shell, &["--locked"])?.packages)
    }

    fn metadata(shell: &Shell, options: &[&str]) -> Result<Metadata> {
        let text = cmd!(shell, "cargo metadata --format-version 1 {options...}").quiet().read()?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Where a build is put together: `build/` at the root.
    pub(crate) fn build(&self) -> PathBuf {
        self.root.join("build")
    }

    /// `path` as it is written from the root, for messages.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }

    /// Every file that is, or could be, committed under one of `suffixes` (".rs"), in a fixed order.
    pub(crate) fn files(&self, suffixes: &[&str]) -> Result<Vec<PathBuf>> {
        let list = cmd!(self.shell, "git ls-files --cached --others --exclude-standard").quiet().read()?;
        let mut files: Vec<PathBuf> = list
            .lines()
            .filter(|line| suffixes.iter().any(|suffix| line.ends_with(suffix)))
            .map(|line| self.root.join(line))
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// Whether `package` has a file whose path, from the package's folder, begins with `prefix`.
    pub(crate) fn has_file(&self, package: &str, prefix: &str) -> Result<bool> {
        let member = self.members.iter().find(|member| member.name == package);
        let folder = member.and_then(|member| member.manifest_path.parent()).ok_or("no such package")?;
        let start = folder.join(prefix);
        let start = start.to_string_lossy();
        Ok(self.files(&[".rs"])?.iter().any(|path| path.to_string_lossy().starts_with(&*start)))
    }
}

/// Runs a command after printing it; its failure becomes a sentence.
pub(crate) fn run(command: Cmd<'_>) -> Result {
    command.run().map_err(Into::into)
}
