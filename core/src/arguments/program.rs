//! Arguments of the entries of program mode.
//!
//! The specification lists rules for kernel mode; these follow them wherever the same parameter appears.

use super::{
    ArgumentError, BinaryClaim, BinaryClaims, binaries, bytes, call_config, device_id, image, not_null, object, slot,
    task_args,
};
use crate::generation::SlotIndex;
use crate::wire::CallConfig;

/// Arguments of `simpler_init`.
#[derive(Clone, Copy, Debug)]
pub struct ProgramInit<'a> {
    /// The context's handle.
    pub context: usize,
    /// The device that the context is to own.
    pub device_id: i32,
    /// Device images, each optional.
    pub binaries: BinaryClaims,
    /// A copy of the configuration; `None`, which is allowed, for a null pointer.
    pub prewarm: Option<&'a CallConfig>,
    /// Data for the first transfer, optional.
    pub sdma_warmup: BinaryClaim,
}

/// Checks the arguments of `simpler_init`.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn init(claim: &ProgramInit<'_>) -> Result<(), ArgumentError> {
    not_null("ctx", claim.context)?;
    device_id(claim.device_id)?;
    binaries(&claim.binaries)?;
    claim.prewarm.map_or(Ok(()), call_config)?;
    bytes("sdma_warmup", claim.sdma_warmup)
}

/// Checks the arguments of the two register entries; `size` is `None` where the image's own header is trusted for it.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn register(
    context: usize,
    callable_id: i32,
    callable: usize,
    size: Option<usize>,
) -> Result<SlotIndex, ArgumentError> {
    not_null("ctx", context)?;
    not_null("callable", callable)?;
    let slot = slot(callable_id)?;
    image(callable, size)?;
    Ok(slot)
}

/// Checks the arguments of `simpler_run`; `config` is `None` for a null pointer.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn run(
    context: usize,
    callable_id: i32,
    args: usize,
    config: Option<&CallConfig>,
) -> Result<SlotIndex, ArgumentError> {
    not_null("ctx", context)?;
    not_null("args", args)?;
    let config = config.ok_or(ArgumentError::null("config"))?;
    let slot = slot(callable_id)?;
    task_args(args)?;
    call_config(config)?;
    Ok(slot)
}

/// Checks the arguments of `device_free_ctx`.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn free(context: usize, device: usize) -> Result<(), ArgumentError> {
    not_null("ctx", context)?;
    not_null("device", device)
}

/// Checks the arguments of the two copy entries. A copy of nothing needs no addresses.
///
/// # Errors
/// The first argument that breaks a rule.
pub fn copy(context: usize, device: usize, host: usize, len_bytes: usize) -> Result<(), ArgumentError> {
    not_null("ctx", context)?;
    if len_bytes == 0 {
        return Ok(());
    }
    not_null("device", device)?;
    not_null("host", host)?;
    object("size", len_bytes)
}
