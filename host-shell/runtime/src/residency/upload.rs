//! Images on their way to the device.
//!

use tenon_core::callable::{CallableImage, layout};
use tenon_core::vocabulary::{MemoryKind, PinnedId, ResourceOps, StreamId, VendorError};

use crate::error::ContextError;
use crate::held::{Held, Holdings};
use crate::primitive::size;

/// Alignment asked for an image; the platform puts it 32 behind a multiple of this where it can.
const IMAGE_ALIGN: u64 = 64;

/// An image that is staged but not yet enqueued.
#[derive(Debug)]
pub(super) struct Upload {
    /// Where it will lie on the device.
    pub(super) address: u64,
    staged: PinnedId,
    bytes: usize,
}

impl Upload {
    /// Finds device memory for the image and stages a copy in which every child knows where its code will be.
    pub(super) fn stage<P: ResourceOps>(
        platform: &mut P,
        held: &mut Holdings,
        image: &CallableImage<'_>,
    ) -> Result<Self, ContextError> {
        let bytes = image.bytes();
        let address = platform
            .allocate_device(MemoryKind::Callable, bytes.len() as u64, IMAGE_ALIGN)
            .map_err(|error| ContextError::vendor("allocating device memory for the image", error))?;
        held.note(Held::Device { kind: MemoryKind::Callable, address });
        let staged = platform
            .allocate_pinned(bytes.len())
            .map_err(|error| ContextError::vendor("allocating pinned memory for the image", error))?;
        held.note(Held::Pinned(staged));

        let mut write = |offset: u64, bytes: &[u8]| {
            platform
                .write_pinned(staged, size(offset), bytes)
                .map_err(|error| ContextError::vendor("staging the image", error))
        };
        write(0, bytes)?;
        for child in image.children() {
            // The image ends behind the code and lies in device memory, so neither sum can wrap.
            let code = address.wrapping_add(child.header.code_offset());
            let field = child.header.code_offset() - layout::CHILD_CODE + layout::CHILD_RESOLVED_ADDR;
            write(field, &code.to_le_bytes())?;
        }
        Ok(Self { address, staged, bytes: bytes.len() })
    }

    /// Enqueues the copy.
    pub(super) fn enqueue<P: ResourceOps>(&self, platform: &mut P, stream: StreamId) -> Result<(), VendorError> {
        platform.copy_to_device(stream, self.address, self.staged, 0, self.bytes)
    }
}
