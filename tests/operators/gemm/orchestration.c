/* GEMM: out[m, n] = a[m, k] b[k, n], one block for each tile of the output. */
#include "common/codes.h"
#include "common/view.h"
#include "tile.h"

int32_t gemm(const TenonOperatorApi *api, const SimplerChipTensor *tensors, int32_t tensor_count,
             const uint64_t *scalars, int32_t scalar_count) {
  (void)scalars;
  if (tensor_count != 3 || scalar_count != 0) return OPERATOR_BAD_COUNTS;
  const SimplerChipTensor *a = &tensors[0], *b = &tensors[1], *out = &tensors[2];
  if (!view_is_f32(a) || !view_is_f32(b) || !view_is_f32(out)) return OPERATOR_BAD_TYPE;
  if (a->ndims != 2 || b->ndims != 2 || out->ndims != 2) return OPERATOR_BAD_SHAPE;
  if (a->shapes[0] != out->shapes[0] || b->shapes[1] != out->shapes[1] || a->shapes[1] != b->shapes[0])
    return OPERATOR_BAD_SHAPE;
  if (!out->is_contiguous) return OPERATOR_BAD_LAYOUT;

  uint64_t blocks = tiles(out->shapes[0]) * tiles(out->shapes[1]);
  if (blocks > UINT32_MAX) return OPERATOR_BAD_SHAPE;
  const uint32_t arguments[] = {0, 1, 2};
  int32_t answer = api->start(api->context, 0, arguments, 3, 0, 0, (uint32_t)blocks);
  return answer != 0 ? answer : api->wait(api->context);
}
