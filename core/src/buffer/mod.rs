//! Buffers that cross processes: names, contents, and the bytes a view may touch.
//!
//! Bytes from another process are claims ([`RawDescriptor`], [`RawBufferRef`]). [`validate`] is the only way from there to a
//! [`BufferHandleDescriptor`] or a [`BufferRef`], and every boundary goes through it: builders, decoders, importers, the C ABI
//! and Python. What it accepts keeps one promise: every byte that the view can touch lies inside the backing.
//!
//! A reference never carries an address. [`device_tensor()`] is the one step from a reference and a base to something that does.
//!
//! # Not here
//!
//! Mapping, unlinking, locks and tables: a shell keeps those, and asks [`registry`] what may be done next.

mod access;
mod blob;
mod checked;
mod device_tensor;
mod extent;
mod overlap;
mod refusal;
pub mod registry;
pub mod validate;
mod view;
pub mod wire;

pub use access::{Argument, check_access, check_arguments};
pub use blob::{BlobReader, BlobWriter, blob_bytes};
pub use checked::{
    Access, BackendKind, Backing, BufferGeneration, BufferHandleDescriptor, BufferRef, CanonicalIdentity, Draft,
    ShmName,
};
pub use device_tensor::{DeviceBinding, check_base, device_tensor};
pub use extent::{extent_bytes, is_row_major};
pub use overlap::{Overlap, overlap};
pub use refusal::{Reason, Refusal};
pub use wire::{RawBufferRef, RawCanonicalIdentity, RawDescriptor};
