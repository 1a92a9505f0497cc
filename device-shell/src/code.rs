//! A resident callable, and where its code is.
//!
//! The header has been checked; what only the storage can tell (where a child's code ends) is checked here, where code is about to
//! be made callable.

use tenon_core::callable::code::{CODE_HEAD_BYTES, CodeKind, check_code};
use tenon_core::callable::layout::{
    CHILD_BINARY_SIZE, CHILD_CODE, CHILD_COUNT, CHILD_OFFSETS, HEADER_BYTES, MAX_CHILDREN,
};
use tenon_core::callable::{Header, ImageWords};
use tenon_core::dispatch::Payload;

use crate::cache;
use crate::words::DeviceImage;

/// A callable whose header is valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Callable {
    image: DeviceImage,
    header: Header,
}

/// Bytes of code in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeRange {
    /// Device address.
    pub(crate) address: u64,
    /// Bytes; all of them lie inside the image.
    pub(crate) bytes: u64,
}

/// Why a callable's code cannot be entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadFault {
    /// A child's code goes past the end of the image.
    OutsideImage {
        /// Which child.
        child: u32,
    },
    /// The system refuses the code, or the code lacks its entry.
    #[cfg_attr(target_os = "none", expect(dead_code, reason = "code in place needs nobody's consent"))]
    Unloadable {
        /// Which child; `None` for the orchestration.
        child: Option<u32>,
    },
    /// The system has no memory or no descriptor left.
    #[cfg_attr(target_os = "none", expect(dead_code, reason = "code in place needs no resources"))]
    NoResources,
}

impl Callable {
    /// Step 7, as far as the image alone decides it: code of this build's kind, then a valid header.
    ///
    /// # Errors
    /// [`Payload::Unsupported`] or [`Payload::Invalid`].
    pub(crate) fn inspect(image: DeviceImage) -> Result<Self, Payload> {
        invalidate_heads(&image);
        check_code(&image, CodeKind::of_this_build()).map_err(|_| Payload::Unsupported)?;
        let header = Header::check_alone(&image).map_err(|_| Payload::Invalid)?;
        Ok(Self { image, header })
    }

    /// The image.
    pub(crate) const fn image(&self) -> &DeviceImage {
        &self.image
    }

    /// Its header.
    pub(crate) const fn header(&self) -> &Header {
        &self.header
    }

    /// Number of children.
    pub(crate) const fn child_count(&self) -> u32 {
        self.header.child_count()
    }

    /// The orchestration's code.
    pub(crate) fn orchestration(&self) -> CodeRange {
        let bytes = u64::from(self.header.orchestration_bytes());
        // `Header::check` has seen that the binary is inside the storage, so the fallback is never taken.
        let address = self.image.range(HEADER_BYTES, bytes).unwrap_or(self.image.base());
        CodeRange { address, bytes }
    }

    /// A child's code.
    pub(crate) fn child(&self, child: u32) -> Result<CodeRange, LoadFault> {
        let fault = LoadFault::OutsideImage { child };
        let start = self.header.child_offset(&self.image, child).ok_or(fault)?;
        let start = HEADER_BYTES.saturating_add(u64::from(start));
        let bytes = u64::from(self.image.u32_at(start.saturating_add(CHILD_BINARY_SIZE)));
        let address = self.image.range(start.saturating_add(CHILD_CODE), bytes).ok_or(fault)?;
        Ok(CodeRange { address, bytes })
    }
}

/// Drops what the cache holds of all that `inspect` reads: the header, and the beginning of all code.
fn invalidate_heads(image: &DeviceImage) {
    const HEAD: u64 = CODE_HEAD_BYTES as u64;
    if !cache::IS_NEEDED {
        return;
    }
    cache::invalidate(image.base(), HEADER_BYTES + HEAD);
    for child in 0..image.u32_at(CHILD_COUNT).min(MAX_CHILDREN) {
        let offset = u64::from(image.u32_at(CHILD_OFFSETS + 4 * u64::from(child)));
        if let Some(address) = image.range(HEADER_BYTES + offset, CHILD_CODE + HEAD) {
            cache::invalidate(address, CHILD_CODE + HEAD);
        }
    }
}
