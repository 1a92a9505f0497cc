/* The faulty operator's child: answers what its second scalar says. */
#include "behaviour.h"

int32_t tenon_kernel(const SimplerChipTensor *const *tensors, uint32_t tensor_count, const uint64_t *scalars,
                     uint32_t scalar_count, uint32_t block, uint32_t blocks) {
  (void)tensor_count, (void)scalar_count, (void)block, (void)blocks;
  uint32_t *words = trace(tensors[0]);
  if (scalars[0] == CHILD_WAITS_AT_GATE) wait_at_gate(words);
  __atomic_add_fetch(&words[BLOCKS], 1, __ATOMIC_ACQ_REL);
  return (int32_t)scalars[1];
}
