#include "drivers/camera/v4l2/v4l2_stream.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace ligature::drivers {
namespace {

/// V4L2_CID_EXPOSURE_ABSOLUTE counts these.
constexpr double kExposureUnit_ms = 0.1;

}  // namespace

/// One control to lock. Automatics that a device lacks need no locking; values that it lacks are said.
struct V4l2Stream::Control {
  std::uint32_t id = 0;
  std::uint32_t otherwise = 0;  ///< id of older or simpler drivers, 0 = none
  const char* key = "";         ///< in the profile
  std::int32_t value = 0;
  bool given = true;       ///< false: the profile does not ask for it
  bool automatic = false;  ///< switches an automatic off
};

std::array<V4l2Stream::Control, 9> V4l2Stream::wanted_controls() const noexcept {
  const auto exposure = static_cast<std::int32_t>(std::lround(params_.exposure_ms / kExposureUnit_ms));
  const auto value = [](const std::optional<int>& given) { return given.value_or(0); };
  // Automatics first: their values are locked while they are on.
  return {{{V4L2_CID_EXPOSURE_AUTO, 0, "exposure_ms (automatic off)", V4L2_EXPOSURE_MANUAL, true, true},
           {V4L2_CID_EXPOSURE_AUTO_PRIORITY, 0, "rate_hz (constant)", 0, true, true},
           {V4L2_CID_AUTOGAIN, 0, "gain (automatic off)", 0, true, true},
           {V4L2_CID_AUTO_WHITE_BALANCE, 0, "white_balance_k (automatic off)", 0, true, true},
           {V4L2_CID_EXPOSURE_ABSOLUTE, 0, "exposure_ms", std::max(1, exposure), true, false},
           {V4L2_CID_GAIN, V4L2_CID_ANALOGUE_GAIN, "gain", value(params_.gain), params_.gain.has_value(), false},
           {V4L2_CID_WHITE_BALANCE_TEMPERATURE, 0, "white_balance_k", value(params_.white_balance_k),
            params_.white_balance_k.has_value(), false},
           {V4L2_CID_RED_BALANCE, 0, "red_balance", value(params_.red_balance), params_.red_balance.has_value(), false},
           {V4L2_CID_BLUE_BALANCE, 0, "blue_balance", value(params_.blue_balance), params_.blue_balance.has_value(),
            false}}};
}

bool V4l2Stream::refuse(CameraEvent& why, const char* what, int error, double wanted, double got) noexcept {
  why = {};
  why.kind = CameraEvent::Kind::refused;
  why.text.assign(what);
  why.error = error;
  why.wanted = wanted;
  why.got = got;
  disconnect();
  return false;
}

bool V4l2Stream::connect(CameraEvent& why, EventQueue& said) noexcept {
  disconnect();
  DeviceInfo found;
  const Match match = find_device(calls_, params_.serial.c_str(), params_.path.c_str(), found);
  if (match != Match::one) {
    why = {};
    why.kind = match == Match::none ? CameraEvent::Kind::not_found : CameraEvent::Kind::ambiguous;
    char text[96];
    std::snprintf(text, sizeof text, "%s%s%s%s%s", params_.serial.empty() ? "" : "serial ", params_.serial.c_str(),
                  params_.serial.empty() || params_.path.empty() ? "" : ", ", params_.path.empty() ? "" : "path ",
                  params_.path.c_str());
    why.text.assign(text);
    return false;
  }
  device_ = found;
  fd_ = calls_.open(device_.node.c_str());
  if (fd_ < 0) {
    const int error = -fd_;
    fd_ = -1;
    return refuse(why, "to be opened", error);
  }
  if (!set_format(why)) return false;
  set_rate(said);
  set_controls();
  if (!map_buffers(why)) return false;
  int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  if (const int started = calls_.ioctl(fd_, VIDIOC_STREAMON, &type); started < 0)
    return refuse(why, "to start the stream", -started);
  check_controls(said);
  stamp_at_ = StampAt::device;
  if (std::strcmp(device_.driver.c_str(), "uvcvideo") == 0) {
    char line[8] = {};
    const int length = calls_.read_line("/sys/module/uvcvideo/parameters/hwtimestamps", line, sizeof line);
    const bool hardware = length > 0 && (line[0] == 'Y' || line[0] == '1');
    stamp_at_ = hardware ? StampAt::exposure_start : StampAt::exposure_end;
  }
  CameraEvent connected;
  char text[96];
  std::snprintf(text, sizeof text, "%s, %.40s", device_.node.c_str(), device_.name.c_str());
  connected.text.assign(text);
  said.push(connected);
  if (!params_.calibrated_serial.empty() && !device_.serial.empty() &&
      params_.calibrated_serial != device_.serial.c_str()) {
    CameraEvent other;
    other.kind = CameraEvent::Kind::other_serial;
    other.text.assign(device_.serial.c_str());
    said.push(other);
  }
  return true;
}

void V4l2Stream::disconnect() noexcept {
  if (fd_ < 0) return;
  int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  calls_.ioctl(fd_, VIDIOC_STREAMOFF, &type);  // an answer changes nothing: it is closed either way
  for (Buffer& buffer : buffers_) {
    if (buffer.memory) calls_.unmap(buffer.memory, buffer.length);
    buffer = {};
  }
  calls_.close(fd_);
  fd_ = -1;
}

bool V4l2Stream::set_format(CameraEvent& why) noexcept {
  const std::uint32_t fourcc = fourcc_of(params_.format);
  v4l2_format format{};
  format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  format.fmt.pix.width = static_cast<std::uint32_t>(params_.width_px);
  format.fmt.pix.height = static_cast<std::uint32_t>(params_.height_px);
  format.fmt.pix.pixelformat = fourcc;
  format.fmt.pix.field = V4L2_FIELD_NONE;
  if (const int set = calls_.ioctl(fd_, VIDIOC_S_FMT, &format); set < 0)
    return refuse(why, set == -EBUSY ? "the format: another program streams from it" : "the format", -set);
  const v4l2_pix_format& got = format.fmt.pix;
  char text[96];
  if (got.pixelformat != fourcc) {
    std::snprintf(text, sizeof text, "format %s: it offers %c%c%c%c instead", name_of(params_.format),
                  static_cast<char>(got.pixelformat & 0x7f), static_cast<char>(got.pixelformat >> 8 & 0x7f),
                  static_cast<char>(got.pixelformat >> 16 & 0x7f), static_cast<char>(got.pixelformat >> 24 & 0x7f));
    return refuse(why, text, 0);
  }
  if (got.width != static_cast<std::uint32_t>(params_.width_px) ||
      got.height != static_cast<std::uint32_t>(params_.height_px)) {
    std::snprintf(text, sizeof text, "%d x %d px as the rig file says: it offers %u x %u", params_.width_px,
                  params_.height_px, got.width, got.height);
    return refuse(why, text, 0);
  }
  if (got.field != V4L2_FIELD_NONE && got.field != V4L2_FIELD_ANY)
    return refuse(why, "whole frames: it sends interlaced fields", 0);

  layout_ = {};
  layout_.format = params_.format;
  layout_.width_px = params_.width_px;
  layout_.height_px = params_.height_px;
  const std::size_t least = row_bytes(params_.format, params_.width_px);
  layout_.stride = got.bytesperline == 0 ? least : got.bytesperline;
  if (layout_.stride < least && params_.format != PixelFormat::mjpeg)
    return refuse(why, "whole rows: its bytes per line are too few", 0, static_cast<double>(least), got.bytesperline);
  std::uint32_t encoding = got.ycbcr_enc, range = got.quantization;
  if (encoding == V4L2_YCBCR_ENC_DEFAULT) encoding = V4L2_MAP_YCBCR_ENC_DEFAULT(got.colorspace);
  if (range == V4L2_QUANTIZATION_DEFAULT) range = V4L2_MAP_QUANTIZATION_DEFAULT(false, got.colorspace, encoding);
  layout_.matrix =
      encoding == V4L2_YCBCR_ENC_709 || encoding == V4L2_YCBCR_ENC_XV709 ? YuvMatrix::bt709 : YuvMatrix::bt601;
  layout_.full_range = range == V4L2_QUANTIZATION_FULL_RANGE;
  return true;
}

void V4l2Stream::set_rate(EventQueue& said) noexcept {
  period_ns_ = static_cast<std::int64_t>(std::llround(1e9 / params_.rate_hz));
  v4l2_streamparm parm{};
  parm.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  parm.parm.capture.timeperframe.numerator = 1000;
  parm.parm.capture.timeperframe.denominator = static_cast<std::uint32_t>(std::lround(params_.rate_hz * 1000));
  if (calls_.ioctl(fd_, VIDIOC_S_PARM, &parm) < 0) {
    parm = {};
    parm.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (calls_.ioctl(fd_, VIDIOC_G_PARM, &parm) < 0) return;  // free running; the stamps will tell
  }
  const v4l2_fract& frame = parm.parm.capture.timeperframe;
  if (frame.numerator == 0 || frame.denominator == 0) return;
  const double got_hz = static_cast<double>(frame.denominator) / frame.numerator;
  period_ns_ = static_cast<std::int64_t>(std::llround(1e9 / got_hz));
  if (std::abs(got_hz - params_.rate_hz) <= 0.01 * params_.rate_hz) return;
  CameraEvent differs;
  differs.kind = CameraEvent::Kind::rate_differs;
  differs.wanted = params_.rate_hz;
  differs.got = got_hz;
  said.push(differs);
}

void V4l2Stream::set_controls() noexcept {
  const auto controls = wanted_controls();
  for (std::size_t i = 0; i < controls.size(); ++i) {
    const Control& wanted = controls[i];
    control_errors_[i] = 0;
    if (!wanted.given) continue;
    v4l2_queryctrl query{};
    query.id = wanted.id;
    v4l2_control set{wanted.id, wanted.value};
    int there = calls_.ioctl(fd_, VIDIOC_QUERYCTRL, &query);
    if ((there < 0 || (query.flags & V4L2_CTRL_FLAG_DISABLED) != 0) && wanted.otherwise != 0) {
      query = {};
      query.id = set.id = wanted.otherwise;
      there = calls_.ioctl(fd_, VIDIOC_QUERYCTRL, &query);
    }
    if (there < 0 || (query.flags & V4L2_CTRL_FLAG_DISABLED) != 0) continue;  // said when they are read back
    // The nearest that it can do is better than what it happens to be at; reading back says what came of it.
    if (!wanted.automatic && query.minimum < query.maximum)
      set.value = std::clamp(set.value, query.minimum, query.maximum);
    control_errors_[i] = calls_.ioctl(fd_, VIDIOC_S_CTRL, &set);
  }
}

void V4l2Stream::check_controls(EventQueue& said) noexcept {
  exposure_ns_ = static_cast<std::int64_t>(std::llround(params_.exposure_ms * 1e6));
  controls_refused_ = 0;
  const auto controls = wanted_controls();
  for (std::size_t i = 0; i < controls.size(); ++i) {
    const Control& wanted = controls[i];
    if (!wanted.given) continue;
    v4l2_control now{wanted.id, 0};
    int read = calls_.ioctl(fd_, VIDIOC_G_CTRL, &now);
    if (read < 0 && wanted.otherwise != 0) {
      now = {wanted.otherwise, 0};
      read = calls_.ioctl(fd_, VIDIOC_G_CTRL, &now);
    }
    const bool exposure = wanted.id == V4L2_CID_EXPOSURE_ABSOLUTE;
    const double unit = exposure ? kExposureUnit_ms : 1;
    CameraEvent event;
    event.text.assign(wanted.key);
    event.wanted = exposure ? params_.exposure_ms : wanted.value;
    if (read < 0) {
      if (wanted.automatic) continue;
      event.kind = CameraEvent::Kind::control_missing;
      event.error = -read;
    } else {
      if (exposure && now.value > 0)
        exposure_ns_ = static_cast<std::int64_t>(std::llround(now.value * kExposureUnit_ms * 1e6));
      if (now.value == wanted.value) continue;
      event.kind = CameraEvent::Kind::control_refused;
      event.error = -control_errors_[i];
      event.got = now.value * unit;
    }
    ++controls_refused_;
    said.push(event);
  }
}

bool V4l2Stream::map_buffers(CameraEvent& why) noexcept {
  v4l2_requestbuffers request{};
  request.count = static_cast<std::uint32_t>(params_.buffers);
  request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  request.memory = V4L2_MEMORY_MMAP;
  if (const int got = calls_.ioctl(fd_, VIDIOC_REQBUFS, &request); got < 0)
    return refuse(why, got == -EBUSY ? "image buffers: another program streams from it" : "image buffers", -got);
  if (request.count < 2) return refuse(why, "two image buffers", 0, params_.buffers, request.count);
  const std::size_t count = std::min<std::size_t>(request.count, kMaxBuffers);
  for (std::size_t i = 0; i < count; ++i) {
    v4l2_buffer buffer{};
    buffer.index = static_cast<std::uint32_t>(i);
    buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    buffer.memory = V4L2_MEMORY_MMAP;
    if (const int got = calls_.ioctl(fd_, VIDIOC_QUERYBUF, &buffer); got < 0)
      return refuse(why, "to tell its image buffers", -got);
    buffers_[i].memory = calls_.map(fd_, buffer.length, buffer.m.offset);
    if (!buffers_[i].memory) return refuse(why, "to share its image buffers", ENOMEM);
    buffers_[i].length = buffer.length;
    if (const int got = calls_.ioctl(fd_, VIDIOC_QBUF, &buffer); got < 0)
      return refuse(why, "to take its image buffers", -got);
  }
  return true;
}

int V4l2Stream::take(v4l2_buffer& buffer) noexcept {
  buffer = {};
  buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
  buffer.memory = V4L2_MEMORY_MMAP;
  const int got = calls_.ioctl(fd_, VIDIOC_DQBUF, &buffer);
  if (got < 0) return got;
  return buffer.index < kMaxBuffers && buffers_[buffer.index].memory ? 0 : -EIO;
}

std::size_t V4l2Stream::size(const v4l2_buffer& buffer) const noexcept {
  return std::min<std::size_t>(buffer.bytesused, buffers_[buffer.index].length);
}

}  // namespace ligature::drivers
