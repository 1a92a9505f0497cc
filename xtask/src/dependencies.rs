//! Each outside package has one line in ARCHITECTURE.md.
//!

use std::collections::BTreeSet;
use std::fs;

use crate::workspace::{Result, Workspace};

/// The heading above the list.
const HEADING: &str = "## Dependencies";

/// Compares the two lists, both ways.
pub(crate) fn run(workspace: &Workspace) -> Result {
    let text = fs::read_to_string(workspace.root.join("ARCHITECTURE.md"))?;
    let described = described(&text);
    let mut used: BTreeSet<String> = workspace
        .members
        .iter()
        .flat_map(|package| &package.dependencies)
        .filter(|dependency| dependency.source.is_some())
        .map(|dependency| dependency.name.clone())
        .collect();
    used.extend(outside(&fs::read_to_string(workspace.root.join("core/fuzz/Cargo.toml"))?)?);
    let mut problems: Vec<String> = used
        .difference(&described)
        .map(|name| format!("{name} has no line in ARCHITECTURE.md under {HEADING}"))
        .collect();
    problems
        .extend(described.difference(&used).map(|name| format!("{name} is described in ARCHITECTURE.md and not used")));
    if problems.is_empty() { Ok(()) } else { Err(problems.join("; ").into()) }
}

/// What the manifest of a package outside the workspace depends on, but for packages of this repository.
fn outside(manifest: &str) -> Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse()?;
    let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    Ok(dependencies.into_iter().filter(|(_, source)| source.get("path").is_none()).map(|(name, _)| name).collect())
}

/// Names in lines ``| `name` | what it is for |`` below the heading, where the second column is not empty.
fn described(text: &str) -> BTreeSet<String> {
    let list = text.split_once(HEADING).map_or("", |(_, rest)| rest);
    let list = list.split("\n## ").next().unwrap_or_default();
    list.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .filter(|(_, purpose)| !purpose.trim_matches([' ', '|']).is_empty())
        .map(|(name, _)| name.to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_outside_the_workspace_is_read_from_its_manifest() {
        let manifest = "[dependencies]\na = \"1\"\nb = { version = \"1\" }\nc = { path = \"..\" }\n";
        assert_eq!(outside(manifest).expect("a manifest"), ["a", "b"]);
    }

    #[test]
    fn names_are_read_from_the_table_below_the_heading_alone() {
        let text = "| `a` | no |\n## Dependencies\n\n| `b` | for this |\n| `c` |  |\n## More\n| `d` | no |\n";
        assert_eq!(described(text), ["b".to_owned()].into());
    }
}
