//! No bytes make a reader panic, and what the builder writes every reader accepts.
//!

use std::vec::Vec;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::callable::code::{CodeKind, check_code};
use crate::callable::start::{ChildStart, check_start};

/// Asks every reader everything.
fn read_everything(image: &[u8]) -> bool {
    let _ = check_code(image, CodeKind::of_this_build());
    let alone = Header::check_alone(image);
    if let Ok(header) = &alone {
        for index in 0..4 {
            let _ = check_start(image, header, &ChildStart { index, tensors: &[0], scalar_count: 0, blocks: 1 });
        }
    }
    let Ok(parsed) = CallableImage::parse(image) else { return false };
    assert!(alone.is_ok(), "the header alone refuses no valid image");
    let entries = parsed.counts().tensors + parsed.counts().scalars;
    assert_eq!(parsed.signature().count(), entries as usize);
    assert_eq!(parsed.children().count(), parsed.header().child_count() as usize);
    for child in parsed.children() {
        assert_eq!(child.code.len(), child.header.code_bytes() as usize);
    }
    assert_eq!(parsed.func_name().len(), parsed.header().func_name_bytes() as usize);
    assert_eq!(parsed.orchestration().len(), parsed.header().orchestration_bytes() as usize);
    true
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::In), Just(Direction::Out), Just(Direction::Inout)]
}

fn signature(tensors: usize, scalars: usize) -> impl Strategy<Value = Vec<Direction>> {
    (vec(direction(), 0..=tensors), 0..=scalars).prop_map(|(mut signature, scalars)| {
        signature.resize(signature.len() + scalars, Direction::Scalar);
        signature
    })
}

fn name() -> impl Strategy<Value = Vec<u8>> {
    vec(1..=u8::MAX, 0..64)
}

/// The same cases in every run.
fn seeded(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(2026), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(seeded(256))]

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..12_000)) {
        read_everything(&bytes);
    }

    #[test]
    fn no_change_of_a_valid_image_makes_a_reader_panic(
        changes in vec((0_usize..9952, any::<u8>()), 1..8),
        length in 9300_usize..=9952,
    ) {
        let mut image = golden();
        for (offset, value) in changes {
            image[offset] = value;
        }
        read_everything(&image);
        read_everything(&image[..length]);
    }

    #[test]
    fn what_the_builder_writes_every_reader_accepts(
        func_name in name(),
        config_name in name(),
        entries in signature(128, 128),
        is_recorded in any::<bool>(),
        orchestration in vec(any::<u8>(), 0..300),
        children in vec((any::<i32>(), signature(16, 16), vec(any::<u8>(), 0..200)), 0..6),
    ) {
        let scalars = entries.iter().filter(|entry| **entry == Direction::Scalar).count();
        let specs: Vec<ChildSpec<'_>> = children
            .iter()
            .map(|(func_id, signature, code)| ChildSpec { func_id: *func_id, signature, code })
            .collect();
        let spec = CallableSpec {
            func_name: &func_name,
            config_name: &config_name,
            signature: &entries,
            scalar_count: if is_recorded { i32::try_from(scalars).unwrap() } else { 0 },
            orchestration: &orchestration,
            children: &specs,
        };
        let mut out = std::vec![0xa5; usize::try_from(spec.image_bytes().unwrap()).unwrap()];
        let image = spec.write(&mut out).unwrap();
        prop_assert!(read_everything(image.bytes()));
        prop_assert_eq!(image.func_name(), &func_name[..]);
        prop_assert_eq!(image.config_name(), &config_name[..]);
        prop_assert_eq!(image.signature().collect::<Vec<_>>(), entries);
        prop_assert_eq!(image.counts().scalars as usize, scalars);
        prop_assert_eq!(image.orchestration(), &orchestration[..]);
        for (found, (func_id, signature, code)) in image.children().zip(&children) {
            prop_assert_eq!(found.func_id, *func_id);
            prop_assert_eq!(found.code, &code[..]);
            let directions = (0..).map_while(|index| found.header.direction(image.bytes(), index));
            prop_assert_eq!(&directions.collect::<Vec<_>>(), signature);
        }
    }
}

#[test]
fn no_single_byte_of_a_header_makes_a_reader_panic() {
    // Those that a rule looks at, and a few that none does; the tables of children only where they are used and just after.
    let offsets = (0..24).chain(1024..1104).chain(5196..5208).chain(9292..9376).chain(9504..9520).chain(9632..9650);
    for offset in offsets {
        let mut image = golden();
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            image[offset] = value;
            read_everything(&image);
        }
    }
}
