#define VOLK_IMPLEMENTATION
#include "render/vulkan/device.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>

namespace ligature::render {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT, VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  auto* log = static_cast<ValidationLog*>(user);
  if (log->count.fetch_add(1) == 0 && data->pMessage != nullptr) log->first = data->pMessage;
  return VK_FALSE;
}

bool has_layer(const char* name) {
  std::uint32_t count = 0;
  if (vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (vkEnumerateInstanceLayerProperties(&count, layers.data()) != VK_SUCCESS) return false;
  return std::any_of(layers.begin(), layers.end(),
                     [name](const VkLayerProperties& l) { return std::strcmp(l.layerName, name) == 0; });
}

int rank(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

std::string vk_name(VkResult result) {
  switch (result) {
    case VK_SUCCESS:
      return "VK_SUCCESS";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_SURFACE_LOST_KHR:
      return "VK_ERROR_SURFACE_LOST_KHR";
    case VK_ERROR_OUT_OF_DATE_KHR:
      return "VK_ERROR_OUT_OF_DATE_KHR";
    default:
      return "VkResult " + std::to_string(static_cast<int>(result));
  }
}

Result<std::unique_ptr<Device>> Device::create(const RenderParams& params, const Needs& needs) {
  // volk keeps the instance's functions in globals: one renderer at a time may be made.
  static std::mutex making;
  const std::lock_guard lock(making);
  if (volkInitialize() != VK_SUCCESS)
    return unavailable("no Vulkan loader on this machine: apt-get install libvulkan1 mesa-vulkan-drivers");
  if (volkGetInstanceVersion() < VK_API_VERSION_1_3)
    return unavailable("the Vulkan loader is older than 1.3: install libvulkan1 of Debian 12 or newer");

  std::unique_ptr<Device> device(new Device);
  std::vector<const char*> extensions = needs.instance_extensions, layers;
  if (params.validation) {
    if (!has_layer(kValidationLayer))
      return unavailable(
          "no Vulkan validation layer: apt-get install vulkan-validationlayers, or set validation = false");
    layers.push_back(kValidationLayer);
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
  }
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "ligature";
  application.apiVersion = VK_API_VERSION_1_3;
  const VkValidationFeatureEnableEXT sync = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &sync;
  VkDebugUtilsMessengerCreateInfoEXT messages{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messages.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messages.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messages.pfnUserCallback = on_message;
  messages.pUserData = &device->validation;
  features.pNext = &messages;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  if (params.validation) info.pNext = &features;
  info.pApplicationInfo = &application;
  info.enabledLayerCount = static_cast<std::uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  if (const VkResult r = vkCreateInstance(&info, nullptr, &device->instance); r != VK_SUCCESS)
    return unavailable("no Vulkan instance (" + vk_name(r) + "): apt-get install mesa-vulkan-drivers");
  volkLoadInstanceOnly(device->instance);
  device->destroy_instance_ = vkDestroyInstance;
  if (params.validation) {
    device->destroy_messenger_ = vkDestroyDebugUtilsMessengerEXT;
    if (vkCreateDebugUtilsMessengerEXT(device->instance, &messages, nullptr, &device->messenger_) != VK_SUCCESS)
      return unavailable("the validation layer gives no messages: set validation = false");
  }
  device->swapchain_ = needs.swapchain;
  return device;
}

Result<void> Device::open(const RenderParams& params, VkSurfaceKHR surface) {
  std::uint32_t count = 0;
  vkEnumeratePhysicalDevices(instance, &count, nullptr);
  std::vector<VkPhysicalDevice> devices(count);
  vkEnumeratePhysicalDevices(instance, &count, devices.data());
  devices.resize(count);

  int best = -1;
  std::string seen;
  for (const VkPhysicalDevice candidate : devices) {
    VkPhysicalDeviceProperties properties{};
    vkGetPhysicalDeviceProperties(candidate, &properties);
    seen += (seen.empty() ? "" : ", ") + std::string(properties.deviceName);
    const bool cpu = properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    if (properties.apiVersion < VK_API_VERSION_1_3) continue;
    if ((params.device == "cpu" && !cpu) || (params.device == "gpu" && cpu)) continue;
    if (rank(properties.deviceType) <= best) continue;
    VkPhysicalDeviceVulkan13Features f13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &f13, {}};
    vkGetPhysicalDeviceFeatures2(candidate, &features);
    if (!f13.dynamicRendering || !f13.synchronization2) continue;
    std::uint32_t families = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(candidate, &families, nullptr);
    std::vector<VkQueueFamilyProperties> family_properties(families);
    vkGetPhysicalDeviceQueueFamilyProperties(candidate, &families, family_properties.data());
    for (std::uint32_t i = 0; i < families; ++i) {
      if (!(family_properties[i].queueFlags & VK_QUEUE_GRAPHICS_BIT)) continue;
      VkBool32 presents = VK_TRUE;
      if (surface != VK_NULL_HANDLE) vkGetPhysicalDeviceSurfaceSupportKHR(candidate, i, surface, &presents);
      if (!presents) continue;
      best = rank(properties.deviceType);
      physical = candidate;
      family = i;
      is_cpu = cpu;
      name = properties.deviceName;
      break;
    }
  }
  if (physical == VK_NULL_HANDLE)
    return unavailable("no Vulkan 1.3 device for device = \"" + params.device +
                       "\" (seen: " + (seen.empty() ? "none" : seen) +
                       "): install a driver (software: apt-get install mesa-vulkan-drivers) or set device = \"auto\"");

  VkPhysicalDeviceVulkan12Properties p12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
  VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &p12, {}};
  vkGetPhysicalDeviceProperties2(physical, &properties);
  driver = std::string(p12.driverName) + " " + p12.driverInfo;
  const VkPhysicalDeviceLimits& limits = properties.properties.limits;
  const auto largest = static_cast<int>(std::min(limits.maxImageDimension2D, limits.maxFramebufferWidth));
  if (params.eye_width_px < 1 || params.eye_height_px < 1 || params.eye_width_px > largest ||
      params.eye_height_px > largest)
    return usage_error("an eye of " + std::to_string(params.eye_width_px) + " x " +
                       std::to_string(params.eye_height_px) + " px: this device draws 1 to " + std::to_string(largest) +
                       " px each way");
  const VkSampleCountFlags counts = limits.framebufferColorSampleCounts & limits.framebufferDepthSampleCounts;
  samples = 1;
  for (int s = 2; s <= std::min(params.samples, 64); s *= 2)
    if (counts & static_cast<VkSampleCountFlags>(s)) samples = s;

  vkGetPhysicalDeviceMemoryProperties(physical, &memory_);
  for (const VkFormat format : {VK_FORMAT_D32_SFLOAT, VK_FORMAT_X8_D24_UNORM_PACK32, VK_FORMAT_D16_UNORM}) {
    VkFormatProperties f{};
    vkGetPhysicalDeviceFormatProperties(physical, format, &f);
    if (f.optimalTilingFeatures & VK_FORMAT_FEATURE_DEPTH_STENCIL_ATTACHMENT_BIT) {
      depth_format = format;
      break;
    }
  }

  VkPhysicalDeviceVulkan11Features has11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceFeatures2 has{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &has11, {}};
  vkGetPhysicalDeviceFeatures2(physical, &has);
  const bool trusted = p12.driverID != VK_DRIVER_ID_MESA_LLVMPIPE;  // see Renderer's make_passes()
  multiview = has11.multiview && (params.passes == "one" || (params.passes == "auto" && trusted));

  VkPhysicalDeviceVulkan13Features f13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  f13.dynamicRendering = VK_TRUE;
  f13.synchronization2 = VK_TRUE;
  VkPhysicalDeviceVulkan11Features f11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  f11.pNext = &f13;
  f11.multiview = multiview;
  const float priority = 1;
  VkDeviceQueueCreateInfo queues{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queues.queueFamilyIndex = family;
  queues.queueCount = 1;
  queues.pQueuePriorities = &priority;
  const char* const swapchain_extension = VK_KHR_SWAPCHAIN_EXTENSION_NAME;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = &f11;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queues;
  info.enabledExtensionCount = swapchain_ ? 1 : 0;
  info.ppEnabledExtensionNames = &swapchain_extension;
  if (const VkResult r = vkCreateDevice(physical, &info, nullptr, &handle); r != VK_SUCCESS)
    return unavailable("the Vulkan device " + name + " does not open (" + vk_name(r) + "): set device = \"cpu\"");
  volkLoadDeviceTable(&vk, handle);
  vk.vkGetDeviceQueue(handle, family, 0, &queue);
  return {};
}

Device::~Device() {
  if (handle != VK_NULL_HANDLE) vk.vkDestroyDevice(handle, nullptr);
  if (messenger_ != VK_NULL_HANDLE) destroy_messenger_(instance, messenger_, nullptr);
  if (instance != VK_NULL_HANDLE) destroy_instance_(instance, nullptr);
}

int Device::memory_type(std::uint32_t allowed, VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags better) const {
  for (const VkMemoryPropertyFlags flags : {wanted | better, wanted})
    for (std::uint32_t i = 0; i < memory_.memoryTypeCount; ++i)
      if ((allowed >> i & 1U) && (memory_.memoryTypes[i].propertyFlags & flags) == flags) return static_cast<int>(i);
  return -1;
}

Result<MappedBuffer> MappedBuffer::create(Device& device, VkDeviceSize size, VkBufferUsageFlags usage, Use use) {
  MappedBuffer b;
  b.device_ = &device;
  b.size_ = size;
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = size;
  info.usage = usage;
  if (const VkResult r = device.vk.vkCreateBuffer(device.handle, &info, nullptr, &b.buffer_); r != VK_SUCCESS)
    return unavailable("no Vulkan buffer: " + vk_name(r));
  VkMemoryRequirements needs{};
  device.vk.vkGetBufferMemoryRequirements(device.handle, b.buffer_, &needs);
  // Reading pixels back from uncached memory costs tens of milliseconds.
  VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT, better = 0;
  if (use == Use::readback)
    better = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  else
    wanted |= VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const int type = device.memory_type(needs.memoryTypeBits, wanted, better);
  if (type < 0) return unavailable("the Vulkan device " + device.name + " has no memory the host can map");
  const auto flags = device.memory_flags(type);
  b.coherent_ = (flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0;
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = static_cast<std::uint32_t>(type);
  VkResult r = device.vk.vkAllocateMemory(device.handle, &allocate, nullptr, &b.memory_);
  if (r == VK_SUCCESS) r = device.vk.vkBindBufferMemory(device.handle, b.buffer_, b.memory_, 0);
  if (r == VK_SUCCESS) r = device.vk.vkMapMemory(device.handle, b.memory_, 0, VK_WHOLE_SIZE, 0, &b.data_);
  if (r != VK_SUCCESS) return unavailable("no memory for a Vulkan buffer: " + vk_name(r));
  std::memset(b.data_, 0, size);
  return b;
}

MappedBuffer::~MappedBuffer() {
  if (device_ == nullptr) return;
  device_->vk.vkDestroyBuffer(device_->handle, buffer_, nullptr);
  device_->vk.vkFreeMemory(device_->handle, memory_, nullptr);
}

VkResult MappedBuffer::invalidate() const {
  if (coherent_) return VK_SUCCESS;
  VkMappedMemoryRange range{VK_STRUCTURE_TYPE_MAPPED_MEMORY_RANGE};
  range.memory = memory_;
  range.size = VK_WHOLE_SIZE;
  return device_->vk.vkInvalidateMappedMemoryRanges(device_->handle, 1, &range);
}

Result<Image> Image::create(Device& device, const Spec& spec) {
  Image image;
  image.device_ = &device;
  VkImageCreateInfo info{VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
  info.imageType = VK_IMAGE_TYPE_2D;
  info.format = spec.format;
  info.extent = {spec.width, spec.height, 1};
  info.mipLevels = 1;
  info.arrayLayers = spec.layers;
  info.samples = spec.samples;
  info.tiling = VK_IMAGE_TILING_OPTIMAL;
  info.usage = spec.usage;
  VkResult r = device.vk.vkCreateImage(device.handle, &info, nullptr, &image.image_);
  if (r != VK_SUCCESS) return unavailable("no Vulkan image: " + vk_name(r));
  VkMemoryRequirements needs{};
  device.vk.vkGetImageMemoryRequirements(device.handle, image.image_, &needs);
  const int type = device.memory_type(needs.memoryTypeBits, 0, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = static_cast<std::uint32_t>(std::max(type, 0));
  r = device.vk.vkAllocateMemory(device.handle, &allocate, nullptr, &image.memory_);
  if (r == VK_SUCCESS) r = device.vk.vkBindImageMemory(device.handle, image.image_, image.memory_, 0);
  if (r != VK_SUCCESS)
    return unavailable("no memory for pictures of " + std::to_string(spec.width) + " x " + std::to_string(spec.height) +
                       " px (" + vk_name(r) + "): choose a smaller eye or fewer samples");
  VkImageViewCreateInfo view{VK_STRUCTURE_TYPE_IMAGE_VIEW_CREATE_INFO};
  view.image = image.image_;
  view.viewType = spec.layers > 1 ? VK_IMAGE_VIEW_TYPE_2D_ARRAY : VK_IMAGE_VIEW_TYPE_2D;
  view.format = spec.format;
  view.subresourceRange = {spec.aspect, 0, 1, 0, spec.layers};
  r = device.vk.vkCreateImageView(device.handle, &view, nullptr, &image.view_);
  if (r != VK_SUCCESS) return unavailable("no Vulkan image view: " + vk_name(r));
  return image;
}

Image::~Image() {
  if (device_ == nullptr) return;
  device_->vk.vkDestroyImageView(device_->handle, view_, nullptr);
  device_->vk.vkDestroyImage(device_->handle, image_, nullptr);
  device_->vk.vkFreeMemory(device_->handle, memory_, nullptr);
}

void image_barrier(Device& device, VkCommandBuffer commands, VkImage image, VkImageAspectFlags aspect,
                   VkPipelineStageFlags2 from_stage, VkAccessFlags2 from_access, VkPipelineStageFlags2 to_stage,
                   VkAccessFlags2 to_access, VkImageLayout from, VkImageLayout to) {
  VkImageMemoryBarrier2 b{VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER_2};
  b.srcStageMask = from_stage;
  b.srcAccessMask = from_access;
  b.dstStageMask = to_stage;
  b.dstAccessMask = to_access;
  b.oldLayout = from;
  b.newLayout = to;
  b.srcQueueFamilyIndex = b.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED;
  b.image = image;
  b.subresourceRange = {aspect, 0, 1, 0, VK_REMAINING_ARRAY_LAYERS};
  VkDependencyInfo dependency{VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
  dependency.imageMemoryBarrierCount = 1;
  dependency.pImageMemoryBarriers = &b;
  device.vk.vkCmdPipelineBarrier2(commands, &dependency);
}

}  // namespace ligature::render
