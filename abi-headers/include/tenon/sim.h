/*
 * Made by `cargo xtask headers` from the Rust types. Change those and not this.
 */
/*
 * The simulated device's vendor library. Answers are 0 or a number of ACL's; `tenon_sim_error_name` tells
 * its name, and `tenon_sim_recent_error_message` what was wrong. Besides what a function lists, each
 * may answer 107002 (no current device), 107017 (not a handle, or not any more) and 507010 (the device
 * is lost). A null stream is the default stream of the calling thread's device; the host runtime
 * cannot borrow that one. Device addresses fault when the host dereferences them.
 */

#ifndef TENON_SIM_H
#define TENON_SIM_H

#include <stddef.h>
#include <stdint.h>

// Flag of an event: streams can wait for it, and it can be used in a capture.
#define TENON_SIM_EVENT_SYNC 1

// Where a copy goes; numbers of `aclrtMemcpyKind`.
enum TenonSimCopyKind
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Host to host.
  TENON_SIM_COPY_KIND_HOST_TO_HOST = 0,
  // Host to device. 5, host to device through a buffer, is taken as the same.
  TENON_SIM_COPY_KIND_HOST_TO_DEVICE = 1,
  // Device to host.
  TENON_SIM_COPY_KIND_DEVICE_TO_HOST = 2,
  // Device to device.
  TENON_SIM_COPY_KIND_DEVICE_TO_DEVICE = 3,
  // As the addresses say.
  TENON_SIM_COPY_KIND_DEFAULT = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TenonSimCopyKind TenonSimCopyKind;
#else
typedef int32_t TenonSimCopyKind;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Whom a capture forbids synchronous copies; numbers of `aclmdlRICaptureMode`.
enum TenonSimCaptureMode
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // For every thread of the device's users.
  TENON_SIM_CAPTURE_MODE_GLOBAL = 0,
  // For the thread that began it.
  TENON_SIM_CAPTURE_MODE_THREAD_LOCAL = 1,
  // Not at all.
  TENON_SIM_CAPTURE_MODE_RELAXED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TenonSimCaptureMode TenonSimCaptureMode;
#else
typedef int32_t TenonSimCaptureMode;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// What a stream is to captures; numbers of `aclmdlRICaptureStatus`.
enum TenonSimCaptureStatus
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  // Not captured.
  TENON_SIM_CAPTURE_STATUS_NONE = 0,
  // Captured.
  TENON_SIM_CAPTURE_STATUS_ACTIVE = 1,
  // Captured, and a record or wait has failed.
  TENON_SIM_CAPTURE_STATUS_INVALIDATED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum TenonSimCaptureStatus TenonSimCaptureStatus;
#else
typedef int32_t TenonSimCaptureStatus;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

// Counters of the current device since it started (C: `tenon_sim_stats`).
typedef struct tenon_sim_stats {
  // Times that a host thread had to wake the device.
  uint64_t host_wakes;
  // Tasks that the host submitted.
  uint64_t host_tasks;
  // Heap allocations of the device process.
  uint64_t device_allocations;
  // AICPU entries called.
  uint64_t aicpu_calls;
  // AICore branches that took *work*.
  uint64_t aicore_work;
  // AICore branches that took *leave* or were cancelled.
  uint64_t aicore_leave;
  // AICore branches that got no verdict in time.
  uint64_t aicore_timeouts;
  // Blocks of children run.
  uint64_t blocks;
  // Graph replays ended.
  uint64_t replays;
} tenon_sim_stats;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// How many devices this machine has.
//
// The caller:
// `count` is null or valid for one write.
int tenon_sim_get_device_count(uint32_t *count);

// Makes `device` current for the calling thread and counts one user more. The first one starts the device process.
//
// 107001 for a device that does not exist, 507033 when the device process cannot start.
//
// The caller:
// None.
int tenon_sim_set_device(int32_t device);

// The calling thread's current device; 107002 when it has none.
//
// The caller:
// `device` is null or valid for one write.
int tenon_sim_get_device(int32_t *device);

// Takes one user of `device` away. With the last one the device finishes what it was given, and its process ends.
//
// 107002 when it was reset as often as it was set.
//
// The caller:
// None.
int tenon_sim_reset_device(int32_t device);

// Waits until everything on every stream of the current device has ended; the first failure found.
//
// 107027 while any of its streams is being captured.
//
// The caller:
// None.
int tenon_sim_synchronize_device(void);

// How long an AICore branch of the current device waits for the verdict of its AICPU counterpart, in milliseconds. Operators
// themselves may run for as long as they like.
//
// The caller:
// `milliseconds` is null or valid for one write.
int tenon_sim_get_op_timeout(uint32_t *milliseconds);

// A new event on the current device. `flags` is 0 or `TENON_SIM_EVENT_SYNC`, without which it cannot be used in a
// capture.
//
// 100000 for a flag that does not exist, 207007 when there are no more events.
//
// The caller:
// `event` is null or valid for one write.
int tenon_sim_create_event(void **event,
                           uint32_t flags);

// Destroys an event, also one that is still to be reached.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_destroy_event(void *event);

// Records an event on a stream. A later record takes its place.
//
// 107031 on the default stream during a capture, 207000 for an event without flags on a captured stream; one with flags but
// without SYNC is not recorded there, and the answer is 0.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_record_event(void *event,
                           void *stream);

// Makes what is put on the stream from now on wait for the event's last record. An event that was never recorded is no wait.
//
// 107024 when a captured stream would depend on something outside its capture, 107031 on the default stream during a capture,
// 207000 for an event with flags but without SYNC.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_stream_wait_event(void *stream,
                                void *event);

// Waits until the event's last record is reached; the failure that the record carries, if any, also if it was reported before.
//
// 107028 when the last record is part of a capture.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_synchronize_event(void *event);

// Whether the event's last record is reached: 0 complete, 1 not. One that was never recorded is complete.
//
// 107028 when the last record is part of a capture.
//
// The caller:
// Any value of a handle is checked; nothing is followed. `status` is null or valid for one write.
int tenon_sim_query_event(void *event,
                          int32_t *status);

// Begins to capture a stream: what is put on it from now on becomes a graph. `mode` is a `TenonSimCaptureMode`.
//
// 100000 for the default stream or another mode, 107027 when it is being captured already.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_capture_begin(void *stream,
                            int32_t mode);

// Ends the capture that began on this stream; null unless 0 is the answer.
//
// 107029 when the stream is not being captured, 107036 when the capture began on another stream, 107038 on another thread (unless
// relaxed): the capture goes on. 507903 when a record or wait had failed, 107025 when a stream that joined has not returned: the
// capture is over, and there is no graph.
//
// The caller:
// Any value of a handle is checked; nothing is followed. `graph` is null or valid for one write.
int tenon_sim_capture_end(void *stream,
                          void **graph);

// What a stream is to captures, a `TenonSimCaptureStatus`, and its graph, null unless active. Either may be left out.
//
// 100000 for the default stream, or when both are null.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
// Both are null or valid for one write.
int tenon_sim_capture_get_info(void *stream,
                               int32_t *status,
                               void **graph);

// Exchanges the calling thread's mode, a `TenonSimCaptureMode`, global at first: how strict the captures of others
// are towards its synchronous copies.
//
// 100000 for null or another mode.
//
// The caller:
// `mode` is null, or valid for one read and one write.
int tenon_sim_capture_exchange_mode(int32_t *mode);

// Enqueues one replay of a graph.
//
// When one of its tasks fails, the later ones still run; the next synchronise of `stream` tells the first failure.
//
// 107026 while it is being captured, 107027 on a stream that is, 107004 for a graph of another device.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_graph_launch(void *graph,
                           void *stream);

// Destroys a graph.
//
// 107026 while it is being captured, 107037 while a replay has not ended.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_graph_destroy(void *graph);

// Has the device load an AICPU image, and waits until it has. The bytes are copied.
//
// 100000 for no bytes or an image that the device refuses, 207005 when there is no room.
//
// The caller:
// `data` is readable for `bytes` bytes. `binary` is null or valid for one write.
int tenon_sim_load_binary(const void *data, size_t bytes, void **binary);

// Lets an AICPU image go. Launches of it that have not begun fail.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_unload_binary(void *binary);

// Enqueues a call of an entry (0 kernel mode, 1 program mode) of an image, with a copy of its arguments. A null binary is the
// device's own image.
//
// 100000 for null arguments, none, more than a packet has, or another entry. An answer other than 0 is 507018 at the next
// synchronise.
//
// The caller:
// Any value of a handle is checked; nothing is followed. `args` is readable for `bytes` bytes.
int tenon_sim_launch_aicpu(void *binary,
                           uint32_t entry,
                           const void *args,
                           size_t bytes,
                           void *stream);

// Enqueues an AICore branch, which takes one verdict of the context area at `area`. Without one in time it is 507014 at the next
// synchronise.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_launch_aicore(uint64_t area,
                            void *stream);

// Makes a context area known to the device, for as long as the device lives.
//
// 100000 for a generation of 0 or an area that is not a multiple of 64, 107000 for memory that is not allocated or overlaps
// another area, 207005 when there are 1,024.
//
// The caller:
// None; the address is checked.
int tenon_sim_register_area(uint64_t area,
                            uint64_t context_generation);

// Device memory, at a multiple of 64. What is in it is undefined.
//
// 100000 for 0 bytes, 207001 when there is no room.
//
// The caller:
// `memory` is null or valid for one write.
int tenon_sim_malloc(void **memory, size_t bytes);

// Gives device or callable memory back. It does not wait for the device.
//
// 100000 for what is not the start of an allocation.
//
// The caller:
// Any value of the address is checked; nothing is followed.
int tenon_sim_free(void *memory);

// Callable memory, at 32 more than a multiple of 64; otherwise as `tenon_sim_malloc`.
//
// The caller:
// `memory` is null or valid for one write.
int tenon_sim_malloc_callable(void **memory, size_t bytes);

// Pinned host memory, which the device can reach; at a multiple of 64. It belongs to the current device and ends with it.
//
// 100000 for 0 bytes, 207001 when there is no room.
//
// The caller:
// `memory` is null or valid for one write.
int tenon_sim_malloc_host(void **memory,
                          size_t bytes);

// Gives pinned host memory back. Copies on streams must have ended.
//
// The caller:
// Nobody uses the memory any more.
int tenon_sim_free_host(void *memory);

// Copies at once, whatever streams are doing. `kind` is a `TenonSimCopyKind`.
//
// 0 bytes and equal addresses are nothing to do. 100000 for null or another kind, 107000 when `bytes` is more than `room` or
// leaves an allocation, or the addresses are not of the kind; 107030 when a capture's mode forbids it.
//
// The caller:
// Host memory is readable at `source` and writable at `destination` for `bytes` bytes.
int tenon_sim_memcpy(void *destination,
                     size_t room,
                     const void *source,
                     size_t bytes,
                     int32_t kind);

// Copies in the order of a stream; `kind` is a `TenonSimCopyKind`. With host memory that is not pinned it waits for the stream
// and copies at once.
//
// As `tenon_sim_memcpy`; 107041 when it would have to wait and the stream is being captured.
//
// The caller:
// Host memory is readable at `source` and writable at `destination` for `bytes` bytes.
// Pinned memory stays so until the copy has ended.
int tenon_sim_memcpy_async(void *destination,
                           size_t room,
                           const void *source,
                           size_t bytes,
                           int32_t kind,
                           void *stream);

// Fills `bytes` bytes of device or host memory with the low byte of `value`, at once.
//
// As `tenon_sim_memcpy`.
//
// The caller:
// Host memory is writable at `destination` for `bytes` bytes.
int tenon_sim_memset(void *destination, size_t room, int32_t value, size_t bytes);

// Fills device memory with the low byte of `value` in the order of a stream.
//
// As `tenon_sim_memcpy`; 107000 for memory that is not the device's.
//
// The caller:
// Any value of the address is checked; nothing is followed.
int tenon_sim_memset_async(void *destination,
                           size_t room,
                           int32_t value,
                           size_t bytes,
                           void *stream);

// Writes four bytes of device memory in the order of a stream.
//
// 100000 for null or an address that is not a multiple of 4, 107000 for memory that is not the device's.
//
// The caller:
// Any value of the address is checked; nothing is followed.
int tenon_sim_write_value32_async(void *device,
                                  uint32_t value,
                                  void *stream);

// Reads device memory at once, also during a capture.
//
// The caller:
// Host memory is writable at `host` for `bytes` bytes.
int tenon_sim_read_device(void *host, const void *device, size_t bytes);

// How much device memory is free, and how much there is; callable memory is not counted.
//
// The caller:
// Both are null or valid for one write.
int tenon_sim_get_mem_info(size_t *free, size_t *total);

// A new stream on the current device; 207008 when there are no more.
//
// The caller:
// `stream` is null or valid for one write.
int tenon_sim_create_stream(void **stream);

// Destroys a stream. What is on it still runs.
//
// 100000 for the default stream, 107027 while it is being captured.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_destroy_stream(void *stream);

// Waits until everything on the stream has ended; the first failure since the last synchronise, once.
//
// 107027 while it is being captured, 507010 when the device is lost.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_synchronize_stream(void *stream);

// As `tenon_sim_synchronize_stream`, for at most `milliseconds`; -1 is for ever. 507046 when the time is over.
//
// 100000 for 0 and other negative times.
//
// The caller:
// Any value of a handle is checked; nothing is followed.
int tenon_sim_synchronize_stream_with_timeout(void *stream,
                                              int32_t milliseconds);

// Whether everything on the stream has ended: 0 complete, 1 not. Reports no failure of a task.
//
// 107027 while it is being captured.
//
// The caller:
// Any value of a handle is checked; nothing is followed. `status` is null or valid for one write.
int tenon_sim_query_stream(void *stream, int32_t *status);

// Makes the `nth` call from now (1 is the next) of `call` (a function's name without its prefix, or `*`) fail with `code`,
// once, before it has any effect.
//
// 100000 for an unknown name, `nth` 0 or `code` 0; 207005 when 64 faults wait already.
//
// The caller:
// `call` is null or a C string.
int tenon_sim_fault_inject(const char *call,
                           uint64_t nth,
                           int32_t code);

// Forgets every fault that has not struck.
//
// The caller:
// None.
int tenon_sim_fault_clear(void);

// How often `call` (a function's name without its prefix, or `*` for all) was called in this process.
//
// The caller:
// `call` is null or a C string. `count` is null or valid for one write.
int tenon_sim_call_count(const char *call,
                         uint64_t *count);

// The current device's counters.
//
// The caller:
// `stats` is null or valid for one write.
int tenon_sim_get_stats(struct tenon_sim_stats *stats);

// The name of a code; `UNKNOWN` for a number that is none. The string lives as long as the library.
//
// The caller:
// None.
const char *tenon_sim_error_name(int code);

// What the calling thread's last failed call found wrong, where, and what was expected; empty before the first. The string is
// valid until the thread's next failed call.
//
// The caller:
// None.
const char *tenon_sim_recent_error_message(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TENON_SIM_H */
