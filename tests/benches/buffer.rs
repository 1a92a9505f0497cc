//! Buffer references: Tenon against straight C++17 -O2, in one run.
//!
//! `--json FILE` writes the figures, `--quick` does few rounds. The limits are on ratios of two times of the same round.

use std::error::Error;
use std::hint::black_box;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Instant;
use std::{env, fs};

use serde_json::{Value, json};
use tenon_core::buffer::validate::reference_from_bytes;
use tenon_core::buffer::{
    Access, Backing, BlobReader, BlobWriter, BufferGeneration, BufferHandleDescriptor, BufferRef, CanonicalIdentity,
    Draft, Overlap, Refusal, ShmName, blob_bytes, overlap,
};
use tenon_core::wire::{AddressSpace, DataType};
use tenon_tests::buffer::{CheckedRef, REF_BYTES, tenon_reference_buffer_check, tenon_reference_buffer_overlap};

/// Tenon's time over the reference's, at most.
const VIEW_LIMIT: f64 = 0.60;
const MIXED_LIMIT: f64 = 0.50;
const OVERLAP_LIMIT: f64 = 0.60;
/// Time per reference out of a blob over that of the validator alone: half its rate.
const BLOB_LIMIT: f64 = 2.0;
/// References, or pairs, in one set: as many as a launch may have.
const SET: usize = 256;
/// Passes over a set in one timed stretch: long against the clock's own cost, short against a scheduler's slice.
const PASSES: u32 = 100;

/// SplitMix64.
struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((z ^ (z >> 31)) % u64::from(end)).expect("below a u32")
    }
}

fn descriptor(backing: Backing, nbytes: u64) -> BufferHandleDescriptor {
    let generation = BufferGeneration::FIRST;
    let identity = CanonicalIdentity { owner_instance_id: *b"ABCDEFGH", buffer_id: 7, generation };
    let access = if matches!(backing, Backing::ForkCow(_)) { Access::Read } else { Access::ReadWrite };
    BufferHandleDescriptor::new(identity, &backing, access, nbytes).expect("a valid descriptor")
}

fn named(name: &str) -> Backing {
    Backing::PosixShm(ShmName::new(name).expect("a valid name"))
}

/// 3-D views of f16 in an object whose name has twelve characters.
fn views() -> Vec<BufferRef> {
    let descriptor = descriptor(named("psm_deadbeef"), 1 << 20);
    let view = |index: u32| {
        let shape = [2 + index % 7, 16, 32];
        let draft = Draft { byte_offset: u64::from(index) * 64, shape: &shape, strides: None, dtype: DataType::F16 };
        BufferRef::new(&descriptor, &draft).expect("a valid view")
    };
    (0..).take(SET).map(view).collect()
}

/// Every backend with every rank and type, in no order that a branch predictor could learn.
fn mixed() -> Vec<BufferRef> {
    let mut random = Random(3);
    let base = NonZeroU64::new(0x7f00_0000_1000).expect("not 0");
    let mut view = || {
        let backing = match random.below(6) {
            0 => Backing::ForkShm(base),
            1 => named("tenon.abcdefghijklmnopqrstuvwxyz".get(..1 + random.below(32) as usize).expect("ASCII")),
            2 => Backing::VmmWindow(base),
            3 => Backing::RemoteSidecar(AddressSpace::Device),
            4 => Backing::DeviceMalloc(base),
            _ => Backing::ForkCow(base),
        };
        let shape: Vec<u32> = (0..1 + random.below(5)).map(|_| 1 + random.below(9)).collect();
        let dtype = DataType::ALL[random.below(15) as usize];
        let draft = Draft { byte_offset: u64::from(random.below(64)) * 8, shape: &shape, strides: None, dtype };
        BufferRef::new(&descriptor(backing, 1 << 20), &draft).expect("a valid view")
    };
    (0..SET).map(|_| view()).collect()
}

/// Boxes of arrays of one to five axes, two by two of the same array. Their bounding ranges meet: those of others are told apart
/// by two comparisons, and nothing would be compared here.
fn boxes() -> Vec<BufferRef> {
    let mut random = Random(5);
    let descriptor = descriptor(named("psm_deadbeef"), 64 * 48 * 40 * 2);
    let array = |shape: &[u32]| {
        let draft = Draft { byte_offset: 0, shape, strides: None, dtype: DataType::F16 };
        BufferRef::new(&descriptor, &draft).expect("the whole backing")
    };
    let arrays = [
        array(&[122_880]),
        array(&[384, 320]),
        array(&[64, 48, 40]),
        array(&[8, 24, 32, 20]),
        array(&[8, 4, 6, 32, 20]),
    ];
    let mut inside = |array: &BufferRef| {
        let ranges: Vec<(u32, u32)> = array
            .shape()
            .iter()
            .map(|len| {
                let start = random.below(*len);
                (start, 1 + random.below(len - start))
            })
            .collect();
        let [offsets, shape] =
            [0, 1].map(|part| ranges.iter().map(|range| [range.0, range.1][part]).collect::<Vec<_>>());
        array.sub_view(&offsets, &shape).expect("inside the array")
    };
    let meet = |pair: &[BufferRef; 2]| {
        let [probe, entry] = pair.map(|view| view.byte_offset()..view.byte_offset() + view.extent_bytes());
        probe.start < entry.end && entry.start < probe.end
    };
    let pairs = arrays.iter().cycle().map(|array| [inside(array), inside(array)]);
    pairs.filter(meet).take(SET).flatten().collect()
}

/// The references as they travel.
fn blob(references: &[BufferRef]) -> Vec<u8> {
    let mut bytes = vec![0; blob_bytes(references.len(), 0).expect("a blob's size")];
    let mut writer = BlobWriter::new(&mut bytes, references.len(), 0).expect("room");
    for (index, reference) in references.iter().enumerate() {
        writer.set_reference(index, reference).expect("an index below the count");
    }
    bytes
}

/// The bytes of each reference in a blob.
fn claims(blob: &[u8]) -> &[[u8; REF_BYTES]] {
    blob[8..].as_chunks().0
}

/// Tenon checks every claim; how many it refuses. The checked value is in memory, as its caller would have it.
#[inline(never)]
fn check_all(claims: &[[u8; REF_BYTES]]) -> u32 {
    let check: fn(&[u8]) -> Result<BufferRef, Refusal> = black_box(reference_from_bytes);
    claims.iter().fold(0, |refused, bytes| refused + u32::from(black_box(&check(bytes)).is_err()))
}

/// The same in C++.
#[inline(never)]
fn check_all_reference(claims: &[[u8; REF_BYTES]]) -> u32 {
    let check: extern "C" fn(&[u8; REF_BYTES], &mut CheckedRef) -> u32 = black_box(tenon_reference_buffer_check);
    let mut out = CheckedRef::default();
    claims.iter().fold(0, |refused, bytes| refused + u32::from(check(bytes, black_box(&mut out)) != 0))
}

/// Checks every reference of a blob, as it is handed out.
#[inline(never)]
fn read_all(blob: &[u8]) -> u32 {
    let reader = BlobReader::new(blob).expect("a valid blob");
    let references = (0..reader.tensor_count()).map(|index| reader.reference(index));
    references.fold(0, |refused, reference| refused + u32::from(black_box(&reference).is_err()))
}

/// Tenon compares every pair.
#[inline(never)]
fn overlap_all(views: &[BufferRef]) -> u32 {
    let overlap: fn(&BufferRef, &BufferRef) -> Overlap = black_box(overlap);
    views.as_chunks().0.iter().fold(0, |sum, [probe, entry]| sum + u32::from(overlap(probe, entry).code()))
}

/// The same in C++.
#[inline(never)]
fn overlap_all_reference(views: &[CheckedRef]) -> u32 {
    let overlap: extern "C" fn(&CheckedRef, &CheckedRef) -> u8 = black_box(tenon_reference_buffer_overlap);
    views.as_chunks().0.iter().fold(0, |sum, [probe, entry]| sum + u32::from(overlap(probe, entry)))
}

/// The claims as the C++ side has them after checking.
fn checked(claims: &[[u8; REF_BYTES]]) -> Vec<CheckedRef> {
    let check = |bytes| {
        let mut out = CheckedRef::default();
        assert_eq!(tenon_reference_buffer_check(bytes, &mut out), 0, "a valid reference was refused");
        out
    };
    claims.iter().map(check).collect()
}

/// Nanoseconds per element of a set.
fn time(mut pass: impl FnMut() -> u32) -> f64 {
    let start = Instant::now();
    for _ in 0..PASSES {
        black_box(pass());
    }
    start.elapsed().as_nanos() as f64 / (f64::from(PASSES) * SET as f64)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Times two things in turn and prints the median of their ratio.
fn compare(
    name: &str,
    limit: f64,
    rounds: usize,
    mut ours: impl FnMut() -> u32,
    mut theirs: impl FnMut() -> u32,
) -> Value {
    // One unmeasured round each, then alternate who goes first, so that neither gets the warmer cache.
    let _ = (time(&mut ours), time(&mut theirs));
    let (mut our_times, mut their_times, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let (our, their) = if round % 2 == 0 {
            let their = time(&mut theirs);
            (time(&mut ours), their)
        } else {
            (time(&mut ours), time(&mut theirs))
        };
        our_times.push(our);
        their_times.push(their);
        ratios.push(our / their);
    }
    let (our, their, ratio) = (median(our_times), median(their_times), median(ratios));
    println!("{name}, {rounds} rounds: {our:.2} ns against {their:.2} ns, ratio {ratio:.3}");
    json!({"name": name, "value": ratio, "limit": limit, "median_ns": [our, their]})
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut json, mut rounds) = (None, 201);
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

    let (views, mixed, boxes) = (views(), mixed(), boxes());
    let mut gates = Vec::new();
    for (name, limit, set) in [("buffer: 3-D view", VIEW_LIMIT, &views), ("buffer: mixed", MIXED_LIMIT, &mixed)] {
        let blob = blob(set);
        assert_eq!(check_all(claims(&blob)) + check_all_reference(claims(&blob)), 0, "a valid reference was refused");
        let (tenon, reference) = (|| check_all(claims(&blob)), || check_all_reference(claims(&blob)));
        gates.push(compare(name, limit, rounds, tenon, reference));
    }

    let of_reference = checked(claims(&blob(&boxes)));
    assert_eq!(overlap_all(&boxes), overlap_all_reference(&of_reference), "the two must agree");
    let (tenon, reference) = (|| overlap_all(&boxes), || overlap_all_reference(&of_reference));
    gates.push(compare("buffer: overlap", OVERLAP_LIMIT, rounds, tenon, reference));

    let whole = blob(&mixed);
    let (reader, validator) = (|| read_all(&whole), || check_all(claims(&whole)));
    gates.push(compare("buffer: blob of 256 against the validator", BLOB_LIMIT, rounds, reader, validator));

    if let Some(path) = json {
        let figures = json!({"bench": "buffer", "rounds": rounds, "gates": gates});
        fs::write(path, serde_json::to_string_pretty(&figures)? + "\n")?;
    }
    Ok(())
}
