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
  // Starts child `index` of the image over `blocks` blocks on the AICore workers. `tensors` are indices into the orchestration's
  // own tensors; `scalars` go by value. Children run in the order in which they were started; blocks beyond the number of
  // workers run in waves.
  //
  // Answers 0, or a dispatch answer with nothing started: invalid binding for an index that is out of range, no blocks, counts
  // that disagree with the child's signature, more than 16 scalars, or an input of the orchestration that the child would write.
  int32_t (*start)(void *context,
                   uint32_t index,
                   const uint32_t *tensors,
                   uint32_t tensor_count,
                   const uint64_t *scalars,
                   uint32_t scalar_count,
                   uint32_t blocks);
  // Waits for everything started so far; the first failure, or 0. What is still running when the orchestration returns is
  // waited for before the launch ends.
  int32_t (*wait)(void *context);
} TenonOperatorApi;

// An orchestration's entry: looks at its arguments and starts children. One AICPU thread enters it. Answers 0, or anything else for
// failure. Everything that it is given lives until it returns.
typedef int32_t (*TenonOrchestration)(const struct TenonOperatorApi *api,
                                      const SimplerChipTensor *tensors,
                                      int32_t tensor_count,
                                      const uint64_t *scalars,
                                      int32_t scalar_count);

// A child's entry, called once for each of `blocks` blocks, blocks in parallel. Answers 0, or anything else for failure.
typedef int32_t (*TenonChild)(const SimplerChipTensor *const *tensors,
                              uint32_t tensor_count,
                              const uint64_t *scalars,
                              uint32_t scalar_count,
                              uint32_t block,
                              uint32_t blocks);

#endif  /* TENON_OPERATOR_H */
