#pragma once
/// Small pictures of earlier frames, kept on the device to be drawn again and in host memory to be saved.
#include <array>

#include "render/renderer.hpp"
#include "render/sheet.hpp"
#include "render/vulkan/device.hpp"
#include "render/vulkan/presenter.hpp"

namespace ligature::render {

class Film {
 public:
  static constexpr std::uint32_t kAcross = 4, kDown = 2;
  static_assert(kAcross * kDown == kFilmFrames);

  static Result<Film> create(Device& device, std::uint32_t eye_width, std::uint32_t eye_height);
  Film() = default;
  Film(Film&& other) noexcept { swap(other); }
  Film& operator=(Film&& other) noexcept { return swap(other), *this; }
  ~Film();

  /// Before anything samples it; every frame.
  void begin(VkCommandBuffer commands);
  /// Keeps the eyes of this frame, which are as a presenter gets them. @pre frame < kFilmFrames
  void keep(VkCommandBuffer commands, const EyeImages& eyes, std::uint32_t frame);
  /// After the device has completed a frame that kept one.
  VkResult finish();

  bool kept(std::size_t frame) const { return (kept_ >> frame & 1U) != 0; }
  std::uint32_t kept_bits() const { return kept_; }
  /// One eye's picture. @pre kept(frame)
  PictureView picture(std::size_t frame, std::size_t eye) const;
  VkImageView view() const { return image_.view(); }
  VkSampler sampler() const { return sampler_; }

 private:
  void swap(Film& other) noexcept;
  void turn(VkCommandBuffer commands, bool to_write);
  Device* device_ = nullptr;
  Image image_;  ///< a layer an eye
  MappedBuffer pixels_;
  VkSampler sampler_ = VK_NULL_HANDLE;
  std::uint32_t width_ = 0, height_ = 0;  ///< of a small picture
  std::uint32_t kept_ = 0;
  bool ready_ = false;
};

}  // namespace ligature::render
