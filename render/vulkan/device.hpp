#pragma once
/// The Vulkan device and its memory: small owners, made once at start, destroyed in reverse.
///
/// Device functions go through a table of this device (volk), so that two renderers never share pointers.
#include <volk.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "render/params.hpp"
#include "sim/base/result.hpp"

namespace ligature::render {

std::string vk_name(VkResult result);  ///< "VK_ERROR_DEVICE_LOST", else the number

/// Counts what the validation layer (and sync validation) says; the first text is kept for the test's message.
struct ValidationLog {
  std::atomic<std::uint64_t> count{0};
  std::string first;
};

class Device {
 public:
  /// What the presenter needs beyond drawing.
  struct Needs {
    std::vector<const char*> instance_extensions;
    bool swapchain = false;
  };
  static Result<std::unique_ptr<Device>> create(const RenderParams& params, const Needs& needs);
  /// Second step: the physical device, once the presenter has made its surface (VK_NULL_HANDLE: none needed).
  Result<void> open(const RenderParams& params, VkSurfaceKHR surface);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Index of a memory type with all `wanted` and, where there is one, also `better` flags; -1: none.
  int memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags better) const;
  VkMemoryPropertyFlags memory_flags(int type) const { return memory_.memoryTypes[type].propertyFlags; }

  VolkDeviceTable vk{};
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice handle = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  std::uint32_t family = 0;
  bool multiview = false;
  bool is_cpu = false;
  int samples = 1;
  VkFormat depth_format = VK_FORMAT_UNDEFINED;
  std::string name, driver;
  ValidationLog validation;

 private:
  Device() = default;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger_ = nullptr;
  PFN_vkDestroyInstance destroy_instance_ = nullptr;
  VkPhysicalDeviceMemoryProperties memory_{};
  bool swapchain_ = false;
};

/// A buffer in host memory, mapped for its whole life.
class MappedBuffer {
 public:
  enum class Use { upload, readback };
  MappedBuffer() = default;
  static Result<MappedBuffer> create(Device& device, VkDeviceSize size, VkBufferUsageFlags usage, Use use);
  MappedBuffer(MappedBuffer&& other) noexcept { swap(other); }
  MappedBuffer& operator=(MappedBuffer&& other) noexcept { return swap(other), *this; }
  ~MappedBuffer();

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  VkBuffer handle() const { return buffer_; }
  VkDeviceSize size() const { return size_; }
  /// Readback: makes the device's writes visible where the memory is not coherent.
  VkResult invalidate() const;

 private:
  void swap(MappedBuffer& other) noexcept {
    std::swap(device_, other.device_), std::swap(buffer_, other.buffer_), std::swap(memory_, other.memory_);
    std::swap(data_, other.data_), std::swap(size_, other.size_), std::swap(coherent_, other.coherent_);
  }
  Device* device_ = nullptr;
  VkBuffer buffer_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  void* data_ = nullptr;
  VkDeviceSize size_ = 0;
  bool coherent_ = true;
};

/// A 2-D image with its view over all layers.
class Image {
 public:
  struct Spec {
    VkFormat format = VK_FORMAT_UNDEFINED;
    std::uint32_t width = 0, height = 0, layers = 1;
    VkSampleCountFlagBits samples = VK_SAMPLE_COUNT_1_BIT;
    VkImageUsageFlags usage = 0;
    VkImageAspectFlags aspect = VK_IMAGE_ASPECT_COLOR_BIT;
  };
  Image() = default;
  static Result<Image> create(Device& device, const Spec& spec);
  Image(Image&& other) noexcept { swap(other); }
  Image& operator=(Image&& other) noexcept { return swap(other), *this; }
  ~Image();
  VkImage handle() const { return image_; }
  VkImageView view() const { return view_; }
  explicit operator bool() const { return image_ != VK_NULL_HANDLE; }

 private:
  void swap(Image& other) noexcept {
    std::swap(device_, other.device_), std::swap(image_, other.image_), std::swap(memory_, other.memory_);
    std::swap(view_, other.view_);
  }
  Device* device_ = nullptr;
  VkImage image_ = VK_NULL_HANDLE;
  VkDeviceMemory memory_ = VK_NULL_HANDLE;
  VkImageView view_ = VK_NULL_HANDLE;
};

/// One image barrier over all layers, on the spot.
void image_barrier(Device& device, VkCommandBuffer commands, VkImage image, VkImageAspectFlags aspect,
                   VkPipelineStageFlags2 from_stage, VkAccessFlags2 from_access, VkPipelineStageFlags2 to_stage,
                   VkAccessFlags2 to_access, VkImageLayout from, VkImageLayout to);

}  // namespace ligature::render
