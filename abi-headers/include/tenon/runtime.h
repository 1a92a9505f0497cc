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
  // Dispatch answer of the first refused launch or replay, else 0.
  int32_t first_refusal;
  // Step of the launch sequence that failed, else 0.
  int32_t failed_step;
  // Launches and replays that the device refused.
  uint64_t refusals;
  // 1: the caller's stream may not join every branch.
  uint32_t join_unproven;
  // 0
  uint32_t reserved[7];
} SimplerContextErrors;

#endif  /* TENON_RUNTIME_H */
