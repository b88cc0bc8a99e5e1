#include "render/vulkan/film.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ligature::render {

Result<Film> Film::create(Device& device, std::uint32_t eye_width, std::uint32_t eye_height) {
  Film film;
  film.device_ = &device;
  film.width_ = std::max(1U, eye_width / kAcross);
  film.height_ = std::max(1U, eye_height / kAcross);
  const std::uint32_t width = kAcross * film.width_, height = kDown * film.height_;
  auto image = Image::create(
      device, {kPictureFormat, width, height, 2, VK_SAMPLE_COUNT_1_BIT,
               VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_SAMPLED_BIT,
               VK_IMAGE_ASPECT_COLOR_BIT});
  if (!image) return unexpected(image.error());
  film.image_ = std::move(*image);
  auto pixels = MappedBuffer::create(device, VkDeviceSize{8} * width * height, VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                     MappedBuffer::Use::readback);
  if (!pixels) return unexpected(pixels.error());
  film.pixels_ = std::move(*pixels);
  VkSamplerCreateInfo info{VK_STRUCTURE_TYPE_SAMPLER_CREATE_INFO};
  info.magFilter = info.minFilter = VK_FILTER_LINEAR;
  info.addressModeU = info.addressModeV = info.addressModeW = VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE;
  if (const VkResult r = device.vk.vkCreateSampler(device.handle, &info, nullptr, &film.sampler_); r != VK_SUCCESS)
    return unavailable("no Vulkan sampler: " + vk_name(r));
  return film;
}

Film::~Film() {
  if (device_ != nullptr) device_->vk.vkDestroySampler(device_->handle, sampler_, nullptr);
}

void Film::swap(Film& other) noexcept {
  std::swap(device_, other.device_), std::swap(image_, other.image_), std::swap(pixels_, other.pixels_);
  std::swap(sampler_, other.sampler_), std::swap(width_, other.width_), std::swap(height_, other.height_);
  std::swap(kept_, other.kept_), std::swap(ready_, other.ready_);
}

void Film::turn(VkCommandBuffer commands, bool to_write) {
  const auto shown =
      std::tuple{VkPipelineStageFlags2{VK_PIPELINE_STAGE_2_FRAGMENT_SHADER_BIT},
                 VkAccessFlags2{VK_ACCESS_2_SHADER_SAMPLED_READ_BIT}, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};
  const auto written = std::tuple{VkPipelineStageFlags2{VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT},
                                  VkAccessFlags2{VK_ACCESS_2_TRANSFER_WRITE_BIT | VK_ACCESS_2_TRANSFER_READ_BIT},
                                  VK_IMAGE_LAYOUT_GENERAL};
  const auto& [from_stage, from_access, from] = to_write ? shown : written;
  const auto& [to_stage, to_access, to] = to_write ? written : shown;
  image_barrier(*device_, commands, image_.handle(), VK_IMAGE_ASPECT_COLOR_BIT, from_stage, from_access, to_stage,
                to_access, ready_ ? from : VK_IMAGE_LAYOUT_UNDEFINED, to);
  ready_ = true;
}

void Film::begin(VkCommandBuffer commands) {
  if (!ready_) turn(commands, false);
}

void Film::keep(VkCommandBuffer commands, const EyeImages& eyes, std::uint32_t frame) {
  const auto i32 = [](std::uint32_t value) { return static_cast<std::int32_t>(value); };
  turn(commands, true);
  const std::uint32_t x = frame % kAcross * width_, y = frame / kAcross * height_;
  for (std::uint32_t eye = 0; eye < 2; ++eye) {
    VkImageBlit2 region{VK_STRUCTURE_TYPE_IMAGE_BLIT_2};
    region.srcSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, eyes.layer[eye], 1};
    region.srcOffsets[1] = {i32(eyes.width), i32(eyes.height), 1};
    region.dstSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, eye, 1};
    region.dstOffsets[0] = {i32(x), i32(y), 0};
    region.dstOffsets[1] = {i32(x + width_), i32(y + height_), 1};
    VkBlitImageInfo2 blit{VK_STRUCTURE_TYPE_BLIT_IMAGE_INFO_2};
    blit.srcImage = eyes.image[eye];
    blit.srcImageLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    blit.dstImage = image_.handle();
    blit.dstImageLayout = VK_IMAGE_LAYOUT_GENERAL;
    blit.regionCount = 1;
    blit.pRegions = &region;
    blit.filter = VK_FILTER_LINEAR;
    device_->vk.vkCmdBlitImage2(commands, &blit);
  }
  image_barrier(*device_, commands, image_.handle(), VK_IMAGE_ASPECT_COLOR_BIT, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT,
                VK_ACCESS_2_TRANSFER_WRITE_BIT, VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL);
  VkBufferImageCopy2 whole{VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2};
  whole.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 2};
  whole.imageExtent = {kAcross * width_, kDown * height_, 1};
  VkCopyImageToBufferInfo2 copy{VK_STRUCTURE_TYPE_COPY_IMAGE_TO_BUFFER_INFO_2};
  copy.srcImage = image_.handle();
  copy.srcImageLayout = VK_IMAGE_LAYOUT_GENERAL;
  copy.dstBuffer = pixels_.handle();
  copy.regionCount = 1;
  copy.pRegions = &whole;
  device_->vk.vkCmdCopyImageToBuffer2(commands, &copy);
  VkMemoryBarrier2 read{VK_STRUCTURE_TYPE_MEMORY_BARRIER_2};
  read.srcStageMask = VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT;
  read.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
  read.dstStageMask = VK_PIPELINE_STAGE_2_HOST_BIT;
  read.dstAccessMask = VK_ACCESS_2_HOST_READ_BIT;
  VkDependencyInfo dependency{VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
  dependency.memoryBarrierCount = 1;
  dependency.pMemoryBarriers = &read;
  device_->vk.vkCmdPipelineBarrier2(commands, &dependency);
  turn(commands, false);
  kept_ |= 1U << frame;
}

VkResult Film::finish() {
  return pixels_.invalidate();
}

PictureView Film::picture(std::size_t frame, std::size_t eye) const {
  const std::size_t stride = std::size_t{4} * kAcross * width_;
  const std::size_t layer = stride * kDown * height_;
  return {pixels_.as<const std::uint8_t>() + eye * layer + frame / kAcross * height_ * stride +
              std::size_t{4} * (frame % kAcross) * width_,
          static_cast<int>(width_), static_cast<int>(height_), stride};
}

}  // namespace ligature::render
