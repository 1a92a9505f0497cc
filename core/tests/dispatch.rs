//! Steps 4 to 9 of the device entry, each rule, in the order of the answers.
//!

#[path = "common/mod.rs"]
mod common;

use std::cell::Cell;

use common::{PlainArea, callable};
use tenon_core::area::{
    AreaWords, BUSY, CANCELLED, CONTEXT_GENERATION, FIRST_REFUSAL, REFUSALS, VERDICT_LEAVE, VERDICT_WORK,
};
use tenon_core::device::AreaInfo;
use tenon_core::dispatch::{Executing, Image, Payload, Refusal, Unlocated, locate};
use tenon_core::generation::{Generation, SlotIndex};
use tenon_core::packet::{Invocation, check};
use tenon_core::record::{self, RecordFault, SlotRecord};
use tenon_core::status::DispatchAnswer;
use tenon_core::verdict::{Taken, Verdict, try_take};
use tenon_core::wire::{DispatchPrefix, InvocationHeader, Mode};

const BASE: u64 = 0x5500_0000_0840;
const CONTEXT: u64 = 77;
const IMAGE: u64 = 0x5501_0000_0020;
const INFO: AreaInfo = AreaInfo { base: BASE, context_generation: CONTEXT, index: 0, reserved: 0 };
const TAKES: Payload = Payload::Takes { tensors: 2, scalars: 1 };

/// Slot 5 has tenant 3.
fn area() -> PlainArea {
    let area = PlainArea::new();
    area.store_u64(CONTEXT_GENERATION, CONTEXT);
    let record = SlotRecord { generation: generation(3), address: IMAGE, bytes: 9376 };
    record::install(&area, SlotIndex::from_id(5).unwrap(), &record);
    area
}

fn generation(bits: u64) -> Generation {
    Generation::from_bits(bits).unwrap()
}

/// A launch of slot 5's tenant with two tensors and one scalar, whose record is believed to be at this address.
fn launch_at(residency_address: u64, generation: u64) -> Invocation {
    let header = InvocationHeader {
        mode: 1,
        callable_id: 5,
        generation,
        payload_bytes: 264,
        tensor_count: 2,
        scalar_count: 1,
        ..InvocationHeader::default()
    };
    check(&DispatchPrefix { packet_bytes: 320, residency_address, header }, Mode::Kernel).unwrap()
}

fn launch(generation: u64) -> Invocation {
    launch_at(BASE + 32 + 32 * 5, generation)
}

/// All steps in a row, as a shell composes them.
fn enter<'a>(
    area: &'a PlainArea,
    invocation: Invocation,
    payload: Payload,
) -> Result<Executing<'a, PlainArea>, Refusal> {
    let begun = locate(invocation, &INFO, area).unwrap().find(|_, _| true)?.bind(payload)?.begin()?;
    Ok(begun.work())
}

/// Refuses with this reason, posts one *leave*, counts once, and leaves the context idle.
#[track_caller]
fn assert_refused(area: &PlainArea, invocation: Invocation, payload: Payload, expected: Refusal) {
    let (first, refusals) = (area.load_u32(FIRST_REFUSAL), area.load_u64(REFUSALS));
    let (work, leave) = (area.load_u32(VERDICT_WORK), area.load_u32(VERDICT_LEAVE));
    let busy = area.load_u32(BUSY);
    assert_eq!(enter(area, invocation, payload).err(), Some(expected));
    assert_eq!(area.load_u32(VERDICT_LEAVE), leave + 1);
    assert_eq!(area.load_u32(VERDICT_WORK), work);
    assert_eq!(area.load_u64(REFUSALS), refusals + 1);
    assert_eq!(area.load_u32(FIRST_REFUSAL), if first == 0 { expected.answer().code() } else { first });
    assert_eq!(area.load_u32(BUSY), busy);
}

#[test]
fn a_launch_of_the_tenant_runs_its_image_and_leaves_the_context_idle() {
    let area = area();
    let executing = enter(&area, launch(3), TAKES).unwrap();
    assert_eq!(executing.image(), Image { address: IMAGE, bytes: 9376 });
    assert_eq!(executing.invocation().callable(), callable(5, 3));
    assert_eq!(area.load_u32(BUSY), 1);
    assert_eq!(try_take(&area), Some(Taken::Verdict(Verdict::Work)));
    assert_eq!(executing.end(DispatchAnswer::Success), DispatchAnswer::Success);
    assert_eq!(area.load_u32(BUSY), 0);
    assert_eq!((area.load_u32(FIRST_REFUSAL), area.load_u64(REFUSALS)), (0, 0));
    assert_eq!(try_take(&area), None);
}

#[test]
fn only_the_record_of_the_packet_s_slot_is_a_residency_address() {
    let area = area();
    let right = BASE + 32 + 32 * 5;
    for bit in 0..64 {
        let wrong = right ^ (1 << bit);
        let error = locate(launch_at(wrong, 3), &INFO, &area).err();
        assert_eq!(error, Some(Unlocated::NotTheRecord { found: wrong, base: BASE }), "bit {bit}");
    }
    for wrong in [0, BASE, right - 32, right + 32, right + 1, u64::MAX] {
        let error = locate(launch_at(wrong, 3), &INFO, &area).err();
        assert_eq!(error.map(Unlocated::answer), Some(DispatchAnswer::InvalidArgs), "{wrong:#x}");
    }
    let at_the_top = AreaInfo { base: u64::MAX - 63, ..INFO };
    assert!(locate(launch_at(right, 3), &at_the_top, &area).is_err());
    assert!(locate(launch_at(128, 3), &at_the_top, &area).is_err(), "the sum does not wrap");
}

#[test]
fn an_area_of_another_context_generation_is_refused_and_nothing_is_posted() {
    let area = area();
    for found in [0, CONTEXT - 1, CONTEXT + 1] {
        area.store_u64(CONTEXT_GENERATION, found);
        let error = locate(launch(3), &INFO, &area).err();
        assert_eq!(error, Some(Unlocated::ContextGeneration { found, expected: CONTEXT }));
    }
    let touched = (area.load_u32(VERDICT_LEAVE), area.load_u32(FIRST_REFUSAL), area.load_u64(REFUSALS));
    assert_eq!(touched, (0, 0, 0));
}

#[test]
fn a_cancelled_context_is_poisoned_whatever_else_is_wrong() {
    for cancelled in [1, 2, u32::MAX] {
        let area = area();
        area.store_u32(CANCELLED, cancelled);
        record::retire(&area, SlotIndex::from_id(5).unwrap());
        area.store_u32(BUSY, 1);
        assert_refused(&area, launch(9), Payload::Unsupported, Refusal::Poisoned);
    }
}

#[test]
fn a_record_that_cannot_be_believed_is_not_resident_rule_by_rule() {
    let at = 32 + 32 * 5;
    let low_id = |id: u64, reserved: u64| id | reserved << 32;
    // Writes to a good record, and the rule that each breaks first; `reserved` comes last, so it is wrong in all of them.
    let cases: [(&[(u64, u64)], RecordFault); 9] = [
        (&[(at, 0)], RecordFault::Vacant),
        (&[(at + 24, low_id(4, 1)), (at + 8, 0)], RecordFault::CallableId { found: 4, expected: 5 }),
        (&[(at + 24, low_id(0xffff_ffff, 1))], RecordFault::CallableId { found: -1, expected: 5 }),
        (&[(at + 24, low_id(5, 1)), (at + 8, 0), (at + 16, 0)], RecordFault::Address { found: 0 }),
        (&[(at + 24, low_id(5, 1)), (at + 8, IMAGE + 8), (at + 16, 0)], RecordFault::Address { found: IMAGE + 8 }),
        (&[(at + 24, low_id(5, 1)), (at + 16, 9375)], RecordFault::Bytes { found: 9375 }),
        (
            &[(at + 24, low_id(5, 1)), (at + 16, u64::MAX - IMAGE + 1)],
            RecordFault::Memory { address: IMAGE, bytes: u64::MAX - IMAGE + 1 },
        ),
        (&[(at + 24, low_id(5, 1))], RecordFault::Reserved { found: 1 }),
        (&[(at + 24, low_id(5, 1 << 31))], RecordFault::Reserved { found: 1 << 31 }),
    ];
    for (writes, fault) in cases {
        let area = area();
        for (offset, value) in writes {
            area.store_u64(*offset, *value);
        }
        // Another generation than the slot's, too: stale comes after not resident.
        assert_refused(&area, launch(9), Payload::Unsupported, Refusal::NotResident(fault));
    }
}

#[test]
fn an_image_outside_callable_memory_is_not_resident_and_is_asked_about_once() {
    let area = area();
    let asked = Cell::new(0);
    let found = locate(launch(3), &INFO, &area).unwrap().find(|address, bytes| {
        asked.set(asked.get() + 1);
        assert_eq!((address, bytes), (IMAGE, 9376));
        false
    });
    let fault = RecordFault::Memory { address: IMAGE, bytes: 9376 };
    assert_eq!(found.err(), Some(Refusal::NotResident(fault)));
    assert_eq!(asked.get(), 1);
}

#[test]
fn another_generation_is_stale_however_close_or_far() {
    let area = area();
    for bits in [1, 2, 4, 3 | 1 << 32, 3 | 1 << 63, u64::MAX] {
        let stale = Refusal::Stale { found: generation(bits), current: generation(3) };
        assert_refused(&area, launch(bits), Payload::Unsupported, stale);
    }
}

#[test]
fn every_single_bit_change_of_the_generation_is_stale() {
    let area = area();
    for bit in 0..64 {
        let bits = 3 ^ (1 << bit);
        let stale = Refusal::Stale { found: generation(bits), current: generation(3) };
        assert_refused(&area, launch(bits), TAKES, stale);
    }
}

#[test]
fn code_comes_before_header_and_counts() {
    let area = area();
    area.store_u32(BUSY, 1); // Busy comes after all of them.
    assert_refused(&area, launch(3), Payload::Unsupported, Refusal::UnsupportedPayload);
    assert_refused(&area, launch(3), Payload::Invalid, Refusal::InvalidHeader);
    for (tensors, scalars) in [(1, 1), (3, 1), (2, 0), (2, 2), (1, 2), (0, 0)] {
        let refusal = Refusal::InvalidBinding { found: (2, 1), expected: (tensors, scalars) };
        assert_refused(&area, launch(3), Payload::Takes { tensors, scalars }, refusal);
        assert_eq!(refusal.answer(), DispatchAnswer::InvalidBinding);
    }
}

#[test]
fn a_second_launch_is_busy_until_the_first_has_ended() {
    let area = area();
    let first = enter(&area, launch(3), TAKES).unwrap();
    assert_eq!(enter(&area, launch(3), TAKES).err(), Some(Refusal::Busy));
    assert_eq!(first.end(DispatchAnswer::Success), DispatchAnswer::Success);
    assert!(enter(&area, launch(3), TAKES).is_ok());
}

#[test]
fn any_non_zero_busy_word_is_busy() {
    for busy in [1, 2, u32::MAX] {
        let area = area();
        area.store_u32(BUSY, busy);
        assert_refused(&area, launch(3), TAKES, Refusal::Busy);
    }
}

#[test]
fn a_slot_that_changes_before_the_launch_begins_gives_the_busy_word_back() {
    let slot = SlotIndex::from_id(5).unwrap();
    for (after, change) in [
        (None, None),
        (Some(generation(4)), Some(SlotRecord { generation: generation(4), address: IMAGE + 16384, bytes: 9376 })),
    ] {
        let area = area();
        let bound = locate(launch(3), &INFO, &area).unwrap().find(|_, _| true).unwrap().bind(TAKES).unwrap();
        match change {
            Some(record) => record::install(&area, slot, &record),
            None => assert!(!record::close(&area)),
        }
        let fault = RecordFault::Changed { before: generation(3), after };
        assert_eq!(bound.begin().err(), Some(Refusal::NotResident(fault)));
        assert_eq!((area.load_u32(BUSY), area.load_u32(VERDICT_LEAVE)), (0, 1));
    }
}

#[test]
fn close_sees_a_launch_that_was_let_in() {
    let area = area();
    let executing = enter(&area, launch(3), TAKES).unwrap();
    assert!(record::close(&area), "executing");
    assert_eq!(executing.end(DispatchAnswer::Success), DispatchAnswer::Success);
    assert!(!record::close(&area));
    assert_refused(&area, launch(3), TAKES, Refusal::NotResident(RecordFault::Vacant));
}

#[test]
fn a_shell_that_finds_out_too_late_gives_the_busy_word_back() {
    let area = area();
    let begun =
        locate(launch(3), &INFO, &area).unwrap().find(|_, _| true).unwrap().bind(TAKES).unwrap().begin().unwrap();
    assert_eq!((area.load_u32(BUSY), area.load_u32(VERDICT_WORK)), (1, 0));
    assert_eq!(begun.refuse(Refusal::UnsupportedPayload), Refusal::UnsupportedPayload);
    assert_eq!((area.load_u32(BUSY), area.load_u32(VERDICT_LEAVE), area.load_u64(REFUSALS)), (0, 1, 1));
}

#[test]
fn a_failed_execution_counts_and_the_first_refusal_is_kept() {
    let area = area();
    for (index, answer) in DispatchAnswer::ALL.iter().copied().enumerate() {
        let counted = area.load_u64(REFUSALS);
        let executing = enter(&area, launch(3), TAKES).unwrap();
        assert_eq!(executing.end(answer), answer);
        assert_eq!(area.load_u64(REFUSALS), counted + u64::from(index >= 2), "{}", answer.name());
        assert_eq!(area.load_u32(FIRST_REFUSAL), if index >= 2 { 2 } else { 0 });
        assert_eq!(area.load_u32(BUSY), 0);
    }
    assert_eq!(area.load_u32(VERDICT_WORK), 10, "each posted one verdict");
}

#[test]
fn a_zeroed_area_and_a_forgotten_generation_let_nothing_in() {
    let area = PlainArea::new();
    let zero = AreaInfo { context_generation: 0, ..INFO };
    let located = locate(launch(1), &zero, &area).unwrap();
    assert_eq!(located.find(|_, _| true).err(), Some(Refusal::NotResident(RecordFault::Vacant)));
}
