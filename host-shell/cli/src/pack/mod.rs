//! `tenon pack`: builds a callable image from compiled objects and a description.
//!
//! # The description
//!
//! A small TOML file beside the sources:
//!
//! ```toml
//! func = "attention"                 # the orchestration's symbol, below 64 bytes
//! config = "fused"                   # optional: name of a configuration, below 64 bytes
//! object = "attention.so"            # the orchestration, compiled
//! signature = ["in", "in", "in", "out", "scalar"]   # in, out, inout, scalar; tensors before scalars
//! scalar_count = 1                   # optional: 0, "not recorded", or the number of scalars
//! code = "elf"                       # optional: "elf" shared objects, or "raw" machine code for bare metal
//!
//! [[child]]                          # none or more, in the order of their index
//! object = "matmul.so"               # exports `tenon_kernel`
//! func_id = 7                        # optional, carried: the child's index when absent
//! signature = ["in", "in", "out", "scalar"]
//! ```
//!
//! Paths of objects are relative to the description, or to `--objects DIR` when that is given. A key that is not listed here is an
//! error, so a misspelt one is not silently ignored.

use std::path::{Path, PathBuf};

use serde_json::json;
use tenon_core::callable::code::CodeKind;
use tenon_core::callable::{CallableImage, CallableSpec, ChildSpec, Direction};

use crate::failure::Failure;
use crate::output::say;
use crate::{count, file};
use description::{Code, Description};

mod description;
mod object;

/// Arguments of `tenon pack`.
#[derive(Debug, clap::Args)]
pub(crate) struct Pack {
    /// Description of the callable, a TOML file
    #[arg(value_name = "DESC.toml")]
    description: PathBuf,
    /// Where to write the image
    #[arg(short, long = "out", visible_alias = "output", value_name = "FILE")]
    output: PathBuf,
    /// Where the objects are, if not beside the description
    #[arg(long, value_name = "DIR")]
    objects: Option<PathBuf>,
    /// Print one JSON object instead of a sentence
    #[arg(long)]
    json: bool,
}

/// A child's description with its code read in.
struct LoadedChild {
    func_id: i32,
    signature: Vec<Direction>,
    code: Vec<u8>,
}

impl Pack {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let description = Description::read(&self.description)?;
        let beside = self.description.parent().unwrap_or(Path::new(""));
        let image = build(&self.description, &description, self.objects.as_deref().unwrap_or(beside))?;
        file::write(&self.output, &image)?;
        let parsed =
            CallableImage::parse(&image).map_err(|refusal| Failure::Callable { path: self.output.clone(), refusal })?;
        if self.json {
            let report = json!({
                "file": self.output,
                "bytes": image.len(),
                "hash": format!("{:016x}", parsed.hash()),
                "tensors": parsed.counts().tensors,
                "scalars": parsed.counts().scalars,
                "children": parsed.header().child_count(),
            });
            say!("{report}");
        } else {
            say!(
                "{}: {}, {}, {}, {}, hash {:016x}",
                self.output.display(),
                count(image.len() as u64, "byte"),
                count(parsed.counts().tensors, "tensor"),
                count(parsed.counts().scalars, "scalar"),
                count(parsed.header().child_count(), "child"),
                parsed.hash(),
            );
        }
        Ok(())
    }
}

/// Reads the objects from `objects` and writes the image that `description`, read from `path`, describes.
fn build(path: &Path, description: &Description, objects: &Path) -> Result<Vec<u8>, Failure> {
    let orchestration = read_object(&objects.join(&description.object), description.code, &description.func)?;
    let mut loaded = Vec::with_capacity(description.child.len());
    for (index, child) in (0..).zip(&description.child) {
        let object = objects.join(&child.object);
        let code = read_object(&object, description.code, "tenon_kernel")?;
        same_machine(&object, CodeKind::of(&code), CodeKind::of(&orchestration))?;
        let signature = child.signature.iter().map(|direction| (*direction).into()).collect();
        loaded.push(LoadedChild { func_id: child.func_id.unwrap_or(index), signature, code });
    }
    let children: Vec<ChildSpec<'_>> = loaded
        .iter()
        .map(|child| ChildSpec { func_id: child.func_id, signature: &child.signature, code: &child.code })
        .collect();
    let signature: Vec<Direction> = description.signature.iter().map(|direction| (*direction).into()).collect();
    let spec = CallableSpec {
        func_name: description.func.as_bytes(),
        config_name: description.config.as_bytes(),
        signature: &signature,
        scalar_count: description.scalar_count,
        orchestration: &orchestration,
        children: &children,
    };
    let refused = |refusal| Failure::Callable { path: path.into(), refusal };
    let bytes = spec.image_bytes().map_err(refused)?;
    let bytes = usize::try_from(bytes).map_err(|_| Failure::contents(path, "the image does not fit in memory"))?;
    let mut image = vec![0; bytes];
    spec.write(&mut image).map_err(refused)?;
    Ok(image)
}

fn read_object(path: &Path, code: Code, symbol: &str) -> Result<Vec<u8>, Failure> {
    let bytes = file::read(path)?;
    match code {
        Code::Elf => object::check_elf(path, &bytes, symbol)?,
        Code::Raw => object::check_raw(path, &bytes)?,
    }
    Ok(bytes)
}

/// An image for two machines would run on neither.
fn same_machine(path: &Path, found: Option<CodeKind>, expected: Option<CodeKind>) -> Result<(), Failure> {
    if let (Some(CodeKind::Elf(found)), Some(CodeKind::Elf(expected))) = (found, expected)
        && found != expected
    {
        let what = format!("e_machine at byte 18 is {found}, expected {expected} as in the orchestration");
        return Err(Failure::contents(path, what));
    }
    Ok(())
}
