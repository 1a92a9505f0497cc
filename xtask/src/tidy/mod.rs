//! Rules for files that no compiler knows.
//!
//! Each rule is a function over one file or over the workspace; [`run`] prints all that breaks one. `xtask/tidy.toml` holds the
//! exceptions, each with its reason: a change to it is a line that a reviewer sees.

mod rules;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::workspace::{Result, Workspace};

/// Lines above which a file's length is mentioned.
const LONG: usize = 400;
/// Lines above which a file needs an exception.
const TOO_LONG: usize = 800;

/// The exceptions: path from the root → reason. A path that ends in `/` is a folder whose files are all of one nature.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Exceptions {
    /// Files that may contain `unsafe`.
    #[serde(rename = "unsafe")]
    pub(crate) unsafe_code: BTreeMap<String, String>,
    /// Files that may be longer than 800 lines.
    #[serde(default)]
    pub(crate) long: BTreeMap<String, String>,
}

impl Exceptions {
    /// Whether `path` may contain `unsafe`.
    pub(crate) fn has_unsafe(&self, path: &str) -> bool {
        self.unsafe_code
            .keys()
            .any(|listed| path == listed || listed.ends_with('/') && path.starts_with(listed.as_str()))
    }
}

/// One file, read.
pub(crate) struct File {
    /// From the root, with `/`.
    pub(crate) path: String,
    /// As it is.
    pub(crate) text: String,
    /// The same lines with comments, strings and characters blanked.
    pub(crate) code: String,
}

/// What breaks a rule: where, and what was expected.
pub(crate) type Problem = String;

/// A rule over one Rust file.
type Rule = fn(&File, &Exceptions) -> Vec<Problem>;

/// Every rule over Rust files.
const RUST_RULES: &[Rule] = &[
    rules::check_tagline,
    rules::check_unsafe_is_listed,
    rules::check_unsafe_is_argued,
    rules::check_lint_exceptions,
    rules::check_no_test_is_ignored,
    rules::check_length,
];

/// Every rule over all text files.
const TEXT_RULES: &[Rule] = &[rules::check_nothing_is_left_for_later, rules::check_paths_and_hosts];

/// Prints every problem; an error when there is one.
pub(crate) fn run(workspace: &Workspace) -> Result {
    let exceptions: Exceptions = toml::from_str(&fs::read_to_string(workspace.root.join("xtask/tidy.toml"))?)?;
    let mut problems = rules::check_exceptions_are_used(workspace, &exceptions)?;
    problems.extend(rules::check_members_take_the_lints(workspace));
    for path in workspace.files(&[".rs", ".c", ".cpp", ".h", ".toml", ".md", ".sh", ".yml", ".py", "run"])? {
        let file = read(workspace, &path)?;
        if file.path.ends_with(".rs") {
            problems.extend(RUST_RULES.iter().flat_map(|rule| rule(&file, &exceptions)));
            let lines = file.text.lines().count();
            if lines > LONG {
                eprintln!("note: {}: {lines} lines; a file that decides and acts is usually two", file.path);
            }
        }
        problems.extend(TEXT_RULES.iter().flat_map(|rule| rule(&file, &exceptions)));
    }
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.first() {
        None => Ok(()),
        Some(first) => Err(format!("{} problems, the first: {first}", problems.len()).into()),
    }
}

fn read(workspace: &Workspace, path: &Path) -> Result<File> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let code = source::blank(&text);
    Ok(File { path: workspace.relative(path).to_string_lossy().into_owned(), text, code })
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_rule_that_is_written_is_applied() {
        let (rules, here) = (include_str!("rules.rs"), include_str!("mod.rs"));
        let names: Vec<&str> = rules
            .split("fn ")
            .skip(1)
            .filter(|rest| rest.starts_with("check_"))
            .filter_map(|rest| rest.split('(').next())
            .collect();
        assert!(names.len() >= 9, "{names:?}");
        for name in names {
            assert!(here.contains(&format!("rules::{name}")), "{name} is never applied");
        }
    }
}
