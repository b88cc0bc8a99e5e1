#pragma once
/// Whether what was tied holds or came open: `--expect holds`, `--expect opens`.
///
/// **Free length** of an end of an open thread: rest arc from the end to the knot, which begins where the contacts met
/// from there have made up 2 % of the normal force on that thread (so that a tail that lightly touches its own standing
/// part does not count as a knot there). Contacts are those with strands and with obstacles that can be tied round,
/// not with planes.
///
///   end o~~~~~~~~~~~~~~~~ ( knot ) ~~~~~~~~~~~~~~~~~~~~> load
///       <- free length ->
///
/// An end **slid** by as much as its free length became shorter after the loads were full: that much of the thread was
/// drawn into the knot from there. **Tails** are the ends between which and the knot nothing holds or pulls; those
/// count. Of a thread without tails both ends count: when it tightens both free lengths grow, when it slips one
/// shrinks.
///
/// **Tied**: an open thread cannot be pulled straight, its ends where they are, without passing through itself, another
/// thread, a pole or a mesh. Decided by taking out vertices one after the other where nothing pierces the triangle that
/// is swept [Koniaris 1991]; that proves "not tied", and "tied" up to rare entanglements that get stuck.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "appliance/sim/curves.hpp"

namespace ligature::simulate {

/// A place where something presses on a thread.
struct Touch {
  std::size_t thread = 0;
  double s_mm = 0;
  double normal_force = 0;
};
/// Both sides of contacts between strands, and the thread's side of those with obstacles to be tied round.
std::vector<Touch> touches_of(const world::World& world, const world::WorldParams& params);

/// Nothing where nothing presses on this thread. [mm]
std::optional<double> free_length(const std::vector<Touch>& touches, std::size_t thread, double rest_length_mm,
                                  bool from_last);

/// When the last load has grown full: the end of the last ramp. Without forces, when the last moving clamp has come to
/// a stop, or when it began where it moves to the end. 0 without either. [s]
double loads_full_s(const world::WorldParams& params, double duration_s);

/// Which of the threads are tied; false for closed ones. `poles`: axes that nothing passes through either.
struct Pole {
  Vec3 from, to;
};
std::vector<bool> tied(const std::vector<Curve>& curves, const std::vector<Pole>& poles = {});
/// Axes of cylinders and capsules and edges of meshes. @param shifts how far each obstacle has come [mm] (obstacles)
std::vector<Pole> poles_of(const world::WorldParams& params, const std::vector<Vec3>& shifts);

/// A place where a thread is held or pulled.
struct Hold {
  std::size_t thread = 0;
  double s_mm = 0;
};
std::vector<Hold> holds_of(const world::World& world, const world::WorldParams& params,
                           const std::vector<Curve>& curves);

/// Watches the ends of all open threads, step by step, in memory that does not grow.
class EndWatch {
 public:
  struct End {
    std::size_t thread = 0;
    bool last = false;
    bool tail = false;         ///< as of when it was first seen
    bool counts = false;       ///< it is a tail, or its thread has none
    double first_free_mm = 0;  ///< when the loads were full
    double free_mm = 0;        ///< now; as of the last step in which anything pressed on the thread
    double slid_mm = 0;        ///< most so far
    double diameter_mm = 0;
  };
  explicit EndWatch(double loads_full_s) : from_s_(loads_full_s) {}
  /// After every step. A cut, after which ends are other ends, begins anew.
  void add(double t_s, const std::vector<Curve>& curves, const std::vector<Touch>& touches,
           const std::vector<Hold>& holds);
  double from_s() const { return from_s_; }
  bool begun() const { return begun_; }
  const std::vector<End>& ends() const { return ends_; }

 private:
  double from_s_;
  bool begun_ = false;
  std::size_t threads_ = 0;
  std::vector<End> ends_;
};

inline constexpr double kHoldDiameters = 2;  ///< how far a tail may slide and the knot holds (CONTRACT)

/// What the run has shown; empty text: as expected, else why not.
struct KnotVerdict {
  bool tied_before = false;  ///< at the start, or when the loads were full
  bool tied_at_full = false;
  bool tied_at_end = false;
};
std::string why_not_held(const EndWatch& watch, const KnotVerdict& verdict, const std::vector<std::string>& names);
std::string why_not_open(const EndWatch& watch, const KnotVerdict& verdict);

}  // namespace ligature::simulate
