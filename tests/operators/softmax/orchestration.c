/* Softmax over the last axis. */
#include "common/codes.h"
#include "common/view.h"

int32_t softmax(const TenonOperatorApi *api, const SimplerChipTensor *tensors, int32_t tensor_count,
                const uint64_t *scalars, int32_t scalar_count) {
  (void)scalars;
  if (tensor_count != 2 || scalar_count != 0) return OPERATOR_BAD_COUNTS;
  const SimplerChipTensor *x = &tensors[0], *out = &tensors[1];
  if (!view_is_f32(x) || !view_is_f32(out)) return OPERATOR_BAD_TYPE;
  if (!view_has_shape_of(x, out)) return OPERATOR_BAD_SHAPE;
  if (!out->is_contiguous) return OPERATOR_BAD_LAYOUT;

  const uint32_t arguments[] = {0, 1};
  uint32_t blocks = blocks_for(view_rows(out), 1, api->aicore_count);
  int32_t answer = api->start(api->context, 0, arguments, 2, 0, 0, blocks);
  return answer != 0 ? answer : api->wait(api->context);
}
