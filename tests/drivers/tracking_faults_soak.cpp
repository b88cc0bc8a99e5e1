/// Many seeds of faults together, in variants: how often a ball is taken for a marker. Soak only.
///   LIGATURE_FAULT_SEEDS=FROM-TO (default 1001-1160)   LIGATURE_FAULT_VARIANT=NAME (default all)
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/drivers/faults.hpp"
#include "tests/drivers/scene.hpp"

namespace ligature::drivers {
namespace {

struct Variant {
  const char* name;
  testing::Faults faults;
};

const testing::Faults kAll{.missing_images = 0.05, .dead = 1, .hidden = 0.2, .hidden_s = 0.1, .false_blobs = true};

testing::Faults flickering() {
  testing::Faults f = kAll;
  f.hidden_s = 0.15, f.flicker = true;
  return f;
}
testing::Faults without_triggers() {
  testing::Faults f = kAll;
  f.missing_triggers = 0.05;
  return f;
}
testing::Faults swaying() {
  testing::Faults f = kAll;
  f.sway_mm = 10;
  return f;
}

const Variant kVariants[] = {
    {"all", kAll}, {"flicker", flickering()}, {"triggers", without_triggers()}, {"sway", swaying()}};

TEST(TrackingFaultsSoak, NoBallIsTakenForAMarker) {
  unsigned from = 1001, to = 1160;
  if (const char* seeds = std::getenv("LIGATURE_FAULT_SEEDS")) std::sscanf(seeds, "%u-%u", &from, &to);
  const char* only = std::getenv("LIGATURE_FAULT_VARIANT");
  const Rig rig = testing::distorted_rig();
  const auto path = testing::demo_path(rig);
  for (const Variant& v : kVariants) {
    if (only && std::string(only) != v.name) continue;
    int rows = 0, tracked = 0, frames = 0, wrong = 0, wrong_seeds = 0, jumps = 0, surprised = 0, covered = 0;
    double jump = 0, shown = 0;
    for (unsigned seed = from; seed <= to; ++seed) {
      const testing::Tally t = testing::follow(
          rig, [&](double s) { return path->evaluate(s); }, path->duration_s(), v.faults, seed);
      frames += t.frames, tracked += t.tracked, rows += t.tracked + t.predicted, wrong += t.wrong;
      surprised += t.surprised, covered += t.covered, wrong_seeds += t.wrong > 0, jumps += t.worst_jump > 0.5;
      jump = std::max(jump, t.worst_jump), shown = std::max(shown, t.worst_shown_jump);
      if (t.wrong > 0 || t.worst_jump > 0.5 || t.worst_shown_jump > 0.5)
        std::printf("  %s seed %u: %d wrong, jump %.3f (%s), shown %.3f\n", v.name, seed, t.wrong, t.worst_jump,
                    t.where.c_str(), t.worst_shown_jump);
    }
    std::printf(
        "%s: %d rows (%.1f %% tracked), %d wrong in %d seeds; jump %.2f, above 0.5 in %d; shown %.2f; %d beyond "
        "6 sigma, covered %.3f\n",
        v.name, rows, 100.0 * tracked / frames, wrong, wrong_seeds, jump, jumps, shown, surprised,
        static_cast<double>(covered) / rows);
    EXPECT_EQ(wrong, 0) << v.name;
    EXPECT_EQ(jumps, 0) << v.name;
    EXPECT_LT(shown, 0.5) << v.name;
  }
}

}  // namespace
}  // namespace ligature::drivers
