//! `tenon buffer check`: one verdict a line, for lines from standard input.
//!

use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tenon_core::buffer::{Refusal, overlap, validate};

use super::{DESCRIPTOR_BYTES, PAIR_BYTES, REFERENCE_BYTES, bytes_of};
use crate::failure::Failure;

/// Arguments of `tenon buffer check`: none.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {}

/// A line as the vectors have it; other members are ignored.
#[derive(Debug, Deserialize)]
struct Vector {
    kind: String,
    hex: String,
}

/// What is printed for a line.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Verdict {
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extent_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<&'static str>,
}

impl From<Refusal> for Verdict {
    fn from(refusal: Refusal) -> Self {
        let (reason, detail) = (Some(refusal.reason.name()), Some(refusal.to_string()));
        Self { verdict: "reject", reason, detail, ..Self::default() }
    }
}

impl Check {
    /// # Errors
    /// A line that is no claim at all, with its number; what was before it has been answered.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let failed = |action| move |source| Failure::File { path: PathBuf::from("-"), action, source };
        let mut out = io::BufWriter::new(io::stdout().lock());
        let mut refused = None;
        for (index, line) in io::stdin().lock().lines().enumerate() {
            let line = line.map_err(failed("read"))?;
            if line.trim().is_empty() {
                continue;
            }
            match check(&line) {
                Ok(verdict) => {
                    let json = serde_json::to_string(&verdict).map_err(io::Error::from).map_err(failed("write"))?;
                    writeln!(out, "{json}").map_err(failed("write"))?;
                }
                Err(failure) => {
                    refused = Some(Failure::contents("-", format!("line {}: {failure}", index + 1)));
                    break;
                }
            }
        }
        out.flush().map_err(failed("write"))?;
        refused.map_or(Ok(()), Err)
    }
}

/// The verdict on one line: `KIND HEX`, or a JSON object with `kind` and `hex`.
fn check(line: &str) -> Result<Verdict, Failure> {
    let vector;
    let (kind, hex) = if line.trim_start().starts_with('{') {
        vector = serde_json::from_str::<Vector>(line).map_err(|error| Failure::Usage(error.to_string()))?;
        (vector.kind.as_str(), vector.hex.as_str())
    } else {
        let (kind, hex) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
        (kind, hex.trim())
    };
    let size = match kind {
        "descriptor" => DESCRIPTOR_BYTES,
        "buffer_ref" => REFERENCE_BYTES,
        "overlap" => PAIR_BYTES,
        other => {
            return Err(Failure::Usage(format!("kind `{other}`, expected `descriptor`, `buffer_ref` or `overlap`")));
        }
    };
    let bytes = bytes_of(hex)?;
    if bytes.len() != size {
        return Err(Failure::Usage(format!("{kind} of {} bytes, expected {size}", bytes.len())));
    }
    Ok(verdict(kind, &bytes).unwrap_or_else(Verdict::from))
}

fn verdict(kind: &str, bytes: &[u8]) -> Result<Verdict, Refusal> {
    let accept = Verdict { verdict: "accept", ..Verdict::default() };
    Ok(match kind {
        "descriptor" => {
            validate::descriptor_from_bytes(bytes)?;
            accept
        }
        "buffer_ref" => {
            let reference = validate::reference_from_bytes(bytes)?;
            Verdict { extent_bytes: Some(reference.extent_bytes()), ..accept }
        }
        _ => {
            let (probe, entry) = bytes.split_at(REFERENCE_BYTES);
            let (probe, entry) = (validate::reference_from_bytes(probe)?, validate::reference_from_bytes(entry)?);
            Verdict { overlap: Some(overlap(&probe, &entry).name()), ..accept }
        }
    })
}
