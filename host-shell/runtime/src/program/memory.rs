//! The caller's device memory.
//!
//! Every allocation is known, so that a foreign address, a second free and a copy past the end are refused and not tried.

use std::collections::BTreeMap;

use tenon_core::vocabulary::MemoryKind;

use super::{Inner, ProgramPlatform};
use crate::error::ContextError;
use crate::held::Held;
use crate::published::Published;

/// Alignment of an allocation, in bytes.
const ALIGN: u64 = 64;

/// Allocations by base address.
#[derive(Debug, Default)]
pub(super) struct UserMemory {
    allocations: BTreeMap<u64, u64>,
    bytes: u64,
}

impl UserMemory {
    /// Bytes of all allocations.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn forget_all(&mut self) {
        *self = Self::default();
    }

    fn check(&self, address: u64, bytes: u64) -> Result<(), ContextError> {
        let before = self.allocations.range(..=address).next_back();
        let is_inside = before.is_some_and(|(base, length)| {
            let offset = address - base;
            offset <= *length && bytes <= length - offset
        });
        if is_inside { Ok(()) } else { Err(ContextError::NotAllocated { address, bytes }) }
    }
}

pub(super) fn malloc<P: ProgramPlatform>(inner: &mut Inner<P>, bytes: u64) -> Result<u64, ContextError> {
    inner.refuse_unless_ready()?;
    if bytes == 0 {
        return Err(ContextError::NotAllocated { address: 0, bytes });
    }
    let address = inner
        .platform
        .allocate_device(MemoryKind::User, bytes, ALIGN)
        .map_err(|error| ContextError::vendor("allocating device memory", error))?;
    inner.held.note(Held::Device { kind: MemoryKind::User, address });
    inner.user.allocations.insert(address, bytes);
    inner.user.bytes += bytes;
    Ok(address)
}

pub(super) fn free<P: ProgramPlatform>(
    inner: &mut Inner<P>,
    published: &Published,
    address: u64,
) -> Result<(), ContextError> {
    inner.refuse_unless_ready()?;
    let bytes = *inner.user.allocations.get(&address).ok_or(ContextError::NotAllocated { address, bytes: 0 })?;
    let held = Held::Device { kind: MemoryKind::User, address };
    inner.held.let_go(held, &mut inner.platform).map_err(|error| {
        published.note_teardown(error);
        ContextError::vendor("freeing device memory", error)
    })?;
    inner.user.allocations.remove(&address);
    inner.user.bytes -= bytes;
    Ok(())
}

pub(super) fn copy_in<P: ProgramPlatform>(inner: &mut Inner<P>, address: u64, host: &[u8]) -> Result<(), ContextError> {
    inner.refuse_unless_ready()?;
    if host.is_empty() {
        return Ok(());
    }
    inner.user.check(address, host.len() as u64)?;
    inner.platform.copy_in(address, host).map_err(|error| ContextError::vendor("copying to the device", error))
}

pub(super) fn copy_out<P: ProgramPlatform>(
    inner: &mut Inner<P>,
    host: &mut [u8],
    address: u64,
) -> Result<(), ContextError> {
    inner.refuse_unless_ready()?;
    if host.is_empty() {
        return Ok(());
    }
    inner.user.check(address, host.len() as u64)?;
    inner.platform.copy_out(host, address).map_err(|error| ContextError::vendor("copying from the device", error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ranges_inside_one_allocation_are_accepted() {
        let mut memory = UserMemory::default();
        memory.allocations.extend([(0x1000, 0x100), (0x1100, 0x10)]);
        for (address, bytes, is_inside) in [
            (0x1000, 0x100, true),
            (0x10FF, 1, true),
            (0x1100, 0x10, true),
            (0x1000, 0x101, false),
            (0x10FF, 2, false),
            (0xFFF, 1, false),
            (0x1110, 1, false),
            (u64::MAX, u64::MAX, false),
            (0x1001, u64::MAX, false),
        ] {
            assert_eq!(memory.check(address, bytes).is_ok(), is_inside, "{bytes:#x} at {address:#x}");
        }
    }
}
