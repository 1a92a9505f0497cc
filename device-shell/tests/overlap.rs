//! Launches that meet: in one context, with the host, with AICore branches.
//!

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use common::{Behaviour, Context, Device, Faulty, Operator, Verdicts, Workers};
use tenon_core::generation::{CallableId, Generation};
use tenon_core::status::DispatchAnswer::{self, Busy, NotResident, Poisoned, Stale, Success};
use tenon_core::verdict::{Taken, Verdict};

#[test]
fn a_launch_that_meets_another_of_its_context_is_busy_and_the_first_is_unharmed() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let id = context.install(0, 1, &Operator::FAULTY.image());
    let (first, second) = (Faulty::new(), Faulty::new());
    thread::scope(|scope| {
        let launch = scope.spawn(|| first.launch(&context, id, Behaviour::WaitAtGate, 0));
        first.wait_until_entered(1);
        for _ in 0..10 {
            assert_eq!(second.launch(&context, id, Behaviour::Succeed, 0), Busy);
        }
        first.open_gate();
        assert_eq!(launch.join().unwrap(), Success);
    });
    assert_eq!((first.blocks(), second.entered()), (1, 0));
    assert_eq!(context.verdicts(), Verdicts { work: 1, leave: 10 });
    assert_eq!(context.refusals(), (Busy.code(), 10));
    assert_eq!(second.launch(&context, id, Behaviour::Succeed, 0), Success);
}

#[test]
fn contexts_do_not_make_each_other_busy() {
    let device = Device::new(Workers::Inline);
    let contexts = [Context::new(&device, 1), Context::new(&device, 2)];
    let image = Operator::FAULTY.image();
    let (first, second) = (Faulty::new(), Faulty::new());
    thread::scope(|scope| {
        let id = contexts[0].install(0, 1, &image);
        let launch = scope.spawn({
            let (first, context) = (&first, &contexts[0]);
            move || first.launch(context, id, Behaviour::WaitAtGate, 0)
        });
        first.wait_until_entered(1);
        let id = contexts[1].install(0, 1, &image);
        assert_eq!(second.launch(&contexts[1], id, Behaviour::Succeed, 0), Success);
        first.open_gate();
        assert_eq!(launch.join().unwrap(), Success);
    });
}

#[test]
fn a_tenant_that_is_replaced_while_it_runs_ends_in_its_own_code() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let old = context.install(0, 1, &Operator { identity: 1, ..Operator::FAULTY }.image());
    let (first, second) = (Faulty::new(), Faulty::new());
    thread::scope(|scope| {
        let launch = scope.spawn(|| first.launch(&context, old, Behaviour::WaitAtGate, 0));
        first.wait_until_entered(1);
        let new = context.install(0, 2, &Operator { identity: 2, ..Operator::FAULTY }.image());
        assert_eq!(second.launch(&context, old, Behaviour::Succeed, 0), Stale);
        assert_eq!(second.launch(&context, new, Behaviour::Succeed, 0), Busy);
        first.open_gate();
        assert_eq!(launch.join().unwrap(), Success);
        assert_eq!(second.launch(&context, new, Behaviour::Succeed, 0), Success);
    });
    assert_eq!((first.identity(), second.identity()), (1, 2));
}

#[test]
fn close_sees_an_accepted_launch_and_refuses_all_later_ones() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let id = context.install(0, 1, &Operator::FAULTY.image());
    let faulty = Faulty::new();
    thread::scope(|scope| {
        let launch = scope.spawn(|| faulty.launch(&context, id, Behaviour::WaitAtGate, 0));
        faulty.wait_until_entered(1);
        assert!(context.close(), "a launch executes");
        assert_eq!(faulty.launch(&context, id, Behaviour::Succeed, 0), NotResident);
        faulty.open_gate();
        assert_eq!(launch.join().unwrap(), Success);
    });
    assert!(!context.close(), "nothing executes any more");
    assert_eq!(faulty.launch(&context, id, Behaviour::Succeed, 0), NotResident);
}

#[test]
fn a_cancelled_context_refuses_and_what_runs_ends_as_it_would() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let id = context.install(0, 1, &Operator::FAULTY.image());
    let faulty = Faulty::new();
    thread::scope(|scope| {
        let launch = scope.spawn(|| faulty.launch(&context, id, Behaviour::WaitAtGate, 0));
        faulty.wait_until_entered(1);
        context.cancel();
        assert_eq!(faulty.launch(&context, id, Behaviour::Succeed, 0), Poisoned);
        faulty.open_gate();
        assert_eq!(launch.join().unwrap(), Success);
    });
    assert_eq!(context.verdicts(), Verdicts { work: 1, leave: 1 });
    assert_eq!(faulty.launch(&context, id, Behaviour::Succeed, 0), Poisoned);
}

/// Launches for every thread.
const LAUNCHES: u64 = 400;
/// Threads that launch.
const LAUNCHERS: u64 = 3;

/// How often each answer was given.
#[derive(Debug, Default)]
struct Answers([AtomicU64; 10]);

impl Answers {
    fn add(&self, answer: DispatchAnswer) {
        self.0[answer.code() as usize].fetch_add(1, Ordering::Relaxed);
    }

    fn of(&self, answer: DispatchAnswer) -> u64 {
        self.0[answer.code() as usize].load(Ordering::Relaxed)
    }

    fn total(&self) -> u64 {
        self.0.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

/// Launches from several threads while `host` changes the context, with an AICore branch for each launch. No verdict is lost, none is
/// taken twice, and every branch leaves.
fn stress(
    context: &Context<'_>,
    launch: impl Fn() -> DispatchAnswer + Sync,
    host: impl Fn(&AtomicBool) + Sync,
) -> Answers {
    let answers = Answers::default();
    let (is_over, worked, left) = (AtomicBool::new(false), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| host(&is_over));
        for _ in 0..2 {
            scope.spawn(|| {
                while worked.load(Ordering::Relaxed) + left.load(Ordering::Relaxed) < LAUNCHERS * LAUNCHES {
                    match context.try_take() {
                        Some(Taken::Verdict(Verdict::Work)) => worked.fetch_add(1, Ordering::Relaxed),
                        Some(Taken::Verdict(Verdict::Leave)) => left.fetch_add(1, Ordering::Relaxed),
                        Some(Taken::Cancelled) | None => {
                            thread::yield_now();
                            0
                        }
                    };
                }
            });
        }
        let launchers: Vec<_> =
            (0..LAUNCHERS).map(|_| scope.spawn(|| (0..LAUNCHES).for_each(|_| answers.add(launch())))).collect();
        launchers.into_iter().for_each(|launcher| launcher.join().unwrap());
        is_over.store(true, Ordering::Release);
    });
    let refused = answers.total() - answers.of(Success);
    assert_eq!(context.verdicts(), Verdicts::default(), "every verdict was taken");
    assert_eq!((worked.into_inner(), left.into_inner()), (answers.of(Success), refused));
    assert_eq!(context.refusals().1, refused);
    assert!(!context.is_busy());
    answers
}

#[test]
fn no_verdict_is_lost_when_launches_overlap() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let id = context.install(0, 1, &Operator::FAULTY.image());
    let faulty = Faulty::new();
    let answers = stress(&context, || faulty.launch(&context, id, Behaviour::Succeed, 0), |_| ());
    assert_eq!(answers.of(Success) + answers.of(Busy), LAUNCHERS * LAUNCHES, "{answers:?}");
    assert_eq!(u64::from(faulty.entered()), answers.of(Success));
    assert_eq!(u64::from(faulty.blocks()), answers.of(Success));
    assert_eq!(device.executions_ended(), answers.of(Success));
}

#[test]
fn no_verdict_is_lost_when_the_slot_changes_hands_meanwhile() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let tenants = [1, 2].map(|identity| Operator { identity, ..Operator::FAULTY }.image());
    let addresses = [0, 1].map(|which| (device.upload(&tenants[which]), tenants[which].0.len() as u64));
    // Odd generations have identity 1, even ones 2; each has a trace of its own, so each launch can see whose code it ran.
    let traces = [Faulty::new(), Faulty::new()];
    let publish = |generation: u64| {
        let (address, bytes) = addresses[usize::from(generation.is_multiple_of(2))];
        context.publish(0, generation, address, bytes)
    };
    let current = AtomicU64::new(1);
    let id = publish(1);
    let launch = || {
        let generation = current.load(Ordering::Acquire);
        let id = CallableId { generation: Generation::from_bits(generation).unwrap(), ..id };
        traces[usize::from(generation.is_multiple_of(2))].launch(&context, id, Behaviour::Succeed, 0)
    };
    let host = |is_over: &AtomicBool| {
        let mut generation = 1;
        while !is_over.load(Ordering::Acquire) {
            generation += 1;
            publish(generation);
            current.store(generation, Ordering::Release);
            for _ in 0..20 {
                thread::yield_now();
            }
        }
    };
    let answers = stress(&context, launch, host);
    let expected = [Success, Busy, Stale, NotResident].map(|answer| answers.of(answer));
    assert_eq!(expected.iter().sum::<u64>(), answers.total(), "{answers:?}");
    for (trace, identity) in traces.iter().zip(1..) {
        assert!(trace.entered() == 0 || trace.identity() == identity, "a packet ran another tenant's code");
    }
    assert_eq!(traces.iter().map(|trace| u64::from(trace.blocks())).sum::<u64>(), answers.of(Success));
}

#[test]
fn a_cancellation_in_the_middle_leaves_no_branch_behind() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let id = context.install(0, 1, &Operator::FAULTY.image());
    let faulty = Faulty::new();
    let launch = || {
        if faulty.entered() == 50 {
            context.cancel();
        }
        faulty.launch(&context, id, Behaviour::Succeed, 0)
    };
    let answers = stress(&context, launch, |_| ());
    assert!(answers.of(Poisoned) > 0 && answers.of(Success) >= 50, "{answers:?}");
    assert_eq!(answers.of(Success) + answers.of(Busy) + answers.of(Poisoned), answers.total(), "{answers:?}");
}
