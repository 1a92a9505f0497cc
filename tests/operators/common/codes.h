/* What an operator's orchestration answers when it cannot run. Above 99, so that it is never mistaken for a dispatch answer. */
#ifndef OPERATOR_CODES_H
#define OPERATOR_CODES_H

enum {
  OPERATOR_BAD_COUNTS = 100, /* tensors or scalars: not as many as the operator takes */
  OPERATOR_BAD_TYPE = 101,   /* a tensor is not f32 */
  OPERATOR_BAD_SHAPE = 102,  /* shapes do not fit each other, or there are too many blocks */
  OPERATOR_BAD_LAYOUT = 103, /* an output is not contiguous */
};

#endif
