//! Every simulator call of the runtime, failed in turn over a context's life.
//!

use core::ffi::c_int;

use host_runtime::platform::REQUIRED_SYMBOLS;
use tenon_core::wire::StorageTaskArgs;

use crate::session::{Context, Device, INTERNAL, INVALID_STATE, Image, faulty, tell_faulty};

/// What an injected failure answers: a driver's fault, which nothing else in these tests has.
const INJECTED: c_int = 507_899;
/// No scenario makes more calls of one name.
const MOST_CALLS: u64 = 40;

/// What has a life that must end: made by, ended by.
const PAIRS: [(&str, &str); 3] =
    [("create_stream", "destroy_stream"), ("create_event", "destroy_event"), ("malloc_host", "free_host")];

/// How far a life came before something failed.
#[derive(Debug, Default)]
struct Life {
    init: c_int,
    prepare: c_int,
    launch: c_int,
    release: c_int,
    first_close: c_int,
}

/// Init, prepare, launch, release, close; close is tried again until it works.
fn live(device: &Device, context: &Context<'_>, image: &Image, args: &StorageTaskArgs, is_captured: bool) -> Life {
    let mut life = Life { init: context.init(), ..Life::default() };
    if life.init == 0 {
        life.prepare = context.prepare(0, image);
        device.synchronize(device.stream);
        if life.prepare == 0 {
            if is_captured {
                let graph = device.try_capture(|| life.launch = context.launch(0, args));
                if life.launch == 0 {
                    let graph = graph.expect("a launch that worked can be captured");
                    device.replay(graph, device.stream);
                    device.synchronize(device.stream);
                }
                if let Ok(graph) = graph {
                    // SAFETY: no pointer that is followed.
                    unsafe { (device.sim.graph_destroy)(graph) };
                }
            } else {
                life.launch = context.launch(0, args);
            }
            device.synchronize(device.stream);
        }
        if life.prepare == 0 && life.launch == 0 {
            life.release = context.release(0);
            device.synchronize(device.stream);
        }
    }
    life.first_close = context.finalize();
    for _ in 0..3 {
        if context.finalize() == 0 {
            return life;
        }
    }
    panic!("it does not close: {life:?}, {:?}", context.errors());
}

/// Fails the `nth` call of `call` in one life; whether there was such a call.
fn fail_one(device: &Device, image: &Image, args: &StorageTaskArgs, call: &str, nth: u64, is_captured: bool) -> bool {
    let counts = |device: &Device| PAIRS.map(|(make, end)| (device.count(make), device.count(end)));
    let (calls, before) = (device.count(call), counts(device));
    device.fail(call, nth, INJECTED);
    let context = Context::fresh(device);
    let life = live(device, &context, image, args, is_captured);
    device.clear_faults();
    let has_struck = device.count(call) - calls >= nth;
    let place = format!("{call} {nth}: {life:?}, {:?}", context.errors());

    for ((make, end), ((made_before, ended_before), (made, ended))) in
        PAIRS.iter().zip(before.into_iter().zip(counts(device)))
    {
        let struck = |name: &str| u64::from(has_struck && name == call);
        assert_eq!(made - made_before - struck(make), ended - ended_before - struck(end), "{make}: {place}");
    }
    let errors = context.errors();
    let codes = [life.init, life.prepare, life.launch, life.release, life.first_close];
    assert!(codes.iter().all(|code| [0, INTERNAL, INVALID_STATE].contains(code)), "{place}");
    if life.launch != 0 && errors.runtime_error != 0 {
        assert_eq!(errors.runtime_vendor_code, INJECTED, "the first cause is kept: {place}");
        assert!((2..=9).contains(&errors.failed_step), "{place}");
    }
    if life.first_close == INTERNAL {
        assert_eq!((errors.teardown_error, errors.teardown_vendor_code), (INTERNAL, INJECTED), "{place}");
    }
    if has_struck {
        // What compensates or only asks may fail without anybody being told a code.
        let is_told = codes.iter().any(|code| *code != 0) || errors.teardown_error != 0 || call == "read_device";
        assert!(is_told, "a failure was swallowed: {place}");
    } else {
        assert_eq!(codes, [0; 5], "nothing failed: {place}");
    }
    assert_eq!(context.destroy(), 0, "{place}");
    has_struck
}

fn fail_every_call(is_captured: bool) {
    let device = Device::new();
    let (trace, other) = (device.words(&[0; faulty::WORDS]), device.words(&[0; faulty::WORDS]));
    let (image, args) = (Image::of("faulty"), tell_faulty(trace, other, faulty::SUCCEED, 0));
    let mut failures = 0;
    for symbol in REQUIRED_SYMBOLS {
        let call = symbol.trim_start_matches("tenon_sim_");
        let struck =
            (1..=MOST_CALLS).take_while(|nth| fail_one(&device, &image, &args, call, *nth, is_captured)).count();
        assert!((struck as u64) < MOST_CALLS, "{call} is called more often than this test tries");
        failures += struck;
    }
    assert!(failures >= 35, "only {failures} calls were failed");
}

#[test]
fn every_call_fails_in_turn_and_the_context_always_closes_with_nothing_left() {
    fail_every_call(false);
}

#[test]
fn every_call_fails_in_turn_around_a_capture_too() {
    fail_every_call(true);
}
