#include "sim/contact/tool_contacts.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <tuple>

#include "sim/contact/soft_body.hpp"
#include "sim/contact/zero_of.hpp"

namespace ligature::contact {
namespace {

constexpr double kConeSlack = 0.1;     // sine by which the way to the axis may leave the normal cone of a feature
constexpr double kLeastDeeper = 1e-4;  // of the tip's radius, that an edge is nearer than its ends
constexpr double kSamePlace = 1e-9;    // of an edge
constexpr double kOnFace = 1e-6;       // of the tip's radius
constexpr int kMostLooks = 24;
constexpr double kRounding = 1e-12;  // of a gap, relative to the lengths it comes from

// A tool, as one cone.
struct Cone {
  Vector3d end, along;  // unit
  double length = 0, radius = 0, taper = 0, lean = 0;

  explicit Cone(const Strand& s) : end(s.x[0]), along(s.x[s.vertices - 1] - s.x[0]), radius(s.radius_of(0)) {
    length = along.norm();
    along /= length;
    taper = (s.radius_of(s.vertices - 1) - radius) / length;
    lean = taper / std::sqrt(std::max(1 - taper * taper, 1e-12));
  }
  struct Place {
    double t = 0;              // along the axis [mm]
    double gap = 0;            // [mm]
    Vector3d normal{0, 0, 1};  // from the point to the axis
  };
  Place nearest(const Vector3d& p) const {
    const Vector3d from = p - end;
    const double level = from.dot(along), across = (from - level * along).norm();
    const double t = std::clamp(level + lean * across, 0.0, length);
    const Vector3d way = t * along - from;
    const double distance = way.norm();
    return {t, distance - radius - taper * t, way / std::max(distance, 1e-300)};
  }
};

/// visit(number) for every bit that is set, in ascending order.
template <class Visit>
void for_each_bit(const std::vector<std::uint64_t>& words, std::size_t count, const Visit& visit) {
  for (std::size_t w = 0; w < count; ++w)
    for (std::uint64_t left = words[w]; left != 0; left &= left - 1)
      visit(static_cast<std::uint32_t>(64 * w) + static_cast<std::uint32_t>(std::countr_zero(left)));
}

auto key(const BodyContact& c) {
  return std::tuple(c.contact.pair.strand_a, c.contact.pair.edge_b, c.number, c.vertex);
}

}  // namespace

ToolContacts::ToolContacts(std::size_t most_contacts) : most_(most_contacts) {
  for (std::vector<BodyContact>* v : {&contacts_, &before_}) v->reserve(most_contacts);
  near_.resize((kMostTriangles + 63) / 64);
}

std::size_t ToolContacts::find(const std::vector<Strand>& tools, const Bodies& bodies, double reach) noexcept {
  while (!contacts_.empty() && contacts_.back().contact.kind == StrandContact::Kind::stop) contacts_.pop_back();
  before_.swap(contacts_);
  contacts_.clear();
  std::size_t lost = 0;
  for (std::uint32_t k = 0; k < tools.size(); ++k) {
    const Strand& s = tools[k];
    const Cone cone(s);
    const auto last = static_cast<std::uint32_t>(s.edges() - 1);
    for (std::uint32_t b = 0; b < bodies.count; ++b) {
      const SoftBody* const soft = bodies.soft_of(b);
      if (!soft) continue;
      const TriangleMesh& mesh = soft->surface();
      const auto take = [&](const Cone::Place& at, ToolFeature feature, std::uint32_t number, std::uint32_t triangle,
                            const Vector3d& weight) {
        const double u = at.t / cone.length * static_cast<double>(s.edges());
        const std::uint32_t edge = std::min(static_cast<std::uint32_t>(u), last);
        BodyContact c;
        c.contact.pair = {k, edge, kNoStrand, b};
        c.contact.sa = std::min(u - edge, 1.0);
        c.contact.kind = StrandContact::Kind::beside;
        c.contact.normal = at.normal;
        c.contact.gap = at.gap;
        c.contact.on = {triangle, weight};
        c.number = static_cast<std::uint32_t>(feature);
        c.vertex = number;
        if (contacts_.size() == most_)
          ++lost;
        else
          contacts_.push_back(c);
      };
      const auto near = [&](const Vector3d& low, const Vector3d& high) {
        // The gap grows no faster than a place moves.
        const double most = reach + 0.5 * (high - low).norm();
        return cone.nearest(0.5 * (low + high)).gap <= most + kRounding * (most + cone.length);
      };
      std::fill_n(near_.begin(), (mesh.triangles() + 63) / 64, std::uint64_t{0});
      mesh.for_each_where(near, [&](std::uint32_t t) { near_[t / 64] |= std::uint64_t{1} << t % 64; });
      for_each_bit(near_, (mesh.triangles() + 63) / 64, [&](std::uint32_t t) {
        const TriangleMesh::Triangle& corner = mesh.triangle(t);
        std::array<Cone::Place, 3> at;
        for (std::size_t i = 0; i < 3; ++i) at[i] = cone.nearest(mesh.vertex(corner[i]));
        for (std::size_t i = 0; i < 3; ++i) {
          if (mesh.owner(corner[i]) == t && at[i].gap <= reach &&
              mesh.beyond_vertex(corner[i], at[i].normal, kConeSlack))
            take(at[i], ToolFeature::vertex, corner[i], t, Vector3d::Unit(static_cast<Eigen::Index>(i)));
          if (mesh.neighbour(t, i) > t) continue;
          const std::size_t next = (i + 1) % 3;
          const Vector3d &p = mesh.vertex(corner[i]), edge = mesh.vertex(corner[next]) - p;
          const double here = -edge.dot(at[i].normal), there = -edge.dot(at[next].normal);  // slopes of the gap
          if (!(here < 0 && there > 0)) continue;
          const double most = std::min(at[i].gap, at[next].gap);
          // Convex: no lower than where the tangents at both ends meet.
          if (at[i].gap + here * (at[i].gap - at[next].gap + there) / (there - here) > reach) continue;
          const double part = zero_of(0.0, here, 1.0, there, kSamePlace, kMostLooks,
                                      [&](double x) { return -edge.dot(cone.nearest(p + x * edge).normal); });
          const Cone::Place inside = cone.nearest(p + part * edge);
          if (inside.gap > reach || most - inside.gap < kLeastDeeper * cone.radius) continue;
          if (!mesh.beyond_edge(t, i, inside.normal, kConeSlack)) continue;
          Vector3d weight = Vector3d::Zero();
          weight[static_cast<Eigen::Index>(i)] = 1 - part, weight[static_cast<Eigen::Index>(next)] = part;
          take(inside, ToolFeature::edge, 3 * t + static_cast<std::uint32_t>(i), t, weight);
        }
        for (const std::size_t tip : {std::size_t{0}, s.vertices - 1}) {
          const Vector3d& n = mesh.face_normal(t);
          const double height = n.dot(s.x[tip] - mesh.vertex(corner[0]));
          if (!(height > 0) || height > s.radius_of(tip) + reach) continue;
          const Vector3d foot = s.x[tip] - height * n, weight = mesh.weights(t, foot);
          const Vector3d nearest = weight[0] * mesh.vertex(corner[0]) + weight[1] * mesh.vertex(corner[1]) +
                                   weight[2] * mesh.vertex(corner[2]);
          if ((nearest - foot).norm() > kOnFace * cone.radius) continue;  // beside it
          const Cone::Place under = cone.nearest(foot);
          if (under.gap <= reach && under.t == (tip == 0 ? 0.0 : cone.length))
            take(under, ToolFeature::face, t, t, weight);
        }
      });
    }
  }
  std::sort(contacts_.begin(), contacts_.end(),
            [](const BodyContact& a, const BodyContact& b) { return key(a) < key(b); });
  auto was = before_.begin();
  for (BodyContact& c : contacts_) {
    while (was != before_.end() && key(*was) < key(c)) ++was;
    if (was == before_.end() || key(*was) != key(c)) continue;
    c.contact.force = turned(was->contact.force, was->contact.normal, c.contact.normal);
    c.contact.sliding = was->contact.sliding;
  }
  return lost;
}

}  // namespace ligature::contact
