#include "sim/contact/stops.hpp"

#include <algorithm>

#include "sim/contact/rigid_surface.hpp"
#include "sim/contact/rings.hpp"
#include "sim/contact/segment_triangle.hpp"

namespace ligature::contact {
namespace {

constexpr double kStopMargin = 1.2;  // of what is kept, to which it is pushed
constexpr double kSamePlace = 1e-3;  // of an edge; of the sine between two normals

struct Corners {
  Vector3d at[3];
};
Corners corners(const TriangleMesh& mesh, std::uint32_t triangle) {
  const TriangleMesh::Triangle& t = mesh.triangle(triangle);
  return {{mesh.vertex(t[0]), mesh.vertex(t[1]), mesh.vertex(t[2])}};
}

// Nearest places of two triangles that do not meet.
struct Between {
  double distance = 1e9;
  Vector3d on_a{0, 0, 0}, on_b{0, 0, 0};
};
Between nearest(const Corners& a, const Corners& b) {
  Between out;
  const auto take = [&out](const SegmentTriangle& at, bool segment_of_a) {
    if (at.distance >= out.distance) return;
    out.distance = at.distance;
    out.on_a = segment_of_a ? at.on_segment : at.on_triangle;
    out.on_b = segment_of_a ? at.on_triangle : at.on_segment;
  };
  for (std::size_t k = 0; k < 3; ++k) {
    take(closest(a.at[k], a.at[(k + 1) % 3], b.at[0], b.at[1], b.at[2]), true);
    take(closest(b.at[k], b.at[(k + 1) % 3], a.at[0], a.at[1], a.at[2]), false);
  }
  return out;
}

bool same(const Stopped& a, const Stopped& b) {
  return a.strand == b.strand && a.edge == b.edge && a.body == b.body && a.triangle == b.triangle;
}

bool same_place(const StrandContact& a, const StrandContact& b) {
  return a.pair == b.pair && std::abs(a.sa - b.sa) < kSamePlace && a.normal.cross(b.normal).norm() < kSamePlace;
}

Vector3d pressing(const Vector3d& force, const Vector3d& from, const Vector3d& to) {
  return std::max(0.0, from.dot(force)) * to;
}

}  // namespace

Stops::Stops(std::size_t most) : most_(most) {
  known_.reserve(most);
  found_.reserve(most);
}

void Stops::begin(const Strand* strands, std::size_t count) noexcept {
  std::erase_if(known_, [&](const Stop& s) {
    if (s.of == Of::tissue) return false;
    return s.of == Of::tool || s.at.strand >= count || strands[s.at.strand].division != s.division ||
           strands[s.at.strand].vertices != s.vertices;
  });
}

void Stops::keep(Of of, const Strand* strands) noexcept {
  for (const Stopped& at : found_) {
    if (known_.size() == most_) break;
    const auto is_same = [&](const Stop& s) { return s.of == of && same(s.at, at); };
    const auto known = std::find_if(known_.begin(), known_.end(), is_same);
    if (known != known_.end()) {
      known->asked = std::min(2 * known->asked, kStopMargin * at.kept);
      known->at = at;
      continue;
    }
    Stop s;
    s.of = of, s.at = at, s.asked = kAskedFor * at.kept;
    if (of == Of::thread) {
      s.division = strands[at.strand].division;
      s.vertices = static_cast<std::uint32_t>(strands[at.strand].vertices);
    }
    known_.push_back(s);
  }
  found_.clear();
}

void Stops::add_to(StateHash& hash) const noexcept {
  for (const Stop& s : known_) {
    hash.add(static_cast<std::uint64_t>(s.at.edge) << 32 | s.at.triangle);
    hash.bytes(s.force.data(), sizeof(double) * 3);
  }
}

void Stops::add_to(const Strand* strands, const std::vector<Strand>& tools, const Bodies& bodies,
                   const std::vector<Passage>& passages, std::vector<BodyContact>& with_strands,
                   std::vector<BodyContact>& with_tools, std::vector<TissueContact>& between_tissues) noexcept {
  std::erase_if(known_, [&](Stop& s) {
    const TriangleMesh& mesh = met_by_tissue(bodies, s.at.body)->surface();
    const Corners b = corners(mesh, s.at.triangle);
    s.placed = false;
    StrandContact c;
    c.kind = StrandContact::Kind::stop;
    const auto place = [&](double distance, const Vector3d& apart, const Vector3d& on) {
      if (!(distance > 0)) return false;
      c.normal = apart / distance;
      const double gap = distance - kStopMargin * s.at.kept;
      c.gap = std::max(gap, -s.asked);
      c.on = {s.at.triangle, mesh.weights(s.at.triangle, on)};
      c.force = pressing(s.force, s.normal, c.normal);
      s.normal = c.normal;
      return gap < s.at.kept;
    };
    if (s.of == Of::tissue) {
      const TriangleMesh& other = met_by_tissue(bodies, s.at.strand)->surface();
      const Between near = nearest(corners(other, s.at.edge), b);
      if (!place(near.distance, near.on_a - near.on_b, near.on_b)) return true;
      if (between_tissues.size() == between_tissues.capacity()) return true;
      c.pair = {kNoStrand, s.at.strand, kNoStrand, s.at.body};
      TissueContact at;
      at.contact = c;
      at.of = {s.at.edge, other.weights(s.at.edge, near.on_a)};
      at.kind = TissueContact::Kind::stop;
      at.first = s.at.edge, at.second = s.at.triangle;
      between_tissues.push_back(at);
      s.placed = true;
      return false;
    }
    const Strand& strand = s.of == Of::tool ? tools[s.at.strand] : strands[s.at.strand];
    std::vector<BodyContact>& list = s.of == Of::tool ? with_tools : with_strands;
    const Vector3d &p = strand.x[s.at.edge], &q = strand.x[strand.next(s.at.edge)];
    double from = s.at.edge + s.at.from, to = s.at.edge + s.at.to;
    if (s.of == Of::thread && !outside(passages, s.at.strand, s.at.body, from, to)) return true;
    from -= s.at.edge, to -= s.at.edge;
    const SegmentTriangle near = closest(p + from * (q - p), p + to * (q - p), b.at[0], b.at[1], b.at[2]);
    if (!place(near.distance, near.on_segment - near.on_triangle, near.on_triangle)) return true;
    if (list.size() == list.capacity()) return true;
    c.pair = {s.at.strand, s.at.edge, kNoStrand, s.at.body};
    c.sa = std::clamp((near.on_segment - p).dot(q - p) / std::max((q - p).squaredNorm(), 1e-300), 0.0, 1.0);
    // Triangles that share the corner or side where it is nearest say the same.
    for (std::size_t k = list.size(); k-- > 0 && list[k].contact.kind == StrandContact::Kind::stop;)
      if (same_place(list[k].contact, c)) return false;
    BodyContact at;
    at.contact = c;
    at.vertex = c.sa < 0.5 ? s.at.edge : static_cast<std::uint32_t>(strand.next(s.at.edge));
    list.push_back(at);
    s.placed = true;
    return false;
  });
}

void Stops::recall(const std::vector<BodyContact>& with_strands, const std::vector<BodyContact>& with_tools,
                   const std::vector<TissueContact>& between_tissues) noexcept {
  // They are the last of each list, in the order of known_.
  std::size_t left[3] = {};
  for (const Stop& s : known_) left[static_cast<std::size_t>(s.of)] += s.placed;
  for (Stop& s : known_) {
    if (!s.placed) {
      s.force.setZero();
      continue;
    }
    std::size_t& from_end = left[static_cast<std::size_t>(s.of)];
    if (s.of == Of::tissue)
      s.force = between_tissues[between_tissues.size() - from_end].contact.force;
    else
      s.force =
          (s.of == Of::tool ? with_tools[with_tools.size() - from_end] : with_strands[with_strands.size() - from_end])
              .contact.force;
    --from_end;
  }
}

}  // namespace ligature::contact
