#pragma once
/// Stiff tools against threads and bodies that deform: the arms of forceps.
///
/// A tool is a straight row of spheres joined by cones: to tissue a strand that does not bend, to threads a rigid body
/// (Obstacle::cone). It is led from where it was to where the hand has it, and the hand gives way a little:
///
///   x_i = from_i + part (to_i - from_i) + d,   d = compliance * (what it is pushed with)
///
/// so that jaws that close on tissue press with what their closing is worth and no more, from both sides, and hold it
/// by friction. A hand presses with kMostPress at most and then gives way as far as it must: the energy of d goes on
/// linearly [Huber 1964], in an iteration with the secant |d| / kMostPress for its compliance. Contacts are those of a
/// round cone with a surface (tool_contacts.hpp). A tool that appears inside a body, or where a thread is, touches
/// nothing until it has left it.
///
/// A filling lies between the two arms of closed jaws, and is there for threads alone. Fingers press such jaws
/// together: while it is there, what threads push its arms or it with is borne by both arms alike, and does not part
/// them. Where something holds them apart it is not there.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/contact/body_contacts.hpp"
#include "sim/contact/strand.hpp"
#include "sim/contact/tool_contacts.hpp"

namespace ligature::contact {

/// Of one arm of forceps, as much as its jaws grip a needle with: a hand that feels nothing would press without end
/// [uN].
inline constexpr double kMostPress = 1e5;

class Tools {
 public:
  explicit Tools(std::size_t most_contacts);

  /// One more, which is not there yet. @param radius of its spheres, evenly from one end to the other [mm]
  /// @param compliance of the hand [mm/uN]
  void add(std::vector<double> radius, double compliance);
  /// Of the two tools that were added last.
  void add_filling(std::vector<double> radius);
  std::size_t count() const noexcept { return tools_.size(); }
  /// As threads meet it: not there while it touches nothing. Stays where it is until the next add().
  const Obstacle& body(std::size_t tool) const noexcept { return tools_[tool].body; }
  std::size_t spheres(std::size_t tool) const noexcept { return tools_[tool].radius.size(); }

  enum class By : std::uint8_t { thread, tissue };  ///< what touches it

  // ---- between steps
  /// Where it shall be at the end of the step; one that was not there appears there. @param to W [mm]  (spheres)
  void lead(std::size_t tool, const Vector3d* to) noexcept;
  void leave(std::size_t tool) noexcept;
  /// By how much the hand gave way [mm].
  const Vector3d& given(std::size_t tool) const noexcept { return tools_[tool].given; }
  /// What the hand bears there, by how much it gave way: kMostPress at most [uN].
  Vector3d borne(std::size_t tool) const noexcept;

  // ---- in a step
  /// Begins it, again where it was begun: which tools touch anything at all.
  void begin(const Strand* strands, std::size_t count, const Bodies& bodies) noexcept;
  bool given_way() const noexcept;  ///< some hand has not come back yet from where it was pushed
  /// Puts them where they are after this part of the way.
  void place(double part) noexcept;
  double furthest() const noexcept;  ///< that a sphere is led in this step [mm]
  double least_radius() const noexcept;
  /// How far they are from where they were led, since something was in the way or pushed them aside [mm].
  double behind() const noexcept { return left_to_go(true); }
  /// ... of that, what they were not let go, however little pushed them.
  double refused() const noexcept { return left_to_go(false); }
  /// Where they are after this part of the way, and the contacts there. @returns how many did not fit
  std::size_t find(double part, const Bodies& bodies, double reach) noexcept;
  /// pair = {number among strands(), edge, kNoStrand, body}
  std::vector<BodyContact>& contacts() noexcept { return contacts_.contacts(); }
  const std::vector<BodyContact>& contacts() const noexcept { return contacts_.contacts(); }
  const std::vector<Strand>& strands() const noexcept { return strands_; }

  void clear_forces() noexcept;
  void push(std::size_t tool, const Vector3d& force, By by) noexcept;
  /// Which tool a contact with a soft body is of.
  std::size_t tool_of(const StrandContact& at) const noexcept { return active_[at.pair.strand_a]; }
  /// How far one gives way at a unit's push on another [mm/uN].
  double compliance(std::size_t tool, By by, std::size_t other, By by_other) const noexcept;
  /// How far a tool that a thread touches is still to give way, and how far it did since the step began [mm].
  Vector3d gives(std::size_t tool) const noexcept;
  Vector3d gave(std::size_t tool) const noexcept;
  /// How far the place of a contact is led in this step [mm].
  Vector3d led(const StrandContact& at) const noexcept;
  /// Motion of the place of a contact: led by a further part, and giving way as the forces pushed so far say.
  Vector3d ahead(const StrandContact& at, double part) const noexcept;
  /// ... and since the start of the step, after this part of the way.
  Vector3d so_far(const StrandContact& at, double part) const noexcept;
  double furthest_give() const noexcept;  ///< that the hands are still to give way [mm]
  /// Tells the bodies what they are about to give way by: in the next advance(1), or going back all the way.
  void foresee() noexcept;
  void foresee_back() noexcept;
  /// Where spheres go by a fraction of ahead(). @returns one array a strand
  const Vector3d* const* trial(double part, double fraction) noexcept;
  /// Where spheres go when they go back to this fraction of what they have moved in the step.
  const Vector3d* const* trial_back(double part, double fraction) noexcept;
  /// Where they were when the step began, also once finish() has ended it.
  const Vector3d* const* trial_begin() noexcept;
  void advance(double fraction) noexcept;
  /// The tool of this strand gives way no further, nor back, until stand_no_more().
  void stand(std::size_t strand) noexcept { tools_[active_[strand]].stands = true; }
  void stand_no_more() noexcept {
    for (Tool& t : tools_) t.stands = false;
  }
  void go_back(double fraction) noexcept;
  /// Ends the step: this part of the way was made.
  void finish(double part) noexcept;
  /// Takes back all but a fraction of a step that was finished.
  void shorten(double fraction, const Bodies& bodies) noexcept;

  void add_to(StateHash& hash) const noexcept;

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  struct Tool {
    std::vector<double> radius;
    double compliance = 0, secant = 0;
    std::size_t filling = kNone;       ///< between this arm and its neighbour; of a filling itself
    bool there = false, free = false;  ///< free: outside of all bodies since it appeared; a filling: it fills
    bool held_up = false;              ///< in the last step it was not let go all its way
    std::vector<Vector3d> from, to, now, next, began;
    Vector3d given{0, 0, 0}, given_before{0, 0, 0}, force{0, 0, 0};
    Obstacle body = Obstacle::cone(1, 1);
    bool stands = false;  ///< in this linearisation it does not give way
    Vector3d gives() const noexcept { return stands ? Vector3d(0, 0, 0) : Vector3d(secant * force - given); }
    double secant_of_given() const noexcept { return std::max(compliance, given.norm() / kMostPress); }
    // What the whole step has made of it.
    void tell_body() noexcept {
      const Vector3d gave = given - given_before;
      body.move_ends(began.front() - gave, began.back() - gave, from.front(), from.back());
      body.stand_aside(given, Vector3d::Zero());
    }
  };
  /// Those that bear what pushes a tool, and which part of it each.
  struct Bearers {
    std::size_t first = 0, count = 1;
    double part = 1;
  };
  Bearers bearers(std::size_t tool, By by) const noexcept;
  double left_to_go(bool with_given) const noexcept;
  // Whether an arm touches what it meets, and whether a filling is there.
  bool arm_touches(std::size_t arm, const Strand* strands, std::size_t count, const Bodies& bodies) const noexcept;
  bool fills(std::size_t filling, const Strand* strands, std::size_t count, const Bodies& bodies) const noexcept;
  void lay_between(std::size_t filling) noexcept;   // where its arms are and go
  bool parted(std::size_t filling) const noexcept;  // its arms are too far apart for it
  bool is_filling(std::size_t tool) const noexcept { return tools_[tool].filling == tool; }
  enum class Next : std::uint8_t { stay, on, back };
  void place_fillings(Next next) noexcept;
  const Tool& touching(const StrandContact& at) const noexcept { return tools_[active_[at.pair.strand_a]]; }

  std::vector<Tool> tools_;
  std::vector<std::size_t> active_;    ///< those that may touch something, ...
  std::vector<std::size_t> fillings_;  ///< ... and that threads alone may touch
  std::vector<Strand> strands_;        ///< of these
  std::vector<const Vector3d*> trial_;
  ToolContacts contacts_;
};

}  // namespace ligature::contact
