#pragma once
/// Tissue out of equal bricks: a block, or what is left of one.
#include <functional>

#include "sim/tissue/model.hpp"

namespace ligature::tissue {

struct Bricks {
  Vector3d low{0, 0, 0}, size{1, 1, 1};  ///< of the whole block  W [mm]
  std::array<int, 3> count{1, 1, 1};
  std::function<bool(int, int, int)> filled = [](int, int, int) { return true; };
  std::function<bool(int, int, int)> fixed = [](int, int, int) {
    return false;
  };  ///< of a node, by its place in the grid
};

/// Nodes of the surface first. Material is that of TissueModel.
inline TissueModel bricks(const Bricks& b) {
  TissueModel m;
  const auto [nx, ny, nz] = b.count;
  const auto filled = [&](int i, int j, int k) {
    return i >= 0 && j >= 0 && k >= 0 && i < b.count[0] && j < b.count[1] && k < b.count[2] && b.filled(i, j, k);
  };
  std::vector<std::uint32_t> number(static_cast<std::size_t>((nx + 1) * (ny + 1) * (nz + 1)));
  const auto node = [&, ny = ny, nz = nz](int i, int j, int k) -> std::uint32_t& {
    return number[static_cast<std::size_t>((i * (ny + 1) + j) * (nz + 1) + k)];
  };
  for (const bool inner : {false, true})
    for (int i = 0; i <= nx; ++i)
      for (int j = 0; j <= ny; ++j)
        for (int k = 0; k <= nz; ++k) {
          int about = 0;
          for (int c = 0; c < 8; ++c) about += filled(i - (c & 1), j - (c >> 1 & 1), k - (c >> 2)) ? 1 : 0;
          if (about == 0 || (about == 8) != inner) continue;
          node(i, j, k) = static_cast<std::uint32_t>(m.nodes.size());
          if (b.fixed(i, j, k)) m.fixed.push_back(node(i, j, k));
          m.nodes.push_back(b.low + Vector3d(b.size.x() * i / nx, b.size.y() * j / ny, b.size.z() * k / nz));
        }
  const auto quad = [&](std::uint32_t p, std::uint32_t q, std::uint32_t r, std::uint32_t s) {
    m.surface.push_back({{p, q, r}, SurfacePart::outer});
    m.surface.push_back({{p, r, s}, SurfacePart::outer});
  };
  for (int i = 0; i < nx; ++i)
    for (int j = 0; j < ny; ++j)
      for (int k = 0; k < nz; ++k) {
        if (!filled(i, j, k)) continue;
        const Hexahedron c{node(i, j, k),     node(i + 1, j, k),     node(i + 1, j + 1, k),     node(i, j + 1, k),
                           node(i, j, k + 1), node(i + 1, j, k + 1), node(i + 1, j + 1, k + 1), node(i, j + 1, k + 1)};
        m.elements.push_back(c);
        if (!filled(i, j, k - 1)) quad(c[0], c[3], c[2], c[1]);
        if (!filled(i, j, k + 1)) quad(c[4], c[5], c[6], c[7]);
        if (!filled(i, j - 1, k)) quad(c[0], c[1], c[5], c[4]);
        if (!filled(i, j + 1, k)) quad(c[3], c[7], c[6], c[2]);
        if (!filled(i - 1, j, k)) quad(c[0], c[4], c[7], c[3]);
        if (!filled(i + 1, j, k)) quad(c[1], c[2], c[6], c[5]);
      }
  return m;
}

}  // namespace ligature::tissue
