#pragma once
/// Where the finished eyes go: host memory or a window. Called by Renderer only, in the order
/// acquire, record, (submit), finish; a false or lost answer ends the presenter's life.
#include "render/renderer.hpp"
#include "render/vulkan/device.hpp"

namespace ligature::render {

/// Both eyes, drawn and in layout TRANSFER_SRC_OPTIMAL: one image of two layers, or two images of one.
struct EyeImages {
  std::array<VkImage, 2> image{};
  std::array<std::uint32_t, 2> layer{};
  std::uint32_t width = 0, height = 0;
};
inline constexpr VkFormat kPictureFormat = VK_FORMAT_B8G8R8A8_SRGB;

class Presenter {
 public:
  virtual ~Presenter() = default;
  virtual const char* name() const = 0;
  /// Before recording; VK_NOT_READY: nothing to show on just now (minimised), skip this frame.
  virtual VkResult acquire() { return VK_SUCCESS; }
  virtual void record(VkCommandBuffer commands, const EyeImages& eyes) = 0;
  virtual VkSemaphore wait_before_transfer() const { return VK_NULL_HANDLE; }
  virtual VkSemaphore signal_when_done() const { return VK_NULL_HANDLE; }
  /// After the device has completed the frame.
  virtual VkResult finish() = 0;
  virtual PictureView picture() const { return {}; }
  virtual bool close_requested() const { return false; }
  virtual unsigned take_keys() { return 0; }  ///< bits of Key, each told once
};

Result<std::unique_ptr<Presenter>> make_offscreen_presenter(Device& device, const RenderParams& params);

/// The window's two halves of life: SDL and the surface exist before the device, the swapchain after it.
class WindowPresenter : public Presenter {
 public:
  virtual Device::Needs needs() const = 0;
  virtual Result<VkSurfaceKHR> make_surface(VkInstance instance) = 0;
  virtual Result<void> open(Device& device) = 0;
};
Result<std::unique_ptr<WindowPresenter>> make_window_presenter(const RenderParams& params);

}  // namespace ligature::render
