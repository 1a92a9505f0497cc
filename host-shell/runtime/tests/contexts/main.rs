//! Contexts of both modes on a platform that can fail any call.
//!
#![cfg(not(loom))]

#[path = "../support/fake/mod.rs"]
mod fake;
#[path = "../support/image.rs"]
mod image;

mod arena;
mod close;
mod init;
mod launch;
mod modes;
mod prepare;
mod program;
mod setup;
