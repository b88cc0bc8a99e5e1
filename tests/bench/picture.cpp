#include "tests/bench/picture.hpp"

#include <cstdio>
#include <fstream>
#include <utility>

namespace ligature::bench {

bool is_picture(const std::string& plot) {
  if (plot.empty() || plot.ends_with(".svg") || plot.ends_with(".png")) return true;
  std::fprintf(stderr, "--plot %s: must end in .svg or .png\n", plot.c_str());
  return false;
}

bool write_picture(const simulate::Drawing& drawing, const std::string& plot, const std::string& title,
                   const std::string& description) {
  std::string picture;
  if (plot.ends_with(".svg")) {
    picture = drawing.svg(title, description);
  } else {
    auto png = drawing.png();
    if (!png) {
      std::fprintf(stderr, "%s\n", png.error().message.c_str());
      return false;
    }
    picture = std::move(*png);
  }
  std::ofstream out(plot, std::ios::binary);
  out << picture;
  if (out.flush()) return true;
  std::fprintf(stderr, "--plot %s: cannot be written\n", plot.c_str());
  return false;
}

}  // namespace ligature::bench
