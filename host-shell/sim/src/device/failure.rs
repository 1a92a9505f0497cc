//! What a task can end with, in the vendor's numbers.
//!

use core::num::NonZeroU32;

/// A failed task: the vendor's code, and the dispatch answer behind it where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code that a synchronise answers with.
    pub code: NonZeroU32,
    /// The answer of the AICPU entry, else 0.
    pub answer: u32,
}

/// How a task ended.
pub type Outcome = Result<(), Failure>;

/// An argument of a start-up or of a load breaks a rule.
pub const INVALID_PARAM: NonZeroU32 = NonZeroU32::new(100_000).expect("a literal");
/// A task names a binary that is not loaded.
pub const INVALID_HANDLE: NonZeroU32 = NonZeroU32::new(107_017).expect("a literal");
/// An AICore branch found no verdict in time.
pub const AICORE_TIMEOUT: NonZeroU32 = NonZeroU32::new(507_014).expect("a literal");
/// An AICPU entry answered something other than 0.
pub const AICPU_EXCEPTION: NonZeroU32 = NonZeroU32::new(507_018).expect("a literal");
/// A task that no host should have written.
pub const DRIVER: NonZeroU32 = NonZeroU32::new(507_899).expect("a literal");

impl Failure {
    /// A failure without an answer behind it.
    #[must_use]
    pub const fn of(code: NonZeroU32) -> Self {
        Self { code, answer: 0 }
    }

    /// Reads what a stream or an event carries; 0 is no failure.
    #[must_use]
    pub fn carried(code: u32, answer: u32) -> Option<Self> {
        NonZeroU32::new(code).map(|code| Self { code, answer })
    }
}
