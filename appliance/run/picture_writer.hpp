#pragma once
/// Presented pictures -> one MP4 and the PNGs asked for. Runs on an ordinary thread of its own, because encoding
/// waits for the disk and for nobody else.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "appliance/run/pipeline.hpp"
#include "render/picture_file.hpp"

namespace ligature::appliance {

struct PictureWriterSettings {
  std::filesystem::path directory;
  bool video = false;
  double video_rate_hz = 25;            ///< pictures per second of session time
  std::vector<double> picture_times_s;  ///< growing; the last picture of the run is always written
  int width_px = 0, height_px = 0;      ///< both eyes side by side
  std::string version_line;
};

class PictureWriter {
 public:
  /// Opens the video; errors: unavailable.
  static Result<std::unique_ptr<PictureWriter>> create(Pipeline& pipeline, const PictureWriterSettings& settings);
  /// Until the link is closed or stopped.
  void run();
  // anybody
  /// The disk refused: nothing more is written, the session goes on.
  bool broken() const { return broken_.load(std::memory_order_acquire); }
  void give_up() { broken_.store(true, std::memory_order_release); }
  // after run() has returned
  const std::vector<std::string>& outputs() const { return outputs_; }
  const std::string& failure_text() const { return failure_; }
  std::uint64_t written() const { return written_; }  ///< pictures in the video, repeats not counted
  std::uint64_t skipped() const { return skipped_; }  ///< pictures that came faster than they were encoded

 private:
  PictureWriter(Pipeline& pipeline, const PictureWriterSettings& settings) : pipeline_(pipeline), settings_(settings) {}
  void write(const PictureSlot& slot);
  void write_still(const PictureSlot& slot, const std::string& name);
  void fail(const Error& error);
  Pipeline& pipeline_;
  const PictureWriterSettings settings_;
  std::unique_ptr<render::StereoVideo> video_;
  std::vector<std::string> outputs_;
  std::string failure_;
  PictureSlot previous_;  ///< fills the video's time up to the next picture
  std::size_t next_still_ = 0;
  std::uint64_t written_ = 0, skipped_ = 0;
  std::atomic<bool> broken_{false};
};

}  // namespace ligature::appliance
