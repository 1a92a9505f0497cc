//! The host runtime on the simulated device, as a caller's program uses it.
//!

mod faults;
mod launches;
mod program;
mod replays;
mod session;
