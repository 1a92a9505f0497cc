//! The description as it is written in TOML.
//!

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tenon_core::callable::Direction;

use crate::failure::Failure;
use crate::file;

/// A callable.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Description {
    pub(super) func: String,
    #[serde(default)]
    pub(super) config: String,
    pub(super) object: PathBuf,
    pub(super) signature: Vec<DirectionName>,
    #[serde(default)]
    pub(super) scalar_count: i32,
    #[serde(default)]
    pub(super) code: Code,
    #[serde(default)]
    pub(super) child: Vec<ChildDescription>,
}

/// One `[[child]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChildDescription {
    pub(super) object: PathBuf,
    pub(super) func_id: Option<i32>,
    pub(super) signature: Vec<DirectionName>,
}

/// What the objects are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Code {
    #[default]
    Elf,
    Raw,
}

/// A direction as a description spells it.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DirectionName {
    Scalar,
    In,
    Out,
    Inout,
}

impl From<DirectionName> for Direction {
    fn from(name: DirectionName) -> Self {
        match name {
            DirectionName::Scalar => Self::Scalar,
            DirectionName::In => Self::In,
            DirectionName::Out => Self::Out,
            DirectionName::Inout => Self::Inout,
        }
    }
}

impl Description {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let text = String::from_utf8(file::read(path)?).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::contents(path, format!("not UTF-8 at byte {at}, expected a TOML file"))
        })?;
        toml::from_str(&text).map_err(|error| Failure::contents(path, error.to_string()))
    }
}
