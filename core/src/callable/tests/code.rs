//! What code says about itself, and which device takes it.
//!

use std::vec::Vec;

use super::*;
use crate::callable::code::{CodeKind, MACHINE_AARCH64, MACHINE_RISCV, MACHINE_X86_64, UnsupportedCode, check_code};

/// The first twenty bytes of a shared object.
fn elf(class: u8, order: u8, machine: u16) -> Vec<u8> {
    let mut head = std::vec![0x7f, b'E', b'L', b'F', class, order, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3, 0];
    head.extend(machine.to_le_bytes());
    head
}

fn image_of(orchestration: &[u8], children: &[&[u8]]) -> Vec<u8> {
    let children: Vec<ChildSpec<'_>> = children.iter().map(|code| ChildSpec { code, ..ChildSpec::default() }).collect();
    let spec = CallableSpec { orchestration, children: &children, ..CallableSpec::default() };
    let mut image = std::vec![0; usize::try_from(spec.image_bytes().unwrap()).unwrap()];
    spec.write(&mut image).unwrap();
    image
}

#[test]
fn the_first_bytes_tell_what_code_is() {
    assert_eq!(CodeKind::of(&elf(2, 1, 62)), Some(CodeKind::Elf(MACHINE_X86_64)));
    assert_eq!(CodeKind::of(&elf(2, 1, 183)), Some(CodeKind::Elf(MACHINE_AARCH64)));
    assert_eq!(CodeKind::of(&elf(2, 1, 243)), Some(CodeKind::Elf(MACHINE_RISCV)));
    assert_eq!(CodeKind::of(&elf(1, 1, 40)), Some(CodeKind::OtherElf), "32-bit");
    assert_eq!(CodeKind::of(&elf(2, 2, 62)), Some(CodeKind::OtherElf), "big-endian");
    assert_eq!(CodeKind::of(&[0x7f, b'E', b'L', b'G']), Some(CodeKind::Raw));
    assert_eq!(CodeKind::of(&[0, 0, 0, 0]), Some(CodeKind::Raw));
}

#[test]
fn code_that_is_too_short_to_tell_is_of_no_kind() {
    for length in 0..4 {
        assert_eq!(CodeKind::of(&elf(2, 1, 62)[..length]), None, "{length}");
        assert_eq!(CodeKind::of(&[0; 4][..length]), None, "{length}");
    }
    for length in 4..20 {
        assert_eq!(CodeKind::of(&elf(2, 1, 62)[..length]), None, "{length}: ELF, of which machine?");
        assert_eq!(CodeKind::of(&elf(1, 1, 62)[..length]), None, "{length}");
    }
}

#[test]
fn a_device_takes_its_own_machine_or_raw_code_and_nothing_else() {
    let kinds = [CodeKind::Elf(62), CodeKind::Elf(183), CodeKind::Raw];
    for found in kinds {
        for wanted in kinds {
            assert_eq!(found.runs_as(wanted), found == wanted, "{found:?} on {wanted:?}");
        }
        assert!(!CodeKind::OtherElf.runs_as(found));
    }
    assert!(!CodeKind::OtherElf.runs_as(CodeKind::OtherElf), "no device takes it");
}

#[test]
fn code_of_the_orchestration_and_of_every_child_is_looked_at() {
    let (own, other, raw) = (elf(2, 1, 62), elf(2, 1, 183), [0x90; 4]);
    let wanted = CodeKind::Elf(62);
    let unsupported = |child, found| Err(UnsupportedCode { child, found });
    assert_eq!(check_code(&image_of(&own, &[&own, &own])[..], wanted), Ok(()));
    assert_eq!(check_code(&image_of(&raw, &[&raw])[..], CodeKind::Raw), Ok(()));
    assert_eq!(check_code(&image_of(&other, &[&raw])[..], wanted), unsupported(None, Some(CodeKind::Elf(183))));
    assert_eq!(check_code(&image_of(&own, &[&own, &raw])[..], wanted), unsupported(Some(1), Some(CodeKind::Raw)));
    assert_eq!(check_code(&image_of(&own, &[&own])[..], CodeKind::Raw), unsupported(None, Some(wanted)));
    assert_eq!(check_code(&image_of(&own, &[&[]])[..], wanted), unsupported(Some(0), None));
    assert_eq!(check_code(&image_of(&own[..19], &[])[..], wanted), unsupported(None, None));
    assert_eq!(check_code(&image_of(&own, &[&own[..19], &own])[..], wanted), unsupported(Some(0), None));
}

#[test]
fn code_that_the_header_places_outside_the_image_is_too_short_to_tell() {
    let own = elf(2, 1, 62);
    let wanted = CodeKind::Elf(62);
    let good = image_of(&own, &[&own]);
    for offset in [-1, 64 + 192, i32::MAX, 1 << 20] {
        let mut image = good.clone();
        put_i32(&mut image, 5196, offset);
        let refused = check_code(&image[..], wanted).unwrap_err();
        assert_eq!((refused.child, refused.found), (Some(0), None), "{offset}");
    }
    // Counts that cannot be are left to the header's rules.
    for count in [-1, 1025, i32::MIN] {
        let mut image = good.clone();
        put_i32(&mut image, 9292, count);
        assert_eq!(check_code(&image[..], wanted), Ok(()), "{count}");
    }
    assert_eq!(check_code(&good[..9375], wanted), Err(UnsupportedCode { child: None, found: None }));
}

#[test]
fn this_build_names_the_machine_it_runs_on() {
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(CodeKind::of(&own), Some(CodeKind::of_this_build()));
}
