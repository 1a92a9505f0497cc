//! Init of kernel mode: everything is made, or nothing is left.
//!

use host_runtime::error::ContextError;
use host_runtime::kernel::Admission;
use tenon_core::arena::PlanError;
use tenon_core::phase::Phase;
use tenon_core::vocabulary::MemoryKind;
use tenon_core::wire::{ContextErrors, RuntimeEnv};

use crate::fake::{Balance, Call, FakePlatform, INJECTED};
use crate::setup::{new_generation, request, try_init};

/// Calls of a whole init.
fn init_calls() -> u64 {
    let platform = FakePlatform::new();
    let (_, result) = try_init(&platform, &request());
    result.unwrap();
    // The first call asks for the current device, before the latch.
    platform.fake().calls - 1
}

/// A platform whose init fails at its `nth` call, and whose roll-back fails at the calls behind it that are named.
fn failing_init(nth: u64, behind: &[u64]) -> (FakePlatform, crate::setup::Kernel, ContextError) {
    let platform = FakePlatform::new();
    for number in behind.iter().map(|behind| nth + behind).chain([nth]) {
        platform.fail(number + 1);
    }
    let (context, result) = try_init(&platform, &request());
    (platform, context, result.unwrap_err())
}

const MADE: Balance =
    Balance { streams: 2, events: 4, pinned: 1, areas: 1, images: 0, regions: 3, user: 0, devices: 0 };
const NOTHING: Balance =
    Balance { streams: 0, events: 0, pinned: 0, areas: 0, images: 0, regions: 0, user: 0, devices: 0 };

#[test]
fn init_makes_two_streams_four_events_an_area_and_its_staging() {
    let platform = FakePlatform::new();
    let request = request();
    let (context, result) = try_init(&platform, &request);
    result.unwrap();
    assert_eq!(context.phase(), Phase::Collecting);
    let fake = platform.fake();
    assert_eq!(fake.balance(), MADE);
    assert_eq!(fake.registered, [(fake.area(), request.context_generation)]);
    assert_eq!(
        fake.journal.last(),
        Some(&Call::RegisterArea),
        "a registered area stays, so nothing may fail behind it"
    );

    let area = fake.device_bytes(fake.area());
    assert_eq!(area[..8], request.context_generation.to_le_bytes());
    assert!(area[8..].iter().all(|byte| *byte == 0));
    drop(fake);
    assert_eq!(context.operator_timeout_ms(), Ok(3000));
    assert_eq!(context.errors(), ContextErrors::default());
}

#[test]
fn every_failed_call_of_init_leaves_nothing() {
    let calls = init_calls();
    assert!(calls > 15, "{calls} calls");
    for nth in 1..=calls {
        let (platform, context, error) = failing_init(nth, &[]);
        // The first call of all asked for the current device.
        let code = INJECTED + i32::try_from(nth).unwrap() + 1;
        assert_eq!((error.code(), error.vendor_code()), (-1000, code), "call {nth}");
        assert_eq!(context.phase(), Phase::New, "call {nth}");
        assert_eq!(platform.fake().balance(), NOTHING, "call {nth}");
        assert_eq!(platform.fake().registered, [], "call {nth}");
        assert_eq!(context.errors(), ContextErrors::default(), "call {nth}");

        let before = platform.fake().journal.len();
        assert_eq!(context.close(), Ok(()), "call {nth}");
        assert_eq!(platform.journal_since(before), [], "call {nth}: nothing is left to do");
        assert_eq!(context.phase(), Phase::Closed, "call {nth}");
    }
}

#[test]
fn a_failed_roll_back_is_kept_for_close_and_never_hides_the_first_error() {
    let mut cases = 0;
    for nth in 1..=init_calls() {
        for behind in 1..=20 {
            let (platform, context, error) = failing_init(nth, &[behind]);
            if platform.fake().calls <= nth + behind {
                break; // The roll-back was shorter.
            }
            cases += 1;
            let case = format!("call {nth}, {behind} behind it");
            let code = INJECTED + i32::try_from(nth).unwrap() + 1;
            assert_eq!(error.vendor_code(), code, "{case}");
            assert_eq!(context.phase(), Phase::Closing, "{case}");
            let errors = context.errors();
            assert_eq!(errors.runtime_error, 0, "{case}");
            let kept = (errors.teardown_error, errors.teardown_vendor_code);
            assert_eq!(kept, (-1000, code + i32::try_from(behind).unwrap()), "{case}");

            let before = platform.fake().journal.len();
            assert_eq!(context.close(), Ok(()), "{case}");
            assert_eq!(platform.journal_since(before).len(), 1, "{case}: only what was left");
            assert_eq!(platform.fake().balance(), NOTHING, "{case}");
            assert_eq!(context.phase(), Phase::Closed, "{case}");
            assert_eq!(context.errors(), errors, "{case}: closing well does not forget");
        }
    }
    assert!(cases > 50, "{cases} cases");
}

#[test]
fn a_failed_roll_back_keeps_the_first_of_several_failures() {
    let (platform, context, _) = failing_init(init_calls(), &[2, 3]);
    assert_eq!(context.phase(), Phase::Closing);
    let first = INJECTED + i32::try_from(init_calls()).unwrap() + 1 + 2;
    assert_eq!(context.errors().teardown_vendor_code, first);
    assert_eq!(context.close(), Ok(()));
    assert_eq!(platform.fake().balance(), NOTHING);
}

#[test]
fn another_current_device_is_refused_before_anything_is_touched() {
    for current in [None, Some(1)] {
        let platform = FakePlatform::new();
        platform.fake().current_device = current;
        let refused = Admission::check(&mut platform.clone(), &request()).unwrap_err();
        assert_eq!(refused, ContextError::CurrentDevice { current, asked: 0 });
        assert_eq!(refused.code(), -1003);
        assert_eq!(platform.fake().journal, [Call::CurrentDevice]);
    }
}

#[test]
fn a_repeated_context_generation_is_refused_for_the_life_of_the_process() {
    let platform = FakePlatform::new();
    let request = request();
    let (context, result) = try_init(&platform, &request);
    result.unwrap();
    let repeated = |platform: &FakePlatform| Admission::check(&mut platform.clone(), &request).map(|_| ());
    let refused = ContextError::ContextGeneration(request.context_generation);
    assert_eq!(repeated(&platform), Err(refused));
    assert_eq!(refused.code(), -1003);
    context.close().unwrap();
    drop(context);
    assert_eq!(repeated(&platform), Err(refused), "the area is still there");
}

#[test]
fn a_context_generation_is_free_again_when_no_area_came_of_it() {
    let mut platform = FakePlatform::new();
    let request = request();
    drop(Admission::check(&mut platform, &request).unwrap());
    platform.fail(2);
    let (_context, result) = try_init(&platform, &request);
    assert!(result.is_err());
    assert!(Admission::check(&mut platform, &request).is_ok());
}

#[test]
fn rings_that_do_not_add_up_are_refused_before_the_latch() {
    let runtime_env = RuntimeEnv { ring_heap: [u64::MAX, u64::MAX, 0, 0], ..RuntimeEnv::default() };
    let request = host_runtime::kernel::KernelInit { device_id: 0, context_generation: new_generation(), runtime_env };
    let refused = Admission::check(&mut FakePlatform::new(), &request).unwrap_err();
    assert!(matches!(refused, ContextError::Plan(PlanError::Overflow { .. })));
    assert_eq!(refused.code(), -1004);
}

#[test]
fn an_init_without_rings_commits_no_arena() {
    let platform = FakePlatform::new();
    let request = host_runtime::kernel::KernelInit { runtime_env: RuntimeEnv::default(), ..request() };
    let (context, result) = try_init(&platform, &request);
    result.unwrap();
    assert_eq!(platform.fake().addresses(MemoryKind::Arena), []);
    assert_eq!(context.arena_bases(), Ok([0; 3]));
}
