/*
 * Made by `cargo xtask headers` from the Rust types. Change those and not this.
 */
/*
 * A callable image: one header, the orchestration binary at the start of the storage, then the children,
 * each 64-aligned from the start of the storage. The layout is frozen: old images keep working.
 */

#ifndef TENON_CALLABLE_H
#define TENON_CALLABLE_H

#include <stddef.h>
#include <stdint.h>
/* Alignment and packing of structures, for C and C++ alike. */
#ifndef TENON_ALIGNED
#define TENON_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define TENON_PACKED __attribute__((packed))
#endif

// Bytes of an image's header; the storage follows.
#define SIMPLER_CALLABLE_HEADER_BYTES 9376

// Least alignment of an image in memory.
#define SIMPLER_CALLABLE_ALIGN 16

// Bytes of a child's header.
#define SIMPLER_CHILD_HEADER_BYTES 144

// From the start of a child to its code; what lies between header and code is pad.
#define SIMPLER_CHILD_CODE 192

// Children start at multiples of this in the storage.
#define SIMPLER_CHILD_ALIGN 64

// Most entries of a callable's signature.
#define SIMPLER_MAX_SIGNATURE 256

// Most children of a callable.
#define SIMPLER_MAX_CHILDREN 1024

// Bytes of a name's field; the name itself is shorter, since a NUL ends it.
#define SIMPLER_NAME_BYTES 64

// Most entries of a child's signature.
#define SIMPLER_MAX_CHILD_SIGNATURE 32

// Most scalars of a child.
#define SIMPLER_MAX_CHILD_SCALARS 16

// Bytes of unique images that one context holds at most.
#define SIMPLER_MAX_CONTEXT_BYTES (512 << 20)

// What a callable does with one of its arguments.
enum SimplerDirection
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // A 64-bit value.
  SIMPLER_DIRECTION_SCALAR = 0,
  // A tensor that is read.
  SIMPLER_DIRECTION_IN = 1,
  // A tensor that is written.
  SIMPLER_DIRECTION_OUT = 2,
  // A tensor that is read and written.
  SIMPLER_DIRECTION_INOUT = 3,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum SimplerDirection SimplerDirection;
#else
typedef int32_t SimplerDirection;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Header of an image, 9,376 bytes, as it lies in memory.
typedef struct TENON_ALIGNED(16) SimplerChipCallable {
  // Directions of the arguments, tensors before scalars.
  int32_t signature[256];
  // Used entries of `signature`, scalars included: `0..=256`
  int32_t sig_count;
  // Bytes of the orchestration binary, at the start of storage.
  uint32_t binary_size;
  // The orchestration's symbol, NUL-terminated.
  uint8_t func_name[64];
  // Bytes of `func_name` before the NUL: below 64
  uint32_t func_name_len;
  // Carried, not interpreted.
  int32_t child_func_ids[1024];
  // Each child's place, from the start of storage.
  uint32_t child_offsets[1024];
  // `0..=1024`
  int32_t child_count;
  // Name of a configuration, NUL-terminated.
  uint8_t config_name[64];
  // Bytes of `config_name` before the NUL: below 64
  uint32_t config_name_len;
  // 0 (not recorded) or the number of scalars in `signature`.
  int32_t scalar_count;
  // Alignment slack.
  uint8_t pad[8];
} SimplerChipCallable;

// Header of a child, 144 bytes, as it lies in memory. Its code starts at 192.
typedef struct SimplerCoreCallable {
  // Directions of the arguments, tensors before scalars.
  int32_t signature[32];
  // Used entries of `signature`, scalars included: `0..=32`
  int32_t sig_count;
  // Bytes of the code.
  uint32_t binary_size;
  // Address of the code on the device; ignored in an image as given.
  uint64_t resolved_addr;
} SimplerCoreCallable;

#endif  /* TENON_CALLABLE_H */
