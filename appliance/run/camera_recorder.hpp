#pragma once
/// What the cameras saw, to disk in the recorded format. Encodes on ordinary threads, one per camera, because four
/// encoders on one thread would not keep up with four cameras.
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "appliance/run/pipeline.hpp"
#include "config/profile_file.hpp"
#include "drivers/camera/recorder.hpp"
#include "drivers/rig.hpp"

namespace ligature::appliance {

class CameraRecorder {
 public:
  /// Makes the folder and takes the memory of the links' slots. Errors: usage when it holds a recording already.
  static Result<std::unique_ptr<CameraRecorder>> create(Pipeline& pipeline, const drivers::Rig& rig,
                                                        const std::filesystem::path& directory, double rate_hz,
                                                        config::OutputSettings::Codec codec);
  /// Until every camera's link is closed.
  void run();
  // anybody
  bool broken() const { return broken_.load(std::memory_order_acquire); }
  void give_up() { broken_.store(true, std::memory_order_release); }  ///< the disk is full: write nothing more
  // after run() has returned
  std::uint64_t skipped() const { return skipped_.load(); }  ///< images that came faster than they were encoded
  const std::string& failure_text() const { return failure_; }

 private:
  CameraRecorder(Pipeline& pipeline, std::unique_ptr<drivers::FrameRecorder> recorder)
      : pipeline_(pipeline), recorder_(std::move(recorder)) {}
  void run_camera(std::size_t camera);
  Pipeline& pipeline_;
  std::unique_ptr<drivers::FrameRecorder> recorder_;
  std::string failure_;
  std::atomic<bool> broken_{false};
  std::atomic<std::uint64_t> skipped_{0};
};

}  // namespace ligature::appliance
