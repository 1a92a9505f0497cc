//! Whether a device can run the code in an image.
//!
//! Linux devices load ELF shared objects for their machine, bare metal enters position-independent machine code at offset 0. The
//! first four bytes tell which. Code that is too short to tell can be run by nobody.

use super::layout::{
    BINARY_SIZE, CHILD_BINARY_SIZE, CHILD_CODE, CHILD_COUNT, CHILD_OFFSETS, HEADER_BYTES, MAX_CHILDREN,
};
use super::words::{ImageWords, entry};

/// Bytes at the start of code that [`CodeKind::of`] looks at.
pub const CODE_HEAD_BYTES: usize = 20;

/// `EM_X86_64` of the ELF gABI.
pub const MACHINE_X86_64: u16 = 62;
/// `EM_AARCH64` of the ELF gABI.
pub const MACHINE_AARCH64: u16 = 183;
/// `EM_RISCV` of the ELF gABI.
pub const MACHINE_RISCV: u16 = 243;

/// What code says about itself, or what a device takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CodeKind {
    /// A little-endian 64-bit ELF object for this machine (`e_machine`).
    Elf(u16),
    /// An ELF object of another class or byte order, which no device takes.
    OtherElf,
    /// Machine code, entered at offset 0.
    Raw,
}

/// Code that a device cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct UnsupportedCode {
    /// The child whose code it is; `None` for the orchestration.
    pub child: Option<u32>,
    /// What it is; `None` when it is too short to tell.
    pub found: Option<CodeKind>,
}

impl CodeKind {
    /// Reads the kind from the start of some code; `None` when it is too short to tell.
    #[must_use]
    pub const fn of(code: &[u8]) -> Option<Self> {
        // e_ident: magic, EI_CLASS at 4 (2 is 64-bit), EI_DATA at 5 (1 is little-endian); e_machine at 18.
        match code {
            [0x7f, b'E', b'L', b'F', 2, 1, _, _, _, _, _, _, _, _, _, _, _, _, low, high, ..] => {
                Some(Self::Elf(u16::from_le_bytes([*low, *high])))
            }
            [0x7f, b'E', b'L', b'F', rest @ ..] => {
                if rest.len() < CODE_HEAD_BYTES - 4 {
                    None
                } else {
                    Some(Self::OtherElf)
                }
            }
            [_, _, _, _, ..] => Some(Self::Raw),
            _ => None,
        }
    }

    /// What a device that runs this build takes: ELF for its own machine under an operating system, raw code without one.
    #[must_use]
    pub const fn of_this_build() -> Self {
        if cfg!(target_os = "none") {
            Self::Raw
        } else if cfg!(target_arch = "x86_64") {
            Self::Elf(MACHINE_X86_64)
        } else if cfg!(target_arch = "aarch64") {
            Self::Elf(MACHINE_AARCH64)
        } else if cfg!(target_arch = "riscv64") {
            Self::Elf(MACHINE_RISCV)
        } else {
            Self::OtherElf
        }
    }

    /// Whether a device that takes `wanted` can run it.
    #[must_use]
    pub const fn runs_as(self, wanted: Self) -> bool {
        match (self, wanted) {
            (Self::Elf(own), Self::Elf(machine)) => own == machine,
            (Self::Raw, Self::Raw) => true,
            _ => false,
        }
    }
}

/// Checks that a device which takes `wanted` can run the orchestration and every child.
///
/// This comes before the header is checked, so it trusts no field: what the header places outside the image is too short to tell.
///
/// # Errors
/// The first code that cannot be run.
pub fn check_code<W: ImageWords + ?Sized>(image: &W, wanted: CodeKind) -> Result<(), UnsupportedCode> {
    let check = |child, start, bytes| {
        let found = kind_at(image, start, bytes);
        if found.is_some_and(|kind| kind.runs_as(wanted)) { Ok(()) } else { Err(UnsupportedCode { child, found }) }
    };
    if image.image_bytes() < HEADER_BYTES {
        return Err(UnsupportedCode { child: None, found: None });
    }
    check(None, HEADER_BYTES, image.u32_at(BINARY_SIZE))?;
    // A number of children that cannot be is for the header's rules; there is no telling where their code would be.
    let children = image.u32_at(CHILD_COUNT);
    let children = if children <= MAX_CHILDREN { children } else { 0 };
    for index in 0..children {
        let start = HEADER_BYTES.saturating_add(u64::from(image.u32_at(entry(CHILD_OFFSETS, index))));
        let code = start.saturating_add(CHILD_CODE);
        let bytes = if code <= image.image_bytes() {
            // By bytes: nothing has established yet that the child lies on a multiple of 4.
            let field = start.saturating_add(CHILD_BINARY_SIZE);
            u32::from_le_bytes([0, 1, 2, 3].map(|at| image.u8_at(field.saturating_add(at))))
        } else {
            0
        };
        check(Some(index), code, bytes)?;
    }
    Ok(())
}

/// Kind of the code of `bytes` bytes at `start`, as far as it lies inside the image.
fn kind_at<W: ImageWords + ?Sized>(image: &W, start: u64, bytes: u32) -> Option<CodeKind> {
    let room = image.image_bytes().saturating_sub(start).min(u64::from(bytes));
    let mut head = [0; CODE_HEAD_BYTES];
    let mut used = 0_usize;
    for (slot, at) in head.iter_mut().zip(0..room) {
        *slot = image.u8_at(start.saturating_add(at));
        used = used.saturating_add(1);
    }
    CodeKind::of(head.get(..used)?)
}
