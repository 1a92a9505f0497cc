//! Tenon's rules of buffers and those in C++ answer alike, to a million mutations.
//!

use serde_json::Value;
use tenon_core::buffer::validate::{descriptor_from_bytes, reference_from_bytes};
use tenon_core::buffer::{BufferRef, Reason, overlap};
use tenon_tests::buffer::{
    CheckedRef, DESCRIPTOR_BYTES, REF_BYTES, tenon_reference_buffer_check, tenon_reference_buffer_overlap,
    tenon_reference_descriptor_check,
};

/// The vectors, one object a line.
const VECTORS: &str = include_str!("../vectors/buffer_ref.jsonl");
const MUTATIONS: usize = 1_000_000;

/// The bytes of each vector of a kind.
fn vectors<const N: usize>(kind: &str) -> Vec<[u8; N]> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let bytes = |hex: &str| hex.as_bytes().chunks(2).map(byte).collect::<Vec<u8>>().try_into().unwrap();
    let all = VECTORS.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|vector| vector["kind"] == kind).map(|vector| bytes(vector["hex"].as_str().unwrap())).collect()
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// Changes up to three fields: a bit, a byte, or a word that arithmetic cares about.
    fn mutate(&mut self, bytes: &mut [u8]) {
        const EDGES: [u32; 10] = [0, 1, 2, 5, 8, 32, 1 << 16, 1 << 31, u32::MAX - 1, u32::MAX];
        for _ in 0..1 + self.below(3) {
            match self.below(3) {
                0 => bytes[self.below(bytes.len())] ^= 1 << self.below(8),
                1 => bytes[self.below(bytes.len())] = self.next().to_le_bytes()[0],
                _ => {
                    let at = 4 * self.below(bytes.len() / 4);
                    bytes[at..at + 4].copy_from_slice(&EDGES[self.below(EDGES.len())].to_le_bytes());
                }
            }
        }
    }
}

fn descriptors_agree(bytes: &[u8; DESCRIPTOR_BYTES]) -> u32 {
    let ours = descriptor_from_bytes(bytes).map_or_else(|refusal| refusal.reason.code(), |_| 0);
    assert_eq!(ours, tenon_reference_descriptor_check(bytes), "{bytes:02x?}");
    ours
}

/// Both sides' checked values, where both accept.
fn references_agree(bytes: &[u8; REF_BYTES]) -> Result<(BufferRef, CheckedRef), u32> {
    let mut theirs = CheckedRef::default();
    let their_reason = tenon_reference_buffer_check(bytes, &mut theirs);
    let ours = reference_from_bytes(bytes).map_err(|refusal| refusal.reason.code());
    assert_eq!(ours.map_or_else(|reason| reason, |_| 0), their_reason, "{bytes:02x?}");
    let ours = ours?;
    assert_eq!(ours.extent_bytes(), theirs.extent_bytes, "{bytes:02x?}");
    Ok((ours, theirs))
}

/// What both say of a pair of one backing.
fn pairs_agree(bytes: &[u8; 2 * REF_BYTES]) -> Option<u8> {
    let (halves, _) = bytes.as_chunks::<REF_BYTES>();
    let (probe, entry) = (references_agree(&halves[0]).ok()?, references_agree(&halves[1]).ok()?);
    if probe.0.descriptor().identity() != entry.0.descriptor().identity() {
        return None;
    }
    let ours = overlap(&probe.0, &entry.0).code();
    assert_eq!(ours, tenon_reference_buffer_overlap(&probe.1, &entry.1), "{bytes:02x?}");
    Some(ours)
}

#[test]
fn the_two_agree_on_every_vector() {
    for bytes in vectors("descriptor") {
        let _ = descriptors_agree(&bytes);
    }
    for bytes in vectors("buffer_ref") {
        let _ = references_agree(&bytes);
    }
    assert!(vectors("overlap").iter().all(|bytes| pairs_agree(bytes).is_some()));
}

#[test]
fn the_two_agree_on_a_million_mutations() {
    let mut random = Random(29);
    let (descriptors, references, pairs) = (vectors("descriptor"), vectors("buffer_ref"), vectors("overlap"));
    let mut answers = [0_usize; 30];
    let mut overlaps = [0_usize; 3];
    for round in 0..MUTATIONS {
        match round % 4 {
            0 => {
                let mut bytes = descriptors[random.below(descriptors.len())];
                random.mutate(&mut bytes);
                answers[descriptors_agree(&bytes) as usize] += 1;
            }
            1 => {
                // Half of a pair with the other's shape: what the bounding ranges cannot tell apart.
                let mut bytes = pairs[random.below(pairs.len())];
                let field = [88, 96, 100, 120][random.below(4)] + 4 * random.below(2);
                let from = REF_BYTES * random.below(2);
                bytes.copy_within(from + field..from + field + 4, REF_BYTES - from + field);
                bytes[from + 100 + 4 * random.below(10)] ^= 1 << random.below(4);
                if let Some(overlap) = pairs_agree(&bytes) {
                    overlaps[usize::from(overlap)] += 1;
                }
            }
            _ => {
                let mut bytes = references[random.below(references.len())];
                random.mutate(&mut bytes);
                answers[references_agree(&bytes).map_or_else(|reason| reason, |_| 0) as usize] += 1;
            }
        }
    }
    let expected = Reason::ALL.iter().map(|reason| reason.code() as usize).filter(|code| *code < 30);
    for code in expected.chain([0]) {
        assert!(answers[code] > 10, "{code} was never the answer: {answers:?}");
    }
    assert!(overlaps.iter().all(|count| *count > 100), "{overlaps:?}");
}
