//! Starting a child: what fits and what does not.
//!

use std::vec::Vec;

use super::*;
use crate::callable::start::{ChildStart, StartRefusal, check_start};
use Direction::{In, Inout, Out, Scalar};

/// An orchestration over (in, out, inout, scalar) with one child for each direction and one of everything.
fn image() -> Vec<u8> {
    let child = |signature| ChildSpec { func_id: 0, signature, code: &[] };
    let spec = CallableSpec {
        signature: &[In, Out, Inout, Scalar],
        children: &[child(&[In]), child(&[Out]), child(&[Inout]), child(&[In, Inout, Scalar, Scalar])],
        ..CallableSpec::default()
    };
    let mut image = std::vec![0; usize::try_from(spec.image_bytes().unwrap()).unwrap()];
    spec.write(&mut image).unwrap();
    image
}

fn start(index: u32, tensors: &[u32], scalar_count: u32, blocks: u32) -> Result<(), StartRefusal> {
    let image = image();
    let header = Header::check_alone(&image[..]).unwrap();
    check_start(&image[..], &header, &ChildStart { index, tensors, scalar_count, blocks })
}

#[test]
fn a_child_that_fits_is_started() {
    assert_eq!(start(3, &[0, 2], 2, 1), Ok(()));
    assert_eq!(start(3, &[1, 1], 2, u32::MAX), Ok(()), "one tensor in two places, blocks in waves");
}

#[test]
fn an_input_of_the_orchestration_is_never_written() {
    for (tensor, own) in [(0, In), (1, Out), (2, Inout)] {
        for (child, place) in [(0, In), (1, Out), (2, Inout)] {
            let expected = if own == In && place.is_written() {
                Err(StartRefusal::WouldWriteInput { place: 0, index: 0 })
            } else {
                Ok(())
            };
            assert_eq!(start(child, &[tensor], 0, 1), expected, "{own:?} as {place:?}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_by_its_reason() {
    assert_eq!(start(4, &[0, 1], 2, 1), Err(StartRefusal::NoSuchChild { children: 4 }));
    assert_eq!(start(u32::MAX, &[], 0, 1), Err(StartRefusal::NoSuchChild { children: 4 }));
    assert_eq!(start(0, &[0], 0, 0), Err(StartRefusal::NoBlocks));
    assert_eq!(start(0, &[0], 17, 1), Err(StartRefusal::TooManyScalars));
    let mismatch = Err(StartRefusal::CountMismatch { tensors: 2, scalars: 2 });
    assert_eq!(start(3, &[0], 2, 1), mismatch);
    assert_eq!(start(3, &[0, 1, 2], 2, 1), mismatch);
    assert_eq!(start(3, &[0, 1], 1, 1), mismatch);
    assert_eq!(start(3, &[0, 1], 3, 1), mismatch);
    // 3 is the orchestration's scalar: no tensor.
    for index in [3, 4, u32::MAX] {
        assert_eq!(start(3, &[0, index], 2, 1), Err(StartRefusal::NoSuchTensor { place: 1, index }));
    }
}

#[test]
fn a_child_whose_header_was_overwritten_is_not_started() {
    let mut image = image();
    let header = Header::check_alone(&image[..]).unwrap();
    let wanted = ChildStart { index: 0, tensors: &[0], scalar_count: 0, blocks: 1 };
    assert_eq!(check_start(&image[..], &header, &wanted), Ok(()));
    put_i32(&mut image, 9376 + 128, 33);
    assert_eq!(check_start(&image[..], &header, &wanted), Err(StartRefusal::BadChild));
    put_i32(&mut image, 9376 + 128, 1);
    put_i32(&mut image, 9376, 5);
    assert_eq!(check_start(&image[..], &header, &wanted), Err(StartRefusal::BadChild));
    put_i32(&mut image, 5196, i32::MAX);
    assert_eq!(check_start(&image[..], &header, &wanted), Err(StartRefusal::BadChild));
}
