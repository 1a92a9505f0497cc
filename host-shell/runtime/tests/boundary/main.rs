//! The C boundary on a platform in memory: every entry as C calls it.
//!
//! Built with and without kernel mode: what both builds have to agree on is not behind the feature.
#![cfg(not(loom))]

#[path = "../support/fake/mod.rs"]
#[expect(dead_code, reason = "the tests of contexts use more of it")]
mod fake;
#[path = "../support/image.rs"]
mod image;

mod arguments;
#[cfg_attr(not(feature = "kernel-mode"), expect(dead_code, reason = "a stub gives fewer answers"))]
mod client;
mod misuse;
#[cfg(feature = "kernel-mode")]
mod process;
mod stub;
#[cfg(feature = "kernel-mode")]
mod table;
#[cfg(feature = "kernel-mode")]
mod threads;
