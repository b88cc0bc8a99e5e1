// Prints the state hash of a few scenes. Built twice, optimised and not: what both print must be the same.
#include <cstdio>

#include "sim/tissue/tissue.hpp"
#include "tests/sim/scene.hpp"
#include "tests/sim/thread_zigzag.hpp"

int main() {
  using namespace ligature::world;
  const auto print = [](const char* name, const WorldParams& p, int steps) {
    auto world = World::create(p, {});
    if (!world) return std::printf("%s: %s\n", name, world.error().message.c_str()), void();
    for (int k = 0; k < steps; ++k) world->step({});
    std::printf("%s %016llx\n", name, static_cast<unsigned long long>(world->state_hash()));
  };
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Zigzag z = random_zigzag(seed);
    print(z.text.c_str(), z.params, 15);
  }
  print("over the bench", thread_over_bench(0.11), 6);
  WorldParams held = one_thread({{0, 0, 0}, {4, 0, 0}, {7, 2, 1}}, 30, 2e-3);
  held.gravity = {0, 0, -9810};
  held.threads[0].clamps = {hold(Place::Kind::first, ClampParams::Hold::frame),
                            hold(Place::Kind::last, ClampParams::Hold::frame)};
  held.threads[0].clamps[0].spin_rad_per_s = 5;
  held.threads[0].clamps[1].turn_rad_per_s = {0, 1, 2};
  print("held frames", held, 20);
  WorldParams adaptive = held;
  adaptive.threads[0].coarsest_mm = 8.01 * adaptive.threads[0].segment_mm;
  print("adaptive", adaptive, 20);
  adaptive.threads[0] = one_thread({{2, 0, 0}, {0, 2, 0}, {-2, 0, 0}, {0, -2, 0}}, 128, 2e-3).threads[0];
  adaptive.threads[0].closed = true;
  adaptive.threads[0].twist_turns = 1;
  adaptive.threads[0].coarsest_mm = 8.01 * adaptive.threads[0].segment_mm;
  adaptive.threads[0].clamps = {hold(Place::Kind::first, ClampParams::Hold::position)};
  print("adaptive ring", adaptive, 20);
  WorldParams needle = one_thread({{-6, 0, 2}, {0, 0, 2}}, 24, 2e-3);
  needle.gravity = {0, 0, -9810};
  needle.obstacles.push_back({});
  needle.threads[0].needle = NeedleParams{.name = "needle",
                                          .at_last = true,
                                          .arc_mm = 4,
                                          .arc_rad = 2,
                                          .wire_mm = 0.1,
                                          .direction = {},
                                          .toward = {0, 1, 1},
                                          .material = round_thread(200e9, 0.28, 7.85e-3, 0.1, 0)};
  print("needle", needle, 40);
  {
    auto world = World::create(thread_over_bench(), {});
    for (int k = 0; k < 40; ++k) world->step(demo_hands(0.06 * k));
    std::printf("forceps %016llx\n", static_cast<unsigned long long>(world->state_hash()));
  }
  {
    namespace tissue = ligature::tissue;
    tissue::Vessel shape;
    shape.around = 12, shape.along = 8;
    auto vessel = tissue::Tissue::create(*tissue::vessel_model(shape));
    for (int k = 0; k < 30; ++k) {
      vessel->clear_loads();
      vessel->load(static_cast<std::uint32_t>(vessel->nodes() - 1 - static_cast<std::size_t>(k)),
                   {100, 300, -50.0 * k});
      vessel->step_alone(0.005);
    }
    ligature::StateHash hash;
    vessel->add_to(hash);
    std::printf("tissue %016llx\n", static_cast<unsigned long long>(hash.value()));
  }
}
