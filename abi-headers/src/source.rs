//! Turns our sources into text that cbindgen understands.
//!
//! It reads files one by one and expands no macro. So enumerations that come from `closed_enum!` are written out here, and exports
//! that depend on a feature are made plain.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Result;

/// What stands before an exported function.
const EXPORT: &str = r#"#[cfg_attr(feature = "export", unsafe(no_mangle))]"#;

/// The Rust files that `places` name, in a fixed order; of a folder only those that export functions or are named so.
pub(crate) fn files(root: &Path, places: &[&str]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for place in places {
        let path = root.join(place);
        if path.is_dir() {
            let mut below = Vec::new();
            collect(&path, &mut below)?;
            below.sort();
            files.extend(below);
        } else if path.is_file() {
            files.push(path);
        } else {
            return Err(format!("{}: no such file", path.display()).into());
        }
    }
    Ok(files)
}

/// The files below `folder` that export functions.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && fs::read_to_string(&path)?.contains(EXPORT)
        {
            files.push(path);
        }
    }
    Ok(())
}

/// One file as cbindgen can read it.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, list)) = rest.split_once("closed_enum! {\n") {
        // The macro's own closing brace is the first one at the start of a line.
        let (list, after) = list.split_once("\n}\n").unwrap_or((list, ""));
        out.push_str(before);
        out.push_str(&enumeration(list));
        rest = after;
    }
    out.push_str(rest);
    out.replace(EXPORT, "#[unsafe(no_mangle)]")
}

/// `pub enum Name: u32 { … }` becomes `#[repr(u32)] pub enum Name { … }`.
fn enumeration(list: &str) -> String {
    let mut out = String::new();
    for line in list.lines() {
        let head = line.trim().strip_prefix("pub enum ").and_then(|head| head.strip_suffix(" {"));
        match head.and_then(|head| head.split_once(": ")) {
            Some((name, repr)) => out.push_str(&format!("#[repr({repr})]\npub enum {name} {{\n")),
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// Names of the constants that a plain text defines for others.
pub(crate) fn constants(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| Some(line.strip_prefix("pub const ")?.split_once(':')?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_enumeration_is_written_out() {
        let text = "use x;\nclosed_enum! {\n    /// What.\n    pub enum A: u8 {\n        /// One.\n        B = 1,\n    }\n}\nfn f() {}\n";
        let expected =
            "use x;\n    /// What.\n#[repr(u8)]\npub enum A {\n        /// One.\n        B = 1,\n    }\nfn f() {}\n";
        assert_eq!(plain(text), expected);
    }

    #[test]
    fn an_export_that_depends_on_a_feature_is_plain() {
        assert_eq!(plain(&format!("{EXPORT}\npub fn f() {{}}")), "#[unsafe(no_mangle)]\npub fn f() {}");
    }

    #[test]
    fn public_constants_are_found() {
        let text = "pub const A: u32 = 1;\nconst B: u32 = 2;\n    pub const C: u32 = 3;\n";
        assert_eq!(constants(text).collect::<Vec<_>>(), ["A"]);
    }
}
