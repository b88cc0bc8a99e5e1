#include "sim/contact/coupling.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "sim/contact/smooth_curve.hpp"
#include "sim/rod/lanes.hpp"

namespace ligature::contact {
namespace {

using rod::lanes::kLanes;
using rod::lanes::load;
using rod::lanes::spread;
using rod::lanes::store;
using rod::lanes::Wide;
using std::size_t;

constexpr size_t kGroup = 8;             // contacts, or vertices, of a tile
constexpr size_t kColumns = 3 * kGroup;  // right-hand sides side by side
constexpr size_t kSlots = 8;             // tiles at once: more than there are cores, so that they end together
constexpr size_t kMirrorRows = 48;
constexpr std::uint32_t kUntouched = 0xffffffffu;
constexpr double kLeastLeft = 0.2;  // of what resists it, beside a negative spring

constexpr size_t padded(size_t n, size_t to) {
  return (n + to - 1) / to * to;
}

// c + a b; fused by name only, so that debug and release builds round alike.
inline Wide plus(const Wide& c, const Wide& a, const Wide& b) {
#ifdef __FMA__
  return _mm256_fmadd_pd(a, b, c);
#else
  return c + a * b;
#endif
}

// out[axis] = axes^T sum of weight (three rows of x), `columns` rounded up to whole lanes.
template <size_t Ends>
void combine(const double* const* x, size_t stride, const double* weight, const Eigen::Matrix3d& axes, size_t columns,
             double* out, size_t out_stride, bool add) {
  for (size_t k = 0; k < columns; k += kLanes) {
    Wide sum[3];
    for (size_t c = 0; c < 3; ++c) {
      sum[c] = spread(weight[0]) * load(x[0] + c * stride + k);
      for (size_t e = 1; e < Ends; ++e) sum[c] = plus(sum[c], spread(weight[e]), load(x[e] + c * stride + k));
    }
    for (int a = 0; a < 3; ++a) {
      Wide t = spread(axes(0, a)) * sum[0];
      t = plus(t, spread(axes(1, a)), sum[1]);
      t = plus(t, spread(axes(2, a)), sum[2]);
      double* to = out + static_cast<size_t>(a) * out_stride + k;
      store(to, add ? load(to) + t : t);
    }
  }
}
void combine(size_t ends, const double* const* x, size_t stride, const double* weight, const Eigen::Matrix3d& axes,
             size_t columns, double* out, size_t out_stride, bool add) {
  ends == 3 ? combine<3>(x, stride, weight, axes, columns, out, out_stride, add)
            : combine<6>(x, stride, weight, axes, columns, out, out_stride, add);
}

}  // namespace

/// One strand's share.
struct Coupling::Work {
  Coupling* self = nullptr;
  const ThreadInverse* inverse = nullptr;
  const Eigen::Matrix3d* axes = nullptr;
  size_t vertices = 0;         // of the strand
  size_t first = 0, last = 0;  // window
  size_t rows = 0;             // of a vertex
  size_t touches = 0;          // contacts on the strand
  size_t solved = 0;           // those that are new
  size_t touched = 0;          // vertices that these touch
  bool by_vertex = false;      // what the columns are of
  bool all = false;            // every contact is on the strand, and new
  bool add = false;            // other strands give to the same entries
  bool turns = false;          // contacts turn it
  size_t response_stride = 0;

  size_t local(size_t vertex) const { return vertex >= first ? vertex - first : vertex + vertices - first; }
  size_t window() const { return local(last) + 1; }
  size_t groups() const { return (by_vertex ? touched : solved); }
  size_t tiles() const { return (groups() + kGroup - 1) / kGroup; }
};

Coupling::Coupling(size_t most_contacts, size_t most_vertices, size_t most_strands)
    : most_contacts_(std::min(most_contacts, kMostContacts)), most_vertices_(most_vertices) {
  static_cast<void>(most_strands);
  const size_t n = most_contacts_, side = padded(3 * n, 8);
  w_.resize(3 * n * side / 8 + 1);
  known_.resize(n);
  is_new_.resize(n);
  kept_from_.resize(n);
  touches_.resize(n);
  solved_.resize(n);
  column_of_.resize(most_vertices);
  touched_.resize(4 * n);
  tile_lines_ = (4 * most_vertices * kColumns) / 8 + 1;
  sides_.resize(2 * n);
  const size_t scratch = ThreadInverse::work_of_couple(2 * n, padded(3 * n, 4)) / 8 + 1;
  tiles_.resize(std::max(kSlots * tile_lines_, scratch));
  responses_.resize(3 * n * side / 8 + 1);
}

// Entries (i, j) of the contacts' blocks, i >= j: from where they were to where they are now.
size_t Coupling::keep_known(const StrandContact* contacts, const Eigen::Matrix3d* axes, size_t count,
                            bool same_matrix) noexcept {
  size_t kept = 0;
  std::fill_n(is_new_.begin(), count, static_cast<unsigned char>(1));
  if (same_matrix) {
    size_t old = 0;
    for (size_t i = 0; i < count; ++i) {
      while (old < known_count_ && known_[old].pair < contacts[i].pair) ++old;
      if (old == known_count_) break;
      const Known& known = known_[old];
      if (known.pair == contacts[i].pair && known.sa == contacts[i].sa && known.sb == contacts[i].sb &&
          known.most_cut == contacts[i].most_cut && known.axes == axes[i]) {
        is_new_[i] = 0;
        kept_from_[i] = static_cast<std::uint32_t>(old++);
        ++kept;
      }
    }
  }
  const size_t before = stride_, after = padded(3 * count, 4), between = std::min(before, after);
  if (kept > 0) {
    double* w = w_.data()->v;
    // Together first, nothing past where it was; then apart, nothing before where it is.
    size_t row = 0;
    for (size_t i = 0; i < count; ++i) {
      if (is_new_[i]) continue;
      for (size_t a = 0; a < 3; ++a, ++row) {
        size_t column = 0;
        for (size_t j = 0; j <= i; ++j) {
          if (is_new_[j]) continue;
          const double* from = w + (3 * kept_from_[i] + a) * before + 3 * kept_from_[j];
          std::memmove(w + row * between + column, from, 3 * sizeof(double));
          column += 3;
        }
      }
    }
    for (size_t i = count; i-- > 0;) {
      if (is_new_[i]) continue;
      for (size_t a = 3; a-- > 0;) {
        --row;
        size_t column = 3 * (row / 3 + 1);
        for (size_t j = i + 1; j-- > 0;) {
          if (is_new_[j]) continue;
          column -= 3;
          std::memmove(w + (3 * i + a) * after + 3 * j, w + row * between + column, 3 * sizeof(double));
        }
      }
    }
  }
  for (size_t i = 0; i < count; ++i)
    known_[i] = {contacts[i].pair, contacts[i].sa, contacts[i].sb, contacts[i].most_cut, axes[i]};
  known_count_ = count;
  stride_ = after;
  count_ = count;
  return kept;
}

void Coupling::list_touches(size_t strand, const Strand& shape, const StrandContact* contacts, size_t count,
                            Work& work) noexcept {
  work.touches = work.solved = 0;
  work.turns = false;
  for (size_t i = 0; i < count; ++i) {
    const StrandContact& c = contacts[i];
    const bool on_a = c.pair.strand_a == strand, on_b = c.pair.strand_b == strand;
    if (!on_a && !on_b) continue;
    Touch& t = touches_[work.touches];
    t.contact = static_cast<std::uint32_t>(i);
    t.ends = 0;
    t.turn[0] = t.turn[1] = {};
    const bool turns = shape.turns && c.pair.strand_b != kNoStrand;
    work.turns |= turns;
    const auto side = [&](size_t edge, double s, double sign) {
      const Blend b = c.kind == StrandContact::Kind::slope ? slope_at(shape, edge, s) : blend_of(c, shape, edge, s);
      if (turns) {
        Turn& turn = t.turn[t.ends / 3];
        turn = turn_at(shape, edge, s, -sign * c.normal);
        for (double& weight : turn.weight) weight *= sign;
      }
      for (std::uint32_t k = 0; k < 3; ++k) {
        t.vertex[t.ends] = b.vertex[k];
        t.weight[t.ends++] = sign * b.weight[k];
      }
    };
    if (on_a) side(c.pair.edge_a, c.sa, 1);
    if (on_b) side(c.pair.edge_b, c.sb, -1);
    if (is_new_[i]) solved_[work.solved++] = static_cast<std::uint32_t>(work.touches);
    ++work.touches;
  }
}

// The shortest window with every vertex that is touched; the vertices that columns may be of, along it.
void Coupling::find_window(const Strand& shape, Work& work) noexcept {
  constexpr std::uint32_t kOld = 0, kNew = 1;
  const size_t n = shape.vertices;
  std::fill_n(column_of_.begin(), n, kUntouched);
  for (size_t t = 0; t < work.touches; ++t)
    for (size_t e = 0; e < touches_[t].ends; ++e) {
      std::uint32_t& mark = column_of_[touches_[t].vertex[e]];
      if (is_new_[touches_[t].contact])
        mark = kNew;
      else if (mark == kUntouched)
        mark = kOld;
    }
  const auto is_touched = [&](size_t v) { return column_of_[v] != kUntouched; };
  size_t first = 0, last = n - 1;
  while (!is_touched(first)) ++first;
  while (!is_touched(last)) --last;
  if (shape.closed) {  // all but the longest gap
    size_t gap = first + n - last, from = last;
    const size_t lowest = first, highest = last;
    for (size_t v = lowest, before = lowest; v <= highest; ++v) {
      if (!is_touched(v)) continue;
      if (v - before > gap) {
        gap = v - before;
        from = before;
      }
      before = v;
    }
    last = from;
    first = from + gap >= n ? from + gap - n : from + gap;
  }
  work.vertices = n;
  work.first = first;
  work.last = last;
  work.inverse->widen(work.first, work.last);
  work.touched = 0;
  for (size_t v = work.first, k = work.window(); k-- > 0; v = shape.next(v))
    if (column_of_[v] == kNew) {
      column_of_[v] = static_cast<std::uint32_t>(work.touched);
      touched_[work.touched++] = static_cast<std::uint32_t>(v);
    }
}

void Coupling::build(const Strand* strands, size_t strand_count, const ThreadInverse* const* inverses,
                     const StrandContact* contacts, const Eigen::Matrix3d* axes, size_t count, Executor& executor,
                     bool same_matrix) noexcept {
  assert(count <= most_contacts_);
  count = std::min(count, most_contacts_);
  columns_solved_ = 0;
  const size_t kept = keep_known(contacts, axes, count, same_matrix);
  if (count == 0) return;

  size_t only = kNoStrand;  // the strand that all contacts are on and no other
  bool one = true;
  for (size_t i = 0; i < count && one; ++i) {
    if (i == 0) only = contacts[i].pair.strand_a;
    one = contacts[i].pair.strand_a == only &&
          (contacts[i].pair.strand_b == only || contacts[i].pair.strand_b == kNoStrand);
  }
  if (!one || kept == 0)
    for (size_t i = 0; i < count; ++i) {
      if (is_new_[i]) {
        for (size_t a = 0; a < 3; ++a) std::fill_n(entry(3 * i + a, 0), 3 * i + 3, 0.0);
      } else {
        for (size_t j = 0; j < i; ++j)
          if (is_new_[j])
            for (size_t a = 0; a < 3; ++a) std::fill_n(entry(3 * i + a, 3 * j), 3, 0.0);
      }
    }

  for (size_t s = 0; s < strand_count && kept < count; ++s) {
    if (one && s != only) continue;
    Work work;
    work.self = this;
    work.inverse = inverses[s];
    work.axes = axes;
    list_touches(s, strands[s], contacts, count, work);
    if (work.solved == 0) continue;
    if (kept == 0 && couple_sides(strands[s], work)) continue;
    find_window(strands[s], work);
    assert(work.window() <= most_vertices_);
    work.rows = work.inverse->rows();
    assert(work.rows >= 3 && work.rows <= 4);
    work.all = work.touches == count && kept == 0;
    work.add = !one;
    work.by_vertex = work.touched < work.solved && !work.turns;
    work.response_stride = padded(3 * work.touches, 4);
    columns_solved_ += 3 * work.groups();
    executor.run(std::min(kSlots, work.tiles()), &Coupling::solve_part, &work);
    if (work.by_vertex)
      executor.run(std::min(kSlots, (work.solved + kGroup - 1) / kGroup), &Coupling::combine_part, &work);
  }

  Work work;
  work.self = this;
  executor.run((3 * count + kMirrorRows - 1) / kMirrorRows, &Coupling::mirror_part, &work);
}

void Coupling::add(size_t i, size_t j, const Eigen::Matrix3d& block) noexcept {
  known_count_ = 0;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) {
      const double value = i == j ? 0.5 * (block(r, c) + block(c, r)) : block(r, c);
      const auto row = static_cast<size_t>(r), column = static_cast<size_t>(c);
      *entry(3 * i + row, 3 * j + column) += value;
      if (i != j) *entry(3 * j + column, 3 * i + row) += value;
    }
}

double Coupling::stiffen(const Along& along, double stiffness, double at, double* q) noexcept {
  known_count_ = 0;
  const size_t size = 3 * count_;
  double* column = responses_.data()->v;
  for (size_t i = 0; i < size; ++i) column[i] = along.of(entry(i, 0));
  const double yields = along.of(column);
  if (!(yields > 0)) return 0;
  stiffness = std::max(stiffness, (kLeastLeft - 1) / yields);
  const double part = stiffness / (1 + stiffness * yields), off = along.of(q) - at;
  for (size_t i = 0; i < size; ++i) {
    q[i] -= part * column[i] * off;
    double* const row = entry(i, 0);  // whole rows: both triangles come to the same bits
    const double own = column[i];
    for (size_t j = 0; j < size; ++j) row[j] -= part * (own * column[j]);
  }
  return stiffness;
}

void Coupling::keep(size_t count) noexcept {
  known_count_ = 0;
  for (size_t i = 0; i < 3 * count; ++i)
    for (size_t j = 3 * count; j < 3 * count_; ++j) *entry(i, j) = 0;
  count_ = std::min(count_, count);
}

// Contact i's block of how contact j moves it, into the lower triangle.
void Coupling::put(const double* block, size_t block_stride, size_t i, size_t j, bool add) noexcept {
  for (size_t r = 0; r < 3; ++r)
    for (size_t c = 0; c < 3; ++c) {
      const double value = block[r * block_stride + c];
      double* to = i >= j ? entry(3 * i + r, 3 * j + c) : entry(3 * j + c, 3 * i + r);
      *to = add ? *to + value : value;
    }
}

// W's share of a strand that knows a short way. False where it does not.
bool Coupling::couple_sides(const Strand& shape, const Work& work) noexcept {
  if (shape.closed || shape.vertices < 3) return false;
  const auto last = static_cast<std::uint32_t>(shape.vertices - 3);
  size_t count = 0;
  for (size_t t = 0; t < work.touches; ++t) {
    const Touch& touch = touches_[t];
    for (size_t e = 0; e < touch.ends; e += 3) {
      rod::ContactSide& side = sides_[count++];
      side = {std::min(touch.vertex[e], last), touch.contact, {}, work.axes[touch.contact].data(), {}, {}};
      for (size_t k = e; k < e + 3; ++k) side.weight[touch.vertex[k] - side.first] += touch.weight[k];
      if (!work.turns) continue;
      const Turn& turn = touch.turn[e / 3];
      for (size_t k = 0; k < 2; ++k)
        if (turn.weight[k] != 0) side.turn[turn.edge[k] - side.first] += turn.weight[k];
      const Eigen::Vector3d arm = work.axes[touch.contact].transpose() * turn.arm;
      std::copy_n(arm.data(), 3, side.arm);
    }
  }
  std::sort(sides_.begin(), sides_.begin() + static_cast<std::ptrdiff_t>(count), [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    return a.contact != b.contact ? a.contact < b.contact : a.weight[1] < b.weight[1];
  });
  return work.inverse->couple(sides_.data(), count, count_, w_.data()->v, stride_, tiles_.data()->v);
}

// visit(edge, what an angle of it moves the contact by, along the contact's axes)
template <class Visit>
void Coupling::visit_turns(const Touch& touch, const Eigen::Matrix3d& axes, const Visit& visit) {
  for (size_t side = 0; 3 * side < touch.ends; ++side) {
    const Turn& turn = touch.turn[side];
    const Eigen::Vector3d arm = axes.transpose() * turn.arm;
    for (size_t k = 0; k < 2; ++k)
      if (turn.weight[k] != 0) visit(turn.edge[k], turn.weight[k] * arm);
  }
}

void Coupling::solve_part(void* context, size_t part) noexcept {
  const Work& work = *static_cast<const Work*>(context);
  Coupling& self = *work.self;
  double* b = self.tiles_[part * self.tile_lines_].v;
  const size_t parts = std::min(kSlots, work.tiles());
  for (size_t tile = part; tile < work.tiles(); tile += parts) {
    const size_t first = tile * kGroup, group = std::min(kGroup, work.groups() - first);
    const size_t columns = padded(3 * group, 8);
    std::memset(b, 0, work.window() * work.rows * columns * sizeof(double));
    const auto row = [&](size_t vertex) { return b + work.local(vertex) * work.rows * columns; };
    for (size_t g = 0; g < group; ++g) {
      if (work.by_vertex) {
        for (size_t c = 0; c < 3; ++c) row(self.touched_[first + g])[c * columns + 3 * g + c] = 1;
      } else {
        const Touch& t = self.touches_[self.solved_[first + g]];
        const Eigen::Matrix3d& axes = work.axes[t.contact];
        for (size_t e = 0; e < t.ends; ++e)
          for (int c = 0; c < 3; ++c)
            for (int a = 0; a < 3; ++a)
              row(t.vertex[e])[static_cast<size_t>(c) * columns + 3 * g + static_cast<size_t>(a)] +=
                  t.weight[e] * axes(c, a);
        if (work.turns)
          visit_turns(t, axes, [&](std::uint32_t edge, const Eigen::Vector3d& per_angle) {
            for (int a = 0; a < 3; ++a) row(edge)[3 * columns + 3 * g + static_cast<size_t>(a)] += per_angle[a];
          });
      }
    }
    work.inverse->solve_window(b, columns, work.first, work.last);

    for (size_t i = !work.by_vertex && work.all ? first : 0; i < work.touches; ++i) {
      const Touch& t = self.touches_[i];
      const double* x[6] = {};
      for (size_t e = 0; e < t.ends; ++e) x[e] = row(t.vertex[e]);
      const Eigen::Matrix3d& axes = work.axes[t.contact];
      if (!work.by_vertex && work.all && !work.turns) {
        combine(t.ends, x, columns, t.weight, axes, 3 * group, self.entry(3 * t.contact, 3 * first), self.stride_,
                work.add);
        continue;
      }
      double out[3 * kColumns];
      combine(t.ends, x, columns, t.weight, axes, columns, out, columns, false);
      if (work.turns)
        visit_turns(t, axes, [&](std::uint32_t edge, const Eigen::Vector3d& per_angle) {
          for (size_t a = 0; a < 3; ++a)
            for (size_t k = 0; k < 3 * group; ++k)
              out[a * columns + k] += per_angle[static_cast<Eigen::Index>(a)] * row(edge)[3 * columns + k];
        });
      if (work.by_vertex) {
        double* to = self.responses_.data()->v + 3 * first * work.response_stride + 3 * i;
        for (size_t k = 0; k < 3 * group; ++k)
          for (size_t a = 0; a < 3; ++a) to[k * work.response_stride + a] = out[a * columns + k];
      } else {
        for (size_t g = 0; g < group; ++g) {
          const size_t j = self.touches_[self.solved_[first + g]].contact;
          if (t.contact >= j || !self.is_new_[t.contact]) self.put(out + 3 * g, columns, t.contact, j, work.add);
        }
      }
    }
  }
}

// From the responses to forces on vertices, those to forces at the new contacts.
void Coupling::combine_part(void* context, size_t part) noexcept {
  const Work& work = *static_cast<const Work*>(context);
  Coupling& self = *work.self;
  const size_t parts = std::min(kSlots, (work.solved + kGroup - 1) / kGroup), stride = work.response_stride;
  double out[3 * 3 * kMostContacts];
  for (size_t s = part; s < work.solved; s += parts) {
    const size_t number = self.solved_[s];
    const Touch& t = self.touches_[number];
    const double* x[6] = {};
    for (size_t e = 0; e < t.ends; ++e) x[e] = self.responses_.data()->v + 3 * self.column_of_[t.vertex[e]] * stride;
    const Eigen::Matrix3d& axes = work.axes[t.contact];
    if (work.all) {
      combine(t.ends, x, stride, t.weight, axes, 3 * number + 3, self.entry(3 * t.contact, 0), self.stride_, work.add);
      continue;
    }
    combine(t.ends, x, stride, t.weight, axes, stride, out, stride, false);
    for (size_t i = 0; i < work.touches; ++i) {
      const size_t other = self.touches_[i].contact;
      if (other > t.contact && self.is_new_[other]) continue;
      double transposed[9];  // of the other by this one
      for (size_t r = 0; r < 3; ++r)
        for (size_t c = 0; c < 3; ++c) transposed[3 * r + c] = out[c * stride + 3 * i + r];
      self.put(transposed, 3, other, t.contact, work.add);
    }
  }
}

void Coupling::mirror_part(void* context, size_t part) noexcept {
  Coupling& self = *static_cast<const Work*>(context)->self;
  const size_t size = 3 * self.count_, stride = self.stride_;
  const size_t first = part * kMirrorRows, end = std::min(first + kMirrorRows, size);
  double* w = self.w_.data()->v;
  // The rows of the upper triangle, read from columns of the lower in small squares.
  constexpr size_t kSquare = 8;
  for (size_t r0 = first; r0 < end; r0 += kSquare)
    for (size_t c0 = r0; c0 < size; c0 += kSquare)
      for (size_t r = r0; r < std::min(r0 + kSquare, end); ++r)
        for (size_t c = std::max(c0, r + 1); c < std::min(c0 + kSquare, size); ++c)
          w[r * stride + c] = w[c * stride + r];
  for (size_t r = first; r < end; ++r) std::fill(w + r * stride + size, w + (r + 1) * stride, 0.0);
}

}  // namespace ligature::contact
