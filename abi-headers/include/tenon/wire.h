/*
 * Made by `cargo xtask headers` from the Rust types. Change those and not this.
 */
/*
 * Structures that cross from host to device, exactly as they lie in memory. Little-endian. Reserved
 * fields are written as zero and refused otherwise; pads are written as zero and never read.
 */

#ifndef TENON_WIRE_H
#define TENON_WIRE_H

#include <stddef.h>
#include <stdint.h>
/* Alignment and packing of structures, for C and C++ alike. */
#ifndef TENON_ALIGNED
#define TENON_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define TENON_PACKED __attribute__((packed))
#endif

// Most tensors in one invocation.
#define SIMPLER_MAX_TENSORS 256

// Most scalars in one invocation.
#define SIMPLER_MAX_SCALARS 128

// Most tensors and scalars together.
#define SIMPLER_MAX_ARGUMENTS 256

// Slots of a context's callable table.
#define SIMPLER_SLOTS 64

// Bytes of the dispatch prefix with its header; the payload follows.
#define SIMPLER_PREFIX_BYTES 56

// Bytes of the largest packet: 128 scalars and 128 tensors, or 256 tensors.
#define SIMPLER_MAX_PACKET_BYTES (SIMPLER_PREFIX_BYTES + (SIMPLER_MAX_TENSORS * 128))

// Bytes of a context area.
#define SIMPLER_AREA_BYTES 2240

// Alignment of a context area.
#define SIMPLER_AREA_ALIGN 64

// Areas that one device process can have in its life.
#define SIMPLER_MAX_AREAS 1024

// `context_generation u64`
#define SIMPLER_AREA_CONTEXT_GENERATION 0

// `cancelled u32`; any non-zero value is set, and it is never unset.
#define SIMPLER_AREA_CANCELLED 8

// First slot record.
#define SIMPLER_AREA_RECORDS 32

// Bytes of one slot record.
#define SIMPLER_RECORD_BYTES 32

// Within a record: `generation u64`.
#define SIMPLER_RECORD_GENERATION 0

// Within a record: `device_address u64`.
#define SIMPLER_RECORD_ADDRESS 8

// Within a record: `bytes u64`.
#define SIMPLER_RECORD_LENGTH 16

// Within a record: `callable_id i32`, then `reserved u32`.
#define SIMPLER_RECORD_ID_AND_RESERVED 24

// The device's line: `busy u32`; any non-zero value is set.
#define SIMPLER_AREA_BUSY 2112

// The device's line: `first_refusal u32`.
#define SIMPLER_AREA_FIRST_REFUSAL 2116

// The device's line: `refusals u64`.
#define SIMPLER_AREA_REFUSALS 2120

// Verdicts: `work u32`.
#define SIMPLER_AREA_VERDICT_WORK 2176

// Verdicts: `leave u32`.
#define SIMPLER_AREA_VERDICT_LEAVE 2180

// Execution mode of the context that issued an invocation.
enum SimplerMode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Owns the device.
  SIMPLER_MODE_PROGRAM = 0,
  // Borrows the caller's device and stream.
  SIMPLER_MODE_KERNEL = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum SimplerMode SimplerMode;
#else
typedef uint32_t SimplerMode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Where a tensor's bytes are.
enum SimplerAddressSpace
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Host memory.
  SIMPLER_ADDRESS_SPACE_HOST = 0,
  // Device memory; the only one that a launch takes.
  SIMPLER_ADDRESS_SPACE_DEVICE = 1,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum SimplerAddressSpace SimplerAddressSpace;
#else
typedef uint8_t SimplerAddressSpace;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Element types.
enum SimplerDataType
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : uint8_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // 32-bit float.
  SIMPLER_DATA_TYPE_F32 = 0,
  // 16-bit float.
  SIMPLER_DATA_TYPE_F16 = 1,
  // Signed 32-bit.
  SIMPLER_DATA_TYPE_I32 = 2,
  // Signed 16-bit.
  SIMPLER_DATA_TYPE_I16 = 3,
  // Signed 8-bit.
  SIMPLER_DATA_TYPE_I8 = 4,
  // Unsigned 8-bit.
  SIMPLER_DATA_TYPE_U8 = 5,
  // Brain float: the upper half of an f32.
  SIMPLER_DATA_TYPE_BF16 = 6,
  // Signed 64-bit.
  SIMPLER_DATA_TYPE_I64 = 7,
  // Unsigned 64-bit.
  SIMPLER_DATA_TYPE_U64 = 8,
  // Unsigned 16-bit.
  SIMPLER_DATA_TYPE_U16 = 9,
  // Unsigned 32-bit.
  SIMPLER_DATA_TYPE_U32 = 10,
  // One byte, 0 or 1.
  SIMPLER_DATA_TYPE_BOOL = 11,
  // 8-bit float, 4 exponent bits, finite only.
  SIMPLER_DATA_TYPE_FP8_E4M3_FN = 12,
  // 8-bit power of two.
  SIMPLER_DATA_TYPE_FP8_E8M0 = 13,
  // 4-bit float, one to a byte.
  SIMPLER_DATA_TYPE_FP4_E2M1 = 14,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum SimplerDataType SimplerDataType;
#else
typedef uint8_t SimplerDataType;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// One invocation's envelope, 40 bytes.
typedef struct SimplerKernelInvocationHeader {
  // `SimplerMode` of the issuing context.
  uint32_t mode;
  // Slot in the callable table, `0..64`.
  int32_t callable_id;
  // How often that slot has been occupied, from 1; 0 is refused.
  uint64_t generation;
  // Bytes after this header.
  uint64_t payload_bytes;
  // `0..=256`
  int32_t tensor_count;
  // `0..=128`, with the tensors at most 256.
  int32_t scalar_count;
  // 0; the contract for host-only duplicates does not exist yet.
  int32_t host_copy_tensor_count;
  // 0
  uint32_t reserved;
} SimplerKernelInvocationHeader;

// What a packet begins with, 56 bytes.
typedef struct SimplerDispatchArgs {
  // Bytes of the whole packet.
  uint64_t packet_bytes;
  // Device address of the record of the slot that the header names.
  uint64_t residency_address;
  // The envelope.
  struct SimplerKernelInvocationHeader header;
} SimplerDispatchArgs;

// A strided view of device memory, 128 bytes.
typedef struct SimplerChipTensor {
  // Address of the backing memory, which must be live device memory. The host cannot check that: a wrong address kills the
  // simulated device for all who use it.
  uint64_t addr;
  // Bytes of the backing memory from `addr`.
  uint64_t size;
  // Carried untouched.
  uint64_t owner_task_id;
  // First element of the view, in elements.
  uint64_t start_offset;
  // Carried untouched.
  int32_t version;
  // Axes, `1..=5`.
  uint32_t ndims;
  // `SimplerDataType`
  uint8_t dtype;
  // Carried untouched.
  uint8_t manual_dep;
  // 1 when the strides are those of a row-major array of this shape, else 0.
  uint8_t is_contiguous;
  // `SimplerAddressSpace`
  uint8_t address_space;
  // Elements per axis, outermost first; those from `ndims` on are ignored.
  uint32_t shapes[5];
  // Elements from the first to one past the last that the view can touch.
  uint64_t extent_elem;
  // Elements from one index to the next, per axis; those from `ndims` on are ignored.
  uint32_t strides[5];
  // Alignment slack.
  uint32_t pad[9];
} SimplerChipTensor;

// Tensors and scalars of one invocation, 33,856 bytes.
//
// Only what the two counts name is read; a packet carries no more than that. It lies at a multiple of 64.
typedef struct TENON_ALIGNED(64) SimplerChipStorageTaskArgs {
  // The first `tensor_count` are used.
  struct SimplerChipTensor tensors[SIMPLER_MAX_TENSORS];
  // The first `scalar_count` are used.
  uint64_t scalars[SIMPLER_MAX_SCALARS];
  // `0..=256`
  int32_t tensor_count;
  // `0..=128`
  int32_t scalar_count;
  // Alignment slack.
  uint8_t pad[56];
} SimplerChipStorageTaskArgs;

#endif  /* TENON_WIRE_H */
