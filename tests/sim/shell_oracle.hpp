#pragma once
/// A slow oracle for vessels: a thin cylindrical shell under point loads, linear.
///
/// Sanders' shell [Sanders 1959; as in Leissa, Vibration of Shells, NASA SP-288, 1973]: membrane strains and changes of
/// curvature of the middle surface, Kirchhoff's normals, Hooke's law. Displacements are a Fourier series round the axis
/// (u, w as cos n t, v as sin n t) and piecewise cubic along it; every n is a problem of its own. A point load is the
/// same load in every n. Nothing of it is shared with sim/tissue: no hexahedra, no layers, no time.
///
/// Assumes: wall thin against the radius (shear through it left out: of a pinched ring about h^2 / R^2 (1 + nu) / 2),
/// displacements small against the wall. What a point load presses into the wall itself is not in it.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace ligature::oracle {

struct Shell {
  double young = 1e6, poisson = 0.3;            ///< [Pa]
  double radius = 0.45, wall = 0.1;             ///< of the middle surface [mm]
  double length = 4;                            ///< [mm]
  enum class End { open, clamped, diaphragm };  ///< diaphragm: neither round nor outwards
  End first = End::clamped, last = End::open;
  int elements = 60;   ///< along
  int harmonics = 40;  ///< round
};

/// Where loads act and displacements are asked for: x along, at t = 0.
struct ShellLoad {
  double x = 0;                    ///< [mm]
  double outwards = 0, along = 0;  ///< [uN]
  double tilting = 0;              ///< turns the normal towards +x [uN mm]
  bool opposite = false;           ///< the same load outwards stands across the axis, too
};

/// Displacement outwards at the load's place [mm].
inline double lift(const Shell& s, const ShellLoad& load) {
  using Matrix = Eigen::MatrixXd;
  const double nu = s.poisson, r = s.radius;
  const double membrane = s.young * s.wall / (1 - nu * nu), bending = membrane * s.wall * s.wall / 12;
  Eigen::Matrix<double, 6, 6> law = Eigen::Matrix<double, 6, 6>::Zero();
  law.block<2, 2>(0, 0) << membrane, nu * membrane, nu * membrane, membrane;
  law(2, 2) = membrane * (1 - nu) / 2;
  law.block<2, 2>(3, 3) << bending, nu * bending, nu * bending, bending;
  law(5, 5) = bending * (1 - nu) / 2;
  // A node at the load.
  const int before = std::max(1, static_cast<int>(std::lround(s.elements * load.x / s.length)));
  std::vector<double> x;
  for (int i = 0; i < before; ++i) x.push_back(load.x * i / before);
  const int after = s.length > load.x ? std::max(1, s.elements - before) : 0;
  for (int i = 0; i <= after; ++i) x.push_back(after == 0 ? load.x : load.x + (s.length - load.x) * i / after);
  const auto nodes = static_cast<Eigen::Index>(x.size());
  constexpr std::array<double, 4> kPlace{-0.8611363115940526, -0.3399810435848563, 0.3399810435848563,
                                         0.8611363115940526};
  constexpr std::array<double, 4> kWeight{0.3478548451374538, 0.6521451548625461, 0.6521451548625461,
                                          0.3478548451374538};
  double sum = 0;
  for (int n = 0; n <= s.harmonics; ++n) {
    if (load.opposite && n % 2 != 0) continue;
    Matrix k = Matrix::Zero(6 * nodes, 6 * nodes);  // a node has u, u', v, v', w, w'
    for (Eigen::Index e = 0; e + 1 < nodes; ++e) {
      const double l = x[static_cast<std::size_t>(e) + 1] - x[static_cast<std::size_t>(e)];
      for (std::size_t g = 0; g < 4; ++g) {
        const double t = 0.5 * (kPlace[g] + 1), t2 = t * t, t3 = t2 * t;
        const Eigen::RowVector4d h(1 - 3 * t2 + 2 * t3, l * (t - 2 * t2 + t3), 3 * t2 - 2 * t3, l * (t3 - t2));
        const Eigen::RowVector4d h1 =
            Eigen::RowVector4d(6 * t2 - 6 * t, l * (1 - 4 * t + 3 * t2), 6 * t - 6 * t2, l * (3 * t2 - 2 * t)) / l;
        const Eigen::RowVector4d h2 =
            Eigen::RowVector4d(12 * t - 6, l * (6 * t - 4), 6 - 12 * t, l * (6 * t - 2)) / (l * l);
        Eigen::Matrix<double, 6, 12> b = Eigen::Matrix<double, 6, 12>::Zero();
        const auto u = [&](int row) { return b.block<1, 4>(row, 0); };
        const auto v = [&](int row) { return b.block<1, 4>(row, 4); };
        const auto w = [&](int row) { return b.block<1, 4>(row, 8); };
        u(0) = h1;
        v(1) = n * h / r, w(1) = h / r;
        v(2) = h1, u(2) = -n * h / r;
        w(3) = -h2;
        w(4) = n * n * h / (r * r), v(4) = n * h / (r * r);
        w(5) = 2 * n * h1 / r, v(5) = 1.5 * h1 / r, u(5) = n * h / (2 * r * r);
        Eigen::Matrix<double, 6, 6> d = law;
        if (n == 0) d(2, 2) = d(5, 5) = 0;  // sin 0
        const double round = (n == 0 ? 2 : 1) * std::numbers::pi * r;
        const Eigen::Matrix<double, 12, 12> own = b.transpose() * d * b * (round * kWeight[g] * l / 2);
        const auto at = [&](int i) { return 6 * e + 2 * (i / 4) + (i % 4 < 2 ? i % 2 : 6 + i % 2); };
        for (int i = 0; i < 12; ++i)
          for (int j = 0; j < 12; ++j) k(at(i), at(j)) += own(i, j);
      }
    }
    const Eigen::Index here = 6 * before;
    Eigen::VectorXd f = Eigen::VectorXd::Zero(6 * nodes);
    f[here + 4] = load.outwards * (load.opposite ? 2 : 1);
    f[here] = load.along;
    f[here + 5] = -load.tilting;
    const auto hold = [&](Eigen::Index i) {
      k.row(i).setZero();
      k.col(i).setZero();
      k(i, i) = 1;
      f[i] = 0;
    };
    const auto end = [&](Shell::End how, Eigen::Index node) {
      if (how == Shell::End::open) return;
      hold(6 * node + 2);
      hold(6 * node + 4);
      if (how == Shell::End::diaphragm) return;
      hold(6 * node);
      hold(6 * node + 5);
    };
    end(s.first, 0);
    end(s.last, nodes - 1);
    if (n == 0)
      for (Eigen::Index i = 0; i < nodes; ++i) hold(6 * i + 2), hold(6 * i + 3);
    const bool slides = s.first != Shell::End::clamped && s.last != Shell::End::clamped;
    if (n == 0 && slides) hold(0);
    sum += k.ldlt().solve(f)[here + 4];
  }
  return sum;
}

}  // namespace ligature::oracle
