// The envelope's rules, one after the other, as the specification lists them.

#include "packet.hpp"

#include <cstring>

namespace tenon_reference {
namespace {

struct InvocationHeader {
  std::uint32_t mode;
  std::int32_t callable_id;
  std::uint64_t generation;
  std::uint64_t payload_bytes;
  std::int32_t tensor_count;
  std::int32_t scalar_count;
  std::int32_t host_copy_tensor_count;
  std::uint32_t reserved;
};

struct DispatchArgs {
  std::uint64_t packet_bytes;
  std::uint64_t residency_address;
  InvocationHeader header;
};

static_assert(sizeof(InvocationHeader) == 40 && sizeof(DispatchArgs) == 56, "the layout of the specification");

constexpr std::uint32_t kKernelMode = 1;
constexpr std::int32_t kSlots = 64;
constexpr std::int32_t kMaxTensors = 256;
constexpr std::int32_t kMaxScalars = 128;
constexpr std::int32_t kMaxArguments = 256;

}  // namespace

Answer parse(const std::uint8_t *bytes, std::size_t len, Packet &out) {
  DispatchArgs args;
  if (len < sizeof args) return Answer::Truncated;
  std::memcpy(&args, bytes, sizeof args);
  const InvocationHeader &header = args.header;

  if (args.packet_bytes < sizeof args) return Answer::PacketBytes;
  if (header.payload_bytes != args.packet_bytes - sizeof args) return Answer::PayloadBytes;
  if (header.mode != kKernelMode) return Answer::Mode;
  if (header.callable_id < 0 || header.callable_id >= kSlots) return Answer::CallableId;
  if (header.generation == 0) return Answer::Generation;
  if (header.tensor_count < 0 || header.tensor_count > kMaxTensors) return Answer::TensorCount;
  if (header.scalar_count < 0 || header.scalar_count > kMaxScalars) return Answer::ScalarCount;
  if (header.tensor_count + header.scalar_count > kMaxArguments) return Answer::ArgumentCount;
  if (header.host_copy_tensor_count != 0) return Answer::HostCopyTensorCount;
  if (header.reserved != 0) return Answer::Reserved;
  const std::uint64_t payload_bytes = std::uint64_t{128} * static_cast<std::uint64_t>(header.tensor_count) +
                                      std::uint64_t{8} * static_cast<std::uint64_t>(header.scalar_count);
  if (header.payload_bytes != payload_bytes) return Answer::PayloadSize;
  if (args.packet_bytes > len) return Answer::Truncated;

  out.residency_address = args.residency_address;
  out.generation = header.generation;
  out.callable_id = header.callable_id;
  out.tensor_count = header.tensor_count;
  out.scalar_count = header.scalar_count;
  out.payload = bytes + sizeof args;
  out.payload_bytes = payload_bytes;
  return Answer::Accepted;
}

}  // namespace tenon_reference

extern "C" std::uint32_t tenon_reference_packet_parse(const std::uint8_t *bytes, std::size_t len,
                                                      tenon_reference::Packet *out) {
  return static_cast<std::uint32_t>(tenon_reference::parse(bytes, len, *out));
}
