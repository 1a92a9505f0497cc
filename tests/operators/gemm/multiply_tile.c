/* Computes one tile of the output. */
#include "common/view.h"
#include "tile.h"

int32_t tenon_kernel(const SimplerChipTensor *const *tensors, uint32_t tensor_count, const uint64_t *scalars,
                     uint32_t scalar_count, uint32_t block, uint32_t blocks) {
  (void)tensor_count, (void)scalars, (void)scalar_count, (void)blocks;
  const SimplerChipTensor *a = tensors[0], *b = tensors[1], *out = tensors[2];
  uint64_t tiles_across = tiles(out->shapes[1]);
  uint64_t first_row = block / tiles_across * TILE, first_column = block % tiles_across * TILE;
  uint64_t rows = out->shapes[0] - first_row < TILE ? out->shapes[0] - first_row : TILE;
  uint64_t columns = out->shapes[1] - first_column < TILE ? out->shapes[1] - first_column : TILE;

  float sums[TILE][TILE];
  for (uint64_t row = 0; row < TILE; row++)
    for (uint64_t column = 0; column < TILE; column++) sums[row][column] = 0.0f;
  for (uint64_t k = 0; k < a->shapes[1]; k++) {
    /* One row of b's tile, gathered once: the inner loop then has stride 1 whatever the strides of b are. */
    float b_row[TILE];
    const float *b_from = view_row(b, k) + first_column * view_column_stride(b);
    for (uint64_t column = 0; column < TILE; column++)
      b_row[column] = column < columns ? b_from[column * view_column_stride(b)] : 0.0f;
    for (uint64_t row = 0; row < rows; row++) {
      float factor = view_row(a, first_row + row)[k * view_column_stride(a)];
      for (uint64_t column = 0; column < TILE; column++) sums[row][column] += factor * b_row[column];
    }
  }
  for (uint64_t row = 0; row < rows; row++) {
    float *to = view_row(out, first_row + row) + first_column;
    for (uint64_t column = 0; column < columns; column++) to[column] = sums[row][column];
  }
  return 0;
}
