//! Images written byte by byte from the specification, and the rules over them.
//!
//! Offsets here are literal numbers from the specification's page, never the constants under test.

mod build;
mod code;
mod property;
mod rule;
mod start;

use std::vec::Vec;

use super::*;

/// A valid image of 9,952 bytes: two inputs, an output and a scalar (not recorded), and two children.
pub(super) fn golden() -> Vec<u8> {
    let mut image = std::vec![0; 9952];
    put_i32(&mut image, 0, 1);
    put_i32(&mut image, 4, 1);
    put_i32(&mut image, 8, 2);
    put_i32(&mut image, 12, 0);
    put_i32(&mut image, 1024, 4); // sig_count
    put_i32(&mut image, 1028, 70); // binary_size
    image[1032..1035].copy_from_slice(b"add"); // func_name
    put_i32(&mut image, 1096, 3); // func_name_len
    put_i32(&mut image, 1100, 7); // child_func_ids
    put_i32(&mut image, 1104, -9);
    put_i32(&mut image, 5196, 128); // child_offsets
    put_i32(&mut image, 5200, 384);
    put_i32(&mut image, 9292, 2); // child_count
    image[9296..9299].copy_from_slice(b"cfg"); // config_name
    put_i32(&mut image, 9360, 3); // config_name_len
    image[9376..9446].fill(0x11); // orchestration

    // Child 0 at 9376 + 128: in, out, scalar, ten bytes of code.
    put_i32(&mut image, 9504, 1);
    put_i32(&mut image, 9508, 2);
    put_i32(&mut image, 9512, 0);
    put_i32(&mut image, 9632, 3); // sig_count
    put_i32(&mut image, 9636, 10); // binary_size
    image[9696..9706].fill(0x22);

    // Child 1 at 9376 + 384: inout, no code.
    put_i32(&mut image, 9760, 3);
    put_i32(&mut image, 9888, 1);
    image
}

/// A valid image of 9,376 bytes: no argument, no child, no name, no code.
pub(super) fn least() -> Vec<u8> {
    std::vec![0; 9376]
}

pub(super) fn put_i32(image: &mut [u8], offset: usize, value: i32) {
    image[offset..offset + 4].copy_from_slice(&value.to_le_bytes());
}

#[test]
fn every_field_is_read_from_where_the_specification_puts_it() {
    let bytes = golden();
    let image = CallableImage::parse(&bytes).unwrap();
    assert_eq!(image.signature().map(Direction::name).collect::<Vec<_>>(), ["In", "In", "Out", "Scalar"]);
    assert_eq!(image.counts(), Counts { tensors: 3, scalars: 1 });
    assert_eq!(image.func_name(), b"add");
    assert_eq!(image.config_name(), b"cfg");
    assert_eq!(image.orchestration(), [0x11; 70]);
    let children: Vec<_> = image.children().collect();
    assert_eq!(children.len(), 2);
    assert_eq!(children[0].func_id, 7);
    assert_eq!(children[0].code, [0x22; 10]);
    assert_eq!(children[0].header.offset(), 128);
    assert_eq!(children[0].header.counts(), Counts { tensors: 2, scalars: 1 });
    assert_eq!(children[0].header.direction(&bytes[..], 1), Some(Direction::Out));
    assert_eq!(children[0].header.direction(&bytes[..], 3), None);
    assert_eq!(children[0].header.resolved_address(0x1_0020), Some(0x1_0020 + 9376 + 128 + 192));
    assert_eq!(children[0].header.resolved_address(u64::MAX), None);
    assert_eq!(children[1].func_id, -9);
    assert_eq!(children[1].code, b"");
    assert_eq!(children[1].header.counts(), Counts { tensors: 1, scalars: 0 });
}

#[test]
fn an_image_of_nothing_but_zeroes_is_valid() {
    let bytes = least();
    let image = CallableImage::parse(&bytes).unwrap();
    assert_eq!(image.counts(), Counts::default());
    assert_eq!((image.func_name(), image.config_name(), image.orchestration()), (&b""[..], &b""[..], &b""[..]));
    assert_eq!(image.children().count(), 0);
}

#[test]
fn an_old_image_counts_its_scalars_from_the_signature() {
    // Bytes 9364..9368 were padding when it was written.
    let old = golden();
    assert_eq!(old[9364..9368], [0; 4]);
    let counts = CallableImage::parse(&old).unwrap().counts();
    assert_eq!(counts, Counts { tensors: 3, scalars: 1 }, "the scalar is no fourth tensor");
    // Recording the count changes the bytes and nothing else.
    let mut recorded = old.clone();
    put_i32(&mut recorded, 9364, 1);
    let image = CallableImage::parse(&recorded).unwrap();
    assert_eq!(image.counts(), counts);
    assert_eq!((image.header().stored_scalar_count(), image.hash() == fnv1a_64(&old)), (1, false));
}

#[test]
fn what_no_rule_names_is_ignored_and_is_part_of_the_hash() {
    let golden = golden();
    // Unused signature entry, name tail, unused func id, unused child offset, header pad, gap before child 0, pad of child 0's
    // header, resolved_addr as given, unused child signature entry.
    for offset in [16, 1036, 1108, 5204, 9368, 9375, 9446, 9648, 9640, 9516] {
        let mut image = golden.clone();
        image[offset] = 0xa5;
        let parsed = CallableImage::parse(&image).unwrap_or_else(|refusal| panic!("byte {offset}: {refusal}"));
        assert_ne!(parsed.hash(), fnv1a_64(&golden), "byte {offset}");
        assert_eq!(parsed.counts(), Counts { tensors: 3, scalars: 1 });
    }
}

#[test]
fn two_valid_images_can_share_a_hash() {
    // A published pair of 20-byte strings with the same 64-bit FNV-1a; unused signature entries may hold anything.
    let (mut one, mut other) = (least(), least());
    one[..20].copy_from_slice(b"8yn0iYCKYHlIj4-BwPqk");
    other[..20].copy_from_slice(b"GReLUrM4wMqfg9yzV3KQ");
    let (one, other) = (CallableImage::parse(&one).unwrap(), CallableImage::parse(&other).unwrap());
    assert_eq!(one.hash(), other.hash());
    assert_ne!(one.bytes(), other.bytes());
}

#[test]
fn code_of_an_upload_at_32_beyond_a_multiple_of_64_is_64_aligned() {
    let bytes = golden();
    for child in CallableImage::parse(&bytes).unwrap().children() {
        let address = child.header.resolved_address(0x40_0000 + 32).unwrap();
        assert_eq!(address % 64, 0, "child {}", child.header.index());
    }
}
