//! The device process, driven through its shared files alone.
//!

mod aicore;
mod life;
mod machine;
mod replays;
mod streams;
mod task;
