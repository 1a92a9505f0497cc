/*
 * Made by `cargo xtask headers` from the Rust types. Change those and not this.
 */
/*
 * What an operator's code includes. An orchestration runs on the AICPU-class core under the name that the
 * image gives; a child is called `tenon_kernel` and runs on the AICore workers, once per block, blocks in
 * parallel. Both answer 0, or anything else for failure. Every pointer is device memory and lives until
 * the launch has ended.
 */

#ifndef TENON_OPERATOR_H
#define TENON_OPERATOR_H

#include <stddef.h>
#include <stdint.h>
#include "tenon/wire.h"

// What an orchestration is given to start its children with.
typedef struct TenonOperatorApi {
  // Bytes of this table, as the device built it.
  uint32_t size;
  // AICore workers.
  uint32_t aicore_count;
  // Handed back in every call.
  void *context;
  // Starts child `index` over `blocks` blocks; 0 or a dispatch answer.
  int32_t (*start)(void *context,
                   uint32_t index,
                   const uint32_t *tensors,
                   uint32_t tensor_count,
                   const uint64_t *scalars,
                   uint32_t scalar_count,
                   uint32_t blocks);
  // Waits for everything started so far; the first failure, or 0.
  int32_t (*wait)(void *context);
} TenonOperatorApi;

// An orchestration's entry.
typedef int32_t (*TenonOrchestration)(const struct TenonOperatorApi *api,
                                      const SimplerChipTensor *tensors,
                                      int32_t tensor_count,
                                      const uint64_t *scalars,
                                      int32_t scalar_count);

// A child's entry, called once per block.
typedef int32_t (*TenonChild)(const SimplerChipTensor *const *tensors,
                              uint32_t tensor_count,
                              const uint64_t *scalars,
                              uint32_t scalar_count,
                              uint32_t block,
                              uint32_t blocks);

#endif  /* TENON_OPERATOR_H */
