//! Views of views mean the elements they name, and never leave the backing.
//!

#[path = "common/buffer.rs"]
mod buffer;

use buffer::{element_bytes, named, view};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tenon_core::buffer::{BufferRef, Reason, Refusal};
use tenon_core::wire::DataType;

fn refused<T: std::fmt::Debug>(result: Result<T, Refusal>) -> &'static str {
    result.unwrap_err().reason.name()
}

/// A row-major array of u16, 4 × 6 × 5, eight bytes into its backing.
fn array() -> BufferRef {
    view(&named(1000), DataType::U16, 8, &[4, 6, 5], None)
}

/// Where element (i, j, k) of [`array`] begins.
fn at(i: u64, j: u64, k: u64) -> u64 {
    8 + 2 * (30 * i + 5 * j + k)
}

#[test]
fn a_slice_takes_every_step_and_stops_before_the_stop() {
    let slice = array().slice(1, 1, 6, 2).unwrap();
    assert_eq!((slice.shape(), slice.strides()), ([4, 3, 5].as_slice(), [30, 10, 1].as_slice()));
    let expected: Vec<u64> =
        (0..4).flat_map(|i| [1, 3, 5].into_iter().flat_map(move |j| (0..5).map(move |k| at(i, j, k)))).collect();
    assert_eq!(element_bytes(&slice), expected);
}

#[test]
fn slices_that_mean_nothing_are_refused_by_name() {
    let array = array();
    assert_eq!(refused(array.slice(3, 0, 1, 1)), "axis_out_of_range");
    assert_eq!(refused(array.slice(0, 0, 1, 0)), "step_not_positive");
    assert_eq!(refused(array.slice(0, 0, 5, 1)), "range_out_of_range");
    assert_eq!(refused(array.slice(0, 3, 2, 1)), "range_out_of_range");
    assert_eq!(refused(array.slice(0, 2, 2, 1)), "view_empty");
    let far = view(&named(1 << 40), DataType::U8, 0, &[1 << 20, 2], Some(&[1 << 16, 1]));
    assert_eq!(refused(far.slice(0, 0, 1 << 20, 1 << 16)), "stride_overflow");
    // One element is left, so the stride is never used and nothing overflows.
    assert_eq!(far.slice(0, 0, 1 << 16, 1 << 16).unwrap().shape(), [1, 2]);
}

#[test]
fn selecting_drops_the_axis_and_refuses_to_drop_the_last() {
    let plane = array().select(1, 2).unwrap();
    assert_eq!(plane.shape(), [4, 5]);
    let expected: Vec<u64> = (0..4).flat_map(|i| (0..5).map(move |k| at(i, 2, k))).collect();
    assert_eq!(element_bytes(&plane), expected);
    let row = plane.select(0, 3).unwrap();
    assert_eq!(element_bytes(&row), (0..5).map(|k| at(3, 2, k)).collect::<Vec<_>>());
    assert_eq!(refused(row.select(0, 0)), "ndims_out_of_range");
    assert_eq!(refused(row.select(0, 5)), "index_out_of_range");
}

#[test]
fn a_sub_view_is_a_box() {
    let sub = array().sub_view(&[1, 2, 3], &[2, 1, 2]).unwrap();
    assert_eq!(element_bytes(&sub), [at(1, 2, 3), at(1, 2, 4), at(2, 2, 3), at(2, 2, 4)]);
    assert_eq!(refused(array().sub_view(&[1, 2], &[1, 1])), "ndims_out_of_range");
    assert_eq!(refused(array().sub_view(&[1, 2, 3], &[1, 0, 1])), "view_empty");
    assert_eq!(refused(array().sub_view(&[1, 2, 3], &[1, 1, 3])), "range_out_of_range");
    assert_eq!(refused(array().sub_view(&[u32::MAX, 0, 0], &[u32::MAX, 1, 1])), "range_out_of_range");
}

#[test]
fn transposing_and_permuting_reorder_the_axes() {
    let transposed = array().transpose(0, 2).unwrap();
    assert_eq!((transposed.shape(), transposed.strides()), ([5, 6, 4].as_slice(), [1, 5, 30].as_slice()));
    assert_eq!(refused(array().transpose(0, 3)), "axis_out_of_range");
    assert_eq!(array().permute(&[2, 1, 0]), Ok(transposed));
    assert_eq!(array().permute(&[2, 0, 1]).unwrap().shape(), [5, 4, 6]);
    for order in [&[0, 1][..], &[0, 1, 1], &[0, 1, 3], &[0, 1, 2, 3]] {
        assert_eq!(refused(array().permute(order)), "permutation_invalid", "{order:?}");
    }
}

#[test]
fn a_reshape_that_would_need_a_copy_is_refused() {
    let array = array();
    assert_eq!(array.reshape(&[2, 2, 30]).unwrap().strides(), [60, 30, 1]);
    assert_eq!(array.reshape(&[120]).unwrap().strides(), [1]);
    assert_eq!(refused(array.reshape(&[7, 17])), "element_count_differs");
    assert_eq!(refused(array.reshape(&[0])), "shape_zero");
    assert_eq!(refused(array.reshape(&[1, 1, 1, 1, 1, 120])), "ndims_out_of_range");
    let columns = array.slice(2, 0, 2, 1).unwrap();
    assert_eq!(refused(columns.reshape(&[48])), "reshape_needs_copy");
    // Splitting an axis, or joining the two whose rows do meet, needs none.
    assert_eq!(columns.reshape(&[2, 2, 6, 2]).unwrap().strides(), [60, 30, 5, 1]);
    assert_eq!(columns.reshape(&[24, 2]).unwrap().strides(), [5, 1]);
    assert_eq!(refused(array.transpose(0, 1).unwrap().reshape(&[24, 5])), "reshape_needs_copy");
}

#[test]
fn an_axis_of_one_element_is_reshaped_to_the_stride_that_more_would_have() {
    let rows = view(&named(800), DataType::U8, 0, &[4, 8], Some(&[100, 1]));
    assert_eq!(rows.reshape(&[1, 4, 1, 8, 1]).unwrap().strides(), [400, 100, 8, 1, 1]);
}

#[test]
fn more_elements_than_64_bits_count_are_a_view_but_not_reshaped() {
    let huge = u32::MAX;
    let repeated = view(&named(1 << 40), DataType::U8, 0, &[huge, huge, huge], Some(&[1, 1, 1]));
    assert_eq!(repeated.element_count(), None);
    assert_eq!(refused(repeated.reshape(&[huge, huge, huge])), "element_count_differs");
}

/// A small row-major array and a stack of operations on it.
fn operations() -> impl Strategy<Value = (Vec<u32>, Vec<(u8, [u32; 4])>)> {
    let shape = prop::collection::vec(1_u32..5, 1..=4);
    (shape, prop::collection::vec((0_u8..5, prop::array::uniform4(0_u32..6)), 1..6))
}

fn apply(view: &BufferRef, (kind, numbers): &(u8, [u32; 4])) -> Result<BufferRef, Refusal> {
    let axis = numbers[0] as usize;
    match kind {
        0 => view.slice(axis, numbers[1], numbers[2], numbers[3]),
        1 => view.select(axis, numbers[1]),
        2 => view.transpose(axis, numbers[1] as usize),
        3 => view.sub_view(&numbers[..view.ndims().min(4)], &vec![1 + numbers[3] / 3; view.ndims()]),
        _ => {
            let count = view.shape().iter().product::<u32>();
            let inner = 1 + numbers[1];
            view.reshape(&[count / inner, inner])
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, rng_seed: RngSeed::Fixed(12), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_done_to_a_view_its_elements_are_elements_of_the_view_before((shape, operations) in operations()) {
        let mut view = view(&named(2000), DataType::F32, 16, &shape, None);
        for operation in &operations {
            if let Ok(next) = apply(&view, operation) {
                let before: std::collections::BTreeSet<u64> = element_bytes(&view).into_iter().collect();
                let after = element_bytes(&next);
                prop_assert!(after.iter().all(|byte| before.contains(byte)), "{operation:?} of {view:?}");
                if operation.0 == 4 {
                    // A reshape keeps all of them, and their order.
                    prop_assert_eq!(after, element_bytes(&view));
                }
                view = next;
            }
        }
    }
}

#[test]
fn the_reasons_of_views_have_their_numbers() {
    let numbers: Vec<(u32, &str)> = Reason::ALL
        .iter()
        .map(|reason| (reason.code(), reason.name()))
        .filter(|(code, _)| (40..50).contains(code))
        .collect();
    assert_eq!(
        numbers,
        [
            (40, "axis_out_of_range"),
            (41, "range_out_of_range"),
            (42, "view_empty"),
            (43, "step_not_positive"),
            (44, "permutation_invalid"),
            (45, "element_count_differs"),
            (46, "reshape_needs_copy"),
            (47, "stride_overflow"),
        ]
    );
}
