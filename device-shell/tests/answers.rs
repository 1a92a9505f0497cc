//! Answers of the device entry: each rule, and of all broken rules the first.
//!

mod common;

use common::{Behaviour, Context, Device, Faulty, Image, Mapping, Operator, Packet, Verdicts, Workers};
use tenon_core::area::{BUSY, CANCELLED, CONTEXT_GENERATION, RECORD_ADDRESS, RECORD_LENGTH, record_offset};
use tenon_core::callable::layout::{CHILD_COUNT, HEADER_BYTES, SCALAR_COUNT, SIG_COUNT};
use tenon_core::generation::{CallableId, Generation};
use tenon_core::packet;
use tenon_core::status::DispatchAnswer::{
    self, Busy, InvalidArgs, InvalidBinding, NotResident, Poisoned, Stale, Success, UnsupportedPayload,
};
use tenon_core::wire::Mode;

const SLOT: i32 = 9;

/// Rules that a launch can break, in the order in which they answer.
const RULES: [(&str, DispatchAnswer); 11] = [
    ("1 the pointer is aligned", InvalidArgs),
    ("2 packet_bytes", InvalidArgs),
    ("3 mode", InvalidArgs),
    ("4 the residency address is the slot's record", InvalidArgs),
    ("4 the context generation", InvalidArgs),
    ("5 not cancelled", Poisoned),
    ("5 the record", NotResident),
    ("6 the generations", Stale),
    ("7 the code", UnsupportedPayload),
    ("7 the header", InvalidBinding),
    ("8 not busy", Busy),
];

/// First rule whose refusal knows its context.
const LOCATED: usize = 5;

fn record_word(field: u64) -> u64 {
    record_offset(usize::try_from(SLOT).unwrap()).unwrap() + field
}

fn overwrite(image: &mut Image, offset: u64, bytes: &[u8]) {
    let offset = usize::try_from(offset).unwrap();
    image.0[offset..offset + bytes.len()].copy_from_slice(bytes);
}

#[test]
fn of_all_broken_rules_the_first_answers() {
    let device = Device::new(Workers::Inline);
    let faulty = Faulty::new();
    let images = [0, 1, 2, 3].map(|broken| {
        let mut image = Operator::FAULTY.image();
        if broken & 1 != 0 {
            // `e_machine` of the orchestration.
            overwrite(&mut image, HEADER_BYTES + 18, &[0xff, 0xff]);
        }
        if broken & 2 != 0 {
            overwrite(&mut image, SCALAR_COUNT, &1_i32.to_le_bytes());
        }
        (device.upload(&image), image.0.len() as u64)
    });
    for broken in 1_u32..1 << RULES.len() {
        let is_broken = |rule: usize| broken >> rule & 1 != 0;
        let context = Context::new(&device, u64::from(broken));
        let (address, bytes) = images[usize::from(is_broken(8)) + 2 * usize::from(is_broken(9))];
        let id = context.publish(SLOT, 2, address, bytes);
        let mut packet = faulty.packet(&context, id, Behaviour::Succeed, 0).bytes();
        let mut edit = |rule: usize, offset: usize, bytes: &[u8]| {
            if is_broken(rule) {
                packet[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
        };
        edit(1, 0, &55_u64.to_le_bytes());
        edit(2, 16, &0_u32.to_le_bytes());
        edit(3, 8, &u64::MAX.to_le_bytes());
        edit(7, 24, &1_u64.to_le_bytes());
        if is_broken(4) {
            context.overwrite_u64(CONTEXT_GENERATION, 0);
        }
        if is_broken(5) {
            context.overwrite_u32(CANCELLED, 0x8000_0000);
        }
        if is_broken(6) {
            context.overwrite_u64(record_word(RECORD_LENGTH), HEADER_BYTES - 1);
        }
        if is_broken(10) {
            context.overwrite_u32(BUSY, 2);
        }
        let packet = Packet::new(&packet);
        let address = packet.address() + if is_broken(0) { 4 } else { 0 };

        let answer = device.receive(address, Mode::Kernel);

        let (rule, (name, expected)) = (0..).zip(RULES).find(|(rule, _)| is_broken(*rule)).unwrap();
        assert_eq!(answer, expected, "{broken:#b}: {name}");
        if rule < LOCATED {
            assert_eq!((context.verdicts(), context.refusals()), (Verdicts::default(), (0, 0)), "{name}");
        } else {
            assert_eq!(context.verdicts(), Verdicts { work: 0, leave: 1 }, "{name}");
            assert_eq!(context.refusals(), (expected.code(), 1), "{name}");
        }
        assert_eq!(context.is_busy(), is_broken(10), "{name}");
    }
    assert_eq!(faulty.entered(), 0, "something that was refused has run");
    assert_eq!(device.executions_ended(), 0);
}

#[test]
fn a_null_pointer_is_refused() {
    assert_eq!(Device::new(Workers::Inline).receive(0, Mode::Kernel), InvalidArgs);
}

#[test]
fn nothing_is_read_past_what_a_packet_says_of_its_size() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let id = context.install(SLOT, 1, &Operator::FAULTY.image());
    let faulty = Faulty::new();
    let memory = Mapping::new(4096);
    for says in 0_u64..56 {
        // All that follows these bytes faults.
        let there = says.next_multiple_of(8).max(8);
        memory.write(usize::try_from(4096 - there).unwrap(), &says.to_le_bytes());
        assert_eq!(device.receive(memory.end() - there, Mode::Kernel), InvalidArgs, "{says}");
    }
    let packet = faulty.packet(&context, id, Behaviour::Succeed, 0).bytes();
    memory.write(4096 - packet.len(), &packet);
    assert_eq!(device.receive(memory.end() - packet.len() as u64, Mode::Kernel), Success);
    // A header alone that promises arguments: refused or not, they are not looked at before the callable runs.
    let stale = &mut packet[..56].to_vec();
    stale[24..32].copy_from_slice(&7_u64.to_le_bytes());
    memory.write(4096 - 56, stale);
    assert_eq!(device.receive(memory.end() - 56, Mode::Kernel), Stale);
}

#[test]
fn nothing_at_the_device_address_is_touched_before_the_generations_are_equal() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let memory = Mapping::inaccessible(1 << 20);
    device.make_callable(memory.address()..memory.end());
    let faulty = Faulty::new();
    let id = context.publish(SLOT, 5, memory.address() + 32, 1 << 16);
    let earlier = CallableId { generation: Generation::FIRST, ..id };
    assert_eq!(faulty.launch(&context, earlier, Behaviour::Succeed, 0), Stale);
    for (field, value) in [(RECORD_ADDRESS, 0), (RECORD_ADDRESS, memory.address() + 8), (RECORD_LENGTH, 9375)] {
        context.publish(SLOT, 5, memory.address() + 32, 1 << 16);
        context.overwrite_u64(record_word(field), value);
        assert_eq!(faulty.launch(&context, id, Behaviour::Succeed, 0), NotResident, "{field} {value:#x}");
    }
    context.cancel();
    assert_eq!(faulty.launch(&context, id, Behaviour::Succeed, 0), Poisoned);
}

#[test]
fn an_image_outside_callable_memory_is_not_resident() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let image = Operator::FAULTY.image();
    let (address, bytes) = (device.upload(&image), image.0.len() as u64);
    let cases = [
        (address, bytes + 1),
        (address - 16, bytes),
        (address, u64::MAX),
        (u64::MAX - 15, bytes),
        (faulty.tensors()[0].addr, 9376),
    ];
    for (address, bytes) in cases {
        let id = context.publish(SLOT, 1, address, bytes);
        assert_eq!(faulty.launch(&context, id, Behaviour::Succeed, 0), NotResident, "{address:#x} {bytes:#x}");
    }
    assert_eq!(context.verdicts(), Verdicts { work: 0, leave: 5 });
    assert_eq!(context.refusals(), (NotResident.code(), 5));
}

#[test]
fn every_bit_of_an_envelope_gets_the_same_answer_from_the_host_function_and_the_device() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let image = Operator::FAULTY.image();
    // Every slot has the same tenant, so only the packet decides.
    for slot in 0..64 {
        context.install(slot, 6, &image);
    }
    let id = context.install(SLOT, 6, &image);
    let valid = faulty.packet(&context, id, Behaviour::Succeed, 0).bytes();
    assert_eq!(device.launch(&Packet::new(&valid)), Success);
    for bit in 0..56 * 8 {
        let mut bytes = valid.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let answer = device.launch(&Packet::new(&bytes));
        let expected = match packet::parse(&bytes, Mode::Kernel) {
            Err(error) => error.answer(),
            // What is left of a valid envelope: another slot or address (step 4), another generation (step 6).
            Ok(packet) if packet.invocation.callable().generation != id.generation => Stale,
            Ok(_) => InvalidArgs,
        };
        assert_eq!(answer, expected, "bit {bit}");
    }
    assert_eq!(faulty.entered(), 1, "only the valid packet has run");
}

#[test]
fn a_packet_of_the_other_mode_is_refused() {
    let device = Device::new(Workers::Inline);
    let faulty = Faulty::new();
    let image = Operator::FAULTY.image();
    for (generation, own, other) in [(1, Mode::Kernel, Mode::Program), (2, Mode::Program, Mode::Kernel)] {
        let context = Context::of_mode(&device, generation, own);
        let id = context.install(SLOT, 1, &image);
        let packet = faulty.packet(&context, id, Behaviour::Succeed, 0);
        assert_eq!(device.receive(packet.address(), other), InvalidArgs);
        assert_eq!(device.receive(packet.address(), own), Success);
    }
}

#[test]
fn counts_that_are_not_the_callables_are_invalid_binding() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let id = context.install(SLOT, 1, &Operator::FAULTY.image());
    let [trace, other] = faulty.tensors();
    for (tensors, scalars) in [
        (&[trace][..], &[0, 0][..]),
        (&[trace, other, other], &[0, 0]),
        (&[trace, other], &[0]),
        (&[trace, other], &[0, 0, 0]),
        (&[trace, other, other], &[0]),
        (&[], &[]),
    ] {
        assert_eq!(context.launch(id, tensors, scalars), InvalidBinding, "{} {}", tensors.len(), scalars.len());
    }
    assert_eq!(faulty.entered(), 0);
}

#[test]
fn an_old_image_with_scalars_runs_with_the_right_counts() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let mut image = Operator::FAULTY.image();
    overwrite(&mut image, SCALAR_COUNT, &[0; 4]);
    let old = context.install(0, 1, &image);
    assert_eq!(faulty.launch(&context, old, Behaviour::Succeed, 0), Success);
    overwrite(&mut image, SCALAR_COUNT, &2_i32.to_le_bytes());
    let recorded = context.install(1, 1, &image);
    assert_eq!(faulty.launch(&context, recorded, Behaviour::Succeed, 0), Success);
    overwrite(&mut image, SCALAR_COUNT, &3_i32.to_le_bytes());
    let disagreeing = context.install(2, 1, &image);
    assert_eq!(faulty.launch(&context, disagreeing, Behaviour::Succeed, 0), InvalidBinding);
}

#[test]
fn a_header_that_breaks_a_rule_is_invalid_binding() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    for (slot, (offset, value)) in
        (0..).zip([(SIG_COUNT, 257_i32), (SIG_COUNT, -1), (CHILD_COUNT, 1025), (CHILD_COUNT, -1), (0, 9)])
    {
        let mut image = Operator::FAULTY.image();
        overwrite(&mut image, offset, &value.to_le_bytes());
        let id = context.install(slot, 1, &image);
        assert_eq!(faulty.launch(&context, id, Behaviour::Succeed, 0), InvalidBinding, "{value} at {offset}");
    }
    assert_eq!(faulty.entered(), 0);
}

#[test]
fn a_refusal_says_why_in_one_line() {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let id = context.install(SLOT, 2, &Operator::FAULTY.image());
    faulty.launch(&context, CallableId { generation: Generation::FIRST, ..id }, Behaviour::Succeed, 0);
    faulty.launch(&context, id, Behaviour::BadTensor, 7);
    context.launch(id, &[], &[]);
    context.retire(SLOT);
    faulty.launch(&context, id, Behaviour::Succeed, 0);
    device.receive(0, Mode::Kernel);
    let invalid_binding = InvalidBinding.code();
    assert_eq!(
        device.lines(),
        [
            "refused, Stale: slot 9 generation 1, the slot has 2",
            "loaded slot 9 generation 2",
            "child 0 is not started: tensor 0 is argument 7, which does not exist",
            &format!("the orchestration answered {invalid_binding}"),
            "refused, InvalidBinding: slot 9 generation 2, it takes 2 tensors and 2 scalars",
            "refused, NotResident: slot 9 generation 2, the slot is empty",
            "refused: no packet at 0x0",
        ]
    );
}
