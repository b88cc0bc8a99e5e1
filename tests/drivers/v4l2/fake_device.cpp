#include "tests/drivers/v4l2/fake_device.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <opencv2/imgcodecs.hpp>

namespace ligature::drivers::testing {
namespace {

int bytes_per_pixel(std::uint32_t fourcc) {
  return fourcc == V4L2_PIX_FMT_YUYV ? 2 : 1;
}

int copy_text(const std::string& text, char* to, std::size_t size) {
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
  return static_cast<int>(length);
}

}  // namespace

std::vector<std::uint8_t> solid(const FakeCamera& camera, std::uint8_t level) {
  if (camera.fourcc == V4L2_PIX_FMT_MJPEG) {
    std::vector<std::uint8_t> bytes;
    const cv::Mat picture(static_cast<int>(camera.set_height), static_cast<int>(camera.set_width), CV_8UC3,
                          cv::Scalar::all(level));
    cv::imencode(".jpg", picture, bytes);
    return bytes;
  }
  std::vector<std::uint8_t> bytes(camera.image_size, 0xA5);
  for (std::uint32_t row = 0; row < camera.set_height; ++row)
    for (std::uint32_t i = 0; i < camera.set_width * static_cast<std::uint32_t>(bytes_per_pixel(camera.fourcc)); ++i)
      bytes[row * camera.stride + i] = camera.fourcc == V4L2_PIX_FMT_YUYV && i % 2 == 1 ? 128 : level;
  return bytes;
}

FakeCamera& FakeMachine::add(FakeCamera camera) {
  if (camera.number == 0) camera.number = 2 * static_cast<int>(cameras.size());
  cameras.push_back(std::move(camera));
  return cameras.back();
}

bool FakeMachine::present(const FakeCamera& camera, std::int64_t at_ns) const {
  return at_ns < camera.unplug_ns || at_ns >= camera.replug_ns;
}

bool FakeMachine::alive(const Handle& handle) const {
  const FakeCamera& c = *handle.camera;
  return time_ns < c.unplug_ns || handle.plugged_ns >= c.replug_ns;
}

int FakeMachine::number_of(const FakeCamera& camera) const {
  return camera.number_after_replug >= 0 && time_ns >= camera.replug_ns ? camera.number_after_replug : camera.number;
}

int FakeMachine::open(const char* node) noexcept {
  ++calls;
  for (FakeCamera& camera : cameras) {
    if ("/dev/video" + std::to_string(number_of(camera)) != node || !present(camera, time_ns)) continue;
    if (camera.open_error != 0) return -camera.open_error;
    ++camera.opened;
    Handle handle;
    handle.camera = &camera;
    handle.plugged_ns = time_ns;
    handles_.emplace(next_fd_, std::move(handle));
    return next_fd_++;
  }
  return -ENOENT;
}

int FakeMachine::close(int fd) noexcept {
  ++calls;
  const auto handle = handles_.find(fd);
  if (handle == handles_.end()) return -EBADF;
  ++handle->second.camera->closed;
  handles_.erase(handle);
  return 0;
}

std::int64_t FakeMachine::delivered_ns(const FakeCamera& c, std::uint64_t image) const {
  return c.phase_ns + static_cast<std::int64_t>(image) * c.period_ns + c.exposure_ns + c.readout_ns;
}

/// Everything that the sensor has finished by now goes into buffers, or is lost for want of one.
void FakeMachine::produce(Handle& handle) {
  FakeCamera& c = *handle.camera;
  while (c.streaming && delivered_ns(c, handle.next_image) <= time_ns) {
    const std::uint64_t k = handle.next_image++;
    const std::int64_t ready = delivered_ns(c, k);
    if (ready >= c.stall_from_ns && ready < c.stall_until_ns) continue;
    if (c.lose.count(k) != 0 || handle.queued.empty()) continue;
    v4l2_buffer buffer{};
    buffer.index = handle.queued.front();
    handle.queued.pop_front();
    std::vector<std::uint8_t> bytes = c.picture ? c.picture(c, k) : solid(c, grey_level(k));
    if (c.truncate.count(k) != 0) bytes.resize(bytes.size() / 2);
    if (c.corrupt.count(k) != 0)
      for (std::size_t i = bytes.size() / 3; i < bytes.size() / 3 + 40 && i < bytes.size(); ++i)
        bytes[i] = static_cast<std::uint8_t>(i * 151);
    auto& memory = handle.memory[buffer.index];
    buffer.bytesused = static_cast<std::uint32_t>(std::min(bytes.size(), memory.size()));
    std::copy_n(bytes.begin(), buffer.bytesused, memory.begin());
    buffer.flags = c.stamp_flags;
    if (c.flag_error.count(k) != 0) buffer.flags |= V4L2_BUF_FLAG_ERROR;
    std::int64_t sequence = static_cast<std::int64_t>(k - c.image_base);
    for (const auto& [from, jump] : c.sequence_jump)
      if (k >= from) sequence += jump;
    buffer.sequence = c.counts ? static_cast<std::uint32_t>(sequence) : 0;
    std::int64_t stamp = ready;
    if (c.stamp == FakeCamera::Stamp::exposure_start) stamp = ready - c.readout_ns - c.exposure_ns;
    if (c.stamp == FakeCamera::Stamp::exposure_end) stamp = ready - c.readout_ns;
    if (const auto wrong = c.stamp_error_ns.find(k); wrong != c.stamp_error_ns.end()) stamp += wrong->second;
    buffer.timestamp.tv_sec = stamp / 1'000'000'000;
    buffer.timestamp.tv_usec = stamp % 1'000'000'000 / 1000;
    // Carries the errno of an image that cannot be had.
    const auto error = c.dequeue_error.find(k);
    buffer.reserved2 = error == c.dequeue_error.end() ? 0 : static_cast<std::uint32_t>(error->second);
    handle.done.push_back(buffer);
  }
}

int FakeMachine::poll(int fd, int timeout_ms) noexcept {
  ++calls;
  const std::int64_t until = time_ns + std::int64_t{timeout_ms} * 1'000'000;
  const auto found = handles_.find(fd);
  if (found == handles_.end()) {
    time_ns = until;
    return fd < 0 ? 0 : -EBADF;
  }
  Handle& handle = found->second;
  FakeCamera& c = *handle.camera;
  if (c.always_poll_error) return POLLERR;
  for (;;) {
    if (!alive(handle)) return POLLERR | POLLHUP;
    produce(handle);
    if (!handle.done.empty()) return POLLIN;
    const std::int64_t next = c.streaming ? delivered_ns(c, handle.next_image) : INT64_MAX;
    const std::int64_t event = std::min(next, c.unplug_ns > time_ns ? c.unplug_ns : INT64_MAX);
    if (event > until) break;
    time_ns = std::max(time_ns, event);
  }
  time_ns = until;
  return 0;
}

int FakeMachine::set_format(FakeCamera& c, v4l2_format& format) {
  v4l2_pix_format& pix = format.fmt.pix;
  if (c.formats.count(pix.pixelformat) == 0) pix.pixelformat = *c.formats.begin();
  if (c.width != 0) pix.width = c.width, pix.height = c.height;
  c.fourcc = pix.pixelformat;
  c.set_width = pix.width, c.set_height = pix.height;
  c.stride = pix.width * static_cast<std::uint32_t>(bytes_per_pixel(c.fourcc)) + c.stride_extra;
  pix.bytesperline = c.fourcc == V4L2_PIX_FMT_MJPEG ? 0 : c.stride;
  c.image_size = static_cast<std::size_t>(c.stride) * pix.height;
  pix.sizeimage = static_cast<std::uint32_t>(c.image_size);
  pix.field = c.field;
  pix.colorspace = c.colorspace;
  pix.ycbcr_enc = c.ycbcr_enc;
  pix.quantization = c.quantization;
  return 0;
}

int FakeMachine::dequeue(Handle& handle, v4l2_buffer& buffer) {
  if (!handle.camera->streaming) return -EINVAL;
  produce(handle);
  if (handle.done.empty()) return -EAGAIN;
  const v4l2_buffer done = handle.done.front();
  handle.done.pop_front();
  time_ns += work_ns;
  if (done.reserved2 != 0) return -static_cast<int>(done.reserved2);
  buffer.index = done.index;
  buffer.bytesused = done.bytesused;
  buffer.flags = done.flags;
  buffer.sequence = done.sequence;
  buffer.timestamp = done.timestamp;
  return 0;
}

int FakeMachine::ioctl(int fd, unsigned long request, void* argument) noexcept {
  ++calls;
  const auto found = handles_.find(fd);
  if (found == handles_.end()) return -EBADF;
  Handle& handle = found->second;
  FakeCamera& c = *handle.camera;
  if (!alive(handle)) return -ENODEV;
  if (const auto refusal = c.refuses.find(request); refusal != c.refuses.end()) return -refusal->second;
  switch (request) {
    case VIDIOC_QUERYCAP: {
      auto& can = *static_cast<v4l2_capability*>(argument);
      can = {};
      copy_text(c.driver, reinterpret_cast<char*>(can.driver), sizeof can.driver);
      copy_text(c.name, reinterpret_cast<char*>(can.card), sizeof can.card);
      copy_text(c.bus, reinterpret_cast<char*>(can.bus_info), sizeof can.bus_info);
      can.device_caps = c.capabilities;
      can.capabilities = c.capabilities | V4L2_CAP_DEVICE_CAPS;
      return 0;
    }
    case VIDIOC_S_FMT:
      return set_format(c, *static_cast<v4l2_format*>(argument));
    case VIDIOC_S_PARM: {
      auto& frame = static_cast<v4l2_streamparm*>(argument)->parm.capture.timeperframe;
      if (c.rate_granted_hz > 0) frame = {1000, static_cast<std::uint32_t>(c.rate_granted_hz * 1000)};
      return 0;
    }
    case VIDIOC_G_PARM: {
      auto& frame = static_cast<v4l2_streamparm*>(argument)->parm.capture.timeperframe;
      frame = {static_cast<std::uint32_t>(c.period_ns / 1000), 1'000'000};
      return 0;
    }
    case VIDIOC_QUERYCTRL: {
      auto& query = *static_cast<v4l2_queryctrl*>(argument);
      const auto control = c.controls.find(query.id);
      if (control == c.controls.end()) return -EINVAL;
      query.minimum = control->second.minimum;
      query.maximum = control->second.maximum;
      return 0;
    }
    case VIDIOC_S_CTRL: {
      const auto& set = *static_cast<v4l2_control*>(argument);
      const auto control = c.controls.find(set.id);
      if (control == c.controls.end()) return -EINVAL;
      if (control->second.refuse != 0) return -control->second.refuse;
      if (!control->second.stuck)
        control->second.value = std::clamp(set.value, control->second.minimum, control->second.maximum);
      return 0;
    }
    case VIDIOC_G_CTRL: {
      auto& get = *static_cast<v4l2_control*>(argument);
      const auto control = c.controls.find(get.id);
      if (control == c.controls.end()) return -EINVAL;
      get.value = control->second.value;
      return 0;
    }
    case VIDIOC_REQBUFS: {
      auto& wanted = *static_cast<v4l2_requestbuffers*>(argument);
      wanted.count = std::min(wanted.count, c.buffers_most);
      handle.memory.assign(wanted.count, std::vector<std::uint8_t>(c.image_size));
      return 0;
    }
    case VIDIOC_QUERYBUF: {
      auto& buffer = *static_cast<v4l2_buffer*>(argument);
      if (buffer.index >= handle.memory.size()) return -EINVAL;
      buffer.length = static_cast<std::uint32_t>(handle.memory[buffer.index].size());
      buffer.m.offset = buffer.index * 0x100000;
      return 0;
    }
    case VIDIOC_QBUF:
      handle.queued.push_back(static_cast<v4l2_buffer*>(argument)->index);
      return 0;
    case VIDIOC_DQBUF:
      return dequeue(handle, *static_cast<v4l2_buffer*>(argument));
    case VIDIOC_STREAMON:
      c.streaming = true;
      ++c.streams;
      handle.next_image = 0;
      while (delivered_ns(c, handle.next_image) - c.readout_ns - c.exposure_ns < time_ns) ++handle.next_image;
      c.image_base = handle.next_image;
      for (auto& [id, control] : c.controls)
        if (control.reset_by_stream) control.value = control.minimum;
      return 0;
    case VIDIOC_STREAMOFF:
      c.streaming = false;
      handle.queued.clear();
      handle.done.clear();
      return 0;
    default:
      return -ENOTTY;
  }
}

void* FakeMachine::map(int fd, std::size_t length, std::int64_t offset) noexcept {
  const auto found = handles_.find(fd);
  const auto index = static_cast<std::size_t>(offset / 0x100000);
  if (found == handles_.end() || index >= found->second.memory.size() || length != found->second.memory[index].size())
    return nullptr;
  ++found->second.camera->mapped;
  return found->second.memory[index].data();
}

void FakeMachine::unmap(void* memory, std::size_t) noexcept {
  for (auto& [fd, handle] : handles_)
    for (auto& buffer : handle.memory)
      if (buffer.data() == memory) ++handle.camera->unmapped;
}

int FakeMachine::read_link(const char* path, char* to, std::size_t size) noexcept {
  if (const auto link = links.find(path); link != links.end()) return copy_text(link->second, to, size);
  for (const FakeCamera& c : cameras) {
    const std::string node = "video" + std::to_string(number_of(c));
    if (path != "/sys/class/video4linux/" + node || !present(c, time_ns)) continue;
    if (c.port.empty()) return copy_text("../../devices/platform/vivid.0/video4linux/" + node, to, size);
    return copy_text("../../devices/pci0000:00/0000:00:14.0/usb1/" + c.port + "/" + c.port + ":1.0/video4linux/" + node,
                     to, size);
  }
  return -ENOENT;
}

int FakeMachine::read_line(const char* path, char* to, std::size_t size) noexcept {
  const std::string file = path;
  if (const auto known = files.find(file); known != files.end()) return copy_text(known->second, to, size);
  for (const FakeCamera& c : cameras) {
    if (!present(c, time_ns)) continue;
    if (file == "/sys/class/video4linux/video" + std::to_string(number_of(c)) + "/name")
      return copy_text(c.name, to, size);
    if (!c.port.empty() && !c.serial.empty() &&
        file == "/sys/devices/pci0000:00/0000:00:14.0/usb1/" + c.port + "/serial")
      return copy_text(c.serial, to, size);
  }
  return -ENOENT;
}

}  // namespace ligature::drivers::testing
