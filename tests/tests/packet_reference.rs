//! Tenon's packet parser and the reference in C++ agree on a million packets.
//!

use tenon_tests::packet::{Accepted, REFERENCE, TENON, read};

/// SplitMix64.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A valid packet of a few arguments, then up to three words or halves of it replaced by numbers that rules care about.
fn make(state: &mut u64, buffer: &mut [u8]) {
    const EDGES: [u64; 13] = [0, 1, 55, 56, 63, 64, 128, 129, 256, 257, 1 << 31, u32::MAX as u64, u64::MAX];
    let (tensors, scalars) = (next(state) % 5, next(state) % 9);
    let payload = 128 * tensors + 8 * scalars;
    let words = [56 + payload, next(state), 1 | (next(state) % 64) << 32, 1, payload, tensors | scalars << 32, 0];
    for (bytes, word) in buffer.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    for _ in 0..next(state) % 4 {
        let choice = next(state);
        let edge = EDGES[usize::try_from(choice % 13).unwrap()];
        let value = if choice & 1 << 40 == 0 { edge } else { next(state) };
        let half = usize::try_from((choice >> 8) % 14).unwrap();
        if choice & 1 << 41 == 0 {
            buffer[4 * half..4 * half + 4].copy_from_slice(&value.to_le_bytes()[..4]);
        } else {
            buffer[8 * (half / 2)..8 * (half / 2) + 8].copy_from_slice(&value.to_le_bytes());
        }
    }
}

#[test]
fn the_two_parsers_agree_on_a_million_packets() {
    let mut state = 17;
    let mut answers = [0_u32; 13];
    let mut buffer = vec![0; 56 + 4 * 128 + 8 * 8];
    for round in 0..1_000_000_usize {
        make(&mut state, &mut buffer);
        // Every fourth one is cut somewhere.
        let len = if round % 4 == 0 { usize::try_from(next(&mut state)).unwrap() % buffer.len() } else { buffer.len() };
        let bytes = &buffer[..len];
        let [ours, theirs] = [TENON, REFERENCE].map(|parser| {
            let mut accepted = Accepted::default();
            (read(parser, bytes, &mut accepted), accepted)
        });
        assert_eq!(ours, theirs, "{bytes:?}");
        answers[ours.0 as usize] += 1;
    }
    assert!(answers.iter().all(|count| *count > 100), "every rule answers often: {answers:?}");
}
