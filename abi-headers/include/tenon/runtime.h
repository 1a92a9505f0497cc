/*
 * Made by `cargo xtask headers` from the Rust types. Change those and not this.
 */
/*
 * The host runtime: kernel mode on a borrowed device, program mode on an owned one. Answers are 0 or a
 * code of status.h. A context serves one thread at a time: a second one gets
 * PTO_RUNTIME_ERR_INVALID_STATE and changes nothing.
 */

#ifndef TENON_RUNTIME_H
#define TENON_RUNTIME_H

#include <stddef.h>
#include <stdint.h>
#include "tenon/status.h"
#include "tenon/wire.h"
/* Alignment and packing of structures, for C and C++ alike. */
#ifndef TENON_ALIGNED
#define TENON_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define TENON_PACKED __attribute__((packed))
#endif

// Sizes of the four rings, 96 bytes. 0 leaves the choice to the platform.
typedef struct TENON_PACKED SimplerRuntimeEnv {
  // Tasks per ring: 0 or a power of two in `4..=i32::MAX`.
  uint64_t ring_task_window[4];
  // Bytes of heap per ring: 0 or at least 1024.
  uint64_t ring_heap[4];
  // Dependencies per ring: 0 or in `4..=i32::MAX`.
  uint64_t ring_dep_pool[4];
} SimplerRuntimeEnv;

// Configuration of a context, 1,144 bytes, packed.
typedef struct TENON_PACKED SimplerCallConfig {
  // 0 for the platform's choice, else `2..=8`.
  int32_t aicpu_thread_num;
  // Diagnostic, 0 or 1.
  int32_t enable_chip_swimlane;
  // Diagnostic, 0 or 1.
  int32_t enable_dump_args;
  // Diagnostic, 0 or 1.
  int32_t enable_pmu;
  // Diagnostic, 0 or 1.
  int32_t enable_dep_gen;
  // Diagnostic, 0 or 1.
  int32_t enable_scope_stats;
  // Capacity intent.
  struct SimplerRuntimeEnv runtime_env;
  // NUL-terminated path prefix; needed when a diagnostic is on.
  uint8_t output_prefix[1024];
} SimplerCallConfig;

// The error slots of a context, 64 bytes.
typedef struct SimplerContextErrors {
  // First cause of poison, else 0.
  int32_t runtime_error;
  // The vendor's own number for it.
  int32_t runtime_vendor_code;
  // First failure to release something, else 0.
  int32_t teardown_error;
  // The vendor's own number for it.
  int32_t teardown_vendor_code;
  // Dispatch answer, 2 to 9, of the first launch or replay that was refused or failed on the device, else 0.
  int32_t first_refusal;
  // Step of the launch sequence that failed, a number of `core/src/launch_steps.txt`, else 0.
  int32_t failed_step;
  // Launches and replays that were refused or failed on the device: answers 2 to 9. `InvalidArgs`, which knows no context, is
  // not counted.
  uint64_t refusals;
  // 1: the caller's stream may not join every branch.
  uint32_t join_unproven;
  // 0
  uint32_t reserved[7];
} SimplerContextErrors;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Whether this build and its platform have kernel mode: 1 or 0. May be asked of a context in any state; of what is not
// a context the answer is 0, with a line of log.
//
// The caller:
// Any value of `ctx` is allowed.
int simpler_kernel_mode_supported(void *ctx);

// Latches kernel mode and makes what a context needs on the caller's current device, which must be `device_id`.
// Nothing of the device is changed for others. `config`, where null is refused, holds for the context's life;
// `context_generation` is the caller's, not 0 and unique in its process. Each binary is optional where the platform
// brings its own.
//
// Returns 0; INVALID_ARGUMENT, UNSUPPORTED, INVALID_STATE (another mode, a second init, another device, a generation
// that is taken) or CALLABLE_COUNT_EXCEEDED (1,024 contexts had areas) with the context still fresh where it was; or
// INTERNAL when a platform call failed, with kernel mode latched for ever.
//
// The caller:
// 1. Any value of `ctx` is allowed.
// 2. Each binary is null, or readable for its size; `config` is null or readable. None is written by another thread
//    before the call returns. All are the caller's again then.
int simpler_kernel_mode_init(void *ctx,
                             int device_id,
                             const uint8_t *aicpu,
                             size_t aicpu_size,
                             const uint8_t *aicore,
                             size_t aicore_size,
                             const uint8_t *dispatcher,
                             size_t dispatcher_size,
                             const struct SimplerCallConfig *config,
                             uint64_t context_generation);

// Puts a callable into a slot, in the order of `caller_stream`: uploads the image, unless identical bytes are there,
// and writes the slot's record last. A slot that has a tenant gets the new one and a new generation, even for
// identical bytes: graphs captured before become stale. Outside capture: during one it fails, and the capture becomes
// invalid. Does not synchronise.
//
// `callable` lies at a multiple of 16. It and `caller_stream` may not be null, else INVALID_ARGUMENT; the vendor's
// default stream, which is null, cannot be borrowed.
//
// Returns 0; INVALID_ARGUMENT, INVALID_STATE, CALLABLE_COUNT_EXCEEDED (the slot is retired) or CALLABLE_BYTES_EXCEEDED
// with nothing changed; or INTERNAL when a platform call failed.
//
// The caller:
// 1. Any value of `ctx` is allowed; `caller_stream` is a live stream of the platform, which checks what it can.
// 2. `callable` is null, or readable for `callable_size` bytes, which no other thread writes before the call returns.
//    It is the caller's again then.
int simpler_kernel_mode_prepare_callable(void *ctx,
                                         int32_t callable_id,
                                         const void *callable,
                                         size_t callable_size,
                                         void *caller_stream);

// Enqueues one run of the callable in a slot, between what is on `caller_stream` and what comes next on it. Allocates
// nothing, waits for nothing, and may be captured.
//
// `args` lies at a multiple of 64. It and `caller_stream` may not be null, else INVALID_ARGUMENT. What the device
// refuses, and an operator's failure, arrive at the stream's next synchronise, as the vendor's code.
//
// Returns 0; INVALID_ARGUMENT, INVALID_STATE, CALLABLE_NOT_RESIDENT or INTERNAL with nothing enqueued; or INTERNAL
// with the context poisoned when a platform call failed after the first: `simpler_context_errors` tells which.
//
// The caller:
// 1. Any value of `ctx` is allowed; `caller_stream` is a live stream of the platform, which checks what it can.
// 2. `args` is null, or readable, and no other thread writes it before the call returns. It is the caller's again
//    then.
int simpler_kernel_mode_launch(void *ctx,
                               int32_t callable_id,
                               const SimplerChipStorageTaskArgs *args,
                               void *caller_stream);

// Empties a slot, in the order of `caller_stream`, which may not be null. A launch that comes later is refused; one
// that was accepted runs to its end, for the image stays until the context closes. Outside capture: during one it
// fails, and the capture becomes invalid.
//
// Returns 0, INVALID_ARGUMENT, INVALID_STATE, CALLABLE_NOT_RESIDENT, or INTERNAL when a platform call failed.
//
// The caller:
// Any value of `ctx` is allowed; `caller_stream` is a live stream of the platform, which checks what it can.
int simpler_kernel_mode_release_callable(void *ctx,
                                         int32_t callable_id,
                                         void *caller_stream);

// Tells the generation of a slot's tenant. Never disturbs a call that another thread has inside the context.
//
// Returns 0, INVALID_ARGUMENT, INVALID_STATE or CALLABLE_NOT_RESIDENT; `generation` is written only with 0.
//
// The caller:
// Any value of `ctx` is allowed; `generation` is null or eight bytes are writable there.
int simpler_kernel_mode_slot_generation(void *ctx,
                                        int32_t callable_id,
                                        uint64_t *generation);

// Makes a context without a mode. The first init entry gives it one, for ever.
//
// Returns a handle, to be given to `destroy_device_context` when the context is fresh again or closed; null when 4,096
// contexts exist. The handle is not an address. It may be used from any thread of this process, and not in a forked
// child.
void *create_device_context(void);

// Destroys a context that has no mode yet, or is closed, or finalized. Makes no platform call.
//
// Returns 0; INVALID_STATE when the context is in another state or a thread is inside; INVALID_ARGUMENT when `ctx` is
// not a context, or not any more.
//
// The caller:
// Any value of `ctx` is allowed.
int destroy_device_context(void *ctx);

// Closes a context in either mode: releases what it made, or what an earlier call has left. In kernel mode nothing of
// the device is changed for others, and it comes before the device is reset. A lost device does not keep a context
// open.
//
// Returns 0, also for a context without a mode or one that is closed; INVALID_STATE, with nothing freed, while the
// device is busy with the context or a thread is inside: call again; INTERNAL when something could not be released:
// call again.
//
// The caller:
// Any value of `ctx` is allowed.
int finalize_device(void *ctx);

// Tells what has gone wrong in a context so far. May be asked in any state, and never disturbs a call that another
// thread has inside.
//
// Returns 0 or INVALID_ARGUMENT; `out` is written only with 0.
//
// The caller:
// Any value of `ctx` is allowed; `out` is null or 64 bytes are writable there.
int simpler_context_errors(void *ctx,
                           struct SimplerContextErrors *out);

// The name of a code that an entry answered, as text for people.
//
// Returns a terminated text that stays for ever, never null.
const char *simpler_status_name(int code);

// Latches program mode, and starts the device `device_id` for this context. A context whose init failed may try again.
//
// Returns 0, also for a context that was finalized; INVALID_ARGUMENT, UNSUPPORTED, or INVALID_STATE (kernel mode,
// initialised already); or INTERNAL when a platform call failed. `prewarm` may be null. `enable_sdma` and its warm-up
// data are hints, which a platform without such an engine passes over.
//
// The caller:
// 1. Any value of `ctx` is allowed.
// 2. Each binary and `sdma_warmup` is null, or readable for its size; `prewarm` is null or readable. None is written
//    by another thread before the call returns. All are the caller's again then.
int simpler_init(void *ctx,
                 int device_id,
                 const uint8_t *aicpu,
                 size_t aicpu_size,
                 const uint8_t *aicore,
                 size_t aicore_size,
                 const uint8_t *dispatcher,
                 size_t dispatcher_size,
                 const struct SimplerCallConfig *prewarm,
                 int enable_sdma,
                 const void *sdma_warmup,
                 uint64_t sdma_warmup_size);

// Puts a callable into a slot; the image's own header is trusted for its size. `simpler_register_callable_sized` is
// the one to use.
//
// Returns as `simpler_register_callable_sized`.
//
// The caller:
// 1. Any value of `ctx` is allowed.
// 2. `callable` is null, or points to an image that is all there, as long as its header says. No other thread writes
//    it before the call returns. It is the caller's again then.
int simpler_register_callable(void *ctx,
                              int32_t callable_id,
                              const void *callable);

// Puts a callable into a slot. `callable` lies at a multiple of 16 and is not null.
//
// Returns 0; INVALID_ARGUMENT, INVALID_STATE, CALLABLE_COUNT_EXCEEDED (the slot is retired) or CALLABLE_BYTES_EXCEEDED
// with nothing changed; or INTERNAL when a platform call failed.
//
// The caller:
// 1. Any value of `ctx` is allowed.
// 2. `callable` is null, or readable for `size` bytes, which no other thread writes before the call returns. It is the
//    caller's again then.
int simpler_register_callable_sized(void *ctx,
                                    int32_t callable_id,
                                    const void *callable,
                                    size_t size);

// Empties a slot. An id that names nothing is nothing to do.
//
// Returns 0, INVALID_ARGUMENT, INVALID_STATE, or INTERNAL when a platform call failed.
//
// The caller:
// Any value of `ctx` is allowed.
int simpler_unregister_callable(void *ctx, int32_t callable_id);

// Runs the callable in a slot and waits for its end. `args`, at a multiple of 64, and `config` may not be null.
//
// Returns 0; INVALID_ARGUMENT, INVALID_STATE, CALLABLE_NOT_RESIDENT or PREPARED_INCOMPATIBLE (`aicpu_thread_num`, where
// 0 is no opinion, or one of the five diagnostics is not that of the context) with nothing run; the device's answer as −(900 + answer); or INTERNAL when a platform call failed.
//
// The caller:
// 1. Any value of `ctx` is allowed.
// 2. `args` and `config` are null or readable, and no other thread writes them before the call returns. They are the
//    caller's again then.
int simpler_run(void *ctx,
                int32_t callable_id,
                const SimplerChipStorageTaskArgs *args,
                const struct SimplerCallConfig *config);

// Allocates device memory.
//
// Returns a device address, which the host must not dereference, to be given to `device_free_ctx`; null on failure,
// with a line of log.
//
// The caller:
// Any value of `ctx` is allowed.
void *device_malloc_ctx(void *ctx,
                        size_t size);

// Gives device memory back.
//
// Returns 0, INVALID_ARGUMENT (also for what this context did not allocate), INVALID_STATE, or INTERNAL when a
// platform call failed.
//
// The caller:
// Any value of `ctx` and of `device` is allowed.
int device_free_ctx(void *ctx,
                    void *device);

// Copies from the host to the device, and returns when it is done.
//
// Returns 0, INVALID_ARGUMENT (also for device memory that this context did not allocate), INVALID_STATE, or INTERNAL
// when a platform call failed. A copy of size 0 looks at no address.
//
// The caller:
// 1. Any value of `ctx` and of `device` is allowed.
// 2. `host` is null, or readable for `size` bytes, which no other thread writes before the call returns.
int copy_to_device_ctx(void *ctx,
                       void *device,
                       const void *host,
                       size_t size);

// Copies from the device to the host, and returns when it is done.
//
// Returns as `copy_to_device_ctx`.
//
// The caller:
// 1. Any value of `ctx` and of `device` is allowed.
// 2. `host` is null, or writable for `size` bytes, which no other thread uses before the call returns.
int copy_from_device_ctx(void *ctx,
                         void *host,
                         const void *device,
                         size_t size);

// Bytes of device memory that the context holds: the caller's own, images and the arena.
//
// Returns 0 for what is not a program context, with a line of log.
//
// The caller:
// Any value of `ctx` is allowed.
size_t committed_device_memory_ctx(void *ctx);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TENON_RUNTIME_H */
