//! Packet parse and check: Tenon against straight C++17 -O2, in one run.
//!
//! `--json FILE` writes the figures, `--quick` does few rounds. Instructions are counted by callgrind, in a child process per
//! parser, less those of a parser that does nothing; where valgrind is missing the figures say so.

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use serde_json::json;
use tenon_core::generation::{CallableId, Generation, SlotIndex};
use tenon_core::packet::Draft;
use tenon_core::wire::{Mode, Tensor};
use tenon_tests::packet::{Accepted, NOTHING, Parser, REFERENCE, TENON, read};

/// Tenon's time over the reference's, at most.
const TIME_LIMIT: f64 = 1.0;
/// Tenon's instructions over the reference's, at most.
const INSTRUCTION_LIMIT: f64 = 1.2;
/// Passes over the packets in one timed stretch: long against the clock's own cost, short against a scheduler's slice.
const PASSES: u32 = 400;

fn parser(name: &str) -> Parser {
    match name {
        "tenon" => TENON,
        "reference" => REFERENCE,
        _ => NOTHING,
    }
}

/// Valid packets of many sizes, each at another alignment: an operator's usual few arguments and the largest there are.
struct Packets {
    bytes: Vec<u8>,
    ranges: Vec<std::ops::Range<usize>>,
}

impl Packets {
    fn new() -> Self {
        let (tensors, scalars) = ([Tensor::default(); 256], [7; 128]);
        let (mut bytes, mut ranges) = (Vec::new(), Vec::new());
        for index in 0..64_usize {
            let (nr_tensors, nr_scalars) = if index % 16 == 15 { (index * 4, 4) } else { (index % 7, index % 5) };
            let slot = SlotIndex::from_index(index).expect("below 64");
            let draft = Draft {
                mode: Mode::Kernel,
                callable: CallableId { slot, generation: Generation::FIRST },
                residency_address: 0x5500_0000_0000 + slot.record_offset(),
                tensors: &tensors[..nr_tensors],
                scalars: &scalars[..nr_scalars],
            };
            let start = bytes.len() + index % 9;
            bytes.resize(start + draft.packet_bytes().expect("within the limits"), 0);
            draft.emit(&mut bytes[start..]).expect("large enough");
            ranges.push(start..bytes.len());
        }
        Self { bytes, ranges }
    }

    /// Reads every packet once; gives something that depends on each result.
    #[inline(never)]
    fn read_all(&self, parser: Parser) -> u64 {
        let (parser, mut accepted, mut sum) = (black_box(parser), Accepted::default(), 0);
        for range in &self.ranges {
            let rule = read(parser, &self.bytes[range.clone()], &mut accepted);
            assert_eq!(rule, 0, "a valid packet was refused");
            sum ^= accepted.generation ^ accepted.payload_bytes as u64;
        }
        sum
    }

    /// Nanoseconds per packet.
    fn time(&self, parser: Parser) -> f64 {
        let start = Instant::now();
        for _ in 0..PASSES {
            black_box(self.read_all(parser));
        }
        start.elapsed().as_nanos() as f64 / (f64::from(PASSES) * self.ranges.len() as f64)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Instructions per packet of each parser, without the loop around it; or why they were not counted.
fn instructions(names: [&str; 2]) -> Result<[f64; 2], String> {
    let counts = ["nothing", names[0], names[1]].map(count_instructions);
    let [Ok(around), Ok(first), Ok(second)] = counts else {
        return Err(counts.into_iter().find_map(Result::err).unwrap_or_default());
    };
    let parses = f64::from(COUNTED_PASSES) * Packets::new().ranges.len() as f64;
    Ok([first, second].map(|count| (count - around) / parses))
}

const COUNTED_PASSES: u32 = 200;

/// Instructions of a child process that reads every packet some times.
fn count_instructions(name: &str) -> Result<f64, String> {
    let program = env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--count", name])
        .output()
        .map_err(|error| format!("valgrind: {error}; install it to count instructions"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines()
        .find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok())
        .ok_or_else(|| format!("callgrind did not say what it collected: {text}"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut json, mut rounds) = (None, 301);
    let mut arguments = env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--json" => json = Some(PathBuf::from(arguments.next().ok_or("--json: expected a file")?)),
            "--quick" => rounds = 31,
            "--count" => {
                let (packets, name) = (Packets::new(), arguments.next().ok_or("--count: expected a parser")?);
                for _ in 0..COUNTED_PASSES {
                    black_box(packets.read_all(parser(&name)));
                }
                return Ok(());
            }
            // Cargo's own.
            "--bench" => {}
            other => return Err(format!("{other}: expected --json FILE or --quick").into()),
        }
    }

    let packets = Packets::new();
    // One unmeasured round each, then alternate who goes first, so that neither gets the warmer cache.
    let _ = (packets.time(REFERENCE), packets.time(TENON));
    let (mut reference, mut tenon, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let (first, second) = if round % 2 == 0 { (REFERENCE, TENON) } else { (TENON, REFERENCE) };
        let times = (packets.time(first), packets.time(second));
        let (r, t) = if round % 2 == 0 { times } else { (times.1, times.0) };
        reference.push(r);
        tenon.push(t);
        ratios.push(t / r);
    }
    let (reference, tenon, ratio) = (median(reference), median(tenon), median(ratios));
    println!("packet parse + check, {rounds} rounds: Tenon {tenon:.2} ns, C++ {reference:.2} ns, ratio {ratio:.3}");
    let mut gates = vec![json!({"name": "packet: time", "value": ratio, "limit": TIME_LIMIT})];
    let counted = match instructions(["tenon", "reference"]) {
        Ok([tenon, reference]) => {
            let ratio = tenon / reference;
            println!("instructions: Tenon {tenon:.1}, C++ {reference:.1}, ratio {ratio:.3}");
            gates.push(json!({"name": "packet: instructions", "value": ratio, "limit": INSTRUCTION_LIMIT}));
            json!({"tenon": tenon, "reference": reference})
        }
        Err(why) => {
            println!("instructions were not counted: {why}");
            json!({"not_counted": why})
        }
    };
    if let Some(path) = json {
        let figures = json!({
            "bench": "packet", "rounds": rounds, "median_ns": {"tenon": tenon, "reference": reference},
            "instructions": counted, "gates": gates,
        });
        fs::write(path, serde_json::to_string_pretty(&figures)? + "\n")?;
    }
    Ok(())
}
