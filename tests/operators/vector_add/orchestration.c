/* Vector add: out = a + b, element by element, for tensors of one shape. */
#include "common/codes.h"
#include "common/view.h"

/* Below this a second block costs more than it saves. */
enum { LEAST_ELEMENTS = 1024 };

int32_t vector_add(const TenonOperatorApi *api, const SimplerChipTensor *tensors, int32_t tensor_count,
                   const uint64_t *scalars, int32_t scalar_count) {
  (void)scalars;
  if (tensor_count != 3 || scalar_count != 0) return OPERATOR_BAD_COUNTS;
  const SimplerChipTensor *a = &tensors[0], *b = &tensors[1], *out = &tensors[2];
  if (!view_is_f32(a) || !view_is_f32(b) || !view_is_f32(out)) return OPERATOR_BAD_TYPE;
  if (!view_has_shape_of(a, out) || !view_has_shape_of(b, out)) return OPERATOR_BAD_SHAPE;
  if (!out->is_contiguous) return OPERATOR_BAD_LAYOUT;

  const uint32_t arguments[] = {0, 1, 2};
  uint32_t blocks = blocks_for(view_rows(out) * view_columns(out), LEAST_ELEMENTS, api->aicore_count);
  int32_t answer = api->start(api->context, 0, arguments, 3, 0, 0, blocks);
  return answer != 0 ? answer : api->wait(api->context);
}
