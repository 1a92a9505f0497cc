/* What the faulty operator can be told to do, and where it leaves its traces. Tests repeat these numbers. */
#ifndef FAULTY_BEHAVIOUR_H
#define FAULTY_BEHAVIOUR_H

#include <tenon/operator.h>

/* First scalar of the orchestration; the second is its argument. */
enum {
  SUCCEED = 0,            /* runs the child once and waits for it */
  FAIL = 1,               /* answers the argument and starts nothing */
  CHILD_FAILS = 2,        /* the child answers the argument; the orchestration passes on what it is told */
  SWALLOW_CHILD = 3,      /* the same, but the orchestration answers 0 */
  BAD_CHILD = 4,          /* starts child number `argument` */
  BAD_TENSOR = 5,         /* names tensor number `argument` */
  NO_BLOCKS = 6,          /* starts the child over 0 blocks */
  MISSING_TENSOR = 7,     /* one tensor too few for the child's signature */
  MISSING_SCALAR = 8,     /* one scalar too few for the child's signature */
  MANY_SCALARS = 9,       /* `argument` scalars */
  IN_AS_INOUT = 10,       /* gives an input of its own where the child writes */
  SWALLOW_BAD_CHILD = 11, /* starts child number `argument` and answers 0 */
  LEAVE_RUNNING = 12,     /* starts a child that waits at the gate, answers 0 without waiting for it */
  WAIT_AT_GATE = 13,      /* waits at the gate itself, then succeeds */
  LEAVE_FAILING = 14,     /* starts a child that fails, answers 0 without waiting for it */
  MANY_BLOCKS = 15,       /* the child over `argument` blocks */
};

/* First scalar of the child; the second is what it answers. */
enum { CHILD_ANSWERS = 0, CHILD_WAITS_AT_GATE = 1 };

/* Words of the first tensor, u32. */
enum {
  GATE = 0,     /* non-zero opens it */
  ENTERED = 1,  /* orchestrations that have begun */
  BLOCKS = 2,   /* child blocks that have ended */
  IDENTITY = 3, /* FAULTY_IDENTITY of the code that ran last */
  TOLD = 4,     /* what the last call of the operator interface answered */
  WORDS = 5,
};

/* Which build this is; tests tell one tenant of a slot from the next by it. */
#ifndef FAULTY_IDENTITY
#define FAULTY_IDENTITY 1
#endif

static inline uint32_t *trace(const SimplerChipTensor *tensor) {
  return (uint32_t *)(uintptr_t)tensor->addr + tensor->start_offset;
}

static inline void wait_at_gate(const uint32_t *words) {
  while (__atomic_load_n(&words[GATE], __ATOMIC_ACQUIRE) == 0) {
  }
}

#endif
