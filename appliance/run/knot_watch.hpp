#pragma once
/// Names the knots of a session about once a second, on the service thread and in a process of its own: physics leaves
/// a snapshot behind when a second is over and never waits.
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "appliance/knot/client.hpp"
#include "appliance/knot/threads.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace ligature::appliance {

class KnotWatch {
 public:
  /// Starts the child. An empty string: watching; else why not.
  std::string start(std::vector<std::string> thread_names);
  /// Of another scene's threads, from the next look on.
  void rename(std::vector<std::string> thread_names) { names_ = std::move(thread_names); }
  bool watching() const { return client_.has_value(); }
  /// Ready for the next snapshot.
  bool idle() const { return client_ && asked_ >= questions_.size(); }
  /// @pre idle
  void look_at(const SceneSnapshot& scene);
  /// Takes answers that have come and sends what is next; waits for nothing. A line for the log when the knots have
  /// changed or nobody names them any more.
  std::optional<std::string> serve();
  /// What was tied when it was last looked; nothing before the first look, or where nobody could name it.
  std::optional<nlohmann::ordered_json> report() const;
  /// The throws that this thread, or a piece of it, is tied into, alone or with another, "" where there are none or
  /// nobody knows; what the last look that was answered found. @param origin the thread at the start
  std::string throws(std::size_t origin) const;
  std::uint64_t looks() const { return looks_; }

 private:
  void ask();
  std::vector<std::string> names_;
  std::optional<knot::Client> client_;
  std::vector<knot::ThreadQuestion> questions_;
  std::size_t asked_ = 0;  ///< questions answered of this look
  std::vector<knot::ThreadKnot> found_, known_;
  std::uint64_t looks_ = 0;
};

}  // namespace ligature::appliance
