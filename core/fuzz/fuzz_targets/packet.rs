//! Any bytes as a packet: what is accepted is what the bytes say.
//!
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenon_core::generation::Generation;
use tenon_core::packet::{Draft, PacketError, check, parse};
use tenon_core::wire::{DispatchPrefix, Mode};

/// The little-endian number at `at`.
fn number(bytes: &[u8], at: usize, len: usize) -> u64 {
    bytes[at..at + len].iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fuzz_target!(|input: (bool, &[u8])| {
    let (is_kernel, bytes) = input;
    let mode = if is_kernel { Mode::Kernel } else { Mode::Program };
    let parsed = parse(bytes, mode);

    // Host and device have one answer, but for what only a slice can tell.
    if bytes.len() >= 56 {
        let prefix = DispatchPrefix {
            packet_bytes: number(bytes, 0, 8),
            residency_address: number(bytes, 8, 8),
            header: tenon_core::wire::InvocationHeader {
                mode: number(bytes, 16, 4) as u32,
                callable_id: number(bytes, 20, 4) as i32,
                generation: number(bytes, 24, 8),
                payload_bytes: number(bytes, 32, 8),
                tensor_count: number(bytes, 40, 4) as i32,
                scalar_count: number(bytes, 44, 4) as i32,
                host_copy_tensor_count: number(bytes, 48, 4) as i32,
                reserved: number(bytes, 52, 4) as u32,
            },
        };
        match (parsed, check(&prefix, mode)) {
            (Ok(packet), Ok(invocation)) => assert_eq!(packet.invocation, invocation),
            (Err(PacketError::Truncated { expected, .. }), Ok(_)) => assert!(bytes.len() < expected as usize),
            (host, device) => assert_eq!(host.map(|_| ()), device.map(|_| ())),
        }
    }

    let Ok(packet) = parsed else { return };
    let invocation = packet.invocation;
    let (tensors, scalars) = (invocation.tensor_count() as usize, invocation.scalar_count() as usize);
    assert!(tensors <= 256 && scalars <= 128 && tensors + scalars <= 256);
    let len = 56 + 128 * tensors + 8 * scalars;
    assert_eq!(number(bytes, 0, 8), len as u64);
    assert_eq!(packet.payload(), &bytes[56..len]);
    assert_eq!(invocation.callable().slot.to_index() as u64, number(bytes, 20, 4));
    assert_eq!(Some(invocation.callable().generation), Generation::from_bits(number(bytes, 24, 8)));

    // Written again it is the same packet, but for the tensors' pads.
    let (tensors, scalars): (Vec<_>, Vec<_>) = (packet.tensors().collect(), packet.scalars().collect());
    let draft = Draft {
        mode,
        callable: invocation.callable(),
        residency_address: invocation.residency_address(),
        tensors: &tensors,
        scalars: &scalars,
    };
    let mut out = vec![0xa5; len];
    let again = draft.emit(&mut out).expect("what was accepted can be written");
    assert_eq!(again[..56], bytes[..56]);
    assert_eq!(parse(again, mode).map(|packet| packet.invocation), Ok(invocation));
});
