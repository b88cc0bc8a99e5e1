#include "drivers/virtual_rig/virtual_camera.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "drivers/camera/lens.hpp"
#include "drivers/text.hpp"
#include "sim/base/random.hpp"

namespace ligature::drivers {
namespace {

constexpr int kSub = 4;                       // supersampling per pixel and axis
constexpr std::size_t kNoiseSlack = 1 << 20;  // distinct places a frame's noise can start from

struct Colour {
  float b = 0, g = 0, r = 0;  // full scale 255
};

Colour colour_of(double hue_deg, double saturation, double value) {
  const double h = hue_deg / 60 - 6 * std::floor(hue_deg / 360);
  const auto channel = [&](double n) {
    const double k = std::fmod(n + h, 6.0);
    return static_cast<float>(255 * value * (1 - saturation * std::clamp(std::min(k, 4 - k), 0.0, 1.0)));
  };
  return {channel(1), channel(3), channel(5)};
}

struct Ball {  // one sphere at one instant, in the camera's frame
  Vec3 p_C;
  double radius_mm = 0;
  Colour colour;
};

struct Box {
  int x0 = 0, y0 = 0, x1 = -1, y1 = -1;  // inclusive
  bool empty() const { return x1 < x0 || y1 < y0; }
  bool touches(const Box& o) const { return x0 <= o.x1 && o.x0 <= x1 && y0 <= o.y1 && o.y0 <= y1; }
  void cover(const Box& o) {
    x0 = std::min(x0, o.x0), y0 = std::min(y0, o.y0), x1 = std::max(x1, o.x1), y1 = std::max(y1, o.y1);
  }
};

class VirtualCamera final : public FrameSource {
 public:
  VirtualCamera(const VirtualRigParams& params, const Rig& rig, std::size_t index, std::shared_ptr<const HandPath> path)
      : params_(params),
        camera_(rig.cameras[index]),
        index_(index),
        lens_(camera_),
        X_CR_(inverse(camera_.X_RC)),
        light_C_(rotate(X_CR_.q, {0, 0, 1})),
        path_(std::move(path)),
        random_(params.seed * 0x9e3779b97f4a7c15ULL + index + 1) {
    for (const InstrumentModel& instrument : rig.instruments) {
      for (const Marker& m : instrument.markers)
        colours_.push_back(colour_of(m.colour_hue_deg, params.saturation, params.brightness));
      instruments_.push_back(instrument);
    }
    const std::size_t bytes = static_cast<std::size_t>(camera_.width_px) * camera_.height_px * 3;
    noise_.resize(bytes + kNoiseSlack);
    velvet_.resize(noise_.size());
    const double level = 255 * params.velvet, sigma = 255 * params.noise;
    for (std::size_t i = 0; i < noise_.size(); ++i) {
      const double n = sigma * random_.normal();
      noise_[i] = static_cast<std::int8_t>(std::lround(std::clamp(n, -127.0, 127.0)));
      velvet_[i] = static_cast<std::uint8_t>(std::lround(std::clamp(level + n, 0.0, 255.0)));
    }
    rays_.resize(static_cast<std::size_t>(camera_.width_px) * camera_.height_px);
    for (int v = 0; v < camera_.height_px; ++v)
      for (int u = 0; u < camera_.width_px; ++u) {
        const Point2 n = lens_.undistort({static_cast<double>(u), static_cast<double>(v)});
        std::array<double, 4> J;
        lens_.distort(n, &J);
        const double det = J[0] * J[3] - J[1] * J[2];
        rays_[static_cast<std::size_t>(v) * camera_.width_px + u] = {
            static_cast<float>(n.x),         static_cast<float>(n.y),         static_cast<float>(J[3] / det),
            static_cast<float>(-J[1] / det), static_cast<float>(-J[2] / det), static_cast<float>(J[0] / det)};
      }
  }

  FrameStatus next(Frame& frame) noexcept override { return advance(frame, true); }
  FrameStatus skip(Frame& frame) noexcept override { return advance(frame, false); }

 private:
  FrameStatus advance(Frame& frame, bool wanted) noexcept {
    const std::uint64_t k = sequence_;
    const double t = static_cast<double>(k) / params_.rate_hz;
    frame.sequence = k;
    const double mid_s = t + 1e-3 * params_.skew_ms[index_];
    frame.mid_exposure_ns = std::llround(1e9 * mid_s);
    frame.delivery_ns = frame.mid_exposure_ns + std::llround(1e6 * (0.5 * params_.exposure_ms + params_.readout_ms));
    if (params_.duration_s > 0 && t >= params_.duration_s) return FrameStatus::end;
    ++sequence_;
    if (!wanted) return FrameStatus::missing;
    try {
      frame.image.create(camera_.height_px, camera_.width_px, CV_8UC3);
      if (!frame.image.isContinuous()) frame.image = cv::Mat(camera_.height_px, camera_.width_px, CV_8UC3);
      render(mid_s, frame.image.data);
    } catch (...) {
      return FrameStatus::failed;
    }
    return FrameStatus::image;
  }

  struct Ray {
    float x, y;            // normalised direction of the pixel's centre
    float xu, xv, yu, yv;  // its derivative over one pixel
  };

  /// Every ball at one instant, far to near; a hidden one has no radius.
  void place(double t_s, std::vector<Ball>& balls) const {
    balls.clear();
    const auto forceps = path_->evaluate(t_s);
    std::size_t colour = 0;
    for (std::size_t i = 0; i < instruments_.size(); ++i)
      for (std::size_t m = 0; m < instruments_[i].markers.size(); ++m, ++colour) {
        if (hidden(i, m, t_s)) continue;
        const Marker& marker = instruments_[i].markers[m];
        const Vec3 p_R = forceps[i].X_RT * marker_p_T(instruments_[i], marker, forceps[i].opening_rad);
        balls.push_back({X_CR_ * p_R, 0.5 * marker.diameter_mm, colours_[colour]});
      }
    for (const BlobFault& blob : params_.blobs)
      if (t_s >= blob.from_s && t_s < blob.until_s)
        balls.push_back({X_CR_ * blob.p_R, 0.5 * blob.diameter_mm,
                         colour_of(blob.hue_deg, params_.saturation, params_.brightness)});
    std::erase_if(balls, [](const Ball& b) { return b.p_C.z < 2 * b.radius_mm + 1; });
    std::sort(balls.begin(), balls.end(), [](const Ball& a, const Ball& b) { return a.p_C.z > b.p_C.z; });
  }

  bool hidden(std::size_t instrument, std::size_t marker, double t_s) const {
    for (const HiddenMarkerFault& h : params_.hidden)
      if (h.instrument == static_cast<int>(instrument) && h.marker == static_cast<int>(marker) &&
          (h.camera < 0 || h.camera == static_cast<int>(index_)) && t_s >= h.from_s && t_s < h.until_s)
        return true;
    return false;
  }

  Box box_of(const Ball& ball) const {
    const Point2 n = sphere_image_centre(ball.p_C, ball.radius_mm);
    // Half the ellipse's longer axis is below r / (Z - r) * (1 + tan^2); the lens may widen it, so ask its derivative.
    const double wide = ball.radius_mm / (ball.p_C.z - ball.radius_mm) * (1 + n.x * n.x + n.y * n.y);
    if (n.x * n.x + n.y * n.y > 4) return {};
    std::array<double, 4> J;
    const Point2 c = lens_.distort(n, &J);
    const double ru = wide * (std::abs(J[0]) + std::abs(J[1])) + 1.5,
                 rv = wide * (std::abs(J[2]) + std::abs(J[3])) + 1.5;
    if (!(c.x + ru > 0 && c.x - ru < camera_.width_px && c.y + rv > 0 && c.y - rv < camera_.height_px)) return {};
    return {std::max(0, static_cast<int>(std::floor(c.x - ru))), std::max(0, static_cast<int>(std::floor(c.y - rv))),
            std::min(camera_.width_px - 1, static_cast<int>(std::ceil(c.x + ru))),
            std::min(camera_.height_px - 1, static_cast<int>(std::ceil(c.y + rv)))};
  }

  void render(double mid_s, std::uint8_t* image) {
    const std::size_t width = static_cast<std::size_t>(camera_.width_px);
    const std::size_t bytes = width * camera_.height_px * 3, start = random_.next() % kNoiseSlack;
    std::memcpy(image, velvet_.data() + start, bytes);

    const int n = std::max(1, params_.exposure_samples);
    instants_.resize(static_cast<std::size_t>(n));
    boxes_.clear();
    for (int i = 0; i < n; ++i) {
      place(mid_s + 1e-3 * params_.exposure_ms * ((i + 0.5) / n - 0.5), instants_[static_cast<std::size_t>(i)]);
      for (const Ball& ball : instants_[static_cast<std::size_t>(i)]) add_box(box_of(ball));
    }
    for (const Box& box : boxes_) paint(box, image, noise_.data() + start, width);
  }

  void add_box(Box box) {
    if (box.empty()) return;
    for (bool grown = true; grown;) {  // boxes that meet become one, so that every pixel is painted once
      grown = false;
      for (std::size_t i = 0; i < boxes_.size(); ++i)
        if (boxes_[i].touches(box)) {
          box.cover(boxes_[i]);
          boxes_[i] = boxes_.back();
          boxes_.pop_back();
          grown = true;
          break;
        }
    }
    boxes_.push_back(box);
  }

  void paint(const Box& box, std::uint8_t* image, const std::int8_t* noise, std::size_t width) {
    const int w = box.x1 - box.x0 + 1, h = box.y1 - box.y0 + 1;
    const float ground = static_cast<float>(255 * params_.velvet);
    sum_.assign(static_cast<std::size_t>(w) * h, {0, 0, 0});
    for (const std::vector<Ball>& balls : instants_) {
      now_.assign(sum_.size(), {ground, ground, ground});
      for (const Ball& ball : balls) draw(ball, box);
      for (std::size_t i = 0; i < sum_.size(); ++i)
        sum_[i].b += now_[i].b, sum_[i].g += now_[i].g, sum_[i].r += now_[i].r;
    }
    const float scale = 1.0F / static_cast<float>(instants_.size());
    for (int y = 0; y < h; ++y) {
      const std::size_t at = (static_cast<std::size_t>(box.y0 + y) * width + box.x0) * 3;
      for (int x = 0; x < w; ++x) {
        const Colour& c = sum_[static_cast<std::size_t>(y) * w + x];
        const std::array<float, 3> bgr{c.b, c.g, c.r};
        for (std::size_t k = 0; k < 3; ++k) {
          const std::size_t i = at + 3 * static_cast<std::size_t>(x) + k;
          image[i] =
              static_cast<std::uint8_t>(std::clamp(scale * bgr[k] + static_cast<float>(noise[i]) + 0.5F, 0.0F, 255.0F));
        }
      }
    }
  }

  /// One ball over what already stands in now_, by the share of each pixel's 16 points that see it.
  void draw(const Ball& ball, const Box& box) {
    const Box own = box_of(ball);
    if (own.empty()) return;
    const int y0 = std::max(own.y0, box.y0), y1 = std::min(own.y1, box.y1);
    const int x0 = std::max(own.x0, box.x0), x1 = std::min(own.x1, box.x1);
    const float cx = static_cast<float>(ball.p_C.x), cy = static_cast<float>(ball.p_C.y),
                cz = static_cast<float>(ball.p_C.z), r = static_cast<float>(ball.radius_mm);
    const float lx = static_cast<float>(light_C_.x), ly = static_cast<float>(light_C_.y),
                lz = static_cast<float>(light_C_.z), shading = static_cast<float>(params_.shading);
    for (int v = y0; v <= y1; ++v)
      for (int u = x0; u <= x1; ++u) {
        const Ray& ray = rays_[static_cast<std::size_t>(v) * camera_.width_px + u];
        int hits = 0;
        float light = 0;
        for (int j = 0; j < kSub; ++j)
          for (int i = 0; i < kSub; ++i) {
            const float du = (static_cast<float>(i) + 0.5F) / kSub - 0.5F,
                        dv = (static_cast<float>(j) + 0.5F) / kSub - 0.5F;
            const float dx = ray.x + ray.xu * du + ray.xv * dv, dy = ray.y + ray.yu * du + ray.yv * dv;
            // Closest approach of the ray to the centre, kept as a difference so that single precision suffices:
            // |c x d|^2 against r^2 |d|^2.
            const float ex = cy - cz * dy, ey = cz * dx - cx, ez = cx * dy - cy * dx;
            const float dd = dx * dx + dy * dy + 1, miss2 = ex * ex + ey * ey + ez * ez;
            const float depth2 = r * r * dd - miss2;
            if (depth2 < 0) continue;
            // Hit point s d; normal n = (s d - c) / r; lambert = (1 + n . light) / 2.
            const float s = ((dx * cx + dy * cy + cz) - std::sqrt(depth2)) / dd;
            const float lambert = ((s * dx - cx) * lx + (s * dy - cy) * ly + (s - cz) * lz) / r;
            light += 1 - shading * (0.5F - 0.5F * lambert);
            ++hits;
          }
        if (hits == 0) continue;
        const float share = static_cast<float>(hits) / (kSub * kSub), lit = light / (kSub * kSub);
        Colour& c = now_[static_cast<std::size_t>(v - box.y0) * (box.x1 - box.x0 + 1) + (u - box.x0)];
        c = {c.b * (1 - share) + lit * ball.colour.b, c.g * (1 - share) + lit * ball.colour.g,
             c.r * (1 - share) + lit * ball.colour.r};
      }
  }

  VirtualRigParams params_;
  CameraModel camera_;
  std::size_t index_;
  Lens lens_;
  Pose X_CR_;
  Vec3 light_C_;  // towards the light under the lid
  std::shared_ptr<const HandPath> path_;
  Random random_;
  std::vector<InstrumentModel> instruments_;
  std::vector<Colour> colours_;
  std::vector<std::int8_t> noise_;
  std::vector<std::uint8_t> velvet_;  // background plus that noise, clipped
  std::vector<Ray> rays_;
  std::vector<std::vector<Ball>> instants_;
  std::vector<Box> boxes_;
  std::vector<Colour> sum_, now_;
  std::uint64_t sequence_ = 0;
};

}  // namespace

Result<std::unique_ptr<FrameSource>> make_virtual_camera(const VirtualRigParams& params, const Rig& rig,
                                                         std::size_t camera_index,
                                                         std::shared_ptr<const HandPath> path) {
  struct Limit {
    const char* name;
    double value, low, high;
  };
  for (const Limit& l : {Limit{"rate_hz", params.rate_hz, 1, 1000}, Limit{"duration_s", params.duration_s, 0, 1e6},
                         Limit{"exposure_ms", params.exposure_ms, 0, 1000.0}, Limit{"noise", params.noise, 0, 0.2},
                         Limit{"exposure_samples", static_cast<double>(params.exposure_samples), 1, 64},
                         Limit{"brightness", params.brightness, 0, 1}, Limit{"shading", params.shading, 0, 1},
                         Limit{"saturation", params.saturation, 0, 1}, Limit{"velvet", params.velvet, 0, 1},
                         Limit{"readout_ms", params.readout_ms, 0, 1000}})
    if (!(l.value >= l.low && l.value <= l.high))
      return usage_error(std::string("virtual rig: ") + l.name + " is " + text::format("%g", l.value) + ", must be " +
                         text::format("%g", l.low) + ".." + text::format("%g", l.high));
  if (camera_index >= rig.cameras.size() || camera_index >= kCameras)
    return usage_error("virtual rig: no camera " + std::to_string(camera_index) + " in the rig");
  if (rig.instruments.size() != kInstruments)
    return usage_error("virtual rig: the rig must have a left and a right instrument");
  if (rig.cameras[camera_index].width_px < 1 || rig.cameras[camera_index].height_px < 1)
    return usage_error("virtual rig: camera " + rig.cameras[camera_index].name + " has no pixels");
  if (!path) return usage_error("virtual rig: no hand path");
  return std::unique_ptr<FrameSource>(std::make_unique<VirtualCamera>(params, rig, camera_index, std::move(path)));
}

}  // namespace ligature::drivers
