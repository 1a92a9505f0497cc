/* Normalises one block's share of the rows. The scalar is epsilon, a float. */
#include "common/math.h"
#include "common/view.h"

int32_t tenon_kernel(const SimplerChipTensor *const *tensors, uint32_t tensor_count, const uint64_t *scalars,
                     uint32_t scalar_count, uint32_t block, uint32_t blocks) {
  (void)tensor_count, (void)scalar_count;
  const SimplerChipTensor *x = tensors[0], *weight = tensors[1], *out = tensors[2];
  const float epsilon = float_from_scalar(scalars[0]);
  const float *scale = view_data(weight);
  uint64_t rows = view_rows(out), columns = view_columns(out);
  uint64_t stride = view_column_stride(x), scale_stride = view_column_stride(weight);
  uint64_t end = block_begin(rows, block + 1, blocks);
  for (uint64_t row = block_begin(rows, block, blocks); row < end; row++) {
    const float *from = view_row(x, row);
    float *to = view_row(out, row), squares = 0.0f;
    for (uint64_t column = 0; column < columns; column++) squares += from[column * stride] * from[column * stride];
    float factor = 1.0f / __builtin_sqrtf(squares / (float)columns + epsilon);
    for (uint64_t column = 0; column < columns; column++)
      to[column] = from[column * stride] * factor * scale[column * scale_stride];
  }
  return 0;
}
