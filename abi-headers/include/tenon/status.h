/*
 * Made by `cargo xtask headers` from the Rust types. Change those and not this.
 */
/*
 * The codes that the host runtime and the device answer with. A number never gets a second meaning.
 * Codes latched on the device are -1..-999, among them -(900 + dispatch answer); those of the host
 * runtime are -1000 and below. 0 is success in both.
 */

#ifndef TENON_STATUS_H
#define TENON_STATUS_H

#include <stddef.h>
#include <stdint.h>

// What an entry of the host runtime answers when it does not answer 0 (`PTO_RUNTIME_ERR_*`).
enum PtoRuntimeErr
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // A fault of the runtime or its platform. Elsewhere read as "this card is poisoned".
  PTO_RUNTIME_ERR_INTERNAL = -1000,
  // This build or this platform cannot do it.
  PTO_RUNTIME_ERR_UNSUPPORTED = -1001,
  // A run prepared under another configuration.
  PTO_RUNTIME_ERR_PREPARED_INCOMPATIBLE = -1002,
  // The call does not fit the mode or the phase of the context, or another thread is inside.
  PTO_RUNTIME_ERR_INVALID_STATE = -1003,
  // An argument breaks a rule; nothing was changed.
  PTO_RUNTIME_ERR_INVALID_ARGUMENT = -1004,
  // No slot, or a retired one; or no context area is left.
  PTO_RUNTIME_ERR_CALLABLE_COUNT_EXCEEDED = -1005,
  // More than 512 MiB of unique images in one context.
  PTO_RUNTIME_ERR_CALLABLE_BYTES_EXCEEDED = -1006,
  // The slot is empty.
  PTO_RUNTIME_ERR_CALLABLE_NOT_RESIDENT = -1007,
  // Reserved: stale is the device's answer.
  PTO_RUNTIME_ERR_CALLABLE_STALE = -1008,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum PtoRuntimeErr PtoRuntimeErr;
#else
typedef int32_t PtoRuntimeErr;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What the device entry answers, in the order of its checks.
enum SimplerDispatchAnswer
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // The callable ran.
  SIMPLER_DISPATCH_ANSWER_SUCCESS = 0,
  // The packet breaks a rule, or names no registered context (steps 1–4).
  SIMPLER_DISPATCH_ANSWER_INVALID_ARGS = 1,
  // The slot's record names nothing that can run (step 5).
  SIMPLER_DISPATCH_ANSWER_NOT_RESIDENT = 2,
  // The slot has another tenant than the packet names (step 6).
  SIMPLER_DISPATCH_ANSWER_STALE = 3,
  // Code of a kind or machine that this build cannot run (step 7).
  SIMPLER_DISPATCH_ANSWER_UNSUPPORTED_PAYLOAD = 4,
  // The counts do not fit the callable (step 7), or a child was started with arguments that do not fit it.
  SIMPLER_DISPATCH_ANSWER_INVALID_BINDING = 5,
  // The callable or one of its children reported failure.
  SIMPLER_DISPATCH_ANSWER_EXECUTION_FAILED = 6,
  // It ran; releasing its working state failed.
  SIMPLER_DISPATCH_ANSWER_CLEANUP_FAILED = 7,
  // Another launch of the same context is executing.
  SIMPLER_DISPATCH_ANSWER_BUSY = 8,
  // The context was cancelled.
  SIMPLER_DISPATCH_ANSWER_POISONED = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum SimplerDispatchAnswer SimplerDispatchAnswer;
#else
typedef uint32_t SimplerDispatchAnswer;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

#endif  /* TENON_STATUS_H */
