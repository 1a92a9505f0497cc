//! The vendor library's host side: what a program calls to use a simulated device.
//!
//! | module | what |
//! | --- | --- |
//! | [`device`] | devices of the process, counted use, the thread's current one |
//! | [`session`], [`process`], [`mapping`] | one life of a device: its process and the memory shared with it |
//! | [`fork`] | what a forked child may not inherit |
//! | [`stream`], [`event`], [`ticket`], [`wait`] | tasks into rings, order between streams, waiting and waking |
//! | [`memory`], [`allocator`], [`copy`] | who owns which range, and moving bytes |
//! | [`capture`], [`graph`] | recording streams, and replaying them on the device |
//! | [`binary`] | AICPU images, launches, context areas |
//! | [`fault`], [`error`], [`settings`], [`handle`] | counting and failing calls, codes, the environment, handles |
//!
//! The functions of the C interface are in [`ffi`](crate::ffi), one line each; what they do is here.

pub mod allocator;
pub mod binary;
pub mod capture;
pub mod copy;
pub mod device;
pub mod error;
pub mod event;
pub mod fault;
pub mod fork;
pub mod graph;
pub mod handle;
pub mod mapping;
pub mod memory;
pub mod process;
pub mod session;
pub mod settings;
pub mod stream;
pub mod ticket;
pub mod wait;
