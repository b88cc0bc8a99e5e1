#include "appliance/sim/strands.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ligature::simulate {
namespace {

constexpr double kGap = 2;           // pixels left free round a nearer tube
constexpr double kLeastEdge = 0.7;   // pixels; shorter edges are drawn together
constexpr double kMostMitre = 1.6;   // of a joint, over half the width
constexpr double kTurnCosine = 0.8;  // of joints that are drawn round
constexpr Colour kPaperColour{255, 255, 255}, kShade{0, 0, 0};

struct Joint {
  Point at;
  Point normal;  // across the tube, of the length that a mitre has
  double nearness = 0;
  bool sharp = false;
};

Point across(Point a, Point b) {
  const double length = std::hypot(b.x - a.x, b.y - a.y);
  return length > 0 ? Point{-(b.y - a.y) / length, (b.x - a.x) / length} : Point{0, 0};
}

std::vector<Joint> joints_of(const Paper& paper, const Tube& tube) {
  std::vector<Joint> out;
  for (std::size_t i = 0; i < tube.x.size(); ++i) {
    const Joint joint{paper.of(tube.x[i]), {}, paper.view.nearness(tube.x[i]), false};
    const bool last = i + 1 == tube.x.size();
    if (!out.empty() && !last && std::hypot(joint.at.x - out.back().at.x, joint.at.y - out.back().at.y) < kLeastEdge)
      continue;
    out.push_back(joint);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Point before = i > 0 ? across(out[i - 1].at, out[i].at) : across(out[i].at, out[i + 1].at);
    const Point after = i + 1 < out.size() ? across(out[i].at, out[i + 1].at) : before;
    const double cosine = before.x * after.x + before.y * after.y;
    out[i].sharp = cosine < kTurnCosine;
    const Point sum{before.x + after.x, before.y + after.y};
    const double size = std::hypot(sum.x, sum.y);
    if (size < 1e-6) {
      out[i].normal = before;
      continue;
    }
    const double mitre = std::min(2 / size, kMostMitre);
    out[i].normal = {mitre * sum.x / size, mitre * sum.y / size};
  }
  return out;
}

bool inside(const Box& box, Point p, double margin) {
  return p.x > box.x + margin && p.x < box.right() - margin && p.y > box.y + margin && p.y < box.bottom() - margin;
}

/// The part of the tube between two joints, `half` wide on each side; longer by `more` at both ends.
std::vector<Point> piece(const Joint& a, const Joint& b, double half, double more) {
  const double length = std::hypot(b.at.x - a.at.x, b.at.y - a.at.y);
  const Point t = length > 0 ? Point{more * (b.at.x - a.at.x) / length, more * (b.at.y - a.at.y) / length} : Point{};
  return {{a.at.x - t.x + half * a.normal.x, a.at.y - t.y + half * a.normal.y},
          {b.at.x + t.x + half * b.normal.x, b.at.y + t.y + half * b.normal.y},
          {b.at.x + t.x - half * b.normal.x, b.at.y + t.y - half * b.normal.y},
          {a.at.x - t.x - half * a.normal.x, a.at.y - t.y - half * a.normal.y}};
}

}  // namespace

void Extents::take(Point p) {
  left = std::min(left, p.x);
  right = std::max(right, p.x);
  low = std::min(low, p.y);
  high = std::max(high, p.y);
}

Paper fit(const Projection& view, const Extents& e, const Box& box, double margin) {
  Paper paper{view, 1, 0, 0};
  const double w = std::max(e.width(), 1e-9), h = std::max(e.height(), 1e-9);
  paper.scale = std::min((box.width - 2 * margin) / w, (box.height - 2 * margin) / h);
  paper.x0 = box.x + 0.5 * box.width - paper.scale * 0.5 * (e.left + e.right);
  paper.y0 = box.y + 0.5 * box.height + paper.scale * 0.5 * (e.low + e.high);
  return paper;
}

void draw_tubes(Drawing& d, const Paper& paper, const std::vector<Tube>& tubes, const Box& box, double least_width) {
  struct Item {
    double nearness;
    std::size_t tube, joint;
  };
  std::vector<std::vector<Joint>> joints;
  std::vector<Item> items;
  for (std::size_t k = 0; k < tubes.size(); ++k) {
    joints.push_back(joints_of(paper, tubes[k]));
    for (std::size_t i = 0; i + 1 < joints[k].size(); ++i)
      items.push_back({0.5 * (joints[k][i].nearness + joints[k][i + 1].nearness), k, i});
  }
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.nearness < b.nearness; });
  for (const Item& item : items) {
    const Joint &a = joints[item.tube][item.joint], &b = joints[item.tube][item.joint + 1];
    const Tube& tube = tubes[item.tube];
    const double width = std::max(least_width, paper.scale * tube.diameter_mm), half = 0.5 * width;
    if (!inside(box, a.at, half + kGap) || !inside(box, b.at, half + kGap)) continue;
    const bool thick = width > 6;
    const Colour body = thick ? mix(tube.colour, kShade, 0.35) : tube.colour;
    d.area(piece(a, b, half + kGap, 0), kPaperColour);
    for (const Joint* joint : {&a, &b})
      if (joint->sharp) d.disc(joint->at, half, body);
    d.area(piece(a, b, half, 0.4), body);
    if (!thick) continue;
    for (const Joint* joint : {&a, &b})
      if (joint->sharp) d.disc(joint->at, half - 1.4, tube.colour);
    d.area(piece(a, b, half - 1.4, 0.4), tube.colour);
    d.area(piece(a, b, 0.3 * half, 0.4), mix(tube.colour, kPaperColour, 0.35));
  }
}

}  // namespace ligature::simulate
