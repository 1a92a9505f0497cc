//! Any bytes as references and blobs: what is accepted stays inside its backing.
//!
#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use tenon_core::buffer::validate::{descriptor_from_bytes, reference_from_bytes};
use tenon_core::buffer::{BlobReader, BufferRef, Overlap, overlap};

/// Elements of a view that is looked at byte by byte.
const SMALL: u64 = 4096;

/// Every byte that a small view touches.
fn touched(view: &BufferRef) -> Option<BTreeSet<u64>> {
    view.element_count().filter(|count| *count <= SMALL)?;
    let size = view.dtype().size_bytes();
    let mut elements = vec![0_u64];
    for (len, stride) in view.shape().iter().zip(view.strides()) {
        let inner = |start: u64| (0..u64::from(*len)).map(move |index| start + index * u64::from(*stride));
        elements = elements.into_iter().flat_map(inner).collect();
    }
    Some(
        elements
            .into_iter()
            .flat_map(|element| (0..size).map(move |byte| element * size + byte))
            .map(|byte| view.byte_offset() + byte)
            .collect(),
    )
}

/// What acceptance promises.
fn check(view: &BufferRef) {
    let nbytes = u128::from(view.descriptor().nbytes());
    let last: u128 = view.shape().iter().zip(view.strides()).map(|(n, s)| u128::from(n - 1) * u128::from(*s)).sum();
    let extent = (last + 1) * u128::from(view.dtype().size_bytes());
    assert_eq!(extent, u128::from(view.extent_bytes()));
    assert!(u128::from(view.byte_offset()) + extent <= nbytes);
    if let Some(bytes) = touched(view) {
        assert!(bytes.into_iter().all(|byte| u128::from(byte) < nbytes));
    }
}

fuzz_target!(|bytes: &[u8]| {
    let _ = descriptor_from_bytes(bytes);
    let first = reference_from_bytes(bytes);
    let second = bytes.get(144..).map(reference_from_bytes);
    for view in [Some(first), second].into_iter().flatten().flatten() {
        check(&view);
    }
    if let (Ok(probe), Some(Ok(entry))) = (first, second) {
        let answer = overlap(&probe, &entry);
        let is_one_backing = probe.descriptor().identity() == entry.descriptor().identity();
        if let (true, Some(in_probe), Some(in_entry)) = (is_one_backing, touched(&probe), touched(&entry)) {
            match answer {
                Overlap::None => assert!(in_probe.is_disjoint(&in_entry)),
                Overlap::Covered => assert!(in_entry.is_subset(&in_probe)),
                Overlap::Partial => {}
            }
        }
    }
    if let Ok(blob) = BlobReader::new(bytes) {
        assert!(8 + 144 * blob.tensor_count() + 8 * blob.scalar_count() <= bytes.len());
        blob.references().flatten().for_each(|view| check(&view));
        assert_eq!(blob.scalars().count(), blob.scalar_count());
    }
});
