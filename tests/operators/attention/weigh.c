/* out[h, i] = sum over j of weights[h, i, j] v[h, j] for one block's share of the rows. */
#include "common/view.h"

int32_t tenon_kernel(const SimplerChipTensor *const *tensors, uint32_t tensor_count, const uint64_t *scalars,
                     uint32_t scalar_count, uint32_t block, uint32_t blocks) {
  (void)tensor_count, (void)scalars, (void)scalar_count;
  const SimplerChipTensor *weights = tensors[0], *v = tensors[1], *out = tensors[2];
  uint64_t queries = out->shapes[1], keys = v->shapes[1], depth = out->shapes[2];
  uint64_t rows = view_rows(out), end = block_begin(rows, block + 1, blocks);
  for (uint64_t row = block_begin(rows, block, blocks); row < end; row++) {
    const float *weight = view_row(weights, row);
    float *to = view_row(out, row);
    for (uint64_t i = 0; i < depth; i++) to[i] = 0.0f;
    for (uint64_t j = 0; j < keys; j++) {
      const float *value = view_row(v, row / queries * keys + j);
      for (uint64_t i = 0; i < depth; i++) to[i] += weight[j] * value[i * view_column_stride(v)];
    }
  }
  return 0;
}
