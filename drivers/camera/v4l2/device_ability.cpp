#include "drivers/camera/v4l2/device_ability.hpp"

#include <linux/videodev2.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "drivers/camera/v4l2/pixel_format.hpp"

namespace ligature::drivers {
namespace {

constexpr std::uint32_t kMostAnswers = 256;  // of one kind: a driver that never ends must not hold us

std::string text_of(std::uint32_t fourcc) {
  for (int i = 0; i <= static_cast<int>(PixelFormat::bayer_bggr); ++i)
    if (const auto format = static_cast<PixelFormat>(i); fourcc_of(format) == fourcc) return name_of(format);
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) {
    const char c = static_cast<char>(fourcc >> shift & 0x7f);
    text += c < 0x20 ? '?' : c;
  }
  return text;
}

bool usable(std::uint32_t fourcc) {
  return text_of(fourcc).size() != 4 || fourcc == V4L2_PIX_FMT_YUYV || fourcc == V4L2_PIX_FMT_GREY;
}

std::vector<double> rates(DeviceCalls& calls, int fd, std::uint32_t fourcc, std::uint32_t width, std::uint32_t height) {
  std::vector<double> out;
  for (std::uint32_t i = 0; i < kMostAnswers; ++i) {
    v4l2_frmivalenum at{};
    at.index = i, at.pixel_format = fourcc, at.width = width, at.height = height;
    if (calls.ioctl(fd, VIDIOC_ENUM_FRAMEINTERVALS, &at) < 0) break;
    const v4l2_fract& least = at.type == V4L2_FRMIVAL_TYPE_DISCRETE ? at.discrete : at.stepwise.min;
    if (least.numerator > 0) out.push_back(static_cast<double>(least.denominator) / least.numerator);
    if (at.type != V4L2_FRMIVAL_TYPE_DISCRETE) break;  // the fastest; slower ones follow in steps
  }
  std::sort(out.rbegin(), out.rend());
  return out;
}

}  // namespace

Result<DeviceAbility> look_at_device(DeviceCalls& calls, const DeviceInfo& device) {
  const int fd = calls.open(device.node.c_str());
  if (fd < 0)
    return unavailable(std::string(device.node.c_str()) + " cannot be opened: " + std::strerror(-fd) +
                       ": usermod -aG video ligature");
  DeviceAbility out;
  for (std::uint32_t i = 0; i < kMostAnswers; ++i) {
    v4l2_fmtdesc format{};
    format.index = i, format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    if (calls.ioctl(fd, VIDIOC_ENUM_FMT, &format) < 0) break;
    DeviceMode mode;
    mode.format = text_of(format.pixelformat);
    mode.usable = usable(format.pixelformat);
    bool any = false;
    for (std::uint32_t k = 0; k < kMostAnswers; ++k) {
      v4l2_frmsizeenum size{};
      size.index = k, size.pixel_format = format.pixelformat;
      if (calls.ioctl(fd, VIDIOC_ENUM_FRAMESIZES, &size) < 0 || size.type != V4L2_FRMSIZE_TYPE_DISCRETE) break;
      mode.width_px = static_cast<int>(size.discrete.width), mode.height_px = static_cast<int>(size.discrete.height);
      mode.rates_hz = rates(calls, fd, format.pixelformat, size.discrete.width, size.discrete.height);
      out.modes.push_back(mode);
      any = true;
    }
    if (!any) out.modes.push_back(mode);
  }
  struct Known {
    std::uint32_t id;
    const char* key;
    double unit;
  };
  constexpr std::array<Known, 6> known{{{V4L2_CID_EXPOSURE_ABSOLUTE, "exposure_ms", 0.1},
                                        {V4L2_CID_GAIN, "gain", 1},
                                        {V4L2_CID_ANALOGUE_GAIN, "gain", 1},
                                        {V4L2_CID_WHITE_BALANCE_TEMPERATURE, "white_balance_k", 1},
                                        {V4L2_CID_RED_BALANCE, "red_balance", 1},
                                        {V4L2_CID_BLUE_BALANCE, "blue_balance", 1}}};
  for (const Known& k : known) {
    v4l2_queryctrl query{};
    query.id = k.id;
    if (calls.ioctl(fd, VIDIOC_QUERYCTRL, &query) < 0 || (query.flags & V4L2_CTRL_FLAG_DISABLED) != 0) continue;
    v4l2_control now{k.id, 0};
    calls.ioctl(fd, VIDIOC_G_CTRL, &now);
    char name[33] = {};
    std::memcpy(name, query.name, 32);
    out.controls.push_back({k.key, name, query.minimum * k.unit, query.maximum * k.unit, now.value * k.unit});
  }
  calls.close(fd);
  return out;
}

}  // namespace ligature::drivers
