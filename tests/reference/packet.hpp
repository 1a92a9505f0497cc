// The envelope's rules, written from the specification in plain C++17: what Tenon's own parser is compared with.

#ifndef TENON_REFERENCE_PACKET_HPP
#define TENON_REFERENCE_PACKET_HPP

#include <cstddef>
#include <cstdint>

namespace tenon_reference {

// The first rule that a packet breaks, in the order of the checks.
enum class Answer : std::uint32_t {
  Accepted = 0,
  Truncated = 1,
  PacketBytes = 2,
  PayloadBytes = 3,
  Mode = 4,
  CallableId = 5,
  Generation = 6,
  TensorCount = 7,
  ScalarCount = 8,
  ArgumentCount = 9,
  HostCopyTensorCount = 10,
  Reserved = 11,
  PayloadSize = 12,
};

struct Packet {
  std::uint64_t residency_address;
  std::uint64_t generation;
  std::int32_t callable_id;
  std::int32_t tensor_count;
  std::int32_t scalar_count;
  const std::uint8_t *payload;
  std::size_t payload_bytes;
};

// Reads the packet at the start of `len` bytes of any alignment; fills `out` only when it is accepted.
Answer parse(const std::uint8_t *bytes, std::size_t len, Packet &out);

}  // namespace tenon_reference

#endif
