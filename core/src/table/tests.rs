//! Generations, sharing, charging, and the point of no return.
//!

use std::vec::Vec;

use super::*;
use crate::callable::fnv1a_64;

type Images = heapless::Vec<UploadedImage, 64>;
type Table<const N: usize = 64> = CallableTable<Images, N>;

const ADDRESS: u64 = 0x5400_0000_0020;

/// A table with the bytes of its images beside it, as a host keeps them.
struct Host<const N: usize = 64> {
    table: Table<N>,
    bytes: Vec<Vec<u8>>,
}

impl<const N: usize> Host<N> {
    fn new() -> Self {
        Self { table: Table::new(Images::new()), bytes: Vec::new() }
    }

    fn starting_at(next: u64) -> Self {
        let next = Generation::from_bits(next).unwrap();
        Self { table: Table::starting_at(Images::new(), next), bytes: Vec::new() }
    }

    fn reserve(&mut self, slot: i32, key: ImageKey, image: &[u8]) -> Result<Reservation<'_, Images, N>, TableError> {
        let bytes = &self.bytes;
        self.table.reserve(SlotIndex::from_id(slot).unwrap(), key, |index, _| bytes[index] == image)
    }

    fn prepare(&mut self, slot: i32, image: &[u8]) -> Result<CallableId<N>, TableError> {
        self.prepare_hashed(slot, fnv1a_64(image), image)
    }

    fn prepare_hashed(&mut self, slot: i32, hash: u64, image: &[u8]) -> Result<CallableId<N>, TableError> {
        let address = ADDRESS + 0x1000 * self.bytes.len() as u64;
        let reservation = self.reserve(slot, ImageKey { hash, ..key(image) }, image)?;
        let is_new = reservation.present().is_none();
        let id = reservation.begin(address).publish();
        if is_new {
            self.bytes.push(image.to_vec());
        }
        Ok(id)
    }

    fn release(&mut self, slot: i32) -> Result<(), TableError> {
        self.table.release(SlotIndex::from_id(slot).unwrap()).map(Release::commit)
    }

    fn generation(&self, slot: i32) -> Option<u64> {
        let tenant = self.table.tenant(SlotIndex::from_id(slot).unwrap());
        tenant.ok().map(|tenant| tenant.generation.to_bits())
    }
}

fn key(image: &[u8]) -> ImageKey {
    let counts = Counts { tensors: 2, scalars: 1 };
    ImageKey { hash: fnv1a_64(image), bytes: image.len() as u64, counts }
}

#[test]
fn every_tenant_of_a_slot_has_the_next_generation_from_one() {
    let mut host = Host::<64>::new();
    assert_eq!(host.prepare(5, b"f").unwrap().generation.to_bits(), 1);
    assert_eq!(host.prepare(5, b"g").unwrap().generation.to_bits(), 2, "over a tenant");
    host.release(5).unwrap();
    assert_eq!(host.prepare(5, b"f").unwrap().generation.to_bits(), 3, "into an emptied slot");
    assert_eq!(host.prepare(5, b"f").unwrap().generation.to_bits(), 4, "over itself");
    assert_eq!(host.prepare(6, b"f").unwrap().generation.to_bits(), 1, "a generation belongs to its slot");
}

#[test]
fn an_id_from_before_a_slot_changed_hands_is_stale() {
    let mut host = Host::<64>::new();
    let f = host.prepare(0, b"f").unwrap();
    assert_eq!(host.table.resolve(f).unwrap().address, ADDRESS);
    host.release(0).unwrap();
    assert_eq!(host.table.resolve(f), Err(TableError::NotResident));
    let g = host.prepare(0, b"g").unwrap();
    assert_eq!(host.table.resolve(f), Err(TableError::Stale { current: g.generation }));
    assert_eq!(host.table.resolve(g).unwrap().address, ADDRESS + 0x1000);
}

#[test]
fn ids_from_before_everything_was_vacated_stay_refused() {
    let mut host = Host::<64>::new();
    let before: Vec<_> = (0..64).map(|slot| host.prepare(slot, b"f").unwrap()).collect();
    host.table.vacate_all();
    for id in &before {
        assert_eq!(host.table.resolve(*id), Err(TableError::NotResident));
    }
    for id in before {
        let after = host.prepare(id.slot.to_id(), b"f").unwrap();
        assert_eq!(after.generation.to_bits(), 2);
        assert!(matches!(host.table.resolve(id), Err(TableError::Stale { .. })));
    }
}

#[test]
fn the_last_generation_retires_its_slot_and_no_other() {
    let mut host = Host::<64>::starting_at(u64::MAX);
    let last = host.prepare(1, b"f").unwrap();
    assert_eq!(last.generation, Generation::LAST);
    assert_eq!(host.prepare(1, b"g"), Err(TableError::Retired), "there is no generation for another tenant");
    assert_eq!(host.table.resolve(last).unwrap().generation, Generation::LAST, "the last tenant stays");
    host.release(1).unwrap();
    assert_eq!(host.prepare(1, b"f"), Err(TableError::Retired), "never again");
    assert_eq!(host.table.resolve(last), Err(TableError::NotResident));
    assert_eq!(TableError::Retired.runtime_error(), RuntimeError::CallableCountExceeded);
    assert!(host.prepare(2, b"f").is_ok());
}

#[test]
fn the_generation_before_the_last_is_followed_by_the_last() {
    let mut host = Host::<64>::starting_at(u64::MAX - 1);
    assert_eq!(host.prepare(0, b"f").unwrap().generation.to_bits(), u64::MAX - 1);
    assert_eq!(host.prepare(0, b"g").unwrap().generation.to_bits(), u64::MAX);
    assert_eq!(host.prepare(0, b"h"), Err(TableError::Retired));
    host.table.vacate_all();
    assert_eq!(host.prepare(0, b"h"), Err(TableError::Retired));
}

#[test]
fn identical_bytes_are_one_upload_counted_once() {
    let mut host = Host::<64>::new();
    for slot in 0..64 {
        host.prepare(slot, b"same bytes").unwrap();
    }
    assert_eq!((host.table.images().len(), host.table.charged_bytes()), (1, 10));
    for slot in 0..64 {
        assert_eq!(host.table.tenant(SlotIndex::from_id(slot).unwrap()).unwrap().address, ADDRESS);
    }
}

#[test]
fn the_same_hash_with_different_bytes_is_two_uploads() {
    let mut host = Host::<64>::new();
    let weak = 42;
    host.prepare_hashed(0, weak, b"one").unwrap();
    host.prepare_hashed(1, weak, b"two").unwrap();
    host.prepare_hashed(2, weak, b"longer").unwrap();
    host.prepare_hashed(3, weak, b"two").unwrap();
    assert_eq!((host.table.images().len(), host.table.charged_bytes()), (3, 12));
    let address = |slot| host.table.tenant(SlotIndex::from_id(slot).unwrap()).unwrap().address;
    assert_eq!(address(1), address(3));
    assert!(address(0) != address(1) && address(1) != address(2));
}

#[test]
fn bytes_are_compared_only_where_hash_and_length_agree() {
    let mut host = Host::<64>::new();
    host.prepare(0, b"one").unwrap();
    let slot = SlotIndex::from_id(1).unwrap();
    for key in [key(b"two"), ImageKey { bytes: 4, ..key(b"one") }] {
        let reservation = host.table.reserve(slot, key, |_, _| panic!("cannot be the same"));
        assert_eq!(reservation.unwrap().present(), None);
    }
}

#[test]
fn a_replaced_or_released_image_stays_charged_and_can_be_found_again() {
    let mut host = Host::<64>::new();
    host.prepare(0, b"first").unwrap();
    host.prepare(0, b"second").unwrap();
    host.release(0).unwrap();
    assert_eq!((host.table.images().len(), host.table.charged_bytes()), (2, 11));
    host.prepare(9, b"first").unwrap();
    assert_eq!(host.table.charged_bytes(), 11);
    assert_eq!(host.table.tenant(SlotIndex::from_id(9).unwrap()).unwrap().address, ADDRESS);
}

#[test]
fn the_limit_on_bytes_is_reached_exactly_and_never_exceeded() {
    const LIMIT: u64 = 512 << 20;
    let mut host = Host::<64>::new();
    let whole = ImageKey { bytes: LIMIT, ..key(b"") };
    let _ = host.reserve(0, whole, b"").unwrap().begin(ADDRESS).publish();
    host.bytes.push(Vec::new());
    let before = host.table.clone();
    let one_more = host.prepare(1, b"x").unwrap_err();
    assert_eq!(one_more, TableError::TooManyBytes { charged: LIMIT, wanted: 1 });
    assert_eq!(one_more.runtime_error(), RuntimeError::CallableBytesExceeded);
    assert_eq!(host.table, before);
    assert_eq!(host.reserve(1, whole, b"").unwrap().present(), Some(ADDRESS), "what is there costs nothing");

    let mut host = Host::<64>::new();
    for bytes in [LIMIT + 1, u64::MAX] {
        let refused = host.reserve(0, ImageKey { bytes, ..key(b"") }, b"").unwrap_err();
        assert_eq!(refused, TableError::TooManyBytes { charged: 0, wanted: bytes });
    }
}

#[test]
fn a_full_list_refuses_new_images_and_keeps_the_old() {
    let mut host = Host::<64>::new();
    for image in 0..64_u8 {
        host.prepare(0, &[image]).unwrap();
    }
    let before = host.table.clone();
    assert_eq!(host.prepare(1, &[64]), Err(TableError::TooManyImages));
    assert_eq!(host.table, before);
    assert_eq!(TableError::TooManyImages.runtime_error(), RuntimeError::CallableCountExceeded);
    assert!(host.prepare(1, &[3]).is_ok());
}

#[test]
fn a_failure_before_the_first_record_write_leaves_the_table_as_it_was() {
    let mut host = Host::<64>::new();
    let f = host.prepare(0, b"f").unwrap();
    let before = host.table.clone();
    drop(host.reserve(0, key(b"g"), b"g").unwrap());
    drop(host.reserve(1, key(b"g"), b"g").unwrap());
    drop(host.table.release(f.slot).unwrap());
    assert_eq!(host.table, before);
    assert_eq!(host.prepare(0, b"g").unwrap().generation.to_bits(), 2, "no generation was used");
}

#[test]
fn a_failure_after_the_first_record_write_empties_the_slot_uses_the_generation_and_charges_the_bytes() {
    let mut host = Host::<64>::new();
    let f = host.prepare(0, b"f").unwrap();
    drop(host.reserve(0, key(b"longer"), b"longer").unwrap().begin(ADDRESS + 64));
    host.bytes.push(b"longer".to_vec());
    assert_eq!(host.table.resolve(f), Err(TableError::NotResident));
    assert_eq!(host.table.charged_bytes(), 7);
    assert_eq!(host.prepare(0, b"longer").unwrap().generation.to_bits(), 3);
    assert_eq!(host.table.charged_bytes(), 7, "the upload of the failed prepare is found");

    let mut host = Host::<64>::starting_at(u64::MAX);
    drop(host.reserve(0, key(b"f"), b"f").unwrap().begin(ADDRESS));
    host.bytes.push(b"f".to_vec());
    assert_eq!(host.prepare(0, b"f"), Err(TableError::Retired), "the last generation can be lost too");
}

#[test]
fn a_preparation_says_what_its_record_is_to_say() {
    let mut host = Host::<64>::new();
    let reservation = host.reserve(63, key(b"image"), b"image").unwrap();
    assert_eq!((reservation.slot().to_id(), reservation.generation().to_bits()), (63, 1));
    let preparation = reservation.begin(ADDRESS);
    let counts = Counts { tensors: 2, scalars: 1 };
    let tenant = Tenant { generation: Generation::FIRST, counts, address: ADDRESS, bytes: 5 };
    assert_eq!(*preparation.tenant(), tenant);
    let id = preparation.publish();
    assert_eq!(host.table.resolve(id), Ok(&tenant));
}

#[test]
fn an_empty_slot_is_not_resident() {
    let mut host = Host::<64>::new();
    for slot in 0..64 {
        assert_eq!(host.generation(slot), None);
        assert_eq!(host.release(slot), Err(TableError::NotResident));
    }
    assert_eq!(TableError::NotResident.runtime_error(), RuntimeError::CallableNotResident);
}

#[test]
fn images_are_forgotten_one_by_one_and_only_once_no_slot_is_occupied() {
    let mut host = Host::<64>::new();
    host.prepare(0, b"one").unwrap();
    host.prepare(1, b"four").unwrap();
    assert_eq!(host.table.forget_last_image(), None, "a launch may find it");
    host.table.vacate_all();
    assert_eq!(host.table.forget_last_image().map(|image| image.bytes), Some(4));
    assert_eq!(host.table.charged_bytes(), 3);
    assert_eq!(host.table.forget_last_image().map(|image| image.address), Some(ADDRESS));
    assert_eq!((host.table.forget_last_image(), host.table.charged_bytes()), (None, 0));
}

fn fill<const N: usize>() {
    let mut host = Host::<N>::new();
    let ids: Vec<_> = SlotIndex::<N>::all().map(|slot| host.prepare(slot.to_id(), b"f").unwrap()).collect();
    assert_eq!(ids.len(), N);
    assert!(SlotIndex::<N>::from_id(i32::try_from(N).unwrap()).is_none(), "one more than the table holds");
    assert!(ids.iter().all(|id| host.table.resolve(*id).is_ok()), "ids from before stay valid");
}

#[test]
fn a_table_holds_as_many_as_it_has_slots_and_no_more() {
    fill::<1>();
    fill::<64>();
    fill::<8192>();
}
