//! `cargo xtask ci`: every lane, one after the other, to the end, and one table.
//!
//! Lanes come from two places: the fixed ones below, and one for each variant of [`VARIANTS`]. A failed lane does not stop the
//! others: the table tells all that is wrong at once.

use std::process::ExitCode;

use clap::Args;
use xshell::cmd;

use crate::lane::{Lane, Outcome, Row};
use crate::needs::Need;
use crate::variants::{Action, Profile, VARIANTS, Variant};
use crate::workspace::{Result, Workspace, run as run_command};
use crate::{bench, demo, dependencies, exports, headers, licences, report, stage, tidy};

/// What to run, and how strictly.
#[derive(Args)]
pub(crate) struct Options {
    /// Prints the lanes and why each exists, and runs nothing.
    #[arg(long)]
    list: bool,
    /// Only the lanes whose names contain one of these.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    only: Vec<String>,
    /// Also the lanes that need slow tools or much time.
    #[arg(long)]
    full: bool,
    /// Missing hardware or privilege is a failure and not a skip.
    #[arg(long)]
    require_hardware: bool,
}

/// Runs the chosen lanes; the exit code is 1 when one failed.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<ExitCode> {
    let lanes = chosen(lanes(), options)?;
    if options.list {
        print(&lanes);
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Row> = lanes
        .iter()
        .map(|lane| {
            eprintln!("\n== {} — {}", lane.name, lane.why);
            let row = lane.run(workspace, options.require_hardware);
            if let Outcome::Fail(reason) = &row.outcome {
                eprintln!("FAIL {}: {reason}", lane.name);
            }
            row
        })
        .collect();
    print!("{}", report::render(&rows));
    let has_failed = rows.iter().any(|row| matches!(row.outcome, Outcome::Fail(_)));
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The quick lanes, for use before every commit.
pub(crate) fn check(workspace: &Workspace) -> Result<ExitCode> {
    let rows: Vec<Row> = lanes().iter().filter(|lane| lane.is_quick).map(|lane| lane.run(workspace, false)).collect();
    print!("{}", report::render(&rows));
    let has_failed = rows.iter().any(|row| matches!(row.outcome, Outcome::Fail(_)));
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// All lanes, in the order of a run.
fn lanes() -> Vec<Lane> {
    let mut lanes = vec![
        Lane::new("fmt", 20, "one form for all Rust sources", |workspace| {
            run_command(cmd!(workspace.shell, "cargo fmt --all --check"))
        })
        .quick(),
        Lane::new("tidy", 20, "the rules for files that no compiler knows", tidy::run).needing(&[Need::Git]).quick(),
        Lane::new("dependencies", 20, "each dependency has its line in ARCHITECTURE.md", dependencies::run).quick(),
        Lane::new("licences", 30, "sources and licences of everything that is linked", licences::run).quick(),
        Lane::new("headers", 120, "the committed C headers are those the types give", headers::check)
            .needing(&[Need::Git]),
    ];
    // The variants need a staged build where they cross boundaries, so it comes before them.
    lanes.push(
        Lane::new("stage", 240, "what users get can be put together: programs, libraries, operators", |workspace| {
            stage::build(workspace, &[], false)
        })
        .needing(&[Need::Cc]),
    );
    lanes.extend(VARIANTS.iter().map(variant_lane));
    lanes.extend([
        Lane::new(
            "demo",
            150,
            "what a new user sees first: real operators against an independent reference",
            demo::run,
        )
        .needing(&[Need::Cc]),
        Lane::new("pkg-config", 30, "a stranger's build finds headers and libraries", demo::compile_with_pkg_config)
            .needing(&[Need::Cc, Need::PkgConfig]),
        Lane::new("bench", 240, "the benches work, and the ratios that hold on any machine hold", |workspace| {
            bench::run(workspace, true)
        })
        .needing(&[Need::Cxx, Need::Valgrind]),
        Lane::new("fuzz", 90, "the fuzz targets still compile", check_fuzz).needing(&[Need::Cxx]),
        Lane::new("fuzz/run", 300, "a bounded search from the corpus", run_fuzz)
            .needing(&[Need::CargoFuzz, Need::Timeout])
            .full_only(),
        Lane::new("deny", 120, "licences and sources once more, by a tool that others know", |workspace| {
            run_command(cmd!(workspace.shell, "cargo deny check bans licenses sources"))
        })
        .needing(&[Need::CargoDeny])
        .full_only(),
    ]);
    lanes
}

/// A variant's actions, in the order in which it lists them.
fn variant_lane(variant: &'static Variant) -> Lane {
    let lane = Lane::new(variant.name(), variant.budget, variant.why, move |workspace| {
        // All of them, as with lanes: one failure says nothing about the next action.
        let failures: Vec<String> = variant
            .actions
            .iter()
            .filter_map(|action| perform(workspace, variant, *action).err())
            .map(|error| error.to_string())
            .collect();
        if failures.is_empty() { Ok(()) } else { Err(failures.join("; ").into()) }
    })
    .needing(variant.needs);
    let is_quick = variant.profile == Profile::Dev && variant.package != "tenon-tests";
    if is_quick { lane.quick() } else { lane }
}

fn perform(workspace: &Workspace, variant: &Variant, action: Action) -> Result {
    let shell = &workspace.shell;
    let selection = variant.selection();
    match action {
        // Lints say the same in every profile, so all share the artifacts of one; but without std nothing unwinds, which only
        // the device's profile knows.
        Action::Clippy => {
            run_command(cmd!(shell, "cargo clippy --quiet {selection...} --all-targets --no-deps -- -D warnings"))
        }
        Action::ClippyLib => {
            let profile = if variant.profile == Profile::Device { variant.profile.cargo_name() } else { "dev" };
            let options = ["--profile", profile, "--lib", "--no-deps"];
            run_command(cmd!(shell, "cargo clippy --quiet {selection...} {options...} -- -D warnings"))
        }
        Action::Doc => {
            // The readers are those who work on the code: private items are documented too, and links may lead to them.
            let flags = "RUSTDOCFLAGS=-Dwarnings -Arustdoc::private_intra_doc_links";
            let options = ["--no-deps", "--lib", "--document-private-items"];
            run_command(cmd!(shell, "env {flags} cargo doc --quiet {selection...} {options...}"))
        }
        Action::Test if variant.profile == Profile::Loom => test_with_loom(workspace, variant),
        Action::Test => test(workspace, variant),
        Action::Build => stage::cargo_build(workspace, variant, variant.profile),
        Action::Exports => exports::check(workspace, variant),
    }
}

/// Runs a variant's tests; a run that hangs is ended after four times its budget.
fn test(workspace: &Workspace, variant: &Variant) -> Result {
    let mut selection = variant.selection();
    if variant.profile == Profile::Release {
        selection.push("--release".into());
    }
    if variant.package == "tenon-tests" {
        stage::build(workspace, &[], false)?;
    }
    if variant.needs.contains(&Need::Timeout) {
        let limit = (4 * variant.budget).to_string();
        run_command(cmd!(workspace.shell, "timeout --kill-after=10 {limit} cargo test {selection...}"))
    } else {
        run_command(cmd!(workspace.shell, "cargo test --quiet {selection...}"))
    }
}

/// Runs the loom tests of a package, in a target directory of their own: the flag changes every package.
///
/// They are unit tests with `loom_` in their names, and the files `tests/loom_*.rs`. Searching every order of events takes
/// optimised code. A pattern that matches nothing would pass without having shown anything, so the tests are counted first.
fn test_with_loom(workspace: &Workspace, variant: &Variant) -> Result {
    let shell = &workspace.shell;
    let limit = (4 * variant.budget).to_string();
    let target = workspace.target.join("loom");
    let selection = &variant.selection();
    let cargo = ["RUSTFLAGS=--cfg=loom", "cargo", "test", "--quiet", "--release", "--target-dir"];
    let mut count = 0;
    for tests in [["--lib", "loom_"].as_slice(), ["--test", "loom_*"].as_slice()] {
        if tests[0] == "--test" && !workspace.has_file(variant.package, "tests/loom_")? {
            continue;
        }
        let list = cmd!(shell, "env {cargo...} {target} {selection...} {tests...} -- --list").read()?;
        count += list.lines().filter(|line| line.ends_with(": test")).count();
        run_command(cmd!(shell, "timeout --kill-after=10 {limit} env {cargo...} {target} {selection...} {tests...}"))?;
    }
    if count == 0 { Err(format!("{} has no loom tests", variant.package).into()) } else { Ok(()) }
}

/// Compiles the fuzz package, which is outside the workspace because it needs the fuzzer's runtime.
fn check_fuzz(workspace: &Workspace) -> Result {
    let target = workspace.target.join("fuzz");
    run_command(cmd!(workspace.shell, "cargo check --quiet --manifest-path core/fuzz/Cargo.toml --target-dir {target}"))
}

/// A minute of every fuzz target.
fn run_fuzz(workspace: &Workspace) -> Result {
    let shell = &workspace.shell;
    let list = cmd!(shell, "cargo +nightly fuzz list --fuzz-dir core/fuzz").read()?;
    list.lines().try_for_each(|target| {
        run_command(cmd!(
            shell,
            "timeout 240 cargo +nightly fuzz run --fuzz-dir core/fuzz {target} -- -max_total_time=60 -seed=1"
        ))
    })
}

/// The lanes that `options` ask for. A name that is a lane's own means that lane; any other means all that contain it.
fn chosen(lanes: Vec<Lane>, options: &Options) -> Result<Vec<Lane>> {
    let is_whole = |name: &str| lanes.iter().any(|lane| lane.name == name);
    let means = |name: &str, lane: &Lane| if is_whole(name) { lane.name == name } else { lane.name.contains(name) };
    if let Some(name) = options.only.iter().find(|name| !lanes.iter().any(|lane| means(name, lane))) {
        return Err(format!("no lane has {name} in its name; `cargo xtask ci --list --full` prints them").into());
    }
    let is_asked_for = |lane: &Lane| match options.only.as_slice() {
        [] => options.full || !lane.is_full_only,
        names => names.iter().any(|name| means(name, lane)),
    };
    let asked_for: Vec<bool> = lanes.iter().map(is_asked_for).collect();
    Ok(lanes.into_iter().zip(asked_for).filter_map(|(lane, is_asked_for)| is_asked_for.then_some(lane)).collect())
}

fn print(lanes: &[Lane]) {
    let width = lanes.iter().map(|lane| lane.name.len()).max().unwrap_or(0);
    for lane in lanes {
        println!("{:width$}  {:4} s  {}", lane.name, lane.budget.as_secs(), lane.why);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn options(only: &[&str], full: bool) -> Options {
        let only = only.iter().map(|name| (*name).to_owned()).collect();
        Options { list: false, only, full, require_hardware: false }
    }

    #[test]
    fn lane_names_are_unique_and_each_says_why_it_exists() {
        let lanes = lanes();
        let names: BTreeSet<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
        assert_eq!(names.len(), lanes.len());
        assert!(lanes.iter().all(|lane| !lane.why.is_empty()));
    }

    #[test]
    fn the_budgets_of_an_ordinary_run_stay_below_forty_five_minutes() {
        let seconds: u64 =
            chosen(lanes(), &options(&[], false)).expect("lanes").iter().map(|lane| lane.budget.as_secs()).sum();
        assert!(seconds <= 45 * 60, "{seconds} s");
    }

    #[test]
    fn every_variant_is_a_lane() {
        let lanes = lanes();
        for variant in VARIANTS {
            assert!(lanes.iter().any(|lane| lane.name == variant.name()), "{}", variant.name());
        }
    }

    #[test]
    fn a_name_that_no_lane_has_is_an_error_and_not_an_empty_run() {
        assert!(chosen(lanes(), &options(&["no-such-lane"], false)).is_err());
        let lanes = chosen(lanes(), &options(&["tidy"], false)).expect("tidy");
        assert_eq!(lanes.len(), 1);
    }

    #[test]
    fn a_whole_name_means_one_lane_and_a_part_means_all_that_have_it() {
        let names = |only| chosen(lanes(), &options(&[only], false)).expect("lanes").into_iter().map(|lane| lane.name);
        assert_eq!(names("fmt").collect::<Vec<_>>(), ["fmt"]);
        assert!(names("/defmt").count() >= 2);
    }

    #[test]
    fn slow_lanes_run_only_when_asked_for() {
        let is_there =
            |full| chosen(lanes(), &options(&[], full)).expect("lanes").iter().any(|lane| lane.name == "deny");
        assert!(!is_there(false));
        assert!(is_there(true));
    }
}
