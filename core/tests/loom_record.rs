//! Every interleaving of a host replacing a tenant with a device reading it.
//!
#![cfg(loom)]

#[path = "common/loom_area.rs"]
mod loom_area;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;
use loom_area::LoomArea;
use tenon_core::area::AreaWords;
use tenon_core::generation::{Generation, SlotIndex};
use tenon_core::record::{RecordClaim, SlotRecord, install, read, retire};

fn slot() -> SlotIndex {
    SlotIndex::from_id(0).unwrap()
}

fn record(generation: u64) -> SlotRecord {
    SlotRecord {
        generation: Generation::from_bits(generation).unwrap(),
        address: 0x1000 * generation,
        bytes: 9376 + generation,
    }
}

/// The area with tenant 1 in slot 0.
fn area() -> LoomArea {
    LoomArea::new(7, [1, 0x1000, 9377, 0])
}

/// The generation of a claim whose every field must be of that generation.
fn whole(claim: RecordClaim) -> u64 {
    let generation = claim.generation.to_bits();
    let expected = record(generation);
    assert_eq!((claim.address, claim.bytes), (expected.address, expected.bytes), "a mixed record was accepted");
    assert_eq!((claim.callable_id, claim.reserved), (0, 0));
    generation
}

/// A host that writes the image of tenant 2 and gives it the slot in the way of `publish`; a device that reads the record twice and
/// looks at the image that the record names.
fn replace(publish: fn(&LoomArea)) {
    loom::model(move || {
        let shared = Arc::new((area(), AtomicU64::new(0)));
        let host = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.1.store(2, Ordering::Relaxed);
                publish(&shared.0);
            })
        };
        let (area, image) = &*shared;
        let mut last = 0;
        for _ in 0..2 {
            if let Ok(claim) = read(area, slot()) {
                let generation = whole(claim);
                assert!(generation >= last, "the old tenant was accepted after the new one");
                assert!(generation != 2 || image.load(Ordering::Relaxed) == 2, "the record came before its image");
                last = generation;
            }
        }
        host.join().unwrap();
    });
}

#[test]
fn a_replaced_record_is_read_whole_or_not_at_all() {
    replace(|area| install(area, slot(), &record(2)));
}

#[test]
fn a_tenant_that_moves_out_and_another_that_moves_in_are_never_mixed() {
    loom::model(|| {
        let area = Arc::new(area());
        let host = {
            let area = Arc::clone(&area);
            thread::spawn(move || {
                retire(&*area, slot());
                install(&*area, slot(), &record(2));
                install(&*area, slot(), &record(3));
            })
        };
        if let Ok(claim) = read(&*area, slot()) {
            whole(claim);
        }
        host.join().unwrap();
    });
}

#[test]
fn two_readers_each_see_whole_records() {
    let mut model = loom::model::Builder::new();
    // Without a bound three threads take minutes; the two-thread models above have none.
    model.preemption_bound = Some(2);
    model.check(|| {
        let area = Arc::new(area());
        let device = || {
            let area = Arc::clone(&area);
            thread::spawn(move || read(&*area, slot()).map(whole))
        };
        let readers = [device(), device()];
        install(&*area, slot(), &record(2));
        for reader in readers {
            let _ = reader.join().unwrap();
        }
    });
}

// The orders that are wrong, each found by the same check that the right one passes.

fn fields(area: &LoomArea, generation: u64) {
    area.store_u64(40, record(generation).address);
    area.store_u64(48, record(generation).bytes);
}

#[test]
#[should_panic(expected = "a mixed record was accepted")]
fn without_the_zero_first_a_mixed_record_is_accepted() {
    replace(|area| {
        fields(area, 2);
        area.store_u64(32, 2);
    });
}

#[test]
#[should_panic(expected = "a mixed record was accepted")]
fn with_the_generation_before_the_fields_a_mixed_record_is_accepted() {
    replace(|area| {
        area.store_u64(32, 0);
        area.store_u64(32, 2);
        fields(area, 2);
    });
}

#[test]
#[should_panic(expected = "a mixed record was accepted")]
fn with_the_generation_among_the_fields_a_mixed_record_is_accepted() {
    replace(|area| {
        area.store_u64(32, 0);
        area.store_u64(40, record(2).address);
        area.store_u64(32, 2);
        area.store_u64(48, record(2).bytes);
    });
}
