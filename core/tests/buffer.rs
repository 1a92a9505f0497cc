//! The rules of buffers, case by case.
//!

#[path = "common/buffer.rs"]
mod buffer;

use std::num::NonZeroU64;

use buffer::{device, identity, named, view};
use tenon_core::buffer::registry::{Succession, check_same_content, succession};
use tenon_core::buffer::validate::{self, reference_from_bytes};
use tenon_core::buffer::{
    Access, Argument, Backing, BlobReader, BlobWriter, BufferGeneration, BufferHandleDescriptor, BufferRef,
    DeviceBinding, Draft, Overlap, RawDescriptor, Reason, Refusal, ShmName, blob_bytes, check_access, check_arguments,
    check_base, device_tensor, overlap,
};
use tenon_core::tensor::check_tensor;
use tenon_core::wire::{AddressSpace, DataType};
use zerocopy::IntoBytes;

fn refused<T: std::fmt::Debug>(result: Result<T, Refusal>) -> &'static str {
    result.unwrap_err().reason.name()
}

fn address() -> NonZeroU64 {
    NonZeroU64::new(0x7f00_0000_1000).unwrap()
}

#[test]
fn the_reasons_of_descriptors_and_references_have_the_names_and_the_order_of_the_specification() {
    let names: Vec<&str> = Reason::ALL.iter().filter(|reason| reason.code() < 30).map(|reason| reason.name()).collect();
    let expected = "bad_magic address_space_out_of_range access_out_of_range backend_kind_out_of_range body_len_out_of_range \
                    generation_zero backend_address_space_mismatch fork_cow_not_read_only address_body_length \
                    address_body_null shm_name_missing shm_name_invalid sidecar_body_not_empty body_tail_not_zero \
                    ndims_out_of_range unknown_dtype byte_offset_misaligned shape_zero stride_zero \
                    inactive_slot_not_zero extent_overflow view_out_of_bounds";
    assert_eq!(names, expected.split_whitespace().collect::<Vec<_>>());
    let codes: Vec<u32> = Reason::ALL.iter().map(|reason| reason.code()).collect();
    assert_eq!(codes[..22], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 20, 21, 22, 23, 24, 25, 26, 27]);
    assert!(codes.is_sorted() && codes.iter().all(|code| *code < 100), "shells have the numbers from 100 on");
}

#[test]
fn a_descriptor_written_by_hand_has_each_field_where_the_specification_has_it() {
    let backing = Backing::PosixShm(ShmName::new("tenon.x").unwrap());
    let mut identity = identity(0x0102_0304_0506_0708);
    identity.generation = BufferGeneration::from_bits(0x0a0b_0c0d).unwrap();
    let descriptor = BufferHandleDescriptor::new(identity, &backing, Access::Write, 0x1112_1314_1516_1718).unwrap();
    let mut expected = vec![0x42, 0x53, 0, 1, 1, 0, 0, 0];
    expected.extend(b"ABCDEFGH");
    expected.extend([8, 7, 6, 5, 4, 3, 2, 1, 0x0d, 0x0c, 0x0b, 0x0a]);
    expected.extend([0; 12]);
    expected.extend([0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21, 7, 0, 0, 0]);
    expected.extend(b"tenon.x");
    expected.extend([0; 25]);
    assert_eq!(descriptor.with_owner_path_id(0x2122_2324).to_raw().as_bytes(), expected);
}

#[test]
fn every_backing_comes_back_from_its_descriptor() {
    let name = ShmName::new("tenon.abcdefghijklmnopqrstuvwxyz").unwrap();
    for (backing, space) in [
        (Backing::ForkShm(address()), AddressSpace::Host),
        (Backing::PosixShm(name), AddressSpace::Host),
        (Backing::VmmWindow(address()), AddressSpace::Device),
        (Backing::RemoteSidecar(AddressSpace::Host), AddressSpace::Host),
        (Backing::RemoteSidecar(AddressSpace::Device), AddressSpace::Device),
        (Backing::DeviceMalloc(address()), AddressSpace::Device),
        (Backing::ForkCow(address()), AddressSpace::Host),
    ] {
        let descriptor = BufferHandleDescriptor::new(identity(1), &backing, Access::Read, 64).unwrap();
        assert_eq!((descriptor.backing(), descriptor.address_space()), (backing, space));
        assert_eq!(validate::descriptor(&descriptor.to_raw()), Ok(descriptor));
    }
    for access in [Access::Write, Access::ReadWrite] {
        let result = BufferHandleDescriptor::new(identity(1), &Backing::ForkCow(address()), access, 64);
        assert_eq!(refused(result), "fork_cow_not_read_only");
    }
}

#[test]
fn bodies_that_would_mislead_a_reader_are_refused_by_their_own_names() {
    let posix = named(64).to_raw();
    let raw_address =
        BufferHandleDescriptor::new(identity(1), &Backing::ForkShm(address()), Access::Read, 64).unwrap().to_raw();
    let with = |mut raw: RawDescriptor, len: u16, body: &[u8]| {
        raw.body_len = len;
        raw.body = [0; 32];
        raw.body[..body.len()].copy_from_slice(body);
        refused(validate::descriptor(&raw))
    };
    assert_eq!(with(raw_address, 3, b"abc"), "address_body_length");
    assert_eq!(with(raw_address, 8, &[0; 8]), "address_body_null");
    assert_eq!(with(raw_address, 8, b"12345678x"), "body_tail_not_zero");
    assert_eq!(with(posix, 0, b""), "shm_name_missing");
    for byte in (0..0x21).chain([b'/', 0x7f, 0x80, 0xff]) {
        for position in [0, 7, 8, 15, 16, 31] {
            let mut name = [b'a'; 32];
            name[position] = byte;
            assert_eq!(with(posix, 32, &name), "shm_name_invalid", "{byte:#x} at {position}");
        }
    }
    for position in 5..32 {
        let mut body = *b"a.b-c\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
        body[position] = b'x';
        assert_eq!(with(posix, 5, &body), "body_tail_not_zero", "{position}");
    }
    assert_eq!(with(posix, 33, &[b'a'; 32]), "body_len_out_of_range");
    assert_eq!(with(posix, 0x0120, &[b'a'; 32]), "body_len_out_of_range");
}

#[test]
fn names_are_checked_as_descriptors_check_them() {
    assert_eq!(ShmName::new("tenon.0").unwrap().as_str(), "tenon.0");
    assert_eq!(ShmName::new(&"x".repeat(32)).unwrap().as_str().len(), 32);
    assert_eq!(refused(ShmName::new("")), "shm_name_missing");
    assert_eq!(refused(ShmName::new(&"x".repeat(33))), "body_len_out_of_range");
    for name in ["a/b", "a b", "a\0", "ä"] {
        assert_eq!(refused(ShmName::new(name)), "shm_name_invalid", "{name:?}");
    }
}

#[test]
fn a_view_whose_product_wraps_is_refused_whatever_its_backing_claims() {
    let draft =
        Draft { byte_offset: 0, shape: &[2_147_483_649], strides: Some(&[2_147_483_648]), dtype: DataType::F32 };
    assert_eq!(refused(BufferRef::new(&named(4), &draft)), "extent_overflow");
    assert_eq!(refused(BufferRef::new(&named(u64::MAX), &draft)), "extent_overflow");
    // Each axis fits 64 bits, their sum does not; and a product that is a multiple of 2⁶⁴.
    let most = u32::MAX;
    let sum = Draft { byte_offset: 0, shape: &[most, most], strides: Some(&[most, most]), dtype: DataType::U8 };
    assert_eq!(refused(BufferRef::new(&named(u64::MAX), &sum)), "extent_overflow");
    let wraps =
        Draft { byte_offset: 0, shape: &[1 << 31, 1 << 31], strides: Some(&[1 << 31, 1]), dtype: DataType::U32 };
    assert_eq!(refused(BufferRef::new(&named(4), &wraps)), "extent_overflow");
}

#[test]
fn an_extent_of_exactly_64_bits_cannot_be_told_from_a_saturated_one() {
    // (2³²−2)(2³²−1) + 3(2³²−2) + 2 is 2⁶⁴−2, the last element of an extent of 2⁶⁴−1.
    let draft = |rest| {
        let strides = [u32::MAX, u32::MAX - 1, rest];
        let draft = Draft { byte_offset: 0, shape: &[u32::MAX, 4, 2], strides: Some(&strides), dtype: DataType::U8 };
        BufferRef::new(&named(u64::MAX), &draft)
    };
    assert_eq!(refused(draft(2)), "extent_overflow");
    assert_eq!(draft(1).unwrap().extent_bytes(), u64::MAX - 1);
}

#[test]
fn the_byte_offset_counts_everywhere() {
    let descriptor = named(64);
    let draft = |byte_offset| Draft { byte_offset, shape: &[4], strides: None, dtype: DataType::F32 };
    assert_eq!(BufferRef::new(&descriptor, &draft(48)).unwrap().extent_bytes(), 16);
    assert_eq!(refused(BufferRef::new(&descriptor, &draft(52))), "view_out_of_bounds");
    assert_eq!(refused(BufferRef::new(&descriptor, &draft(68))), "view_out_of_bounds");
    assert_eq!(refused(BufferRef::new(&descriptor, &draft(50))), "byte_offset_misaligned");
    assert_eq!(refused(BufferRef::new(&descriptor, &draft(u64::MAX - 3))), "view_out_of_bounds");
    // One byte more than the padding of 16 would leave.
    assert_eq!(refused(BufferRef::new(&named(u64::MAX - 15), &draft(u64::MAX - 15))), "view_out_of_bounds");
}

#[test]
fn row_major_strides_are_made_where_they_fit() {
    let draft = |shape| Draft { byte_offset: 0, shape, strides: None, dtype: DataType::U8 };
    let huge = named(u64::MAX);
    assert_eq!(BufferRef::new(&huge, &draft(&[2, 3, 4])).unwrap().strides(), [12, 4, 1]);
    assert_eq!(refused(BufferRef::new(&huge, &draft(&[2, 1 << 16, 1 << 16]))), "stride_overflow");
    assert_eq!(BufferRef::new(&huge, &draft(&[1, 1 << 16, 1 << 16])).unwrap().strides(), [1, 1 << 16, 1]);
    assert_eq!(refused(BufferRef::new(&huge, &draft(&[1, 2, 0]))), "shape_zero");
    assert_eq!(refused(BufferRef::new(&huge, &draft(&[]))), "ndims_out_of_range");
    assert_eq!(refused(BufferRef::new(&huge, &draft(&[1; 6]))), "ndims_out_of_range");
    let other_rank = Draft { strides: Some(&[1]), ..draft(&[2, 3]) };
    assert_eq!(refused(BufferRef::new(&huge, &other_rank)), "ndims_out_of_range");
}

#[test]
fn two_identities_meet_only_where_their_bodies_lead_to_the_same_bytes() {
    let wrap = |id, base: u64| {
        let backing = Backing::ForkShm(NonZeroU64::new(base).unwrap());
        let descriptor = BufferHandleDescriptor::new(identity(id), &backing, Access::ReadWrite, 4096).unwrap();
        view(&descriptor, DataType::U8, 1024, &[1024], None)
    };
    assert_eq!(overlap(&wrap(1, 0x10000), &wrap(2, 0x10000)), Overlap::Partial);
    assert_eq!(overlap(&wrap(1, 0x10000), &wrap(2, 0x103ff)), Overlap::Partial);
    assert_eq!(overlap(&wrap(1, 0x10000), &wrap(2, 0x10400)), Overlap::None);
    let on_device = view(&device(0x10000, 4096), DataType::U8, 1024, &[1024], None);
    assert_eq!(overlap(&wrap(1, 0x10000), &on_device), Overlap::None);
    let object = view(&named(4096), DataType::U8, 0, &[16], None);
    assert_eq!(overlap(&wrap(1, 0x10000), &object), Overlap::None);
    assert_eq!(overlap(&object, &object), Overlap::Covered);
    let twice = BufferHandleDescriptor::new(identity(3), &named(4096).backing(), Access::Read, 4096).unwrap();
    assert_eq!(overlap(&object, &view(&twice, DataType::U8, 15, &[16], None)), Overlap::Partial);
    assert_eq!(overlap(&object, &view(&twice, DataType::U8, 16, &[16], None)), Overlap::None);
}

#[test]
fn a_box_that_goes_on_in_the_next_row_is_no_box_of_the_array() {
    let descriptor = named(100);
    let wrapping = view(&descriptor, DataType::U8, 5, &[2, 8], Some(&[10, 1]));
    let next_row = view(&descriptor, DataType::U8, 10, &[1, 3], Some(&[10, 1]));
    assert!(!buffer::touched(&wrapping).is_disjoint(&buffer::touched(&next_row)));
    assert_eq!(overlap(&wrapping, &next_row), Overlap::Partial);
    assert_eq!(overlap(&next_row, &wrapping), Overlap::Partial);
}

#[test]
fn a_backing_that_no_memory_has_is_not_modelled() {
    let largest = |nbytes| view(&named(nbytes), DataType::U8, 0, &[2, 1], Some(&[4, 1]));
    let other = |nbytes| view(&named(nbytes), DataType::U8, 1, &[2, 1], Some(&[4, 1]));
    assert_eq!(overlap(&largest((1 << 63) - 4), &other((1 << 63) - 4)), Overlap::None);
    assert_eq!(overlap(&largest(1 << 63), &other(1 << 63)), Overlap::Partial);
    assert_eq!(overlap(&largest(1 << 33), &other(1 << 33)), Overlap::None);
}

#[test]
fn a_blob_comes_back_as_it_was_written_at_any_alignment() {
    let references: Vec<BufferRef> =
        (0..5).map(|index| view(&named(4096), DataType::I16, index * 2, &[3, 4], Some(&[7, 1]))).collect();
    let len = blob_bytes(5, 3).unwrap();
    assert_eq!(len, 8 + 5 * 144 + 3 * 8);
    for shift in 0..8 {
        let mut region = vec![0xa5; shift + len + 5];
        let mut writer = BlobWriter::new(&mut region[shift..], 5, 3).unwrap();
        for (index, reference) in references.iter().enumerate() {
            writer.set_reference(index, reference).unwrap();
        }
        for (index, scalar) in [1, u64::MAX, 3].into_iter().enumerate() {
            writer.set_scalar(index, scalar).unwrap();
        }
        assert_eq!(refused(writer.set_reference(5, &references[0])), "index_out_of_range");
        assert_eq!(refused(writer.set_scalar(3, 0)), "index_out_of_range");
        assert_eq!(region[shift + len..], [0xa5; 5]);
        let reader = BlobReader::new(&region[shift..]).unwrap();
        assert_eq!(reader.references().collect::<Result<Vec<_>, _>>().unwrap(), references);
        assert_eq!(reader.scalars().collect::<Vec<_>>(), [1, u64::MAX, 3]);
        assert_eq!(reader.reference(4), Ok(references[4]));
        assert_eq!(refused(reader.reference(5)), "index_out_of_range");
        assert_eq!((reader.scalar(2), refused(reader.scalar(3))), (Ok(3), "index_out_of_range"));
    }
}

#[test]
fn counts_that_do_not_fit_the_region_are_refused() {
    let region = |tensors: i32, scalars: i32, len: usize| {
        let mut bytes = vec![0; len];
        bytes[..4].copy_from_slice(&tensors.to_le_bytes());
        bytes[4..8].copy_from_slice(&scalars.to_le_bytes());
        BlobReader::new(&bytes)
            .map(|reader| (reader.tensor_count(), reader.scalar_count()))
            .map_err(|refusal| refusal.reason.name())
    };
    assert_eq!(region(1, 1, 160), Ok((1, 1)));
    assert_eq!(region(1, 1, 159), Err("blob_too_large"));
    assert_eq!(region(0, 0, 8), Ok((0, 0)));
    assert_eq!(region(-1, 0, 160), Err("tensor_count_negative"));
    assert_eq!(region(0, -1, 160), Err("scalar_count_negative"));
    assert_eq!(region(i32::MAX, i32::MAX, 160), Err("blob_too_large"));
    // 144 tensors are not 144 bytes.
    assert_eq!(region(144, 0, 152), Err("blob_too_large"));
    for len in 0..8 {
        assert_eq!(refused(BlobReader::new(&vec![0; len])), "truncated");
    }
    assert_eq!(refused(BlobWriter::new(&mut [0; 151], 1, 0)), "blob_too_large");
    assert_eq!(refused(BlobWriter::new(&mut [0; 151], usize::MAX, 0)), "blob_too_large");
    assert_eq!(blob_bytes(1 << 31, 0), None);
}

#[test]
fn a_reference_that_was_never_written_or_was_damaged_is_refused_when_it_is_handed_out() {
    let mut region = vec![0; blob_bytes(2, 0).unwrap()];
    let mut writer = BlobWriter::new(&mut region, 2, 0).unwrap();
    writer.set_reference(0, &view(&named(64), DataType::U8, 0, &[64], None)).unwrap();
    assert_eq!(refused(BlobReader::new(&region).unwrap().reference(1)), "bad_magic");
    region[8 + 96] = 6;
    assert_eq!(refused(BlobReader::new(&region).unwrap().reference(0)), "ndims_out_of_range");
}

#[test]
fn a_tag_may_ask_for_what_was_granted_and_no_more() {
    use Access::{Read, ReadWrite, Write};
    for (granted, wanted, is_right) in [
        (Read, Read, true),
        (Read, Write, false),
        (Read, ReadWrite, false),
        (Write, Read, false),
        (Write, Write, true),
        (Write, ReadWrite, false),
        (ReadWrite, Read, true),
        (ReadWrite, Write, true),
        (ReadWrite, ReadWrite, true),
    ] {
        let backing = Backing::ForkShm(address());
        let descriptor = BufferHandleDescriptor::new(identity(1), &backing, granted, 64).unwrap();
        let result = check_access(&descriptor, wanted);
        assert_eq!(result.is_ok(), is_right, "{granted:?} {wanted:?}");
        if !is_right {
            assert_eq!(refused(result), "access_exceeds_grant");
        }
    }
}

#[test]
fn two_arguments_may_write_one_backing_only_apart() {
    let argument = |byte_offset, access| {
        let reference = view(&named(64), DataType::U8, byte_offset, &[16], None);
        Argument { reference, access }
    };
    let apart = [argument(0, Access::Write), argument(16, Access::ReadWrite), argument(0, Access::Read)];
    assert_eq!(check_arguments(&apart), Ok(()));
    let meeting = [
        argument(0, Access::Read),
        argument(8, Access::Write),
        argument(0, Access::Read),
        argument(23, Access::ReadWrite),
    ];
    let refusal = check_arguments(&meeting).unwrap_err();
    assert_eq!((refusal.reason, refusal.index, refusal.found), (Reason::WritesOverlap, Some(3), 1));
    let backing = Backing::ForkCow(address());
    let descriptor = BufferHandleDescriptor::new(identity(1), &backing, Access::Read, 64).unwrap();
    let reader = Argument { reference: view(&descriptor, DataType::U8, 0, &[1], None), access: Access::Write };
    let refusal = check_arguments(&[apart[0], reader]).unwrap_err();
    assert_eq!((refusal.reason, refusal.index), (Reason::AccessExceedsGrant, Some(1)));
}

#[test]
fn a_device_reference_becomes_a_tensor_that_a_launch_takes() {
    let base = NonZeroU64::new(0x5500_0000_0000).unwrap();
    let binding = DeviceBinding { device_id: 3, base };
    let descriptor = device(0x1234_0000, 4096);
    for (shape, strides, is_contiguous) in
        [(&[4, 6][..], &[6, 1][..], 1), (&[4, 6], &[100, 1], 0), (&[1, 6], &[99, 1], 1), (&[6], &[2], 0)]
    {
        let reference = view(&descriptor, DataType::F32, 64, shape, Some(strides));
        let tensor = device_tensor(&reference, Some(&binding), 3).unwrap();
        assert_eq!(check_tensor(&tensor), Ok(()));
        assert_eq!((tensor.addr, tensor.size, tensor.start_offset), (base.get(), 4096, 16));
        assert_eq!(tensor.extent_elem * 4, reference.extent_bytes());
        assert_eq!((tensor.is_contiguous, tensor.ndims as usize), (is_contiguous, shape.len()));
        assert_eq!((&tensor.shapes[..shape.len()], &tensor.strides[..shape.len()]), (shape, strides));
    }
}

#[test]
fn what_has_no_address_on_the_device_becomes_no_tensor() {
    let binding = DeviceBinding { device_id: 0, base: address() };
    let of = |backing: Backing| {
        let descriptor = BufferHandleDescriptor::new(identity(1), &backing, Access::Read, 64).unwrap();
        view(&descriptor, DataType::U8, 0, &[64], None)
    };
    let object = Backing::PosixShm(ShmName::new("tenon.x").unwrap());
    for backing in [Backing::ForkShm(address()), object, Backing::ForkCow(address())] {
        assert_eq!(refused(device_tensor(&of(backing), Some(&binding), 0)), "host_reference_in_launch");
    }
    for space in [AddressSpace::Host, AddressSpace::Device] {
        let sidecar = of(Backing::RemoteSidecar(space));
        assert_eq!(refused(device_tensor(&sidecar, Some(&binding), 0)), "sidecar_not_materialised");
    }
    for backing in [Backing::VmmWindow(address()), Backing::DeviceMalloc(address())] {
        assert_eq!(refused(device_tensor(&of(backing), None, 0)), "identity_not_bound");
        assert_eq!(refused(device_tensor(&of(backing), Some(&binding), 1)), "device_mismatch");
        let high = DeviceBinding { device_id: 0, base: NonZeroU64::new(u64::MAX - 63).unwrap() };
        assert_eq!(refused(device_tensor(&of(backing), Some(&high), 0)), "address_wraps");
        let last = DeviceBinding { device_id: 0, base: NonZeroU64::new(u64::MAX - 64).unwrap() };
        assert!(device_tensor(&of(backing), Some(&last), 0).is_ok());
    }
    assert_eq!(refused(check_base(address(), u64::MAX)), "address_wraps");
}

#[test]
fn another_content_under_the_same_identity_is_a_conflict_at_its_field() {
    let known = named(64);
    assert_eq!(check_same_content(&known, &known.with_owner_path_id(9)), Ok(()));
    let offered = |backing, access, nbytes| BufferHandleDescriptor::new(identity(1), &backing, access, nbytes).unwrap();
    let name = known.backing();
    let other_name = Backing::PosixShm(ShmName::new("tenon.abcdefghijklmnopqrstuvwxy0").unwrap());
    for (other, offset) in [
        (offered(Backing::RemoteSidecar(AddressSpace::Device), Access::ReadWrite, 64), 2),
        (offered(name, Access::Read, 64), 3),
        (offered(Backing::ForkShm(address()), Access::ReadWrite, 64), 4),
        (offered(name, Access::ReadWrite, 65), 40),
        (offered(Backing::PosixShm(ShmName::new("tenon.a").unwrap()), Access::ReadWrite, 64), 52),
        (offered(other_name, Access::ReadWrite, 64), 56 + 31),
    ] {
        let refusal = check_same_content(&known, &other).unwrap_err();
        assert_eq!((refusal.reason, refusal.index), (Reason::IdentityConflict, Some(offset)));
    }
}

#[test]
fn a_later_generation_supersedes_and_an_earlier_one_is_stale() {
    let generation = |bits| {
        let mut identity = identity(1);
        identity.generation = BufferGeneration::from_bits(bits).unwrap();
        identity
    };
    assert_eq!(succession(&generation(2), &generation(2)), Ok(Succession::Same));
    assert_eq!(succession(&generation(2), &generation(3)), Ok(Succession::Supersedes));
    assert_eq!(refused(succession(&generation(2), &generation(1))), "generation_stale");
    assert_eq!(succession(&generation(2), &identity(2)), Ok(Succession::Unrelated));
    let mut other_owner = generation(1);
    other_owner.owner_instance_id[7] ^= 1;
    assert_eq!(succession(&generation(2), &other_owner), Ok(Succession::Unrelated));
}

#[test]
fn a_refusal_says_what_was_found_and_where() {
    let draft = Draft { byte_offset: 0, shape: &[2, 0], strides: Some(&[1, 1]), dtype: DataType::U8 };
    let refusal = BufferRef::new(&named(64), &draft).unwrap_err();
    assert_eq!(refusal.to_string(), "shape_zero: found 0 at 1");
    let refusal = reference_from_bytes(&[0; 144]).unwrap_err();
    assert_eq!(refusal.to_string(), "bad_magic: found 0, limit 21314");
}
