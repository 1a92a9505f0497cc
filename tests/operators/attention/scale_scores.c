/* scores[h, i, j] = scale * (q[h, i] . k[h, j]) for one block's share of the rows. The scalar is the scale, a float. */
#include "common/math.h"
#include "common/view.h"

int32_t tenon_kernel(const SimplerChipTensor *const *tensors, uint32_t tensor_count, const uint64_t *scalars,
                     uint32_t scalar_count, uint32_t block, uint32_t blocks) {
  (void)tensor_count, (void)scalar_count;
  const SimplerChipTensor *q = tensors[0], *k = tensors[1], *scores = tensors[2];
  const float scale = float_from_scalar(scalars[0]);
  uint64_t queries = scores->shapes[1], keys = scores->shapes[2], width = q->shapes[2];
  uint64_t q_stride = view_column_stride(q), k_stride = view_column_stride(k);
  uint64_t rows = view_rows(scores), end = block_begin(rows, block + 1, blocks);
  for (uint64_t row = block_begin(rows, block, blocks); row < end; row++) {
    const float *query = view_row(q, row);
    float *to = view_row(scores, row);
    for (uint64_t j = 0; j < keys; j++) {
      const float *key = view_row(k, row / queries * keys + j);
      float sum = 0.0f;
      for (uint64_t i = 0; i < width; i++) sum += query[i * q_stride] * key[i * k_stride];
      to[j] = sum * scale;
    }
  }
  return 0;
}
