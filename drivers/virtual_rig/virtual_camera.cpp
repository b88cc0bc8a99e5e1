#include "drivers/virtual_rig/virtual_camera.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "drivers/camera/lens.hpp"
#include "drivers/text.hpp"
#include "sim/base/random.hpp"

namespace ligature::drivers {
namespace {

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
  bool marker = true;  // false: a bead of a forceps' body
};

/// Four-point Gauss-Legendre rule on a pixel's half-open side [-1/2, 1/2].
constexpr std::array<double, 4> kNode{-0.4305681557970263, -0.1699905217924281, 0.1699905217924281, 0.4305681557970263};
constexpr std::array<double, 4> kNodeWeight{0.1739274225687269, 0.3260725774312731, 0.3260725774312731,
                                            0.1739274225687269};

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
        spare_(static_cast<int>(std::ceil(3.5 * params.defocus_px))),
        lens_(camera_),
        X_CR_(inverse(camera_.X_RC)),
        light_C_(rotate(X_CR_.q, (1 / norm(params.light_R)) * params.light_R)),
        lamp_C_(X_CR_ * Vec3{0, 0, params.lamp_height_mm}),
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
    const double level = 255 * params.velvet;
    const double sigma =
        255 * std::sqrt(params.noise * params.noise + params.shot_noise * params.shot_noise * params.velvet);
    for (std::size_t i = 0; i < noise_.size(); ++i) {
      const double n = random_.normal();
      noise_[i] = static_cast<float>(n);
      velvet_[i] = static_cast<std::uint8_t>(std::lround(std::clamp(level + sigma * n, 0.0, 255.0)));
    }
    rays_.resize(static_cast<std::size_t>(camera_.width_px + 2 * spare_) * (camera_.height_px + 2 * spare_));
    for (int v = -spare_; v < camera_.height_px + spare_; ++v)
      for (int u = -spare_; u < camera_.width_px + spare_; ++u) {
        const Point2 n = lens_.undistort({static_cast<double>(u), static_cast<double>(v)});
        std::array<double, 4> J;
        lens_.distort(n, &J);
        const double det = J[0] * J[3] - J[1] * J[2];
        rays_[ray_at(u, v)] = {static_cast<float>(n.x),         static_cast<float>(n.y),
                               static_cast<float>(J[3] / det),  static_cast<float>(-J[1] / det),
                               static_cast<float>(-J[2] / det), static_cast<float>(J[0] / det)};
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
      if (params_.bayer) through_mosaic(frame.image);
      if (params_.jpeg_quality > 0) {
        cv::imencode(".jpg", frame.image, file_, {cv::IMWRITE_JPEG_QUALITY, params_.jpeg_quality});
        cv::imdecode(file_, cv::IMREAD_COLOR, &frame.image);
      }
    } catch (...) {
      return FrameStatus::failed;
    }
    return FrameStatus::image;
  }

  struct Ray {
    float x, y;            // normalised direction of the pixel's centre
    float xu, xv, yu, yv;  // its derivative over one pixel
  };

  /// What a sensor with one colour per pixel (red at the top left) makes of the image.
  void through_mosaic(cv::Mat& bgr) {
    mosaic_.create(bgr.rows, bgr.cols, CV_8UC1);
    for (int y = 0; y < bgr.rows; ++y)
      for (int x = 0; x < bgr.cols; ++x) {
        const int k = y % 2 == 0 ? (x % 2 == 0 ? 2 : 1) : (x % 2 == 0 ? 1 : 0);
        mosaic_.ptr(y)[x] = bgr.ptr(y)[3 * x + k];
      }
    cv::cvtColor(mosaic_, bgr, cv::COLOR_BayerBG2BGR);  // OpenCV names the pattern by its second row and column
  }

  /// Arms from the hinge to the tips, bowed like a jeweller's forceps, and stubs to the markers, as rows of beads.
  void place_body(const InstrumentModel& instrument, const ForcepsState& at, std::vector<Ball>& balls) const {
    const float level = static_cast<float>(255 * params_.body_level);
    const Pose X_CT = X_CR_ * at.X_RT;
    const auto bead = [&](Vec3 p_T, double radius) {
      balls.push_back({X_CT * p_T, radius, {level, level, level}, false});
    };
    const auto stub = [&](Vec3 from, Vec3 to) {
      for (int i = 1; i < 8; ++i) bead(from + i / 8.0 * (to - from), 0.6);
    };
    const double length = -instrument.hinge_p_T.x;
    for (const double side : {1.0, -1.0}) {
      const auto arm = [&](double u) {  // u = 0 at the hinge, 1 at the tip
        const Vec3 p = instrument.hinge_p_T + length * u * Vec3{1, 0, 0} +
                       (side * 0.04 * length * std::sin(std::numbers::pi * u)) * Vec3{0, 1, 0};
        return instrument.hinge_p_T +
               rotate(axis_angle({0, 0, 1}, side * 0.5 * at.opening_rad), p - instrument.hinge_p_T);
      };
      for (double u = 0; u <= 1;) {
        const double radius = 0.3 + 1.5 * (1 - u);
        bead(arm(u), radius);
        u += 0.7 * radius / std::max(1.0, length);
      }
      for (const Marker& m : instrument.markers)
        if ((m.arm == MarkerArm::plus && side > 0) || (m.arm != MarkerArm::plus && side < 0))
          stub(arm(std::clamp((m.p_TM.x + length) / std::max(1.0, length), 0.0, 1.0)),
               marker_p_T(instrument, m, at.opening_rad));
    }
  }

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
                         colour_of(blob.hue_deg, blob.saturation.value_or(params_.saturation),
                                   blob.brightness.value_or(params_.brightness))});
    if (params_.bodies)
      for (std::size_t i = 0; i < instruments_.size(); ++i) place_body(instruments_[i], forceps[i], balls);
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
    return clip(
        {static_cast<int>(std::floor(std::max(-1e6, c.x - ru))), static_cast<int>(std::floor(std::max(-1e6, c.y - rv))),
         static_cast<int>(std::ceil(std::min(1e6, c.x + ru))), static_cast<int>(std::ceil(std::min(1e6, c.y + rv)))});
  }

  Box clip(const Box& b) const {
    return {std::max(-spare_, b.x0), std::max(-spare_, b.y0), std::min(camera_.width_px - 1 + spare_, b.x1),
            std::min(camera_.height_px - 1 + spare_, b.y1)};
  }

  std::size_t ray_at(int u, int v) const {
    return static_cast<std::size_t>(v + spare_) * (camera_.width_px + 2 * spare_) + (u + spare_);
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
      for (const Ball& ball : instants_[static_cast<std::size_t>(i)]) {
        const Box box = box_of(ball);
        if (!box.empty()) add_box(clip({box.x0 - spare_, box.y0 - spare_, box.x1 + spare_, box.y1 + spare_}));
      }
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

  void paint(const Box& box, std::uint8_t* image, const float* noise, std::size_t width) {
    const int w = box.x1 - box.x0 + 1, h = box.y1 - box.y0 + 1;
    const float ground = static_cast<float>(255 * params_.velvet);
    sum_.assign(static_cast<std::size_t>(w) * h, {0, 0, 0});
    for (const std::vector<Ball>& balls : instants_) {
      now_.assign(sum_.size(), {ground, ground, ground});
      for (const Ball& ball : balls) draw(ball, box);
      for (std::size_t i = 0; i < sum_.size(); ++i)
        sum_[i].b += now_[i].b, sum_[i].g += now_[i].g, sum_[i].r += now_[i].r;
    }
    if (params_.defocus_px > 0) defocus(box);
    const float scale = 1.0F / static_cast<float>(instants_.size());
    const float read2 = static_cast<float>(255 * 255 * params_.noise * params_.noise);
    const float shot = static_cast<float>(255 * params_.shot_noise * params_.shot_noise);
    for (int y = std::max(0, -box.y0); y < std::min(h, camera_.height_px - box.y0); ++y) {
      const std::size_t row = static_cast<std::size_t>(box.y0 + y) * width;
      for (int x = std::max(0, -box.x0); x < std::min(w, camera_.width_px - box.x0); ++x) {
        const Colour& c = sum_[static_cast<std::size_t>(y) * w + x];
        const std::array<float, 3> bgr{scale * c.b, scale * c.g, scale * c.r};
        for (std::size_t k = 0; k < 3; ++k) {
          const std::size_t i = 3 * (row + static_cast<std::size_t>(box.x0 + x)) + k;
          const float sigma = std::sqrt(read2 + shot * bgr[k]);
          image[i] = static_cast<std::uint8_t>(std::clamp(bgr[k] + sigma * noise[i] + 0.5F, 0.0F, 255.0F));
        }
      }
    }
  }

  /// Gaussian blur of sum_ within a box; beyond it lies velvet, which the box's own rim shows.
  void defocus(const Box& box) {
    const int w = box.x1 - box.x0 + 1, h = box.y1 - box.y0 + 1;
    cv::Mat all(h, w, CV_32FC3, sum_.data());
    const int size = 2 * spare_ + 1;
    cv::GaussianBlur(all, all, {size, size}, params_.defocus_px, params_.defocus_px, cv::BORDER_REPLICATE);
  }

  /// A ball's share of a pixel and the light on that share (mean over the share, white reflection apart).
  struct Share {
    double covered = 0, light = 0, glint = 0;
  };

  /// Unit, in the camera's axes.
  Vec3 lamp_towards(const Ball& ball) const {
    if (!(params_.lamp_height_mm > 0)) return light_C_;
    const Vec3 way = lamp_C_ - ball.p_C;
    return (1 / norm(way)) * way;
  }

  /// Of the shading, by the angle between a surface and the lamp.
  double lit(double cosine) const {
    return (1 - params_.lambert) * (0.5 + 0.5 * cosine) + params_.lambert * std::max(0.0, cosine);
  }

  /// Light at the point where the ray d meets the ball; `depth2` = r^2 |d|^2 - |c x d|^2 >= 0.
  void light_at(const Ball& ball, Vec3 d, double depth2, double weight, Share& out) const {
    const double dd = dot(d, d), s = (dot(d, ball.p_C) - std::sqrt(std::max(0.0, depth2))) / dd;
    const Vec3 normal = (1 / ball.radius_mm) * (s * d - ball.p_C);
    const Vec3 light_C = lamp_towards(ball);
    const double cosine = dot(normal, light_C);
    out.covered += weight;
    out.light += weight * (1 - params_.shading * (1 - lit(cosine)));
    if (params_.highlight > 0) {
      const Vec3 half = light_C - (1 / std::sqrt(dd)) * d;
      const double shine = dot(normal, half) / norm(half);
      if (shine > 0) out.glint += weight * std::pow(shine, params_.highlight_sharpness);
    }
  }

  /// depth2 of light_at(): closest approach of the ray to the centre, kept as a difference of small numbers.
  static double depth2(const Ball& ball, Vec3 d) {
    const Vec3 e = cross(ball.p_C, d);
    return ball.radius_mm * ball.radius_mm * dot(d, d) - dot(e, e);
  }

  Share share_of(const Ball& ball, const Ray& ray) const {
    const Vec3 d0{ray.x, ray.y, 1}, du{ray.xu, ray.yu, 0}, dv{ray.xv, ray.yv, 0};
    Share share;
    if (!ball.marker) {  // one of many beads: by its distance from the pixel's middle
      const Vec3 e = cross(ball.p_C, d0);
      const double miss_mm = std::sqrt(dot(e, e) / dot(d0, d0)), px_mm = ball.p_C.z * std::abs(double{ray.xu});
      share.covered = share.light = std::clamp(0.5 + (ball.radius_mm - miss_mm) / px_mm, 0.0, 1.0);
      return share;
    }
    // Along a row of the pixel depth2 is a quadratic q0 + q1 u + q2 u^2: its roots bound what is covered there.
    const auto row = [&](double v, double weight) {
      const Vec3 d = d0 + v * dv;
      const double r2 = ball.radius_mm * ball.radius_mm;
      const Vec3 e0 = cross(ball.p_C, d), e1 = cross(ball.p_C, du);
      const double q0 = r2 * dot(d, d) - dot(e0, e0), q1 = 2 * (r2 * dot(d, du) - dot(e0, e1)),
                   q2 = r2 * dot(du, du) - dot(e1, e1);
      double low = -0.5, high = 0.5;
      if (const double root2 = q1 * q1 - 4 * q2 * q0; q2 < 0 && root2 > 0) {
        const double root = std::sqrt(root2), a = (-q1 + root) / (2 * q2), b = (-q1 - root) / (2 * q2);
        low = std::max(low, a), high = std::min(high, b);
      } else if (q0 < 0) {
        return;
      }
      if (high <= low) return;
      // Two points carry the light of a row's covered part.
      for (const double t : {0.2113248654051871, 0.7886751345948129}) {
        const Vec3 at = d + (low + t * (high - low)) * du;
        light_at(ball, at, depth2(ball, at), 0.5 * weight * (high - low), share);
      }
    };
    bool inside = true, outside = true;
    for (const double v : {-0.5, 0.5})
      for (const double u : {-0.5, 0.5}) (depth2(ball, d0 + u * du + v * dv) >= 0 ? outside : inside) = false;
    if (inside && !(params_.highlight > 0)) {
      for (const double v : {-0.2886751345948129, 0.2886751345948129}) row(v, 0.5);
      return share;
    }
    const int halves = inside || outside ? 1 : 4;  // an edge pixel: sixteen rows
    for (int h = 0; h < halves; ++h)
      for (std::size_t k = 0; k < kNode.size(); ++k)
        row(((h + 0.5 + kNode[k]) / halves) - 0.5, kNodeWeight[k] / halves);
    return share;
  }

  /// One ball over what already stands in now_.
  void draw(const Ball& ball, const Box& box) {
    const Box own = box_of(ball);
    if (own.empty()) return;
    const int y0 = std::max(own.y0, box.y0), y1 = std::min(own.y1, box.y1);
    const int x0 = std::max(own.x0, box.x0), x1 = std::min(own.x1, box.x1);
    const auto gain = [&](std::size_t k) { return static_cast<float>(params_.white_balance[k]); };
    for (int v = y0; v <= y1; ++v)
      for (int u = x0; u <= x1; ++u) {
        const Share share = share_of(ball, rays_[ray_at(u, v)]);
        if (share.covered <= 0) continue;
        const float rest = static_cast<float>(1 - share.covered), lit = static_cast<float>(share.light),
                    glint = static_cast<float>(255 * params_.highlight * share.glint);
        Colour& c = now_[static_cast<std::size_t>(v - box.y0) * (box.x1 - box.x0 + 1) + (u - box.x0)];
        c = {c.b * rest + gain(2) * (lit * ball.colour.b + glint), c.g * rest + gain(1) * (lit * ball.colour.g + glint),
             c.r * rest + gain(0) * (lit * ball.colour.r + glint)};
      }
  }

  VirtualRigParams params_;
  CameraModel camera_;
  std::size_t index_;
  int spare_;  // pixels beyond the image's border that the blur brings in
  Lens lens_;
  Pose X_CR_;
  Vec3 light_C_;  // towards the light under the lid
  Vec3 lamp_C_;   // or where it is
  std::shared_ptr<const HandPath> path_;
  Random random_;
  std::vector<InstrumentModel> instruments_;
  std::vector<Colour> colours_;
  std::vector<float> noise_;          // standard normal
  std::vector<std::uint8_t> velvet_;  // background plus that noise, clipped
  std::vector<Ray> rays_;
  std::vector<std::vector<Ball>> instants_;
  std::vector<Box> boxes_;
  std::vector<Colour> sum_, now_;
  cv::Mat mosaic_;
  std::vector<std::uint8_t> file_;
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
  for (const Limit& l :
       {Limit{"rate_hz", params.rate_hz, 1, 1000}, Limit{"duration_s", params.duration_s, 0, 1e6},
        Limit{"exposure_ms", params.exposure_ms, 0, 1000.0}, Limit{"noise", params.noise, 0, 0.5},
        Limit{"exposure_samples", static_cast<double>(params.exposure_samples), 1, 64},
        Limit{"brightness", params.brightness, 0, 1}, Limit{"shading", params.shading, 0, 1},
        Limit{"lamp_height_mm", params.lamp_height_mm, 0, 1e4}, Limit{"saturation", params.saturation, 0, 1},
        Limit{"velvet", params.velvet, 0, 1}, Limit{"readout_ms", params.readout_ms, 0, 1000},
        Limit{"shot_noise", params.shot_noise, 0, 0.5}, Limit{"defocus_px", params.defocus_px, 0, 10},
        Limit{"highlight", params.highlight, 0, 10}, Limit{"highlight_sharpness", params.highlight_sharpness, 1, 10000},
        Limit{"body_level", params.body_level, 0, 1}, Limit{"lambert", params.lambert, 0, 1},
        Limit{"white_balance", *std::min_element(params.white_balance.begin(), params.white_balance.end()), 0.1, 10},
        Limit{"white_balance", *std::max_element(params.white_balance.begin(), params.white_balance.end()), 0.1, 10},
        Limit{"jpeg_quality", static_cast<double>(params.jpeg_quality), 0, 100}})
    if (!(l.value >= l.low && l.value <= l.high))
      return usage_error(std::string("virtual rig: ") + l.name + " is " + text::format("%g", l.value) + ", must be " +
                         text::format("%g", l.low) + ".." + text::format("%g", l.high));
  if (!(norm(params.light_R) > 0 && std::isfinite(norm(params.light_R))))
    return usage_error("virtual rig: light_R must point somewhere");
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
