//! Host cost of a launch against a plain loop over ten virtual calls.
//!
//! `--json FILE` writes the figures, `--quick` does few rounds. The context calls its platform through a table of functions here, as
//! the shared library does. Rounds alternate, so that a slow moment of the machine meets both.

#[path = "../tests/support/allocations.rs"]
mod allocations;
#[path = "../tests/support/image.rs"]
mod image;
#[path = "../tests/support/recorder.rs"]
mod recorder;

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;
use std::{env, fs};

use host_runtime::kernel::KernelContext;
use host_runtime::platform::AnyPlatform;
use serde_json::json;
use tenon_core::vocabulary::{EventId, LaunchOps};
use tenon_core::wire::StorageTaskArgs;

use recorder::{Recorder, Tape, Word, slot, stream};

/// A launch's time over the loop's, at most.
const TIME_LIMIT: f64 = 3.0;
/// Launches, or turns, in one timed stretch: long against the clock's own cost, short against a scheduler's slice.
const REPEATS: u32 = 2000;

/// The nine words of a launch and the one that is left.
const WORDS: [Word; 10] = [
    Word::Record,
    Word::Wait,
    Word::LaunchAicore,
    Word::Record,
    Word::Wait,
    Word::LaunchAicpu,
    Word::Record,
    Word::Wait,
    Word::Wait,
    Word::Cancel,
];

/// Ten virtual calls of a recording platform that nothing stands around.
#[inline(never)]
fn plain_loop(platform: &mut dyn LaunchOps, words: &[Word; 10], event: EventId, packet: &[u8]) {
    let mut is_ok = true;
    for word in words {
        is_ok &= match word {
            Word::Record => platform.record_event(event, stream()),
            Word::Wait => platform.wait_event(stream(), event),
            Word::LaunchAicpu => platform.launch_aicpu(stream(), packet),
            Word::LaunchAicore => platform.launch_aicore(stream(), 64),
            Word::Cancel | Word::Other => platform.cancel(stream(), 64),
        }
        .is_ok();
    }
    assert!(is_ok, "a recorder never fails");
}

/// Nanoseconds per call of `act`.
fn time(mut act: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..REPEATS).for_each(|_| act());
    start.elapsed().as_nanos() as f64 / f64::from(REPEATS)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn launch(context: &KernelContext<AnyPlatform>, args: &StorageTaskArgs) {
    context.launch(slot(), black_box(args), stream()).expect("a recorder never fails");
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut json, mut rounds) = (None, 301);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = Some(PathBuf::from(arguments.next().ok_or("--json: expected a file")?)),
            "--quick" => rounds = 31,
            // Cargo's own.
            "--bench" => {}
            other => return Err(format!("{other}: expected --json FILE or --quick").into()),
        }
    }

    let recorder = Recorder::new();
    let tape = recorder.tape();
    let context = recorder::context(AnyPlatform::new(recorder.clone()), AnyPlatform::new(recorder));
    let args = image::arguments();
    let mut plain: Box<dyn LaunchOps> = Box::new(Recorder::new());
    let packet = [0; 320];
    let event = EventId::from_bits(8).ok_or("not null")?;

    // One unmeasured round each, then alternate who goes first.
    let allocations = allocations::allocations(|| {
        time(|| launch(&context, &args));
    });
    time(|| plain_loop(plain.as_mut(), black_box(&WORDS), event, &packet));
    let (mut launches, mut loops, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let before = tape.written();
    for round in 0..rounds {
        let (launched, looped) = if round % 2 == 0 {
            let launched = time(|| launch(&context, &args));
            (launched, time(|| plain_loop(plain.as_mut(), black_box(&WORDS), event, &packet)))
        } else {
            let looped = time(|| plain_loop(plain.as_mut(), black_box(&WORDS), event, &packet));
            (time(|| launch(&context, &args)), looped)
        };
        launches.push(launched);
        loops.push(looped);
        ratios.push(launched / looped);
    }
    let calls_per_launch = calls_per_launch(&tape, before, rounds);
    let (launch, plain, ratio) = (median(launches), median(loops), median(ratios));
    println!(
        "launch of {calls_per_launch} calls, {rounds} rounds: {launch:.1} ns, ten virtual calls {plain:.1} ns, ratio {ratio:.2}, \
         {allocations} allocations in {REPEATS} launches"
    );
    if let Some(path) = json {
        let gates = json!([
            {"name": "launch: time", "value": ratio, "limit": TIME_LIMIT},
            {"name": "launch: allocations", "value": allocations, "limit": 0},
        ]);
        let figures = json!({
            "bench": "launch", "rounds": rounds, "median_ns": {"launch": launch, "ten_virtual_calls": plain},
            "calls_per_launch": calls_per_launch, "allocations": allocations, "gates": gates,
        });
        fs::write(path, serde_json::to_string_pretty(&figures)? + "\n")?;
    }
    Ok(())
}

fn calls_per_launch(tape: &Tape, before: usize, rounds: usize) -> usize {
    (tape.written() - before) / (rounds * REPEATS as usize)
}
