//! One context, many threads: modes are latched once, entries exclude each other.
//!

use std::sync::{Arc, Barrier};

use host_runtime::error::ContextError;
use host_runtime::unlatched::UnlatchedContext;
use tenon_core::mode::ModeConflict;
use tenon_core::wire::Mode;

use crate::fake::{Balance, Call, FakePlatform};
use crate::image::{arguments, image};
use crate::setup::{caller, live, prepare, request, slot, try_init};

#[test]
fn of_inits_racing_for_both_modes_exactly_one_mode_wins() {
    for round in 0..100_usize {
        let context = Arc::new(UnlatchedContext::new());
        let start = Arc::new(Barrier::new(8));
        let threads: Vec<_> = (0..8_usize)
            .map(|thread| {
                let (context, start) = (Arc::clone(&context), Arc::clone(&start));
                std::thread::spawn(move || {
                    start.wait();
                    if (thread + round) % 2 == 0 {
                        (Mode::Kernel, context.latch_kernel().map(|_| ()))
                    } else {
                        (Mode::Program, context.latch_program().map(|_| ()).map_err(ContextError::from))
                    }
                })
            })
            .collect();
        let answers: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let held = context.mode().unwrap();
        let permits = answers.iter().filter(|(_, answer)| answer.is_ok()).count();
        match held {
            Mode::Kernel => assert_eq!(permits, 1, "kernel mode is initialised once"),
            Mode::Program => assert!(permits >= 1),
        }
        for (asked, answer) in answers {
            match answer {
                Ok(()) => assert_eq!(asked, held),
                Err(ContextError::Mode(conflict)) => assert_eq!(conflict, ModeConflict { held, asked }),
                Err(error) => assert_eq!((error, asked), (ContextError::SecondInit, Mode::Kernel)),
            }
        }
    }
}

#[test]
fn a_second_thread_is_refused_and_the_first_is_unharmed() {
    let (platform, gate) = FakePlatform::new().with_gate();
    let (context, result) = try_init(&platform, &request());
    result.unwrap();
    prepare(&context, 0, &image(b"code")).unwrap();
    let before = platform.fake().journal.len();

    std::thread::scope(|scope| {
        let first = scope.spawn(|| context.launch(slot(0), &arguments(), caller()));
        gate.reached.wait();
        assert_eq!(context.launch(slot(0), &arguments(), caller()), Err(ContextError::Entered));
        assert_eq!(image(b"other").with(|bytes| context.prepare(slot(1), bytes, caller())), Err(ContextError::Entered));
        assert_eq!(context.release(slot(0), caller()), Err(ContextError::Entered));
        assert_eq!(context.close(), Err(ContextError::Entered));
        assert_eq!(ContextError::Entered.code(), -1003);
        assert_eq!(
            context.slot_generation(slot(0)).map(|generation| generation.to_bits()),
            Ok(1),
            "asking is no entry"
        );
        assert_eq!(context.errors().runtime_error, 0, "nor is this");
        gate.opened.wait();
        assert_eq!(first.join().unwrap(), Ok(()));
    });
    let calls = platform.journal_since(before);
    let enqueued = calls.iter().filter(|call| **call != Call::ReadArea).count();
    assert_eq!(enqueued, 9, "the refused ones enqueued nothing: {calls:?}");
    assert_eq!(platform.fake().arrived.len(), 1);
}

#[test]
fn asking_for_errors_never_makes_a_launch_fail() {
    let (_, context) = live();
    prepare(&context, 0, &image(b"code")).unwrap();
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        let monitor = scope.spawn(|| {
            start.wait();
            (0..2000).for_each(|_| assert_eq!(context.errors().runtime_error, 0));
        });
        start.wait();
        let args = arguments();
        for _ in 0..500 {
            assert_eq!(context.launch(slot(0), &args, caller()), Ok(()));
        }
        monitor.join().unwrap();
    });
}

#[test]
fn dropping_a_context_makes_no_call_and_leaks_what_was_not_closed() {
    let (platform, context) = live();
    prepare(&context, 0, &image(b"code")).unwrap();
    context.launch(slot(0), &arguments(), caller()).unwrap();
    let before = platform.fake().journal.len();
    let balance = platform.fake().balance();
    drop(context);
    assert_eq!(platform.journal_since(before), [] as [Call; 0]);
    assert_eq!(platform.fake().balance(), balance);
    assert_ne!(balance, Balance::default());
}
