#include "sim/rod/straight.hpp"

#include <algorithm>

#include "sim/rod/lanes.hpp"

// Loops over components: written out whole, their values stay in registers.
#define UNROLL _Pragma("GCC unroll 9")

namespace ligature::rod {
namespace {

using namespace lanes;
using Index = std::ptrdiff_t;

// As in energy.cpp.
constexpr double kNoLength = 1e-30;
constexpr double kFolded = 1e-8;

constexpr Index kStep = kLanes;

/// Symmetric 3x3 of each lane, lower triangle column by column.
struct Symmetric {
  Wide v[6];
  static constexpr int at(int r, int c) { return r >= c ? c * 3 - c * (c + 1) / 2 + r : at(c, r); }
  Wide& operator()(int r, int c) { return v[at(r, c)]; }
  const Wide& operator()(int r, int c) const { return v[at(r, c)]; }
};
struct Square {
  Wide v[9];
  Wide& operator()(int r, int c) { return v[3 * c + r]; }
  const Wide& operator()(int r, int c) const { return v[3 * c + r]; }
};

/// Reads what stands along the rod, lane l for index base + l; round a closed one, and of an open one nothing beyond
/// its ends.
struct Along {
  const RodModel& model;
  const std::vector<Vector3d>& x;
  const Twist& twist;
  Index n;
  bool closed, framed;

  Along(const RodModel& m, const std::vector<Vector3d>& vertices, const Twist& t)
      : model(m),
        x(vertices),
        twist(t),
        n(static_cast<Index>(m.vertices())),
        closed(m.closed),
        framed(needs_frames(m, t)) {}

  bool inside(Index base) const { return base > 0 && base + kStep < n; }  // edges and joints are all there
  std::size_t round(Index i) const {
    if (!closed) return static_cast<std::size_t>(std::clamp<Index>(i, 0, n - 1));
    while (i < 0) i += n;
    return static_cast<std::size_t>(i < n ? i : i % n);
  }
  bool has_edge(Index i) const { return closed || (i >= 0 && i + 1 < n); }
  bool has_joint(Index i) const { return closed || (i > 0 && i + 1 < n); }

  /// Vertices base + 1 ...: the far ends of these edges.
  Wide3 far_ends(Index base) const {
    Wide3 p{};
    if (inside(base)) {
      const double* from = x[static_cast<std::size_t>(base + 1)].data();
      UNROLL for (int c = 0; c < 3; ++c) {
#ifdef __AVX__
        p[c] = Wide{from[c], from[3 + c], from[6 + c], from[9 + c]};
#else
        p[c] = Wide{from[c], from[3 + c]};
#endif
      }
    } else {
      for (Index l = 0; l < kStep; ++l)
        for (int c = 0; c < 3; ++c) p[c][l] = x[round(base + 1 + l)][c];
    }
    return p;
  }
  Wide of_edges(const double* values, Index base) const {
    if (inside(base)) return load(values + base);
    Wide w{};
    for (Index l = 0; l < kStep; ++l)
      if (has_edge(base + l)) w[l] = values[round(base + l)];
    return w;
  }
  Wide stiffness_of_edges(Index base) const {
    if (inside(base)) return spread(model.stretch_stiffness);
    Wide w{};
    for (Index l = 0; l < kStep; ++l)
      if (has_edge(base + l)) w[l] = model.stretch_stiffness;
    return w;
  }
  /// 2 EI/l, or zero.
  Wide stiffness_of_joints(Index base) const {
    Wide k = spread(2.0 * model.bend_stiffness / model.rest_length);
    if (model.graded()) {
      const Wide lengths = lengths_of_edges(base), before = lengths_of_edges(base - 1);
      k = (4.0 * model.bend_stiffness) / (before + lengths);
    }
    if (inside(base) && !framed) return k;
    Wide w{};
    for (Index l = 0; l < kStep; ++l)
      if (has_joint(base + l) && !(framed && twist.frame_held(round(base + l)))) w[l] = k[l];
    return w;
  }
  /// Rest lengths in units of rest_length; where there is no edge, of another.
  Wide units_of_edges(Index base) const {
    if (!model.graded()) return spread(1.0);
    const double* node = model.node.data();
    if (base >= 0 && base + kStep < n) return load(node + base + 1) - load(node + base);
    Wide w{};
    for (Index l = 0; l < kStep; ++l) {
      const std::size_t i = closed ? round(base + l) : static_cast<std::size_t>(std::clamp<Index>(base + l, 0, n - 2));
      w[l] = node[i + 1] - node[i];
    }
    return w;
  }
  Wide lengths_of_edges(Index base) const {
    return model.rest_length * units_of_edges(base);
  }
  /// Moments of the spans that joints lie in, or zero.
  Wide moments_of_joints(Index base) const {
    Wide w{};
    for (Index l = 0; l < kStep; ++l) {
      if (!has_joint(base + l) || twist.frame_held(round(base + l))) continue;
      const std::size_t s = twist.span_of(2 * round(base + l));
      if (s >= twist.span_count()) continue;
      const TwistSpan& span = twist.span(s);
      if (span.length > 0) w[l] = model.twist_stiffness * span.angle / span.length;
    }
    return w;
  }
  /// What is shifted in at index 0 is of index -1: of a closed rod that exists.
  Index first() const {
    return closed ? -kStep : 0;
  }
};

/// Edges side by side.
struct Edges {
  Wide3 t{};
  Wide length{}, inverse{};

  void set(const Wide3& e) {
    length = root(dot(e, e));
    inverse = length > kNoLength ? 1.0 / length : Wide{};
    t = inverse * e;
  }
};
inline Edges shifted(const Edges& before, const Edges& now) {
  Edges out;
  out.t = lanes::shifted(before.t, now.t);
  out.inverse = lanes::shifted(before.inverse, now.inverse);
  return out;
}

/// Joints side by side, from edge e to edge f.
struct Turns {
  Wide3 sine;
  Wide c, inverse;

  Turns(const Wide3& te, const Wide3& tf)
      : sine(cross(te, tf)), c(dot(te, tf)), inverse(1.0 / larger(1.0 + c, spread(kFolded))) {}
  Wide tan2() const { return (c > 0.0 ? dot(sine, sine) * inverse : 1.0 - c) * inverse; }
};

// With h_j the term of edge j, ee, ef, ff those of joint j (from edge j - 1 to j): by the edges, the Hessian is block
// tridiagonal, S_j = h_j + ff_j + ee_(j+1) on the diagonal, C_j = ef_j in row j - 1, column j; the gradient is g_j. By
// the vertices, edge j = x_(j+1) - x_j,
//   D_v = S_(v-1) + S_v - C_v - C_v^T,   E_v = C_v^T + C_(v+1)^T - S_v,   F_v = -C_(v+1)^T,   G_v = g_(v-1) - g_v.
// A round of the loop has edges and joints base ... in its lanes, and vertices base - 1 ...
template <Hessian kKind, bool kTwisted>
double pass(const Along& along, double scale, const double* tension, double* gradient, BlockBand<3>* band) {
  constexpr bool kDerivative = kKind != Hessian::none;
  Wide largest{};
  Wide3 ends = along.far_ends(along.first() - kStep), force{}, by_edge{};
  Edges before{};
  Symmetric own{}, diagonal{};
  Square across{};
  for (Index base = along.first(); base <= along.n; base += kStep) {
    const Wide3 next = along.far_ends(base);
    Edges f;
    f.set(next - lanes::shifted(ends, next));
    ends = next;
    const Edges e = shifted(before, f);
    before = f;
    const Wide3 &te = e.t, &tf = f.t;

    const Wide l = along.lengths_of_edges(base);
    const Wide stretch = along.stiffness_of_edges(base), pull = stretch * (f.length / l - 1.0);
    const Turns turn(te, tf);
    const Wide k = along.stiffness_of_joints(base), first = -2.0 * k * turn.inverse * turn.inverse;
    const Wide3 a = cross(turn.sine, te), b = cross(tf, turn.sine);
    Wide3 ge = (first * e.inverse) * a, gf = (first * f.inverse) * b;
    Wide moment{};
    Wide3 half{};
    if constexpr (kTwisted) {
      moment = along.moments_of_joints(base);
      half = turn.inverse * turn.sine;
      ge = ge + (moment * e.inverse) * half;
      gf = gf + (moment * f.inverse) * half;
    }
    largest = larger(larger(largest, pull * pull), dot(ge, ge));

    const Wide3 force_now = scale * (pull * tf + gf);
    const Wide3 by_edge_now = lanes::shifted(force, force_now) + scale * ge;
    const Wide3 at_vertex = lanes::shifted(by_edge, by_edge_now) - by_edge_now;
    force = force_now;
    by_edge = by_edge_now;
    double out[3][kLanes];
    UNROLL for (int r = 0; r < 3; ++r) store(out[r], at_vertex[r]);
    for (Index lane = 0; lane < kStep; ++lane) {
      const Index v = base - 1 + lane;
      if (v < 0 || v >= along.n) continue;
      double* g = gradient + 3 * v;
      UNROLL for (int r = 0; r < 3; ++r) g[r] += out[r][lane];
    }
    if constexpr (!kDerivative) continue;

    Symmetric own_now, ee;
    Square C;
    {  // stretch
      Wide string = tension && kKind == Hessian::exact ? along.of_edges(tension, base) : pull;
      string = scale * (string * f.inverse);
      if (kKind == Hessian::positive) string = larger(Wide{}, string);
      const Wide3 along_t = ((scale / l) * stretch - string) * tf;
      UNROLL for (int c = 0; c < 3; ++c) UNROLL for (int r = c; r < 3; ++r) own_now(r, c) = along_t[r] * tf[c];
      UNROLL for (int c = 0; c < 3; ++c) own_now(c, c) += string;
    }
    const Wide ie2 = e.inverse * e.inverse, ief = e.inverse * f.inverse, if2 = f.inverse * f.inverse;
    if constexpr (kKind == Hessian::exact) {
      const Wide first_s = scale * first, second = -2.0 * first_s * turn.inverse, round = -first_s * turn.c;
      const Wide3 b_1 = second * b - first_s * tf;
      const Wide3 a_e = ie2 * (second * a - first_s * te), t_e = (ie2 * first_s) * (turn.c * te - a);
      const Wide3 b_f = if2 * b_1, t_f = (if2 * first_s) * (turn.c * tf - b);
      const Wide3 a_f = ief * b_1, t_ef = (ief * first_s) * te;
      UNROLL for (int c = 0; c < 3; ++c) {
        UNROLL for (int r = c; r < 3; ++r) {
          ee(r, c) = a[r] * a_e[c] + te[r] * t_e[c];
          own_now(r, c) += b[r] * b_f[c] + tf[r] * t_f[c];
        }
        UNROLL for (int r = 0; r < 3; ++r) C(r, c) = a[r] * a_f[c] - te[r] * t_ef[c];
      }
      UNROLL for (int c = 0; c < 3; ++c) {
        ee(c, c) += ie2 * round;
        own_now(c, c) += if2 * round;
        C(c, c) += ief * first_s;
      }
      if constexpr (kTwisted) {
        const Wide3 s = turn.inverse * (te + tf), twisted = (scale * moment) * half;
        const Wide3 s_e = (-0.5 * ie2) * (te + s), s_f = (-0.5 * if2) * (tf + s), s_ef = -ief * s;
        UNROLL for (int c = 0; c < 3; ++c) {
          UNROLL for (int r = c; r < 3; ++r) {
            ee(r, c) += twisted[r] * s_e[c] + s_e[r] * twisted[c];
            own_now(r, c) += twisted[r] * s_f[c] + s_f[r] * twisted[c];
          }
          UNROLL for (int r = 0; r < 3; ++r) C(r, c) += twisted[r] * s_ef[c];
        }
        const Wide3 x = (scale * moment * ief * turn.inverse) * te;
        C(0, 1) -= x[2], C(1, 0) += x[2];
        C(0, 2) += x[1], C(2, 0) -= x[1];
        C(1, 2) -= x[0], C(2, 1) += x[0];
      }
    } else {
      const Wide ss = (0.5 * scale) * k * turn.inverse * turn.inverse;
      const Wide s_ee = ss * ie2, s_ff = ss * if2, s_ef = ss * ief;
      const Wide3 kb = (2.0 * turn.inverse) * turn.sine, s = te + tf;
      const Wide3 p = 2.0 * cross(kb, tf), q = 2.0 * cross(kb, te);
      const Wide3 s_e = p + dot(kb, kb) * s, s_f = dot(kb, kb) * s - q;
      UNROLL for (int c = 0; c < 3; ++c) {
        UNROLL for (int r = c; r < 3; ++r) {
          ee(r, c) = s_ee * (p[r] * s[c] + s[r] * s_e[c] - 4.0 * tf[r] * tf[c]);
          own_now(r, c) += s_ff * (s[r] * s_f[c] - q[r] * s[c] - 4.0 * te[r] * te[c]);
        }
        UNROLL for (int r = 0; r < 3; ++r) C(r, c) = s_ef * (4.0 * te[r] * tf[c] + p[r] * s[c] + s[r] * s_f[c]);
      }
      UNROLL for (int c = 0; c < 3; ++c) {
        ee(c, c) += 4.0 * s_ee;
        own_now(c, c) += 4.0 * s_ff;
        C(c, c) -= 4.0 * s_ef * turn.c;
      }
    }

    alignas(sizeof(Wide)) double column[BlockBand<3>::kColumn][kLanes];
    constexpr auto place = BlockBand<3>::place;
    UNROLL for (int c = 0; c < 3; ++c) {
      UNROLL for (int r = c; r < 3; ++r) {
        const Wide S = lanes::shifted(own(r, c), own_now(r, c)) + ee(r, c);
        const Wide D = S - (C(r, c) + C(c, r));
        store(column[place(r, c)], lanes::shifted(diagonal(r, c), D) + S);
        diagonal(r, c) = D;
        ee(r, c) = S;
      }
    }
    UNROLL for (int c = 0; c < 3; ++c) {
      UNROLL for (int r = 0; r < 3; ++r) {
        store(column[place(3 + r, c)], lanes::shifted(across(c, r), C(c, r)) + C(c, r) - ee(r, c));
        store(column[place(6 + r, c)], -C(c, r));
      }
    }
    across = C;
    own = own_now;
    for (Index lane = 0; lane < kStep; ++lane) {
      const Index v = base - 1 + lane;
      if (v >= 0 && v < along.n) band->add_column(static_cast<std::size_t>(v), column[0] + lane, kLanes);
    }
  }
  double most = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) most = std::max(most, largest[lane]);
  return most;
}

}  // namespace

double add_straight(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist, Hessian kind,
                    double scale, const double* tension, double* gradient, BlockBand<3>* band) noexcept {
  const Along along(model, x, twist);
  const bool twisted = along.framed && !model.angles_unknown;
  if (!band) kind = Hessian::none;
  const auto any = [&]<bool kTwisted>() {
    switch (kind) {
      case Hessian::exact:
        return pass<Hessian::exact, kTwisted>(along, scale, tension, gradient, band);
      case Hessian::positive:
        return pass<Hessian::positive, kTwisted>(along, scale, tension, gradient, band);
      case Hessian::none:
        break;
    }
    return pass<Hessian::none, kTwisted>(along, scale, tension, gradient, band);
  };
  return twisted ? any.template operator()<true>() : any.template operator()<false>();
}

Energies straight_energy(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist) noexcept {
  const Along along(model, x, twist);
  Wide stretch{}, bend{};
  Wide3 ends = along.far_ends(along.first() - kStep);
  Edges before{};
  for (Index base = along.first(); base < along.n; base += kStep) {
    const Wide3 next = along.far_ends(base);
    Edges f;
    f.set(next - lanes::shifted(ends, next));
    ends = next;
    const Edges e = shifted(before, f);
    before = f;
    if (base < 0) continue;  // only what is shifted in
    const Wide strain = f.length / along.lengths_of_edges(base) - 1.0;
    Wide ea = along.stiffness_of_edges(base), ei = along.stiffness_of_joints(base);
    for (Index lane = std::max<Index>(along.n - base, 0); lane < kStep; ++lane) ea[lane] = ei[lane] = 0;
    stretch += along.units_of_edges(base) * (ea * strain * strain);
    bend += ei * Turns(e.t, f.t).tan2();
  }
  Energies out;
  out.stretch = 0.5 * model.rest_length * sum(stretch);
  out.bend = sum(bend);
  return out;
}

}  // namespace ligature::rod
