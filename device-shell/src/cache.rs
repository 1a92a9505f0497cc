//! Cache maintenance, for parts whose AICPU is not coherent with the host.
//!
//! aarch64 parts may be such; all others here are coherent, and the functions are nothing there.

/// Whether this build's parts may need any of it.
pub(crate) const IS_NEEDED: bool = cfg!(target_arch = "aarch64");

/// Bytes that are maintained at a time.
const LINE: u64 = 64;

/// Drops what the cache holds of `[address, address + bytes)`, so that the next read sees memory.
///
/// Lines that this core has written reach memory first: invalidating alone would lose them.
#[inline]
pub(crate) fn invalidate(address: u64, bytes: u64) {
    if IS_NEEDED {
        let mut line = address & !(LINE - 1);
        let end = address.saturating_add(bytes);
        while line < end {
            clean_and_invalidate_line(line);
            line = line.saturating_add(LINE);
        }
        complete();
    }
}

/// Sends the line of a word that was just written to memory.
#[inline]
pub(crate) fn clean(address: u64) {
    if IS_NEEDED {
        clean_and_invalidate_line(address & !(LINE - 1));
        complete();
    }
}

#[inline]
fn clean_and_invalidate_line(line: u64) {
    #[cfg(target_arch = "aarch64")]
    // SAFETY:
    // 1. The instruction changes no register and no flag, and no byte that a program could see differently afterwards.
    // 2. Every address given to this module is mapped: a registered area's, or an image's in callable memory.
    unsafe {
        core::arch::asm!("dc civac, {line}", line = in(reg) line, options(nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "aarch64"))]
    let _ = line;
}

/// Waits until all maintenance so far is done.
#[inline]
fn complete() {
    #[cfg(target_arch = "aarch64")]
    // SAFETY: a barrier changes no register, no flag and no memory.
    unsafe {
        core::arch::asm!("dsb sy", options(nostack, preserves_flags));
    }
}
