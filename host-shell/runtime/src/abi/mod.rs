//! The C boundary: every entry, and the only sum of the two modes.
//!
//! An entry is short: the arguments are checked by the one function that every build shares, the handle finds its
//! context, and the context does the rest. [`fence`] is around all of it: whatever goes wrong becomes one code and one
//! line of log, and nothing unwinds into C.
//!
//! A handle is a number and is never dereferenced, so null, misaligned, forged and destroyed ones are told, not
//! suffered. What cannot be checked is what C promises of its own memory; each entry says it under `# Safety`.
//!
//! | module | what |
//! | --- | --- |
//! | [`export`] | the list of entries |
//! | [`lifecycle`], [`program`], [`kernel`] | the entries |
//! | [`fence`], [`failure`], [`status`] | from what went wrong to a code and a line |
//! | [`handle`], [`registry`] | from a number to a context |
//! | [`context`] | the sum of the modes |
//! | [`claim`] | from C's pointers to slices and copies |

mod handle;
mod registry;

// Loom's atomics cannot lie in statics, so under it the table is tested alone.
#[cfg(not(loom))]
mod claim;
#[cfg(not(loom))]
mod context;
#[cfg(not(loom))]
mod export;
#[cfg(not(loom))]
mod failure;
#[cfg(not(loom))]
mod fence;
#[cfg(not(loom))]
mod kernel;
#[cfg(not(loom))]
mod lifecycle;
#[cfg(not(loom))]
mod program;
#[cfg(not(loom))]
mod status;

#[cfg(not(loom))]
pub use {export::EXPORTS, kernel::*, lifecycle::*, program::*};
