#include "drivers/camera/camera_event.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace ligature::drivers {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string reason(int error) {
  if (error == 0) return "";
  std::string text = std::string(": ") + std::strerror(error);
  if (error == EACCES || error == EPERM) text += ": usermod -aG video ligature";
  if (error == EBUSY) text += ": end the other program";
  return text;
}

}  // namespace

std::string describe(const CameraEvent& event) {
  using Kind = CameraEvent::Kind;
  const std::string text = event.text.c_str();
  switch (event.kind) {
    case Kind::connected:
      return "connected: " + text;
    case Kind::gone:
      return "unplugged" + reason(event.error == ENODEV ? 0 : event.error) + ": looked for until it is back";
    case Kind::not_found:
      return "not found by " + text + ": plug it in, or take what `ligature doctor` lists into the profile";
    case Kind::ambiguous:
      return "several devices have " + text + ": give the profile their paths, `ligature doctor` lists them";
    case Kind::refused:
      return "the device refuses " + text + reason(event.error) +
             (event.error == 0 ? ": choose what `ligature doctor --cameras` lists" : "");
    case Kind::other_serial:
      return "the device is camera " + text +
             ", the rig file was calibrated with another: calibrate, or plug it elsewhere";
    case Kind::control_missing:
      return "the device cannot be told " + text + " (" + number(event.wanted) + " wanted)";
    case Kind::control_refused:
      return "NOT LOCKED: " + text + " is " + number(event.got) + " on the device, " + number(event.wanted) +
             " wanted" + reason(event.error);
    case Kind::rate_differs:
      return "sends " + number(event.got) + " images a second, " + number(event.wanted) + " wanted";
    case Kind::no_device_time:
      return "gives no monotonic time stamps: times of arrival are used, less exact by a millisecond or more";
    case Kind::bad_time:
      return "a time stamp cannot be (" + number(event.got) + " ms from now): times of arrival are used instead";
    case Kind::distrusted:
      return "its time stamps are wrong too often: times of arrival are used, less exact by a millisecond or more";
    case Kind::frames_lost:
      return number(event.got) + " images lost between the sensor and us";
    case Kind::sequence_restart:
      return "image numbers went on by " + number(event.got) + " where the times say " + number(event.wanted) +
             ": the times are believed";
    case Kind::corrupt:
      return "an image came incomplete and is not used: look at cable and hub if it goes on";
    case Kind::stalled:
      return event.error != 0 ? "the stream broke" + reason(event.error) + ": started again"
                              : "no image for " + number(event.got) + " s: the stream is started again";
  }
  return "unknown event";
}

}  // namespace ligature::drivers
