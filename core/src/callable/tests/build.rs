//! What the builder writes, and what it refuses.
//!

use std::vec::Vec;

use super::*;
use Direction::{In, Inout, Out, Scalar};

fn golden_spec<'a>(children: &'a [ChildSpec<'a>]) -> CallableSpec<'a> {
    CallableSpec {
        func_name: b"add",
        config_name: b"cfg",
        signature: &[In, In, Out, Scalar],
        scalar_count: 0,
        orchestration: &[0x11; 70],
        children,
    }
}

const CHILDREN: [ChildSpec<'_>; 2] = [
    ChildSpec { func_id: 7, signature: &[In, Out, Scalar], code: &[0x22; 10] },
    ChildSpec { func_id: -9, signature: &[Inout], code: &[] },
];

fn refusal(spec: &CallableSpec<'_>) -> Refusal {
    let refusal = spec.image_bytes().unwrap_err();
    let mut out = std::vec![0xa5; 1 << 16];
    assert_eq!(spec.write(&mut out).unwrap_err(), refusal);
    assert!(out.iter().all(|byte| *byte == 0xa5), "a refused description writes nothing");
    refusal
}

#[test]
fn the_builder_writes_the_golden_image_over_whatever_was_there() {
    let spec = golden_spec(&CHILDREN);
    assert_eq!(spec.image_bytes(), Ok(9952));
    let mut out = std::vec![0xa5; 10_000];
    assert_eq!(spec.write(&mut out).unwrap().bytes(), golden());
    assert_eq!(out[9952..], [0xa5; 48], "what is beyond the image is not its");
}

#[test]
fn a_description_of_nothing_is_an_image_of_zeroes() {
    let mut out = std::vec![0xa5; 9376];
    assert_eq!(CallableSpec::default().write(&mut out).unwrap().bytes(), least());
}

#[test]
fn a_buffer_that_is_too_small_is_refused_unwritten() {
    let mut out = std::vec![0xa5; 9951];
    let refusal = golden_spec(&CHILDREN).write(&mut out).unwrap_err();
    assert_eq!((refusal.field, refusal.found, refusal.expected), (Field::Size, 9951, Expected::AtLeast(9952)));
    assert_eq!(out, [0xa5; 9951]);
}

#[test]
fn a_stored_scalar_count_is_written_as_given_and_never_disagrees() {
    let mut out = std::vec![0; 9952];
    let spec = CallableSpec { scalar_count: 1, ..golden_spec(&CHILDREN) };
    assert_eq!(spec.write(&mut out).unwrap().header().stored_scalar_count(), 1);
    assert_eq!(out[9364..9368], [1, 0, 0, 0]);
    for disagreeing in [2, -1, i32::MIN] {
        let refused = refusal(&CallableSpec { scalar_count: disagreeing, ..golden_spec(&CHILDREN) });
        assert_eq!((refused.field, refused.expected), (Field::ScalarCount, Expected::ZeroOr(1)));
    }
}

#[test]
fn each_limit_refuses_by_its_field() {
    let good = golden_spec(&CHILDREN);
    let many: Vec<ChildSpec<'_>> = (0..1025).map(|_| ChildSpec::default()).collect();
    let cases = [
        (CallableSpec { signature: &[In; 257], ..good }, Field::SigCount),
        (CallableSpec { signature: &[Scalar, In], ..good }, Field::Signature),
        (CallableSpec { signature: &[Scalar; 129], ..good }, Field::ScalarCount),
        (CallableSpec { children: &many, ..good }, Field::ChildCount),
        (CallableSpec { func_name: &[b'n'; 64], ..good }, Field::FuncNameLen),
        (CallableSpec { config_name: &[b'n'; 64], ..good }, Field::ConfigNameLen),
        (CallableSpec { func_name: b"a\0b", ..good }, Field::FuncName),
        (CallableSpec { config_name: b"\0", ..good }, Field::ConfigName),
    ];
    for (spec, field) in cases {
        let refused = refusal(&spec);
        assert_eq!((refused.field, refused.child), (field, None));
    }
    let children: [(&[Direction], Field); 3] = [
        (&[In; 33], Field::ChildSigCount),
        (&[Scalar, Out], Field::ChildSignature),
        (&[Scalar; 17], Field::ChildSignature),
    ];
    for (signature, field) in children {
        let refused = refusal(&golden_spec(&[CHILDREN[0], ChildSpec { signature, ..CHILDREN[1] }]));
        assert_eq!((refused.field, refused.child), (field, Some(1)));
    }
}
