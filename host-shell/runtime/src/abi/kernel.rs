//! The entries of kernel mode: a borrowed device and the caller's stream.
//!

use core::ffi::{c_int, c_void};

use tenon_core::arguments;
use tenon_core::entries::{Action, Entry, action};
use tenon_core::wire::{CallConfig, StorageTaskArgs};

use super::claim::{self, Claimed, ClaimedImages};
use super::failure::Failure;
use super::fence::{enter, fence};
use crate::kernel::KernelInit;

/// Whether this build and its platform have kernel mode: 1 or 0. May be asked of a context in any state; of what is not
/// a context the answer is 0, with a line of log.
///
/// # Safety
/// Any value of `ctx` is allowed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_kernel_mode_supported(ctx: *mut c_void) -> c_int {
    const ENTRY: &str = "simpler_kernel_mode_supported";
    // A code would be read as "yes", so a failure is a line of log and "no".
    let answer = fence(ENTRY, || {
        arguments::context_only(ctx.addr())?;
        enter(ctx, |context| Ok(c_int::from(context.has_kernel_mode()?)))
    });
    answer.max(0)
}

/// Latches kernel mode and makes what a context needs on the caller's current device, which must be `device_id`.
/// Nothing of the device is changed for others. `config`, where null is refused, holds for the context's life;
/// `context_generation` is the caller's, not 0 and unique in its process. Each binary is optional where the platform
/// brings its own.
///
/// Returns 0; INVALID_ARGUMENT, UNSUPPORTED, INVALID_STATE (another mode, a second init, another device, a generation
/// that is taken) or CALLABLE_COUNT_EXCEEDED (1,024 contexts had areas) with the context still fresh where it was; or
/// INTERNAL when a platform call failed, with kernel mode latched for ever.
///
/// # Safety
/// 1. Any value of `ctx` is allowed.
/// 2. Each binary is null, or readable for its size; `config` is null or readable. None is written by another thread
///    before the call returns. All are the caller's again then.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_kernel_mode_init(
    ctx: *mut c_void,
    device_id: c_int,
    aicpu: *const u8,
    aicpu_size: usize,
    aicore: *const u8,
    aicore_size: usize,
    dispatcher: *const u8,
    dispatcher_size: usize,
    config: *const CallConfig,
    context_generation: u64,
) -> c_int {
    fence("simpler_kernel_mode_init", || {
        let claimed = ClaimedImages {
            aicpu: Claimed::new(aicpu, aicpu_size),
            aicore: Claimed::new(aicore, aicore_size),
            dispatcher: Claimed::new(dispatcher, dispatcher_size),
        };
        // SAFETY: 2. of this function.
        let config = unsafe { claim::config(config) };
        arguments::kernel_init(&arguments::KernelInit {
            context: ctx.addr(),
            device_id,
            binaries: claimed.claim(),
            config: config.as_ref(),
            context_generation,
        })?;
        let runtime_env = config.map(|config| config.runtime_env).unwrap_or_default();
        // SAFETY: the check above has passed, and 2. of this function.
        let images = unsafe { claimed.images() };
        enter(ctx, |context| context.init_kernel(&KernelInit { device_id, context_generation, runtime_env }, images))?;
        Ok(0)
    })
}

/// Puts a callable into a slot, in the order of `caller_stream`: uploads the image, unless identical bytes are there,
/// and writes the slot's record last. A slot that has a tenant gets the new one and a new generation, even for
/// identical bytes: graphs captured before become stale. Outside capture: during one it fails, and the capture becomes
/// invalid. Does not synchronise.
///
/// `callable` lies at a multiple of 16. It and `caller_stream` may not be null, else INVALID_ARGUMENT; the vendor's
/// default stream, which is null, cannot be borrowed.
///
/// Returns 0; INVALID_ARGUMENT, INVALID_STATE, CALLABLE_COUNT_EXCEEDED (the slot is retired) or CALLABLE_BYTES_EXCEEDED
/// with nothing changed; or INTERNAL when a platform call failed.
///
/// # Safety
/// 1. Any value of `ctx` is allowed; `caller_stream` is a live stream of the platform, which checks what it can.
/// 2. `callable` is null, or readable for `callable_size` bytes, which no other thread writes before the call returns.
///    It is the caller's again then.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_kernel_mode_prepare_callable(
    ctx: *mut c_void,
    callable_id: i32,
    callable: *const c_void,
    callable_size: usize,
    caller_stream: *mut c_void,
) -> c_int {
    fence("simpler_kernel_mode_prepare_callable", || {
        let checked = arguments::prepare(
            ctx.addr(),
            callable_id,
            callable.addr(),
            callable_size,
            caller_stream.expose_provenance(),
        )?;
        // SAFETY: the check above has passed, and 2. of this function.
        let image = unsafe { Claimed::new(callable.cast(), callable_size).bytes() };
        enter(ctx, |context| {
            context.kernel()?.prepare(checked.slot, image, checked.stream)?;
            Ok(0)
        })
    })
}

/// Enqueues one run of the callable in a slot, between what is on `caller_stream` and what comes next on it. Allocates
/// nothing, waits for nothing, and may be captured.
///
/// `args` lies at a multiple of 64. It and `caller_stream` may not be null, else INVALID_ARGUMENT. What the device
/// refuses, and an operator's failure, arrive at the stream's next synchronise, as the vendor's code.
///
/// Returns 0; INVALID_ARGUMENT, INVALID_STATE, CALLABLE_NOT_RESIDENT or INTERNAL with nothing enqueued; or INTERNAL
/// with the context poisoned when a platform call failed after the first: `simpler_context_errors` tells which.
///
/// # Safety
/// 1. Any value of `ctx` is allowed; `caller_stream` is a live stream of the platform, which checks what it can.
/// 2. `args` is null, or readable, and no other thread writes it before the call returns. It is the caller's again
///    then.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_kernel_mode_launch(
    ctx: *mut c_void,
    callable_id: i32,
    args: *const StorageTaskArgs,
    caller_stream: *mut c_void,
) -> c_int {
    fence("simpler_kernel_mode_launch", || {
        let checked = arguments::launch(ctx.addr(), callable_id, args.addr(), caller_stream.expose_provenance())?;
        // SAFETY: the check above has passed, and 2. of this function.
        let args = unsafe { claim::task_args(args) };
        enter(ctx, |context| {
            context.kernel()?.launch(checked.slot, args, checked.stream)?;
            Ok(0)
        })
    })
}

/// Empties a slot, in the order of `caller_stream`, which may not be null. A launch that comes later is refused; one
/// that was accepted runs to its end, for the image stays until the context closes. Outside capture: during one it
/// fails, and the capture becomes invalid.
///
/// Returns 0, INVALID_ARGUMENT, INVALID_STATE, CALLABLE_NOT_RESIDENT, or INTERNAL when a platform call failed.
///
/// # Safety
/// Any value of `ctx` is allowed; `caller_stream` is a live stream of the platform, which checks what it can.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_kernel_mode_release_callable(
    ctx: *mut c_void,
    callable_id: i32,
    caller_stream: *mut c_void,
) -> c_int {
    fence("simpler_kernel_mode_release_callable", || {
        let checked = arguments::release(ctx.addr(), callable_id, caller_stream.expose_provenance())?;
        enter(ctx, |context| {
            context.kernel()?.release(checked.slot, checked.stream)?;
            Ok(0)
        })
    })
}

/// Tells the generation of a slot's tenant. Never disturbs a call that another thread has inside the context.
///
/// Returns 0, INVALID_ARGUMENT, INVALID_STATE or CALLABLE_NOT_RESIDENT; `generation` is written only with 0.
///
/// # Safety
/// Any value of `ctx` is allowed; `generation` is null or eight bytes are writable there.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_kernel_mode_slot_generation(
    ctx: *mut c_void,
    callable_id: i32,
    generation: *mut u64,
) -> c_int {
    fence("simpler_kernel_mode_slot_generation", || {
        let slot = arguments::slot_generation(ctx.addr(), callable_id, generation.addr())?;
        let tenant = enter(ctx, |context| {
            let kernel = context.kernel()?;
            match action(Entry::SlotGeneration, kernel.state()) {
                Action::Works => Ok(kernel.slot_generation(slot)?),
                _ => Err(Failure::Closed),
            }
        })?;
        // SAFETY: not null, see the check above, and writable: this function's contract.
        unsafe { claim::write_out(generation, tenant.to_bits()) };
        Ok(0)
    })
}
