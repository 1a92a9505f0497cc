//! Why an entry did not do what it was asked, and C's number for it.
//!

use core::ffi::c_int;
use core::fmt;

use tenon_core::arguments::ArgumentError;
use tenon_core::status::RuntimeError;

use super::registry::Refused;
use crate::error::ContextError;
use crate::platform::PlatformError;

/// What stopped an entry, before or behind the context.
#[derive(Debug)]
pub(super) enum Failure {
    /// An argument breaks a rule.
    Argument(ArgumentError),
    /// The handle gives no context.
    Handle { context: usize, refused: Refused },
    /// No more contexts can exist at a time.
    NoPlace,
    /// The context was made before a fork.
    Inherited,
    /// There is no platform to do it on.
    Platform(PlatformError),
    /// This build, or the platform, has no kernel mode.
    NoKernelMode,
    /// The context has no mode yet.
    Fresh,
    /// The context was closed.
    Closed,
    /// The context holds the other mode.
    OtherMode,
    /// The context refused or failed.
    Context(ContextError),
}

impl Failure {
    /// The code that C is given.
    pub(super) fn code(&self) -> c_int {
        let error = match self {
            Self::Argument(_) | Self::Handle { refused: Refused::Not(_), .. } => RuntimeError::InvalidArgument,
            Self::Handle { refused: Refused::InUse | Refused::Held, .. }
            | Self::Inherited
            | Self::Fresh
            | Self::Closed
            | Self::OtherMode => RuntimeError::InvalidState,
            Self::NoPlace => RuntimeError::CallableCountExceeded,
            Self::Platform(_) | Self::NoKernelMode => RuntimeError::Unsupported,
            Self::Context(error) => return error.code(),
        };
        error.code()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument(error) => error.fmt(f),
            Self::Handle { context, refused: Refused::Not(reason) } => {
                write!(f, "ctx is {context:#x}, {}; expected one of create_device_context", reason.describe())
            }
            Self::Handle { refused: Refused::InUse, .. } => f.write_str("another thread is inside the context"),
            Self::Handle { refused: Refused::Held, .. } => {
                f.write_str("the context is in use; expected a fresh one, or finalize_device first")
            }
            Self::NoPlace => write!(f, "{} contexts exist; destroy one first", super::handle::PLACES),
            Self::Inherited => {
                f.write_str("the context was made by another process, before a fork; a child makes its own")
            }
            Self::Platform(error) => error.fmt(f),
            Self::NoKernelMode => f.write_str("this build has no kernel mode"),
            Self::Fresh => f.write_str("the context has no mode yet; expected an init first"),
            Self::Closed => f.write_str("the context is closed, or its init failed; expected a live one"),
            Self::OtherMode => f.write_str("the context holds the other mode, for ever"),
            Self::Context(error) => error.fmt(f),
        }
    }
}

impl From<ArgumentError> for Failure {
    fn from(error: ArgumentError) -> Self {
        Self::Argument(error)
    }
}

impl From<ContextError> for Failure {
    fn from(error: ContextError) -> Self {
        Self::Context(error)
    }
}

impl From<PlatformError> for Failure {
    fn from(error: PlatformError) -> Self {
        Self::Platform(error)
    }
}
