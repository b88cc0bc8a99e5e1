#include <SDL.h>
#include <SDL_vulkan.h>

#include <algorithm>
#include <utility>

#include "render/renderer.hpp"
#include "render/vulkan/presenter.hpp"

namespace ligature::render {
namespace {

/// Both eyes side by side in one SDL window, scaled to it with their shape kept.
class SdlPresenter final : public WindowPresenter {
 public:
  explicit SdlPresenter(SDL_Window* window) : window_(window) {}
  ~SdlPresenter() override {
    if (device_ != nullptr) {
      device_->vk.vkDeviceWaitIdle(device_->handle);
      drop_swapchain();
      device_->vk.vkDestroySemaphore(device_->handle, acquired_, nullptr);
    }
    if (surface_ != VK_NULL_HANDLE) destroy_surface_(instance_, surface_, nullptr);
    if (window_ != nullptr) SDL_DestroyWindow(window_);
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
  }
  const char* name() const override { return "window"; }

  Device::Needs needs() const override {
    Device::Needs needs;
    unsigned count = 0;
    SDL_Vulkan_GetInstanceExtensions(window_, &count, nullptr);
    needs.instance_extensions.resize(count);
    SDL_Vulkan_GetInstanceExtensions(window_, &count, needs.instance_extensions.data());
    needs.swapchain = true;
    return needs;
  }

  Result<VkSurfaceKHR> make_surface(VkInstance instance) override {
    instance_ = instance;
    if (!SDL_Vulkan_CreateSurface(window_, instance, &surface_))
      return unavailable(std::string("the window takes no Vulkan picture (") + SDL_GetError() +
                         "): set presenter = \"offscreen\"");
    const auto get = [instance](const char* name) { return vkGetInstanceProcAddr(instance, name); };
    destroy_surface_ = reinterpret_cast<PFN_vkDestroySurfaceKHR>(get("vkDestroySurfaceKHR"));
    capabilities_ = reinterpret_cast<PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR>(
        get("vkGetPhysicalDeviceSurfaceCapabilitiesKHR"));
    formats_ = reinterpret_cast<PFN_vkGetPhysicalDeviceSurfaceFormatsKHR>(get("vkGetPhysicalDeviceSurfaceFormatsKHR"));
    return surface_;
  }

  Result<void> open(Device& device) override {
    device_ = &device;
    const VkSemaphoreCreateInfo info{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, nullptr, 0};
    VkResult r = device.vk.vkCreateSemaphore(device.handle, &info, nullptr, &acquired_);
    std::uint32_t count = 0;
    if (r == VK_SUCCESS) r = formats_(device.physical, surface_, &count, nullptr);
    std::vector<VkSurfaceFormatKHR> formats(count);
    if (r == VK_SUCCESS) r = formats_(device.physical, surface_, &count, formats.data());
    if (r != VK_SUCCESS || formats.empty()) return unavailable("the window takes no Vulkan picture: " + vk_name(r));
    // An sRGB format, so that the blit decodes and encodes; else the first offered.
    format_ = formats.front();
    for (const VkSurfaceFormatKHR& f : formats)
      if (f.format == VK_FORMAT_B8G8R8A8_SRGB || f.format == VK_FORMAT_R8G8B8A8_SRGB) {
        format_ = f;
        break;
      }
    r = make_swapchain();
    if (r != VK_SUCCESS && r != VK_NOT_READY) return unavailable("no swapchain for the window: " + vk_name(r));
    return {};
  }

  VkResult acquire() override {
    SDL_Event event;
    for (int i = 0; i < 64 && SDL_PollEvent(&event) != 0; ++i) {
      if (event.type == SDL_QUIT) close_ = true;
      if (event.type == SDL_WINDOWEVENT && event.window.event == SDL_WINDOWEVENT_CLOSE) close_ = true;
      if (event.type == SDL_KEYDOWN && event.key.repeat == 0) press(event.key.keysym.sym);
      if (event.type == SDL_WINDOWEVENT && event.window.event == SDL_WINDOWEVENT_SIZE_CHANGED) stale_ = true;
    }
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (stale_ || swapchain_ == VK_NULL_HANDLE)
        if (const VkResult r = make_swapchain(); r != VK_SUCCESS) return r;
      const VkResult r = device_->vk.vkAcquireNextImageKHR(device_->handle, swapchain_, 1'000'000'000, acquired_,
                                                           VK_NULL_HANDLE, &index_);
      if (r == VK_SUCCESS) return VK_SUCCESS;
      if (r == VK_SUBOPTIMAL_KHR) {
        stale_ = true;  // this image still works; the next frame gets a new swapchain
        return VK_SUCCESS;
      }
      if (r == VK_TIMEOUT) return VK_NOT_READY;
      if (r != VK_ERROR_OUT_OF_DATE_KHR) return r;
      stale_ = true;
    }
    return VK_NOT_READY;
  }

  void record(VkCommandBuffer commands, const EyeImages& eyes) override {
    const VkImage target = images_[index_];
    image_barrier(*device_, commands, target, VK_IMAGE_ASPECT_COLOR_BIT, VK_PIPELINE_STAGE_2_TRANSFER_BIT,
                  VK_ACCESS_2_NONE, VK_PIPELINE_STAGE_2_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                  VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    const VkClearColorValue black{{0, 0, 0, 1}};
    const VkImageSubresourceRange whole{VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    device_->vk.vkCmdClearColorImage(commands, target, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &black, 1, &whole);
    image_barrier(*device_, commands, target, VK_IMAGE_ASPECT_COLOR_BIT, VK_PIPELINE_STAGE_2_TRANSFER_BIT,
                  VK_ACCESS_2_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_2_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                  VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    // Each eye has half of the window; its picture keeps its shape and sits in the middle of that half.
    const double half = 0.5 * extent_.width, height = extent_.height;
    const double scale = std::min(half / eyes.width, height / eyes.height);
    const auto w = std::max(1, static_cast<std::int32_t>(scale * eyes.width));
    const auto h = std::max(1, static_cast<std::int32_t>(scale * eyes.height));
    const auto width = static_cast<std::int32_t>(extent_.width), rows = static_cast<std::int32_t>(extent_.height);
    for (std::uint32_t eye = 0; eye < 2; ++eye) {
      const std::int32_t x = std::clamp(static_cast<std::int32_t>(half * eye) + (width / 2 - w) / 2, 0, width - 1);
      const std::int32_t y = std::clamp((rows - h) / 2, 0, rows - 1);
      VkImageBlit2 region{VK_STRUCTURE_TYPE_IMAGE_BLIT_2};
      region.srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, eyes.layer[eye], 1};
      region.srcOffsets[1] = {static_cast<std::int32_t>(eyes.width), static_cast<std::int32_t>(eyes.height), 1};
      region.dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
      region.dstOffsets[0] = {x, y, 0};
      region.dstOffsets[1] = {std::min(x + w, width), std::min(y + h, rows), 1};
      VkBlitImageInfo2 blit{VK_STRUCTURE_TYPE_BLIT_IMAGE_INFO_2};
      blit.srcImage = eyes.image[eye];
      blit.srcImageLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
      blit.dstImage = target;
      blit.dstImageLayout = VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL;
      blit.regionCount = 1;
      blit.pRegions = &region;
      blit.filter = VK_FILTER_LINEAR;
      device_->vk.vkCmdBlitImage2(commands, &blit);
    }
    image_barrier(*device_, commands, target, VK_IMAGE_ASPECT_COLOR_BIT, VK_PIPELINE_STAGE_2_TRANSFER_BIT,
                  VK_ACCESS_2_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_2_NONE, VK_ACCESS_2_NONE,
                  VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
  }
  VkSemaphore wait_before_transfer() const override { return acquired_; }
  VkSemaphore signal_when_done() const override { return drawn_[index_]; }

  VkResult finish() override {
    VkPresentInfoKHR info{VK_STRUCTURE_TYPE_PRESENT_INFO_KHR};
    info.waitSemaphoreCount = 1;
    info.pWaitSemaphores = &drawn_[index_];
    info.swapchainCount = 1;
    info.pSwapchains = &swapchain_;
    info.pImageIndices = &index_;
    const VkResult r = device_->vk.vkQueuePresentKHR(device_->queue, &info);
    if (r == VK_SUBOPTIMAL_KHR || r == VK_ERROR_OUT_OF_DATE_KHR) {
      stale_ = true;
      return VK_SUCCESS;
    }
    return r;
  }
  bool close_requested() const override { return close_; }
  unsigned take_keys() override { return std::exchange(keys_, 0u); }

 private:
  void drop_swapchain() {
    for (const VkSemaphore s : drawn_) device_->vk.vkDestroySemaphore(device_->handle, s, nullptr);
    drawn_.clear();
    images_.clear();
    if (swapchain_ != VK_NULL_HANDLE) device_->vk.vkDestroySwapchainKHR(device_->handle, swapchain_, nullptr);
    swapchain_ = VK_NULL_HANDLE;
  }

  /// VK_NOT_READY while the window has no area.
  VkResult make_swapchain() {
    device_->vk.vkDeviceWaitIdle(device_->handle);
    drop_swapchain();
    VkSurfaceCapabilitiesKHR can{};
    VkResult r = capabilities_(device_->physical, surface_, &can);
    if (r != VK_SUCCESS) return r;
    extent_ = can.currentExtent;
    if (extent_.width == UINT32_MAX) {
      int w = 0, h = 0;
      SDL_Vulkan_GetDrawableSize(window_, &w, &h);
      extent_.width = std::clamp(static_cast<std::uint32_t>(w), can.minImageExtent.width, can.maxImageExtent.width);
      extent_.height = std::clamp(static_cast<std::uint32_t>(h), can.minImageExtent.height, can.maxImageExtent.height);
    }
    if (extent_.width < 2 || extent_.height < 1) return VK_NOT_READY;
    VkSwapchainCreateInfoKHR info{VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR};
    info.surface = surface_;
    info.minImageCount = can.minImageCount + 1;
    if (can.maxImageCount > 0) info.minImageCount = std::min(info.minImageCount, can.maxImageCount);
    info.imageFormat = format_.format;
    info.imageColorSpace = format_.colorSpace;
    info.imageExtent = extent_;
    info.imageArrayLayers = 1;
    info.imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT;
    info.imageSharingMode = VK_SHARING_MODE_EXCLUSIVE;
    info.preTransform = can.currentTransform;
    info.compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR;
    info.presentMode = VK_PRESENT_MODE_FIFO_KHR;
    info.clipped = VK_TRUE;
    r = device_->vk.vkCreateSwapchainKHR(device_->handle, &info, nullptr, &swapchain_);
    std::uint32_t count = 0;
    if (r == VK_SUCCESS) r = device_->vk.vkGetSwapchainImagesKHR(device_->handle, swapchain_, &count, nullptr);
    images_.resize(count);
    if (r == VK_SUCCESS) r = device_->vk.vkGetSwapchainImagesKHR(device_->handle, swapchain_, &count, images_.data());
    drawn_.assign(count, VK_NULL_HANDLE);
    const VkSemaphoreCreateInfo semaphore{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, nullptr, 0};
    for (VkSemaphore& s : drawn_)
      if (r == VK_SUCCESS) r = device_->vk.vkCreateSemaphore(device_->handle, &semaphore, nullptr, &s);
    stale_ = r != VK_SUCCESS;
    return r;
  }

  SDL_Window* window_;
  Device* device_ = nullptr;
  VkInstance instance_ = VK_NULL_HANDLE;
  VkSurfaceKHR surface_ = VK_NULL_HANDLE;
  PFN_vkDestroySurfaceKHR destroy_surface_ = nullptr;
  PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR capabilities_ = nullptr;
  PFN_vkGetPhysicalDeviceSurfaceFormatsKHR formats_ = nullptr;
  VkSurfaceFormatKHR format_{};
  VkSwapchainKHR swapchain_ = VK_NULL_HANDLE;
  VkExtent2D extent_{};
  std::vector<VkImage> images_;
  std::vector<VkSemaphore> drawn_;  ///< one per image: presentation may still hold the last one
  VkSemaphore acquired_ = VK_NULL_HANDLE;
  std::uint32_t index_ = 0;
  bool stale_ = false, close_ = false;
  unsigned keys_ = 0;

  void press(SDL_Keycode key) {
    if (key == SDLK_SPACE) keys_ |= key_pause;
    if (key == SDLK_c) keys_ |= key_cut;
    if (key == SDLK_r) keys_ |= key_reset;
    if (key == SDLK_n) keys_ |= key_next;
  }
};

}  // namespace

Result<std::unique_ptr<WindowPresenter>> make_window_presenter(const RenderParams& params) {
  const auto no_display = [] {
    return unavailable(std::string("no display for the window (") + SDL_GetError() +
                       "): set DISPLAY or presenter = \"offscreen\"");
  };
  if (SDL_InitSubSystem(SDL_INIT_VIDEO) != 0) return no_display();
  SDL_SetHint(SDL_HINT_VIDEO_MINIMIZE_ON_FOCUS_LOSS, "0");
  std::uint32_t flags = SDL_WINDOW_VULKAN | SDL_WINDOW_RESIZABLE;
  if (params.fullscreen) flags |= SDL_WINDOW_FULLSCREEN_DESKTOP;
  SDL_Window* window = SDL_CreateWindow("Ligature", SDL_WINDOWPOS_CENTERED, SDL_WINDOWPOS_CENTERED,
                                        2 * params.eye_width_px, params.eye_height_px, flags);
  if (window == nullptr) {
    auto error = no_display();
    SDL_QuitSubSystem(SDL_INIT_VIDEO);
    return error;
  }
  if (params.fullscreen) SDL_ShowCursor(SDL_DISABLE);
  return std::unique_ptr<WindowPresenter>(new SdlPresenter(window));
}

}  // namespace ligature::render
