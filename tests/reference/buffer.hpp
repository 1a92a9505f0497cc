// The rules of buffer references, written from the specification in plain C++17: what Tenon's own are compared with.

#ifndef TENON_REFERENCE_BUFFER_HPP
#define TENON_REFERENCE_BUFFER_HPP

#include <array>
#include <cstdint>

namespace tenon_reference {

constexpr std::size_t kMaxAxes = 5;

struct Identity {
  std::array<std::uint8_t, 8> owner_instance_id;
  std::uint64_t buffer_id;
  std::uint32_t generation;
  std::array<std::uint8_t, 12> pad;
};

struct Descriptor {
  std::uint16_t magic;
  std::uint8_t address_space;
  std::uint8_t access;
  std::uint8_t backend_kind;
  std::array<std::uint8_t, 3> pad_head;
  Identity identity;
  std::uint64_t nbytes;
  std::uint32_t owner_path_id;
  std::uint16_t body_len;
  std::array<std::uint8_t, 2> pad_body;
  std::array<std::uint8_t, 32> body;
};

struct BufferRef {
  Descriptor descriptor;
  std::uint64_t byte_offset;
  std::uint32_t ndims;
  std::array<std::uint32_t, kMaxAxes> shapes;
  std::array<std::uint32_t, kMaxAxes> strides;
  std::uint8_t dtype;
  std::array<std::uint8_t, 3> pad;
};

static_assert(sizeof(Identity) == 32 && sizeof(Descriptor) == 88 && sizeof(BufferRef) == 144, "the specification's layout");

// A reference that keeps every rule.
struct CheckedRef {
  BufferRef ref;
  std::uint64_t extent_bytes;
};

// Why something is refused; the numbers are Tenon's.
enum class Reason : std::uint32_t {
  Accepted = 0,
  BadMagic = 1,
  AddressSpaceOutOfRange = 2,
  AccessOutOfRange = 3,
  BackendKindOutOfRange = 4,
  BodyLenOutOfRange = 5,
  GenerationZero = 6,
  BackendAddressSpaceMismatch = 7,
  ForkCowNotReadOnly = 8,
  AddressBodyLength = 9,
  AddressBodyNull = 10,
  ShmNameMissing = 11,
  ShmNameInvalid = 12,
  SidecarBodyNotEmpty = 13,
  BodyTailNotZero = 14,
  NdimsOutOfRange = 20,
  UnknownDtype = 21,
  ByteOffsetMisaligned = 22,
  ShapeZero = 23,
  StrideZero = 24,
  InactiveSlotNotZero = 25,
  ExtentOverflow = 26,
  ViewOutOfBounds = 27,
};

enum class Overlap : std::uint8_t { None = 0, Partial = 1, Covered = 2 };

Reason check_descriptor(const Descriptor &descriptor);
// Reads 144 bytes of any alignment; `out` is meaningful only when they are accepted.
Reason check_reference(const std::uint8_t *bytes, CheckedRef &out);
// What `entry` has in common with `probe`, two views of one backing.
Overlap overlap(const CheckedRef &probe, const CheckedRef &entry);

}  // namespace tenon_reference

#endif
