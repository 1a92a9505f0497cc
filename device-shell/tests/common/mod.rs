//! A device process in miniature, for tests of the shell.
//!

#![allow(dead_code, unused_imports, unreachable_pub, reason = "every test program uses a part of it")]

mod context;
mod device;
mod faulty;
mod image;
mod memory;

pub use context::{Context, Packet, Verdicts, contiguous};
pub use device::{Device, Workers};
pub use faulty::{Behaviour, Faulty};
pub use image::{Image, Operator};
pub use memory::Mapping;
