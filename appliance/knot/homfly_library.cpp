#include "appliance/knot/homfly_library.hpp"

extern "C" {  // the header does not say so itself
#include <homfly.h>
}

#include <algorithm>
#include <string>
#include <vector>

namespace ligature::knot {
namespace {

class LibHomfly final : public HomflySource {
 public:
  Result<Polynomial> homfly(const Diagram& diagram) override {
    const std::size_t crossings = diagram.sign.size();
    if (diagram.components.empty()) return failure("a link of no components has no polynomial");
    if (crossings > kMostCrossings)
      return failure("a polynomial of " + std::to_string(crossings) + " crossings is not computed, only up to " +
                     std::to_string(kMostCrossings));
    // The library reads freed memory for components without crossings: they are split circles, a factor each.
    std::string text;
    std::size_t strings = 0, circles = 0;
    for (const auto& component : diagram.components) {
      if (component.empty()) {
        ++circles;
        continue;
      }
      ++strings;
      text += ' ' + std::to_string(component.size());
      for (const Pass& pass : component) text += ' ' + std::to_string(pass.crossing) + (pass.over ? " 1" : " -1");
    }
    std::optional<Polynomial> out = Polynomial::one();
    if (strings > 0) {
      text.insert(0, std::to_string(strings));
      for (std::size_t c = 0; c < crossings; ++c)
        text += ' ' + std::to_string(c) + (diagram.sign[c] > 0 ? " 1" : " -1");
      text += ' ';
      const Poly* poly = ::homfly(text.data());
      if (poly == nullptr || poly->len <= 0) return failure("the polynomial could not be computed");
      std::vector<Term> terms;
      for (const ::Term* t = poly->term; t != poly->term + poly->len; ++t) terms.push_back({t->m, t->l, t->coef});
      out = Polynomial::of(std::move(terms));
    } else {
      --circles;
    }
    // A split circle: times -(l + 1/l) / m.
    const Polynomial split = *Polynomial::of({{-1, 1, -1}, {-1, -1, -1}});
    for (; circles > 0 && out; --circles) out = product(*out, split);
    if (!out) return failure("the polynomial's numbers do not fit");
    return *out;
  }
};

}  // namespace

std::unique_ptr<HomflySource> homfly_library() {
  return std::make_unique<LibHomfly>();
}

}  // namespace ligature::knot
