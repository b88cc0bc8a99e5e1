#include "sim/rod/band.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#ifdef __SSE2__
#include <immintrin.h>
#endif

// Loops over a block's rows: written out whole, their values stay in registers (3 times faster; GCC stops at fewer).
// Under a sanitizer, where that takes minutes to compile, they stay loops.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNROLL
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

namespace ligature::rod {
namespace {

using std::size_t;

// GNU vectors: one register where the machine has it, plain code elsewhere.
using Two = double __attribute__((vector_size(16)));
#ifdef __AVX__
using Wide = double __attribute__((vector_size(32)));
#else
using Wide = Two;
#endif
constexpr size_t kWide = sizeof(Wide) / sizeof(double);

// c - a b. Fused here only, and by name, so that debug and release builds round alike.
#ifdef __FMA__
inline double less(double c, double a, double b) {
  return __builtin_fma(-a, b, c);
}
inline Two less(Two c, Two a, Two b) {
  return _mm_fnmadd_pd(a, b, c);
}
inline Wide less(Wide c, Wide a, Wide b) {
  return _mm256_fnmadd_pd(a, b, c);
}
#else
template <class T>
inline T less(T c, T a, T b) {
  return c - a * b;
}
#endif

template <class T>
inline T load(const double* from) {
  T t;
  std::memcpy(&t, from, sizeof t);
  return t;
}
template <class T>
inline void store(double* to, T t) {
  std::memcpy(to, &t, sizeof t);
}

inline bool all_above(Two t, double least) {
#ifdef __SSE2__
  return _mm_movemask_pd(_mm_cmpgt_pd(t, _mm_set1_pd(least))) == 3;
#else
  return t[0] > least && t[1] > least;
#endif
}

// The substitutions are written once, over a view that says how a factor's entry and a right-hand side's row are read.

// One right-hand side, both ends of the chain as the two lanes. Balanced: one phantom at most, the back's first.
template <int D, bool Balanced, class Rows>
struct BothEnds {
  using Value = Two;
  Rows rows;
  size_t front_phantoms, back_phantoms;  // columns at the beginning that are not there
  size_t last;                           // chain vertex of the back's column 0

  static Value zero() { return Value{}; }
  static Value entry(const double (&pair)[2]) { return load<Two>(pair); }
  double& front(size_t p, int r) const { return *rows.at(Balanced ? p : p - front_phantoms, r); }
  double& back(size_t p, int r) const { return *rows.at(last - p, r); }
  bool has_front(size_t p) const { return Balanced || p >= front_phantoms; }
  bool has_back(size_t p) const { return Balanced ? p != 0 || back_phantoms == 0 : p >= back_phantoms; }
  void prefetch(size_t) const {}
  Value get(size_t p, int r) const { return Value{has_front(p) ? front(p, r) : 0.0, has_back(p) ? back(p, r) : 0.0}; }
  void set(size_t p, int r, Value v) const {
    if (has_front(p)) front(p, r) = v[0];
    if (has_back(p)) back(p, r) = v[1];
  }
};

// kTile right-hand sides side by side.
constexpr size_t kTile = 2 * kWide;
constexpr size_t kAhead = 6;  // vertices between prefetch and use
struct Tile {
  Wide v[2];
};
inline Wide spread(double x) {
  Wide w{};
  for (size_t i = 0; i < kWide; ++i) w[i] = x;
  return w;
}
inline Tile load_tile(const double* from) {
  return {{load<Wide>(from), load<Wide>(from + kWide)}};
}
inline void store_tile(double* to, const Tile& t) {
  store(to, t.v[0]);
  store(to + kWide, t.v[1]);
}
// The first `count` of a tile, the others zero.
template <bool Whole>
inline Tile get_tile(const double* from, size_t count) {
  if constexpr (Whole) return load_tile(from);
  double all[kTile] = {};
  for (size_t i = 0; i < count; ++i) all[i] = from[i];
  return load_tile(all);
}
template <bool Whole>
inline void set_tile(double* to, const Tile& t, size_t count) {
  if constexpr (Whole) return store_tile(to, t);
  double all[kTile];
  store_tile(all, t);
  for (size_t i = 0; i < count; ++i) to[i] = all[i];
}
inline Tile less(const Tile& c, double a, const Tile& b) {
  const Wide w = spread(a);
  return {{less(c.v[0], w, b.v[0]), less(c.v[1], w, b.v[1])}};
}
inline Tile operator+(const Tile& a, const Tile& b) {
  return {{a.v[0] + b.v[0], a.v[1] + b.v[1]}};
}
inline Tile operator*(const Tile& a, double b) {
  const Wide w = spread(b);
  return {{a.v[0] * w, a.v[1] * w}};
}

// One end of the chain. Its vertices only, no phantoms. Whole: all of a tile is there, else `count` of it.
template <int D, int Lane, bool Whole, class Rows>
struct OneEnd {
  using Value = Tile;
  Rows rows;
  size_t zero_vertex;  // chain vertex of column 0
  size_t count;

  static Value zero() { return Value{}; }
  static double entry(const double (&pair)[2]) { return pair[Lane]; }
  double* row(size_t p, int r) const { return rows.at(Lane ? zero_vertex - p : p - zero_vertex, r); }
  // Rows of many right-hand sides lie pages apart, which the processor does not foresee.
  void prefetch(size_t p) const {
    if constexpr (Whole)
      for (int r = 0; r < D; ++r) {
        __builtin_prefetch(row(p, r), 1);
        __builtin_prefetch(row(p, r) + kTile - 1, 1);
      }
  }
  Value get(size_t p, int r) const { return get_tile<Whole>(row(p, r), count); }
  void set(size_t p, int r, const Value& v) const { set_tile<Whole>(row(p, r), v, count); }
  bool is_zero(size_t p) const {
    std::uint64_t bits = 0;
    for (int r = 0; r < D; ++r) {
      std::uint64_t of_row[kTile];
      const Tile t = get(p, r);
      std::memcpy(of_row, &t, sizeof of_row);
      for (const std::uint64_t x : of_row) bits |= x;
    }
    return bits == 0;
  }
};

// Dense L D L^T of the leading n of the core; 1 / pivot on the diagonal. @return pivots raised
template <size_t N>
int factor_core(std::array<std::array<double, N>, N>& a, size_t n, double least) {
  int raised = 0;
  for (size_t k = 0; k < n; ++k) {
    if (!(a[k][k] > least)) {
      a[k][k] = least, ++raised;
      for (size_t r = k + 1; r < n; ++r) a[r][k] = 0;
    }
    const double inverse = 1.0 / a[k][k];
    for (size_t r = k + 1; r < n; ++r) {
      const double l = a[r][k] * inverse;
      for (size_t c = k + 1; c <= r; ++c) a[r][c] = less(a[r][c], l, a[c][k]);
    }
    for (size_t r = k + 1; r < n; ++r) a[r][k] *= inverse;
    a[k][k] = inverse;
  }
  return raised;
}

template <size_t N, class Value>
void solve_core(const std::array<std::array<double, N>, N>& a, size_t n, Value* y) {
  for (size_t k = 0; k < n; ++k)
    for (size_t r = k + 1; r < n; ++r) y[r] = less(y[r], a[r][k], y[k]);
  for (size_t k = 0; k < n; ++k) y[k] = y[k] * a[k][k];
  for (size_t k = n; k-- > 0;)
    for (size_t r = n; --r > k;) y[k] = less(y[k], a[r][k], y[r]);
}

}  // namespace

template <int D>
BlockBand<D>::BlockBand(size_t most) : columns_(std::max<size_t>(most, 2) - 2), border_((most + 1) / 2) {
  restart(most, false);
}

template <int D>
BlockBand<D>& BlockBand<D>::operator=(const BlockBand& other) {
  if (this == &other) return *this;
  const auto used = static_cast<std::ptrdiff_t>(other.half_);
  if (columns_.size() == other.columns_.size()) {
    std::copy_n(other.columns_.begin(), used, columns_.begin());
    if (other.closed_) std::copy_n(other.border_.begin(), used, border_.begin());
  } else {
    columns_ = other.columns_;
    border_ = other.border_;
  }
  vertices_ = other.vertices_;
  closed_ = other.closed_;
  origin_ = other.origin_;
  chain_ = other.chain_;
  front_ = other.front_;
  half_ = other.half_;
  front_phantoms_ = other.front_phantoms_;
  back_phantoms_ = other.back_phantoms_;
  last_ = other.last_;
  core_ = other.core_;
  return *this;
}

template <int D>
void BlockBand<D>::restart(size_t vertices, bool closed, size_t middle) noexcept {
  assert((!closed || vertices >= kFewestClosed) && (middle == kBalanced || middle < vertices));
  vertices_ = vertices;
  closed_ = closed;
  chain_ = vertices - (closed ? 2 : 0);
  front_ = chain_ > 2 ? (chain_ + 1) / 2 - 1 : 0;
  origin_ = 0;
  if (middle != kBalanced && closed) origin_ = middle >= front_ ? middle - front_ : middle + vertices - front_;
  if (middle != kBalanced && !closed && chain_ > 2) front_ = std::min(middle, chain_ - 2);
  const size_t back = chain_ > 2 ? chain_ - 2 - front_ : 0;
  half_ = std::max(front_, back);
  assert(half_ <= columns_.size() && (!closed || half_ <= border_.size()));
  front_phantoms_ = half_ - front_;
  back_phantoms_ = half_ - back;
  last_ = chain_ + back_phantoms_ - 1;
  if (half_ > 0) {
    std::memset(columns_.data(), 0, half_ * sizeof(Columns));
    if (closed) std::memset(border_.data(), 0, half_ * sizeof(BorderRows));
  }
  core_ = {};
}

template <int D>
double& BlockBand<D>::entry(size_t r, size_t c) noexcept {
  r = D * chained(r / D) + r % D;
  c = D * chained(c / D) + c % D;
  // Where the unknown stands: in the chain's front, its back, or the core.
  const auto end_of = [&](size_t v) { return in_front(v) ? 0 : in_back(v) ? 1 : 2; };
  const auto in_core = [&](size_t x) { return static_cast<size_t>(core_place(x / D)) + x % D; };
  // The column is the one that is eliminated first.
  const auto rank = [&](size_t v) {
    const int end = end_of(v);
    return end == 0 ? v : end == 1 ? last_ - v : 2 * vertices_ + v;
  };
  if (rank(r / D) < rank(c / D) || (r / D == c / D && r < c)) std::swap(r, c);
  const size_t row = r / D, column = c / D;
  const int end = end_of(column);
  if (end == 2) return core_[std::max(in_core(r), in_core(c))][std::min(in_core(r), in_core(c))];
  const size_t p = end == 0 ? front_column(column) : back_column(column);
  const int in_column = static_cast<int>(c % D);
  if (row >= chain_) return border_[p].at[static_cast<int>(D * (row - chain_) + r % D) * D + in_column][end];
  const size_t apart = end == 0 ? row - column : column - row;
  return columns_[p].at[place(static_cast<int>(D * apart + r % D), in_column)][end];
}

template <int D>
template <class Visit>
void BlockBand<D>::visit_row(size_t r, Visit&& visit) noexcept {
  const size_t i = r / D;
  const size_t first = closed_ ? i + vertices_ - 2 : i - std::min<size_t>(i, 2);
  const size_t end = closed_ ? i + vertices_ + 3 : std::min(i + 3, vertices_);
  for (size_t j = first; j < end; ++j)
    for (size_t c = 0; c < D; ++c) visit(D * (j % vertices_) + c);
}

template <int D>
void BlockBand<D>::multiply(const double* x, double* y) const noexcept {
  auto& self = const_cast<BlockBand&>(*this);  // entry() only reads here
  for (size_t r = 0; r < D * vertices_; ++r) {
    double sum = 0;
    self.visit_row(r, [&](size_t c) { sum = less(sum, -self.entry(r, c), x[c]); });
    y[r] = sum;
  }
}

template <int D>
void BlockBand<D>::prescribe(size_t row, double value, double* b) noexcept {
  visit_row(row, [&](size_t r) {
    double& a = entry(r, row);
    if (b != nullptr) b[r] = less(b[r], a, value);
    a = 0;
  });
  entry(row, row) = 1;
  if (b != nullptr) b[row] = value;
}

template <int D>
int BlockBand<D>::factor(double floor) noexcept {
  if (vertices_ == 0) return 0;
  const size_t core = closed_ ? 4 * D : 2 * D;
  double largest = 0;
  for (size_t k = 0; k < core; ++k) largest = std::max(largest, core_[k][k]);
  for (size_t p = 0; p < half_; ++p)
    for (int c = 0; c < D; ++c)
      for (const double a : columns_[p].at[place(c, c)]) largest = a > largest ? a : largest;
  const double stands_in = largest > 0 ? largest : 1.0;  // for what is not there
  for (size_t p = 0; p < std::max(front_phantoms_, back_phantoms_); ++p)
    for (int c = 0; c < D; ++c) columns_[p].at[place(c, c)][p < front_phantoms_ ? 0 : 1] = stands_in;
  if (chain_ == 1)
    for (int c = 0; c < D; ++c) core_[D + c][D + c] = stands_in;
  const double least = std::max(floor * largest, 1e-300);
  return closed_ ? eliminate<kBorder>(least) : eliminate<0>(least);
}

template <int D>
template <int X>
int BlockBand<D>::eliminate(double least) noexcept {
  constexpr int kBand = 3 * D, kAll = kBand + X, kNext = 2 * D + X;
  int raised = 0;
  Two carry[kNext][kNext] = {};  // what earlier vertices left of: the vertex, the next, the border; lower triangle
  for (size_t p = 0; p < half_; ++p) {
    auto& at = columns_[p].at;
    // Rows and columns: the vertex, the next two, the border.
    Two a[kAll][D], l[kAll][D], inverse[D];
    const auto less_column = [&](Two t, int r, int c, int k) {
      // The next pivot waits for the last one's inverse alone, not for a product with it too.
      return r == c && r == k + 1 ? less(t, a[r][k] * a[r][k], inverse[k]) : less(t, l[r][k], a[c][k]);
    };
    UNROLL for (int k = 0; k < D; ++k) {
      UNROLL for (int r = k; r < kAll; ++r) {
        Two t = load<Two>(r < kBand ? at[place(r, k)] : border_[p].at[(r - kBand) * D + k]);
        if (r < 2 * D) t += carry[r][k];
        if (r >= kBand) t += carry[r - D][k];
        UNROLL for (int j = 0; j < k; ++j) t = less_column(t, r, k, j);
        a[r][k] = t;
      }
      if (!all_above(a[k][k], least)) [[unlikely]] {
        for (int lane = 0; lane < 2; ++lane) {
          if (a[k][k][lane] > least) continue;
          a[k][k][lane] = least, ++raised;
          for (int r = k + 1; r < kAll; ++r) a[r][k][lane] = 0;
        }
      }
      inverse[k] = 1.0 / a[k][k];
      store(at[place(k, k)], inverse[k]);
      UNROLL for (int r = k + 1; r < kAll; ++r) {
        l[r][k] = a[r][k] * inverse[k];
        store(r < kBand ? at[place(r, k)] : border_[p].at[(r - kBand) * D + k], l[r][k]);
      }
    }
    UNROLL for (int c = D; c < kAll; ++c) {
      UNROLL for (int r = c; r < kAll; ++r) {
        Two t{};
        if (r < 2 * D) t = carry[r][c];
        if (r >= kBand && (c < 2 * D || c >= kBand)) t = carry[r - D][c < 2 * D ? c : c - D];
        UNROLL for (int k = 0; k < D; ++k) t = less_column(t, r, c, k);
        carry[r - D][c - D] = t;
      }
    }
  }
  for (int c = 0; c < 2 * D + X; ++c)
    for (int r = c; r < 2 * D + X; ++r) {
      const Two sum = carry[r][c];
      core_[r][c] += sum[0];
      core_[std::max(mirrored(r), mirrored(c))][std::min(mirrored(r), mirrored(c))] += sum[1];
    }
  return raised + factor_core(core_, 2 * D + X, least);
}

// Leaves y / pivot in b and adds to the core's right-hand side what the chain takes from it: the next two, the border.
template <int D>
template <int X, class View>
void BlockBand<D>::forward(const View& view, size_t begin, typename View::Value* core) const noexcept {
  using Value = typename View::Value;
  constexpr int kBand = 3 * D;
  Value y[kBand], z[X + 1];
  UNROLL for (int r = 0; r < kBand; ++r) y[r] = View::zero();
  UNROLL for (int x = 0; x < X; ++x) z[x] = View::zero();
  for (size_t p = begin; p < half_; ++p) {
    const auto& at = columns_[p].at;
    view.prefetch(std::min(p + kAhead, half_ - 1));
    UNROLL for (int r = 0; r < D; ++r) y[r] = y[r] + view.get(p, r);
    UNROLL for (int k = 0; k < D; ++k) {
      UNROLL for (int r = k + 1; r < kBand; ++r) y[r] = less(y[r], View::entry(at[place(r, k)]), y[k]);
      UNROLL for (int x = 0; x < X; ++x) z[x] = less(z[x], View::entry(border_[p].at[x * D + k]), y[k]);
      view.set(p, k, y[k] * View::entry(at[place(k, k)]));
    }
    UNROLL for (int r = 0; r < 2 * D; ++r) y[r] = y[r + D];
    UNROLL for (int r = 2 * D; r < kBand; ++r) y[r] = View::zero();
  }
  UNROLL for (int r = 0; r < 2 * D; ++r) core[r] = y[r];
  UNROLL for (int x = 0; x < X; ++x) core[2 * D + x] = z[x];
}

template <int D>
template <int X, class View>
void BlockBand<D>::backward(const View& view, size_t begin, const typename View::Value* core) const noexcept {
  using Value = typename View::Value;
  constexpr int kBand = 3 * D;
  Value y[kBand];
  UNROLL for (int r = 0; r < 2 * D; ++r) y[D + r] = core[r];
  for (size_t p = half_; p-- > begin;) {
    const auto& at = columns_[p].at;
    view.prefetch(p > begin + kAhead ? p - kAhead : p);
    UNROLL for (int q = 0; q < D; ++q) {
      const int k = D - 1 - q;
      // The youngest last: then the chain of dependent operations is D a vertex.
      Value sum = view.get(p, k);
      UNROLL for (int x = 0; x < X; ++x) sum = less(sum, View::entry(border_[p].at[x * D + k]), core[2 * D + x]);
      UNROLL for (int i = 0; i < kBand - 1 - k; ++i) {
        const int r = kBand - 1 - i;
        sum = less(sum, View::entry(at[place(r, k)]), y[r]);
      }
      y[k] = sum;
      view.set(p, k, sum);
    }
    UNROLL for (int r = 0; r < 2 * D; ++r) y[kBand - 1 - r] = y[2 * D - 1 - r];
  }
}

template <int D>
template <int X, bool Balanced, bool Turned>
void BlockBand<D>::solve_one(const Rows<Turned>& rows) const noexcept {
  constexpr int kSize = 2 * D + X;
  const BothEnds<D, Balanced, Rows<Turned>> view{rows, front_phantoms_, back_phantoms_, last_};
  const auto row = [&](int r) { return core_row(r, rows); };
  Two ends[kSize];
  forward<X>(view, 0, ends);
  double core[kSize];
  for (int r = 0; r < kSize; ++r) core[r] = ends[r][0] + ends[mirrored(r)][1] + (row(r) ? *row(r) : 0.0);
  solve_core(core_, kSize, core);
  for (int r = 0; r < kSize; ++r) {
    if (row(r)) *row(r) = core[r];
    ends[r] = Two{core[r], core[mirrored(r)]};
  }
  backward<X>(view, 0, ends);
}

template <int D>
template <int X, bool Turned>
void BlockBand<D>::solve_tile(const Rows<Turned>& rows) const noexcept {
  constexpr int kSize = 2 * D + X;
  const OneEnd<D, 0, true, Rows<Turned>> front{rows, front_phantoms_, kTile};
  const OneEnd<D, 1, true, Rows<Turned>> back{rows, last_, kTile};
  const auto row = [&](int r) { return core_row(r, rows); };
  Tile near_sum[kSize], far_sum[kSize], core[kSize];
  forward<X>(front, front_phantoms_, near_sum);
  forward<X>(back, back_phantoms_, far_sum);
  for (int r = 0; r < kSize; ++r) core[r] = near_sum[r] + far_sum[mirrored(r)] + (row(r) ? load_tile(row(r)) : Tile{});
  solve_core(core_, kSize, core);
  for (int r = 0; r < kSize; ++r) {
    if (row(r)) store_tile(row(r), core[r]);
    far_sum[mirrored(r)] = core[r];
  }
  backward<X>(front, front_phantoms_, core);
  backward<X>(back, back_phantoms_, far_sum);
}

template <int D>
template <int X, bool Turned>
void BlockBand<D>::solve_all(double* b, size_t count) const noexcept {
  const bool balanced = front_phantoms_ == 0 && back_phantoms_ <= 1;
  const auto rows = [&](size_t k) { return Rows<Turned>{b + k, count, 0, vertices_ - 1, origin_}; };
  size_t k = 0;
  for (; k + kTile <= count; k += kTile) solve_tile<X>(rows(k));
  for (; k < count; ++k) balanced ? solve_one<X, true>(rows(k)) : solve_one<X, false>(rows(k));
}

template <int D>
void BlockBand<D>::solve(double* b, size_t count) const noexcept {
  if (vertices_ == 0) return;
  if (!closed_)
    solve_all<0, false>(b, count);
  else if (origin_ == 0)
    solve_all<kBorder, false>(b, count);
  else
    solve_all<kBorder, true>(b, count);
}

template <int D>
void BlockBand<D>::widen(size_t& first, size_t& last) const noexcept {
  size_t from = chained(first), to = chained(last);
  if (from > to) {
    from = 0;
    to = vertices_ - 1;
  }
  from = std::min(from, chain_ > 1 ? front_ + 1 : 0);
  to = std::max(to, front_);
  first = from + origin_ < vertices_ ? from + origin_ : from + origin_ - vertices_;
  last = to + origin_ < vertices_ ? to + origin_ : to + origin_ - vertices_;
}

template <int D>
template <int X, bool Whole>
void BlockBand<D>::solve_window_tile(const Rows<false>& rows, size_t count) const noexcept {
  constexpr int kSize = 2 * D + X;
  const OneEnd<D, 0, Whole, Rows<false>> front{rows, front_phantoms_, count};
  const OneEnd<D, 1, Whole, Rows<false>> back{rows, last_, count};
  const auto row = [&](int r) { return core_row(r, rows); };
  const size_t front_end = std::min(front_column(rows.first), half_);
  const size_t back_end = rows.last > front_ + 1 ? back_column(std::min(rows.last, chain_ - 1)) : half_;
  // Where all are still zero, they stay zero on the way to the middle.
  size_t front_begin = front_end, back_begin = back_end;
  while (front_begin < half_ && front.is_zero(front_begin)) ++front_begin;
  while (back_begin < half_ && back.is_zero(back_begin)) ++back_begin;
  Tile near_sum[kSize], far_sum[kSize], core[kSize];
  forward<X>(front, front_begin, near_sum);
  forward<X>(back, back_begin, far_sum);
  for (int r = 0; r < kSize; ++r)
    core[r] = near_sum[r] + far_sum[mirrored(r)] + (row(r) ? get_tile<Whole>(row(r), count) : Tile{});
  solve_core(core_, kSize, core);
  for (int r = 0; r < kSize; ++r) {
    if (row(r)) set_tile<Whole>(row(r), core[r], count);
    far_sum[mirrored(r)] = core[r];
  }
  backward<X>(front, front_end, core);
  backward<X>(back, back_end, far_sum);
}

template <int D>
void BlockBand<D>::solve_window(double* b, size_t count, size_t first, size_t last) const noexcept {
  if (vertices_ == 0) return;
  const size_t from = chained(first), to = chained(last);
  assert(from <= to && from <= front_ + 1 && to >= front_);
  const auto rows = [&](size_t k) { return Rows<false>{b + k, count, from, to}; };
  size_t k = 0;
  for (; k + kTile <= count; k += kTile)
    closed_ ? solve_window_tile<kBorder, true>(rows(k), kTile) : solve_window_tile<0, true>(rows(k), kTile);
  if (k < count)
    closed_ ? solve_window_tile<kBorder, false>(rows(k), count - k) : solve_window_tile<0, false>(rows(k), count - k);
}

// From the middle outwards, columns of the inverse side by side: what the middle's 2D unknowns take along, then three
// of every side that was passed.
template <int D>
template <int Lane>
void BlockBand<D>::couple_end(const ContactSide* sides, size_t count, const double* own, double* w, size_t stride,
                              double* by_middle, double* work) const noexcept {
  const size_t columns = (3 * count + 2 * D + kTile - 1) / kTile * kTile;
  // Rows of three vertices, taken in turn: the one at hand, the next, the one after.
  double* rows[3] = {work, work + D * columns, work + 2 * D * columns};
  double* line = work + 3 * D * columns;  // a side's rows of the matrix
  std::fill_n(work, 3 * D * columns, 0.0);
  for (size_t r = 0; r < 2 * D; ++r) rows[(r < D) == (Lane == 0) ? 1 : 2][r % D * columns + r] = 1;
  size_t active = 2 * D;
  for (size_t p = half_, k = 0; k < count;) {
    --p;
    double l[kColumn];
    UNROLL for (int i = 0; i < kColumn; ++i) l[i] = columns_[p].at[i][Lane];
    for (size_t c = 0; c < active; c += kTile) {
      Tile y[3 * D];
      UNROLL for (int r = D; r < 3 * D; ++r) y[r] = load_tile(rows[r / D] + static_cast<size_t>(r % D) * columns + c);
      UNROLL for (int q = 0; q < D; ++q) {
        const int to = D - 1 - q;
        Tile sum{};
        UNROLL for (int i = 0; i < 3 * D - 1 - to; ++i) {
          const int r = 3 * D - 1 - i;
          sum = less(sum, l[place(r, to)], y[r]);
        }
        y[to] = sum;
        store_tile(rows[0] + static_cast<size_t>(to) * columns + c, sum);
      }
    }
    for (; k < count; ++k) {
      const size_t i = Lane == 0 ? count - 1 - k : k;
      const ContactSide& side = sides[i];
      if ((Lane == 0 ? front_column(side.first) : back_column(side.first + 2)) != p) break;
      for (size_t r = 0; r < 3 * D; ++r)
        for (size_t b = 0; b < 3; ++b) rows[r / D][r % D * columns + active + b] = own[9 * D * i + 3 * r + b];
      active += 3;
      for (size_t c = 0; c < active; c += kTile) {
        Tile at[3], turned{};
        for (size_t axis = 0; axis < 3; ++axis) {
          Tile sum{};
          for (size_t e = 0; e < 3; ++e)
            sum = less(sum, -side.weight[Lane == 0 ? e : 2 - e], load_tile(rows[e] + axis * columns + c));
          at[axis] = sum;
        }
        if constexpr (D == 4)
          for (size_t e = 0; e < 3; ++e)
            turned = less(turned, -side.turn[Lane == 0 ? e : 2 - e], load_tile(rows[e] + 3 * columns + c));
        for (size_t a = 0; a < 3; ++a) {
          Tile sum{};
          if constexpr (D == 4) sum = less(sum, -side.arm[a], turned);
          for (size_t axis = 0; axis < 3; ++axis) sum = less(sum, -side.axes[3 * a + axis], at[axis]);
          store_tile(line + a * columns + c, sum);
        }
      }
      for (size_t a = 0; a < 3; ++a)
        for (size_t r = 0; r < 2 * D; ++r) by_middle[r * stride + 3 * side.contact + a] += line[a * columns + r];
      for (size_t other = 0; other <= k; ++other) {
        const size_t j = sides[Lane == 0 ? count - 1 - other : other].contact;
        const double* block = line + 2 * D + 3 * other;
        if (j <= side.contact)
          for (size_t a = 0; a < 3; ++a)
            for (size_t b = 0; b < 3; ++b) w[(3 * side.contact + a) * stride + 3 * j + b] += block[a * columns + b];
        if (j > side.contact || (j == side.contact && other != k))
          for (size_t a = 0; a < 3; ++a)
            for (size_t b = 0; b < 3; ++b) w[(3 * j + b) * stride + 3 * side.contact + a] += block[a * columns + b];
      }
    }
    double* oldest = rows[2];
    rows[2] = rows[1], rows[1] = rows[0], rows[0] = oldest;
  }
}

template <int D>
bool BlockBand<D>::couple(const ContactSide* sides, size_t count, size_t contacts, double* w, size_t stride,
                          double* work) const noexcept {
  if constexpr (D < 3) {
    return false;
  } else {
    if (closed_ || chain_ < 6) return false;
    if (count == 0) return true;
    constexpr int kBand = 3 * D, kMiddle = 2 * D;
    double *own = work, *by_middle = own + 9 * D * count, *weighed = by_middle + kMiddle * stride,
           *ends = weighed + kMiddle * stride;
    // No side has vertices of both ends: the middle lies between.
    size_t front = 0;
    while (front < count && in_front(sides[front].first)) ++front;
    size_t left_front = front, left_back = front;

    // Takahashi's recursion at both ends at once, of the vertex at hand and the next two.
    Two z[kBand][kBand] = {};
    const auto keep = [&](size_t i, int lane) {
      const ContactSide& side = sides[i];
      for (int r = 0; r < kBand; ++r) {
        double at[3] = {}, turned = 0;
        for (int e = 0; e < 3; ++e) {
          for (int axis = 0; axis < 3; ++axis)
            at[axis] = less(at[axis], -side.weight[lane == 0 ? e : 2 - e], z[r][e * D + axis][lane]);
          if constexpr (D == 4) turned = less(turned, -side.turn[lane == 0 ? e : 2 - e], z[r][e * D + 3][lane]);
        }
        for (size_t b = 0; b < 3; ++b) {
          double sum = 0;
          if constexpr (D == 4) sum = less(sum, -side.arm[b], turned);
          for (size_t axis = 0; axis < 3; ++axis) sum = less(sum, -side.axes[3 * b + axis], at[axis]);
          own[9 * D * i + 3 * static_cast<size_t>(r) + b] = sum;
        }
      }
    };
    for (size_t p = half_; left_front > 0 || left_back < count;) {
      --p;
      const auto& at = columns_[p].at;
      UNROLL for (int q = 0; q < D; ++q) {
        const int k = D - 1 - q;
        Two l[kBand];
        UNROLL for (int r = k + 1; r < kBand; ++r) l[r] = load<Two>(at[place(r, k)]);
        UNROLL for (int j = k + 1; j < kBand; ++j) {
          Two sum{};
          UNROLL for (int i = 0; i < kBand - 1 - k; ++i) {
            const int r = kBand - 1 - i;
            sum = less(sum, l[r], z[r][j]);
          }
          z[k][j] = z[j][k] = sum;
        }
        Two sum = load<Two>(at[place(k, k)]);
        UNROLL for (int i = 0; i < kBand - 1 - k; ++i) {
          const int r = kBand - 1 - i;
          sum = less(sum, l[r], z[r][k]);
        }
        z[k][k] = sum;
      }
      while (left_front > 0 && front_column(sides[left_front - 1].first) == p) keep(--left_front, 0);
      while (left_back < count && back_column(sides[left_back].first + 2) == p) keep(left_back++, 1);
      for (int r = kMiddle; r-- > 0;)
        for (int c = kMiddle; c-- > 0;) z[D + r][D + c] = z[r][c];
    }

    std::fill_n(by_middle, kMiddle * stride, 0.0);
    couple_end<0>(sides, front, own, w, stride, by_middle, ends);
    couple_end<1>(sides + front, count - front, own + 9 * D * front, w, stride, by_middle, ends);

    // M = L D L^T.
    for (size_t k = 0; k < kMiddle; ++k) {
      double* y = by_middle + k * stride;
      for (size_t j = 0; j < k; ++j)
        for (size_t c = 0; c < 3 * contacts; ++c) y[c] = less(y[c], core_[k][j], by_middle[j * stride + c]);
      for (size_t c = 0; c < stride; ++c) weighed[k * stride + c] = core_[k][k] * y[c];
    }
    add_outer(w, stride, 3 * contacts, by_middle, weighed, kMiddle);
    return true;
  }
}

void add_outer(double* w, size_t stride, size_t size, const double* y, const double* t, size_t rank) noexcept {
  for (size_t i = 0; i < size; i += 3) {
    const size_t rows = std::min<size_t>(3, size - i);
    for (size_t c = 0; c < i + rows; c += kWide) {
      Wide sum[3];
      for (size_t r = 0; r < rows; ++r) sum[r] = load<Wide>(w + (i + r) * stride + c);
      for (size_t k = 0; k < rank; ++k) {
        const Wide right = load<Wide>(t + k * stride + c);
        for (size_t r = 0; r < rows; ++r) sum[r] = less(sum[r], spread(-y[k * stride + i + r]), right);
      }
      for (size_t r = 0; r < rows; ++r) store(w + (i + r) * stride + c, sum[r]);
    }
  }
}

template class BlockBand<1>;
template class BlockBand<3>;
template class BlockBand<4>;

}  // namespace ligature::rod
