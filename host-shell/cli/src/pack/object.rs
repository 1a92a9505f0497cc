//! Whether a compiled object is what an image needs.
//!

use std::path::Path;

use object::elf::{ET_DYN, FileHeader64};
use object::read::elf::{ElfFile64, FileHeader};
use object::{LittleEndian, Object, ObjectSymbol};
use tenon_core::callable::code::CodeKind;

use crate::failure::Failure;

/// Checks that `bytes` are a shared object that exports the function `symbol`.
pub(super) fn check_elf(path: &Path, bytes: &[u8], symbol: &str) -> Result<(), Failure> {
    match CodeKind::of(bytes) {
        Some(CodeKind::Elf(_)) => {}
        Some(CodeKind::OtherElf) => {
            let what = "e_ident at byte 4 is not 2, 1: expected a 64-bit little-endian ELF object";
            return Err(Failure::contents(path, what));
        }
        _ => {
            let what = "e_ident at byte 0 is not 7f 45 4c 46: expected an ELF shared object (`code = \"raw\"` if it is \
                        machine code for bare metal)";
            return Err(Failure::contents(path, what));
        }
    }
    let malformed = |error: object::Error| Failure::contents(path, format!("not a readable ELF object: {error}"));
    let header = FileHeader64::<LittleEndian>::parse(bytes).map_err(malformed)?;
    let kind = header.e_type(LittleEndian);
    if kind != ET_DYN {
        let what = format!("e_type at byte 16 is {kind}, expected {ET_DYN}: a shared object (link with -shared)");
        return Err(Failure::contents(path, what));
    }
    let elf = ElfFile64::<LittleEndian>::parse(bytes).map_err(malformed)?;
    let is_exported = elf.dynamic_symbols().any(|found| found.is_definition() && found.name() == Ok(symbol));
    if is_exported {
        Ok(())
    } else {
        let what = format!("no exported symbol `{symbol}`, expected one with default visibility and C linkage");
        Err(Failure::contents(path, what))
    }
}

/// Checks that `bytes` can be taken for machine code.
pub(super) fn check_raw(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    match CodeKind::of(bytes) {
        Some(CodeKind::Raw) => Ok(()),
        Some(_) => Err(Failure::contents(path, "an ELF object, expected machine code since `code` is \"raw\"")),
        None => Err(Failure::contents(path, format!("{} bytes, expected at least 4 bytes of code", bytes.len()))),
    }
}
