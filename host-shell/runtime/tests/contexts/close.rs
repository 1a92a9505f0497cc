//! Close: nothing is freed before the device lets go; a retry does what is left.
//!

use host_runtime::error::ContextError;
use tenon_core::area::BUSY;
use tenon_core::phase::Phase;
use tenon_core::vocabulary::ContextEvent::{self, RecordWritten};
use tenon_core::vocabulary::MemoryKind;

use crate::fake::Stream::{Aicore, Aicpu};
use crate::fake::{Balance, Call, FakePlatform};
use crate::image::{arguments, image};
use crate::setup::{Kernel, caller, live, prepare, slot};

const CLOSED: Balance =
    Balance { streams: 0, events: 0, pinned: 0, areas: 1, images: 0, regions: 0, user: 0, devices: 0 };

/// A context that has been used, and a journal that begins behind it.
fn used() -> (FakePlatform, Kernel) {
    let (platform, context) = live();
    prepare(&context, 0, &image(b"first")).unwrap();
    prepare(&context, 5, &image(b"second")).unwrap();
    context.launch(slot(0), &arguments(), caller()).unwrap();
    let mut fake = platform.fake();
    fake.journal.clear();
    fake.calls = 0;
    drop(fake);
    (platform, context)
}

#[test]
fn close_empties_the_slots_looks_at_the_device_and_then_lets_go() {
    let (platform, context) = used();
    assert_eq!(context.close(), Ok(()));
    assert_eq!(context.phase(), Phase::Closed);
    let fake = platform.fake();
    let order = [Call::Wait(Aicpu, RecordWritten), Call::Copy(Aicpu), Call::ReadArea, Call::ReadArea];
    assert_eq!(fake.journal[..4], order);
    assert_eq!(fake.journal[4..6], [Call::DestroyStream(Aicpu), Call::DestroyStream(Aicore)]);
    let events = ContextEvent::ALL.iter().map(|event| Call::DestroyEvent(*event)).collect::<Vec<_>>();
    assert_eq!(fake.journal[6..10], events);
    assert_eq!(fake.balance(), CLOSED, "the area stays for ever");
    let area = fake.device_bytes(fake.area());
    assert_ne!(area[..8], [0; 8], "it still says whose it was");
    assert!(area[32..2080].iter().all(|byte| *byte == 0));
}

#[test]
fn nothing_works_on_a_closed_context() {
    let (platform, context) = used();
    context.close().unwrap();
    let before = platform.fake().journal.len();
    assert!(matches!(prepare(&context, 1, &image(b"third")), Err(ContextError::Phase(_))));
    assert!(matches!(context.launch(slot(0), &arguments(), caller()), Err(ContextError::Phase(_))));
    assert!(matches!(context.release(slot(0), caller()), Err(ContextError::Phase(_))));
    assert!(matches!(context.close(), Err(ContextError::Phase(_))));
    assert!(matches!(context.commit_arena([0; 3]), Err(ContextError::Phase(_))));
    assert_eq!(context.slot_generation(slot(0)).unwrap_err().code(), -1007);
    assert_eq!(platform.journal_since(before), []);
}

#[test]
fn while_the_device_is_busy_nothing_is_freed() {
    let (platform, context) = used();
    let area = platform.fake().area();
    let balance = platform.fake().balance();
    platform.fake().poke(area + BUSY, 1);
    for _ in 0..2 {
        assert_eq!(context.close(), Err(ContextError::DeviceBusy));
        assert_eq!(ContextError::DeviceBusy.code(), -1003);
        assert_eq!(context.phase(), Phase::Closing);
        assert_eq!(platform.fake().balance(), balance);
        assert_eq!(context.errors().teardown_error, 0, "waiting is no failure");
    }
    let copies = platform.fake().journal.iter().filter(|call| **call == Call::Copy(Aicpu)).count();
    assert_eq!(copies, 1, "the slots are emptied once");
    platform.fake().poke(area + BUSY, 0);
    assert_eq!(context.close(), Ok(()));
    assert_eq!(platform.fake().balance(), CLOSED);
}

#[test]
fn zeroes_that_have_not_landed_are_as_good_as_busy() {
    let (platform, context) = used();
    platform.fake().is_held = true;
    let balance = platform.fake().balance();
    // This waits for as long as close is willing to look.
    assert_eq!(context.close(), Err(ContextError::DeviceBusy));
    assert_eq!(platform.fake().balance(), balance);
    platform.fake().drain();
    assert_eq!(context.close(), Ok(()));
    assert_eq!(platform.fake().balance(), CLOSED);
}

#[test]
fn where_the_platform_cannot_look_the_callers_word_is_taken() {
    let (platform, context) = used();
    platform.fake().is_blind = true;
    assert_eq!(context.close(), Ok(()));
    assert_eq!(platform.fake().balance(), CLOSED);
}

#[test]
fn every_failed_call_of_close_is_kept_and_a_retry_does_only_what_is_left() {
    let calls = {
        let (platform, context) = used();
        context.close().unwrap();
        platform.fake().journal.clone()
    };
    for (nth, failed) in (1..).zip(&calls) {
        let (platform, context) = used();
        platform.fail(nth);
        let error = context.close().unwrap_err();
        let case = format!("call {nth}, {failed:?}");
        assert_eq!(error.code(), -1000, "{case}");
        assert_eq!(context.phase(), Phase::Closing, "{case}");
        let errors = context.errors();
        let kept = (errors.teardown_error, errors.teardown_vendor_code);
        assert_eq!(kept, (-1000, error.vendor_code()), "{case}");
        assert_eq!(errors.runtime_error, 0, "{case}");

        let before = platform.fake().journal.len();
        assert_eq!(context.close(), Ok(()), "{case}");
        let again = platform.journal_since(before);
        let lets_go = |call: &&Call| {
            matches!(call, Call::DestroyStream(_) | Call::DestroyEvent(_) | Call::Free(_) | Call::FreePinned)
        };
        let left: Vec<_> = again.iter().filter(lets_go).collect();
        if nth > 4 {
            assert_eq!(left, [failed], "{case}: everything else had gone");
        } else {
            assert_eq!(left.len(), calls.len() - 4, "{case}: nothing had gone");
        }
        assert_eq!(platform.fake().balance(), CLOSED, "{case}");
        assert_eq!(context.phase(), Phase::Closed, "{case}");
        assert_eq!(context.errors(), errors, "{case}: the first failure stays");
    }
}

#[test]
fn several_failed_calls_are_all_left_for_the_retry() {
    let (platform, context) = used();
    [5, 7, 9, 12].into_iter().for_each(|nth| platform.fail(nth));
    let error = context.close().unwrap_err();
    assert_eq!(context.errors().teardown_vendor_code, error.vendor_code());
    let before = platform.fake().journal.len();
    context.close().unwrap();
    let left = platform.journal_since(before).into_iter().filter(|call| *call != Call::ReadArea).count();
    assert_eq!(left, 4);
    assert_eq!(platform.fake().balance(), CLOSED);
}

#[test]
fn of_failures_in_several_tries_the_first_is_kept() {
    let (platform, context) = used();
    platform.fail(5);
    let first = context.close().unwrap_err();
    // Two looks at the area, then the stream that is left.
    platform.fail(3);
    let second = context.close().unwrap_err();
    assert_ne!(first.vendor_code(), second.vendor_code());
    assert_eq!(context.errors().teardown_vendor_code, first.vendor_code());
    assert_eq!(context.close(), Ok(()));
    assert_eq!(platform.fake().balance(), CLOSED);
}

#[test]
fn the_memory_of_a_lost_device_is_left_alone_and_the_context_closes() {
    let calls = {
        let (platform, context) = used();
        context.close().unwrap();
        platform.fake().calls
    };
    for first in 1..=calls {
        let (platform, context) = used();
        platform.fake().lost_from = Some(first);
        assert_eq!(context.close(), Ok(()), "lost from call {first}");
        assert_eq!(context.phase(), Phase::Closed, "lost from call {first}");
        assert_eq!(platform.fake().calls, first, "nothing more is asked of it");
        assert_eq!(context.errors().teardown_error, -1000, "lost from call {first}");
    }
}

#[test]
fn what_the_device_refused_is_told_also_after_close() {
    let (platform, context) = used();
    let area = platform.fake().area();
    platform.fake().poke(area + BUSY + 4, 3);
    platform.fake().poke(area + BUSY + 8, 2);
    let errors = context.errors();
    assert_eq!((errors.first_refusal, errors.refusals), (3, 2));
    assert_eq!(context.phase(), Phase::ReadyEnqueued, "a refusal on the device does not poison");
    context.close().unwrap();
    platform.fake().poke(area + BUSY + 8, 5);
    assert_eq!(context.errors().refusals, 5, "a replay after close was refused");
    platform.fake().is_blind = true;
    assert_eq!(context.errors().refusals, 5);
}

#[test]
fn regions_and_images_go_with_the_context() {
    let (platform, context) = used();
    let fake = platform.fake();
    assert_eq!((fake.balance().regions, fake.balance().images), (3, 2));
    drop(fake);
    context.close().unwrap();
    assert_eq!(platform.fake().addresses(MemoryKind::Arena), []);
    assert_eq!(context.arena_bases(), Ok([0; 3]));
}
