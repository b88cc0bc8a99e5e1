#include <gtest/gtest.h>

#include "appliance/rt/rt_section.hpp"
#include "drivers/camera/trigger_matcher.hpp"
#include "drivers/camera/v4l2/v4l2_camera.hpp"
#include "drivers/markers/detector.hpp"
#include "drivers/tracking/tracker.hpp"
#include "tests/drivers/scene.hpp"
#include "tests/drivers/v4l2/fake_device.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::drivers {
namespace {

TEST(DriversRealTime, DetectionAndFitNeitherAllocateNorLock) {
  ASSERT_TRUE(guard::active());
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  VirtualRigParams params;
  params.rate_hz = 10, params.duration_s = 2;
  HiddenMarkerFault hidden;
  hidden.instrument = 1, hidden.from_s = 0.8, hidden.until_s = 1.2;
  params.hidden = {hidden};
  auto cameras = testing::virtual_cameras(params, rig, path);
  auto tracker = Tracker::create(rig);
  std::vector<MarkerDetector> detectors;
  for (std::size_t c = 0; c < kCameras; ++c) detectors.push_back(std::move(*MarkerDetector::create(rig, c)));
  std::array<Frame, kCameras> frames;
  std::array<MarkerSet, kCameras> sets;
  guard::reset();
  for (int k = 0; k < 20; ++k) {
    for (std::size_t c = 0; c < kCameras; ++c) {
      FrameStatus status = cameras[c]->next(frames[c]);
      ASSERT_EQ(status, FrameStatus::image);
      if (k > 12 && c < 3) status = FrameStatus::missing;  // down to one camera: predicted, lost
      const guard::ForbidAlloc forbid;
      detectors[c].detect(frames[c], status, sets[c]);
    }
    const guard::ForbidAlloc forbid;
    (void)tracker->track({&sets[0], &sets[1], &sets[2], &sets[3]});
    (void)path->evaluate(0.1 * k);
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
}

/// The fake machine is not the code under test.
class ExemptMachine final : public DeviceCalls {
 public:
  testing::FakeMachine fake;
  int open(const char* node) noexcept override {
    return exempt([&] { return fake.open(node); });
  }
  int close(int fd) noexcept override {
    return exempt([&] { return fake.close(fd); });
  }
  int ioctl(int fd, unsigned long request, void* argument) noexcept override {
    return exempt([&] { return fake.ioctl(fd, request, argument); });
  }
  void* map(int fd, std::size_t length, std::int64_t offset) noexcept override {
    return exempt([&] { return fake.map(fd, length, offset); });
  }
  void unmap(void* memory, std::size_t length) noexcept override {
    exempt([&] { return fake.unmap(memory, length), 0; });
  }
  int poll(int fd, int timeout_ms) noexcept override {
    return exempt([&] { return fake.poll(fd, timeout_ms); });
  }
  std::int64_t now_ns() noexcept override { return fake.now_ns(); }
  int read_link(const char* path, char* to, std::size_t size) noexcept override {
    return exempt([&] { return fake.read_link(path, to, size); });
  }
  int read_line(const char* path, char* to, std::size_t size) noexcept override {
    return exempt([&] { return fake.read_line(path, to, size); });
  }

 private:
  template <class F>
  static auto exempt(F f) noexcept -> decltype(f()) {
    const rt::RtExempt marked("fake machine");
    return f();
  }
};

/// What `next()` does beside the kernel's calls and the decoders of JPEG and Bayer, unplugging and looking for the
/// device again included.
TEST(DriversRealTime, CapturingYuyvNeitherAllocatesNorLocks) {
  ASSERT_TRUE(guard::active());
  ExemptMachine machine;
  testing::FakeCamera camera;
  camera.number = 3, camera.serial = "S", camera.port = "1-2";
  camera.controls[V4L2_CID_GAIN] = {10, 0, 20};
  auto& fake = machine.fake.add(camera);
  V4l2Params params;
  params.serial = "S", params.calibrated_serial = "T", params.format = PixelFormat::yuyv;
  params.gain = 500;
  auto source = V4l2Camera::create(params, machine);
  ASSERT_TRUE(source) << source.error().message;
  (*source)->begin(machine.now_ns());
  Frame frame;
  frame.image.create(params.height_px, params.width_px, CV_8UC3);
  for (std::uint64_t k = 0; k < 3000; k += 7)
    fake.lose.insert(k), fake.truncate.insert(k + 2), fake.stamp_error_ns[k + 3] = 1'000'000'000;
  fake.unplug_ns = machine.now_ns() + 1'000'000'000;
  fake.replug_ns = machine.now_ns() + 3'000'000'000;
  TriggerMatcher matcher(16'666'667);
  int images = 0, events = 0;
  guard::reset();
  for (int i = 0; i < 300; ++i) {
    const guard::ForbidAlloc forbid;
    const FrameStatus status = (*source)->next(frame);
    images += status == FrameStatus::image;
    if (status == FrameStatus::image) (void)matcher.assign(1, frame.mid_exposure_ns);
    for (CameraEvent event; (*source)->take_event(event);) ++events;
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
  EXPECT_GT(images, 100);
  EXPECT_GT(events, 5);
  EXPECT_EQ((*source)->counters()->connections.load(), 2u);
}

}  // namespace
}  // namespace ligature::drivers
