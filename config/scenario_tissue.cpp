/// [[tissue]] and [[suture]].
#include <algorithm>

#include "config/mesh_file.hpp"
#include "config/scenario_parts.hpp"
#include "sim/base/units.hpp"

namespace ligature::config {

namespace {

using world::SutureParams;
using world::TissueParams;

constexpr double kPaPerKpa = 1e3;
constexpr double kSecondsPerMs = 1e-3;
constexpr std::int64_t kMostElements = 8192;  // of one tissue: about 20 ms a step

constexpr double kElementsAlong = 12;  // the longest side of a mesh's box, where nothing else is said
constexpr std::size_t kMostBoxes = 8;

/// How far points reach along each axis.
Vec3 extent(const std::vector<Vec3>& points) {
  Vec3 low = points[0], high = low;
  for (const Vec3& p : points) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
  }
  return high - low;
}

/// What a closed mesh encloses.
void read_mesh(Table& t, TissueParams& p) {
  Vec3 size;
  if (const auto file = t.need_path("mesh_file", Table::PathKind::file); !file.empty()) {
    if (auto mesh = load_mesh(file); mesh) {
      p.vertices = std::move(mesh->vertices);
      p.triangles = std::move(mesh->triangles);
      size = extent(p.vertices);
    } else {
      t.reject_as("mesh_file", mesh.error().message, "a closed triangle mesh in mm", "mend it, or export it anew");
    }
  }
  const double longest = std::max({size.x, size.y, size.z, 1e-3});
  // A box of which one element sticks out on every side is no model of what is in it.
  const double thin = std::min({size.x, size.y, size.z}), least = thin > 0 ? std::clamp(thin, 1e-3, 100.0) : 100;
  p.element_mm = t.get_number("element_mm", std::min(longest / kElementsAlong, least), between(1e-3, least),
                              "no larger than its walls are thick and its gaps are wide");
  p.wall_mm = t.get_number("wall_mm", p.element_mm, between(1e-3, least), "how thick it is where it is thin");
  const std::vector<Vec3> corners = t.get_points("fixed_box_mm", 2, 2 * kMostBoxes);
  if (corners.size() % 2 != 0)
    t.reject_as("fixed_box_mm", "an odd number of points", "two opposite corners, or two of each of several boxes",
                "add the other corner");
  for (std::size_t k = 0; k + 1 < corners.size(); k += 2) {
    const Vec3 &a = corners[k], &b = corners[k + 1];
    p.fixed.push_back({{std::min(a.x, b.x), std::min(a.y, b.y), std::min(a.z, b.z)},
                       {std::max(a.x, b.x), std::max(a.y, b.y), std::max(a.z, b.z)}});
  }
}

void read_vessel(Table& t, TissueParams& p) {
  p.outer_diameter_mm = t.get_number("outer_diameter_mm", p.outer_diameter_mm, between(0.05, 100));
  p.wall_mm = t.get_number("wall_mm", p.wall_mm, between(1e-3, 50), "an artery of 1 mm has 0.06 to 0.15");
  p.length_mm = t.get_number("length_mm", p.length_mm, between(0.05, 1000));
  constexpr int kNone = 0, kFirst = 1, kLast = 2, kBoth = 3;
  const int fixed =
      t.get_choice("fixed", kFirst, {{"none", kNone}, {"first", kFirst}, {"last", kLast}, {"both", kBoth}});
  p.fix_first = (fixed & kFirst) != 0;
  p.fix_last = (fixed & kLast) != 0;
  p.around = static_cast<int>(t.get_integer("around", p.around, 6, 256, "elements round the vessel"));
  p.along = static_cast<int>(t.get_integer("along", p.along, 1, 1024, "elements along it"));
  p.layers = static_cast<int>(t.get_integer("layers", p.layers, 1, 8, "elements through its wall; one bends well"));
}

TissueParams read_tissue(Table& t, std::vector<std::string>& names) {
  TissueParams p;
  p.name = read_name(t, "tissue" + std::to_string(names.size() + 1), names);
  constexpr int kVessel = 0, kMesh = 1;
  const bool mesh = t.has("mesh_file");
  const int shape = mesh ? t.get_choice("shape", kMesh, {{"vessel", kVessel}, {"mesh", kMesh}})
                         : t.need_choice("shape", kVessel, {{"vessel", kVessel}, {"mesh", kMesh}});
  if (shape == kVessel && mesh)
    t.reject_as("mesh_file", "given for a vessel", "left out there", "a mesh is shape = \"mesh\"");
  p.X_WV.p = t.get_vec3("p_WV_mm", p.X_WV.p, between(-1e6, 1e6));
  p.X_WV.q = t.get_quat("q_WV", p.X_WV.q);
  if (shape == kMesh)
    read_mesh(t, p);
  else
    read_vessel(t, p);
  p.velocity = t.get_vec3("velocity_mm_per_s", p.velocity, kCarried);
  p.young_pa =
      kPaPerKpa * t.get_number("young_kpa", p.young_pa / kPaPerKpa, between(1e-3, 1e7), "an artery has 300 to 2000");
  p.poisson = t.get_number("poisson", p.poisson, between(0, 0.495));
  constexpr double kDensity = units::g_per_mm3_per_kg_per_m3;
  p.density_g_per_mm3 = kDensity * t.get_number("density_kg_per_m3", p.density_g_per_mm3 / kDensity, between(1, 1e5));
  p.relaxation_s = kSecondsPerMs * t.get_number("relaxation_ms", p.relaxation_s / kSecondsPerMs, between(0, 1e6));
  p.drag_per_s = t.get_number("drag_per_s", p.drag_per_s, between(0, 1e9));
  p.pierce_force =
      units::un_per_mn * t.get_number("pierce_force_mn", p.pierce_force / units::un_per_mn, between(1e-3, 1e6));
  p.pierce_angle_rad =
      units::rad_per_deg * t.get_number("pierce_angle_deg", p.pierce_angle_rad / units::rad_per_deg, between(1, 89));
  const bool held = shape == kMesh ? !p.fixed.empty() : p.fix_first || p.fix_last;
  if (t.clean() && !held && norm(p.velocity) > 0)
    t.reject("velocity_mm_per_s", "left out where nothing is held", "it is that of what the anatomy holds");
  if (!t.clean() || shape == kMesh) return p;
  if (p.wall_mm > 0.499 * p.outer_diameter_mm)
    t.reject("wall_mm", "at most 0.499 of outer_diameter_mm", "a vessel is hollow");
  else if (static_cast<std::int64_t>(p.around) * p.along * p.layers > kMostElements)
    t.reject("along", "such that around * along * layers is at most " + std::to_string(kMostElements),
             "take larger elements");
  return p;
}

}  // namespace

std::vector<TissueParams> read_tissues(Table& root) {
  std::vector<TissueParams> all;
  std::vector<std::string> names;
  for (Table& t : root.get_tables("tissue", 0, world::kMaxTissues)) all.push_back(read_tissue(t, names));
  return all;
}

namespace {

/// Of a vessel how thick it is, of a mesh as far as its box tells.
double width(const TissueParams& p) {
  if (p.vertices.empty()) return p.outer_diameter_mm;
  const Vec3 size = extent(p.vertices);
  return std::min({size.x, size.y, size.z});
}

}  // namespace

std::vector<SutureParams> read_sutures(Table& root, const world::WorldParams& world) {
  constexpr Range kPlace = between(-1e6, 1e6);
  std::vector<std::string> threads, tissues;
  for (const world::ThreadParams& t : world.threads) threads.push_back(t.name);
  for (const TissueParams& t : world.tissues) tissues.push_back(t.name);
  std::vector<SutureParams> all;
  for (Table& t : root.get_tables("suture", 0, world::kMaxSutures)) {
    SutureParams p;
    p.thread = t.need_one_of("thread", threads, "name the thread that runs through the wall").value_or(0);
    p.tissue = t.need_one_of("tissue", tissues, "name the tissue whose wall it is").value_or(0);
    p.entry = t.need_vec3("entry_mm", kPlace, "where the thread goes into the wall");
    p.exit = t.need_vec3("exit_mm", kPlace, "where it comes out");
    p.hole_diameter_mm =
        t.get_number("hole_diameter_mm", p.hole_diameter_mm, between(1e-3, 10), "what the needle left");
    if (t.clean() && p.hole_diameter_mm < world.threads[p.thread].diameter_mm)
      t.reject("hole_diameter_mm", "at least the thread's diameter", "the needle is thicker than its thread");
    else if (t.clean() && p.hole_diameter_mm > 0.5 * width(world.tissues[p.tissue]))
      t.reject("hole_diameter_mm", "at most half as wide as its tissue", "what a needle left is narrow");
    else if (t.clean() && norm(p.entry - p.exit) < 1e-9)
      t.reject("exit_mm", "elsewhere than entry_mm", "a suture has two holes");
    const auto overlaps = [&](const SutureParams& other) {
      const double least = 0.5 * (p.hole_diameter_mm + other.hole_diameter_mm);
      const auto meet = [least](Vec3 a, Vec3 b) { return norm(a - b) < least; };
      return other.tissue == p.tissue && (meet(p.entry, other.entry) || meet(p.exit, other.exit) ||
                                          meet(p.entry, other.exit) || meet(p.exit, other.entry));
    };
    if (t.clean() && std::any_of(all.begin(), all.end(), overlaps))
      t.reject("entry_mm", "such that its holes are beside those of other sutures", "move it, or leave it out");
    all.push_back(p);
  }
  return all;
}

}  // namespace ligature::config
