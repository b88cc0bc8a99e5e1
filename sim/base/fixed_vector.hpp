#pragma once
/// A vector of at most N elements that never allocates: for the structs that cross thread borders.
#include <array>
#include <cassert>
#include <cstddef>

namespace ligature {

template <class T, std::size_t N>
class FixedVector {
 public:
  static constexpr std::size_t capacity() { return N; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == N; }
  void clear() { size_ = 0; }
  /// False, and nothing stored, when full.
  bool push_back(const T& value) {
    if (full()) return false;
    items_[size_++] = value;
    return true;
  }
  /// @pre count <= N; new elements keep whatever stood there.
  void resize(std::size_t count) { assert(count <= N), size_ = count; }
  T& operator[](std::size_t i) { return assert(i < size_), items_[i]; }
  const T& operator[](std::size_t i) const { return assert(i < size_), items_[i]; }
  T* data() { return items_.data(); }
  const T* data() const { return items_.data(); }
  T* begin() { return items_.data(); }
  T* end() { return items_.data() + size_; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }
  T& back() { return (*this)[size_ - 1]; }

 private:
  std::size_t size_ = 0;
  std::array<T, N> items_{};
};

}  // namespace ligature
