//! Prepare and release: uploads, records in stream order, what a failure leaves.
//!

use host_runtime::error::ContextError;
use tenon_core::callable::fnv1a_64;
use tenon_core::phase::Phase;
use tenon_core::vocabulary::ContextEvent::RecordWritten;
use tenon_core::vocabulary::MemoryKind;

use crate::fake::Stream::{Caller, OtherCaller};
use crate::fake::{Balance, Call, Fake, FakePlatform};
use crate::image::{Image, arguments, image};
use crate::setup::{Kernel, bytes, caller, generation, live, other_caller, prepare, slot};

/// Calls of a prepare that uploads an image with two children.
const UPLOAD: [Call; 13] = [
    Call::Allocate(MemoryKind::Callable),
    Call::AllocatePinned,
    Call::WritePinned,
    Call::WritePinned,
    Call::WritePinned,
    Call::WritePinned,
    Call::WritePinned,
    Call::Wait(Caller, RecordWritten),
    Call::Copy(Caller),
    Call::Copy(Caller),
    Call::Copy(Caller),
    Call::Copy(Caller),
    Call::Record(Caller, RecordWritten),
];
/// How many of them come before the first write of the record.
const BEFORE_RECORD: u64 = 9;

/// A slot's record on the device: generation, address, bytes, id.
fn record(fake: &Fake, id: u64) -> [u64; 4] {
    let at = fake.area() + 32 + 32 * id;
    [0, 8, 16, 24].map(|offset| fake.word(at + offset))
}

/// A live context with an image in slot 0, and a journal that begins behind it.
fn occupied() -> (FakePlatform, Kernel) {
    let (platform, context) = live();
    prepare(&context, 0, &image(b"first")).unwrap();
    let mut fake = platform.fake();
    fake.journal.clear();
    fake.calls = 0;
    drop(fake);
    (platform, context)
}

fn slot_generation(context: &Kernel, id: i32) -> Option<u64> {
    context.slot_generation(slot(id)).ok().map(|generation| generation.to_bits())
}

#[test]
fn a_prepare_uploads_first_and_writes_the_record_last() {
    let (platform, context) = live();
    assert_eq!(prepare(&context, 3, &image(b"code")), Ok(generation(1)));
    let fake = platform.fake();
    assert_eq!(fake.journal, UPLOAD);
    let [address] = fake.addresses(MemoryKind::Callable)[..] else { panic!("one upload") };
    let bytes = bytes(&image(b"code")).len() as u64;
    assert_eq!(record(&fake, 3), [1, address, bytes, 3]);
    assert_eq!(slot_generation(&context, 3), Some(1));
}

#[test]
fn children_in_the_upload_know_where_their_code_is_and_nothing_else_changes() {
    let (platform, context) = live();
    let image = image(b"code");
    prepare(&context, 0, &image).unwrap();
    let fake = platform.fake();
    let address = fake.addresses(MemoryKind::Callable)[0];
    let mut expected = bytes(&image);
    for index in 0..2 {
        let offset = u32::from_le_bytes(expected[5196 + 4 * index..5200 + 4 * index].try_into().unwrap());
        let child = 9376 + offset as usize;
        let code = address + 9376 + u64::from(offset) + 192;
        assert!(code.is_multiple_of(64));
        expected[child + 136..child + 144].copy_from_slice(&code.to_le_bytes());
    }
    assert_eq!(fake.device_bytes(address), expected);
}

#[test]
fn identical_bytes_are_one_upload() {
    let (platform, context) = live();
    prepare(&context, 0, &image(b"code")).unwrap();
    let before = platform.fake().journal.len();
    assert_eq!(prepare(&context, 1, &image(b"code")), Ok(generation(1)));
    let calls = platform.journal_since(before);
    assert!(!calls.contains(&Call::Allocate(MemoryKind::Callable)), "{calls:?}");
    let fake = platform.fake();
    assert_eq!(fake.balance().images, 1);
    assert_eq!(record(&fake, 0)[1], record(&fake, 1)[1]);
}

#[test]
fn two_images_with_one_hash_are_two_uploads() {
    // Eight bytes of code each, found by search, that lead to the same 64-bit FNV-1a behind this image's header.
    let (one, other) = (image(&COLLIDING[0]), image(&COLLIDING[1]));
    assert_ne!(bytes(&one), bytes(&other));
    assert_eq!(fnv1a_64(&bytes(&one)), fnv1a_64(&bytes(&other)));
    let (platform, context) = live();
    prepare(&context, 0, &one).unwrap();
    prepare(&context, 1, &other).unwrap();
    let fake = platform.fake();
    assert_eq!(fake.balance().images, 2);
    let (first, second) = (record(&fake, 0)[1], record(&fake, 1)[1]);
    assert_eq!(fake.device_bytes(first)[9376..9384], COLLIDING[0]);
    assert_eq!(fake.device_bytes(second)[9376..9384], COLLIDING[1]);
}

const COLLIDING: [[u8; 8]; 2] = [0x95e9_6efb_6aec_ec88_u64.to_le_bytes(), 0xb5b1_1969_344d_c993_u64.to_le_bytes()];

#[test]
fn a_replaced_image_stays_until_close() {
    let (platform, context) = live();
    for (number, code) in (1..).zip([&b"one"[..], b"two", b"three"]) {
        assert_eq!(prepare(&context, 0, &image(code)), Ok(generation(number)));
    }
    context.release(slot(0), caller()).unwrap();
    assert_eq!(platform.fake().balance().images, 3);
    assert_eq!(prepare(&context, 0, &image(b"one")), Ok(generation(4)), "found again, not uploaded again");
    assert_eq!(platform.fake().balance().images, 3);
    context.close().unwrap();
    assert_eq!(platform.fake().balance(), Balance { areas: 1, ..Balance::default() });
}

#[test]
fn a_released_slot_is_empty_on_host_and_device_and_goes_on_counting() {
    let (platform, context) = occupied();
    assert_eq!(context.release(slot(0), caller()), Ok(()));
    let expected = [Call::Wait(Caller, RecordWritten), Call::Copy(Caller), Call::Record(Caller, RecordWritten)];
    assert_eq!(platform.fake().journal, expected);
    assert_eq!(record(&platform.fake(), 0)[0], 0);
    let empty = context.slot_generation(slot(0)).unwrap_err();
    assert_eq!(empty.code(), -1007);
    assert_eq!(context.release(slot(0), caller()), Err(empty));
    assert_eq!(context.launch(slot(0), &arguments(), caller()), Err(empty));
    assert_eq!(prepare(&context, 0, &image(b"second")), Ok(generation(2)));
}

#[test]
fn a_packet_of_the_old_tenant_meets_the_new_generation() {
    let (platform, context) = occupied();
    context.launch(slot(0), &arguments(), caller()).unwrap();
    let old = platform.fake().arrived[0].packet[24..32].to_vec();
    context.release(slot(0), caller()).unwrap();
    prepare(&context, 0, &image(b"second")).unwrap();
    assert_ne!(record(&platform.fake(), 0)[0].to_le_bytes(), old[..], "the record names the new tenant");
}

#[test]
fn an_image_that_breaks_a_rule_is_refused_with_nothing_touched() {
    let (platform, context) = occupied();
    let mut bytes = bytes(&image(b"second"));
    bytes[1024] = 0xFF; // sig_count
    let refused = prepare(&context, 0, &Image::of(&bytes)).unwrap_err();
    assert!(matches!(refused, ContextError::Image(_)), "{refused}");
    assert_eq!(refused.code(), -1004);
    bytes.truncate(9375);
    assert_eq!(prepare(&context, 0, &Image::of(&bytes)).unwrap_err().code(), -1004);
    assert_eq!(platform.fake().journal, []);
    assert_eq!(slot_generation(&context, 0), Some(1));
}

#[test]
fn the_sixty_fifth_callable_has_no_slot_and_the_others_stay_valid() {
    let (platform, context) = live();
    for id in 0..64 {
        prepare(&context, id, &image(b"code")).unwrap();
    }
    assert_eq!(tenon_core::generation::SlotIndex::<64>::from_id(64), None);
    assert!((0..64).all(|id| slot_generation(&context, id) == Some(1)));
    assert_eq!(platform.fake().balance().images, 1);
}

#[test]
fn every_failure_before_the_record_leaves_the_table_as_it_was() {
    for nth in 1..=BEFORE_RECORD {
        let (platform, context) = occupied();
        let left = |fake: &Fake| (fake.balance(), record(fake, 0));
        let before = left(&platform.fake());
        platform.fail(nth);
        let error = prepare(&context, 0, &image(b"second")).unwrap_err();
        assert_eq!(error.code(), -1000, "call {nth}");
        assert_eq!(context.phase(), Phase::Collecting, "call {nth}");
        assert_eq!(left(&platform.fake()), before, "call {nth}");
        assert_eq!(slot_generation(&context, 0), Some(1), "call {nth}");
        assert_eq!(context.launch(slot(0), &arguments(), caller()), Ok(()), "call {nth}: the old tenant runs");
        assert_eq!(prepare(&context, 0, &image(b"second")), Ok(generation(2)), "call {nth}: no generation was used");
        assert_eq!(context.errors().runtime_error, 0, "call {nth}");
    }
}

#[test]
fn a_failed_first_record_write_keeps_the_tenant_and_the_image_until_close() {
    let (platform, context) = occupied();
    platform.fail(BEFORE_RECORD + 1);
    prepare(&context, 0, &image(b"second")).unwrap_err();
    assert_eq!(platform.fake().journal.last(), Some(&Call::Record(Caller, RecordWritten)), "it covers the upload");
    assert_eq!(slot_generation(&context, 0), Some(1));
    assert_eq!(context.phase(), Phase::Collecting);
    assert_eq!(platform.fake().balance().images, 2, "the copy may be on its way");
    assert_eq!(prepare(&context, 0, &image(b"second")), Ok(generation(2)));
    context.close().unwrap();
    assert_eq!(platform.fake().balance(), Balance { areas: 1, ..Balance::default() });
}

#[test]
fn a_failure_after_the_first_record_write_empties_the_slot_and_uses_its_generation() {
    for nth in BEFORE_RECORD + 2..=UPLOAD.len() as u64 {
        let (platform, context) = occupied();
        platform.fail(nth);
        assert_eq!(prepare(&context, 0, &image(b"second")).unwrap_err().code(), -1000, "call {nth}");
        assert_eq!(record(&platform.fake(), 0)[0], 0, "call {nth}: nobody is in the slot on the device");
        assert_eq!(slot_generation(&context, 0), None, "call {nth}");
        assert_eq!(context.phase(), Phase::Collecting, "call {nth}: the sequence of writes is whole");
        assert_eq!(platform.fake().balance().images, 2, "call {nth}: the bytes are charged");
        assert_eq!(prepare(&context, 0, &image(b"second")), Ok(generation(3)), "call {nth}");
        assert_eq!(platform.fake().balance().images, 2, "call {nth}: the upload is found again");
    }
}

#[test]
fn record_writes_that_may_be_overtaken_poison_the_context() {
    // The record of RecordWritten fails behind the failed write, so a later write would not be ordered behind this one.
    for (nth, behind) in [(10, 1), (11, 1), (12, 1), (13, 1), (13, 2)] {
        let (platform, context) = occupied();
        platform.fail(nth);
        platform.fail(nth + behind);
        let error = prepare(&context, 0, &image(b"second")).unwrap_err();
        let case = format!("call {nth}, {behind} behind it");
        assert_eq!(context.phase(), Phase::Poisoned, "{case}");
        assert_eq!(platform.fake().journal.last(), Some(&Call::Cancel(Caller)), "{case}");
        let errors = context.errors();
        assert_eq!((errors.runtime_error, errors.runtime_vendor_code), (-1000, error.vendor_code()), "{case}");
        assert_eq!(errors.failed_step, 0, "{case}: no launch failed");
        assert_eq!(context.close(), Ok(()), "{case}");
        assert_eq!(platform.fake().balance(), Balance { areas: 1, ..Balance::default() }, "{case}");
    }
}

#[test]
fn a_poisoned_context_whose_cancel_failed_is_cancelled_by_close_before_anything_is_freed() {
    let (platform, context) = occupied();
    (12..=14).for_each(|nth| platform.fail(nth));
    prepare(&context, 0, &image(b"second")).unwrap_err();
    assert_eq!(context.phase(), Phase::Poisoned);
    let before = platform.fake().journal.len();
    context.close().unwrap();
    let calls = platform.journal_since(before);
    assert_eq!(calls[0], Call::Cancel(crate::fake::Stream::Aicpu));
    let area = platform.fake().area();
    assert_eq!(platform.fake().word(area + 8), 1);
}

#[test]
fn every_failed_call_of_a_release_leaves_a_known_slot() {
    for (nth, is_empty) in [(1, false), (2, false), (3, true)] {
        let (platform, context) = occupied();
        platform.fail(nth);
        assert_eq!(context.release(slot(0), caller()).unwrap_err().code(), -1000, "call {nth}");
        assert_eq!(slot_generation(&context, 0).is_none(), is_empty, "call {nth}");
        assert_eq!(record(&platform.fake(), 0)[0] == 0, is_empty, "call {nth}");
        assert_eq!(context.phase(), Phase::Collecting, "call {nth}");
    }
    let (platform, context) = occupied();
    platform.fail(3);
    platform.fail(4);
    context.release(slot(0), caller()).unwrap_err();
    assert_eq!(context.phase(), Phase::Poisoned);
}

#[test]
fn a_failed_undo_is_a_teardown_error_and_close_does_it() {
    let (platform, context) = occupied();
    platform.fail(2);
    platform.fail(3);
    prepare(&context, 0, &image(b"second")).unwrap_err();
    let errors = context.errors();
    assert_eq!((errors.teardown_error, errors.runtime_error), (-1000, 0));
    assert_eq!(platform.fake().balance().images, 2);
    context.close().unwrap();
    assert_eq!(platform.fake().balance(), Balance { areas: 1, ..Balance::default() });
}

/// A small generator, so that an order that failed can be tried again.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

#[test]
fn records_from_two_streams_land_in_the_order_of_the_prepares_whatever_runs_first() {
    for seed in 0..200 {
        let (platform, context) = live();
        platform.fake().is_held = true;
        let mut random = Random(seed);
        let mut last = 0;
        for round in 0..6_u8 {
            let stream = if random.below(2) == 0 { caller() } else { other_caller() };
            let code = [round];
            last = image(&code).with(|bytes| context.prepare(slot(0), bytes, stream)).unwrap().to_bits();
            for _ in 0..random.below(12) {
                let stream = [Caller, OtherCaller][random.below(2)];
                platform.fake().step(stream);
                check_record(&platform.fake(), seed);
            }
        }
        let streams = [Caller, OtherCaller, crate::fake::Stream::Aicpu];
        while platform.fake().waiting() > 0 {
            platform.fake().step(streams[random.below(3)]);
            check_record(&platform.fake(), seed);
        }
        assert_eq!(record(&platform.fake(), 0)[0], last, "seed {seed}");
    }
}

/// Whoever is in slot 0 has its whole image on the device, and the code that its generation was prepared with.
fn check_record(fake: &Fake, seed: u64) {
    if fake.word(fake.area()) == 0xA5A5_A5A5_A5A5_A5A5 {
        return; // The area's first content has not landed, and the device does not know it.
    }
    let [generation, address, bytes, id] = record(fake, 0);
    if generation != 0 {
        let image = fake.device_bytes(address);
        assert_eq!((image.len() as u64, id), (bytes, 0), "seed {seed}");
        assert_eq!(u64::from(image[9376]), generation - 1, "seed {seed}: the code of this generation");
        assert_eq!(image[1024], 3, "seed {seed}: its header is there");
    }
}
