//! What an orchestration may ask for, is told, and what becomes of the launch.
//!

mod common;

use std::thread;

use common::{Behaviour, Context, Device, Faulty, Operator, Verdicts, Workers};
use tenon_core::status::DispatchAnswer::{self, ExecutionFailed, InvalidBinding, Success};

const EXECUTED: Verdicts = Verdicts { work: 1, leave: 0 };

/// Launches the faulty operator once, with all gates open, and checks what every execution owes its context.
fn launch(faulty: &Faulty, behaviour: Behaviour, argument: u64) -> DispatchAnswer {
    let device = Device::new(Workers::Threads);
    let context = Context::new(&device, 1);
    let id = context.install(3, 1, &Operator::FAULTY.image());
    faulty.open_gate();
    let answer = faulty.launch(&context, id, behaviour, argument);
    assert_eq!(context.verdicts(), EXECUTED, "one verdict, whatever became of it");
    assert!(!context.is_busy());
    assert_eq!(device.executions_ended(), 1);
    assert_eq!(context.refusals(), if answer == Success { (0, 0) } else { (answer.code(), 1) });
    answer
}

#[test]
fn an_execution_that_succeeds_ran_every_block_of_its_child() {
    let faulty = Faulty::new();
    assert_eq!(launch(&faulty, Behaviour::Succeed, 0), Success);
    assert_eq!((faulty.entered(), faulty.blocks()), (1, 1));
    assert_eq!(launch(&faulty, Behaviour::ManyBlocks, 40), Success);
    assert_eq!((faulty.entered(), faulty.blocks()), (2, 41));
}

#[test]
fn what_an_orchestration_answers_other_than_0_is_a_failed_execution() {
    for answer in [1, 100, u64::from(u32::MAX), 1 << 31] {
        let faulty = Faulty::new();
        assert_eq!(launch(&faulty, Behaviour::Fail, answer), ExecutionFailed, "{answer}");
        assert_eq!((faulty.entered(), faulty.blocks()), (1, 0));
    }
}

#[test]
fn a_failing_child_is_told_to_the_orchestration_and_fails_the_execution() {
    let faulty = Faulty::new();
    assert_eq!(launch(&faulty, Behaviour::ChildFails, 77), ExecutionFailed);
    assert_eq!(faulty.told(), 77);
}

#[test]
fn a_failing_child_fails_the_execution_though_the_orchestration_swallows_it() {
    let faulty = Faulty::new();
    assert_eq!(launch(&faulty, Behaviour::SwallowChild, 77), ExecutionFailed);
    assert_eq!(faulty.told(), 77);
}

#[test]
fn a_failing_child_that_nobody_waited_for_fails_the_execution() {
    let faulty = Faulty::new();
    assert_eq!(launch(&faulty, Behaviour::LeaveFailing, 77), ExecutionFailed);
    assert_eq!(faulty.blocks(), 1);
}

#[test]
fn arguments_that_do_not_fit_a_child_start_nothing() {
    let cases = [
        (Behaviour::BadChild, 1),
        (Behaviour::BadChild, u64::from(u32::MAX)),
        (Behaviour::BadTensor, 2),
        (Behaviour::BadTensor, u64::from(u32::MAX)),
        (Behaviour::NoBlocks, 0),
        (Behaviour::MissingTensor, 0),
        (Behaviour::MissingScalar, 0),
        (Behaviour::ManyScalars, 3),
        (Behaviour::ManyScalars, 17),
        (Behaviour::InAsInout, 0),
    ];
    for (behaviour, argument) in cases {
        let faulty = Faulty::new();
        assert_eq!(launch(&faulty, behaviour, argument), InvalidBinding, "{behaviour:?} {argument}");
        assert_eq!(faulty.told().cast_unsigned(), InvalidBinding.code(), "{behaviour:?} {argument}");
        assert_eq!(faulty.blocks(), 0, "{behaviour:?} {argument}");
    }
}

#[test]
fn a_refused_start_is_invalid_binding_though_the_orchestration_swallows_it() {
    let faulty = Faulty::new();
    assert_eq!(launch(&faulty, Behaviour::SwallowBadChild, 5), InvalidBinding);
    assert_eq!(faulty.blocks(), 0);
}

#[test]
fn what_an_orchestration_leaves_running_is_waited_for() {
    let device = Device::new(Workers::Threads);
    let context = Context::new(&device, 1);
    let id = context.install(0, 1, &Operator::FAULTY.image());
    let faulty = Faulty::new();
    thread::scope(|scope| {
        let launch = scope.spawn(|| faulty.launch(&context, id, Behaviour::LeaveRunning, 0));
        faulty.wait_until_entered(1);
        // The child waits at the gate, so the launch cannot have ended.
        assert!(!launch.is_finished());
        assert_eq!((faulty.blocks(), device.executions_ended()), (0, 0));
        faulty.open_gate();
        assert_eq!(launch.join().unwrap(), Success);
    });
    assert_eq!((faulty.blocks(), device.executions_ended()), (1, 1));
    assert!(!context.is_busy());
}
