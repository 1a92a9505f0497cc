//! Slot records: writes as data, over shared words, and readers under stress.
//!

#[path = "common/mod.rs"]
mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::PlainArea;
use tenon_core::area::{AREA_BYTES, AreaWords, CONTEXT_GENERATION, RECORDS_END, is_every_record_zero};
use tenon_core::generation::{Generation, SlotIndex};
use tenon_core::record::{
    CLOSE_RANGE, RecordFault, SlotRecord, close, context_write, install, install_writes, read, retire, retire_write,
};

fn slot(id: i32) -> SlotIndex {
    SlotIndex::from_id(id).unwrap()
}

/// The record of a tenant, whose every field says which tenant it is.
fn record(generation: u64) -> SlotRecord {
    SlotRecord {
        generation: Generation::from_bits(generation).unwrap(),
        address: 0x5500_0000_0000 + generation * 16,
        bytes: 9376 + generation,
    }
}

#[test]
fn a_record_is_three_writes_zero_then_fields_then_generation() {
    let writes = install_writes(slot(2), &record(0x0102));
    let offsets = writes.map(|write| write.offset);
    assert_eq!(offsets, [96, 104, 96]);
    assert_eq!(writes[0].bytes(), [0; 8]);
    #[rustfmt::skip]
    assert_eq!(
        writes[1].bytes(),
        [
            0x20, 0x10, 0, 0, 0, 0x55, 0, 0, // device_address
            0xa2, 0x25, 0, 0, 0, 0, 0, 0,    // bytes = 9376 + 0x102
            2, 0, 0, 0, 0, 0, 0, 0,          // callable_id, reserved
        ]
    );
    assert_eq!(writes[2].bytes(), [2, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!((retire_write(slot(63)).offset, retire_write(slot(63)).bytes()), (2048, &[0; 8][..]));
    assert_eq!(
        (context_write(7).offset, context_write(7).bytes()),
        (CONTEXT_GENERATION, &[7, 0, 0, 0, 0, 0, 0, 0][..])
    );
}

#[test]
fn closing_covers_every_record_and_nothing_else() {
    assert_eq!(CLOSE_RANGE, 32..2080);
    let mut head = [0xa5; RECORDS_END];
    head[32..2080].fill(0);
    assert!(is_every_record_zero(&head));
    assert_eq!(head[..32], [0xa5; 32]);
}

/// Applies a host's writes to shared words.
fn land(area: &PlainArea, offset: u64, bytes: &[u8]) {
    for (word, at) in bytes.chunks_exact(8).zip((offset..).step_by(8)) {
        area.store_u64(at, u64::from_le_bytes(word.try_into().unwrap()));
    }
}

#[test]
fn the_writes_as_data_are_the_writes_over_shared_words() {
    let (streamed, shared) = (PlainArea::new(), PlainArea::new());
    for (id, generation) in [(0, 1), (63, u64::MAX), (17, 5), (17, 6)] {
        for write in
            install_writes(slot(id), &SlotRecord { generation: record(5).generation, ..record(generation % 100) })
        {
            land(&streamed, write.offset, write.bytes());
        }
        install(&shared, slot(id), &SlotRecord { generation: record(5).generation, ..record(generation % 100) });
    }
    let write = retire_write(slot(0));
    land(&streamed, write.offset, write.bytes());
    retire(&shared, slot(0));
    for offset in (0..AREA_BYTES).step_by(8) {
        assert_eq!(streamed.load_u64(offset), shared.load_u64(offset), "at {offset}");
    }
}

#[test]
fn what_is_installed_is_read_and_what_is_retired_is_not() {
    let area = PlainArea::new();
    for slot in SlotIndex::all() {
        assert_eq!(read(&area, slot), Err(RecordFault::Vacant));
        install(&area, slot, &record(slot.to_index() as u64 + 1));
    }
    for slot in SlotIndex::all() {
        let (claim, expected) = (read(&area, slot).unwrap(), record(slot.to_index() as u64 + 1));
        assert_eq!(
            (claim.generation, claim.address, claim.bytes),
            (expected.generation, expected.address, expected.bytes)
        );
        assert_eq!((claim.callable_id, claim.reserved), (slot.to_id(), 0));
        assert_eq!(claim.check(slot, |_, _| true), Ok(()));
    }
    retire(&area, slot(9));
    assert_eq!(read(&area, slot(9)), Err(RecordFault::Vacant));
    assert!(read(&area, slot(10)).is_ok());
    assert!(!close(&area));
    assert!(SlotIndex::all().all(|slot| read(&area, slot) == Err(RecordFault::Vacant)));
}

#[test]
fn readers_under_stress_never_accept_a_mixed_record_nor_go_back() {
    let generations = if cfg!(debug_assertions) { 50_000 } else { 1_000_000 };
    let (area, is_done) = (PlainArea::new(), AtomicBool::new(false));
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let (mut last, mut accepted) = (0, 0_u64);
                    while !is_done.load(Ordering::Acquire) || accepted == 0 {
                        if let Ok(claim) = read(&area, slot(3)) {
                            let generation = claim.generation.to_bits();
                            assert_eq!(
                                (claim.address, claim.bytes),
                                (record(generation).address, record(generation).bytes)
                            );
                            assert!(generation >= last, "{generation} after {last}");
                            last = generation;
                            accepted += 1;
                        }
                    }
                    last
                })
            })
            .collect();
        for generation in 1..=generations {
            install(&area, slot(3), &record(generation));
            if generation % 7 == 0 {
                retire(&area, slot(3));
            }
        }
        install(&area, slot(3), &record(generations + 1));
        is_done.store(true, Ordering::Release);
        for reader in readers {
            assert!(reader.join().unwrap() <= generations + 1);
        }
    });
}
