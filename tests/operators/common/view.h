/* Views of device memory: what the operators share.
 *
 * Inputs may have any strides. Outputs are contiguous: an element that two indices reach would be written by two blocks at once.
 * It also bounds every count here, since a contiguous tensor's elements all lie in its backing memory. */
#ifndef OPERATOR_VIEW_H
#define OPERATOR_VIEW_H

#include <tenon/operator.h>

/* First element of the view. */
static inline float *view_data(const SimplerChipTensor *tensor) {
  return (float *)(uintptr_t)tensor->addr + tensor->start_offset;
}

static inline int view_is_f32(const SimplerChipTensor *tensor) { return tensor->dtype == SIMPLER_DATA_TYPE_F32; }

static inline int view_has_shape_of(const SimplerChipTensor *tensor, const SimplerChipTensor *other) {
  if (tensor->ndims != other->ndims) return 0;
  for (uint32_t axis = 0; axis < tensor->ndims; axis++)
    if (tensor->shapes[axis] != other->shapes[axis]) return 0;
  return 1;
}

/* Elements along the last axis: a row. */
static inline uint64_t view_columns(const SimplerChipTensor *tensor) { return tensor->shapes[tensor->ndims - 1]; }

/* Elements from one column to the next. */
static inline uint64_t view_column_stride(const SimplerChipTensor *tensor) { return tensor->strides[tensor->ndims - 1]; }

/* Rows of all outer axes together. */
static inline uint64_t view_rows(const SimplerChipTensor *tensor) {
  uint64_t rows = 1;
  for (uint32_t axis = 0; axis + 1 < tensor->ndims; axis++) rows *= tensor->shapes[axis];
  return rows;
}

/* First element of row `row`, counted over all outer axes with the last of them fastest. */
static inline float *view_row(const SimplerChipTensor *tensor, uint64_t row) {
  uint64_t offset = 0;
  for (uint32_t axis = tensor->ndims - 1; axis-- > 0;) {
    offset += row % tensor->shapes[axis] * tensor->strides[axis];
    row /= tensor->shapes[axis];
  }
  return view_data(tensor) + offset;
}

/* First of `count` items that block `block` of `blocks` works on; its last ends where the next block begins. */
static inline uint64_t block_begin(uint64_t count, uint32_t block, uint32_t blocks) {
  uint64_t each = count / blocks, rest = count % blocks;
  return each * block + (block < rest ? block : rest);
}

/* Blocks for `items`: no more than there are cores, each with at least `least` items where there are that many. */
static inline uint32_t blocks_for(uint64_t items, uint64_t least, uint32_t cores) {
  uint64_t wanted = items / least;
  if (wanted > cores) wanted = cores;
  return wanted == 0 ? 1 : (uint32_t)wanted;
}

#endif
