#include "appliance/sim/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "appliance/sim/bodies.hpp"
#include "appliance/sim/chart.hpp"
#include "appliance/sim/output_files.hpp"
#include "appliance/sim/rest.hpp"
#include "appliance/sim/strands.hpp"
#include "appliance/sim/summary.hpp"
#include "sim/base/units.hpp"

namespace ligature::simulate {
namespace {

constexpr double kWidth = 1400, kMargin = 36, kGutter = 44;
constexpr std::array<Colour, 4> kThreadColours{{{31, 100, 180}, {214, 90, 30}, {36, 138, 86}, {132, 76, 178}}};
constexpr Colour kForce{200, 30, 50}, kWhite{255, 255, 255};
constexpr std::array<const char*, 3> kAxisNames{"x", "y", "z"};

double component(Vec3 v, int axis) {
  return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/// Where a place on a thread is now.
std::size_t vertex_of(const world::Place& at, const world::ThreadShape& shape) {
  switch (at.kind) {
    case world::Place::Kind::first:
      return 0;
    case world::Place::Kind::last:
      return shape.x.size() - 1;
    case world::Place::Kind::vertex:
      return std::min(at.vertex, shape.x.size() - 1);
    case world::Place::Kind::arc:
      break;
  }
  std::size_t best = 0;
  for (std::size_t i = 0; i < shape.s_mm.size(); ++i)
    if (std::abs(shape.s_mm[i] - at.s_mm) < std::abs(shape.s_mm[best] - at.s_mm)) best = i;
  return best;
}

struct Mark {
  enum class Kind { position, frame, force } kind;
  Vec3 at, force;  ///< force in uN
};

/// What holds and pulls at the end of the run.
std::vector<Mark> marks_of(const config::Scenario& scenario, const world::World& world) {
  std::vector<Mark> marks;
  const auto clamps = clamps_of(scenario.params);
  std::size_t i = 0;
  for (const world::ClampMeasure& c : world.clamps()) {
    const world::ClampParams& p = *clamps[i++];
    if (!c.active) continue;
    marks.push_back({p.hold == world::ClampParams::Hold::frame ? Mark::Kind::frame : Mark::Kind::position,
                     world.shape(c.thread).x[c.vertex],
                     {}});
  }
  for (std::size_t k = 0; k < std::min(scenario.params.threads.size(), world.thread_count()); ++k) {
    const world::ThreadShape shape = world.shape(k);
    for (const world::ForceParams& f : scenario.params.threads[k].forces)
      if (norm(f.force) > 0 && f.from_s <= world.time_s() && world.time_s() <= f.until_s)
        marks.push_back({Mark::Kind::force, shape.x[vertex_of(f.at, shape)], f.force});
  }
  return marks;
}

Vec3 unit(int axis) {
  return {axis == 0 ? 1.0 : 0.0, axis == 1 ? 1.0 : 0.0, axis == 2 ? 1.0 : 0.0};
}

/// The surfaces of tissues as they are now.
std::vector<TissueSurface> tissues_of(const world::World& world) {
  std::vector<TissueSurface> out = world.tissue_surfaces();
  const auto scene = std::make_unique<SceneSnapshot>();
  world.snapshot(*scene);
  for (std::size_t k = 0; k < out.size(); ++k) {
    const SnapshotTissue& now = scene->tissues[k];
    std::copy_n(scene->surface.data() + now.first_vertex, now.vertex_count, out[k].rest.data());
  }
  return out;
}

Extents extents_of(const Projection& view, const std::vector<History::Shape>& shapes,
                   const std::vector<TissueSurface>& tissues = {}) {
  Extents e;
  for (const TissueSurface& t : tissues)
    for (const SnapshotVertex& v : t.rest) e.take(view.of({v.x, v.y, v.z}));
  for (const auto& shape : shapes)
    for (const auto& thread : shape.threads)
      for (const Vec3 p : thread) e.take(view.of(p));
  return e;
}

/// Intermediate shapes worth drawing: spread evenly by how far the threads have moved, not by time.
std::vector<std::size_t> between(const std::vector<History::Shape>& shapes, std::size_t count) {
  std::vector<double> way(shapes.size(), 0);
  for (std::size_t s = 1; s < shapes.size(); ++s) {
    double moved = 0;
    for (std::size_t k = 0; k < std::min(shapes[s].threads.size(), shapes[s - 1].threads.size()); ++k) {
      const auto &a = shapes[s - 1].threads[k], &b = shapes[s].threads[k];
      for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) moved = std::max(moved, norm(b[i] - a[i]));
    }
    way[s] = way[s - 1] + moved;
  }
  std::vector<std::size_t> out;
  if (shapes.size() < 3 || !(way.back() > 0)) return out;
  for (std::size_t i = 1; i <= count; ++i) {
    const double wanted = way.back() * static_cast<double>(i) / static_cast<double>(count + 1);
    std::size_t best = 1;
    for (std::size_t s = 1; s + 1 < shapes.size(); ++s)
      if (std::abs(way[s] - wanted) < std::abs(way[best] - wanted)) best = s;
    if (out.empty() || out.back() != best) out.push_back(best);
  }
  return out;
}

void draw_curves(Drawing& d, const Paper& paper, const std::vector<History::Shape>& shapes,
                 const std::vector<Tube>& tubes, const Box& box, double width) {
  const auto curve = [&](const std::vector<Vec3>& thread, Colour colour, double w) {
    std::vector<Point> points;
    for (const Vec3 p : thread) points.push_back(paper.of(p));
    d.line(std::move(points), colour, w);
  };
  const auto middle = between(shapes, 5);
  for (std::size_t m = 0; m < middle.size(); ++m)
    for (std::size_t k = 0; k < shapes[middle[m]].threads.size(); ++k)
      curve(shapes[middle[m]].threads[k],
            mix(kWhite, kThreadColours[k % kThreadColours.size()],
                0.2 + 0.25 * static_cast<double>(m + 1) / static_cast<double>(middle.size() + 1)),
            1);
  for (const auto& thread : shapes.front().threads) curve(thread, kStart, 1.6);
  draw_tubes(d, paper, tubes, box, width);
}

/// A tube a thread; its needle is one of its own.
std::vector<Tube> tubes_of(const std::vector<Curve>& curves) {
  constexpr Colour kSteel{112, 118, 124};
  std::vector<Tube> out;
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const Curve& c = curves[k];
    const Colour colour = kThreadColours[k % kThreadColours.size()];
    const auto is_needle = [&](std::size_t i) { return c.radius_at(i) > 1.000001 * c.radius_mm; };
    for (std::size_t i = 0; i < c.x.size();) {
      const bool needle = is_needle(i);
      std::size_t end = i + 1;
      while (end < c.x.size() && is_needle(end) == needle) ++end;
      // Thread and needle meet: the one goes on to where the other begins.
      const std::size_t last = std::min(needle ? end : end + 1, c.x.size());
      Tube tube{{c.x.begin() + static_cast<std::ptrdiff_t>(i), c.x.begin() + static_cast<std::ptrdiff_t>(last)},
                2 * (needle ? c.thickest() : c.radius_mm),
                needle ? kSteel : colour};
      if (needle && end < c.x.size()) tube.x.push_back(c.x[end]);
      if (tube.x.size() > 1) out.push_back(std::move(tube));
      i = end;
    }
    if (c.closed && !out.empty()) out.back().x.push_back(c.x.front());
  }
  return out;
}

void draw_symbol(Drawing& d, Mark::Kind kind, Point at) {
  if (kind == Mark::Kind::frame) {
    const auto square = [&](double r, Colour c) {
      d.area({{at.x - r, at.y - r}, {at.x + r, at.y - r}, {at.x + r, at.y + r}, {at.x - r, at.y + r}}, c);
    };
    square(7, kWhite);
    square(5.5, kInk);
  } else {
    d.disc(at, 6.5, kWhite);
    d.disc(at, 5, kInk);
    d.disc(at, 2, kWhite);
  }
}

void draw_arrow(Drawing& d, Point from, Point to, Colour colour) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  const Point t{(to.x - from.x) / length, (to.y - from.y) / length};
  const Point neck{to.x - 11 * t.x, to.y - 11 * t.y};
  d.line({from, neck}, colour, 2.4);
  d.area({to, {neck.x - 5 * t.y, neck.y + 5 * t.x}, {neck.x + 5 * t.y, neck.y - 5 * t.x}}, colour);
}

std::string force_text(double un) {
  const double mn = un / units::un_per_mn;
  if (mn < 0.1) return fmt::format("{:.3g} uN", un);
  return mn < 1000 ? fmt::format("{:.4g} mN", mn) : fmt::format("{:.4g} N", mn / 1000);
}

bool overlap(const Box& a, const Box& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

/// Clamps and forces; texts keep clear of arrows, symbols and each other, and inside the box.
void draw_marks(Drawing& d, const Paper& paper, const std::vector<Mark>& marks, const Box& box, bool labels) {
  struct Label {
    std::string text;
    Point from, to;
  };
  std::vector<Box> taken;
  std::vector<Label> wanted;
  for (const Mark& m : marks) {
    const Point at = paper.of(m.at);
    taken.push_back({at.x - 8, at.y - 8, 16, 16});
    if (m.kind != Mark::Kind::force) {
      draw_symbol(d, m.kind, at);
      continue;
    }
    const std::string text = force_text(norm(m.force));
    const Point f = paper.view.of(m.force);
    const double size = std::hypot(f.x, f.y) / norm(m.force);
    if (size < 0.15) {  // towards or away from the eye
      d.ring(at, 7, kForce, 2);
      d.disc(at, 2.5, kForce);
      wanted.push_back({text, at, at});
      continue;
    }
    const double length = 22 + 26 * size, k = 1 / std::hypot(f.x, f.y);
    // The tail stands at the vertex when there is room in front of it, else the tip does.
    const Point ahead{at.x + length * k * f.x, at.y - length * k * f.y};
    const bool room =
        ahead.x > box.x + 4 && ahead.x < box.right() - 4 && ahead.y > box.y + 4 && ahead.y < box.bottom() - 4;
    const Point from = room ? at : Point{2 * at.x - ahead.x, 2 * at.y - ahead.y};
    const Point to = room ? ahead : at;
    draw_arrow(d, from, to, kForce);
    for (double u = 0; u <= 1; u += 0.125)
      taken.push_back({from.x + u * (to.x - from.x) - 6, from.y + u * (to.y - from.y) - 6, 12, 12});
    wanted.push_back({text, from, to});
  }
  if (!labels) return;
  for (const Label& l : wanted) {
    const double w = Drawing::text_width(l.text, kLabelSize, true);
    const Point middle{0.5 * (l.from.x + l.to.x), 0.5 * (l.from.y + l.to.y)};
    // Beside the arrow, then beyond its tip, then further and further off.
    std::vector<Point> places{{-0.5 * w, -10}, {-0.5 * w, 22}};
    if (std::hypot(l.to.x - l.from.x, l.to.y - l.from.y) > 0) places.insert(places.begin(), {{12, 5}, {-12 - w, 5}});
    for (const double off : {24.0, 38.0, 52.0})
      for (const double y : {5 - off, 5 + off})
        for (const double x : {-0.5 * w, 10.0, -10 - w}) places.push_back({x, y});
    for (const Point place : places) {
      const Box label{middle.x + place.x, middle.y + place.y - 12, w, 15};
      const bool inside =
          label.x > box.x && label.right() < box.right() && label.y > box.y && label.bottom() < box.bottom();
      if (!inside || std::any_of(taken.begin(), taken.end(), [&](const Box& b) { return overlap(label, b); })) continue;
      taken.push_back(label);
      d.text({label.x, label.y + 12}, l.text, kLabelSize, kForce, Anchor::left, true);
      break;
    }
  }
}

void frame(Drawing& d, const Box& b) {
  d.line({{b.x, b.y}, {b.right(), b.y}, {b.right(), b.bottom()}, {b.x, b.bottom()}, {b.x, b.y}}, kFrame, 1);
}

void scale_bar(Drawing& d, const Paper& paper, const Box& box) {
  const double mm = nice_step(0.22 * box.width / paper.scale, 1);
  const double length = mm * paper.scale, x = box.x + 16, y = box.bottom() - 16;
  d.area({{x - 6, y - 24}, {x + length + 6, y - 24}, {x + length + 6, y + 8}, {x - 6, y + 8}}, kWhite);
  d.line({{x, y}, {x + length, y}}, kInk, 2.5);
  for (const double end : {x, x + length}) d.line({{end, y - 5}, {end, y + 5}}, kInk, 1.5);
  d.text({x + 0.5 * length, y - 9}, fmt::format("{:g} mm", mm), kLabelSize, kInk, Anchor::middle);
}

/// The pair of axes that shows most, the vertical one as gravity says.
std::pair<int, int> best_axes(const std::vector<History::Shape>& shapes, Vec3 gravity) {
  std::array<double, 3> size{};
  for (int a = 0; a < 3; ++a) size[static_cast<std::size_t>(a)] = extents_of({unit(a), unit(a)}, shapes).width();
  const double floor = 1e-3 * std::max({size[0], size[1], size[2]}) + 1e-12;
  const auto s = [&](int a) { return std::max(size[static_cast<std::size_t>(a)], floor); };
  int down = -1;
  for (int a = 0; a < 3; ++a)
    if (std::abs(component(gravity, a)) > 0.9 * norm(gravity) && norm(gravity) > 0) down = a;
  std::pair<int, int> best{0, down == 0 ? 0 : 2};
  double most = -1;
  for (const auto& [h, v] :
       {std::pair{0, 2}, std::pair{0, 1}, std::pair{1, 2}, std::pair{1, 0}, std::pair{2, 0}, std::pair{2, 1}}) {
    if (down >= 0 ? v != down : h > v) continue;
    if (s(h) * s(v) > most * (1 + 1e-6)) most = s(h) * s(v), best = {h, v};
  }
  return best;
}

void draw_bodies(Drawing& d, const Paper& paper, const config::Scenario& scenario, const world::World& world,
                 const std::vector<TissueSurface>& tissues, const Box& box) {
  for (const TissueSurface& t : tissues) draw_surface(d, paper, t, box);
  for (std::size_t i = 0; i < scenario.params.obstacles.size(); ++i)
    draw_body(d, paper, scenario.params.obstacles[i], world.obstacle_shift(i), box);
}

void draw_main_view(Drawing& d, const Box& box, int horizontal, int vertical, const std::vector<History::Shape>& shapes,
                    const std::vector<Tube>& tubes, const config::Scenario& scenario, const world::World& world,
                    const std::vector<TissueSurface>& tissues, const std::vector<Mark>& marks) {
  const Projection view{unit(horizontal), unit(vertical)};
  const Paper paper = fit(view, extents_of(view, shapes, tissues), box, 46);
  const auto ticks = [&](double low, double high, double pixels, auto&& draw) {
    const double step = nice_step(high - low, pixels / 80);
    for (double v = std::ceil(low / step) * step; v <= high; v += step) draw(v, tick_text(v, step));
  };
  ticks((box.x - paper.x0) / paper.scale, (box.right() - paper.x0) / paper.scale, box.width,
        [&](double v, const std::string& text) {
          const double x = paper.x0 + paper.scale * v;
          d.line({{x, box.y}, {x, box.bottom()}}, kGrid, 1);
          d.text({x, box.bottom() + 18}, text, kLabelSize, kSoft, Anchor::middle);
        });
  ticks((paper.y0 - box.bottom()) / paper.scale, (paper.y0 - box.y) / paper.scale, box.height,
        [&](double v, const std::string& text) {
          const double y = paper.y0 - paper.scale * v;
          d.line({{box.x, y}, {box.right(), y}}, kGrid, 1);
          d.text({box.x - 8, y + 4.5}, text, kLabelSize, kSoft, Anchor::right);
        });
  frame(d, box);
  d.text({box.x + 0.5 * box.width, box.bottom() + 36},
         fmt::format("{}, mm", kAxisNames[static_cast<std::size_t>(horizontal)]), kLabelSize, kSoft, Anchor::middle);
  d.text({box.x - 8, box.y - 8}, fmt::format("{}, mm", kAxisNames[static_cast<std::size_t>(vertical)]), kLabelSize,
         kSoft, Anchor::right);
  draw_bodies(d, paper, scenario, world, tissues, box);
  draw_curves(d, paper, shapes, tubes, box, 3);
  draw_marks(d, paper, marks, box, true);
  scale_bar(d, paper, box);
}

/// From the front, the right and above: 35 degrees round z, 25 down.
Projection corner_projection() {
  const double a = -35 * units::rad_per_deg, b = 25 * units::rad_per_deg;
  return {{std::cos(a), std::sin(a), 0}, {-std::sin(b) * std::sin(a), std::sin(b) * std::cos(a), std::cos(b)}};
}

void draw_axes(Drawing& d, const Projection& view, Point corner) {
  for (int axis = 0; axis < 3; ++axis) {
    const Point p = view.of(unit(axis));
    if (std::hypot(p.x, p.y) < 0.05) continue;
    d.line({corner, {corner.x + 26 * p.x, corner.y - 26 * p.y}}, kSoft, 1.6);
    d.text({corner.x + 36 * p.x, corner.y - 36 * p.y + 4}, kAxisNames[static_cast<std::size_t>(axis)], kLabelSize,
           kSoft, Anchor::middle);
  }
}

void draw_corner_view(Drawing& d, const Box& box, const std::vector<History::Shape>& shapes,
                      const std::vector<Tube>& tubes, const config::Scenario& scenario, const world::World& world,
                      const std::vector<TissueSurface>& tissues, const std::vector<Mark>& marks) {
  const Projection view = corner_projection();
  frame(d, box);
  // The scale and the axes have the lower edge for themselves.
  const Paper paper = fit(view, extents_of(view, shapes, tissues), {box.x, box.y, box.width, box.height - 44}, 24);
  draw_bodies(d, paper, scenario, world, tissues, box);
  draw_curves(d, paper, shapes, tubes, box, 2.5);
  draw_marks(d, paper, marks, box, false);
  scale_bar(d, paper, box);
  draw_axes(d, view, {box.right() - 52, box.bottom() - 40});
}

/// Where strands are near each other: what a close-up is worth of.
std::vector<Vec3> crowd(const std::vector<Curve>& curves) {
  constexpr double kNear = 2.5, kNeighbours = 8;  // diameters: of the centrelines; of arc along a thread
  constexpr std::size_t kMost = 6000;
  std::vector<Vec3> out;
  std::size_t vertices = 0;
  for (const Curve& c : curves) vertices += c.x.size();
  if (vertices > kMost) return out;
  for (std::size_t k = 0; k < curves.size(); ++k)
    for (std::size_t i = 0; i < curves[k].x.size(); ++i) {
      const auto near = [&](std::size_t l, std::size_t j) {
        const Curve &a = curves[k], &b = curves[l];
        if (norm(a.x[i] - b.x[j]) > kNear * (a.radius_mm + b.radius_mm)) return false;
        return k != l || a.arc_between(a.s_mm[i], a.s_mm[j]) > 2 * kNeighbours * a.radius_mm;
      };
      bool crowded = false;
      for (std::size_t l = 0; l < curves.size() && !crowded; ++l)
        for (std::size_t j = 0; j < curves[l].x.size() && !crowded; ++j) crowded = near(l, j);
      if (crowded) out.push_back(curves[k].x[i]);
    }
  return out;
}

/// A place on a thread.
Vec3 place_on(const Curve& c, double s_mm) {
  const auto behind = std::upper_bound(c.s_mm.begin() + 1, c.s_mm.end(), s_mm);
  const auto i = std::min(static_cast<std::size_t>(behind - c.s_mm.begin()) - 1, c.edges() - 1);
  return c.x[i] + std::clamp((s_mm - c.s_mm[i]) / c.edge_mm(i), 0.0, 1.0) * (c.x[c.next(i)] - c.x[i]);
}

/// Contacts between strands, as discs the larger the more they carry.
void draw_contacts(Drawing& d, const Paper& paper, const std::vector<Curve>& curves, const world::World& world,
                   const Box& box) {
  std::vector<world::ContactMeasure> contacts = world.contacts();
  double most = 0;
  for (const auto& c : contacts)
    if (c.other == world::ContactMeasure::Other::thread) most = std::max(most, c.normal_force);
  if (!(most > 0)) return;
  std::size_t sticking = 0, sliding = 0;
  for (const auto& c : contacts) {
    if (c.other != world::ContactMeasure::Other::thread) continue;
    ++(c.sliding ? sliding : sticking);
    const Point p = paper.of(0.5 * (place_on(curves[c.thread], c.s_mm) + place_on(curves[c.index], c.other_s_mm)));
    const double radius = 1.5 + 4.5 * std::sqrt(c.normal_force / most);
    if (p.x - radius < box.x || p.x + radius > box.right() || p.y - radius < box.y || p.y + radius > box.bottom())
      continue;
    d.disc(p, radius, kWhite);
    d.disc(p, radius - 0.8, c.sliding ? kForce : kInk);
  }
  const Point at{box.x + 16, box.y + 20};
  d.disc(at, 5, kInk);
  d.text({at.x + 10, at.y + 4.5}, fmt::format("{} contacts stick", sticking), kLabelSize, kInk);
  d.disc({at.x + 160, at.y}, 5, kForce);
  d.text({at.x + 170, at.y + 4.5}, fmt::format("{} slip, the largest {}", sliding, force_text(most)), kLabelSize, kInk);
}

Paper draw_close_up(Drawing& d, const Box& box, const Projection& view, const std::vector<Vec3>& where,
                    const std::vector<Tube>& tubes, const config::Scenario& scenario, const world::World& world,
                    const std::vector<TissueSurface>& tissues) {
  double thick = 0;
  for (const Tube& t : tubes) thick = std::max(thick, t.diameter_mm);
  Extents e;
  for (const Vec3 p : where)
    for (const double off : {-2 * thick, 2 * thick}) e.take({view.of(p).x + off, view.of(p).y + off});
  const Paper paper = fit(view, e, box, 12);
  frame(d, box);
  draw_bodies(d, paper, scenario, world, tissues, box);
  draw_tubes(d, paper, tubes, box, 2.5);
  scale_bar(d, paper, box);
  draw_axes(d, view, {box.right() - 52, box.bottom() - 40});
  return paper;
}

std::vector<Series> energy_series(const std::vector<History::Energies>& history, bool& log_v) {
  struct Part {
    const char* name;
    double History::Energies::*value;
    Colour colour;
  };
  constexpr std::array<Part, 4> kParts{{{"stretch", &History::Energies::stretch, {31, 119, 180}},
                                        {"bend", &History::Energies::bend, {214, 39, 40}},
                                        {"twist", &History::Energies::twist, {44, 150, 60}},
                                        {"kinetic", &History::Energies::kinetic, {148, 90, 190}}}};
  constexpr Colour kTotal{70, 76, 84}, kPotential{190, 130, 20};
  const auto total = [](const History::Energies& e) { return e.stretch + e.bend + e.twist + e.kinetic + e.potential; };
  double top = 0, least_top = std::numeric_limits<double>::infinity();
  bool falls = false, potential = false;
  std::array<double, kParts.size()> most{};
  for (std::size_t p = 0; p < kParts.size(); ++p) {
    for (const auto& e : history) most[p] = std::max(most[p], e.*kParts[p].value);
    top = std::max(top, most[p]);
  }
  for (std::size_t p = 0; p < kParts.size(); ++p)
    if (most[p] > 1e-9 * top) {
      least_top = std::min(least_top, most[p]);
      falls |= history.back().*kParts[p].value < 1e-2 * most[p];
    }
  for (const auto& e : history) potential |= e.potential != 0;
  log_v = top > 0 && (falls || least_top < 0.02 * top);

  std::vector<Series> out;
  const auto add = [&](const char* name, Colour colour, bool dashed, std::size_t from, auto&& value) {
    Series s{name, colour, {}, {}, dashed, 2};
    for (std::size_t i = from; i < history.size(); ++i) {
      const History::Energies& e = history[i];
      s.t.push_back(e.t_s);
      s.v.push_back(value(e) / units::un_per_mn);
    }
    out.push_back(std::move(s));
  };
  for (std::size_t p = 0; p < kParts.size(); ++p)
    if (most[p] > 1e-9 * top)
      add(kParts[p].name, kParts[p].colour, false, 0, [&](const auto& e) { return e.*kParts[p].value; });
  // Loads act from the first step on.
  const std::size_t from = potential && history.size() > 1 ? 1 : 0;
  const History::Energies start = history[from], end = history.back();
  if (!potential)
    add("total", kTotal, true, from, total);
  else if (log_v)
    add("total, less its value at the end", kTotal, true, from, [&](const auto& e) { return total(e) - total(end); });
  else {
    add("potential, less its start", kPotential, false, from,
        [&](const auto& e) { return e.potential - start.potential; });
    add("total, less its start", kTotal, true, from, [&](const auto& e) { return total(e) - total(start); });
  }
  return out;
}

std::vector<Series> link_series(const std::vector<History::Links>& history, const nlohmann::ordered_json& summary) {
  std::vector<Series> out;
  const std::size_t threads = history.front().twist.size();
  const auto add = [&](const std::string& name, Colour colour, bool dashed, double width, auto&& value) {
    Series s{name, colour, {}, {}, dashed, width};
    for (const auto& l : history)
      if (l.twist.size() == threads) {
        s.t.push_back(l.t_s);
        s.v.push_back(value(l));
      }
    out.push_back(std::move(s));
  };
  for (std::size_t k = 0; k < std::min<std::size_t>(threads, 4); ++k) {
    const std::string of = threads == 1 ? "" : " of " + summary["threads"][k]["name"].get<std::string>();
    const Colour c = kThreadColours[k];
    if (threads == 1) {
      add("twist", {44, 150, 60}, false, 2, [k](const auto& l) { return l.twist[k]; });
      add("writhe", {190, 130, 20}, false, 2, [k](const auto& l) { return l.writhe[k]; });
    }
    add("link" + of, threads == 1 ? kInk : c, true, 2.4, [k](const auto& l) { return l.twist[k] + l.writhe[k]; });
  }
  return out;
}

/// Words that fit into a width, a line each.
std::vector<std::string> wrapped(const std::string& text, double size, bool bold, double width) {
  std::vector<std::string> out(1);
  std::string word;
  const auto put = [&] {
    const std::string longer = out.back().empty() ? word : out.back() + " " + word;
    if (!out.back().empty() && Drawing::text_width(longer, size, bold) > width)
      out.push_back(word);
    else
      out.back() = longer;
    word.clear();
  };
  for (const char c : text) {
    if (c != ' ')
      word += c;
    else if (!word.empty())
      put();
  }
  if (!word.empty()) put();
  return out;
}

std::string vector_text(const nlohmann::ordered_json& v) {
  const auto one = [](double c) { return std::abs(c) < 5e-7 ? std::string("0") : fmt::format("{:.4g}", c); };
  return fmt::format("({}, {}, {})", one(v[0]), one(v[1]), one(v[2]));
}

std::vector<std::string> facts(const nlohmann::ordered_json& s) {
  std::vector<std::string> out;
  out.push_back(fmt::format("{}: {} steps of {:g} ms, {:.4g} s, {}{}. State {}.",
                            std::filesystem::path(s["scenario"].get<std::string>()).filename().string(),
                            s["steps"].get<std::uint64_t>(), s["step_ms_nominal"].get<double>(),
                            s["time_s"].get<double>(), s["at_rest"].get<bool>() ? "at rest" : "not at rest",
                            s["interrupted"].get<bool>() ? ", interrupted" : "", s["state_hash"].get<std::string>()));
  if (s["threads"].empty()) return out;
  constexpr std::size_t kMostThreads = 3;
  for (std::size_t k = 0; k < std::min(kMostThreads, s["threads"].size()); ++k) {
    const auto& t = s["threads"][k];
    std::string line =
        fmt::format("{}: {} vertices, length {:.6g} mm, last vertex at {} mm", t["name"].get<std::string>(),
                    t["vertices"].get<std::uint64_t>(), t["length_mm"].get<double>(), vector_text(t["last_mm"]));
    std::size_t shown = 0;
    for (const auto& c : s["clamps"]) {
      if (c["thread"] != t["name"] || !c["active"].get<bool>() || ++shown > 2) continue;
      line += fmt::format("; clamp {}: {} mN, {} mN mm", place_text(c["at"]), vector_text(c["reaction_mn"]),
                          vector_text(c["torque_mn_mm"]));
    }
    out.push_back(line + ".");
  }
  if (s["threads"].size() > kMostThreads)
    out.push_back(fmt::format("and {} more threads.", s["threads"].size() - kMostThreads));
  return out;
}

}  // namespace

Drawing plot(const config::Scenario& scenario, const world::World& world, const History& history,
             const nlohmann::ordered_json& summary) {
  const auto marks = marks_of(scenario, world);
  const std::vector<Curve> curves = curves_of(world, scenario.params);
  const std::vector<Tube> tubes = tubes_of(curves);
  const std::vector<TissueSurface> tissues = tissues_of(world);
  const auto [horizontal, vertical] = best_axes(history.shapes(), scenario.params.gravity);
  const Extents e = extents_of({unit(horizontal), unit(vertical)}, history.shapes(), tissues);

  // A flat curve needs no high picture.
  const double left = 900, right = kWidth - 2 * kMargin - left - kGutter;
  const double ticks = 52, aspect = e.height() / std::max(e.width(), 1e-9);
  const double high = std::clamp((left - ticks - 92) * aspect + 92, 220.0, 560.0);
  const auto title = wrapped(scenario.title, 24, true, kWidth - 2 * kMargin);
  std::vector<std::string> lines;
  for (const std::string& fact : facts(summary))
    for (std::string& line : wrapped(fact, 14, false, kWidth - 2 * kMargin)) lines.push_back(std::move(line));
  const double header = kMargin + 30 * static_cast<double>(title.size()) + 20 * static_cast<double>(lines.size()) + 10;
  // A close-up where it shows more than the whole does.
  const Projection front{unit(horizontal), unit(vertical)};
  const std::vector<Vec3> crowded = crowd(curves);
  Extents near;
  for (const Vec3 p : crowded) near.take(front.of(p));
  const bool close_up = !crowded.empty() && near.width() < 0.5 * e.width();
  const double views = 40, charts = 330, detail = close_up ? 480 + 40 : 0;
  Drawing d(kWidth, header + views + high + 58 + detail + charts + kMargin - 8);

  double y = kMargin + 14;
  for (const std::string& line : title) {
    d.text({kMargin, y}, line, 24, kInk, Anchor::left, true);
    y += 30;
  }
  y -= 4;
  for (const std::string& line : lines) {
    d.text({kMargin, y}, line, 14, kSoft);
    y += 20;
  }

  // What is what, above the curves.
  const double legend_y = header + 16;
  double x = kMargin + ticks;
  const auto legend = [&](double symbol, const std::string& text, auto&& draw) {
    draw(Point{x, legend_y - 5});
    d.text({x + symbol + 7, legend_y}, text, kLabelSize, kInk);
    x += symbol + 7 + Drawing::text_width(text, kLabelSize) + 20;
  };
  legend(24, "start", [&](Point p) { d.line({p, {p.x + 24, p.y}}, kStart, 1.6); });
  legend(24, "between", [&](Point p) { d.line({p, {p.x + 24, p.y}}, mix(kWhite, kThreadColours[0], 0.4), 1.2); });
  for (std::size_t k = 0; k < std::min<std::size_t>(summary["threads"].size(), kThreadColours.size()); ++k)
    legend(24, summary["threads"].size() == 1 ? "end" : "end of " + summary["threads"][k]["name"].get<std::string>(),
           [&](Point p) {
             d.line({p, {p.x + 24, p.y}}, kThreadColours[k], 3);
           });
  const auto any = [&](Mark::Kind kind) {
    return std::any_of(marks.begin(), marks.end(), [kind](const Mark& m) { return m.kind == kind; });
  };
  if (any(Mark::Kind::frame))
    legend(14, "frame held", [&](Point p) { draw_symbol(d, Mark::Kind::frame, {p.x + 7, p.y}); });
  if (any(Mark::Kind::position))
    legend(14, "position held", [&](Point p) { draw_symbol(d, Mark::Kind::position, {p.x + 7, p.y}); });
  if (any(Mark::Kind::force)) legend(30, "force", [&](Point p) { draw_arrow(d, p, {p.x + 30, p.y}, kForce); });
  if (norm(scenario.params.gravity) > 0)
    legend(0,
           fmt::format("gravity {:.4g} m/s2 along {}{}", norm(scenario.params.gravity) / units::mm_per_m,
                       component(scenario.params.gravity, vertical) < 0 ? "-" : "",
                       kAxisNames[static_cast<std::size_t>(vertical)]),
           [](Point) {});

  const double top = header + views;
  draw_main_view(d, {kMargin + ticks, top, left - ticks, high}, horizontal, vertical, history.shapes(), tubes, scenario,
                 world, tissues, marks);
  draw_corner_view(d, {kMargin + left + kGutter, top, right, high}, history.shapes(), tubes, scenario, world, tissues,
                   marks);
  if (close_up) {
    const double half = 0.5 * (kWidth - 2 * kMargin - kGutter), y0 = top + high + 66;
    const Box one{kMargin, y0, half, detail - 52}, two{kMargin + half + kGutter, y0, half, detail - 52};
    d.text({one.x, y0 - 8}, "Where strands meet, at the end", kLabelSize, kInk, Anchor::left, true);
    d.text({two.x, y0 - 8}, "The same from the front, the right and above, with contacts", kLabelSize, kInk,
           Anchor::left, true);
    draw_close_up(d, one, front, crowded, tubes, scenario, world, tissues);
    draw_contacts(d, draw_close_up(d, two, corner_projection(), crowded, tubes, scenario, world, tissues), curves,
                  world, two);
  }

  const double below = top + high + 58 + detail;
  ChartSettings settings;
  const auto steps = summary["steps"].get<std::uint64_t>();
  // What relaxes from the start does so over decades of time; what is driven has its own pace.
  settings.log_t =
      scenario.until_rest && steps > 200 && calm_from_s(scenario.params, scenario.duration_s) < 0.01 * world.time_s();
  settings.t_least = scenario.params.step_s;
  settings.title = "Energy, mN mm";
  const auto energies = energy_series(history.energies(), settings.log_v);
  draw_chart(d, {kMargin, below, left, charts}, settings, energies);

  const Box side{kMargin + left + kGutter, below, right, charts};
  settings.levels.clear();
  if (!history.links().empty()) {
    settings.title = "Twist, writhe and link, turns";
    settings.log_v = false;
    draw_chart(d, side, settings, link_series(history.links(), summary));
  } else {
    settings.title = "Speed of the fastest vertex, mm/s";
    settings.log_v = true;
    Series speed{"speed", kThreadColours[0], {}, {}, false, 2};
    for (const auto& s : history.energies()) {
      if (s.t_s == 0 && s.speed_mm_per_s == 0) continue;  // not yet moved
      speed.t.push_back(s.t_s);
      speed.v.push_back(s.speed_mm_per_s);
    }
    if (scenario.until_rest) settings.levels.push_back(scenario.rest_speed_mm_per_s);
    draw_chart(d, side, settings, {speed});
  }
  return d;
}

}  // namespace ligature::simulate
