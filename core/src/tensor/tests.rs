//! Each rule of a launch's tensors alone, and views that 64 bits cannot describe.
//!

use std::string::ToString;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

/// A contiguous 3 × 4 array of f32 in a backing that it fills.
fn good() -> Tensor {
    Tensor {
        addr: 0x5400_0000_0000,
        size: 48,
        ndims: 2,
        dtype: 0,
        is_contiguous: 1,
        address_space: 1,
        shapes: [3, 4, 0, 0, 0],
        extent_elem: 12,
        strides: [4, 1, 0, 0, 0],
        ..Tensor::default()
    }
}

fn message(tensor: &Tensor) -> std::string::String {
    check_tensor(tensor).map_or_else(|refusal| refusal.to_string(), |()| "ok".to_string())
}

#[test]
fn views_that_fit_their_backing_are_accepted() {
    let views = [
        good(),
        Tensor { size: u64::MAX, ..good() },
        Tensor { start_offset: 5, size: 68, ..good() },
        // Carried untouched.
        Tensor { owner_task_id: u64::MAX, version: i32::MIN, manual_dep: 255, ..good() },
        // Every second column, then one row of it.
        Tensor { shapes: [3, 2, 0, 0, 0], strides: [4, 2, 0, 0, 0], extent_elem: 11, is_contiguous: 0, ..good() },
        Tensor { ndims: 1, shapes: [1, 0, 0, 0, 0], strides: [1, 0, 0, 0, 0], extent_elem: 1, size: 4, ..good() },
        // What lies past the last axis is not looked at.
        Tensor { shapes: [3, 4, 9, 0, 1], strides: [4, 1, 7, 7, 0], ..good() },
        Tensor { ndims: 5, shapes: [1, 1, 3, 2, 2], strides: [12, 12, 4, 2, 1], ..good() },
    ];
    for view in views {
        assert_eq!(message(&view), "ok", "{view:?}");
    }
}

#[test]
fn each_rule_refuses_by_its_field() {
    let cases = [
        (Tensor { ndims: 0, ..good() }, "ndims is 0; expected 1 to 5"),
        (Tensor { ndims: 6, ..good() }, "ndims is 6; expected 1 to 5"),
        (Tensor { ndims: u32::MAX, ..good() }, "ndims is 4294967295; expected 1 to 5"),
        (Tensor { dtype: 15, ..good() }, "dtype is 15; expected 0 to 14"),
        (Tensor { address_space: 0, ..good() }, "address_space is 0; expected 1"),
        (Tensor { address_space: 2, ..good() }, "address_space is 2; expected 1"),
        (Tensor { shapes: [3, 0, 0, 0, 0], ..good() }, "shapes[1] is 0; expected at least 1"),
        (Tensor { strides: [0, 1, 0, 0, 0], ..good() }, "strides[0] is 0; expected at least 1"),
        (Tensor { shapes: [0; 5], strides: [0; 5], ..good() }, "shapes[0] is 0; expected at least 1"),
        (Tensor { extent_elem: 11, ..good() }, "extent_elem is 11; expected 12"),
        (Tensor { is_contiguous: 0, ..good() }, "is_contiguous is 0; expected 1"),
        (Tensor { is_contiguous: 2, ..good() }, "is_contiguous is 2; expected 1"),
        (Tensor { strides: [5, 1, 0, 0, 0], extent_elem: 14, ..good() }, "is_contiguous is 1; expected 0"),
        (Tensor { size: 47, ..good() }, "size is 47; expected at least 48"),
        (Tensor { start_offset: 1, ..good() }, "size is 48; expected at least 52"),
        (
            Tensor { start_offset: u64::MAX, ..good() },
            "start_offset is 18446744073709551615; expected a view that 64 bits can describe",
        ),
        (
            Tensor { addr: u64::MAX - 46, ..good() },
            "addr is 18446744073709551569; expected a view that 64 bits can describe",
        ),
    ];
    for (tensor, expected) in cases {
        assert_eq!(message(&tensor), expected);
    }
}

#[test]
fn a_view_that_wraps_is_unrepresentable_whatever_its_backing_claims() {
    // 2,147,483,649 elements 2,147,483,648 apart: 2^62 + 1 elements, of four bytes each.
    let wide = Tensor {
        ndims: 1,
        shapes: [2_147_483_649, 0, 0, 0, 0],
        strides: [2_147_483_648, 0, 0, 0, 0],
        extent_elem: (1 << 62) + 1,
        is_contiguous: 0,
        ..good()
    };
    for size in [4, u64::MAX] {
        let refused = check_tensor(&Tensor { size, ..wide }).unwrap_err();
        assert_eq!((refused.field, refused.expected), ("start_offset", Expected::Representable), "{size}");
        // Claiming what the product would be after wrapping does not help.
        let wrapped = check_tensor(&Tensor { size, extent_elem: 1, ..wide }).unwrap_err();
        assert_eq!((wrapped.field, wrapped.expected), ("extent_elem", Expected::Exactly((1 << 62) + 1)));
    }
    // Five axes whose sum does not fit 64 bits.
    let sum = Tensor { ndims: 5, shapes: [u32::MAX; 5], strides: [u32::MAX; 5], ..good() };
    let refused = check_tensor(&sum).unwrap_err();
    assert_eq!((refused.field, refused.expected), ("strides", Expected::Representable));
}

#[test]
fn an_axis_of_one_element_does_not_decide_what_is_contiguous() {
    let row = Tensor { shapes: [1, 4, 0, 0, 0], strides: [99, 1, 0, 0, 0], extent_elem: 4, ..good() };
    for is_contiguous in [0, 1] {
        assert_eq!(message(&Tensor { is_contiguous, ..row }), "ok", "both are true of it");
    }
    let packed = Tensor { strides: [4, 1, 0, 0, 0], ..row };
    assert_eq!(message(&packed), "ok");
    assert_eq!(message(&Tensor { is_contiguous: 0, ..packed }), "is_contiguous is 0; expected 1");
}

#[test]
fn every_type_counts_its_own_bytes() {
    for dtype in DataType::ALL {
        let size = 12 * dtype.size_bytes();
        let tensor = Tensor { dtype: dtype.code(), size, ..good() };
        assert_eq!(message(&tensor), "ok", "{}", dtype.name());
        assert_eq!(check_tensor(&Tensor { size: size - 1, ..tensor }).unwrap_err().field, "size");
    }
}

#[test]
fn an_array_in_one_piece_is_recognised_without_the_rules() {
    let packed = Tensor { ndims: 5, shapes: [1, 1, 3, 2, 2], strides: [12, 12, 4, 2, 1], ..good() };
    for tensor in [good(), packed, Tensor { start_offset: 5, size: 68, ..good() }] {
        assert!(is_packed_and_inside(&tensor), "{tensor:?}");
    }
}

/// The same cases in every run.
fn seeded(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(2026), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(seeded(2000))]

    #[test]
    fn what_is_recognised_is_what_the_rules_accept(
        ndims in 0..7_u32,
        shapes in prop::array::uniform5(prop_oneof![0..4_u32, Just(65_536), Just(u32::MAX)]),
        stray in prop_oneof![Just(None), (0..5_usize, 0..9_u32).prop_map(Some)],
        start_offset in prop_oneof![Just(0), Just(3), Just(u64::MAX)],
        size in prop_oneof![0..200_u64, Just(u64::MAX)],
        extent_elem in prop_oneof![Just(None), (0..50_u64).prop_map(Some)],
        is_contiguous in 0..3_u8,
        dtype in 0..16_u8,
        address_space in 0..3_u8,
        addr in prop_oneof![Just(0x5400_0000_0000), Just(u64::MAX - 60)],
    ) {
        let mut strides = [0; 5];
        let mut product = 1_u64;
        for axis in (0..5).rev().skip(5_usize.saturating_sub(ndims as usize)) {
            strides[axis] = u32::try_from(product % (1 << 32)).unwrap();
            product = product.wrapping_mul(u64::from(shapes[axis]));
        }
        if let Some((axis, stride)) = stray {
            strides[axis] = stride;
        }
        let extent_elem = extent_elem.unwrap_or(product);
        let tensor = Tensor {
            addr, size, ndims, shapes, strides, start_offset, extent_elem, is_contiguous, dtype, address_space, ..good()
        };
        if is_packed_and_inside(&tensor) {
            prop_assert_eq!(check_in_order(&tensor), Ok(()));
        }
    }

    #[test]
    fn an_accepted_view_has_every_element_inside_its_backing(
        ndims in 1..=5_u32,
        shapes in prop::array::uniform5(0..6_u32),
        strides in prop::array::uniform5(0..9_u32),
        start_offset in 0..4_u64,
        size in 0..2000_u64,
        extent_elem in prop_oneof![Just(None), (0..50_u64).prop_map(Some)],
        is_contiguous in 0..3_u8,
        dtype in 0..16_u8,
    ) {
        let used = ndims as usize;
        let last: u128 = (0..used).map(|axis| u128::from(shapes[axis]).saturating_sub(1) * u128::from(strides[axis])).sum();
        let extent_elem = extent_elem.unwrap_or(u64::try_from(last + 1).unwrap());
        let tensor = Tensor { ndims, shapes, strides, start_offset, size, extent_elem, is_contiguous, dtype, ..good() };
        if check_tensor(&tensor).is_ok() {
            let bytes = u128::from(DataType::try_from(dtype).unwrap().size_bytes());
            prop_assert!((u128::from(start_offset) + last + 1) * bytes <= u128::from(size));
            prop_assert_eq!(u128::from(extent_elem), last + 1);
            let mut packed = 1;
            for axis in (0..used).rev() {
                prop_assert!(shapes[axis] != 0 && strides[axis] != 0);
                if is_contiguous == 1 && shapes[axis] != 1 {
                    prop_assert_eq!(strides[axis], packed);
                }
                packed *= shapes[axis];
            }
        }
    }

    #[test]
    fn no_tensor_makes_the_check_panic(bytes in prop::array::uniform32(any::<u32>()), axes in 0..8_u32) {
        use zerocopy::{FromBytes, IntoBytes};
        let mut tensor = Tensor::read_from_bytes(bytes.as_bytes()).unwrap();
        let _ = check_tensor(&tensor);
        tensor = Tensor { ndims: axes, dtype: tensor.dtype % 16, address_space: 1, ..tensor };
        let _ = check_tensor(&tensor);
    }
}
