//! Program mode: a device of its own, and nothing left on it when an entry returns.
//!

use host_runtime::error::ContextError;
use host_runtime::program::{ProgramContext, ProgramInit};
use host_runtime::unlatched::UnlatchedContext;
use tenon_core::entries::ContextState;
use tenon_core::status::DispatchAnswer;
use tenon_core::vocabulary::{DeviceImages, MemoryKind};
use tenon_core::wire::{CallConfig, RuntimeEnv};

use crate::fake::Stream::{Aicore, Aicpu};
use crate::fake::{Balance, Call, FakePlatform};
use crate::image::{arguments, image};
use crate::setup::slot;

type Program = ProgramContext<FakePlatform>;

const RINGS: RuntimeEnv = RuntimeEnv { ring_task_window: [4; 4], ring_heap: [1024; 4], ring_dep_pool: [4; 4] };
const CLOSED: Balance =
    Balance { streams: 0, events: 0, pinned: 0, areas: 1, images: 0, regions: 0, user: 0, devices: 0 };
const NOTHING: Balance = Balance { areas: 0, ..CLOSED };

fn latched() -> (FakePlatform, Program) {
    let platform = FakePlatform::new();
    let permit = UnlatchedContext::new().latch_program().unwrap();
    let context = ProgramContext::new(permit, platform.clone(), platform.clone());
    (platform, context)
}

fn init(context: &Program, prewarm: Option<RuntimeEnv>) -> Result<(), ContextError> {
    let prewarm = prewarm.map(config);
    context.init(&ProgramInit { device_id: 2, images: DeviceImages::default(), prewarm: prewarm.as_ref() })
}

/// An initialised context with a callable in slot 0, and a journal that begins behind it.
fn ready() -> (FakePlatform, Program) {
    let (platform, context) = latched();
    init(&context, Some(RINGS)).unwrap();
    image(b"code").with(|bytes| context.register(slot(0), bytes)).unwrap();
    let mut fake = platform.fake();
    fake.journal.clear();
    fake.calls = 0;
    drop(fake);
    (platform, context)
}

fn config(runtime_env: RuntimeEnv) -> CallConfig {
    CallConfig { runtime_env, ..CallConfig::default() }
}

fn run(context: &Program) -> Result<(), ContextError> {
    context.run(slot(0), &arguments(), &config(RINGS))
}

#[test]
fn a_run_is_enqueued_on_two_own_streams_and_waited_for() {
    let (platform, context) = ready();
    run(&context).unwrap();
    let fake = platform.fake();
    let expected =
        [Call::LaunchAicore(Aicore), Call::LaunchProgram(Aicpu), Call::Synchronize(Aicpu), Call::Synchronize(Aicore)];
    assert_eq!(fake.journal, expected);
    assert_eq!(fake.arrived[0].packet[16..20], [0; 4], "program mode");
    assert_eq!(fake.waiting(), 0);
}

#[test]
fn init_takes_the_device_and_finalize_lets_go_of_everything() {
    let (platform, context) = ready();
    assert_eq!(context.state(), ContextState::Program);
    assert_eq!(platform.fake().balance().devices, 1);
    let address = context.malloc(100).unwrap();
    assert_ne!(address, 0);
    assert_eq!(context.finalize(), Ok(()));
    assert_eq!(context.state(), ContextState::Finalized);
    assert_eq!(platform.fake().balance(), CLOSED);
    assert_eq!(platform.fake().journal.last(), Some(&Call::ResetDevice));
    assert_eq!(context.committed_bytes(), 0);
    assert_eq!(context.finalize(), Ok(()), "again is nothing");
    assert_eq!(run(&context).unwrap_err().code(), -1003);
    assert_eq!(context.malloc(1).unwrap_err().code(), -1003);
}

#[test]
fn every_failed_call_of_init_leaves_nothing_and_init_may_be_tried_again() {
    let calls = {
        let (platform, context) = latched();
        init(&context, Some(RINGS)).unwrap();
        platform.fake().calls
    };
    for nth in 1..=calls {
        let (platform, context) = latched();
        platform.fail(nth);
        assert_eq!(init(&context, Some(RINGS)).unwrap_err().code(), -1000, "call {nth}");
        assert_eq!(context.state(), ContextState::ProgramInitFailed, "call {nth}");
        assert_eq!(platform.fake().balance(), NOTHING, "call {nth}");
        assert_eq!(run(&context).unwrap_err().code(), -1003, "call {nth}");
        assert_eq!(init(&context, Some(RINGS)), Ok(()), "call {nth}");
        assert_eq!(context.finalize(), Ok(()), "call {nth}");
        assert_eq!(platform.fake().balance(), CLOSED, "call {nth}");
    }
}

#[test]
fn what_a_failed_init_could_not_undo_is_undone_by_the_next_one_or_by_finalize() {
    for does_init_again in [true, false] {
        let (platform, context) = latched();
        // The event cannot be made, and then the first stream cannot be destroyed.
        platform.fail(5);
        platform.fail(6);
        init(&context, None).unwrap_err();
        assert_eq!(context.errors().teardown_error, -1000);
        assert_eq!(platform.fake().balance(), Balance { streams: 1, devices: 1, ..NOTHING });
        if does_init_again {
            init(&context, None).unwrap();
        }
        context.finalize().unwrap();
        let areas = usize::from(does_init_again);
        assert_eq!(platform.fake().balance(), Balance { areas, ..NOTHING });
    }
}

#[test]
fn a_second_init_is_refused_and_harms_nothing() {
    let (platform, context) = ready();
    assert_eq!(init(&context, None).unwrap_err().code(), -1003);
    assert_eq!(platform.fake().journal, []);
    assert_eq!(run(&context), Ok(()));
}

#[test]
fn the_arena_grows_between_runs_and_never_shrinks() {
    let (platform, context) = ready();
    let (bases, before) = (platform.fake().addresses(MemoryKind::Arena), context.committed_bytes());
    run(&context).unwrap();
    assert_eq!(platform.fake().addresses(MemoryKind::Arena), bases);
    let more = RuntimeEnv { ring_heap: [4096; 4], ..RINGS };
    context.run(slot(0), &arguments(), &config(more)).unwrap();
    assert_eq!(context.committed_bytes(), before + 4 * (4096 - 1024));
    assert_eq!(platform.fake().balance().regions, 3);
    context.run(slot(0), &arguments(), &CallConfig::default()).unwrap();
    assert_eq!(context.committed_bytes(), before + 4 * (4096 - 1024));
}

#[test]
fn a_failed_growth_leaves_the_arena_as_it_was() {
    let (platform, context) = ready();
    let bases = platform.fake().addresses(MemoryKind::Arena);
    platform.fail(2);
    let more = RuntimeEnv { ring_heap: [4096; 4], ring_dep_pool: [64; 4], ..RINGS };
    assert_eq!(context.run(slot(0), &arguments(), &config(more)).unwrap_err().code(), -1000);
    assert_eq!(platform.fake().addresses(MemoryKind::Arena), bases);
    assert_eq!(run(&context), Ok(()));
}

#[test]
fn what_the_device_answers_is_told_and_the_context_goes_on() {
    let (platform, context) = ready();
    platform.fake().refuse_next_run = Some(DispatchAnswer::InvalidBinding.code());
    let refused = run(&context).unwrap_err();
    assert_eq!(refused, ContextError::Device(DispatchAnswer::InvalidBinding));
    assert_eq!(refused.code(), -905);
    assert_eq!(run(&context), Ok(()));
    platform.fake().refuse_next_run = Some(DispatchAnswer::ExecutionFailed.code());
    assert_eq!(run(&context).unwrap_err().code(), -906);
    let errors = context.errors();
    assert_eq!((errors.first_refusal, errors.refusals, errors.runtime_error), (5, 2, 0));
}

#[test]
fn every_failed_call_of_a_run_either_did_nothing_or_leaves_only_finalize() {
    for (nth, is_unusable) in [(1, false), (2, true), (3, true), (4, true)] {
        let (platform, context) = ready();
        platform.fail(nth);
        assert_eq!(run(&context).unwrap_err().code(), -1000, "call {nth}");
        assert_eq!(run(&context).is_err(), is_unusable, "call {nth}");
        assert_eq!(context.errors().runtime_error != 0, is_unusable, "call {nth}");
        let has_cancelled = platform.fake().journal.contains(&Call::Cancel(Aicpu));
        assert_eq!(has_cancelled, nth == 2, "call {nth}: AICore has no verdict to leave with");
        assert_eq!(context.finalize(), Ok(()), "call {nth}");
        assert_eq!(platform.fake().balance(), CLOSED, "call {nth}");
    }
}

#[test]
fn an_unregistered_slot_is_empty_and_an_unknown_one_is_no_error() {
    let (platform, context) = ready();
    assert_eq!(context.unregister(slot(9)), Ok(()));
    assert_eq!(platform.fake().journal, []);
    assert_eq!(context.unregister(slot(0)), Ok(()));
    assert_eq!(context.unregister(slot(0)), Ok(()));
    assert_eq!(run(&context).unwrap_err().code(), -1007);
    image(b"other").with(|bytes| context.register(slot(0), bytes)).unwrap();
    assert_eq!(run(&context), Ok(()));
    assert_eq!(platform.fake().arrived.last().unwrap().packet[24..32], 2_u64.to_le_bytes());
}

#[test]
fn memory_that_is_not_the_contexts_is_refused_untouched() {
    let (platform, context) = ready();
    let address = context.malloc(100).unwrap();
    context.copy_in(address + 1, b"hello").unwrap();
    let mut back = [0; 5];
    context.copy_out(&mut back, address + 1).unwrap();
    assert_eq!(&back, b"hello");
    let before = platform.fake().journal.len();
    for refused in [
        context.copy_in(address + 98, b"abc"),
        context.copy_out(&mut back, address - 1),
        context.copy_in(platform.fake().area(), b"a"),
        context.free(address + 1),
        context.free(0x1234),
        context.malloc(0).map(|_| ()),
    ] {
        assert_eq!(refused.unwrap_err().code(), -1004);
    }
    assert_eq!(platform.journal_since(before), []);
    assert_eq!(context.free(address), Ok(()));
    assert_eq!(context.free(address).unwrap_err().code(), -1004, "a second free");
}

#[test]
fn a_free_that_failed_can_be_tried_again() {
    let (platform, context) = ready();
    let address = context.malloc(64).unwrap();
    let held = context.committed_bytes();
    platform.fail(1);
    assert_eq!(context.free(address).unwrap_err().code(), -1000);
    assert_eq!(context.committed_bytes(), held);
    assert_eq!(context.free(address), Ok(()));
    assert_eq!(context.committed_bytes(), held - 64);
}

#[test]
fn every_failed_call_of_finalize_is_left_for_the_retry() {
    let calls = {
        let (platform, context) = ready();
        context.finalize().unwrap();
        platform.fake().journal.clone()
    };
    for (nth, failed) in (1..).zip(&calls) {
        let (platform, context) = ready();
        platform.fail(nth);
        let first = context.finalize();
        if matches!(failed, Call::Synchronize(_)) {
            assert_eq!(first, Ok(()), "call {nth}: it told of an earlier failure, the second wait is what counts");
        } else {
            assert_eq!(first.unwrap_err().code(), -1000, "call {nth}, {failed:?}");
            assert_eq!(context.errors().teardown_error, -1000, "call {nth}, {failed:?}");
            assert_eq!(context.state(), ContextState::Program, "call {nth}, {failed:?}");
            assert_eq!(run(&context).unwrap_err().code(), -1003, "call {nth}, {failed:?}");
            assert_eq!(context.finalize(), Ok(()), "call {nth}, {failed:?}");
        }
        assert_eq!(platform.fake().balance(), CLOSED, "call {nth}, {failed:?}");
    }
}

#[test]
fn a_lost_device_is_left_alone_and_the_context_is_finalised() {
    let (platform, context) = ready();
    platform.fake().lost_from = Some(3);
    assert_eq!(context.finalize(), Ok(()));
    assert_eq!(context.state(), ContextState::Finalized);
    assert_eq!(context.errors().teardown_error, -1000);
}

#[test]
fn a_run_prepared_under_another_configuration_is_refused_with_nothing_run() {
    let (platform, context) = ready();
    let traced = CallConfig { enable_pmu: 1, ..config(RINGS) };
    let refused = context.run(slot(0), &arguments(), &traced).unwrap_err();
    assert_eq!(refused.code(), -1002);
    assert_eq!(refused.to_string(), "the configuration: enable_pmu is 1, but the context was prepared with 0");
    assert!(platform.fake().journal.is_empty());
    run(&context).unwrap();
}

#[test]
fn without_a_prewarm_the_first_run_says_what_the_others_have() {
    let (_platform, context) = latched();
    init(&context, None).unwrap();
    image(b"code").with(|bytes| context.register(slot(0), bytes)).unwrap();
    let four = CallConfig { aicpu_thread_num: 4, ..config(RINGS) };
    let three = CallConfig { aicpu_thread_num: 3, ..four };
    context.run(slot(0), &arguments(), &four).unwrap();
    assert_eq!(context.run(slot(0), &arguments(), &three).unwrap_err().code(), -1002);
    run(&context).unwrap();
}
