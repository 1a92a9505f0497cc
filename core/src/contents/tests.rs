//! Counts, their agreement with the callable, and which tensors are looked at.
//!

use std::boxed::Box;
use std::string::{String, ToString};

use super::*;

fn tensor() -> Tensor {
    Tensor {
        addr: 0x5400_0000_0000,
        size: 4,
        ndims: 1,
        is_contiguous: 1,
        address_space: 1,
        shapes: [1, 0, 0, 0, 0],
        extent_elem: 1,
        strides: [1, 0, 0, 0, 0],
        ..Tensor::default()
    }
}

/// Every tensor is good and every scalar is its index, whatever the counts say.
fn args(tensor_count: i32, scalar_count: i32) -> Box<StorageTaskArgs> {
    Box::new(StorageTaskArgs {
        tensors: [tensor(); MAX_TENSORS],
        scalars: core::array::from_fn(|index| index as u64),
        tensor_count,
        scalar_count,
        pad: [0; 56],
    })
}

fn message(args: &StorageTaskArgs) -> String {
    LaunchArguments::check(args).map_or_else(|refusal| refusal.to_string(), |_| "ok".to_string())
}

#[test]
fn only_what_the_counts_name_is_read() {
    let mut args = args(2, 3);
    args.tensors[2] = Tensor::default();
    let used = LaunchArguments::check(&args).unwrap();
    assert_eq!((used.tensors, used.scalars), (&[tensor(); 2][..], &[0, 1, 2][..]));
    args.tensor_count = 3;
    assert_eq!(message(&args), "tensor 2: ndims is 0; expected 1 to 5");
}

#[test]
fn counts_have_their_ranges_and_a_common_one() {
    for (tensors, scalars, expected) in [
        (0, 0, "ok"),
        (256, 0, "ok"),
        (128, 128, "ok"),
        (-1, 0, "tensor_count is -1; expected 0 to 256"),
        (257, 0, "tensor_count is 257; expected 0 to 256"),
        (i32::MIN, i32::MIN, "tensor_count is -2147483648; expected 0 to 256"),
        (0, -1, "scalar_count is -1; expected 0 to 128"),
        (0, 129, "scalar_count is 129; expected 0 to 128"),
        (129, 128, "scalar_count is 128; expected 0 to 127"),
        (256, 1, "scalar_count is 1; expected 0 to 0"),
    ] {
        assert_eq!(message(&args(tensors, scalars)), expected);
    }
}

#[test]
fn counts_must_be_the_callables() {
    let callable = Counts { tensors: 3, scalars: 1 };
    let answer = |tensors, scalars| {
        let args = args(tensors, scalars);
        let answer = LaunchArguments::check(&args).unwrap().match_callable(callable);
        answer.map_or_else(|refusal| refusal.to_string(), |()| "ok".to_string())
    };
    assert_eq!(answer(3, 1), "ok");
    assert_eq!(answer(4, 0), "tensor_count is 4; the callable takes 3");
    assert_eq!(answer(3, 0), "scalar_count is 0; the callable takes 1");
    assert_eq!(answer(3, 2), "scalar_count is 2; the callable takes 1");
}
