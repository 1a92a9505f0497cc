//! Code on bare metal: position-independent, entered where it lies.
//!
//! There is nothing to load and nothing to remember. The host wrote the code, so before it is entered the data cache lets go of it and
//! the instruction fetch starts afresh.

use core::mem::transmute;

use tenon_core::device::{AreaInfo, Child, Orchestration};
use tenon_core::generation::{CallableId, SlotIndex};

use crate::cache;
use crate::code::{Callable, CodeRange, LoadFault};
use crate::platform_table::Platform;
use crate::words::at;

/// Keeps nothing.
#[derive(Debug)]
pub(crate) struct CodeStore;

/// The entry points of a callable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded<'a>(&'a Callable);

impl CodeStore {
    /// Makes the store.
    pub(crate) const fn new() -> Self {
        Self
    }

    /// Gives the entry points of a callable, whose code was found to be of this build's kind.
    ///
    /// # Safety
    /// The caller holds the busy word of the context whose area this is, as long as the result is used.
    pub(crate) unsafe fn prepare<'a>(
        &self,
        _platform: &Platform,
        _area: &AreaInfo,
        _id: CallableId,
        callable: &'a Callable,
        _generation_of: impl Fn(SlotIndex) -> u64,
    ) -> Result<Loaded<'a>, LoadFault> {
        refresh(callable.orchestration());
        for child in 0..callable.child_count() {
            refresh(callable.child(child)?);
        }
        synchronize_fetch();
        Ok(Loaded(callable))
    }

    /// Nothing was loaded.
    ///
    /// # Safety
    /// None here; the signature is that of a store which lets code go.
    pub(crate) unsafe fn unload(&self) -> bool {
        true
    }
}

impl Loaded<'_> {
    /// The orchestration.
    pub(crate) fn orchestration(&self) -> Orchestration {
        let entry = at::<()>(self.0.orchestration().address);
        // SAFETY: the code's entry is at its offset 0 and is an orchestration: what a callable's image is (operator.md).
        unsafe { transmute::<*const (), Orchestration>(entry) }
    }

    /// A child, if there is such a one.
    pub(crate) fn child(&self, index: u32) -> Option<Child> {
        let code = self.0.child(index).ok()?;
        let entry = at::<()>(code.address);
        // SAFETY: the code's entry is at its offset 0 and is a child: what a callable's image is (operator.md).
        Some(unsafe { transmute::<*const (), Child>(entry) })
    }
}

fn refresh(code: CodeRange) {
    cache::invalidate(code.address, code.bytes);
}

/// Makes instruction fetch see what memory holds.
fn synchronize_fetch() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: cache maintenance and barriers change no register, no flag and no memory. `ic iallu` needs EL1, where bare metal runs.
    unsafe {
        core::arch::asm!("ic iallu", "dsb sy", "isb", options(nostack, preserves_flags));
    }
    #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
    // SAFETY: a fence changes no register and no memory.
    unsafe {
        core::arch::asm!("fence.i", options(nostack));
    }
}

/// Stops the core: there is nobody to tell.
pub fn stop() -> ! {
    loop {
        core::hint::spin_loop();
    }
}
