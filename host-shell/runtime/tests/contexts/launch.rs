//! Launch: nine calls, and what the table says when one fails.
//!

use host_runtime::error::ContextError;
use tenon_core::callable::fnv1a_64;
use tenon_core::contents::LaunchRefusal;
use tenon_core::phase::Phase;
use tenon_core::vocabulary::ContextEvent::{AicoreDone, AicpuDone, Start};
use tenon_core::wire::ContextErrors;

use crate::fake::Stream::{Aicore, Aicpu, Caller};
use crate::fake::{Balance, Call, FakePlatform, INJECTED};
use crate::image::{arguments, image};
use crate::setup::{Kernel, caller, live, other_caller, prepare, slot};

/// The nine steps, as the specification lists them.
const STEPS: [Call; 9] = [
    Call::Record(Caller, Start),
    Call::Wait(Aicore, Start),
    Call::LaunchAicore(Aicore),
    Call::Record(Aicore, AicoreDone),
    Call::Wait(Aicpu, Start),
    Call::LaunchAicpu(Aicpu),
    Call::Record(Aicpu, AicpuDone),
    Call::Wait(Caller, AicpuDone),
    Call::Wait(Caller, AicoreDone),
];

/// What follows the failure of each step when nothing else fails.
fn compensation(step: usize) -> Vec<Call> {
    let cancel = Call::Cancel(Caller);
    let (record_aicore, record_aicpu) = (Call::Record(Aicore, AicoreDone), Call::Record(Aicpu, AicpuDone));
    let (wait_aicore, wait_aicpu) = (Call::Wait(Caller, AicoreDone), Call::Wait(Caller, AicpuDone));
    match step {
        1 => vec![],
        2 => vec![cancel],
        3 => vec![record_aicore, wait_aicore, cancel],
        4 => vec![cancel, record_aicore, wait_aicore],
        5 => vec![cancel, wait_aicore],
        6 => vec![cancel, record_aicpu, wait_aicpu, wait_aicore],
        7 => vec![record_aicpu, wait_aicpu, wait_aicore, cancel],
        8 => vec![wait_aicpu, wait_aicore, cancel],
        9 => vec![wait_aicore, cancel],
        _ => panic!("{step} is not a step"),
    }
}

fn ready() -> (FakePlatform, Kernel) {
    let (platform, context) = live();
    prepare(&context, 0, &image(b"code")).unwrap();
    let mut fake = platform.fake();
    fake.journal.clear();
    fake.calls = 0;
    drop(fake);
    (platform, context)
}

fn launch(context: &Kernel) -> Result<(), ContextError> {
    context.launch(slot(0), &arguments(), caller())
}

#[test]
fn a_launch_is_the_nine_calls_and_carries_only_what_is_used() {
    let (platform, context) = ready();
    launch(&context).unwrap();
    assert_eq!(context.phase(), Phase::ReadyEnqueued);
    let fake = platform.fake();
    assert_eq!(fake.journal, STEPS);

    let [arrived] = fake.arrived.as_slice() else { panic!("{:?}", fake.arrived) };
    let packet = &arrived.packet;
    assert_eq!(packet.len(), 56 + 2 * 128 + 8);
    assert_eq!(packet[..8], 320_u64.to_le_bytes());
    assert_eq!(packet[8..16], (fake.area() + 32).to_le_bytes());
    assert_eq!(packet[16..20], 1_u32.to_le_bytes(), "kernel mode");
    assert_eq!(packet[24..32], arrived.resident_generation.to_le_bytes());
    assert_eq!(packet[312..], 7_u64.to_le_bytes());
    // Tensors and scalar are pinned as one number, so that no byte between them is forgotten.
    assert_eq!(fnv1a_64(&packet[56..]), fnv1a_64(&expected_payload()));
}

/// Two vectors of 64 floats and the scalar 7, written by hand from the specification.
fn expected_payload() -> Vec<u8> {
    let mut payload = vec![0; 264];
    for (at, addr) in [(0, 0x5500_0000_1000_u64), (128, 0x5500_0000_2000)] {
        payload[at..at + 8].copy_from_slice(&addr.to_le_bytes());
        payload[at + 8] = 0; // size 256
        payload[at + 9] = 1;
        payload[at + 36] = 1; // ndims
        payload[at + 42] = 1; // is_contiguous
        payload[at + 43] = 1; // address_space
        payload[at + 44] = 64; // shapes[0]
        payload[at + 64] = 64; // extent_elem
        payload[at + 72] = 1; // strides[0]
    }
    payload[256] = 7;
    payload
}

#[test]
fn every_failed_step_is_compensated_as_the_table_says() {
    for step in 1..=9 {
        let (platform, context) = ready();
        platform.fail(step as u64);
        let code = INJECTED + i32::try_from(step).unwrap();
        let error = launch(&context).unwrap_err();
        let expected: Vec<Call> = STEPS[..step].iter().copied().chain(compensation(step)).collect();
        assert_eq!(platform.fake().journal, expected, "step {step}");
        assert_eq!((error.code(), error.vendor_code()), (-1000, code), "step {step}");
        let ContextError::LaunchStep { step: named, compensation: None, is_join_unproven: false, .. } = error else {
            panic!("step {step}: {error:?}")
        };
        assert_eq!(usize::from(named), step);

        let is_poisoned = step > 1;
        assert_eq!(context.phase() == Phase::Poisoned, is_poisoned, "step {step}");
        let expected = ContextErrors {
            runtime_error: if is_poisoned { -1000 } else { 0 },
            runtime_vendor_code: if is_poisoned { code } else { 0 },
            failed_step: i32::try_from(step).unwrap(),
            ..ContextErrors::default()
        };
        assert_eq!(context.errors(), expected, "step {step}");
        let area = platform.fake().area();
        assert_eq!(platform.fake().word(area + 8), u64::from(is_poisoned), "step {step}: cancelled on the device");

        if is_poisoned {
            let before = platform.fake().journal.len();
            assert!(matches!(launch(&context), Err(ContextError::Phase(_))), "step {step}: dispatch is refused");
            assert!(matches!(prepare(&context, 1, &image(b"more")), Err(ContextError::Phase(_))));
            assert_eq!(platform.journal_since(before), [], "step {step}");
        } else {
            assert_eq!(launch(&context), Ok(()), "nothing was enqueued");
        }
        assert_eq!(context.close(), Ok(()), "step {step}");
        assert_eq!(platform.fake().balance(), Balance { areas: 1, ..Balance::default() }, "step {step}");
    }
}

#[test]
fn every_failed_compensation_stands_beside_the_first_error() {
    let mut cases = 0;
    for step in 2..=9 {
        for nth in 1..=compensation(step).len() {
            cases += 1;
            let case = format!("step {step}, compensation {nth}");
            let (platform, context) = ready();
            platform.fail(step as u64);
            platform.fail((step + nth) as u64);
            let code = |call: usize| INJECTED + i32::try_from(call).unwrap();
            let (first, second) = (code(step), code(step + nth));
            let error = launch(&context).unwrap_err();
            let ContextError::LaunchStep { step: named, error, compensation: Some(beside), is_join_unproven } = error
            else {
                panic!("{case}: {error:?}")
            };
            assert_eq!((usize::from(named), error.code, beside.code), (step, first, second), "{case}");
            assert_eq!(context.phase(), Phase::Poisoned, "{case}");
            let errors = context.errors();
            assert_eq!((errors.runtime_error, errors.runtime_vendor_code), (-1000, first), "{case}");
            assert_eq!(errors.failed_step, i32::try_from(step).unwrap(), "{case}");
            assert_eq!(errors.join_unproven, u32::from(is_join_unproven), "{case}");
            assert_eq!(errors.teardown_error, 0, "{case}: nothing was torn down");

            let calls = platform.fake().journal.clone();
            let cancels = calls.iter().filter(|call| matches!(call, Call::Cancel(_))).count();
            assert_eq!(cancels, 1, "{case}");
            let has_cancel_failed = compensation(step)[nth - 1] == Call::Cancel(Caller);
            if has_cancel_failed {
                let behind = calls.iter().skip_while(|call| !matches!(call, Call::Cancel(_)));
                assert_eq!(behind.filter(|call| **call == Call::Wait(Caller, AicoreDone)).count(), 0, "{case}");
            }
            // What the caller's stream can be shown to join: a second try counts, a wait that was left out does not.
            let failed = compensation(step)[nth - 1];
            let is_proven = match (step, failed) {
                (_, Call::Cancel(_)) => !(4..=6).contains(&step),
                // A step that another step's list names is tried twice.
                (7, Call::Wait(..)) | (8, Call::Wait(_, AicoreDone)) => true,
                _ => false,
            };
            assert_eq!(!is_join_unproven, is_proven, "{case}: {calls:?}");
            assert_eq!(context.close(), Ok(()), "{case}");
            assert_eq!(platform.fake().balance(), Balance { areas: 1, ..Balance::default() }, "{case}");
        }
    }
    assert_eq!(cases, 22);
}

#[test]
fn what_a_launch_may_not_say_is_refused_with_nothing_enqueued() {
    let (platform, context) = ready();
    let mut wrong_count = arguments();
    wrong_count.scalar_count = 0;
    let mut bad_tensor = arguments();
    bad_tensor.tensors[1].address_space = 0;
    let mut out_of_range = arguments();
    out_of_range.tensor_count = 257;
    for args in [&wrong_count, &bad_tensor, &out_of_range] {
        let refused = context.launch(slot(0), args, caller()).unwrap_err();
        assert!(matches!(refused, ContextError::Contents(_)), "{refused}");
        assert_eq!(refused.code(), -1004);
    }
    let mismatch = LaunchRefusal::CountMismatch { field: "scalar_count", found: 0, expected: 1 };
    assert_eq!(context.launch(slot(0), &wrong_count, caller()), Err(ContextError::Contents(mismatch)));
    let empty = context.launch(slot(1), &arguments(), caller()).unwrap_err();
    assert_eq!(empty.code(), -1007, "a launch before a prepare");
    assert_eq!(platform.fake().journal, []);
    assert_eq!(context.phase(), Phase::Collecting);
    assert_eq!(context.errors(), ContextErrors::default());
}

#[test]
fn a_caller_may_change_streams_between_launches() {
    let (platform, context) = ready();
    launch(&context).unwrap();
    context.launch(slot(0), &arguments(), other_caller()).unwrap();
    let fake = platform.fake();
    assert_eq!(fake.journal[9], Call::Record(crate::fake::Stream::OtherCaller, Start));
    assert_eq!(fake.journal.len(), 18);
    assert_eq!(fake.arrived.len(), 2);
}

#[test]
fn the_callers_stream_goes_on_only_when_both_branches_have_ended() {
    let (platform, context) = ready();
    platform.fake().is_held = true;
    launch(&context).unwrap();
    let mut fake = platform.fake();
    assert!(!fake.step(Aicore) && !fake.step(Aicpu), "both branches wait for the caller's stream");
    assert!(fake.step(Caller), "Start");
    assert!(!fake.step(Caller), "it waits for the AICPU");
    while fake.step(Aicpu) {}
    assert_eq!(fake.arrived.len(), 1);
    assert!(fake.step(Caller) && !fake.step(Caller), "it waits for AICore");
    while fake.step(Aicore) {}
    assert!(fake.step(Caller));
    assert_eq!(fake.waiting(), 0);
}
