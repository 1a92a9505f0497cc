//! The command as its users run it: exit codes, messages, files.
//!

mod buffer;
mod launch;
mod pack;
mod show;
mod support;
