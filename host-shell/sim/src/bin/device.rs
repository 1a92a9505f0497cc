//! The simulated device's process; everything it does is in `tenon_sim::device`.
//!

use std::process::ExitCode;

use tenon_sim::device::allocations::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    tenon_sim::device::start::main()
}
