/* The little mathematics that the operators need, without a library: device code links against nothing. */
#ifndef OPERATOR_MATH_H
#define OPERATOR_MATH_H

#include <stdint.h>

/* The float whose bits are the low half of a scalar. */
static inline float float_from_scalar(uint64_t scalar) {
  union {
    uint32_t bits;
    float value;
  } both = {.bits = (uint32_t)scalar};
  return both.value;
}

/* e to the `x` for x <= 0, to about 2 units in the last place; below the smallest normal float it is 0. NaN stays NaN. */
static inline float exp_of_nonpositive(float x) {
  if (!(x >= -87.0f)) return x < -87.0f ? 0.0f : x;
  /* x = n ln 2 + r with |r| <= ln 2 / 2. ln 2 is split so that n times its upper part is exact. */
  int32_t n = (int32_t)(x * 1.44269504f - 0.5f);
  float r = (x - (float)n * 0.693359375f) + (float)n * 2.12194440e-4f;
  /* The Taylor sum: its first missing term, r^8 / 8!, is below 6e-9. */
  float sum = 1.0f / 5040.0f;
  sum = sum * r + 1.0f / 720.0f;
  sum = sum * r + 1.0f / 120.0f;
  sum = sum * r + 1.0f / 24.0f;
  sum = sum * r + 1.0f / 6.0f;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  union {
    uint32_t bits;
    float value;
  } scale = {.bits = (uint32_t)(n + 127) << 23};
  return sum * scale.value;
}

/* Softmax of one row of `columns` elements. `out` may be `in`. */
static inline void softmax_row(const float *in, uint64_t in_stride, float *out, uint64_t columns) {
  float max = in[0];
  for (uint64_t column = 1; column < columns; column++)
    if (in[column * in_stride] > max) max = in[column * in_stride];
  float sum = 0.0f;
  for (uint64_t column = 0; column < columns; column++) {
    out[column] = exp_of_nonpositive(in[column * in_stride] - max);
    sum += out[column];
  }
  for (uint64_t column = 0; column < columns; column++) out[column] /= sum;
}

#endif
