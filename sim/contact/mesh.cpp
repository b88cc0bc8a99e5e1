#include "sim/contact/mesh.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "sim/contact/segment_triangle.hpp"

namespace ligature::contact {
namespace {

constexpr double kLeastArea = 1e-10;  // of a triangle, over the square of its longest side
constexpr double kFurthest = 1e5;     // of a vertex [mm]
constexpr double kSamePlace = 1e-7;   // of two minima that a seam between features shows twice [mm]
constexpr double kConeSeam = 1e-9;    // sine by which normal cones overlap, so that none is lost between them
constexpr double kTouching = 1e-9;    // distance of triangles over their size
constexpr double kFolded = 1e-9;      // 1 + cosine between the normals of neighbours
constexpr double kOnSurface = 1e-12;  // a distance whose direction is rounding [mm]

// The nearest first; a place that is there already is not listed twice.
void insert(TriangleMesh::Minima& out, const TriangleMesh::Nearest& found) {
  for (const TriangleMesh::Nearest& other : out)
    if ((other.point - found.point).squaredNorm() < kSamePlace * kSamePlace) return;
  if (out.size() == kMostMinima) {
    if (!(found.distance < out.back().distance)) return;
    out.back() = found;
  } else {
    out.push_back(found);
  }
  for (std::size_t i = out.size() - 1; i > 0 && out[i].distance < out[i - 1].distance; --i)
    std::swap(out[i], out[i - 1]);
}

// Of a triangle a, b, c seen from the origin, positive from behind [Oosterom 1983].
double solid_angle(const Vector3d& a, const Vector3d& b, const Vector3d& c) {
  const double la = a.norm(), lb = b.norm(), lc = c.norm();
  return 2 * std::atan2(a.dot(b.cross(c)), la * lb * lc + a.dot(b) * lc + b.dot(c) * la + c.dot(a) * lb);
}

std::string at(const Vector3d& p) {
  char text[96];
  std::snprintf(text, sizeof text, "near (%.4g, %.4g, %.4g) mm", p.x(), p.y(), p.z());
  return text;
}

}  // namespace

Result<TriangleMesh> TriangleMesh::create(std::vector<Vector3d> vertices, std::vector<Triangle> triangles) {
  const auto wrong = [](const std::string& what) { return usage_error(what); };
  if (triangles.size() < 4 || triangles.size() > kMostTriangles)
    return wrong("it has " + std::to_string(triangles.size()) + " triangles, must have 4.." +
                 std::to_string(kMostTriangles));
  for (const Vector3d& v : vertices)
    if (!(v.cwiseAbs().maxCoeff() <= kFurthest)) return wrong("it has a vertex that is not within 1e5 mm");
  TriangleMesh m;
  m.vertices_ = std::move(vertices);
  m.triangles_ = std::move(triangles);
  const std::size_t count = m.triangles_.size();
  struct Side {
    std::uint32_t from, to, triangle, k;
  };
  std::vector<Side> sides;
  sides.reserve(3 * count);
  m.face_normals_.resize(count);
  m.owners_.assign(m.vertices_.size(), 0);
  std::vector<std::uint32_t> used(m.vertices_.size(), 0);
  double volume = 0;
  m.low_.setConstant(std::numeric_limits<double>::infinity());
  m.high_ = -m.low_;
  for (std::uint32_t t = 0; t < count; ++t) {
    for (const std::uint32_t v : m.triangles_[t])
      if (v >= m.vertices_.size()) return wrong("triangle " + std::to_string(t) + " has a vertex that is not there");
    const Vector3d &a = m.corner(t, 0), &b = m.corner(t, 1), &c = m.corner(t, 2);
    const Vector3d area = (b - a).cross(c - a);
    const double longest = std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()});
    if (!(area.norm() > kLeastArea * longest)) return wrong("it has a triangle without area " + at(a));
    m.face_normals_[t] = area.normalized();
    volume += (a - m.vertices_[0]).dot((b - m.vertices_[0]).cross(c - m.vertices_[0]));
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::uint32_t v = m.triangles_[t][k];
      sides.push_back({v, m.triangles_[t][(k + 1) % 3], t, k});
      m.owners_[v] = t;
      ++used[v];
      m.low_ = m.low_.cwiseMin(m.corner(t, k));
      m.high_ = m.high_.cwiseMax(m.corner(t, k));
    }
  }
  const auto less = [](const Side& a, const Side& b) { return std::pair(a.from, a.to) < std::pair(b.from, b.to); };
  std::sort(sides.begin(), sides.end(), less);
  m.neighbours_.resize(count);
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const Side& s = sides[i];
    const Vector3d middle = 0.5 * (m.vertices_[s.from] + m.vertices_[s.to]);
    if (i > 0 && !less(sides[i - 1], s)) {
      // As many run along it one way as the other: more than two triangles meet there.
      const auto back = std::equal_range(sides.begin(), sides.end(), Side{s.to, s.from, 0, 0}, less);
      return wrong(back.second - back.first >= 2 ? "more than two triangles meet at an edge " + at(middle)
                                                 : "neighbouring triangles face opposite sides " + at(middle));
    }
    const auto other = std::lower_bound(sides.begin(), sides.end(), Side{s.to, s.from, 0, 0}, less);
    if (other == sides.end() || other->from != s.to || other->to != s.from) {
      const bool turned = i + 1 < sides.size() && !less(s, sides[i + 1]);
      return wrong(turned ? "neighbouring triangles face opposite sides " + at(middle)
                          : "it is not closed, an edge has one triangle only " + at(middle));
    }
    m.neighbours_[s.triangle][s.k] = other->triangle;
  }
  m.ring_first_.assign(m.vertices_.size() + 1, 0);
  for (std::uint32_t v = 0; v < m.vertices_.size(); ++v) m.ring_first_[v + 1] = m.ring_first_[v] + used[v];
  m.ring_.resize(m.ring_first_.back());
  for (std::uint32_t v = 0; v < m.vertices_.size(); ++v) {
    if (used[v] == 0) continue;
    std::uint32_t t = m.owners_[v], walked = 0;
    do {  // round the vertex, across the edge that leaves it
      std::uint32_t k = 0;
      while (m.triangles_[t][k] != v) ++k;
      if (walked < used[v]) m.ring_[m.ring_first_[v] + walked] = m.triangles_[t][(k + 1) % 3];
      t = m.neighbours_[t][k];
      ++walked;
    } while (t != m.owners_[v] && walked <= used[v]);
    if (walked != used[v]) return wrong("surfaces touch in a single vertex " + at(m.vertices_[v]));
  }
  if (!(volume > 0)) return wrong("it is inside out: turn its triangles round");
  if (const auto out = m.shell_inside_out())
    return wrong("a shell of it is inside out: turn its triangles round " + at(*out));
  m.order_.resize(count);
  for (std::uint32_t t = 0; t < count; ++t) m.order_[t] = t;
  m.nodes_.reserve(2 * count);
  m.build(0, static_cast<std::uint32_t>(count));
  return m;
}

// A shell that faces inwards bounds a hollow in what another one encloses, or nothing that is solid.
std::optional<Vector3d> TriangleMesh::shell_inside_out() const {
  std::vector<std::uint32_t> shell(triangles_.size(), 0), open;
  std::vector<double> volume{0};
  for (std::uint32_t first = 0; first < triangles_.size(); ++first) {
    if (shell[first] != 0) continue;
    const auto number = static_cast<std::uint32_t>(volume.size());
    volume.push_back(0);
    shell[first] = number;
    for (open.assign(1, first); !open.empty();) {
      const std::uint32_t t = open.back();
      open.pop_back();
      const Vector3d& o = corner(first, 0);
      volume[number] += (corner(t, 0) - o).dot((corner(t, 1) - o).cross(corner(t, 2) - o));
      for (const std::uint32_t next : neighbours_[t])
        if (shell[next] == 0) shell[next] = number, open.push_back(next);
    }
  }
  for (std::uint32_t t = 0; t < triangles_.size(); ++t) {
    if (volume[shell[t]] > 0) continue;
    const Vector3d& p = corner(t, 0);
    double winding = 0;  // of all others about it
    for (std::uint32_t u = 0; u < triangles_.size(); ++u) {
      if (shell[u] == shell[t]) continue;
      winding += solid_angle(corner(u, 0) - p, corner(u, 1) - p, corner(u, 2) - p);
    }
    if (winding < 2 * std::numbers::pi) return p;
    volume[shell[t]] = 1;  // a hollow
  }
  return std::nullopt;
}

std::optional<Vector3d> TriangleMesh::meets_itself() const {
  const auto has = [](const Triangle& t, std::uint32_t v) { return t[0] == v || t[1] == v || t[2] == v; };
  for (std::uint32_t t = 0; t < triangles_.size(); ++t) {
    const Vector3d &a = corner(t, 0), &b = corner(t, 1), &c = corner(t, 2);
    std::optional<Vector3d> found;
    const Vector3d low = a.cwiseMin(b).cwiseMin(c), high = a.cwiseMax(b).cwiseMax(c);
    for_each_near(low, high, kTouching * (high - low).norm(), [&](std::uint32_t u) {
      if (u <= t || found) return;
      const Triangle &mine = triangles_[t], &other = triangles_[u];
      int shared = 0;
      for (const std::uint32_t v : mine) shared += has(other, v) ? 1 : 0;
      if (shared == 2) {  // folded onto each other
        for (std::uint32_t k = 0; k < 3; ++k)
          if (neighbours_[t][k] == u && face_normals_[t].dot(face_normals_[u]) < kFolded - 1)
            found = 0.5 * (corner(t, k) + corner(t, k + 1));
        return;
      }
      // Of two that share a corner the sides across from it meet the other triangle, if anything does.
      const auto look = [&](std::uint32_t of, std::uint32_t at) {
        const double near = kTouching * (corner(at, 1) - corner(at, 0)).norm();
        for (std::size_t k = 0; k < 3 && !found; ++k) {
          if (has(triangles_[at], triangles_[of][k]) || has(triangles_[at], triangles_[of][(k + 1) % 3])) continue;
          const SegmentTriangle both =
              closest(corner(of, k), corner(of, k + 1), corner(at, 0), corner(at, 1), corner(at, 2));
          if (both.distance <= near) found = both.on_triangle;
        }
      };
      look(t, u);
      look(u, t);
    });
    if (found) return found;
  }
  return std::nullopt;
}

void TriangleMesh::build(std::uint32_t first, std::uint32_t count) {
  const std::size_t own = nodes_.size();
  nodes_.emplace_back();
  Vector3d low = corner(order_[first], 0), high = low;
  for (std::uint32_t i = first; i < first + count; ++i)
    for (std::size_t k = 0; k < 3; ++k) {
      low = low.cwiseMin(corner(order_[i], k));
      high = high.cwiseMax(corner(order_[i], k));
    }
  nodes_[own].low = low;
  nodes_[own].high = high;
  if (count <= kLeaf) {
    nodes_[own].first = first;
    nodes_[own].count = count;
    return;
  }
  Eigen::Index axis = 0;
  (high - low).maxCoeff(&axis);
  const auto middle = [&](std::uint32_t t) { return corner(t, 0)[axis] + corner(t, 1)[axis] + corner(t, 2)[axis]; };
  const auto begin = order_.begin() + first;
  std::nth_element(begin, begin + count / 2, begin + count, [&](std::uint32_t a, std::uint32_t b) {
    const double ma = middle(a), mb = middle(b);
    return ma != mb ? ma < mb : a < b;
  });
  build(first, count / 2);
  nodes_[own].first = static_cast<std::uint32_t>(nodes_.size());
  build(first + count / 2, count - count / 2);
}

void TriangleMesh::deform(const Vector3d* x) noexcept {
  deforms_ = true;
  std::copy_n(x, vertices_.size(), vertices_.begin());
  for (std::uint32_t t = 0; t < triangles_.size(); ++t) {
    const Vector3d &a = corner(t, 0), &b = corner(t, 1), &c = corner(t, 2);
    const Vector3d area = (b - a).cross(c - a);
    const double longest = std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()});
    if (area.norm() > kLeastArea * longest) face_normals_[t] = area.normalized();
  }
  for (std::size_t i = nodes_.size(); i-- > 0;) {  // children come after their parent
    Node& node = nodes_[i];
    if (node.count == 0) {
      node.low = nodes_[i + 1].low.cwiseMin(nodes_[node.first].low);
      node.high = nodes_[i + 1].high.cwiseMax(nodes_[node.first].high);
      continue;
    }
    node.low = node.high = corner(order_[node.first], 0);
    for (std::uint32_t o = node.first; o < node.first + node.count; ++o)
      for (std::size_t k = 0; k < 3; ++k) {
        node.low = node.low.cwiseMin(corner(order_[o], k));
        node.high = node.high.cwiseMax(corner(order_[o], k));
      }
  }
  low_ = nodes_[0].low;
  high_ = nodes_[0].high;
}

Vector3d TriangleMesh::weights(std::size_t t, const Vector3d& point) const noexcept {
  const auto i = static_cast<std::uint32_t>(t);
  const Vector3d &a = corner(i, 0), &b = corner(i, 1), &c = corner(i, 2);
  const Vector3d area = (b - a).cross(c - a);
  const double square = std::max(area.squaredNorm(), 1e-300);
  Vector3d w((c - b).cross(point - b).dot(area) / square, (a - c).cross(point - c).dot(area) / square, 0);
  w = w.cwiseMax(0.0).cwiseMin(1.0);
  if (w.x() + w.y() > 1) w /= w.x() + w.y();
  w.z() = 1 - w.x() - w.y();
  return w;
}

// Whether d points out of the solid beyond both faces at edge k of t.
bool TriangleMesh::beyond_edge(std::uint32_t t, std::size_t k, const Vector3d& d, double slack) const noexcept {
  const Vector3d e = corner(t, k + 1) - corner(t, k);
  const Vector3d &n = face_normals_[t], &other = face_normals_[neighbours_[t][k]];
  const double least = -slack * e.norm() * d.norm();
  return d.dot(e.cross(n)) >= least && d.dot(other.cross(e)) >= least && d.dot(n + other) > 0;
}

bool TriangleMesh::beyond_vertex(std::uint32_t v, const Vector3d& d, double slack) const noexcept {
  for (std::uint32_t i = ring_first_[v]; i < ring_first_[v + 1]; ++i)
    if (d.dot(vertices_[ring_[i]] - vertices_[v]) > slack * (vertices_[ring_[i]] - vertices_[v]).norm() * d.norm())
      return false;
  return d.dot(vertex_normal(v)) > 0;
}

// Angle-weighted, of no particular length; found when it is asked for, since hardly any is.
Vector3d TriangleMesh::vertex_normal(std::uint32_t v) const noexcept {
  Vector3d sum = Vector3d::Zero();
  std::uint32_t t = owners_[v];
  do {
    std::uint32_t k = 0;
    while (triangles_[t][k] != v) ++k;
    const Vector3d e = corner(t, k + 1) - vertices_[v], f = corner(t, k + 2) - vertices_[v];
    sum += std::atan2(e.cross(f).norm(), e.dot(f)) * face_normals_[t];
    t = neighbours_[t][k];
  } while (t != owners_[v]);
  return sum;
}

// The leaves of the hierarchy hold several: this one's own box, told from `within` by more than rounding.
bool TriangleMesh::far(std::uint32_t t, const Vector3d& low, const Vector3d& high, double within) const noexcept {
  const Vector3d &a = corner(t, 0), &b = corner(t, 1), &c = corner(t, 2);
  const double most = (1 + 1e-12) * within;
  return box_gap(low, high, a.cwiseMin(b).cwiseMin(c), a.cwiseMax(b).cwiseMax(c)) > most * most;
}

TriangleMesh::Nearest TriangleMesh::nearest(const Vector3d& p, double within) const noexcept {
  Nearest out;
  OnTriangle on;
  std::uint32_t triangle = 0;
  double best = within;
  for_near(p, p, best, [&](std::uint32_t t) {
    if (far(t, p, p, best)) return;
    const OnTriangle c = closest(p, corner(t, 0), corner(t, 1), corner(t, 2));
    const double d = (p - c.point).norm();
    if (d > best || (d == best && out.found)) return;
    best = d;
    on = c;
    triangle = t;
    out.found = true;
  });
  if (!out.found) return out;
  Vector3d up = face_normals_[triangle];
  if (on.edge >= 0) up += face_normals_[neighbours_[triangle][static_cast<std::size_t>(on.edge)]];
  if (on.corner >= 0) up = vertex_normal(triangles_[triangle][static_cast<std::size_t>(on.corner)]);
  out.point = on.point;
  const Vector3d d = p - on.point;
  // Triangles beside each other may have folded past each other: then it takes the whole surface to tell.
  const bool inside = d.dot(up) < 0 && !(deforms_ && best > kOnSurface && winding(p) < 0.5);
  out.distance = inside ? -best : best;
  out.normal = best > kOnSurface ? Vector3d((inside ? -1 : 1) / best * d) : Vector3d(up.normalized());
  out.triangle = triangle;
  return out;
}

double TriangleMesh::winding(const Vector3d& p) const noexcept {
  double angles = 0;
  for (std::uint32_t t = 0; t < triangles_.size(); ++t)
    angles += solid_angle(corner(t, 0) - p, corner(t, 1) - p, corner(t, 2) - p);
  return angles / (4 * std::numbers::pi);
}

bool TriangleMesh::inside(const Vector3d& p) const noexcept {
  if (deforms_) return winding(p) >= 0.5;
  const Nearest at = nearest(p, (high_ - low_).norm());
  return at.found && at.distance < 0;
}

TriangleMesh::Nearest TriangleMesh::nearest(const Vector3d& p, const Vector3d& q, double within) const noexcept {
  Nearest out;
  double best = within;
  const auto take = [&](double s, const Vector3d& on_segment, const Vector3d& on_mesh, std::uint32_t t) {
    const double d = (on_segment - on_mesh).norm();
    if (d > best || (d == best && out.found)) return;
    best = d;
    out.found = true;
    out.s = s;
    out.point = on_mesh;
    out.triangle = t;
    out.normal = d > kOnSurface ? Vector3d((on_segment - on_mesh) / d) : face_normals_[t];
  };
  const Vector3d low = p.cwiseMin(q), high = p.cwiseMax(q);
  for_near(low, high, best, [&](std::uint32_t t) {
    if (far(t, low, high, best)) return;
    const Vector3d &a = corner(t, 0), &n = face_normals_[t];
    const double hp = n.dot(p - a), hq = n.dot(q - a);
    if (hp * hq < 0) {  // goes through its plane, perhaps through itself
      const double s = hp / (hp - hq);
      const Vector3d c = p + s * (q - p);
      const OnTriangle on = closest(c, a, corner(t, 1), corner(t, 2));
      if (on.corner < 0 && on.edge < 0) return take(s, c, c, t);
    }
    take(0, p, closest(p, a, corner(t, 1), corner(t, 2)).point, t);
    take(1, q, closest(q, a, corner(t, 1), corner(t, 2)).point, t);
    for (std::size_t k = 0; k < 3; ++k) {
      const TwoPlaces both = closest_places(p, q, corner(t, k), corner(t, k + 1));
      take(both.s, p + both.s * (q - p), corner(t, k) + both.t * (corner(t, k + 1) - corner(t, k)), t);
    }
  });
  out.distance = best;
  return out;
}

void TriangleMesh::minima(const Vector3d& p, double within, Minima& out) const noexcept {
  out.clear();
  for_near(p, p, within, [&](std::uint32_t t) {
    const OnTriangle on = closest(p, corner(t, 0), corner(t, 1), corner(t, 2));
    const Vector3d d = p - on.point;
    const double size = d.norm();
    if (size > within || !(size > kOnSurface)) return;
    const Triangle& corners = triangles_[t];
    if (on.corner >= 0) {
      const std::uint32_t v = corners[static_cast<std::size_t>(on.corner)];
      if (owners_[v] != t || !beyond_vertex(v, d, kConeSeam)) return;
    } else if (on.edge >= 0) {
      const auto k = static_cast<std::size_t>(on.edge);
      if (neighbours_[t][k] < t || !beyond_edge(t, k, d, kConeSeam)) return;
    } else if (d.dot(face_normals_[t]) <= 0) {
      return;
    }
    insert(out, {size, on.point, d / size, 0, true, t});
    if (out.size() == kMostMinima) within = out.back().distance;
  });
}

}  // namespace ligature::contact
