//! Licences and sources of everything that the workspace is built from.
//!
//! `deny.toml` says the same to cargo-deny, which `ci --full` runs: it takes minutes to install, so the ordinary run does not
//! depend on it.

use std::collections::BTreeMap;

use crate::workspace::{Package, Result, Workspace};

/// Licences under which a part may be used: each allows use and distribution in a product under Apache-2.0.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    // Per file: cbindgen, a tool that runs when headers are made and is part of nothing that is shipped.
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// The only place that packages come from.
const SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Compares every package; versions that are there twice are printed.
pub(crate) fn run(workspace: &Workspace) -> Result {
    let packages = workspace.all_packages()?;
    for (name, versions) in duplicates(&packages) {
        eprintln!("note: {name} is there in versions {}", versions.join(", "));
    }
    let problems: Vec<String> = packages.iter().filter_map(problem).collect();
    for problem in &problems {
        eprintln!("{problem}");
    }
    match problems.first() {
        None => Ok(()),
        Some(first) => Err(format!("{} packages, the first: {first}", problems.len()).into()),
    }
}

fn problem(package: &Package) -> Option<String> {
    let (name, version) = (&package.name, &package.version);
    match (&package.source, &package.license) {
        (Some(source), _) if source != SOURCE => Some(format!("{name} {version} comes from {source}")),
        (_, None) => Some(format!("{name} {version} names no licence")),
        (_, Some(licence)) if !is_allowed(licence) => Some(format!("{name} {version} is under {licence}")),
        _ => None,
    }
}

fn duplicates(packages: &[Package]) -> BTreeMap<&str, Vec<&str>> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

/// Whether an SPDX expression can be met with allowed licences alone.
fn is_allowed(expression: &str) -> bool {
    // An old spelling of "or" that some packages still have.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut tokens: Vec<&str> = spaced.split_whitespace().rev().collect();
    any_of(&mut tokens) && tokens.is_empty()
}

/// `a OR b OR …`; the tokens are a stack, the next one last.
fn any_of(tokens: &mut Vec<&str>) -> bool {
    let mut is_met = all_of(tokens);
    while tokens.pop_if(|token| *token == "OR").is_some() {
        is_met |= all_of(tokens);
    }
    is_met
}

/// `a AND b AND …`, which binds tighter.
fn all_of(tokens: &mut Vec<&str>) -> bool {
    let mut is_met = one(tokens);
    while tokens.pop_if(|token| *token == "AND").is_some() {
        is_met &= one(tokens);
    }
    is_met
}

fn one(tokens: &mut Vec<&str>) -> bool {
    match tokens.pop() {
        Some("(") => {
            let is_met = any_of(tokens);
            tokens.pop_if(|token| *token == ")").is_some() && is_met
        }
        Some(name) if tokens.pop_if(|token| *token == "WITH").is_some() => {
            let exception = tokens.pop().unwrap_or_default();
            ALLOWED.contains(&format!("{name} WITH {exception}").as_str())
        }
        Some(name) => ALLOWED.contains(&name),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_allowed_when_some_choice_of_it_is() {
        for (expression, is_met) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("GPL-3.0-only OR MIT", true),
            ("GPL-3.0-only AND MIT", false),
            ("MIT/Apache-2.0", true),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND GPL-2.0-only", false),
            ("MIT OR GPL-2.0-only AND ISC", true),
            ("Apache-2.0 WITH LLVM-exception", true),
            ("Apache-2.0 WITH Other-exception", false),
            ("(MIT", false),
            ("MIT)", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression), is_met, "{expression}");
        }
    }
}
