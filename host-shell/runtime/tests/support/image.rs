//! Callable images and launch arguments for tests.
//!

use tenon_core::callable::{CallableSpec, ChildSpec, Direction};
use tenon_core::wire::{StorageTaskArgs, Tensor};
use zerocopy::{FromZeros, IntoBytes};

/// An image in memory that is aligned as a caller's has to be.
pub(crate) struct Image {
    words: Vec<u128>,
    len_bytes: usize,
}

impl Image {
    /// Copies bytes to aligned memory.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let words = bytes.chunks(16).map(|chunk| {
            let mut word = [0; 16];
            word[..chunk.len()].copy_from_slice(chunk);
            u128::from_ne_bytes(word)
        });
        Self { words: words.collect(), len_bytes: bytes.len() }
    }

    /// Calls `act` with the image where it lies aligned.
    pub(crate) fn with<R>(&self, act: impl FnOnce(&[u8]) -> R) -> R {
        // A byte view of the words, cut where the image ends.
        act(&self.words.as_bytes()[..self.len_bytes])
    }
}

/// An image of two tensors (in, out) and one scalar, with two children; `code` tells images apart.
pub(crate) fn image(code: &[u8]) -> Image {
    let child = |func_id, code| ChildSpec { func_id, signature: &[Direction::In, Direction::Out], code };
    write(&CallableSpec {
        func_name: b"operator",
        config_name: b"",
        signature: &[Direction::In, Direction::Out, Direction::Scalar],
        scalar_count: 1,
        orchestration: code,
        children: &[child(1, b"first child"), child(2, b"second")],
    })
}

/// Writes a description.
pub(crate) fn write(spec: &CallableSpec<'_>) -> Image {
    let mut bytes = vec![0; usize::try_from(spec.image_bytes().unwrap()).unwrap()];
    spec.write(&mut bytes).unwrap();
    Image::of(&bytes)
}

/// Arguments that fit [`image`].
pub(crate) fn arguments() -> Box<StorageTaskArgs> {
    let mut args: Box<StorageTaskArgs> = Box::new(StorageTaskArgs::new_zeroed());
    for (tensor, addr) in args.tensors.iter_mut().zip([0x5500_0000_1000, 0x5500_0000_2000]) {
        *tensor = vector(addr, 64);
    }
    args.scalars[0] = 7;
    args.tensor_count = 2;
    args.scalar_count = 1;
    args
}

/// A contiguous vector of so many floats.
fn vector(addr: u64, elements: u32) -> Tensor {
    Tensor {
        addr,
        size: u64::from(elements) * 4,
        ndims: 1,
        is_contiguous: 1,
        address_space: 1,
        shapes: [elements, 0, 0, 0, 0],
        extent_elem: u64::from(elements),
        strides: [1, 0, 0, 0, 0],
        ..Tensor::default()
    }
}
