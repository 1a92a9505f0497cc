/* Softmax of one block's share of the rows. */
#include "common/math.h"
#include "common/view.h"

int32_t tenon_kernel(const SimplerChipTensor *const *tensors, uint32_t tensor_count, const uint64_t *scalars,
                     uint32_t scalar_count, uint32_t block, uint32_t blocks) {
  (void)tensor_count, (void)scalars, (void)scalar_count;
  const SimplerChipTensor *x = tensors[0], *out = tensors[1];
  uint64_t rows = view_rows(out), end = block_begin(rows, block + 1, blocks);
  for (uint64_t row = block_begin(rows, block, blocks); row < end; row++)
    softmax_row(view_row(x, row), view_column_stride(x), view_row(out, row), view_columns(out));
  return 0;
}
