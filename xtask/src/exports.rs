//! What the built libraries export and need, compared with a committed list.
//!
//! A missing symbol breaks a caller. One too many is a promise that nobody made, or, in a library that is loaded before others,
//! takes over a stranger's function. A needed library is one more thing that must be on a user's machine.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use xshell::{Shell, cmd};

use crate::variants::Variant;
use crate::workspace::{Result, Workspace};

/// One library's entry in `exports.toml`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
struct Surface {
    /// The variant that builds it.
    variant: String,
    /// Its name for the loader; none for a library that is loaded by path.
    soname: Option<String>,
    /// Every symbol that it defines for others.
    symbols: BTreeSet<String>,
    /// Libraries that it needs → why.
    needs: BTreeMap<String, String>,
    /// The newest glibc that it asks for.
    glibc_at_most: Option<String>,
}

/// Compares every library of `variant`.
pub(crate) fn check(workspace: &Workspace, variant: &Variant) -> Result {
    let text = fs::read_to_string(workspace.root.join("xtask/exports.toml"))?;
    let committed: BTreeMap<String, Surface> = toml::from_str(&text)?;
    let folder = workspace.target.join(variant.profile.folder());
    let mut own = committed.iter().filter(|(_, surface)| surface.variant == variant.name()).peekable();
    if own.peek().is_none() {
        return Err(format!("xtask/exports.toml has nothing of {}", variant.name()).into());
    }
    let problems: Vec<String> = own
        .map(|(file, expected)| Ok(differences(file, expected, &read(&workspace.shell, &folder.join(file))?)))
        .collect::<Result<Vec<_>>>()?
        .concat();
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.first() {
        None => Ok(()),
        Some(first) => {
            Err(format!("{} differences from xtask/exports.toml, the first: {first}", problems.len()).into())
        }
    }
}

/// What is there, as the tools tell it.
#[derive(Debug, Default)]
struct Found {
    soname: Option<String>,
    symbols: BTreeSet<String>,
    needs: BTreeSet<String>,
    /// The newest version of glibc named in the symbol versions.
    glibc: Option<(u32, u32)>,
}

fn read(shell: &Shell, library: &Path) -> Result<Found> {
    let symbols = cmd!(shell, "nm --dynamic --defined-only --format=posix {library}").read()?;
    let dynamic = cmd!(shell, "readelf --dynamic --wide {library}").read()?;
    let undefined = cmd!(shell, "nm --dynamic --undefined-only --format=posix {library}").read()?;
    Ok(Found {
        soname: bracketed(&dynamic, "(SONAME)").pop_first(),
        needs: bracketed(&dynamic, "(NEEDED)"),
        symbols: symbols.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect(),
        glibc: undefined.lines().filter_map(|line| version(line.split("@GLIBC_").nth(1)?)).max(),
    })
}

/// The names in brackets on the lines of `readelf --dynamic` with `tag`.
fn bracketed(text: &str, tag: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| line.contains(tag))
        .filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned()))
        .collect()
}

/// "2.34 …" as numbers, so that 2.4 comes before 2.34.
fn version(text: &str) -> Option<(u32, u32)> {
    let number = text.split(|c: char| c != '.' && !c.is_ascii_digit()).next()?;
    let mut parts = number.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

fn differences(file: &str, expected: &Surface, found: &Found) -> Vec<String> {
    let mut problems = Vec::new();
    problems.extend(expected.symbols.difference(&found.symbols).map(|name| format!("{file}: {name} is not exported")));
    problems.extend(
        found.symbols.difference(&expected.symbols).map(|name| format!("{file}: {name} is exported and not listed")),
    );
    let listed: BTreeSet<String> = expected.needs.keys().cloned().collect();
    problems.extend(listed.difference(&found.needs).map(|name| format!("{file}: {name} is listed and not needed")));
    problems.extend(found.needs.difference(&listed).map(|name| format!("{file}: needs {name}, which is not listed")));
    problems.extend(
        expected
            .needs
            .iter()
            .filter(|(_, why)| why.is_empty())
            .map(|(name, _)| format!("{file}: {name} has no reason")),
    );
    if found.soname != expected.soname {
        problems.push(format!("{file}: its SONAME is {:?}, expected {:?}", found.soname, expected.soname));
    }
    let limit = expected.glibc_at_most.as_deref().and_then(version);
    if found.glibc > limit {
        problems.push(format!("{file}: asks for glibc {:?}, expected at most {limit:?}", found.glibc));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Surface {
        Surface {
            variant: "v".into(),
            soname: Some("libx.so.0".into()),
            symbols: ["a".into(), "b".into()].into(),
            needs: [("libc.so.6".into(), "the system".into())].into(),
            glibc_at_most: Some("2.34".into()),
        }
    }

    fn found() -> Found {
        Found {
            soname: Some("libx.so.0".into()),
            symbols: ["a".into(), "b".into()].into(),
            needs: ["libc.so.6".into()].into(),
            glibc: Some((2, 17)),
        }
    }

    #[test]
    fn a_library_as_committed_has_no_differences() {
        assert_eq!(differences("libx.so", &expected(), &found()), Vec::<String>::new());
    }

    #[test]
    fn each_kind_of_difference_is_found() {
        let changes: [fn(&mut Found); 6] = [
            |found| drop(found.symbols.pop_first()),
            |found| found.symbols.extend(["c".into()]),
            |found| drop(found.needs.pop_first()),
            |found| found.needs.extend(["libm.so.6".into()]),
            |found| found.soname = None,
            |found| found.glibc = Some((2, 35)),
        ];
        for change in changes {
            let mut found = found();
            change(&mut found);
            assert_eq!(differences("libx.so", &expected(), &found).len(), 1, "{found:?}");
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(version("2.4 w") < version("2.34"));
        assert_eq!(version("2.17 U"), Some((2, 17)));
        assert_eq!(version("PRIVATE"), None);
    }

    #[test]
    fn names_are_read_from_between_brackets() {
        let text = " 0x1 (NEEDED)  Shared library: [libc.so.6]\n 0xe (SONAME)  Library soname: [libx.so.0]\n";
        assert_eq!(bracketed(text, "(NEEDED)"), ["libc.so.6".to_owned()].into());
        assert_eq!(bracketed(text, "(SONAME)"), ["libx.so.0".to_owned()].into());
    }
}
