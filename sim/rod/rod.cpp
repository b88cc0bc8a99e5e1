#include "sim/rod/rod.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "sim/rod/straight.hpp"

namespace ligature::rod {
namespace {

using Vector8d = Eigen::Matrix<double, 8, 1>;
using Matrix8d = Eigen::Matrix<double, 8, 8>;

Vector3d edge(const RodModel& model, const std::vector<Vector3d>& x, std::size_t i) {
  return x[model.next(i)] - x[i];
}

bool has_joint(const RodModel& model, std::size_t vertex) {
  return model.closed || (vertex > 0 && vertex + 1 < model.vertices());
}

bool has_edge_before(const RodModel& model, std::size_t vertex) {
  return model.closed || vertex > 0;
}

bool has_edge_behind(const RodModel& model, std::size_t vertex) {
  return model.closed || vertex + 1 < model.vertices();
}

Eigen::Vector2d rest_curvature(const RodModel& model, std::size_t vertex) {
  if (model.rest_curvature.empty()) return {0, 0};
  return model.rest_curvature[vertex];
}

/// Half a joint turns by half its angle: from 2 tan(a/2) to 2 tan(a/4), in the same material direction.
Eigen::Vector2d half_rest_curvature(const RodModel& model, std::size_t vertex) {
  if (model.rest_curvature.empty()) return {0, 0};
  std::size_t from = vertex;
  if (!model.closed && model.vertices() > 2) from = std::clamp<std::size_t>(vertex, 1, model.vertices() - 2);
  const Eigen::Vector2d whole = model.rest_curvature[from];
  const double size = whole.norm();
  if (!(size > 0)) return whole;
  return whole * (2 * std::tan(0.5 * std::atan(0.5 * size)) / size);
}

JointLaw joint_law(const RodModel& model, std::size_t vertex) {
  JointLaw law;
  law.rest_length = model.rest_length;  // its edges are of one length
  law.bend_stiffness = model.joint_bend(vertex);
  law.twist_stiffness = model.joint_twist(vertex);
  law.rest_curvature = rest_curvature(model, vertex);
  return law;
}

JointLaw half_law(const RodModel& model, std::size_t vertex, std::size_t edge) {
  JointLaw law;
  law.rest_length = 0.5 * model.rest_length;
  law.bend_stiffness = model.edge_bend(edge);
  law.twist_stiffness = model.edge_twist(edge);
  law.rest_curvature = half_rest_curvature(model, vertex);
  return law;
}

/// Adds the derivatives of one term to the unknowns of the vertices. e = x_b - x_a, f = x_c - x_b; in D = 4 the angle
/// of edge e stands with vertex a, that of f with b.
template <int D>
struct Scatter {
  const RodModel& model;
  double scale;
  double* gradient;
  BlockBand<D>* band;
  using Block = Eigen::Matrix<double, D, D>;

  auto part(std::size_t vertex) const { return Eigen::Map<Eigen::Matrix<double, D, 1>>(gradient + D * vertex); }
  static Block widened(const Matrix3d& m) {
    if constexpr (D == 3) {
      return m;
    } else {
      Block b = Block::Zero();
      b.template topLeftCorner<3, 3>() = m;
      return b;
    }
  }

  void edge_term(std::size_t i, const Vector3d& g, const Matrix3d& h) const {
    const std::size_t j = model.next(i);
    part(i).template head<3>() -= scale * g;
    part(j).template head<3>() += scale * g;
    if (!band) return;
    const Block b = widened(scale * h);
    band->add(i, b);
    band->add(j, i, -b);
    band->add(j, b);
  }

  void joint_term(std::size_t b, const JointTerm& t) const requires(D == 4) {
    const std::size_t a = model.previous(b), c = model.next(b);
    const Vector3d ge = scale * t.gradient.template segment<3>(0), gf = scale * t.gradient.template segment<3>(3);
    part(a).template head<3>() -= ge;
    part(b).template head<3>() += ge - gf;
    part(c).template head<3>() += gf;
    part(a)[3] += scale * t.gradient[6];
    part(b)[3] += scale * t.gradient[7];
    if (!band) return;
    const Matrix8d h = scale * t.hessian;
    const Matrix3d ee = h.block<3, 3>(0, 0), fe = h.block<3, 3>(3, 0), ff = h.block<3, 3>(3, 3);
    const Vector3d e6 = h.block<3, 1>(0, 6), e7 = h.block<3, 1>(0, 7), f6 = h.block<3, 1>(3, 6),
                   f7 = h.block<3, 1>(3, 7);
    const auto block = [](const Matrix3d& m, const Vector3d& column, const Vector3d& row, double corner) {
      Block out;
      out.template topLeftCorner<3, 3>() = m;
      out.template topRightCorner<3, 1>() = column;
      out.template bottomLeftCorner<1, 3>() = row.transpose();
      out(3, 3) = corner;
      return out;
    };
    const Vector3d none = Vector3d::Zero();
    band->add(a, block(ee, -e6, -e6, h(6, 6)));
    band->add(b, block(ee - fe - fe.transpose() + ff, e7 - f7, e7 - f7, h(7, 7)));
    band->add(c, block(ff, none, none, 0));
    band->add(b, a, block(fe - ee, e6 - f6, -e7, h(7, 6)));
    band->add(c, a, block(-fe, f6, none, 0));
    band->add(c, b, block(fe - ff, f7, none, 0));
  }

  /// A half joint at a held frame: only the edge i and its angle move.
  void half_term(std::size_t i, const Vector3d& g, const Matrix3d& h, double g_angle, const Vector3d& h_angle,
                 double h_angles) const {
    edge_term(i, g, h);
    if constexpr (D == 4) {
      part(i)[3] += scale * g_angle;
      if (!band) return;
      Block own = Block::Zero(), other = Block::Zero();
      own.template topRightCorner<3, 1>() = -scale * h_angle;
      own.template bottomLeftCorner<1, 3>() = -scale * h_angle.transpose();
      own(3, 3) = scale * h_angles;
      other.template topRightCorner<3, 1>() = scale * h_angle;
      band->add(i, own);
      band->add(model.next(i), i, other);
    }
  }
};

double moment_of_span(const RodModel& model, const Twist& twist, std::size_t half) {
  const std::size_t s = twist.span_of(half);
  if (s >= twist.span_count()) return 0;
  const TwistSpan& span = twist.span(s);
  return span.length > 0 ? model.twist_stiffness * span.angle / span.length : 0.0;
}

/// The half joint `half` of a held frame at this vertex: (edge, t) or (t, edge).
template <int D>
double add_half(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist, std::size_t vertex, int half,
                Hessian kind, const Scatter<D>& scatter) {
  const std::size_t i = half == 0 ? model.previous(vertex) : vertex;
  const Vector3d moving = edge(model, x, i);
  const Vector3d &t = twist.frame_tangent(vertex), &e = half == 0 ? moving : t, &f = half == 0 ? t : moving;
  if constexpr (D == 4) {
    const Directors held = twist.frame_material(vertex), own = twist.material(i);
    const JointTerm j =
        joint(e, f, half == 0 ? own : held, twist.half_joint(vertex, half), half_law(model, vertex, i), kind);
    const int at = half == 0 ? 0 : 3, angle = half == 0 ? 6 : 7;
    if (kind == Hessian::none)
      scatter.half_term(i, j.gradient.segment<3>(at), Matrix3d::Zero(), j.gradient[angle], Vector3d::Zero(), 0);
    else
      scatter.half_term(i, j.gradient.segment<3>(at), j.hessian.block<3, 3>(at, at), j.gradient[angle],
                        j.hessian.block<3, 1>(at, angle), j.hessian(angle, angle));
    return j.gradient.segment<3>(at).norm();
  } else {
    const VertexTerm b = bend_straight(e, f, 0.5 * model.edge_length(i), model.bend_stiffness, kind);
    Vector3d g = half == 0 ? b.gradient_e : b.gradient_f;
    Matrix3d h = Matrix3d::Zero();
    if (kind != Hessian::none) h = half == 0 ? b.hessian_ee : b.hessian_ff;
    const double moment = moment_of_span(model, twist, 2 * vertex + static_cast<std::size_t>(half));
    if (moment != 0) {
      const VertexTerm turn = holonomy(e, f, kind);
      g += moment * (half == 0 ? turn.gradient_e : turn.gradient_f);
      if (kind == Hessian::exact) h += moment * (half == 0 ? turn.hessian_ee : turn.hessian_ff);
    }
    scatter.half_term(i, g, h, 0, Vector3d::Zero(), 0);
    return g.norm();
  }
}

}  // namespace

Sections make_sections(const RodModel& model, const std::vector<Section>& parts) {
  const double l = model.rest_length;
  const std::size_t n = model.vertices(), edges = model.edges();
  const auto stiffness = [&](double from, double to, double base, double Section::*value) {
    double other = to - from, yields = 0;
    for (const Section& part : parts) {
      const double inside = std::max(0.0, std::min(to, part.to) - std::max(from, part.from));
      other -= inside;
      if (inside > 0) yields += inside / (part.*value);
    }
    if (other > 1e-12 * (to - from)) yields += other / base;
    return (to - from) / yields;
  };
  Sections s;
  for (std::size_t i = 0; i < edges; ++i) {
    const double from = static_cast<double>(i) * l, to = from + l;
    s.stretch.push_back(stiffness(from, to, model.stretch_stiffness, &Section::stretch));
    s.edge_bend.push_back(stiffness(from, to, model.bend_stiffness, &Section::bend));
    s.edge_twist.push_back(stiffness(from, to, model.twist_stiffness, &Section::twist));
    s.angle_drag.push_back(model.angle_drag);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double at = static_cast<double>(i) * l;
    const double from = std::max(0.0, at - 0.5 * l), to = std::min(static_cast<double>(edges) * l, at + 0.5 * l);
    s.bend.push_back(stiffness(from, to, model.bend_stiffness, &Section::bend));
    s.twist.push_back(stiffness(from, to, model.twist_stiffness, &Section::twist));
    s.radius.push_back(model.radius);
    for (const Section& part : parts)
      if (at >= part.from - 1e-9 * l && at <= part.to + 1e-9 * l) s.radius.back() = part.radius;
  }
  find_body(model, s);
  return s;
}

void find_body(const RodModel& model, Sections& s) noexcept {
  s.body_first = s.body_last = 0;
  for (std::size_t i = 0, first = 0; i < s.edge_bend.size(); ++i) {
    if (!(s.edge_bend[i] > kBodyBend * model.bend_stiffness))
      first = i + 1;
    else if (i + 1 - first > s.body_last - s.body_first)
      s.body_first = first, s.body_last = i + 1;
  }
}

bool needs_frames(const RodModel& model, const Twist& twist) noexcept {
  return model.closed || model.angles_unknown || twist.any_held();
}

Energies elastic_energy(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist) noexcept {
  const double l = model.rest_length;
  const std::size_t n = model.vertices();
  if (!model.angles_unknown) {
    Energies out = straight_energy(model, x, twist);
    if (!needs_frames(model, twist)) return out;
    for (std::size_t i = 0; i < n && twist.any_held(); ++i) {
      if (!twist.frame_held(i)) continue;
      const Vector3d& t = twist.frame_tangent(i);
      if (has_edge_before(model, i))
        out.bend += bend_straight_energy(edge(model, x, model.previous(i)), t,
                                         0.5 * model.edge_length(model.previous(i)), model.bend_stiffness);
      if (has_edge_behind(model, i))
        out.bend += bend_straight_energy(t, edge(model, x, i), 0.5 * model.edge_length(i), model.bend_stiffness);
    }
    for (std::size_t s = 0; s < twist.span_count(); ++s) {
      const TwistSpan& span = twist.span(s);
      if (span.length > 0) out.twist += 0.5 * model.twist_stiffness / span.length * span.angle * span.angle;
    }
    return out;
  }
  Energies out;
  Vector3d e = model.closed ? edge(model, x, n - 1) : Vector3d::Zero();
  for (std::size_t i = 0; i < n; ++i) {
    const bool behind = has_edge_behind(model, i);
    const Vector3d f = behind ? edge(model, x, i) : Vector3d::Zero();
    if (behind) out.stretch += stretch_energy(f, l, model.edge_stretch(i));
    const auto add = [&](const JointTerm& j) {
      out.bend += j.bend_energy;
      out.twist += j.twist_energy;
    };
    if (twist.frame_held(i)) {
      const Vector3d& t = twist.frame_tangent(i);
      for (int half = 0; half < 2; ++half) {
        if (half == 0 ? !has_edge_before(model, i) : !behind) continue;
        const Vector3d &a = half == 0 ? e : t, &b = half == 0 ? t : f;
        const std::size_t moving = half == 0 ? model.previous(i) : i;
        const Directors held = twist.frame_material(i), own = twist.material(moving);
        add(joint(a, b, half == 0 ? own : held, twist.half_joint(i, half), half_law(model, i, moving), Hessian::none));
      }
    } else if (has_joint(model, i)) {
      add(joint(e, f, twist.material(model.previous(i)), twist.joint(i), joint_law(model, i), Hessian::none));
    }
    e = f;
  }
  return out;
}

template <int D>
double add_elastic(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist, Hessian kind,
                   double scale, const double* tension, double* gradient, BlockBand<D>* band) noexcept {
  const Scatter<D> scatter{model, scale, gradient, band};
  const double l = model.rest_length;
  const std::size_t n = model.vertices();
  const bool framed = needs_frames(model, twist);
  double largest = 0;
  const auto add_halves = [&](std::size_t i) {
    for (int half = 0; half < 2; ++half)
      if (half == 0 ? has_edge_before(model, i) : has_edge_behind(model, i)) {
        const double g = add_half<D>(model, x, twist, i, half, kind, scatter);
        largest = std::max(largest, g * g);
      }
  };
  if constexpr (D == 3) {
    largest = add_straight(model, x, twist, kind, scale, tension, gradient, band);
    if (framed && twist.any_held())
      for (std::size_t i = 0; i < n; ++i)
        if (twist.frame_held(i)) add_halves(i);
  } else {
    Vector3d e = model.closed ? edge(model, x, n - 1) : Vector3d::Zero();
    for (std::size_t i = 0; i < n; ++i) {
      const bool behind = has_edge_behind(model, i);
      const Vector3d f = behind ? edge(model, x, i) : Vector3d::Zero();
      if (behind) {
        EdgeTerm s = stretch(f, l, model.edge_stretch(i), kind);
        const double length = f.norm();
        if (tension && kind == Hessian::exact && length > 1e-30) {
          const double now = s.gradient.dot(f) / length;
          const Vector3d t = f / length;
          s.hessian += ((tension[i] - now) / length) * (Matrix3d::Identity() - t * t.transpose());
        }
        scatter.edge_term(i, s.gradient, s.hessian);
        largest = std::max(largest, s.gradient.squaredNorm());
      }
      if (framed && twist.frame_held(i)) {
        add_halves(i);
      } else if (has_joint(model, i)) {
        const JointTerm j = joint(e, f, twist.material(model.previous(i)), twist.joint(i), joint_law(model, i), kind);
        scatter.joint_term(i, j);
        largest = std::max(largest, j.gradient.template segment<3>(0).squaredNorm());
      }
      e = f;
    }
  }
  return std::sqrt(largest);
}

template double add_elastic<3>(const RodModel&, const std::vector<Vector3d>&, const Twist&, Hessian, double,
                               const double*, double*, BlockBand<3>*) noexcept;
template double add_elastic<4>(const RodModel&, const std::vector<Vector3d>&, const Twist&, Hessian, double,
                               const double*, double*, BlockBand<4>*) noexcept;

double add_elastic_scalar(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist, double scale,
                          double* gradient, BlockBand<1>* band) noexcept {
  const double largest = add_elastic<3>(model, x, twist, Hessian::none, scale, nullptr, gradient, nullptr);
  if (!band) return largest;
  const auto block = [](double v) { return BlockBand<1>::Block{v}; };
  for (std::size_t i = 0; i < model.edges(); ++i) {
    const std::size_t j = model.next(i);
    const BlockBand<1>::Block k_stretch{scale * model.stretch_stiffness / model.edge_length(i)};
    band->add(i, k_stretch);
    band->add(j, i, -k_stretch);
    band->add(j, k_stretch);
  }
  for (std::size_t b = 0; b < model.vertices(); ++b) {
    if (twist.frame_held(b)) {  // half the length, one edge: 2 EI/l over l^2
      for (const bool behind : {false, true}) {
        if (behind ? !has_edge_behind(model, b) : !has_edge_before(model, b)) continue;
        const std::size_t other = behind ? model.next(b) : model.previous(b);
        const double l = model.edge_length(behind ? b : other), k_bend = scale * model.bend_stiffness / (l * l * l);
        band->add(b, block(2 * k_bend));
        band->add(other, b, block(-2 * k_bend));
        band->add(other, block(2 * k_bend));
      }
    } else if (has_joint(model, b)) {
      const std::size_t a = model.previous(b), c = model.next(b);
      // EI/l of (x_c - x_b)/l_f - (x_b - x_a)/l_e.
      const double e = model.edge_length(a), f = model.edge_length(b), l = model.joint_length(b);
      const double k = scale * model.bend_stiffness / (l * e * f), r = f / e, both = 1 + r;
      band->add(a, block(k * r));
      band->add(b, a, block(-k * both));
      band->add(b, block(k * both * both / r));
      band->add(c, a, block(k));
      band->add(c, b, block(-k * both / r));
      band->add(c, block(k / r));
    }
  }
  return largest;
}

void span_gradient(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist, std::size_t span,
                   double* g, std::size_t stride, std::size_t column) noexcept {
  const auto add = [&](std::size_t vertex, const Vector3d& v) {
    for (std::size_t c = 0; c < 3; ++c) g[(3 * vertex + c) * stride + column] += v[static_cast<Eigen::Index>(c)];
  };
  for (std::size_t b = 0; b < model.vertices(); ++b) {
    if (twist.frame_held(b)) {
      for (int half = 0; half < 2; ++half) {
        if (half == 0 ? !has_edge_before(model, b) : !has_edge_behind(model, b)) continue;
        if (twist.span_of(2 * b + static_cast<std::size_t>(half)) != span) continue;
        const std::size_t i = half == 0 ? model.previous(b) : b;
        const Vector3d moving = edge(model, x, i), &t = twist.frame_tangent(b);
        const VertexTerm turn = half == 0 ? holonomy(moving, t, Hessian::none) : holonomy(t, moving, Hessian::none);
        const Vector3d& own = half == 0 ? turn.gradient_e : turn.gradient_f;
        add(i, -own);
        add(model.next(i), own);
      }
    } else if (has_joint(model, b) && twist.span_of(2 * b) == span) {
      const VertexTerm turn = holonomy(edge(model, x, model.previous(b)), edge(model, x, b), Hessian::none);
      add(model.previous(b), -turn.gradient_e);
      add(b, turn.gradient_e - turn.gradient_f);
      add(model.next(b), turn.gradient_f);
    }
  }
}

double twist_moment(const RodModel& model, const Twist& twist, std::size_t vertex, int half) noexcept {
  if (!model.angles_unknown) return moment_of_span(model, twist, 2 * vertex + static_cast<std::size_t>(half));
  double stiffness = model.joint_twist(vertex);
  if (twist.frame_held(vertex)) {
    if (half == 0 ? !has_edge_before(model, vertex) : !has_edge_behind(model, vertex)) return 0;
    stiffness = model.edge_twist(half == 0 ? model.previous(vertex) : vertex);
  }
  return stiffness * twist.half_joint(vertex, half) / (0.5 * model.rest_length);
}

Vector3d frame_torque(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist,
                      std::size_t vertex) noexcept {
  Vector3d torque = Vector3d::Zero();
  const Vector3d& t = twist.frame_tangent(vertex);
  for (int half = 0; half < 2; ++half) {
    if (half == 0 ? !has_edge_before(model, vertex) : !has_edge_behind(model, vertex)) continue;
    const std::size_t i = half == 0 ? model.previous(vertex) : vertex;
    const Vector3d moving = edge(model, x, i);
    const Vector3d &e = half == 0 ? moving : t, &f = half == 0 ? t : moving;
    if (model.angles_unknown) {
      const Directors held = twist.frame_material(vertex), own = twist.material(i);
      const JointTerm j = joint(e, f, half == 0 ? own : held, twist.half_joint(vertex, half),
                                half_law(model, vertex, i), Hessian::none);
      torque += clamp_torque(t, j.gradient.segment<3>(half == 0 ? 3 : 0), j.gradient[half == 0 ? 7 : 6]);
    } else {
      const VertexTerm b = bend_straight(e, f, 0.5 * model.edge_length(i), model.bend_stiffness, Hessian::none);
      const VertexTerm turn = holonomy(e, f, Hessian::none);
      const double moment = twist_moment(model, twist, vertex, half);
      torque += half == 0 ? clamp_torque(t, b.gradient_f + moment * turn.gradient_f, moment)
                          : clamp_torque(t, b.gradient_e + moment * turn.gradient_e, -moment);
    }
  }
  return torque;
}

}  // namespace ligature::rod
