//! Contexts of both modes on a platform that can fail any call.
//!
#![cfg(not(loom))]

#[path = "../support/image.rs"]
mod image;

mod arena;
mod close;
mod fake;
mod init;
mod launch;
mod modes;
mod prepare;
mod program;
mod setup;
