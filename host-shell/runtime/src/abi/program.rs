//! The entries of program mode: a device of one's own.
//!

use core::ffi::{c_int, c_void};
use core::slice;

use tenon_core::arguments;
use tenon_core::generation::SlotIndex;
use tenon_core::wire::{CallConfig, StorageTaskArgs};

use super::claim::{self, Claimed, ClaimedImages};
use super::failure::Failure;
use super::fence::{enter, fence};
use crate::primitive::size;
use crate::program::ProgramInit;

/// Latches program mode, and starts the device `device_id` for this context. A context whose init failed may try again.
///
/// Returns 0, also for a context that was finalized; INVALID_ARGUMENT, UNSUPPORTED, or INVALID_STATE (kernel mode,
/// initialised already); or INTERNAL when a platform call failed. `prewarm` may be null. `enable_sdma` and its warm-up
/// data are hints, which a platform without such an engine passes over.
///
/// # Safety
/// 1. Any value of `ctx` is allowed.
/// 2. Each binary and `sdma_warmup` is null, or readable for its size; `prewarm` is null or readable. None is written
///    by another thread before the call returns. All are the caller's again then.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_init(
    ctx: *mut c_void,
    device_id: c_int,
    aicpu: *const u8,
    aicpu_size: usize,
    aicore: *const u8,
    aicore_size: usize,
    dispatcher: *const u8,
    dispatcher_size: usize,
    prewarm: *const CallConfig,
    enable_sdma: c_int,
    sdma_warmup: *const c_void,
    sdma_warmup_size: u64,
) -> c_int {
    fence("simpler_init", || {
        let claimed = ClaimedImages {
            aicpu: Claimed::new(aicpu, aicpu_size),
            aicore: Claimed::new(aicore, aicore_size),
            dispatcher: Claimed::new(dispatcher, dispatcher_size),
        };
        // SAFETY: 2. of this function.
        let prewarm = unsafe { claim::config(prewarm) };
        arguments::program_init(&arguments::ProgramInit {
            context: ctx.addr(),
            device_id,
            binaries: claimed.claim(),
            prewarm: prewarm.as_ref(),
            sdma_warmup: arguments::BinaryClaim {
                address: sdma_warmup.addr(),
                // A size that does not fit an address is larger than any object, and is refused as such.
                len_bytes: usize::try_from(sdma_warmup_size).unwrap_or(usize::MAX),
            },
        })?;
        let _ = enable_sdma;
        // SAFETY: the check above has passed, and 2. of this function.
        let images = unsafe { claimed.images() };
        let prewarm = prewarm.as_ref();
        enter(ctx, |context| context.init_program(&ProgramInit { device_id, images, prewarm }))?;
        Ok(0)
    })
}

/// Puts a callable into a slot; the image's own header is trusted for its size. `simpler_register_callable_sized` is
/// the one to use.
///
/// Returns as `simpler_register_callable_sized`.
///
/// # Safety
/// 1. Any value of `ctx` is allowed.
/// 2. `callable` is null, or points to an image that is all there, as long as its header says. No other thread writes
///    it before the call returns. It is the caller's again then.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_register_callable(
    ctx: *mut c_void,
    callable_id: i32,
    callable: *const c_void,
) -> c_int {
    fence("simpler_register_callable", || {
        let slot = arguments::program_register(ctx.addr(), callable_id, callable.addr(), None)?;
        // SAFETY: not null, see the check above, and 2. of this function.
        let image = unsafe { claim::image_by_its_header(callable.cast()) };
        // SAFETY: as above; a header's size is at most three times 4 GiB.
        let image = unsafe { image.bytes() };
        register(ctx, slot, image)
    })
}

/// Puts a callable into a slot. `callable` lies at a multiple of 16 and is not null.
///
/// Returns 0; INVALID_ARGUMENT, INVALID_STATE, CALLABLE_COUNT_EXCEEDED (the slot is retired) or CALLABLE_BYTES_EXCEEDED
/// with nothing changed; or INTERNAL when a platform call failed.
///
/// # Safety
/// 1. Any value of `ctx` is allowed.
/// 2. `callable` is null, or readable for `size` bytes, which no other thread writes before the call returns. It is the
///    caller's again then.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_register_callable_sized(
    ctx: *mut c_void,
    callable_id: i32,
    callable: *const c_void,
    size: usize,
) -> c_int {
    fence("simpler_register_callable_sized", || {
        let slot = arguments::program_register(ctx.addr(), callable_id, callable.addr(), Some(size))?;
        // SAFETY: the check above has passed, and 2. of this function.
        let image = unsafe { Claimed::new(callable.cast(), size).bytes() };
        register(ctx, slot, image)
    })
}

/// Empties a slot. An id that names nothing is nothing to do.
///
/// Returns 0, INVALID_ARGUMENT, INVALID_STATE, or INTERNAL when a platform call failed.
///
/// # Safety
/// Any value of `ctx` is allowed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_unregister_callable(ctx: *mut c_void, callable_id: i32) -> c_int {
    fence("simpler_unregister_callable", || {
        arguments::context_only(ctx.addr())?;
        enter(ctx, |context| {
            let program = context.program()?;
            SlotIndex::from_id(callable_id).map_or(Ok(()), |slot| program.unregister(slot))?;
            Ok(0)
        })
    })
}

/// Runs the callable in a slot and waits for its end. `args`, at a multiple of 64, and `config` may not be null.
///
/// Returns 0; INVALID_ARGUMENT, INVALID_STATE, CALLABLE_NOT_RESIDENT or PREPARED_INCOMPATIBLE (`aicpu_thread_num`, where
/// 0 is no opinion, or one of the five diagnostics is not that of the context) with nothing run; the device's answer as −(900 + answer); or INTERNAL when a platform call failed.
///
/// # Safety
/// 1. Any value of `ctx` is allowed.
/// 2. `args` and `config` are null or readable, and no other thread writes them before the call returns. They are the
///    caller's again then.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn simpler_run(
    ctx: *mut c_void,
    callable_id: i32,
    args: *const StorageTaskArgs,
    config: *const CallConfig,
) -> c_int {
    fence("simpler_run", || {
        // SAFETY: 2. of this function.
        let config = unsafe { claim::config(config) };
        let slot = arguments::program_run(ctx.addr(), callable_id, args.addr(), config.as_ref())?;
        // SAFETY: the check above has passed, and 2. of this function.
        let args = unsafe { claim::task_args(args) };
        let config = config.unwrap_or_default();
        enter(ctx, |context| {
            context.program()?.run(slot, args, &config)?;
            Ok(0)
        })
    })
}

/// Allocates device memory.
///
/// Returns a device address, which the host must not dereference, to be given to `device_free_ctx`; null on failure,
/// with a line of log.
///
/// # Safety
/// Any value of `ctx` is allowed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn device_malloc_ctx(ctx: *mut c_void, size: usize) -> *mut c_void {
    fence("device_malloc_ctx", || {
        arguments::context_only(ctx.addr())?;
        let address = enter(ctx, |context| Ok(context.program()?.malloc(size as u64)?))?;
        Ok(claim::device_pointer(address))
    })
}

/// Gives device memory back.
///
/// Returns 0, INVALID_ARGUMENT (also for what this context did not allocate), INVALID_STATE, or INTERNAL when a
/// platform call failed.
///
/// # Safety
/// Any value of `ctx` and of `device` is allowed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn device_free_ctx(ctx: *mut c_void, device: *mut c_void) -> c_int {
    fence("device_free_ctx", || {
        arguments::program_free(ctx.addr(), device.addr())?;
        enter(ctx, |context| {
            context.program()?.free(claim::device_address(device))?;
            Ok(0)
        })
    })
}

/// Copies from the host to the device, and returns when it is done.
///
/// Returns 0, INVALID_ARGUMENT (also for device memory that this context did not allocate), INVALID_STATE, or INTERNAL
/// when a platform call failed. A copy of size 0 looks at no address.
///
/// # Safety
/// 1. Any value of `ctx` and of `device` is allowed.
/// 2. `host` is null, or readable for `size` bytes, which no other thread writes before the call returns.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn copy_to_device_ctx(
    ctx: *mut c_void,
    device: *mut c_void,
    host: *const c_void,
    size: usize,
) -> c_int {
    fence("copy_to_device_ctx", || {
        arguments::program_copy(ctx.addr(), device.addr(), host.addr(), size)?;
        // SAFETY: the check above has passed, and 2. of this function.
        let host = unsafe { Claimed::new(host.cast(), size).bytes() };
        enter(ctx, |context| {
            let program = context.program()?;
            if size != 0 {
                program.copy_in(claim::device_address(device), host)?;
            }
            Ok(0)
        })
    })
}

/// Copies from the device to the host, and returns when it is done.
///
/// Returns as `copy_to_device_ctx`.
///
/// # Safety
/// 1. Any value of `ctx` and of `device` is allowed.
/// 2. `host` is null, or writable for `size` bytes, which no other thread uses before the call returns.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn copy_from_device_ctx(
    ctx: *mut c_void,
    host: *mut c_void,
    device: *const c_void,
    size: usize,
) -> c_int {
    fence("copy_from_device_ctx", || {
        arguments::program_copy(ctx.addr(), device.addr(), host.addr(), size)?;
        enter(ctx, |context| {
            let program = context.program()?;
            if size == 0 {
                return Ok(0);
            }
            // SAFETY:
            // 1. `host` is not null and `size` at most `isize::MAX`: the check above. A byte needs no alignment.
            // 2. It is writable for `size` bytes that nobody else uses until the call returns: 2. of this function.
            // 3. What was there before is initialised: it is memory that C gave, and only written here.
            let host = unsafe { slice::from_raw_parts_mut(host.cast::<u8>(), size) };
            program.copy_out(host, claim::device_address(device))?;
            Ok(0)
        })
    })
}

/// Bytes of device memory that the context holds: the caller's own, images and the arena.
///
/// Returns 0 for what is not a program context, with a line of log.
///
/// # Safety
/// Any value of `ctx` is allowed.
#[cfg_attr(feature = "export", unsafe(no_mangle))]
pub unsafe extern "C" fn committed_device_memory_ctx(ctx: *mut c_void) -> usize {
    fence("committed_device_memory_ctx", || {
        arguments::context_only(ctx.addr())?;
        let bytes = enter(ctx, |context| Ok(context.program()?.committed_bytes()))?;
        Ok(size(bytes))
    })
}

fn register(ctx: *mut c_void, slot: SlotIndex, image: &[u8]) -> Result<c_int, Failure> {
    enter(ctx, |context| {
        context.program()?.register(slot, image)?;
        Ok(0)
    })
}
