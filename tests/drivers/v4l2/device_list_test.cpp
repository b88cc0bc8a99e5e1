#include "drivers/camera/v4l2/device_list.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/drivers/v4l2/fake_device.hpp"

namespace ligature::drivers {
namespace {

using testing::FakeCamera;
using testing::FakeMachine;

FakeCamera camera(int number, const char* serial, const char* port, const char* bus) {
  FakeCamera c;
  c.number = number, c.serial = serial, c.port = port, c.bus = bus;
  return c;
}

TEST(DeviceList, ListsWhatGivesImagesAndNothingElse) {
  FakeMachine machine;
  machine.add(camera(2, "A", "1-2", "usb-0000:00:14.0-2"));
  FakeCamera metadata = camera(3, "A", "1-2", "usb-0000:00:14.0-2");
  metadata.capabilities = V4L2_CAP_META_CAPTURE | V4L2_CAP_STREAMING;
  machine.add(metadata);
  FakeCamera locked = camera(5, "B", "1-3", "usb-0000:00:14.0-3");
  locked.open_error = EACCES;
  machine.add(locked);
  machine.add(camera(40, "", "", "platform:vivid-000"));
  std::array<DeviceInfo, kMaxVideoNodes> found;
  ASSERT_EQ(list_devices(machine, found), 3u);
  EXPECT_STREQ(found[0].node.c_str(), "/dev/video2");
  EXPECT_STREQ(found[0].serial.c_str(), "A");
  EXPECT_STREQ(found[0].port.c_str(), "1-2");
  EXPECT_STREQ(found[0].bus.c_str(), "usb-0000:00:14.0-2");
  EXPECT_STREQ(found[0].name.c_str(), "Fake Camera");
  EXPECT_EQ(found[1].error, EACCES);
  EXPECT_STREQ(found[1].serial.c_str(), "B") << "sysfs tells without opening";
  EXPECT_STREQ(found[2].bus.c_str(), "platform:vivid-000");
  EXPECT_STREQ(found[2].port.c_str(), "");
  EXPECT_EQ(machine.descriptors(), 0);
}

TEST(DeviceList, FindsBySerialWhereverItIsPlugged) {
  for (const char* port : {"1-2", "2-1.4.3"}) {
    FakeMachine machine;
    machine.add(camera(0, "OTHER", "1-1", "usb-x-1"));
    machine.add(camera(7, "MINE", port, "usb-x-2"));
    DeviceInfo found;
    ASSERT_EQ(find_device(machine, "MINE", "", found), Match::one);
    EXPECT_EQ(found.number, 7);
    EXPECT_STREQ(found.port.c_str(), port);
    EXPECT_EQ(find_device(machine, "MIN", "", found), Match::none) << "not by a part of it";
    EXPECT_EQ(find_device(machine, "", "", found), Match::none);
  }
}

TEST(DeviceList, FindsByPortByBusAndByUdevsLink) {
  FakeMachine machine;
  machine.add(camera(2, "S", "1-2.3", "usb-0000:00:14.0-2.3"));
  machine.add(camera(4, "S", "1-2", "usb-0000:00:14.0-2"));
  machine.add(camera(8, "", "", "platform:vivid-001"));
  machine.links["/dev/v4l/by-path/pci-usb-0:2:1.0-video-index0"] = "../../video4";
  DeviceInfo found;
  EXPECT_EQ(find_device(machine, "S", "", found), Match::several) << "cheap cameras share one serial";
  EXPECT_EQ(find_device(machine, "", "1-2", found), Match::one);
  EXPECT_EQ(found.number, 4) << "1-2 is not 1-2.3";
  EXPECT_EQ(find_device(machine, "S", "1-2.3", found), Match::one);
  EXPECT_EQ(found.number, 2);
  EXPECT_EQ(find_device(machine, "T", "1-2.3", found), Match::none) << "both must be right";
  EXPECT_EQ(find_device(machine, "", "usb-0000:00:14.0-2.3", found), Match::one);
  EXPECT_EQ(found.number, 2);
  EXPECT_EQ(find_device(machine, "", "platform:vivid-001", found), Match::one);
  EXPECT_EQ(found.number, 8);
  EXPECT_EQ(find_device(machine, "", "/dev/v4l/by-path/pci-usb-0:2:1.0-video-index0", found), Match::one);
  EXPECT_EQ(found.number, 4);
  EXPECT_EQ(find_device(machine, "", "/dev/v4l/by-path/none", found), Match::none);
}

TEST(DeviceList, ACameraWithTwoImageNodesIsOneCamera) {
  FakeMachine machine;
  machine.add(camera(2, "S", "1-2", "usb-x-2"));
  machine.add(camera(4, "S", "1-2", "usb-x-2"));
  DeviceInfo found;
  EXPECT_EQ(find_device(machine, "S", "", found), Match::one);
  EXPECT_EQ(found.number, 2);
}

TEST(DeviceList, TextsOfAnyLengthAreCutNotOverrun) {
  FakeMachine machine;
  FakeCamera c = camera(2, std::string(300, 's').c_str(), "1-2", "b");
  c.name = std::string(500, 'n');
  c.bus = std::string(200, 'b');
  machine.add(c);
  machine.links["/sys/class/video4linux/video9"] = std::string(2000, '/');
  machine.links["/sys/class/video4linux/video10"] = "";
  machine.links["/sys/class/video4linux/video11"] = "a:b:c/:/-:/1-:1-:0";
  std::array<DeviceInfo, kMaxVideoNodes> found;
  ASSERT_EQ(list_devices(machine, found), 1u);
  EXPECT_EQ(std::string(found[0].serial.c_str()), std::string(63, 's'));
}

}  // namespace
}  // namespace ligature::drivers
