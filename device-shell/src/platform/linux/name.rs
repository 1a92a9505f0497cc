//! The name of an orchestration, as the dynamic loader wants it.
//!

use core::ffi::CStr;

use tenon_core::callable::ImageWords;
use tenon_core::callable::layout::{FUNC_NAME, NAME_BYTES};

use crate::code::Callable;

/// Bytes of a name's field.
const NAME_FIELD: usize = 64;
static_assertions::const_assert_eq!(NAME_FIELD as u64, NAME_BYTES);

/// The name of an orchestration. Shorter than its field, so a NUL follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct FuncName([u8; NAME_FIELD]);

impl FuncName {
    /// Copies the name out of a callable's header.
    pub(super) fn of(callable: &Callable) -> Self {
        let mut bytes = [0; NAME_FIELD];
        let used = callable.header().func_name_bytes() as usize;
        for (byte, offset) in bytes.iter_mut().zip(FUNC_NAME..).take(used) {
            *byte = callable.image().u8_at(offset);
        }
        Self(bytes)
    }

    /// The name.
    pub(super) fn as_c_str(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}
