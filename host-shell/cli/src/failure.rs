//! What can go wrong, and the exit code that says so.
//!

use std::path::PathBuf;
use std::process::ExitCode;

use tenon_core::callable::Refusal;

/// Documented at the end of `tenon --help`; a number is never given a second meaning. 1 is `tenon doctor`'s, for what is missing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Options that do not fit the callable.
    #[error("{0}")]
    Usage(String),
    /// A file that cannot be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    File { path: PathBuf, action: &'static str, source: std::io::Error },
    /// A callable image, or the description of one, that breaks a rule.
    #[error("{}: {refusal}", path.display())]
    Callable { path: PathBuf, refusal: Refusal },
    /// Any other file whose contents are refused.
    #[error("{}: {what}", path.display())]
    Contents { path: PathBuf, what: String },
    /// A library that cannot be loaded.
    #[error("{}: cannot load: {what}; build it with `cargo xtask build`", path.display())]
    Library { path: PathBuf, what: String },
    /// A library that lacks symbols: it is of another version.
    #[error("{}: lacks {}; rebuild it with `cargo xtask build`", path.display(), symbols.join(", "))]
    Symbols { path: PathBuf, symbols: Vec<&'static str> },
    /// A call that answered with an error.
    #[error("{call} answered {code} ({name}){detail}")]
    Call { call: &'static str, code: i32, name: String, detail: String },
}

impl Failure {
    pub(crate) fn contents(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Contents { path: path.into(), what: what.into() }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Usage(_) => 2,
            Self::File { .. } => 3,
            Self::Callable { .. } | Self::Contents { .. } => 4,
            Self::Library { .. } | Self::Symbols { .. } => 5,
            Self::Call { .. } => 6,
        })
    }
}
