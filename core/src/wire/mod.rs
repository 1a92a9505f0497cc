//! Structures that cross a boundary, exactly as they lie in memory.
//!
//! Each is plain data with the layout of the specification, pinned here field by field. They are claims: the modules that check
//! them make values of other types. Names for C are the ones in the documentation of each type.

mod args;
mod config;
mod errors;
mod packet;
mod tensor;

pub use args::StorageTaskArgs;
pub use config::{CallConfig, RuntimeEnv};
pub use errors::ContextErrors;
pub use packet::{DispatchPrefix, InvocationHeader, Mode};
pub use tensor::{AddressSpace, DataType, Tensor};

/// Most tensors in one invocation.
pub const MAX_TENSORS: usize = 256;
/// Most scalars in one invocation.
pub const MAX_SCALARS: usize = 128;
/// Most tensors and scalars together.
pub const MAX_ARGUMENTS: usize = 256;
/// Slots of a context's callable table.
pub const SLOTS: usize = 64;
/// Bytes of the dispatch prefix with its header; the payload follows.
pub const PREFIX_BYTES: usize = 56;
/// Bytes of the largest packet: 128 scalars and 128 tensors, or 256 tensors.
pub const MAX_PACKET_BYTES: usize = PREFIX_BYTES + MAX_TENSORS * 128;
