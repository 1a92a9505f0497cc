//! Millions of random packets: what is accepted runs the callable it names.
//!
//! Ten million in a release build, fewer in a debug build.

#[path = "common/mod.rs"]
mod common;
#[path = "common/envelope.rs"]
mod envelope;

use common::{PlainArea, Random};
use envelope::{Rule, first_broken, rule_of};
use tenon_core::area::{AreaWords, CONTEXT_GENERATION};
use tenon_core::device::AreaInfo;
use tenon_core::dispatch::{Payload, locate};
use tenon_core::generation::{Generation, SlotIndex};
use tenon_core::packet::{check, parse};
use tenon_core::record::{SlotRecord, install};
use tenon_core::status::DispatchAnswer;
use tenon_core::wire::{DispatchPrefix, Mode};
use zerocopy::FromBytes;

const PACKETS: u64 = if cfg!(debug_assertions) { 200_000 } else { 10_000_000 };
const BASE: u64 = 0x5500_0000_0000;
const INFO: AreaInfo = AreaInfo { base: BASE, context_generation: 7, index: 0, reserved: 0 };
/// Bytes of the largest packet here. Most of what is random lies in the first 56.
const BUFFER: usize = 56 + 4 * 128 + 8 * 8;

/// The generation that a slot has here: odd slots have had many tenants, every fourth is vacant.
fn tenant(slot: SlotIndex) -> Option<u64> {
    let index = slot.to_index() as u64;
    (index % 4 != 3).then_some(if index % 2 == 1 { (1 << 33) + index } else { 1 + index })
}

/// Where the image of a tenant is: no two tenants share one.
fn image_of(slot: SlotIndex, generation: u64) -> u64 {
    0x6000_0000_0000 + (slot.to_index() as u64) * (1 << 36) + (generation % (1 << 20)) * 16
}

fn area() -> PlainArea {
    let area = PlainArea::new();
    area.store_u64(CONTEXT_GENERATION, 7);
    for (slot, bits) in SlotIndex::all().filter_map(|slot| Some((slot, tenant(slot)?))) {
        let generation = Generation::from_bits(bits).unwrap();
        install(&area, slot, &SlotRecord { generation, address: image_of(slot, bits), bytes: 9376 });
    }
    area
}

/// A number that rules care about.
fn edge(random: &mut Random) -> u64 {
    const EDGES: [u64; 16] =
        [0, 1, 2, 55, 56, 57, 63, 64, 127, 128, 129, 256, 257, 1 << 31, u32::MAX as u64, u64::MAX - 55];
    match random.below(4) {
        0 => random.next(),
        1 => random.below(300),
        _ => EDGES[usize::try_from(random.below(16)).unwrap()],
    }
}

/// Fills the buffer with a packet: valid, valid but for a few changes, or noise. Gives how long the slice is.
fn make(random: &mut Random, buffer: &mut [u8; BUFFER]) -> usize {
    let kind = random.below(8);
    if kind == 0 {
        for word in buffer.as_chunks_mut::<8>().0.iter_mut().take(7) {
            *word = random.next().to_le_bytes();
        }
        return usize::try_from(random.below(BUFFER as u64 + 1)).unwrap();
    }
    let (id, tensors, scalars) = (random.below(64), random.below(5), random.below(9));
    let payload = 128 * tensors + 8 * scalars;
    let slot = SlotIndex::from_index(usize::try_from(id).unwrap()).unwrap();
    let generation = if random.below(8) == 0 { edge(random) } else { tenant(slot).unwrap_or(1) };
    let words =
        [56 + payload, BASE + slot.record_offset(), 1 | id << 32, generation, payload, tensors | scalars << 32, 0];
    for (bytes, word) in buffer.as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    for _ in 0..kind.saturating_sub(4) {
        let at = usize::try_from(random.below(14)).unwrap() * 4;
        match random.below(3) {
            0 => buffer[at] ^= 1 << random.below(8),
            1 => buffer[at..at + 4].copy_from_slice(&edge(random).to_le_bytes()[..4]),
            _ => {
                let at = at & !7;
                buffer[at..at + 8].copy_from_slice(&edge(random).to_le_bytes());
            }
        }
    }
    if random.below(16) == 0 { usize::try_from(random.below(BUFFER as u64)).unwrap() } else { BUFFER }
}

#[test]
fn whatever_is_accepted_is_a_packet_and_runs_the_callable_that_it_names() {
    let area = area();
    let mut random = Random(0x7e0_0bad);
    let mut buffer = [0; BUFFER];
    let (mut accepted, mut ran, mut broken) = (0_u64, 0_u64, [0_u64; 12]);
    for _ in 0..PACKETS {
        let len = make(&mut random, &mut buffer);
        let bytes = &buffer[..len];
        let host = parse(bytes, Mode::Kernel);
        let expected = first_broken(bytes, Mode::Kernel);
        assert_eq!(host.map(|_| ()).map_err(rule_of), expected.map_or(Ok(()), Err), "{bytes:?}");
        if len >= 56 {
            let device = check(&DispatchPrefix::read_from_prefix(bytes).unwrap().0, Mode::Kernel);
            match expected {
                None => assert_eq!(device, Ok(host.unwrap().invocation)),
                Some(Rule::Truncated) => assert!(device.is_ok()),
                Some(rule) => assert_eq!(device.map_err(rule_of), Err(rule)),
            }
        }
        let Ok(packet) = host else {
            broken[expected.unwrap() as usize] += 1;
            continue;
        };
        accepted += 1;
        // Everything that the packet names, read from its bytes again and not through the core.
        let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let named = SlotIndex::from_index(usize::try_from(word(16) >> 32).unwrap()).unwrap();
        assert_eq!(packet.payload(), &bytes[56..usize::try_from(word(0)).unwrap()]);
        let is_right = word(8) == BASE + 32 + 32 * named.to_index() as u64 && Some(word(24)) == tenant(named);

        let takes =
            Payload::Takes { tensors: packet.invocation.tensor_count(), scalars: packet.invocation.scalar_count() };
        let begun = locate(packet.invocation, &INFO, &area)
            .ok()
            .and_then(|located| located.find(|_, _| true).ok()?.bind(takes).ok()?.begin().ok());
        assert_eq!(begun.is_some(), is_right, "{bytes:?}");
        if let Some(begun) = begun {
            let executing = begun.work();
            assert_eq!(executing.image().address, image_of(named, word(24)));
            let _ = executing.end(DispatchAnswer::Success);
            ran += 1;
        }
    }
    // The numbers are worth something only if every way has been gone often.
    assert!(accepted > PACKETS / 4 && ran > PACKETS / 5 && accepted - ran > PACKETS / 50, "{accepted} {ran}");
    assert!(broken.iter().all(|count| *count > PACKETS / 5000), "{broken:?}");
}
