#pragma once
/// The coupling (Delassus) matrix W = J A^-1 J^T: how a force at one contact moves every other, A the linearised
/// implicit step of each thread, J the directions of the contacts (n, t1, t2 of each, rows in that order).
///
///   u_a - u_b at contact i = sum over its vertices v of weight(i, v) x_v      weights of smooth_curve.hpp, minus for b
///
/// and, between strands that friction turns, what the angles of their edges move the surfaces by (turn_at()).
///
/// Differs from the thesis's recursion (Algorithm 1) by its way: the band of every thread is factored anyway, so that
/// what A^-1 has between contacts follows from the factor by back substitution alone (ThreadInverse::couple). Where a
/// thread does not offer that, columns of A^-1 are asked for, only inside the interval that contacts span, several
/// side by side, the fewer of: three for every contact on it, or three for every vertex that contacts touch.
#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/executor.hpp"
#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/strand.hpp"
#include "sim/rod/band.hpp"

namespace ligature::contact {

/// One thread's A^-1, restricted to where contacts are. Windows [first, last] of a closed thread may go round: first >
/// last then.
class ThreadInverse {
 public:
  virtual ~ThreadInverse() = default;
  /// Rows of a vertex in solve_window(), at least 3: its position, then what else is unknown there (an angle).
  virtual std::size_t rows() const noexcept { return 3; }
  /// Makes a window one that solve_window() takes, by widening it.
  virtual void widen(std::size_t& first, std::size_t& last) const noexcept {
    static_cast<void>(first), static_cast<void>(last);
  }
  /// Solves A X = B for `count` right-hand sides that are zero outside the vertices [first, last]; of the answer only
  /// those vertices are asked for. B, X in place: entry (rows() (vertex - first) + axis, k) at b[row count + k].
  /// Several threads may call it at once, each with its own b. @rt no allocation
  virtual void solve_window(double* b, std::size_t count, std::size_t first, std::size_t last) const noexcept = 0;
  /// Adds its share of W to the lower triangle (and maybe more above the diagonal), if it knows a way that is shorter
  /// than by columns: BlockBand::couple().
  /// @param sides first ascending; their weights may be changed                                       (count)
  /// @param work scratch, work_of_couple(count, stride) doubles
  /// @returns false if it does not; nothing is added then. @rt no allocation
  virtual bool couple(rod::ContactSide* sides, std::size_t count, std::size_t contacts, double* w, std::size_t stride,
                      double* work) const noexcept {
    static_cast<void>(sides), static_cast<void>(count), static_cast<void>(contacts), static_cast<void>(w);
    static_cast<void>(stride), static_cast<void>(work);
    return false;
  }
  static constexpr std::size_t work_of_couple(std::size_t count, std::size_t stride) {
    return 128 * (count + 1) + 48 * stride;
  }
};

class Coupling {
 public:
  static constexpr std::size_t kMostContacts = 768;

  /// Takes all memory for so many contacts (kMostContacts at most), on so many vertices of all threads together.
  /// Bytes: 144 most_contacts^2 + 6144 most_vertices.
  Coupling(std::size_t most_contacts, std::size_t most_vertices, std::size_t most_strands);
  std::size_t most_contacts() const noexcept { return most_contacts_; }

  /// Builds W for these contacts and their axes. A contact is on two strands, on one twice, or on one alone (strand_b =
  /// kNoStrand). Every contact's answer has the same bits at any width of the executor.
  /// @param inverses of the strands                                                          (strand_count)
  /// @param axes of each contact, columns n, t1, t2 (W)                                             (count)
  /// @param same_matrix the inverses have not changed since the last build(): what contacts of both calls, same place
  /// and same axes, have to do with each other is kept and not solved again (contacts in ascending order of pairs).
  /// @pre count <= most_contacts()
  /// @rt bounded by count (window + count), no allocation
  void build(const Strand* strands, std::size_t strand_count, const ThreadInverse* const* inverses,
             const StrandContact* contacts, const Eigen::Matrix3d* axes, std::size_t count, Executor& executor,
             bool same_matrix = false) noexcept;

  /// Adds to what the last build() made: how contact j moves contact i, along their axes; and its transpose. Of i = j
  /// the symmetric part. What was added is not kept for the next build(). [mm/uN]
  void add(std::size_t i, std::size_t j, const Eigen::Matrix3d& block) noexcept;

  /// A sum of two rows.
  struct Along {
    std::size_t row[2] = {};
    double share[2] = {1, 0};
    double of(const double* values) const noexcept { return share[0] * values[row[0]] + share[1] * values[row[1]]; }
  };
  /// A spring along a = sum of share e_row, between what these rows are between: W becomes (W^-1 + k a a^T)^-1, and the
  /// motion q without further forces what it is with the spring, which pulls where a.q differs from `at`. A negative
  /// stiffness no further than that a fifth is left of what resists it. @param q (3 count) [mm]
  /// @returns the stiffness that was added [uN/mm]
  double stiffen(const Along& along, double stiffness, double at, double* q) noexcept;
  /// Takes the rows and columns from `count` contacts on out of W; the last of them are copied before by whoever needs
  /// them.
  void keep(std::size_t count) noexcept;

  /// Row by row, symmetric to the bit, zero in the padding; 32-byte aligned rows.         (3 count, stride()) [mm/uN]
  const double* w() const noexcept { return w_.data()->v; }
  /// A multiple of 4, at least 3 count.
  std::size_t stride() const noexcept { return stride_; }
  /// Right-hand sides that the last build() solved.
  std::size_t columns_solved() const noexcept { return columns_solved_; }

 private:
  struct alignas(64) Line {
    double v[8];
  };
  /// A contact as one of its strands sees it.
  struct Touch {
    std::uint32_t contact = 0;
    std::uint32_t ends = 0;  ///< 3, or 6: both sides are of this strand
    std::uint32_t vertex[6] = {};
    double weight[6] = {};
    Turn turn[2];  ///< of each side, weights signed as those are
  };
  /// What W is of, to find again.
  struct Known {
    EdgePair pair;
    double sa, sb, most_cut;
    Eigen::Matrix3d axes;
  };
  struct Work;

  std::size_t keep_known(const StrandContact* contacts, const Eigen::Matrix3d* axes, std::size_t count,
                         bool same_matrix) noexcept;
  void list_touches(std::size_t strand, const Strand& shape, const StrandContact* contacts, std::size_t count,
                    Work& work) noexcept;
  void find_window(const Strand& shape, Work& work) noexcept;
  bool couple_sides(const Strand& shape, const Work& work) noexcept;
  template <class Visit>
  static void visit_turns(const Touch& touch, const Eigen::Matrix3d& axes, const Visit& visit);
  static void solve_part(void* work, std::size_t part) noexcept;
  static void combine_part(void* work, std::size_t part) noexcept;
  static void mirror_part(void* work, std::size_t part) noexcept;
  double* entry(std::size_t row, std::size_t column) noexcept { return w_.data()->v + row * stride_ + column; }
  void put(const double* block, std::size_t block_stride, std::size_t i, std::size_t j, bool add) noexcept;

  std::size_t most_contacts_ = 0, most_vertices_ = 0;
  std::vector<Line> w_;
  std::size_t stride_ = 0, count_ = 0, columns_solved_ = 0;
  std::size_t known_count_ = 0;           ///< of known_ that hold
  std::vector<Known> known_;              ///< of the last build()                                    (contacts)
  std::vector<unsigned char> is_new_;     ///< contact's rows and columns are to be solved            (contacts)
  std::vector<std::uint32_t> kept_from_;  ///< contact's number in the last build()                   (contacts)
  std::vector<Touch> touches_;            ///< of the strand at hand                                  (contacts)
  std::vector<std::uint32_t> solved_;     ///< touches that are new                                   (contacts)
  std::vector<std::uint32_t> column_of_;  ///< vertex's number among those touched, or what marks it  (vertices)
  std::vector<std::uint32_t> touched_;    ///< vertices that new contacts touch                       (vertices)
  std::vector<rod::ContactSide> sides_;   ///< of the strand at hand                                  (2 contacts)
  std::vector<Line> tiles_;               ///< right-hand sides, a tile for each slot; or scratch of couple()
  std::size_t tile_lines_ = 0;
  std::vector<Line> responses_;  ///< of contacts to forces on vertices, where columns are vertices'
};

}  // namespace ligature::contact
