//! What can go wrong, and the exit code that says so.
//!

use std::path::PathBuf;
use std::process::ExitCode;

use tenon_core::callable::Refusal;

/// Documented at the end of `tenon --help`; a number is never given a second meaning. 2 is clap's, for the command line.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A file that cannot be read or written.
    #[error("{}: cannot {action}: {source}", path.display())]
    File { path: PathBuf, action: &'static str, source: std::io::Error },
    /// A callable image, or the description of one, that breaks a rule.
    #[error("{}: {refusal}", path.display())]
    Callable { path: PathBuf, refusal: Refusal },
    /// Any other file whose contents are refused.
    #[error("{}: {what}", path.display())]
    Contents { path: PathBuf, what: String },
}

impl Failure {
    pub(crate) fn contents(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Contents { path: path.into(), what: what.into() }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::File { .. } => 3,
            Self::Callable { .. } | Self::Contents { .. } => 4,
        })
    }
}
