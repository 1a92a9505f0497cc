/* Attention: out = softmax(q k^T * scale) v for each head, chained through three children.
 *
 * q is [heads, queries, width], k [heads, keys, width], v [heads, keys, depth]. The caller gives room for the scores,
 * [heads, queries, keys], since a launch allocates nothing; they hold the weights afterwards. */
#include "common/codes.h"
#include "common/view.h"

enum { Q, K, V, SCORES, OUT, TENSORS };
enum { SCALE_SCORES, SOFTMAX, WEIGH };

/* Starts one child over all rows of all heads. */
static int32_t start(const TenonOperatorApi *api, uint32_t child, const uint32_t *arguments, uint32_t argument_count,
                     const uint64_t *scalars, uint32_t scalar_count, const SimplerChipTensor *out) {
  uint32_t blocks = blocks_for(view_rows(out), 1, api->aicore_count);
  return api->start(api->context, child, arguments, argument_count, scalars, scalar_count, blocks);
}

int32_t attention(const TenonOperatorApi *api, const SimplerChipTensor *tensors, int32_t tensor_count,
                  const uint64_t *scalars, int32_t scalar_count) {
  if (tensor_count != TENSORS || scalar_count != 1) return OPERATOR_BAD_COUNTS;
  for (int i = 0; i < TENSORS; i++) {
    if (!view_is_f32(&tensors[i])) return OPERATOR_BAD_TYPE;
    if (tensors[i].ndims != 3 || tensors[i].shapes[0] != tensors[Q].shapes[0]) return OPERATOR_BAD_SHAPE;
  }
  const uint32_t *q = tensors[Q].shapes, *k = tensors[K].shapes, *v = tensors[V].shapes;
  const uint32_t *scores = tensors[SCORES].shapes, *out = tensors[OUT].shapes;
  if (q[2] != k[2] || k[1] != v[1]) return OPERATOR_BAD_SHAPE;
  if (scores[1] != q[1] || scores[2] != k[1]) return OPERATOR_BAD_SHAPE;
  if (out[1] != q[1] || out[2] != v[2]) return OPERATOR_BAD_SHAPE;
  if (!tensors[SCORES].is_contiguous || !tensors[OUT].is_contiguous) return OPERATOR_BAD_LAYOUT;

  /* Children run in the order in which they are started, so nothing has to be waited for in between. */
  const uint32_t scale_scores[] = {Q, K, SCORES}, softmax[] = {SCORES}, weigh[] = {SCORES, V, OUT};
  int32_t answer = start(api, SCALE_SCORES, scale_scores, 3, scalars, 1, &tensors[SCORES]);
  if (answer == 0) answer = start(api, SOFTMAX, softmax, 1, 0, 0, &tensors[SCORES]);
  if (answer == 0) answer = start(api, WEIGH, weigh, 3, 0, 0, &tensors[OUT]);
  return answer != 0 ? answer : api->wait(api->context);
}
