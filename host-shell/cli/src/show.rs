//! `tenon callable show`: what an image says.
//!

use std::path::{Path, PathBuf};

use serde::Serialize;
use tenon_core::callable::code::{CodeKind, MACHINE_AARCH64, MACHINE_RISCV, MACHINE_X86_64};
use tenon_core::callable::layout::HEADER_BYTES;
use tenon_core::callable::{CallableImage, Direction};

use crate::failure::Failure;
use crate::file;
use crate::output::say;

/// Arguments of `tenon callable show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// A callable image
    file: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// What is shown; the names are those of the JSON object.
#[derive(Debug, Serialize)]
struct Report<'a> {
    file: &'a Path,
    bytes: usize,
    /// 64-bit FNV-1a over the file, 16 hexadecimal digits.
    hash: String,
    /// Bytes that are not printable ASCII are escaped as in a Rust byte string.
    func_name: String,
    config_name: String,
    signature: Vec<&'static str>,
    tensors: u32,
    scalars: u32,
    /// The field as stored; 0 means "not recorded".
    stored_scalar_count: i32,
    orchestration: Code,
    children: Vec<Child>,
}

#[derive(Debug, Serialize)]
struct Code {
    /// From the start of the file.
    offset: u64,
    bytes: u32,
    kind: String,
}

#[derive(Debug, Serialize)]
struct Child {
    index: u32,
    func_id: i32,
    signature: Vec<&'static str>,
    tensors: u32,
    scalars: u32,
    code: Code,
}

impl Show {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let bytes = file::read(&self.file)?;
        let image =
            CallableImage::parse(&bytes).map_err(|refusal| Failure::Callable { path: self.file.clone(), refusal })?;
        let report = Report::of(&self.file, &image);
        if self.json {
            say!("{}", serde_json::json!(report));
        } else {
            report.print();
        }
        Ok(())
    }
}

impl<'a> Report<'a> {
    fn of(file: &'a Path, image: &CallableImage<'_>) -> Self {
        let children = image.children().map(|child| Child {
            index: child.header.index(),
            func_id: child.func_id,
            signature: (0..).map_while(|at| child.header.direction(image.bytes(), at)).map(direction_name).collect(),
            tensors: child.header.counts().tensors,
            scalars: child.header.counts().scalars,
            code: Code {
                offset: child.header.code_offset(),
                bytes: child.header.code_bytes(),
                kind: code_kind(child.code),
            },
        });
        Self {
            file,
            bytes: image.bytes().len(),
            hash: format!("{:016x}", image.hash()),
            func_name: image.func_name().escape_ascii().to_string(),
            config_name: image.config_name().escape_ascii().to_string(),
            signature: image.signature().map(direction_name).collect(),
            tensors: image.counts().tensors,
            scalars: image.counts().scalars,
            stored_scalar_count: image.header().stored_scalar_count(),
            orchestration: Code {
                offset: HEADER_BYTES,
                bytes: image.header().orchestration_bytes(),
                kind: code_kind(image.orchestration()),
            },
            children: children.collect(),
        }
    }

    fn print(&self) {
        say!("{}: {} bytes, hash {}", self.file.display(), self.bytes, self.hash);
        say!("  func_name      {}", or_empty(&self.func_name));
        say!("  config_name    {}", or_empty(&self.config_name));
        say!("  signature      {}", or_empty(&self.signature.join(", ")));
        say!("  tensors        {}", self.tensors);
        let stored = match self.stored_scalar_count {
            0 => "not recorded".to_owned(),
            stored => format!("stored as {stored}"),
        };
        say!("  scalars        {} ({stored})", self.scalars);
        say!("  orchestration  {}", self.orchestration.line());
        say!("  children       {}", self.children.len());
        for child in &self.children {
            say!("    {:>4}  func_id {}  {}", child.index, child.func_id, or_empty(&child.signature.join(", ")));
            say!("          {}", child.code.line());
        }
    }
}

impl Code {
    fn line(&self) -> String {
        format!("{}, {} bytes at byte {}", self.kind, self.bytes, self.offset)
    }
}

/// A direction as a description spells it.
pub(crate) fn direction_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Scalar => "scalar",
        Direction::In => "in",
        Direction::Out => "out",
        Direction::Inout => "inout",
    }
}

fn code_kind(code: &[u8]) -> String {
    match CodeKind::of(code) {
        Some(CodeKind::Elf(MACHINE_X86_64)) => "ELF for x86-64".to_owned(),
        Some(CodeKind::Elf(MACHINE_AARCH64)) => "ELF for AArch64".to_owned(),
        Some(CodeKind::Elf(MACHINE_RISCV)) => "ELF for RISC-V".to_owned(),
        Some(CodeKind::Elf(machine)) => format!("ELF for machine {machine}"),
        Some(CodeKind::OtherElf) => "ELF that is not 64-bit little-endian".to_owned(),
        Some(CodeKind::Raw) => "machine code".to_owned(),
        None => "code too short to tell its kind".to_owned(),
    }
}

fn or_empty(text: &str) -> &str {
    if text.is_empty() { "(empty)" } else { text }
}
