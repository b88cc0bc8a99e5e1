#include "render/vulkan/presenter.hpp"

namespace ligature::render {
namespace {

/// Copies both eyes, side by side, into host memory that stays mapped.
class OffscreenPresenter final : public Presenter {
 public:
  OffscreenPresenter(Device& device, MappedBuffer pixels, int eye_width, int eye_height)
      : device_(device), pixels_(std::move(pixels)), width_(2 * eye_width), height_(eye_height) {}
  const char* name() const override { return "offscreen"; }

  void record(VkCommandBuffer commands, const EyeImages& eyes) override {
    std::array<VkBufferImageCopy2, 2> regions{};
    for (std::uint32_t eye = 0; eye < 2; ++eye) {
      regions[eye].sType = VK_STRUCTURE_TYPE_BUFFER_IMAGE_COPY_2;
      regions[eye].bufferOffset = VkDeviceSize{4} * eye * eyes.width;
      regions[eye].bufferRowLength = 2 * eyes.width;
      regions[eye].imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, eyes.layer[eye], 1};
      regions[eye].imageExtent = {eyes.width, eyes.height, 1};
    }
    VkCopyImageToBufferInfo2 copy{VK_STRUCTURE_TYPE_COPY_IMAGE_TO_BUFFER_INFO_2};
    copy.srcImageLayout = VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    copy.dstBuffer = pixels_.handle();
    // The eyes' rows interleave without touching, yet sync validation sees one range: one command, or a barrier
    // between.
    if (eyes.image[0] == eyes.image[1]) {
      copy.srcImage = eyes.image[0];
      copy.regionCount = 2;
      copy.pRegions = regions.data();
      device_.vk.vkCmdCopyImageToBuffer2(commands, &copy);
    } else {
      for (std::uint32_t eye = 0; eye < 2; ++eye) {
        copy.srcImage = eyes.image[eye];
        copy.regionCount = 1;
        copy.pRegions = &regions[eye];
        device_.vk.vkCmdCopyImageToBuffer2(commands, &copy);
        if (eye == 0) barrier(commands, VK_PIPELINE_STAGE_2_COPY_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT);
      }
    }
    barrier(commands, VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT);
  }
  VkResult finish() override { return pixels_.invalidate(); }
  PictureView picture() const override {
    return {pixels_.as<const std::uint8_t>(), width_, height_, static_cast<std::size_t>(width_) * 4};
  }

 private:
  void barrier(VkCommandBuffer commands, VkPipelineStageFlags2 stage, VkAccessFlags2 access) {
    VkMemoryBarrier2 b{VK_STRUCTURE_TYPE_MEMORY_BARRIER_2};
    b.srcStageMask = VK_PIPELINE_STAGE_2_COPY_BIT;
    b.srcAccessMask = VK_ACCESS_2_TRANSFER_WRITE_BIT;
    b.dstStageMask = stage;
    b.dstAccessMask = access;
    VkDependencyInfo dependency{VK_STRUCTURE_TYPE_DEPENDENCY_INFO};
    dependency.memoryBarrierCount = 1;
    dependency.pMemoryBarriers = &b;
    device_.vk.vkCmdPipelineBarrier2(commands, &dependency);
  }

  Device& device_;
  MappedBuffer pixels_;
  int width_, height_;
};

}  // namespace

Result<std::unique_ptr<Presenter>> make_offscreen_presenter(Device& device, const RenderParams& params) {
  const VkDeviceSize bytes = VkDeviceSize{8} * static_cast<VkDeviceSize>(params.eye_width_px) *
                             static_cast<VkDeviceSize>(params.eye_height_px);
  auto pixels = MappedBuffer::create(device, bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, MappedBuffer::Use::readback);
  if (!pixels) return unexpected(pixels.error());
  return std::unique_ptr<Presenter>(
      new OffscreenPresenter(device, std::move(*pixels), params.eye_width_px, params.eye_height_px));
}

}  // namespace ligature::render
