//! What acts on an AICPU-class core: checks a packet, dispatches it, answers.
//!
//! `tenon-core` decides, this crate performs: it reads the packet, the context area and the callable's image, loads the callable's
//! code, runs the orchestration and starts its children through the table that the device process gave it.
//!
//! | module | does |
//! | --- | --- |
//! | `entry` | the nine steps of the device entry, in their order |
//! | `words` | the context area and the image, read as memory that others write |
//! | `cache` | what a part without coherent memory needs around that |
//! | `code` | a resident callable, and where its code is |
//! | `platform` | makes code callable: objects to load on Linux, code in place on bare metal |
//! | `operator` | what an orchestration starts its children with |
//! | `platform_table` | what the device process does for the shell |
//! | `log` | lines of log without `core::fmt` |
//!
//! Nothing here allocates or takes a lock. Exclusion comes from the context's busy word, and only between launches of one context.
//! A panic has nowhere to go on a device, so nothing here indexes, unwraps or divides in a way that could.

#![no_std]
#![warn(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cache;
mod code;
mod entry;
mod exports;
mod log;
mod operator;
mod platform;
mod platform_table;
mod words;

pub use entry::Shell;
pub use exports::{exec, load, unload};
pub use platform::stop;
pub use platform_table::Platform;
