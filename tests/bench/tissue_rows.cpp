/// Tissue alone: one step while a thread's pull comes and goes, and one linearisation as contact asks for, over the
/// number of elements.
#include <cstdio>

#include "sim/tissue/tissue.hpp"
#include "tests/bench/table.hpp"

namespace ligature::bench {

void measure_tissue(Table& table) {
  for (const auto& [around, along] : {std::pair{12, 10}, {16, 16}, {20, 20}, {28, 28}, {40, 40}}) {
    tissue::Vessel v;
    v.around = around, v.along = along;
    auto model = tissue::vessel_model(v);
    if (!model) return;
    auto made = tissue::Tissue::create(std::move(*model));
    if (!made) return;
    tissue::Tissue& t = *made;
    const std::uint32_t pulled = tissue::vessel_node(v, along, 0, 1);
    const std::string size = std::to_string(t.elements()) + " hexahedra";
    int step = 0;
    table.measure(size + ", one step, 0.3 mN on and off", 600, [&] {
      if (step % 40 == 0) t.clear_loads();
      if (step % 40 == 10) t.load(pulled, {0, 300, 0});
      t.step_alone(0.005);
      ++step;
    });
    t.begin(0.005);
    table.measure(size + ", linearise, solve, push, solve", 300, [&] {
      t.linearise();
      t.push(pulled, {0, 200, 0});
      t.solve();
      t.push(pulled, {0, 50.0 * (step++ % 3), 0});
      t.solve();
      t.advance(t.reach());
    });
    t.finish();
    StateHash hash;
    t.add_to(hash);
    char text[80];
    std::snprintf(text, sizeof text, "state %016llx, %d inside out", static_cast<unsigned long long>(hash.value()),
                  t.report().inverted);
    table.remark(text);
  }
}

}  // namespace ligature::bench
