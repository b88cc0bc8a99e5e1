#pragma once
/// FNV-1a, 64 bit: the state hash that makes two runs comparable. Not cryptographic.
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ligature {

class StateHash {
 public:
  void bytes(const void* data, std::size_t size) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < size; ++i) value_ = (value_ ^ p[i]) * 0x100000001b3ULL;
  }
  /// Bit patterns, so that -0.0 and 0.0 differ: the hash promises bit identity.
  void add(double v) { bytes(&v, sizeof v); }
  void add(std::uint64_t v) { bytes(&v, sizeof v); }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace ligature
