//! Any bytes as an image: no reader panics, what is accepted can be written again.
//!
//! A header is 9,376 bytes, nearly all of them tables that are not used: the input is what to change in a header of zeroes, and
//! the storage behind it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenon_core::callable::code::{CodeKind, check_code};
use tenon_core::callable::start::{ChildStart, check_start};
use tenon_core::callable::{CallableImage, CallableSpec, ChildSpec, Direction, Header};

fuzz_target!(|input: (Vec<(u16, u32)>, &[u8])| {
    let (changes, storage) = input;
    let mut image = vec![0; 9376];
    image.extend_from_slice(storage);
    for (word, value) in changes {
        let offset = usize::from(word) * 4;
        if let Some(place) = image.get_mut(offset..offset + 4) {
            place.copy_from_slice(&value.to_le_bytes());
        }
    }

    let _ = check_code(&image[..], CodeKind::of_this_build());
    let alone = Header::check_alone(&image[..]);
    if let Ok(header) = &alone {
        for index in 0..=header.child_count() {
            let _ = check_start(&image[..], header, &ChildStart { index, tensors: &[0], scalar_count: 1, blocks: 1 });
        }
    }
    let Ok(parsed) = CallableImage::parse(&image) else { return };
    assert_eq!(alone.as_ref(), Ok(parsed.header()), "the header alone refuses no valid image");

    // Everything that was read is enough to write an image that reads the same.
    let signature: Vec<Direction> = parsed.signature().collect();
    let children: Vec<_> = parsed
        .children()
        .map(|child| {
            let directions = (0..).map_while(|index| child.header.direction(&image[..], index));
            (child, directions.collect::<Vec<_>>())
        })
        .collect();
    let specs: Vec<ChildSpec<'_>> = children
        .iter()
        .map(|(child, signature)| ChildSpec { func_id: child.func_id, signature, code: child.code })
        .collect();
    let spec = CallableSpec {
        func_name: parsed.func_name(),
        config_name: parsed.config_name(),
        signature: &signature,
        scalar_count: parsed.header().stored_scalar_count(),
        orchestration: parsed.orchestration(),
        children: &specs,
    };
    let mut out = vec![0xa5; image.len()];
    let again = spec.write(&mut out).expect("what was accepted can be written");
    assert_eq!(again.header(), parsed.header());
    assert_eq!(again.bytes().len(), image.len(), "nothing is left over");
});
