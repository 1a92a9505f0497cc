/*
 * What C sees, asserted from the pages of the specification and from nothing else.
 *
 * The same text compiles as C11 and as C++17 (layout.cpp). It asserts every size, offset, enumerator and code, and takes the
 * address of every function under the type that the specification gives it. Nothing here is ever run.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "tenon/callable.h"
#include "tenon/operator.h"
#include "tenon/runtime.h"
#include "tenon/sim.h"
#include "tenon/status.h"
#include "tenon/wire.h"

#ifdef __cplusplus
#define ALIGN_OF(type) alignof(type)
#else
#define ALIGN_OF(type) _Alignof(type)
#endif
#define AT(type, field, offset) static_assert(offsetof(type, field) == (offset), #type "." #field)
#define FIELD(type, field, offset, bytes)                                                          \
  AT(type, field, offset);                                                                         \
  static_assert(sizeof(((type *)0)->field) == (bytes), #type "." #field " size")
#define SIZE(type, bytes, align)                                                                   \
  static_assert(sizeof(type) == (bytes) && ALIGN_OF(type) == (align), #type)
#define IS(name, value) static_assert((name) == (value), #name)

/* invocation.md: InvocationHeader, Packet */
SIZE(SimplerKernelInvocationHeader, 40, 8);
FIELD(SimplerKernelInvocationHeader, mode, 0, 4);
FIELD(SimplerKernelInvocationHeader, callable_id, 4, 4);
FIELD(SimplerKernelInvocationHeader, generation, 8, 8);
FIELD(SimplerKernelInvocationHeader, payload_bytes, 16, 8);
FIELD(SimplerKernelInvocationHeader, tensor_count, 24, 4);
FIELD(SimplerKernelInvocationHeader, scalar_count, 28, 4);
FIELD(SimplerKernelInvocationHeader, host_copy_tensor_count, 32, 4);
FIELD(SimplerKernelInvocationHeader, reserved, 36, 4);
SIZE(SimplerDispatchArgs, 56, 8);
FIELD(SimplerDispatchArgs, packet_bytes, 0, 8);
FIELD(SimplerDispatchArgs, residency_address, 8, 8);
FIELD(SimplerDispatchArgs, header, 16, 40);
IS(SIMPLER_PREFIX_BYTES, 56);
IS(SIMPLER_MAX_TENSORS, 256);
IS(SIMPLER_MAX_SCALARS, 128);
IS(SIMPLER_MAX_ARGUMENTS, 256);
IS(SIMPLER_SLOTS, 64);
IS(SIMPLER_MAX_PACKET_BYTES, 56 + 256 * 128);
IS(SIMPLER_MODE_PROGRAM, 0);
IS(SIMPLER_MODE_KERNEL, 1);

/* invocation.md: Context area */
IS(SIMPLER_AREA_BYTES, 2240);
IS(SIMPLER_AREA_ALIGN, 64);
IS(SIMPLER_MAX_AREAS, 1024);
IS(SIMPLER_AREA_CONTEXT_GENERATION, 0);
IS(SIMPLER_AREA_CANCELLED, 8);
IS(SIMPLER_AREA_RECORDS, 32);
IS(SIMPLER_RECORD_BYTES, 32);
IS(SIMPLER_RECORD_GENERATION, 0);
IS(SIMPLER_RECORD_ADDRESS, 8);
IS(SIMPLER_RECORD_LENGTH, 16);
IS(SIMPLER_RECORD_ID_AND_RESERVED, 24);
IS(SIMPLER_AREA_BUSY, 2112);
IS(SIMPLER_AREA_FIRST_REFUSAL, 2116);
IS(SIMPLER_AREA_REFUSALS, 2120);
IS(SIMPLER_AREA_VERDICT_WORK, 2176);
IS(SIMPLER_AREA_VERDICT_LEAVE, 2180);
static_assert(SIMPLER_AREA_RECORDS + SIMPLER_SLOTS * SIMPLER_RECORD_BYTES == 2080, "the records end at 2,080");

/* invocation.md: answers */
IS(SIMPLER_DISPATCH_ANSWER_SUCCESS, 0);
IS(SIMPLER_DISPATCH_ANSWER_INVALID_ARGS, 1);
IS(SIMPLER_DISPATCH_ANSWER_NOT_RESIDENT, 2);
IS(SIMPLER_DISPATCH_ANSWER_STALE, 3);
IS(SIMPLER_DISPATCH_ANSWER_UNSUPPORTED_PAYLOAD, 4);
IS(SIMPLER_DISPATCH_ANSWER_INVALID_BINDING, 5);
IS(SIMPLER_DISPATCH_ANSWER_EXECUTION_FAILED, 6);
IS(SIMPLER_DISPATCH_ANSWER_CLEANUP_FAILED, 7);
IS(SIMPLER_DISPATCH_ANSWER_BUSY, 8);
IS(SIMPLER_DISPATCH_ANSWER_POISONED, 9);

/* callable.md: ChipCallable, CoreCallable */
SIZE(SimplerChipCallable, 9376, 16);
FIELD(SimplerChipCallable, signature, 0, 1024);
FIELD(SimplerChipCallable, sig_count, 1024, 4);
FIELD(SimplerChipCallable, binary_size, 1028, 4);
FIELD(SimplerChipCallable, func_name, 1032, 64);
FIELD(SimplerChipCallable, func_name_len, 1096, 4);
FIELD(SimplerChipCallable, child_func_ids, 1100, 4096);
FIELD(SimplerChipCallable, child_offsets, 5196, 4096);
FIELD(SimplerChipCallable, child_count, 9292, 4);
FIELD(SimplerChipCallable, config_name, 9296, 64);
FIELD(SimplerChipCallable, config_name_len, 9360, 4);
FIELD(SimplerChipCallable, scalar_count, 9364, 4);
FIELD(SimplerChipCallable, pad, 9368, 8);
SIZE(SimplerCoreCallable, 144, 8);
FIELD(SimplerCoreCallable, signature, 0, 128);
FIELD(SimplerCoreCallable, sig_count, 128, 4);
FIELD(SimplerCoreCallable, binary_size, 132, 4);
FIELD(SimplerCoreCallable, resolved_addr, 136, 8);
IS(SIMPLER_CALLABLE_HEADER_BYTES, 9376);
IS(SIMPLER_CALLABLE_ALIGN, 16);
IS(SIMPLER_CHILD_HEADER_BYTES, 144);
IS(SIMPLER_CHILD_CODE, 192);
IS(SIMPLER_CHILD_ALIGN, 64);
IS(SIMPLER_MAX_SIGNATURE, 256);
IS(SIMPLER_MAX_CHILDREN, 1024);
IS(SIMPLER_MAX_CHILD_SIGNATURE, 32);
IS(SIMPLER_MAX_CHILD_SCALARS, 16);
IS(SIMPLER_NAME_BYTES, 64);
IS(SIMPLER_MAX_CONTEXT_BYTES, 536870912);
IS(SIMPLER_DIRECTION_SCALAR, 0);
IS(SIMPLER_DIRECTION_IN, 1);
IS(SIMPLER_DIRECTION_OUT, 2);
IS(SIMPLER_DIRECTION_INOUT, 3);

/* operator.md: Tensor, arguments */
SIZE(SimplerChipTensor, 128, 8);
FIELD(SimplerChipTensor, addr, 0, 8);
FIELD(SimplerChipTensor, size, 8, 8);
FIELD(SimplerChipTensor, owner_task_id, 16, 8);
FIELD(SimplerChipTensor, start_offset, 24, 8);
FIELD(SimplerChipTensor, version, 32, 4);
FIELD(SimplerChipTensor, ndims, 36, 4);
FIELD(SimplerChipTensor, dtype, 40, 1);
FIELD(SimplerChipTensor, manual_dep, 41, 1);
FIELD(SimplerChipTensor, is_contiguous, 42, 1);
FIELD(SimplerChipTensor, address_space, 43, 1);
FIELD(SimplerChipTensor, shapes, 44, 20);
FIELD(SimplerChipTensor, extent_elem, 64, 8);
FIELD(SimplerChipTensor, strides, 72, 20);
IS(SIMPLER_ADDRESS_SPACE_HOST, 0);
IS(SIMPLER_ADDRESS_SPACE_DEVICE, 1);
SIZE(SimplerChipStorageTaskArgs, 33856, 64);
FIELD(SimplerChipStorageTaskArgs, tensors, 0, 32768);
FIELD(SimplerChipStorageTaskArgs, scalars, 32768, 1024);
FIELD(SimplerChipStorageTaskArgs, tensor_count, 33792, 4);
FIELD(SimplerChipStorageTaskArgs, scalar_count, 33796, 4);

/* buffer.md gives the numbers of the element types. */
IS(SIMPLER_DATA_TYPE_F32, 0);
IS(SIMPLER_DATA_TYPE_F16, 1);
IS(SIMPLER_DATA_TYPE_I32, 2);
IS(SIMPLER_DATA_TYPE_I16, 3);
IS(SIMPLER_DATA_TYPE_I8, 4);
IS(SIMPLER_DATA_TYPE_U8, 5);
IS(SIMPLER_DATA_TYPE_BF16, 6);
IS(SIMPLER_DATA_TYPE_I64, 7);
IS(SIMPLER_DATA_TYPE_U64, 8);
IS(SIMPLER_DATA_TYPE_U16, 9);
IS(SIMPLER_DATA_TYPE_U32, 10);
IS(SIMPLER_DATA_TYPE_BOOL, 11);
IS(SIMPLER_DATA_TYPE_FP8_E4M3_FN, 12);
IS(SIMPLER_DATA_TYPE_FP8_E8M0, 13);
IS(SIMPLER_DATA_TYPE_FP4_E2M1, 14);

/* operator.md: Code */
SIZE(TenonOperatorApi, 32, 8);
FIELD(TenonOperatorApi, size, 0, 4);
FIELD(TenonOperatorApi, aicore_count, 4, 4);
FIELD(TenonOperatorApi, context, 8, 8);
FIELD(TenonOperatorApi, start, 16, 8);
FIELD(TenonOperatorApi, wait, 24, 8);

/* kernel-mode.md: SimplerContextErrors, SimplerCallConfig */
SIZE(SimplerContextErrors, 64, 8);
FIELD(SimplerContextErrors, runtime_error, 0, 4);
FIELD(SimplerContextErrors, runtime_vendor_code, 4, 4);
FIELD(SimplerContextErrors, teardown_error, 8, 4);
FIELD(SimplerContextErrors, teardown_vendor_code, 12, 4);
FIELD(SimplerContextErrors, first_refusal, 16, 4);
FIELD(SimplerContextErrors, failed_step, 20, 4);
FIELD(SimplerContextErrors, refusals, 24, 8);
FIELD(SimplerContextErrors, join_unproven, 32, 4);
FIELD(SimplerContextErrors, reserved, 36, 28);
SIZE(SimplerCallConfig, 1144, 1);
FIELD(SimplerCallConfig, aicpu_thread_num, 0, 4);
FIELD(SimplerCallConfig, enable_chip_swimlane, 4, 4);
FIELD(SimplerCallConfig, enable_dump_args, 8, 4);
FIELD(SimplerCallConfig, enable_pmu, 12, 4);
FIELD(SimplerCallConfig, enable_dep_gen, 16, 4);
FIELD(SimplerCallConfig, enable_scope_stats, 20, 4);
FIELD(SimplerCallConfig, runtime_env, 24, 96);
FIELD(SimplerCallConfig, output_prefix, 120, 1024);
FIELD(SimplerRuntimeEnv, ring_task_window, 0, 32);
FIELD(SimplerRuntimeEnv, ring_heap, 32, 32);
FIELD(SimplerRuntimeEnv, ring_dep_pool, 64, 32);

/* kernel-mode.md: codes */
IS(PTO_RUNTIME_ERR_INTERNAL, -1000);
IS(PTO_RUNTIME_ERR_UNSUPPORTED, -1001);
IS(PTO_RUNTIME_ERR_PREPARED_INCOMPATIBLE, -1002);
IS(PTO_RUNTIME_ERR_INVALID_STATE, -1003);
IS(PTO_RUNTIME_ERR_INVALID_ARGUMENT, -1004);
IS(PTO_RUNTIME_ERR_CALLABLE_COUNT_EXCEEDED, -1005);
IS(PTO_RUNTIME_ERR_CALLABLE_BYTES_EXCEEDED, -1006);
IS(PTO_RUNTIME_ERR_CALLABLE_NOT_RESIDENT, -1007);
IS(PTO_RUNTIME_ERR_CALLABLE_STALE, -1008);

/* operator.md: an orchestration and a child as they are written there have the types that the header gives them. */
static int32_t orchestration(const TenonOperatorApi *api, const SimplerChipTensor *tensors, int32_t tensor_count,
                             const uint64_t *scalars, int32_t scalar_count) {
  int32_t (*start)(void *context, uint32_t index, const uint32_t *tensors, uint32_t tensor_count,
                   const uint64_t *scalars, uint32_t scalar_count, uint32_t blocks) = api->start;
  int32_t (*wait)(void *context) = api->wait;
  (void)tensors, (void)tensor_count, (void)scalar_count;
  return start(api->context, 0, (const uint32_t *)0, 0, scalars, 0, 1) | wait(api->context);
}
static int32_t child(const SimplerChipTensor *const *tensors, uint32_t tensor_count, const uint64_t *scalars,
                     uint32_t scalar_count, uint32_t block, uint32_t blocks) {
  (void)tensors, (void)tensor_count, (void)scalars, (void)scalar_count, (void)block, (void)blocks;
  return 0;
}
extern const TenonOrchestration orchestration_type;
extern const TenonChild child_type;
const TenonOrchestration orchestration_type = orchestration;
const TenonChild child_type = child;

/* kernel-mode.md: Entries. Each function under the type that is written there. */
struct runtime_entries {
  void *(*create)(void);
  int (*destroy)(void *ctx);
  int (*finalize)(void *ctx);
  int (*init)(void *ctx, int device_id, const uint8_t *aicpu, size_t aicpu_size, const uint8_t *aicore, size_t aicore_size,
              const uint8_t *dispatcher, size_t dispatcher_size, const SimplerCallConfig *prewarm, int enable_sdma,
              const void *sdma_warmup, uint64_t sdma_warmup_size);
  int (*register_callable)(void *ctx, int32_t callable_id, const void *callable);
  int (*register_callable_sized)(void *ctx, int32_t callable_id, const void *callable, size_t size);
  int (*unregister_callable)(void *ctx, int32_t callable_id);
  int (*run)(void *ctx, int32_t callable_id, const SimplerChipStorageTaskArgs *args, const SimplerCallConfig *config);
  void *(*allocate)(void *ctx, size_t size);
  int (*free)(void *ctx, void *device);
  int (*copy_to)(void *ctx, void *device, const void *host, size_t size);
  int (*copy_from)(void *ctx, void *host, const void *device, size_t size);
  size_t (*committed)(void *ctx);
  int (*kernel_supported)(void *ctx);
  int (*kernel_init)(void *ctx, int device_id, const uint8_t *aicpu, size_t aicpu_size, const uint8_t *aicore,
                     size_t aicore_size, const uint8_t *dispatcher, size_t dispatcher_size, const SimplerCallConfig *config,
                     uint64_t context_generation);
  int (*kernel_prepare)(void *ctx, int32_t callable_id, const void *callable, size_t callable_size, void *caller_stream);
  int (*kernel_launch)(void *ctx, int32_t callable_id, const SimplerChipStorageTaskArgs *args, void *caller_stream);
  int (*kernel_release)(void *ctx, int32_t callable_id, void *caller_stream);
  int (*kernel_generation)(void *ctx, int32_t callable_id, uint64_t *generation);
  int (*errors)(void *ctx, SimplerContextErrors *out);
  const char *(*status_name)(int code);
};
extern const struct runtime_entries entries;
const struct runtime_entries entries = {
    create_device_context,
    destroy_device_context,
    finalize_device,
    simpler_init,
    simpler_register_callable,
    simpler_register_callable_sized,
    simpler_unregister_callable,
    simpler_run,
    device_malloc_ctx,
    device_free_ctx,
    copy_to_device_ctx,
    copy_from_device_ctx,
    committed_device_memory_ctx,
    simpler_kernel_mode_supported,
    simpler_kernel_mode_init,
    simpler_kernel_mode_prepare_callable,
    simpler_kernel_mode_launch,
    simpler_kernel_mode_release_callable,
    simpler_kernel_mode_slot_generation,
    simpler_context_errors,
    simpler_status_name,
};
