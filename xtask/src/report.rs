//! The table that ends a run, and the one line below it.
//!

use std::fmt::Write as _;

use crate::lane::{Outcome, Row};

/// The table and, alone on the last line, the three counts.
pub(crate) fn render(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0).max(4);
    let mut text = format!("\n{:width$}  result     time   budget\n", "lane");
    for row in rows {
        let (word, reason) = match &row.outcome {
            Outcome::Pass => ("pass", String::new()),
            Outcome::Fail(reason) => ("FAIL", first_line(reason)),
            Outcome::Skip(reason) => ("skip", first_line(reason)),
        };
        let (took, budget) = (row.took.as_secs_f64(), row.budget.as_secs());
        let over = if row.took > row.budget { "  over its budget" } else { "" };
        let line = format!("{:width$}  {word}  {took:8.1} s {budget:6} s{over}  {reason}", row.name);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let count = |wanted: fn(&Outcome) -> bool| rows.iter().filter(|row| wanted(&row.outcome)).count();
    let passed = count(|outcome| *outcome == Outcome::Pass);
    let failed = count(|outcome| matches!(outcome, Outcome::Fail(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skip(_)));
    let _ = writeln!(text, "\n{passed} passed, {failed} failed, {skipped} skipped");
    text
}

fn first_line(reason: &str) -> String {
    reason.lines().next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn row(name: &str, outcome: Outcome, seconds: u64) -> Row {
        Row { name: name.into(), outcome, took: Duration::from_secs(seconds), budget: Duration::from_secs(10) }
    }

    #[test]
    fn the_last_line_counts_the_three_outcomes() {
        let text = render(&[
            row("fmt", Outcome::Pass, 1),
            row("tidy", Outcome::Fail("a.rs:1: no tagline\nmore".into()), 1),
            row("npu", Outcome::Skip("no device".into()), 0),
        ]);
        assert_eq!(text.lines().last(), Some("1 passed, 1 failed, 1 skipped"));
        assert!(text.contains("no device"), "a skip gives its reason");
        assert!(text.contains("a.rs:1: no tagline") && !text.contains("more"), "a reason is one line");
    }

    #[test]
    fn a_lane_over_its_budget_is_named_as_such() {
        let text = render(&[row("slow", Outcome::Pass, 11), row("quick", Outcome::Pass, 9)]);
        let over: Vec<&str> = text.lines().filter(|line| line.contains("over its budget")).collect();
        assert_eq!(over.len(), 1);
        assert!(over[0].starts_with("slow"));
    }
}
