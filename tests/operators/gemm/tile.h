/* How gemm cuts its output: orchestration and child have to agree. */
#ifndef GEMM_TILE_H
#define GEMM_TILE_H

#include <stdint.h>

/* Rows and columns of one tile. Its accumulators are 4 KiB, which stay in the fastest cache. */
enum { TILE = 32 };

static inline uint64_t tiles(uint64_t extent) { return (extent + TILE - 1) / TILE; }

#endif
