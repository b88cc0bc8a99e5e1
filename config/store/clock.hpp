#pragma once
/// Time as the store needs it, so that a test can make it pass.
#include <cstdint>
#include <string>

namespace ligature::store {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t wall_s() const;     ///< seconds since 1970, UTC
  virtual std::int64_t running_s() const;  ///< seconds since the machine started, sleep included; never set
  virtual std::string boot() const;        ///< which start of the machine that was
};

/// "2026-11-21T15:47:00Z"
std::string utc(std::int64_t wall_s);

}  // namespace ligature::store
