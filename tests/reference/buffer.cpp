// The rules of buffer references, one after the other, as the specification lists them.

#include "buffer.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tenon_reference {
namespace {

enum Space : std::uint8_t { kHost = 0, kDevice = 1 };
enum Access : std::uint8_t { kRead = 0, kWrite = 1, kReadWrite = 2 };
enum Backend : std::uint8_t {
  kForkShm = 0,
  kPosixShm = 1,
  kVmmWindow = 2,
  kRemoteSidecar = 3,
  kDeviceMalloc = 4,
  kForkCow = 5,
};

constexpr std::uint16_t kMagic = 0x5342;
constexpr std::array<std::uint8_t, 15> kElementBytes = {4, 2, 4, 2, 1, 1, 2, 8, 8, 2, 4, 1, 1, 1, 1};
constexpr std::uint64_t kSaturated = std::numeric_limits<std::uint64_t>::max();

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? kSaturated : sum;
}

std::uint64_t saturating_mul(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product;
  return __builtin_mul_overflow(a, b, &product) ? kSaturated : product;
}

bool is_in_its_space(const Descriptor &descriptor) {
  switch (descriptor.backend_kind) {
    case kForkShm:
    case kPosixShm:
    case kForkCow:
      return descriptor.address_space == kHost;
    case kVmmWindow:
    case kDeviceMalloc:
      return descriptor.address_space == kDevice;
    default:
      return true;
  }
}

Reason check_body(const Descriptor &descriptor) {
  switch (descriptor.backend_kind) {
    case kPosixShm:
      if (descriptor.body_len == 0) return Reason::ShmNameMissing;
      for (std::size_t i = 0; i < descriptor.body_len; ++i) {
        const std::uint8_t byte = descriptor.body[i];
        if (byte < 0x21 || byte > 0x7e || byte == '/') return Reason::ShmNameInvalid;
      }
      break;
    case kRemoteSidecar:
      if (descriptor.body_len != 0) return Reason::SidecarBodyNotEmpty;
      break;
    default: {
      if (descriptor.body_len != 8) return Reason::AddressBodyLength;
      std::uint64_t base;
      std::memcpy(&base, descriptor.body.data(), sizeof base);
      if (base == 0) return Reason::AddressBodyNull;
    }
  }
  for (std::size_t i = descriptor.body_len; i < descriptor.body.size(); ++i) {
    if (descriptor.body[i] != 0) return Reason::BodyTailNotZero;
  }
  return Reason::Accepted;
}

std::uint64_t extent_bytes(const BufferRef &ref) {
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < ref.ndims; ++i) {
    last = saturating_add(last, saturating_mul(ref.shapes[i] - 1, ref.strides[i]));
  }
  return saturating_mul(saturating_add(last, 1), kElementBytes[ref.dtype]);
}

Reason check_view(const BufferRef &ref, std::uint64_t &extent) {
  if (ref.ndims < 1 || ref.ndims > kMaxAxes) return Reason::NdimsOutOfRange;
  if (ref.dtype >= kElementBytes.size()) return Reason::UnknownDtype;
  if (ref.byte_offset % kElementBytes[ref.dtype] != 0) return Reason::ByteOffsetMisaligned;
  for (std::size_t i = 0; i < ref.ndims; ++i) {
    if (ref.shapes[i] == 0) return Reason::ShapeZero;
    if (ref.strides[i] == 0) return Reason::StrideZero;
  }
  for (std::size_t i = ref.ndims; i < kMaxAxes; ++i) {
    if (ref.shapes[i] != 0 || ref.strides[i] != 0) return Reason::InactiveSlotNotZero;
  }
  extent = extent_bytes(ref);
  if (extent == kSaturated) return Reason::ExtentOverflow;
  const std::uint64_t nbytes = ref.descriptor.nbytes;
  if (ref.byte_offset > nbytes || extent > nbytes - ref.byte_offset) return Reason::ViewOutOfBounds;
  return Reason::Accepted;
}

bool is_same_backing(const Identity &one, const Identity &other) {
  return one.owner_instance_id == other.owner_instance_id && one.buffer_id == other.buffer_id &&
         one.generation == other.generation;
}

// A box of the row-major array that fills the backing: first index per axis.
struct Box {
  std::array<std::uint64_t, kMaxAxes> start;
};

// The array's shape: the outermost axis from the backing, the others from neighbouring strides. False when there is no such
// array.
bool array_shape(const BufferRef &ref, std::array<std::uint64_t, kMaxAxes> &shape) {
  const std::uint64_t element = kElementBytes[ref.dtype];
  if (ref.strides[ref.ndims - 1] != 1) return false;
  for (std::size_t i = 1; i < ref.ndims; ++i) {
    if (ref.strides[i - 1] % ref.strides[i] != 0) return false;
    shape[i] = ref.strides[i - 1] / ref.strides[i];
  }
  const std::uint64_t row_bytes = ref.strides[0] * element;
  if (ref.descriptor.nbytes % row_bytes != 0) return false;
  shape[0] = ref.descriptor.nbytes / row_bytes;
  return true;
}

bool box_of(const BufferRef &ref, const std::array<std::uint64_t, kMaxAxes> &shape, Box &box) {
  std::uint64_t rest = ref.byte_offset / kElementBytes[ref.dtype];
  for (std::size_t i = 0; i < ref.ndims; ++i) {
    box.start[i] = rest / ref.strides[i];
    rest %= ref.strides[i];
    if (box.start[i] + ref.shapes[i] > shape[i]) return false;
  }
  return true;
}

}  // namespace

Reason check_descriptor(const Descriptor &descriptor) {
  if (descriptor.magic != kMagic) return Reason::BadMagic;
  if (descriptor.address_space > kDevice) return Reason::AddressSpaceOutOfRange;
  if (descriptor.access > kReadWrite) return Reason::AccessOutOfRange;
  if (descriptor.backend_kind > kForkCow) return Reason::BackendKindOutOfRange;
  if (descriptor.body_len > descriptor.body.size()) return Reason::BodyLenOutOfRange;
  if (descriptor.identity.generation == 0) return Reason::GenerationZero;
  if (!is_in_its_space(descriptor)) return Reason::BackendAddressSpaceMismatch;
  if (descriptor.backend_kind == kForkCow && descriptor.access != kRead) return Reason::ForkCowNotReadOnly;
  return check_body(descriptor);
}

Reason check_reference(const std::uint8_t *bytes, CheckedRef &out) {
  std::memcpy(&out.ref, bytes, sizeof out.ref);
  const Reason reason = check_descriptor(out.ref.descriptor);
  if (reason != Reason::Accepted) return reason;
  return check_view(out.ref, out.extent_bytes);
}

Overlap overlap(const CheckedRef &probe, const CheckedRef &entry) {
  const BufferRef &a = probe.ref;
  const BufferRef &b = entry.ref;
  if (!is_same_backing(a.descriptor.identity, b.descriptor.identity)) return Overlap::None;
  if (a.byte_offset + probe.extent_bytes <= b.byte_offset || b.byte_offset + entry.extent_bytes <= a.byte_offset) {
    return Overlap::None;
  }
  if (a.dtype != b.dtype || a.ndims != b.ndims || a.descriptor.nbytes != b.descriptor.nbytes ||
      !std::equal(a.strides.begin(), a.strides.begin() + a.ndims, b.strides.begin())) {
    return Overlap::Partial;
  }
  std::array<std::uint64_t, kMaxAxes> shape;
  Box box_a;
  Box box_b;
  if (!array_shape(a, shape) || !box_of(a, shape, box_a) || !box_of(b, shape, box_b)) return Overlap::Partial;
  bool covered = true;
  for (std::size_t i = 0; i < a.ndims; ++i) {
    const std::uint64_t end_a = box_a.start[i] + a.shapes[i];
    const std::uint64_t end_b = box_b.start[i] + b.shapes[i];
    if (end_a <= box_b.start[i] || end_b <= box_a.start[i]) return Overlap::None;
    covered = covered && box_a.start[i] <= box_b.start[i] && end_b <= end_a;
  }
  return covered ? Overlap::Covered : Overlap::Partial;
}

}  // namespace tenon_reference

extern "C" std::uint32_t tenon_reference_descriptor_check(const std::uint8_t *bytes) {
  tenon_reference::Descriptor descriptor;
  std::memcpy(&descriptor, bytes, sizeof descriptor);
  return static_cast<std::uint32_t>(tenon_reference::check_descriptor(descriptor));
}

extern "C" std::uint32_t tenon_reference_buffer_check(const std::uint8_t *bytes, tenon_reference::CheckedRef *out) {
  return static_cast<std::uint32_t>(tenon_reference::check_reference(bytes, *out));
}

extern "C" std::uint8_t tenon_reference_buffer_overlap(const tenon_reference::CheckedRef *probe,
                                                       const tenon_reference::CheckedRef *entry) {
  return static_cast<std::uint8_t>(tenon_reference::overlap(*probe, *entry));
}
