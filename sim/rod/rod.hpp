#pragma once
/// One thread: its constants, its state, and the elastic energy assembled over all of it.
///
/// Unknowns of a vertex: its position (D = 3; twist is quasi-static and enters by its spans), or its position and the
/// material angle of the edge behind it (D = 4; needed where a curved rest shape couples bending to twist).
#include <Eigen/Core>
#include <vector>

#include "sim/rod/band.hpp"
#include "sim/rod/energy.hpp"
#include "sim/rod/twist.hpp"

namespace ligature::rod {

/// Stiffness along a rod whose sections differ. An edge or a joint across a seam yields as much as what lies in it does
/// together: EA = l / integral of ds/EA over the edge, EI and GJ likewise from the middle of one edge to the next.
/// Half a joint at a held frame has that of its edge.
struct Sections {
  std::vector<double> stretch;                ///< EA of each edge [uN]                             (edges)
  std::vector<double> bend, twist;            ///< EI, GJ of each joint [uN mm^2]                   (n)
  std::vector<double> edge_bend, edge_twist;  ///< EI, GJ of each edge [uN mm^2]                    (edges)
  std::vector<double> radius;                 ///< at each vertex, linear between [mm]              (n)
  std::vector<double> angle_drag;             ///< of each edge, as RodModel::angle_drag [uN mm s]  (edges)
  /// Vertices of a part so stiff that it moves nearly as a body; equal: none.
  std::size_t body_first = 0, body_last = 0;
  bool empty() const { return stretch.empty(); }
};

/// Constants of a rod with n vertices; edge i joins vertex i to i+1, of a closed rod the last one to the first.
struct RodModel {
  bool closed = false;
  bool angles_unknown = false;                  ///< D = 4
  double radius = 0;                            ///< [mm]
  double stretch_stiffness = 0;                 ///< EA [uN]
  double bend_stiffness = 0;                    ///< EI [uN mm^2]
  double twist_stiffness = 0;                   ///< GJ [uN mm^2]
  double rest_length = 0;                       ///< of every edge, or the unit of `node` [mm]
  double angle_drag = 0;                        ///< moment per rate of turn of an edge's frame [uN mm s]
  std::vector<double> mass;                     ///< of each vertex; 0 = low-mass integrator [g]          (n)
  std::vector<double> weight_mass;              ///< what gravity acts on [g]                             (n)
  std::vector<double> drag;                     ///< force per velocity of each vertex [uN s/mm]          (n)
  std::vector<Eigen::Vector2d> rest_curvature;  ///< material components at each vertex; empty = straight (n)
  double yield_strain = 0;                      ///< of its fibres (yield.hpp); 0: it bends back whatever the bend
  /// Edges of different lengths: rest arc of every vertex in units of rest_length, of a closed rod with that of the
  /// first vertex once more, a whole round on. Empty: every edge is one unit long. Not with angles_unknown.
  ///                                                                                           (edges + 1, or none)
  std::vector<double> node;
  /// A rod of several materials, a needle with its thread; empty: the constants above everywhere, which else are those
  /// of its softest part. `radius` then is the largest of all. Only with angles_unknown, open, edges of one length.
  Sections sections;

  std::size_t vertices() const { return drag.size(); }
  std::size_t edges() const { return closed ? vertices() : vertices() - 1; }
  std::size_t next(std::size_t vertex) const { return vertex + 1 == vertices() ? 0 : vertex + 1; }
  std::size_t previous(std::size_t vertex) const { return vertex == 0 ? vertices() - 1 : vertex - 1; }
  bool graded() const { return !node.empty(); }
  double rest_arc(std::size_t vertex) const {
    return (graded() ? node[vertex] : static_cast<double>(vertex)) * rest_length;
  }
  /// Likewise to a place on an edge, s in 0..1.
  double rest_arc(std::size_t edge, double s) const { return rest_arc(edge) + s * edge_length(edge); }
  double whole_length() const { return (graded() ? node.back() : static_cast<double>(edges())) * rest_length; }
  double edge_length(std::size_t edge) const {
    return graded() ? (node[edge + 1] - node[edge]) * rest_length : rest_length;
  }
  double edge_stretch(std::size_t edge) const { return sections.empty() ? stretch_stiffness : sections.stretch[edge]; }
  double joint_bend(std::size_t vertex) const { return sections.empty() ? bend_stiffness : sections.bend[vertex]; }
  double joint_twist(std::size_t vertex) const { return sections.empty() ? twist_stiffness : sections.twist[vertex]; }
  double edge_bend(std::size_t edge) const { return sections.empty() ? bend_stiffness : sections.edge_bend[edge]; }
  double edge_twist(std::size_t edge) const { return sections.empty() ? twist_stiffness : sections.edge_twist[edge]; }
  double edge_angle_drag(std::size_t edge) const { return sections.empty() ? angle_drag : sections.angle_drag[edge]; }
  double radius_at(std::size_t vertex) const { return sections.empty() ? radius : sections.radius[vertex]; }
  /// At s in [0, 1] along an edge.
  double radius_at(std::size_t edge, double s) const {
    if (sections.empty()) return radius;
    return (1 - s) * sections.radius[edge] + s * sections.radius[next(edge)];
  }
  /// l of a joint [mm]; at the end of an open rod that of its one half.
  double joint_length(std::size_t vertex) const {
    if (!graded()) return rest_length;
    const double before = closed || vertex > 0 ? edge_length(previous(vertex)) : 0.0;
    return 0.5 * (before + (closed || vertex + 1 < vertices() ? edge_length(vertex) : 0.0));
  }
};

/// What moves.
struct RodState {
  std::vector<Vector3d> x;   ///< p_WV_W [mm]                                                      (n)
  std::vector<Vector3d> v;   ///< [mm/s]                                                           (n)
  std::vector<double> ease;  ///< extra drag that lets a released vertex go gently [uN s/mm]       (n)
  Twist twist;               ///< frames
};

/// One material along part of a rod.
struct Section {
  double from = 0, to = 0;     ///< rest arc [mm]
  double stretch = 0;          ///< EA [uN]
  double bend = 0, twist = 0;  ///< EI, GJ [uN mm^2]
  double radius = 0;           ///< [mm]
};
/// Sections of an open rod that has `model`'s constants but in these parts, which do not overlap. A vertex has the
/// radius of the part that it lies in; angle_drag is the model's everywhere. @param model with its radius where there
/// is no part
Sections make_sections(const RodModel& model, const std::vector<Section>& parts);

/// Finds body_first and body_last: the longest run of edges that bend kBodyBend times less than the model's own.
void find_body(const RodModel& model, Sections& sections) noexcept;
inline constexpr double kBodyBend = 100;

/// True where frames are carried along: something holds one, the thread is closed, or angles are unknown.
/// (An open thread that nobody holds has no twist.)
bool needs_frames(const RodModel& model, const Twist& twist) noexcept;

struct Energies {
  double stretch = 0, bend = 0, twist = 0;  ///< [uN mm]
  double sum() const { return stretch + bend + twist; }
};

/// At the vertices x, with frames carried to them. Of quasi-static twist the spans must have been found.
Energies elastic_energy(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist) noexcept;

/// Adds `scale` times dE/d(unknowns) to gradient, and of the Hessian to band unless that is null. Quasi-static twist
/// adds the moments of its spans and, exact, their geometric stiffness; what couples all joints of a span is left to
/// span_gradient(). gradient: (D n). Frames carried to x, spans found.
/// @param tension of every edge [uN], (edges): in place of the one at x, in the geometric stiffness of stretch (that of
/// a mixed formulation, in which tension is an unknown beside the positions); or null
/// @returns the largest force in an element [uN], against which an imbalance counts. @rt O(n), no allocation
template <int D>
double add_elastic(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist, Hessian kind,
                   double scale, const double* tension, double* gradient, BlockBand<D>* band) noexcept;

/// The scalar simplification (VRIPHYS paper section 3.4): gradient as above, (3 n); in place of the Hessian the
/// stiffness of a straight rod, the same in all directions.
double add_elastic_scalar(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist, double scale,
                          double* gradient, BlockBand<1>* band) noexcept;

/// d(angle of span s)/dx, added to column `column` of g: entry (r, column) at g[r stride + column], r < 3 n.
/// With E = GJ/(2 length) angle^2 it gives the rank-one part of the Hessian, GJ/length g g^T.
void span_gradient(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist, std::size_t span,
                   double* g, std::size_t stride, std::size_t column) noexcept;

/// Moment that twists the half joint [uN mm]: of its span (quasi-static) or its own (angles unknown).
double twist_moment(const RodModel& model, const Twist& twist, std::size_t vertex, int half) noexcept;

/// What the held frame of a vertex exerts on the thread [uN mm].
Vector3d frame_torque(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist,
                      std::size_t vertex) noexcept;

}  // namespace ligature::rod
