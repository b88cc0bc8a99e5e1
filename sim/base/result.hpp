#pragma once
/// Result<T>: a value or one Error. Names follow std::expected, which GCC 12 offers only under C++23.
/// Used at start, in configuration and in drivers; the real-time step reports through StepReport instead.
#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace ligature {

/// What went wrong, in one line that also says what to do about it.
struct Error {
  enum class Kind {
    usage,        ///< wrong command, file or value: exit 2, nothing started
    unavailable,  ///< a device or service is not there
    failed,       ///< it ran and the answer is no: exit 1
  };
  Kind kind = Kind::failed;
  std::string message;
};

/// Wraps an Error so that it converts to any Result<T>: `return unexpected(Error{...});`
struct Unexpected {
  Error error;
};
inline Unexpected unexpected(Error error) {
  return {std::move(error)};
}
inline Unexpected usage_error(std::string message) {
  return {{Error::Kind::usage, std::move(message)}};
}
inline Unexpected unavailable(std::string message) {
  return {{Error::Kind::unavailable, std::move(message)}};
}
inline Unexpected failure(std::string message) {
  return {{Error::Kind::failed, std::move(message)}};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}                 // NOLINT: implicit by design
  Result(Unexpected wrong) : state_(std::in_place_index<1>, std::move(wrong.error)) {}  // NOLINT

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  T& value() { return assert(has_value()), std::get<0>(state_); }
  const T& value() const { return assert(has_value()), std::get<0>(state_); }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const { return assert(!has_value()), std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Unexpected wrong) : error_(std::move(wrong.error)), ok_(false) {}  // NOLINT: implicit by design

  bool has_value() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const { return assert(!ok_), error_; }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace ligature
