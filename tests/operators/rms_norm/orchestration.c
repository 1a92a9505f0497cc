/* RMSNorm over the last axis: out = x / sqrt(mean(x * x) + epsilon) * weight. */
#include "common/codes.h"
#include "common/view.h"

int32_t rms_norm(const TenonOperatorApi *api, const SimplerChipTensor *tensors, int32_t tensor_count,
                 const uint64_t *scalars, int32_t scalar_count) {
  if (tensor_count != 3 || scalar_count != 1) return OPERATOR_BAD_COUNTS;
  const SimplerChipTensor *x = &tensors[0], *weight = &tensors[1], *out = &tensors[2];
  if (!view_is_f32(x) || !view_is_f32(weight) || !view_is_f32(out)) return OPERATOR_BAD_TYPE;
  if (!view_has_shape_of(x, out)) return OPERATOR_BAD_SHAPE;
  if (weight->ndims != 1 || view_columns(weight) != view_columns(out)) return OPERATOR_BAD_SHAPE;
  if (!out->is_contiguous) return OPERATOR_BAD_LAYOUT;

  const uint32_t arguments[] = {0, 1, 2};
  uint32_t blocks = blocks_for(view_rows(out), 1, api->aicore_count);
  int32_t answer = api->start(api->context, 0, arguments, 3, scalars, 1, blocks);
  return answer != 0 ? answer : api->wait(api->context);
}
