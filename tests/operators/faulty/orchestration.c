/* An operator that goes wrong as it is told: tensors [trace inout, other in], scalars [behaviour, argument]. */
#include "behaviour.h"

/* One start of the child. What a case does not name is right. */
typedef struct Start {
  uint32_t child, tensor, tensors, scalars, blocks;
  uint64_t behaviour, argument;
} Start;

static int32_t told(uint32_t *words, int32_t answer) {
  __atomic_store_n(&words[TOLD], (uint32_t)answer, __ATOMIC_RELEASE);
  return answer;
}

static int32_t start(const TenonOperatorApi *api, uint32_t *words, Start how) {
  uint64_t values[32] = {how.behaviour, how.argument};
  return told(words, api->start(api->context, how.child, &how.tensor, how.tensors, values, how.scalars, how.blocks));
}

static int32_t start_and_wait(const TenonOperatorApi *api, uint32_t *words, Start how) {
  int32_t answer = start(api, words, how);
  return answer != 0 ? answer : told(words, api->wait(api->context));
}

int32_t faulty(const TenonOperatorApi *api, const SimplerChipTensor *tensors, int32_t tensor_count,
               const uint64_t *scalars, int32_t scalar_count) {
  if (tensor_count != 2 || scalar_count != 2) return 100;
  uint32_t *words = trace(&tensors[0]);
  __atomic_add_fetch(&words[ENTERED], 1, __ATOMIC_ACQ_REL);
  __atomic_store_n(&words[IDENTITY], FAULTY_IDENTITY, __ATOMIC_RELEASE);

  uint64_t argument = scalars[1];
  uint32_t number = (uint32_t)argument;
  Start how = {.tensors = 1, .scalars = 2, .blocks = 1, .behaviour = CHILD_ANSWERS};
  switch (scalars[0]) {
  case SUCCEED:
    return start_and_wait(api, words, how);
  case FAIL:
    return (int32_t)number;
  case CHILD_FAILS:
    how.argument = argument;
    return start_and_wait(api, words, how);
  case SWALLOW_CHILD:
    how.argument = argument;
    start_and_wait(api, words, how);
    return 0;
  case BAD_CHILD:
    how.child = number;
    return start(api, words, how);
  case BAD_TENSOR:
    how.tensor = number;
    return start(api, words, how);
  case NO_BLOCKS:
    how.blocks = 0;
    return start(api, words, how);
  case MISSING_TENSOR:
    how.tensors = 0;
    return start(api, words, how);
  case MISSING_SCALAR:
    how.scalars = 1;
    return start(api, words, how);
  case MANY_SCALARS:
    how.scalars = number;
    return start(api, words, how);
  case IN_AS_INOUT:
    how.tensor = 1;
    return start(api, words, how);
  case SWALLOW_BAD_CHILD:
    how.child = number;
    start(api, words, how);
    return 0;
  case LEAVE_RUNNING:
    how.behaviour = CHILD_WAITS_AT_GATE;
    start(api, words, how);
    return 0;
  case WAIT_AT_GATE:
    wait_at_gate(words);
    return start_and_wait(api, words, how);
  case LEAVE_FAILING:
    how.argument = argument;
    start(api, words, how);
    return 0;
  case MANY_BLOCKS:
    how.blocks = number;
    return start_and_wait(api, words, how);
  default:
    return 101;
  }
}
