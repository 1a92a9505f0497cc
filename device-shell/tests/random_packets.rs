//! Mutated packets at the device entry: run as named, or refused as on the host.
//!

mod common;

use common::{Behaviour, Context, Device, Faulty, Operator, Packet, Workers};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use tenon_core::generation::CallableId;
use tenon_core::packet;
use tenon_core::status::DispatchAnswer::{self, InvalidArgs, NotResident, Stale, Success};
use tenon_core::wire::Mode;

/// Slots that have a tenant: slot `n` has its `n + 1`-th, which is build `n + 1` of the operator. All other slots are empty.
const TENANTS: u32 = 4;

/// A change of a packet's first 56 bytes: what a fault or an attacker would write over one field.
#[derive(Clone, Debug)]
struct Mutation {
    offset: usize,
    value: u64,
    bytes: usize,
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let value = prop_oneof![Just(0), 0..=70_u64, Just(u64::MAX), any::<u64>()];
    let field = prop_oneof![
        Just((0, 8)),
        Just((8, 8)),
        Just((16, 4)),
        Just((20, 4)),
        Just((24, 8)),
        Just((32, 8)),
        (40_usize..56, Just(1)),
        (0_usize..56, Just(1)),
    ];
    (field, value).prop_map(|((offset, bytes), value)| Mutation { offset, value, bytes })
}

/// What the specification answers, told from the bytes and from what the test installed.
fn expected(bytes: &[u8], base: u64) -> DispatchAnswer {
    let Ok(packet) = packet::parse(bytes, Mode::Kernel) else { return InvalidArgs };
    let CallableId { slot, generation } = packet.invocation.callable();
    let slot = u64::try_from(slot.to_id()).unwrap();
    match () {
        () if packet.invocation.residency_address() != base + 32 + 32 * slot => InvalidArgs,
        () if slot >= u64::from(TENANTS) => NotResident,
        () if generation.to_bits() != slot + 1 => Stale,
        () => Success,
    }
}

#[test]
fn a_packet_that_is_accepted_runs_the_callable_that_it_names() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let ids: Vec<CallableId> = (0..TENANTS)
        .map(|slot| {
            let image = Operator { identity: slot + 1, ..Operator::FAULTY }.image();
            context.install(i32::try_from(slot).unwrap(), u64::from(slot) + 1, &image)
        })
        .collect();
    let packets = ids.iter().map(|id| faulty.packet(&context, *id, Behaviour::Fail, 0).bytes()).collect::<Vec<_>>();
    let base = u64::from_le_bytes(packets[0][8..16].try_into().unwrap()) - 32;
    let config = Config { cases: 20_000, rng_seed: RngSeed::Fixed(2), failure_persistence: None, ..Config::default() };
    proptest!(config, |(which in 0..packets.len(), mutations in prop::collection::vec(mutation(), 0..3), move_to in 0..64_u64)| {
        let mut bytes = packets[which].clone();
        for Mutation { offset, value, bytes: len } in mutations {
            bytes[offset..offset + len].copy_from_slice(&value.to_le_bytes()[..len]);
        }
        if move_to < 8 {
            // Another slot, with the address of its record.
            bytes[20..24].copy_from_slice(&u32::try_from(move_to).unwrap().to_le_bytes());
            bytes[8..16].copy_from_slice(&(base + 32 + 32 * move_to).to_le_bytes());
        }
        let before = faulty.entered();
        let answer = device.launch(&Packet::new(&bytes));
        prop_assert_eq!(answer, expected(&bytes, base));
        if answer == Success {
            let named = i32::from_le_bytes(bytes[20..24].try_into().unwrap());
            prop_assert_eq!(faulty.identity(), named.cast_unsigned() + 1);
        }
        prop_assert_eq!(faulty.entered(), before + u32::from(answer == Success));
    });
    assert!(faulty.entered() > 1000, "too few packets were accepted to say anything: {}", faulty.entered());
}
