//! Every byte vector of the specification: verdict, reason, extent and overlap.
//!

use serde_json::Value;
use tenon_core::buffer::validate::{descriptor_from_bytes, reference_from_bytes};
use tenon_core::buffer::{RawBufferRef, RawDescriptor, Refusal, overlap};
use zerocopy::IntoBytes;

/// The vectors, one object a line.
const VECTORS: &str = include_str!("../../tests/vectors/buffer_ref.jsonl");

/// Bytes of a hexadecimal string, after `shift` others: at every alignment that a reader may meet.
fn bytes(hex: &str, shift: usize) -> Vec<u8> {
    let digits =
        hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap());
    std::iter::repeat_n(0xa5, shift).chain(digits).collect()
}

/// The vectors of one kind, in order.
fn vectors(kind: &str) -> Vec<Value> {
    let all = VECTORS.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let vectors: Vec<Value> = all.filter(|vector| vector["kind"] == kind).collect();
    assert!(!vectors.is_empty());
    vectors
}

/// What the vector says of the verdict.
fn expected(vector: &Value) -> Result<(), &str> {
    match vector["verdict"].as_str().unwrap() {
        "accept" => Ok(()),
        "reject" => Err(vector["reason"].as_str().unwrap()),
        other => panic!("{other}"),
    }
}

fn reason(refusal: Refusal) -> &'static str {
    refusal.reason.name()
}

#[test]
fn every_descriptor_has_the_verdict_of_its_vector() {
    for (index, vector) in vectors("descriptor").iter().enumerate() {
        let bytes = bytes(vector["hex"].as_str().unwrap(), index % 8);
        let found = descriptor_from_bytes(&bytes[index % 8..]);
        assert_eq!(found.map(|_| ()).map_err(reason), expected(vector), "{}", vector["name"]);
    }
}

#[test]
fn every_reference_has_the_verdict_and_the_extent_of_its_vector() {
    for (index, vector) in vectors("buffer_ref").iter().enumerate() {
        let bytes = bytes(vector["hex"].as_str().unwrap(), index % 8);
        let found = reference_from_bytes(&bytes[index % 8..]);
        assert_eq!(found.map(|_| ()).map_err(reason), expected(vector), "{}", vector["name"]);
        if let Ok(reference) = found {
            assert_eq!(Some(reference.extent_bytes()), vector["extent_bytes"].as_u64(), "{}", vector["name"]);
        }
    }
}

#[test]
fn every_pair_has_the_overlap_of_its_vector() {
    for vector in vectors("overlap") {
        let bytes = bytes(vector["hex"].as_str().unwrap(), 0);
        let (probe, entry) = bytes.split_at(144);
        let [probe, entry] = [probe, entry].map(|bytes| reference_from_bytes(bytes).unwrap());
        assert_eq!(overlap(&probe, &entry).name(), vector["overlap"], "{}", vector["name"]);
    }
}

#[test]
fn what_is_accepted_travels_on_with_the_same_bytes_but_for_the_pads() {
    for vector in vectors("buffer_ref").iter().filter(|vector| vector["verdict"] == "accept") {
        let mut bytes = bytes(vector["hex"].as_str().unwrap(), 0);
        let reference = reference_from_bytes(&bytes).unwrap();
        for pad in [5..8, 28..40, 54..56, 141..144] {
            bytes[pad].fill(0);
        }
        assert_eq!(reference.to_raw().as_bytes(), bytes, "{}", vector["name"]);
        assert_eq!(reference.descriptor().to_raw().as_bytes(), &bytes[..88], "{}", vector["name"]);
    }
}

#[test]
fn a_byte_too_few_is_refused_and_one_too_many_is_not_read() {
    let vectors = vectors("buffer_ref");
    let accepted = vectors.iter().find(|vector| vector["verdict"] == "accept").unwrap();
    let mut bytes = bytes(accepted["hex"].as_str().unwrap(), 0);
    for len in 0..bytes.len() {
        let refusal = reference_from_bytes(&bytes[..len]).unwrap_err();
        assert_eq!((reason(refusal), refusal.found, refusal.limit), ("truncated", len as u64, Some(144)));
        let as_descriptor = descriptor_from_bytes(&bytes[..len]).map(|_| ()).map_err(reason);
        assert_eq!(as_descriptor, if len < 88 { Err("truncated") } else { Ok(()) });
    }
    bytes.push(0xff);
    assert!(reference_from_bytes(&bytes).is_ok());
    assert_eq!((size_of::<RawBufferRef>(), size_of::<RawDescriptor>()), (144, 88));
}
