//! The table against its text, and every way in which a launch can fail.
//!

use super::*;
use std::collections::BTreeSet;
use std::format;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

/// A remedy as the text writes it.
fn written(remedy: Remedy) -> String {
    match remedy {
        Remedy::Refuse => "refuse".to_string(),
        Remedy::Again => "again".to_string(),
        Remedy::Cancel => "cancel".to_string(),
        Remedy::Do(lane, operation) => format!("{}:{}", lane.name(), operation.name()),
        Remedy::Step(number) => format!("step{number}"),
        Remedy::Poison => "poison".to_string(),
    }
}

fn shown(call: Call) -> String {
    match call {
        Call::Cancel => "Cancel".to_string(),
        Call::Enqueue(lane, operation) => format!("{}:{}", lane.name(), operation.name()),
    }
}

/// A finished recovery: every call, whether it succeeded, and the outcome.
type Run = (Vec<(Call, bool)>, Outcome);

/// Every run of the recovery of one step, over all results of all its calls.
fn all_runs(step: Step) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut open = vec![(Recovery::after(step), Vec::new())];
    while let Some((mut recovery, calls)) = open.pop() {
        assert!(calls.len() < 16, "a recovery ends");
        match recovery.next_call() {
            None => runs.push((calls, recovery.outcome())),
            Some(call) => {
                for is_success in [true, false] {
                    let (mut recovery, mut calls): (Recovery, Vec<_>) = (recovery.clone(), calls.clone());
                    recovery.report(is_success);
                    calls.push((call, is_success));
                    open.push((recovery, calls));
                }
            }
        }
    }
    runs
}

/// The calls of the recovery of step `number` when the calls at `failing` (from 0) fail, and whether the join is proven.
fn run(number: u8, failing: &[usize]) -> (Vec<String>, bool) {
    let step = STEPS.iter().find(|step| step.number == number).unwrap();
    let mut recovery = Recovery::after(*step);
    let mut calls = Vec::new();
    while let Some(call) = recovery.next_call() {
        recovery.report(!failing.contains(&calls.len()));
        calls.push(shown(call));
    }
    (calls, !recovery.outcome().is_join_unproven)
}

#[test]
fn the_steps_are_those_of_the_written_table() {
    let lines: Vec<Vec<&str>> =
        include_str!("../launch_steps.txt").lines().map(|line| line.split_whitespace().collect()).collect();
    let rows: Vec<Vec<String>> = STEPS
        .iter()
        .map(|step| {
            let head = [step.number.to_string(), step.lane.name().to_string(), step.operation.name().to_string()];
            head.into_iter().chain(step.on_failure.iter().map(|remedy| written(*remedy))).collect()
        })
        .collect();
    assert_eq!(rows, lines);
}

#[test]
fn a_single_failure_is_compensated_as_the_specification_says() {
    let expected: [(u8, &[&str]); 9] = [
        (1, &[]),
        (2, &["Cancel"]),
        (3, &["Aicore:RecordAicoreDone", "Caller:WaitAicoreDone", "Cancel"]),
        (4, &["Cancel", "Aicore:RecordAicoreDone", "Caller:WaitAicoreDone"]),
        (5, &["Cancel", "Caller:WaitAicoreDone"]),
        (6, &["Cancel", "Aicpu:RecordAicpuDone", "Caller:WaitAicpuDone", "Caller:WaitAicoreDone"]),
        (7, &["Aicpu:RecordAicpuDone", "Caller:WaitAicpuDone", "Caller:WaitAicoreDone", "Cancel"]),
        (8, &["Caller:WaitAicpuDone", "Caller:WaitAicoreDone", "Cancel"]),
        (9, &["Caller:WaitAicoreDone", "Cancel"]),
    ];
    for (number, calls) in expected {
        let (made, is_proven) = run(number, &[]);
        assert_eq!(made, calls, "step {number}");
        assert!(is_proven, "step {number}");
    }
}

#[test]
fn a_done_event_that_was_not_recorded_is_not_waited_for() {
    assert_eq!(run(3, &[0]), (vec!["Aicore:RecordAicoreDone".to_string(), "Cancel".to_string()], false));
    assert_eq!(run(4, &[1]), (vec!["Cancel".to_string(), "Aicore:RecordAicoreDone".to_string()], false));
    let (calls, is_proven) = run(6, &[1]);
    assert_eq!(calls, ["Cancel", "Aicpu:RecordAicpuDone", "Caller:WaitAicoreDone"]);
    assert!(!is_proven);
    let (calls, is_proven) = run(7, &[0]);
    assert_eq!(calls, ["Aicpu:RecordAicpuDone", "Caller:WaitAicoreDone", "Cancel"]);
    assert!(!is_proven);
}

#[test]
fn after_a_failed_cancel_nobody_waits_for_aicore() {
    for number in [4, 5, 6] {
        let (calls, is_proven) = run(number, &[0]);
        assert!(!calls.contains(&"Caller:WaitAicoreDone".to_string()), "step {number}");
        assert_eq!(calls.iter().filter(|call| *call == "Cancel").count(), 1, "step {number}");
        assert!(!is_proven, "step {number}");
    }
}

#[test]
fn a_numbered_step_in_a_list_is_tried_twice() {
    let (calls, is_proven) = run(7, &[1]);
    assert_eq!(
        calls,
        ["Aicpu:RecordAicpuDone", "Caller:WaitAicpuDone", "Caller:WaitAicpuDone", "Caller:WaitAicoreDone", "Cancel"]
    );
    assert!(is_proven);
    let (_, is_proven) = run(7, &[1, 2]);
    assert!(!is_proven);
}

#[test]
fn every_run_of_every_recovery_keeps_the_rules() {
    let mut count = 0;
    for step in STEPS {
        let runs = all_runs(step);
        let distinct: BTreeSet<String> = runs.iter().map(|(calls, _)| format!("{calls:?}")).collect();
        assert_eq!(distinct.len(), runs.len());
        for (calls, outcome) in runs {
            count += 1;
            check(step, &calls, outcome);
        }
    }
    assert!(count > 60, "{count} runs");
}

/// The rules below the table, over one finished recovery.
fn check(step: Step, calls: &[(Call, bool)], outcome: Outcome) {
    let case = format!("step {} then {calls:?}", step.number);
    assert_eq!(outcome.failed_step, step.number, "{case}: the first error is the one reported");
    assert_eq!(outcome.is_poisoned, step.number > 1, "{case}");

    let cancels: Vec<bool> = calls.iter().filter(|(call, _)| *call == Call::Cancel).map(|(_, ok)| *ok).collect();
    assert_eq!(cancels.len(), usize::from(outcome.is_poisoned), "{case}: poison cancels once");
    assert_eq!(outcome.is_cancelled, cancels == [true], "{case}");

    let mut is_aicore_recorded = step.number > 4;
    let mut is_aicpu_recorded = step.number > 7;
    let mut has_cancel_failed = false;
    let (mut joins_aicore, mut joins_aicpu) = (false, false);
    for (call, is_success) in calls {
        match call {
            Call::Cancel => has_cancel_failed |= !is_success,
            Call::Enqueue(lane, Operation::RecordAicoreDone) => {
                assert_eq!(*lane, Lane::Aicore, "{case}");
                is_aicore_recorded |= is_success;
            }
            Call::Enqueue(lane, Operation::RecordAicpuDone) => {
                assert_eq!(*lane, Lane::Aicpu, "{case}");
                is_aicpu_recorded |= is_success;
            }
            Call::Enqueue(lane, Operation::WaitAicoreDone) => {
                assert_eq!(*lane, Lane::Caller, "{case}");
                assert!(is_aicore_recorded && !has_cancel_failed, "{case}");
                joins_aicore |= is_success;
            }
            Call::Enqueue(lane, Operation::WaitAicpuDone) => {
                assert_eq!(*lane, Lane::Caller, "{case}");
                assert!(is_aicpu_recorded, "{case}");
                joins_aicpu |= is_success;
            }
            Call::Enqueue(_, other) => panic!("{case}: {} is never a compensation", other.name()),
        }
    }
    // What has forked by the failed step has to be joined: AICore after step 2, the AICPU after step 5; step 9 comes after the
    // AICPU branch has joined.
    let needs_aicore = step.number > 2;
    let needs_aicpu = step.number > 5 && step.number < 9;
    let is_proven = (!needs_aicore || joins_aicore) && (!needs_aicpu || joins_aicpu);
    assert_eq!(outcome.is_join_unproven, !is_proven, "{case}");
}
