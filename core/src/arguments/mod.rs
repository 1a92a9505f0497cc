//! Arguments: the first check of every entry, the same in every build.
//!
//! Addresses come as numbers, because nothing here looks behind one. Within an entry the rules are asked in the order
//! in which the specification lists them, so every build names the same argument first. Nothing is changed by asking.
//!
//! # Not here
//!
//! What an image or a tensor says is *contents*: it is asked after mode and phase, see the modules for callables and
//! packets.

mod config;
mod error;
mod program;

pub use config::call_config;
pub use error::{ArgumentError, Found};
pub use program::{
    ProgramInit, copy as program_copy, free as program_free, init as program_init, register as program_register,
    run as program_run,
};

use crate::generation::SlotIndex;
use crate::vocabulary::StreamId;
use crate::wire::CallConfig;

/// Alignment of a callable image in the caller's memory.
pub const IMAGE_ALIGN: usize = 16;
/// Bytes of a callable's header: the least that an image can have.
pub const IMAGE_HEADER_BYTES: usize = 9376;
/// Alignment of the arguments of a launch.
pub const TASK_ARGS_ALIGN: usize = 64;

/// One of the three binaries of an init entry, as the caller names it.
#[derive(Clone, Copy, Debug, Default)]
pub struct BinaryClaim {
    /// Where it is; 0 for none.
    pub address: usize,
    /// How long it is, in bytes; 0 for none.
    pub len_bytes: usize,
}

/// The three binaries of an init entry.
#[derive(Clone, Copy, Debug, Default)]
pub struct BinaryClaims {
    /// The device shell's image.
    pub aicpu: BinaryClaim,
    /// The AICore image.
    pub aicore: BinaryClaim,
    /// The dispatcher.
    pub dispatcher: BinaryClaim,
}

/// Arguments of `simpler_kernel_mode_init`.
#[derive(Clone, Copy, Debug)]
pub struct KernelInit<'a> {
    /// The context's handle.
    pub context: usize,
    /// The device that the context is to borrow.
    pub device_id: i32,
    /// Device images, each optional.
    pub binaries: BinaryClaims,
    /// A copy of the configuration; `None` for a null pointer.
    pub config: Option<&'a CallConfig>,
    /// What the caller minted for this context.
    pub context_generation: u64,
}

/// A slot and a stream that were checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnStream {
    /// Where in the callable table.
    pub slot: SlotIndex,
    /// The caller's stream.
    pub stream: StreamId,
}

/// The largest object that a program can have in its memory, in bytes.
const MAX_OBJECT_BYTES: usize = isize::MAX as usize;

/// Checks the arguments of `simpler_kernel_mode_init`.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn kernel_init(claim: &KernelInit<'_>) -> Result<(), ArgumentError> {
    not_null("ctx", claim.context)?;
    let Some(config) = claim.config else {
        return Err(ArgumentError::null("config"));
    };
    device_id(claim.device_id)?;
    if claim.context_generation == 0 {
        return Err(ArgumentError::new("context_generation", Found::Number(0), "a number that is not 0"));
    }
    binaries(&claim.binaries)?;
    call_config(config)
}

/// Checks the arguments of `simpler_kernel_mode_prepare_callable`.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn prepare(
    context: usize,
    callable_id: i32,
    callable: usize,
    callable_size: usize,
    caller_stream: usize,
) -> Result<OnStream, ArgumentError> {
    not_null("ctx", context)?;
    not_null("callable", callable)?;
    let stream = stream(caller_stream)?;
    let slot = slot(callable_id)?;
    image(callable, Some(callable_size))?;
    Ok(OnStream { slot, stream })
}

/// Checks the arguments of `simpler_kernel_mode_launch`.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn launch(context: usize, callable_id: i32, args: usize, caller_stream: usize) -> Result<OnStream, ArgumentError> {
    not_null("ctx", context)?;
    not_null("args", args)?;
    let stream = stream(caller_stream)?;
    let slot = slot(callable_id)?;
    task_args(args)?;
    Ok(OnStream { slot, stream })
}

/// Checks the arguments of `simpler_kernel_mode_release_callable`.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn release(context: usize, callable_id: i32, caller_stream: usize) -> Result<OnStream, ArgumentError> {
    not_null("ctx", context)?;
    let stream = stream(caller_stream)?;
    let slot = slot(callable_id)?;
    Ok(OnStream { slot, stream })
}

/// Checks the arguments of `simpler_kernel_mode_slot_generation`.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn slot_generation(context: usize, callable_id: i32, generation: usize) -> Result<SlotIndex, ArgumentError> {
    not_null("ctx", context)?;
    not_null("generation", generation)?;
    slot(callable_id)
}

/// Checks the arguments of `simpler_context_errors`.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn context_errors(context: usize, out: usize) -> Result<(), ArgumentError> {
    not_null("ctx", context)?;
    not_null("out", out)
}

/// Checks the arguments of the entries that take nothing but a context.
///
/// # Errors
/// A null context.
pub fn context_only(context: usize) -> Result<(), ArgumentError> {
    not_null("ctx", context)
}

fn not_null(argument: &'static str, address: usize) -> Result<(), ArgumentError> {
    if address == 0 { Err(ArgumentError::null(argument)) } else { Ok(()) }
}

fn device_id(id: i32) -> Result<(), ArgumentError> {
    if id < 0 { Err(ArgumentError::new("device_id", Found::Signed(id.into()), "0 or more")) } else { Ok(()) }
}

fn stream(caller_stream: usize) -> Result<StreamId, ArgumentError> {
    StreamId::from_bits(caller_stream).ok_or(ArgumentError::null("caller_stream"))
}

fn slot(callable_id: i32) -> Result<SlotIndex, ArgumentError> {
    let found = Found::Signed(callable_id.into());
    SlotIndex::from_id(callable_id).ok_or(ArgumentError::new("callable_id", found, "0..=63"))
}

fn image(address: usize, len_bytes: Option<usize>) -> Result<(), ArgumentError> {
    if let Some(len) = len_bytes.filter(|len| *len < IMAGE_HEADER_BYTES) {
        return Err(ArgumentError::new("callable_size", Found::Number(len as u64), "at least 9376 bytes"));
    }
    object("callable_size", len_bytes.unwrap_or(0))?;
    aligned("callable", address, IMAGE_ALIGN, "a multiple of 16")
}

fn task_args(address: usize) -> Result<(), ArgumentError> {
    aligned("args", address, TASK_ARGS_ALIGN, "a multiple of 64")
}

fn aligned(argument: &'static str, address: usize, align: usize, expected: &'static str) -> Result<(), ArgumentError> {
    if address.is_multiple_of(align) {
        Ok(())
    } else {
        Err(ArgumentError::new(argument, Found::Address(address as u64), expected))
    }
}

fn binaries(claims: &BinaryClaims) -> Result<(), ArgumentError> {
    bytes("aicpu", claims.aicpu)?;
    bytes("aicore", claims.aicore)?;
    bytes("dispatcher", claims.dispatcher)
}

/// A pointer and a size that come and go together.
fn bytes(argument: &'static str, claim: BinaryClaim) -> Result<(), ArgumentError> {
    match (claim.address, claim.len_bytes) {
        (0, 0) => Ok(()),
        (0, len) => Err(ArgumentError::new(argument, Found::NullWithSize(len as u64), "a pointer, or size 0 for none")),
        (_, 0) => Err(ArgumentError::new(argument, Found::EmptyAtAddress, "a size, or a null pointer for none")),
        (_, len) => object(argument, len),
    }
}

/// No object is larger: such a size is a negative number that lost its sign, and nothing that long could be read.
fn object(argument: &'static str, len_bytes: usize) -> Result<(), ArgumentError> {
    if len_bytes <= MAX_OBJECT_BYTES {
        Ok(())
    } else {
        Err(ArgumentError::new(argument, Found::Size(len_bytes as u64), "a size that an object in memory can have"))
    }
}

#[cfg(test)]
mod tests;
