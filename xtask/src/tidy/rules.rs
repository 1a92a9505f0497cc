//! The rules themselves, each over one file or over the workspace.
//!

use std::fs;

use super::source::{blank, words};
use super::{Exceptions, File, Problem, TOO_LONG};
use crate::workspace::{Result, Workspace};

/// Line 1 says what the file is, in at most 80 characters; line 2 is bare.
pub(crate) fn check_tagline(file: &File, _: &Exceptions) -> Vec<Problem> {
    let mut lines = file.text.lines();
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let text = first.strip_prefix("//! ").unwrap_or_default();
    if text.is_empty() || text.chars().count() > 80 {
        return vec![format!("{}:1: expected `//! ` and a tagline of at most 80 characters", file.path)];
    }
    if second != "//!" {
        return vec![format!("{}:2: expected a bare `//!` below the tagline", file.path)];
    }
    Vec::new()
}

/// `unsafe` stands only in files that are listed for it.
pub(crate) fn check_unsafe_is_listed(file: &File, exceptions: &Exceptions) -> Vec<Problem> {
    if exceptions.has_unsafe(&file.path) {
        return Vec::new();
    }
    uses_of_unsafe(file)
        .first()
        .map(|(line, _)| format!("{}:{}: `unsafe` in a file that xtask/tidy.toml does not list", file.path, line + 1))
        .into_iter()
        .collect()
}

/// Every unsafe block and implementation has its proof above it, or above the statement that it is part of.
pub(crate) fn check_unsafe_is_argued(file: &File, _: &Exceptions) -> Vec<Problem> {
    let lines: Vec<&str> = file.text.lines().collect();
    uses_of_unsafe(file)
        .into_iter()
        .filter(|(_, after)| after.starts_with('{') || after.starts_with("impl"))
        .filter(|(line, _)| !has_proof_above(&lines, *line))
        .map(|(line, _)| format!("{}:{}: expected a `SAFETY:` comment above `unsafe`", file.path, line + 1))
        .collect()
}

/// Lints are relaxed by `expect` with a reason, so that the exception goes when its cause goes.
///
/// One module that many test programs include may `allow` instead: what one of them leaves unused, another uses.
pub(crate) fn check_lint_exceptions(file: &File, _: &Exceptions) -> Vec<Problem> {
    let mut problems = Vec::new();
    let is_shared_by_tests = |line: &str| file.path.contains("/tests/") && line.contains("dead_code");
    for (number, line) in file.code.lines().enumerate() {
        let is_allowed = ["#[allow(", "#![allow(", ", allow("].iter().any(|form| line.contains(form));
        if is_allowed && !is_shared_by_tests(line) {
            problems.push(format!("{}:{}: expected `expect(…, reason = …)` and not `allow`", file.path, number + 1));
        }
    }
    problems
}

/// No test is ignored: it would show nothing. A scene is no test but the body of a process that a test starts and watches.
pub(crate) fn check_no_test_is_ignored(file: &File, _: &Exceptions) -> Vec<Problem> {
    let lines = file.code.lines().zip(file.text.lines()).enumerate();
    lines
        .filter(|(_, (code, text))| code.contains("#[ignore") && !text.contains("#[ignore = \"a scene\"]"))
        .map(|(number, _)| {
            format!("{}:{}: expected a test that runs, or `ignore = \"a scene\"`", file.path, number + 1)
        })
        .collect()
}

/// No file is longer than 800 lines, or the reason is written down.
pub(crate) fn check_length(file: &File, exceptions: &Exceptions) -> Vec<Problem> {
    let lines = file.text.lines().count();
    if lines <= TOO_LONG || exceptions.long.contains_key(&file.path) {
        return Vec::new();
    }
    vec![format!("{}: {lines} lines, expected at most {TOO_LONG}", file.path)]
}

/// Nothing is left for later.
pub(crate) fn check_nothing_is_left_for_later(file: &File, _: &Exceptions) -> Vec<Problem> {
    // Put together here, so that this file does not break its own rule.
    let words = [
        concat!("TO", "DO"),
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("XX", "X"),
        concat!("HA", "CK"),
    ];
    lines_with(file, &words, "something is left for later")
}

/// No path of one person's machine, and no host that packages come from.
pub(crate) fn check_paths_and_hosts(file: &File, _: &Exceptions) -> Vec<Problem> {
    let words = [
        concat!("/ho", "me/"),
        concat!("/ro", "ot/"),
        concat!("/wo", "rk/"),
        concat!("://index", ".crates.io"),
        concat!("://static", ".crates.io"),
        concat!("://deb", "."),
        concat!("://files", "."),
        concat!("://registry", "."),
    ];
    lines_with(file, &words, "a path of one machine, or a package host")
}

/// An exception whose file is gone, or no longer needs it, goes too.
pub(crate) fn check_exceptions_are_used(workspace: &Workspace, exceptions: &Exceptions) -> Result<Vec<Problem>> {
    let mut with_unsafe = Vec::new();
    for path in workspace.files(&[".rs"])? {
        let is_there = !words(&blank(&fs::read_to_string(&path)?), "unsafe").is_empty();
        with_unsafe.extend(is_there.then(|| workspace.relative(&path).to_string_lossy().into_owned()));
    }
    let is_used = |listed: &str| {
        with_unsafe.iter().any(|path| path == listed || listed.ends_with('/') && path.starts_with(listed))
    };
    let unused =
        exceptions.unsafe_code.keys().filter(|listed| !is_used(listed)).map(|path| (path, "a file with `unsafe`"));
    let is_long =
        |path: &str| fs::read_to_string(workspace.root.join(path)).is_ok_and(|text| text.lines().count() > TOO_LONG);
    let gone = exceptions.long.keys().filter(|path| !is_long(path)).map(|path| (path, "a file of more than 800 lines"));
    let all = exceptions.unsafe_code.iter().chain(&exceptions.long);
    let bare = all.filter(|(_, reason)| reason.is_empty()).map(|(path, _)| (path, "a reason"));
    Ok(unused.chain(gone).chain(bare).map(|(path, what)| format!("xtask/tidy.toml: {path}: expected {what}")).collect())
}

/// Each package takes the workspace's lints.
pub(crate) fn check_members_take_the_lints(workspace: &Workspace) -> Vec<Problem> {
    workspace
        .members
        .iter()
        .filter(|package| {
            let text = fs::read_to_string(&package.manifest_path).unwrap_or_default();
            !text.parse::<toml::Table>().is_ok_and(|manifest| {
                manifest.get("lints").and_then(|lints| lints.get("workspace")) == Some(&toml::Value::Boolean(true))
            })
        })
        .map(|package| format!("{}: expected `[lints] workspace = true`", package.manifest_path.display()))
        .collect()
}

fn lines_with(file: &File, words: &[&str], what: &str) -> Vec<Problem> {
    file.text
        .lines()
        .enumerate()
        .filter_map(|(number, line)| {
            let word = words.iter().find(|word| line.contains(**word))?;
            Some(format!("{}:{}: {what}: {word}", file.path, number + 1))
        })
        .collect()
}

/// Lines (from 0) with `unsafe`, and the code that follows it. Types of function pointers are not uses.
fn uses_of_unsafe(file: &File) -> Vec<(usize, &str)> {
    words(&file.code, "unsafe")
        .into_iter()
        .map(|(line, after)| (line, file.code[after..].trim_start()))
        .filter(|(_, after)| {
            let after = after.strip_prefix("extern").map_or(*after, str::trim_start);
            !after.strip_prefix("fn").is_some_and(|rest| rest.trim_start().starts_with('(')) && !is_attribute(after)
        })
        .collect()
}

/// `unsafe(no_mangle)` inside an attribute marks an export; the function below it is what can be unsafe.
fn is_attribute(after: &str) -> bool {
    after.starts_with('(')
}

/// Looks upwards, over at most four lines of the same statement, for a comment with the proof.
fn has_proof_above(lines: &[&str], line: usize) -> bool {
    if lines[line].contains("SAFETY:") {
        return true;
    }
    let mut code_lines = 0;
    for above in lines[..line].iter().rev() {
        let above = above.trim_start();
        if above.contains("SAFETY:") {
            return true;
        }
        if !above.starts_with("//") && !above.starts_with("#[") {
            code_lines += 1;
        }
        if code_lines > 4 {
            return false;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn file(text: &str) -> File {
        File { path: "a.rs".into(), text: text.into(), code: blank(text) }
    }

    fn none() -> Exceptions {
        Exceptions { unsafe_code: BTreeMap::new(), long: BTreeMap::new() }
    }

    #[test]
    fn a_file_begins_with_its_tagline_and_a_bare_line() {
        assert!(check_tagline(&file("//! What it is.\n//!\n"), &none()).is_empty());
        for text in ["use x;\n", "//!\n//!\n", "//! What.\nuse x;\n", &format!("//! {}\n//!\n", "x".repeat(81))] {
            assert_eq!(check_tagline(&file(text), &none()).len(), 1, "{text}");
        }
    }

    #[test]
    fn unsafe_needs_a_listed_file() {
        let mut listed = none();
        listed.unsafe_code.insert("a.rs".into(), "reason".into());
        let text = "fn f() { unsafe { g() } }";
        assert_eq!(check_unsafe_is_listed(&file(text), &none()).len(), 1);
        assert!(check_unsafe_is_listed(&file(text), &listed).is_empty());
        for harmless in
            ["#[unsafe(no_mangle)]", "type F = unsafe extern \"C\" fn(i32) -> i32;", "// unsafe", "\"unsafe\""]
        {
            assert!(check_unsafe_is_listed(&file(harmless), &none()).is_empty(), "{harmless}");
        }
        assert_eq!(check_unsafe_is_listed(&file("unsafe extern \"C\" fn f() {}"), &none()).len(), 1);
    }

    #[test]
    fn unsafe_needs_its_proof_nearby() {
        let proved = "// SAFETY:\n// 1. so\n// 2. and so\n// 3. and so\nlet x =\n    unsafe { f() };";
        assert!(check_unsafe_is_argued(&file(proved), &none()).is_empty());
        let bare = "let x = unsafe { f() };\n";
        assert_eq!(check_unsafe_is_argued(&file(bare), &none()).len(), 1);
        let far = format!("// SAFETY: so\n{}{bare}", "let y = 1;\n".repeat(6));
        assert_eq!(check_unsafe_is_argued(&file(&far), &none()).len(), 1, "a proof belongs to one block");
    }

    #[test]
    fn an_exception_to_a_lint_must_expect_it() {
        assert_eq!(check_lint_exceptions(&file("#[allow(dead_code)]"), &none()).len(), 1);
        assert!(check_lint_exceptions(&file("#[expect(dead_code, reason = \"so\")]"), &none()).is_empty());
    }

    #[test]
    fn only_a_scene_waits_for_another_test_to_start_it() {
        assert_eq!(check_no_test_is_ignored(&file("#[ignore = \"slow\"]"), &none()).len(), 1);
        assert_eq!(check_no_test_is_ignored(&file("#[ignore]"), &none()).len(), 1);
        assert!(check_no_test_is_ignored(&file("#[ignore = \"a scene\"]"), &none()).is_empty());
    }

    #[test]
    fn a_file_of_eight_hundred_lines_is_the_longest() {
        assert!(check_length(&file(&"x\n".repeat(800)), &none()).is_empty());
        assert_eq!(check_length(&file(&"x\n".repeat(801)), &none()).len(), 1);
    }

    #[test]
    fn what_is_left_for_later_and_private_paths_are_found() {
        assert_eq!(check_nothing_is_left_for_later(&file(concat!("// TO", "DO: x")), &none()).len(), 1);
        assert_eq!(check_paths_and_hosts(&file(concat!("let x = \"/ho", "me/me\";")), &none()).len(), 1);
        assert!(check_paths_and_hosts(&file("https://keepachangelog.com"), &none()).is_empty());
    }
}
