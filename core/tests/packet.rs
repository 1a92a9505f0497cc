//! The envelope: bytes written by hand, every bit changed, packets cut short.
//!

#[path = "common/mod.rs"]
mod common;
#[path = "common/envelope.rs"]
mod envelope;

use common::callable;
use envelope::{Rule, first_broken, rule_of};
use tenon_core::packet::{Draft, EmitError, Invocation, Packet, PacketError, check, parse};
use tenon_core::status::DispatchAnswer;
use tenon_core::wire::{DispatchPrefix, InvocationHeader, Mode, Tensor};
use zerocopy::{FromBytes, IntoBytes};

/// Slot 5's tenant 0x0102, no tensors, one scalar; every byte from the specification's tables.
#[rustfmt::skip]
const GOLDEN: [u8; 64] = [
    64, 0, 0, 0, 0, 0, 0, 0,                                // packet_bytes = 56 + 8
    0xc0, 0x00, 0x00, 0x00, 0x00, 0x55, 0x00, 0x00,         // residency_address = 0x5500_0000_0000 + 32 + 32·5
    1, 0, 0, 0,                                             // mode: kernel
    5, 0, 0, 0,                                             // callable_id
    0x02, 0x01, 0, 0, 0, 0, 0, 0,                           // generation
    8, 0, 0, 0, 0, 0, 0, 0,                                 // payload_bytes
    0, 0, 0, 0,                                             // tensor_count
    1, 0, 0, 0,                                             // scalar_count
    0, 0, 0, 0,                                             // host_copy_tensor_count
    0, 0, 0, 0,                                             // reserved
    0xef, 0xbe, 0xad, 0xde, 0, 0, 0, 0,                     // scalar 0
];

fn tensor(seed: u64) -> Tensor {
    Tensor {
        addr: 0x5500_0001_0000 + seed * 4096,
        size: 4096,
        owner_task_id: seed,
        start_offset: 3,
        version: -1,
        ndims: 2,
        dtype: 1,
        manual_dep: 7,
        is_contiguous: 1,
        address_space: 1,
        shapes: [4, 5, 0, 0, 0],
        extent_elem: 20,
        strides: [5, 1, 0, 0, 0],
        pad: [0; 9],
    }
}

/// Packets that keep every rule, at the bounds of each.
fn valid_packets() -> Vec<Vec<u8>> {
    let counts =
        [(0, 0), (1, 0), (0, 1), (3, 2), (0, 128), (128, 128), (129, 127), (256, 0), (255, 1), (1, 127), (16, 16)];
    let ids = [(0, 1), (63, u64::MAX), (5, 0x0102), (31, 1 << 63), (32, 2)];
    let mut packets = vec![GOLDEN.to_vec()];
    for (index, (tensors, scalars)) in counts.into_iter().enumerate() {
        let (id, generation) = ids[index % ids.len()];
        packets.push(written(Mode::Kernel, id, generation, tensors, scalars));
    }
    packets
}

fn written(mode: Mode, id: i32, generation: u64, tensors: u64, scalars: u64) -> Vec<u8> {
    let tensors: Vec<Tensor> = (0..tensors).map(tensor).collect();
    let scalars: Vec<u64> = (0..scalars).map(|scalar| scalar * 3).collect();
    let draft = Draft {
        mode,
        callable: callable(id, generation),
        residency_address: 0x5500_0000_0000 + 32 + 32 * u64::from(id.cast_unsigned()),
        tensors: &tensors,
        scalars: &scalars,
    };
    let mut bytes = vec![0xa5; draft.packet_bytes().unwrap()];
    draft.emit(&mut bytes).unwrap();
    bytes
}

/// The answer as the device gets it: from a copy of the prefix, the rest being trusted.
fn device_check(bytes: &[u8], mode: Mode) -> Result<Invocation, PacketError> {
    check(&DispatchPrefix::read_from_prefix(bytes).unwrap().0, mode)
}

/// Both functions' answer to bytes that are all there, after seeing that it is one answer.
fn answer(bytes: &[u8], mode: Mode) -> Result<Invocation, PacketError> {
    let host = parse(bytes, mode).map(|packet| packet.invocation);
    let device = device_check(bytes, mode);
    match host {
        Err(PacketError::Truncated { .. }) => assert!(device.is_ok(), "{device:?}"),
        other => assert_eq!(other, device),
    }
    host
}

#[test]
fn a_packet_written_by_hand_says_what_it_says() {
    let packet = parse(&GOLDEN, Mode::Kernel).unwrap();
    let Packet { invocation, .. } = packet;
    assert_eq!(invocation.callable(), callable(5, 0x0102));
    assert_eq!(invocation.residency_address(), 0x5500_0000_00c0);
    assert_eq!((invocation.tensor_count(), invocation.scalar_count()), (0, 1));
    assert_eq!(packet.payload(), &GOLDEN[56..]);
    assert_eq!(packet.tensors().len(), 0);
    assert_eq!(packet.scalars().collect::<Vec<_>>(), [0xdead_beef]);
}

#[test]
fn what_is_written_are_the_bytes_written_by_hand() {
    let draft = Draft {
        mode: Mode::Kernel,
        callable: callable(5, 0x0102),
        residency_address: 0x5500_0000_00c0,
        tensors: &[],
        scalars: &[0xdead_beef],
    };
    let mut out = [0xa5; 80];
    assert_eq!(draft.emit(&mut out), Ok(&GOLDEN[..]));
    assert_eq!(out[64..], [0xa5; 16], "what lies behind the packet is left alone");
}

#[test]
fn tensors_travel_first_and_their_pads_as_zero() {
    let (mut first, second) = (tensor(0), tensor(1));
    first.pad = [0xffff_ffff; 9];
    let draft = Draft {
        mode: Mode::Kernel,
        callable: callable(0, 1),
        residency_address: 32,
        tensors: &[first, second],
        scalars: &[7, 8],
    };
    let mut out = [0xa5; 56 + 2 * 128 + 2 * 8];
    let bytes = draft.emit(&mut out).unwrap();
    assert_eq!(&bytes[56..148], &first.as_bytes()[..92]);
    assert_eq!(bytes[148..184], [0; 36]);
    assert_eq!(&bytes[184..312], second.as_bytes());
    assert_eq!(bytes[312..], [7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
    let packet = parse(bytes, Mode::Kernel).unwrap();
    assert_eq!(packet.tensors().collect::<Vec<_>>(), [tensor(0), second]);
    assert_eq!(packet.scalars().collect::<Vec<_>>(), [7, 8]);
}

#[test]
fn a_draft_that_no_packet_can_carry_is_refused_and_writes_nothing() {
    let (tensors, scalars) = (vec![tensor(0); 257], vec![0; 129]);
    let mut out = vec![0xa5; 64 << 10];
    for (nr_tensors, nr_scalars) in [(257, 0), (0, 129), (129, 128), (256, 1)] {
        let draft = Draft {
            mode: Mode::Kernel,
            callable: callable(0, 1),
            residency_address: 32,
            tensors: &tensors[..nr_tensors],
            scalars: &scalars[..nr_scalars],
        };
        let expected = EmitError::TooManyArguments { tensors: nr_tensors, scalars: nr_scalars };
        assert_eq!(draft.emit(&mut out), Err(expected));
    }
    let draft = Draft {
        mode: Mode::Kernel,
        callable: callable(0, 1),
        residency_address: 32,
        tensors: &tensors[..2],
        scalars: &scalars[..1],
    };
    for len in 0..320 {
        assert_eq!(draft.emit(&mut out[..len]), Err(EmitError::BufferTooSmall { found: len, expected: 320 }));
    }
    assert!(out.iter().all(|byte| *byte == 0xa5));
    assert!(draft.emit(&mut out[..320]).is_ok());
}

#[test]
fn every_valid_packet_is_accepted_by_both_functions() {
    for bytes in valid_packets() {
        let invocation = answer(&bytes, Mode::Kernel).unwrap();
        assert_eq!(invocation.payload_bytes() + 56, bytes.len());
        assert_eq!(answer(&bytes, Mode::Program).map_err(rule_of), Err(Rule::Mode));
    }
    let program = written(Mode::Program, 3, 9, 1, 1);
    assert!(answer(&program, Mode::Program).is_ok());
    assert_eq!(answer(&program, Mode::Kernel), Err(PacketError::Mode { found: 0, expected: Mode::Kernel }));
}

/// The field of the prefix that a byte belongs to.
const fn field_at(byte: usize) -> &'static str {
    match byte {
        0..8 => "packet_bytes",
        8..16 => "residency_address",
        16..20 => "mode",
        20..24 => "callable_id",
        24..32 => "generation",
        32..40 => "payload_bytes",
        40..44 => "tensor_count",
        44..48 => "scalar_count",
        48..52 => "host_copy_tensor_count",
        _ => "reserved",
    }
}

#[test]
fn every_single_bit_change_gets_the_answer_of_the_rule_that_it_breaks() {
    for valid in valid_packets() {
        for bit in 0..56 * 8 {
            let mut bytes = valid.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (field, got) = (field_at(bit / 8), answer(&bytes, Mode::Kernel));
            let expected = first_broken(&bytes, Mode::Kernel);
            assert_eq!(got.err().map(rule_of), expected, "bit {bit} of {field}");
            match field {
                // The sender's own claim, and another slot or generation: nothing here can know better.
                "residency_address" => assert!(got.is_ok()),
                "generation" => assert_eq!(got.is_ok(), bytes[24..32] != [0; 8]),
                "callable_id" => assert_eq!(got.is_ok(), bit / 8 == 20 && bit % 8 < 6),
                _ => assert!(got.is_err(), "bit {bit} of {field}"),
            }
            // A change of a field is never blamed on another one, but for sizes and counts that disagree with each other.
            if let Err(error) = got
                && !matches!(field, "packet_bytes" | "tensor_count" | "scalar_count")
            {
                assert_eq!(error.field(), field);
                assert_eq!(error.answer(), DispatchAnswer::InvalidArgs);
            }
        }
    }
}

#[test]
fn a_change_of_the_payload_is_none_of_the_envelope_s_business() {
    for valid in valid_packets() {
        let before = answer(&valid, Mode::Kernel).unwrap();
        for byte in 56..valid.len() {
            let mut bytes = valid.clone();
            bytes[byte] ^= 0xff;
            assert_eq!(answer(&bytes, Mode::Kernel), Ok(before));
        }
    }
}

#[test]
fn a_packet_cut_short_at_any_length_is_refused_and_says_how_much_is_missing() {
    for valid in valid_packets().into_iter().filter(|packet| packet.len() < 4096) {
        for len in 0..valid.len() {
            let expected = if len < 56 { 56 } else { valid.len() as u64 };
            let error = PacketError::Truncated { found: len, expected };
            assert_eq!(parse(&valid[..len], Mode::Kernel), Err(error));
        }
        assert!(parse(&valid, Mode::Kernel).is_ok());
    }
}

#[test]
fn bytes_behind_a_packet_are_not_the_packet_s() {
    for valid in valid_packets() {
        let mut longer = valid.clone();
        longer.extend([0xff; 100]);
        assert_eq!(parse(&longer, Mode::Kernel), parse(&valid, Mode::Kernel));
    }
}

#[test]
fn a_slice_may_start_at_any_address() {
    for valid in valid_packets() {
        let expected = parse(&valid, Mode::Kernel).unwrap();
        for shift in 0..16 {
            let mut buffer = vec![0xa5; valid.len() + 16];
            buffer[shift..shift + valid.len()].copy_from_slice(&valid);
            let shifted = &buffer[shift..shift + valid.len()];
            assert_eq!(parse(shifted, Mode::Kernel), Ok(expected));
            assert!(parse(&shifted[..shifted.len() - 1], Mode::Kernel).is_err());
        }
    }
}

#[test]
fn every_rule_answers_before_the_ones_behind_it() {
    // All rules broken at once; then mended one by one from the front, each next rule is the one that answers.
    let mut prefix = DispatchPrefix {
        packet_bytes: 55,
        residency_address: 0,
        header: InvocationHeader {
            mode: 7,
            callable_id: -1,
            generation: 0,
            payload_bytes: 1,
            tensor_count: -1,
            scalar_count: 129,
            host_copy_tensor_count: 1,
            reserved: 1,
        },
    };
    type Mend = fn(&mut DispatchPrefix);
    let steps: [(PacketError, Mend); 11] = [
        (PacketError::PacketBytes { found: 55 }, |p| p.packet_bytes = 56),
        (PacketError::PayloadBytes { found: 1, expected: 0 }, |p| p.packet_bytes = 57),
        (PacketError::Mode { found: 7, expected: Mode::Kernel }, |p| p.header.mode = 1),
        (PacketError::CallableId { found: -1 }, |p| p.header.callable_id = 63),
        (PacketError::Generation, |p| p.header.generation = 1),
        (PacketError::TensorCount { found: -1 }, |p| p.header.tensor_count = 256),
        (PacketError::ScalarCount { found: 129 }, |p| p.header.scalar_count = 128),
        (PacketError::ArgumentCount { found: 384 }, |p| p.header.tensor_count = 0),
        (PacketError::HostCopyTensorCount { found: 1 }, |p| p.header.host_copy_tensor_count = 0),
        (PacketError::Reserved { found: 1 }, |p| p.header.reserved = 0),
        (PacketError::PayloadSize { found: 1, expected: 1024 }, |p| {
            p.packet_bytes = 1080;
            p.header.payload_bytes = 1024;
        }),
    ];
    for (error, mend) in steps {
        assert_eq!(check(&prefix, Mode::Kernel), Err(error));
        assert!(std::format!("{error}").starts_with(error.field()));
        mend(&mut prefix);
    }
    assert!(check(&prefix, Mode::Kernel).is_ok());
}

#[test]
fn sizes_that_would_wrap_are_refused() {
    let valid = valid_packets().remove(0);
    let mut prefix = DispatchPrefix::read_from_prefix(&valid).unwrap().0;
    // payload + 56 wraps to the packet's size, and the packet's size to below the prefix.
    for (packet_bytes, payload_bytes) in [(u64::MAX, u64::MAX - 56), (55, u64::MAX), (8, 8_u64.wrapping_sub(56))] {
        prefix.packet_bytes = packet_bytes;
        prefix.header.payload_bytes = payload_bytes;
        assert!(check(&prefix, Mode::Kernel).is_err(), "{packet_bytes}");
    }
    // Counts whose payload wraps to a small one in 32 bits.
    for (tensors, scalars) in [(1 << 25, 0), (0, 1 << 29), (i32::MIN, 0), (0, i32::MIN), (-1, 16), (i32::MAX, i32::MAX)]
    {
        let payload = i64::from(tensors).wrapping_mul(128).wrapping_add(i64::from(scalars) * 8).cast_unsigned();
        for payload in [payload, payload & 0xffff_ffff, 0] {
            prefix.packet_bytes = payload.wrapping_add(56);
            prefix.header.payload_bytes = payload;
            (prefix.header.tensor_count, prefix.header.scalar_count) = (tensors, scalars);
            assert!(check(&prefix, Mode::Kernel).is_err(), "{tensors} {scalars} {payload}");
        }
    }
}
