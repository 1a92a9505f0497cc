/*
 * What a C program does to run operators: borrow a device and a stream, initialise kernel mode, launch, capture, replay.
 *
 *   demo BUILD DATA
 *
 * BUILD is what `cargo xtask build` made; DATA/NAME/ holds the inputs `0.npy`, `1.npy`, … of each operator and what an
 * independent program in double precision says it ought to compute, `expected.npy`. Exits with 0 only when every result
 * agrees and the replay of a graph whose slot has a new tenant was refused.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "npy.h"
#include "tenon/runtime.h"
#include "tenon/sim.h"

/* Largest error, relative to the expected value where that is above 1: some roundings of single precision in sums of a
 * hundred terms of size 1. */
#define ERROR_BOUND 1e-5
#define REPLAYS 1000
#define MAX_INPUTS 3

typedef struct Operator {
  const char *name;
  int input_count;
  int has_scores; /* room for the scores of attention, between inputs and output */
  int scalar_count;
  float scalar;
  /* What follows is filled in by `load`. */
  char *image;
  size_t image_bytes;
  NpyArray inputs[MAX_INPUTS], expected;
  void *output; /* device memory */
  float *result;
  SimplerChipStorageTaskArgs *args;
  double max_error;
} Operator;

static Operator operators[] = {
    {.name = "vector_add", .input_count = 2},
    {.name = "rms_norm", .input_count = 2, .scalar_count = 1, .scalar = 1e-5f},
    {.name = "softmax", .input_count = 1},
    {.name = "gemm", .input_count = 2},
    {.name = "attention", .input_count = 3, .has_scores = 1, .scalar_count = 1, .scalar = 0.125f},
};
enum { OPERATORS = sizeof(operators) / sizeof(operators[0]) };
/* The slot that gets another tenant, and the operator that becomes it. */
enum { VECTOR_ADD = 0, SOFTMAX = 2 };

static void *context, *stream;
static int launches;

/* A call of the simulated device that must succeed. */
static void sim(int code, const char *what) {
  if (code == 0) return;
  fprintf(stderr, "%s: %d %s: %s\n", what, code, tenon_sim_error_name(code), tenon_sim_recent_error_message());
  exit(1);
}

/* A call of the runtime that must succeed. */
static void runtime(int code, const char *what) {
  if (code == 0) return;
  SimplerContextErrors errors = {0};
  simpler_context_errors(context, &errors);
  fprintf(stderr, "%s: %d %s (vendor's code %d)\n", what, code, simpler_status_name(code), errors.runtime_vendor_code);
  exit(1);
}

#define SIM(call) sim(call, #call)
#define RUNTIME(call) runtime(call, #call)

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* A row-major view of all of `memory`. */
static SimplerChipTensor contiguous(void *memory, uint32_t ndims, const uint32_t *shape) {
  SimplerChipTensor tensor = {.addr = (uint64_t)(uintptr_t)memory,
                              .ndims = ndims,
                              .dtype = SIMPLER_DATA_TYPE_F32,
                              .is_contiguous = 1,
                              .address_space = SIMPLER_ADDRESS_SPACE_DEVICE,
                              .extent_elem = 1};
  for (uint32_t axis = ndims; axis-- > 0;) {
    tensor.shapes[axis] = shape[axis];
    tensor.strides[axis] = (uint32_t)tensor.extent_elem;
    tensor.extent_elem *= shape[axis];
  }
  tensor.size = tensor.extent_elem * sizeof(float);
  return tensor;
}

/* Device memory for a tensor of that shape, as the next argument. */
static void *add_tensor(Operator *op, uint32_t ndims, const uint32_t *shape) {
  SimplerChipTensor tensor = contiguous(NULL, ndims, shape);
  void *memory;
  SIM(tenon_sim_malloc(&memory, tensor.size));
  tensor.addr = (uint64_t)(uintptr_t)memory;
  op->args->tensors[op->args->tensor_count++] = tensor;
  return memory;
}

/* Reads image, inputs and expected output, and lays the arguments out in device memory. */
static void load(Operator *op, const char *build, const char *data) {
  char path[4096];
  snprintf(path, sizeof path, "%s/operators/%s/%s.callable", build, op->name, op->name);
  op->image = npy_read_file(path, &op->image_bytes);
  op->args = aligned_alloc(64, sizeof *op->args);
  if (op->args == NULL) npy_refuse(path, "enough memory");
  memset(op->args, 0, sizeof *op->args);
  for (int i = 0; i < op->input_count; i++) {
    snprintf(path, sizeof path, "%s/%s/%d.npy", data, op->name, i);
    NpyArray *input = &op->inputs[i];
    *input = npy_read(path, "<f4");
    void *memory = add_tensor(op, input->ndims, input->shape);
    SIM(tenon_sim_memcpy(memory, input->bytes, input->elements, input->bytes,
                         TENON_SIM_COPY_KIND_HOST_TO_DEVICE));
  }
  snprintf(path, sizeof path, "%s/%s/expected.npy", data, op->name);
  op->expected = npy_read(path, "<f8");
  if (op->has_scores) {
    const uint32_t *q = op->inputs[0].shape, *k = op->inputs[1].shape;
    add_tensor(op, 3, (const uint32_t[]){q[0], q[1], k[1]});
  }
  op->output = add_tensor(op, op->expected.ndims, op->expected.shape);
  void *result; /* pinned, so that copies into it are in stream order */
  SIM(tenon_sim_malloc_host(&result, op->expected.count * sizeof(float)));
  op->result = result;
  uint32_t bits; /* a float travels in the low half of its scalar */
  memcpy(&bits, &op->scalar, sizeof bits);
  op->args->scalar_count = op->scalar_count;
  op->args->scalars[0] = op->scalar_count > 0 ? bits : 0;
}

/* Makes every output something that no operator computes: each byte 0xff is NaN. */
static void spoil_outputs(void) {
  for (Operator *op = operators; op < operators + OPERATORS; op++) {
    size_t bytes = op->expected.count * sizeof(float);
    SIM(tenon_sim_memset_async(op->output, bytes, 0xff, bytes, stream));
  }
}

static void fetch_outputs(void) {
  for (Operator *op = operators; op < operators + OPERATORS; op++) {
    size_t bytes = op->expected.count * sizeof(float);
    SIM(tenon_sim_memcpy_async(op->result, bytes, op->output, bytes, TENON_SIM_COPY_KIND_DEVICE_TO_HOST, stream));
  }
}

static void launch(Operator *op, int slot) {
  RUNTIME(simpler_kernel_mode_launch(context, slot, op->args, stream));
  launches++;
}

static int is_spoilt(const Operator *op) {
  for (size_t i = 0; i < op->expected.count; i++)
    if (!isnan(op->result[i])) return 0;
  return 1;
}

/* Compares a fetched result; ends the program when it is not what it ought to be. */
static void check(Operator *op, const char *when) {
  const double *expected = op->expected.elements;
  for (size_t i = 0; i < op->expected.count; i++) {
    double error = fabs(op->result[i] - expected[i]) / fmax(1.0, fabs(expected[i]));
    if (!(error <= ERROR_BOUND)) { /* so written that NaN fails */
      fprintf(stderr, "%s %s: element %zu is %.9g, expected %.9g\n", when, op->name, i, op->result[i], expected[i]);
      exit(1);
    }
    op->max_error = fmax(op->max_error, error);
  }
}

static void check_all(const char *when) {
  for (Operator *op = operators; op < operators + OPERATORS; op++) check(op, when);
}

static void print_shape(const NpyArray *array) {
  char text[64] = "";
  for (uint32_t axis = 0; axis < array->ndims; axis++) {
    size_t used = strlen(text);
    snprintf(text + used, sizeof text - used, axis == 0 ? "%u" : "x%u", array->shape[axis]);
  }
  printf("  %-14s", text);
}

/* Each operator by itself. */
static void launch_each(void) {
  printf("%-12s  %-14s  %-14s  %12s  %s\n", "operator", "first input", "output", "first launch", "max error");
  spoil_outputs();
  for (int slot = 0; slot < OPERATORS; slot++) {
    Operator *op = &operators[slot];
    RUNTIME(simpler_kernel_mode_prepare_callable(context, slot, op->image, op->image_bytes, stream));
    SIM(tenon_sim_synchronize_stream(stream));
    double start = seconds();
    launch(op, slot);
    SIM(tenon_sim_synchronize_stream(stream));
    double took = seconds() - start;
    fetch_outputs();
    SIM(tenon_sim_synchronize_stream(stream));
    check(op, "launch of");
    printf("%-12s", op->name);
    print_shape(&op->inputs[0]);
    print_shape(&op->expected);
    printf("  %9.3f ms  %.2e\n", took * 1e3, op->max_error);
  }
}

/* All operators in one graph. */
static void *capture(void) {
  void *graph;
  SIM(tenon_sim_capture_begin(stream, TENON_SIM_CAPTURE_MODE_GLOBAL));
  for (int slot = 0; slot < OPERATORS; slot++) launch(&operators[slot], slot);
  SIM(tenon_sim_capture_end(stream, &graph));
  return graph;
}

/* Replays, and checks every result of every replay. */
static void replay(void *graph) {
  double in_replays = 0;
  for (int i = 0; i < REPLAYS; i++) {
    spoil_outputs();
    SIM(tenon_sim_synchronize_stream(stream));
    double start = seconds();
    SIM(tenon_sim_graph_launch(graph, stream));
    SIM(tenon_sim_synchronize_stream(stream));
    in_replays += seconds() - start;
    fetch_outputs();
    SIM(tenon_sim_synchronize_stream(stream));
    check_all("replay of");
  }
  printf("\ngraph of %d launches: %d replays, %.3f ms each, every result checked\n", OPERATORS, REPLAYS,
         in_replays / REPLAYS * 1e3);
}

/* Puts softmax into the slot of vector_add: the graph still names the old tenant. The number of refusals that it gave. */
static uint64_t replay_over_a_new_tenant(void *graph) {
  Operator *old = &operators[VECTOR_ADD], *new = &operators[SOFTMAX];
  uint64_t before, after;
  RUNTIME(simpler_kernel_mode_slot_generation(context, VECTOR_ADD, &before));
  RUNTIME(simpler_kernel_mode_prepare_callable(context, VECTOR_ADD, new->image, new->image_bytes, stream));
  RUNTIME(simpler_kernel_mode_slot_generation(context, VECTOR_ADD, &after));
  spoil_outputs();
  SIM(tenon_sim_synchronize_stream(stream));
  SIM(tenon_sim_graph_launch(graph, stream));
  int refused = tenon_sim_synchronize_stream(stream);
  SimplerContextErrors errors;
  RUNTIME(simpler_context_errors(context, &errors));
  fetch_outputs();
  SIM(tenon_sim_synchronize_stream(stream));
  printf("slot %d: generation %llu became %llu; the replay's synchronise answered %d (%s)\n", VECTOR_ADD,
         (unsigned long long)before, (unsigned long long)after, refused, tenon_sim_error_name(refused));
  if (refused == 0 || errors.first_refusal != SIMPLER_DISPATCH_ANSWER_STALE || errors.refusals != 1) {
    fprintf(stderr, "expected one stale refusal, found %llu, the first %d\n", (unsigned long long)errors.refusals,
            errors.first_refusal);
    exit(1);
  }
  if (!is_spoilt(old)) {
    fprintf(stderr, "the refused launch wrote its output\n");
    exit(1);
  }
  for (Operator *op = operators + 1; op < operators + OPERATORS; op++) check(op, "the rest of the replay,");
  /* The new tenant itself is served. */
  spoil_outputs();
  launch(new, VECTOR_ADD);
  fetch_outputs();
  SIM(tenon_sim_synchronize_stream(stream));
  check(new, "the new tenant");
  return errors.refusals;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s BUILD DATA\n", argv[0]);
    return 2;
  }
  /* The device and the stream are ours; the runtime borrows them. */
  SIM(tenon_sim_set_device(0));
  SIM(tenon_sim_create_stream(&stream));
  context = create_device_context();
  if (context == NULL || simpler_kernel_mode_supported(context) != 1) {
    fprintf(stderr, "this runtime has no kernel mode\n");
    return 1;
  }
  const SimplerCallConfig config = {0};
  const uint64_t context_generation = 1;
  RUNTIME(simpler_kernel_mode_init(context, 0, NULL, 0, NULL, 0, NULL, 0, &config, context_generation));
  for (Operator *op = operators; op < operators + OPERATORS; op++) load(op, argv[1], argv[2]);

  launch_each();
  void *graph = capture();
  replay(graph);
  uint64_t refused = replay_over_a_new_tenant(graph);

  SIM(tenon_sim_graph_destroy(graph));
  RUNTIME(finalize_device(context));
  RUNTIME(destroy_device_context(context));
  SIM(tenon_sim_destroy_stream(stream));
  SIM(tenon_sim_reset_device(0));
  double max_error = 0;
  for (Operator *op = operators; op < operators + OPERATORS; op++) max_error = fmax(max_error, op->max_error);
  printf("\ndemo: %d operators, %d launches, %d replays, %llu stale refused, max error %.2e\n", OPERATORS, launches, REPLAYS,
         (unsigned long long)refused, max_error);
  return 0;
}
