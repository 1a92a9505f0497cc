//! What acceptance and overlap promise, against every byte of small views.
//!

#[path = "common/buffer.rs"]
mod buffer;

use std::ops::Range;

use buffer::{named, touched};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tenon_core::buffer::{BufferRef, Draft, Overlap, RawBufferRef, extent_bytes, overlap, validate};
use tenon_core::wire::DataType;

/// Numbers that break arithmetic, and small ones.
fn edge() -> impl Strategy<Value = u32> {
    prop_oneof![
        0_u32..6,
        Just(1 << 16),
        Just(1 << 31),
        Just((1 << 31) + 1),
        Just(u32::MAX - 1),
        Just(u32::MAX),
        any::<u32>()
    ]
}

fn edge64() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..300, Just(u64::MAX), Just(u64::MAX - 15), Just(1 << 63), any::<u64>()]
}

/// A claim about a valid backing whose view may be anything.
fn claim() -> impl Strategy<Value = RawBufferRef> {
    let axes = (0_u32..7, prop::array::uniform5(edge()), prop::array::uniform5(edge()), any::<bool>());
    (axes, edge64(), edge64(), 0_u8..17).prop_map(
        |((ndims, mut shapes, mut strides, is_clean), nbytes, byte_offset, dtype)| {
            if is_clean {
                for slots in [&mut shapes, &mut strides] {
                    slots.iter_mut().skip(ndims as usize).for_each(|slot| *slot = 0);
                }
            }
            RawBufferRef {
                descriptor: named(nbytes).to_raw(),
                byte_offset,
                ndims,
                shapes,
                strides,
                dtype,
                pad: [0xee; 3],
            }
        },
    )
}

/// A small view of a backing of 480 bytes, often a box of a row-major array that fills it.
fn small_view() -> impl Strategy<Value = BufferRef> {
    let dtypes = prop::sample::select(vec![DataType::U8, DataType::F16, DataType::F32]);
    let free = (prop::collection::vec((1_u32..5, 1_u32..9), 1..=3), 0_u64..40, dtypes.clone());
    let free = free.prop_filter_map("inside", |(axes, element, dtype)| {
        let (shape, strides): (Vec<u32>, Vec<u32>) = axes.into_iter().unzip();
        let byte_offset = element * dtype.size_bytes();
        BufferRef::new(&named(480), &Draft { byte_offset, shape: &shape, strides: Some(&strides), dtype }).ok()
    });
    let boxes = prop::array::uniform3((0_u32..6, 1_u32..5));
    let boxed = (boxes, dtypes, any::<bool>()).prop_filter_map("inside", |(ranges, dtype, is_wide)| {
        let elements = 480 / u32::try_from(dtype.size_bytes()).unwrap();
        let shape = if is_wide { [elements / 20, 4, 5] } else { [elements / 30, 6, 5] };
        let array = BufferRef::new(&named(480), &Draft { byte_offset: 0, shape: &shape, strides: None, dtype }).ok()?;
        array.sub_view(&ranges.map(|range| range.0), &ranges.map(|range| range.1)).ok()
    });
    prop_oneof![1 => free, 3 => boxed]
}

/// From the first to one past the last byte, without the validator's arithmetic.
fn span(view: &BufferRef) -> Range<u128> {
    let last = view.shape().iter().zip(view.strides()).map(|(n, s)| u128::from(n - 1) * u128::from(*s)).sum::<u128>();
    let start = u128::from(view.byte_offset());
    start..start + (last + 1) * u128::from(view.dtype().size_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, max_local_rejects: 1 << 20, rng_seed: RngSeed::Fixed(11), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_of_an_accepted_view_is_inside_its_backing(claim in claim()) {
        let result = validate::reference(&claim);
        if let Ok(view) = &result {
            prop_assert!(span(view).end <= u128::from(claim.descriptor.nbytes), "{view:?}");
            prop_assert_eq!(u128::from(view.extent_bytes()), span(view).end - span(view).start);
            prop_assert_eq!(view.extent_bytes(), extent_bytes(&claim.shapes, &claim.strides, view.dtype()));
            prop_assert!(view.byte_offset().is_multiple_of(view.dtype().size_bytes()));
            if view.element_count().is_some_and(|count| count <= 4096) {
                prop_assert!(touched(view).into_iter().all(|byte| byte < claim.descriptor.nbytes));
            }
        }
        // What is refused for its end does end after its backing, and what has no end that fits has none.
        if let Err(reason @ ("view_out_of_bounds" | "extent_overflow")) = result.map_err(|refusal| refusal.reason.name()) {
            let used = claim.ndims as usize;
            let size = u128::from(DataType::try_from(claim.dtype).unwrap().size_bytes());
            let axes = claim.shapes[..used].iter().zip(&claim.strides[..used]);
            let extent = (axes.map(|(n, s)| u128::from(n - 1) * u128::from(*s)).sum::<u128>() + 1) * size;
            let end = u128::from(claim.byte_offset) + extent;
            prop_assert_eq!(reason == "extent_overflow", extent >= u128::from(u64::MAX));
            prop_assert!(reason == "extent_overflow" || end > u128::from(claim.descriptor.nbytes));
        }
    }

    #[test]
    fn none_means_no_common_byte_and_covered_means_all_of_the_entry((probe, entry) in (small_view(), small_view())) {
        let (in_probe, in_entry) = (touched(&probe), touched(&entry));
        match overlap(&probe, &entry) {
            Overlap::None => prop_assert!(in_probe.is_disjoint(&in_entry), "{probe:?} {entry:?}"),
            Overlap::Covered => prop_assert!(in_entry.is_subset(&in_probe), "{probe:?} {entry:?}"),
            Overlap::Partial => {}
        }
        // Whichever is asked about, a missing dependency is missing for both.
        prop_assert_eq!(overlap(&probe, &entry) == Overlap::None, overlap(&entry, &probe) == Overlap::None);
    }

    #[test]
    fn boxes_of_one_array_get_the_exact_answer(ranges in prop::array::uniform6((0_u32..5, 1_u32..5))) {
        let draft = Draft { byte_offset: 0, shape: &[4, 6, 5], strides: None, dtype: DataType::I16 };
        let array = BufferRef::new(&named(240), &draft).unwrap();
        let take = |ranges: &[(u32, u32)]| {
            let [offsets, shape] = [0, 1].map(|part| ranges.iter().map(|range| [range.0, range.1][part]).collect::<Vec<_>>());
            array.sub_view(&offsets, &shape)
        };
        let (Ok(probe), Ok(entry)) = (take(&ranges[..3]), take(&ranges[3..])) else { return Ok(()) };
        let (in_probe, in_entry) = (touched(&probe), touched(&entry));
        let expected = if in_probe.is_disjoint(&in_entry) {
            Overlap::None
        } else if in_entry.is_subset(&in_probe) {
            Overlap::Covered
        } else {
            Overlap::Partial
        };
        prop_assert_eq!(overlap(&probe, &entry), expected, "{:?} {:?}", probe, entry);
    }
}
