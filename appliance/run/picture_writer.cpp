#include "appliance/run/picture_writer.hpp"

#include <fmt/format.h>

#include <cmath>

namespace ligature::appliance {
namespace {

render::PictureView view_of(const PictureSlot& slot) {
  return {slot.bgra.data(), slot.width_px, slot.height_px, static_cast<std::size_t>(slot.width_px) * 4};
}

}  // namespace

Result<std::unique_ptr<PictureWriter>> PictureWriter::create(Pipeline& pipeline,
                                                             const PictureWriterSettings& settings) {
  std::unique_ptr<PictureWriter> writer(new PictureWriter(pipeline, settings));
  if (settings.video) {
    const std::string path = settings.directory / "stereo.mp4";
    auto video = render::StereoVideo::open(path, settings.video_rate_hz, settings.width_px, settings.height_px,
                                           settings.version_line);
    if (!video) return unexpected(video.error());
    writer->video_ = std::move(*video);
    writer->outputs_.push_back(path);
  }
  return writer;
}

void PictureWriter::fail(const Error& error) {
  failure_ = error.message;
  broken_.store(true, std::memory_order_release);
}

void PictureWriter::write_still(const PictureSlot& slot, const std::string& name) {
  const std::string path = settings_.directory / name;
  const std::string comment = fmt::format("session time {:.3f} s", static_cast<double>(slot.time_ns) * 1e-9);
  if (const auto done = render::write_png(path, view_of(slot), settings_.version_line, comment); !done)
    return fail(done.error());
  outputs_.push_back(path);
}

void PictureWriter::write(const PictureSlot& slot) {
  const double time_s = static_cast<double>(slot.time_ns) * 1e-9;
  if (video_) {
    // Session time decides where a picture stands in the video: until then the one before goes on.
    const auto place = static_cast<std::uint64_t>(std::lround(time_s * settings_.video_rate_hz));
    if (place < video_->frames()) {
      ++skipped_;
    } else {
      while (video_->frames() < place)
        if (const auto done = video_->write(view_of(previous_.bgra.empty() ? slot : previous_)); !done)
          return fail(done.error());
      if (const auto done = video_->write(view_of(slot)); !done) return fail(done.error());
      previous_ = slot;
    }
    ++written_;
  }
  if (next_still_ < settings_.picture_times_s.size() && time_s >= settings_.picture_times_s[next_still_]) {
    while (next_still_ < settings_.picture_times_s.size() && time_s >= settings_.picture_times_s[next_still_])
      ++next_still_;
    write_still(slot, fmt::format("stereo_{:06.2f}s.png", time_s));
  }
}

void PictureWriter::run() {
  auto& link = *pipeline_.pictures;
  bool any = false;
  for (;;) {
    const rt::Take took = link.take();
    if (took == rt::Take::closed || took == rt::Take::stopped) break;
    if (took != rt::Take::value || broken()) continue;
    any = true;
    write(link.front());
  }
  if (any && !broken()) write_still(link.front(), "stereo_last.png");
  if (video_)
    if (const auto done = video_->close(); !done && failure_.empty()) fail(done.error());
}

}  // namespace ligature::appliance
