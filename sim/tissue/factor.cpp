#include "sim/tissue/factor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#ifdef __FMA__
#include <immintrin.h>
#endif

namespace ligature::tissue {
namespace {

constexpr std::size_t kBytes = 32;  ///< of the registers the panels are padded to
constexpr std::size_t kLeaf = 16;   ///< nodes that are not dissected further

template <class Real>
struct Register;
template <>
struct Register<float> {
  using Type = float __attribute__((vector_size(kBytes)));
  using Half = float __attribute__((vector_size(kBytes / 2)));
};
template <>
struct Register<double> {
  using Type = double __attribute__((vector_size(kBytes)));
  using Half = double __attribute__((vector_size(kBytes / 2)));
};

/// a b + c; rounded once where the machine can, and then at any level of optimisation.
inline Register<float>::Type multiply_add(const Register<float>::Type& a, const Register<float>::Type& b,
                                          const Register<float>::Type& c) {
#ifdef __FMA__
  return _mm256_fmadd_ps(a, b, c);
#else
  return a * b + c;
#endif
}
inline Register<double>::Type multiply_add(const Register<double>::Type& a, const Register<double>::Type& b,
                                           const Register<double>::Type& c) {
#ifdef __FMA__
  return _mm256_fmadd_pd(a, b, c);
#else
  return a * b + c;
#endif
}

template <class Real>
struct Lanes {
  static constexpr std::size_t count = kBytes / sizeof(Real);
  using Wide = typename Register<Real>::Type;
  static Wide load(const Real* p) {
    Wide w;
    std::memcpy(&w, p, kBytes);
    return w;
  }
  static void store(Real* p, const Wide& w) { std::memcpy(p, &w, kBytes); }
  static Wide spread(Real v) { return Wide{} + v; }
  /// Halves added onto each other until one is left.
  static Real sum(const Wide& w) {
    using Half = typename Register<Real>::Half;
    Half low, high;
    std::memcpy(&low, &w, sizeof low);
    std::memcpy(&high, reinterpret_cast<const char*>(&w) + sizeof low, sizeof high);
    low += high;
    if constexpr (count == 4)
      return low[0] + low[1];
    else
      return (low[0] + low[2]) + (low[1] + low[3]);
  }
};

using Graph = std::vector<std::vector<std::uint32_t>>;  ///< neighbours of a node

/// Parts the nodes by a separator until what is left is small; appends groups (one a supernode) in elimination order.
void dissect(const Graph& graph, const std::vector<Vector3d>& places, std::vector<std::uint32_t> nodes,
             std::vector<std::uint8_t>& side, std::vector<std::vector<std::uint32_t>>& groups) {
  if (nodes.size() <= kLeaf) {
    if (!nodes.empty()) groups.push_back(std::move(nodes));
    return;
  }
  std::vector<std::uint32_t> best_low, best_high, best_middle;
  double best = 1e300;
  std::array<Vector3d, 2> box{places[nodes[0]], places[nodes[0]]};
  for (const std::uint32_t n : nodes) box = {box[0].cwiseMin(places[n]), box[1].cwiseMax(places[n])};
  for (int axis = 0; axis < 3; ++axis) {
    if (!(box[1][axis] - box[0][axis] > 0)) continue;
    std::vector<std::uint32_t> sorted = nodes;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return places[a][axis] < places[b][axis] - 1e-9; });
    // Cut between two places, as near the middle as there is one.
    for (const double part : {0.5, 0.4, 0.6}) {
      const auto middle = static_cast<std::size_t>(part * static_cast<double>(sorted.size()));
      const double cut = places[sorted[middle]][axis] - 1e-7;
      std::vector<std::uint32_t> low, high, separator;
      for (const std::uint32_t n : sorted) side[n] = places[n][axis] < cut ? 1 : 2;
      for (const std::uint32_t n : sorted) {
        if (side[n] == 1) {
          low.push_back(n);
          continue;
        }
        const bool touches =
            std::any_of(graph[n].begin(), graph[n].end(), [&](std::uint32_t m) { return side[m] == 1; });
        (touches ? separator : high).push_back(n);
      }
      for (const std::uint32_t n : sorted) side[n] = 0;
      if (low.empty() || separator.empty()) continue;
      const double balance = static_cast<double>(std::max(low.size(), high.size())) / static_cast<double>(nodes.size());
      const double cost = static_cast<double>(separator.size()) * (0.5 + balance);
      if (cost < best && balance < 0.85) {
        best = cost;
        best_low = std::move(low), best_high = std::move(high), best_middle = std::move(separator);
      }
    }
  }
  if (best_low.empty() || best_middle.size() * 2 > nodes.size()) {
    groups.push_back(std::move(nodes));
    return;
  }
  dissect(graph, places, std::move(best_low), side, groups);
  dissect(graph, places, std::move(best_high), side, groups);
  groups.push_back(std::move(best_middle));
}

/// Partial Cholesky factorisation of the lower triangle: the first columns become those of L, what is right of them the
/// Schur complement. Three columns at a time. @return false where a pivot is not positive
bool eliminate(double* a, std::size_t size, std::size_t columns) {
  for (std::size_t first = 0; first < columns; first += 3) {
    double* const panel[3] = {a + first * size, a + (first + 1) * size, a + (first + 2) * size};
    for (std::size_t j = 0; j < 3; ++j) {
      double* const column = panel[j];
      for (std::size_t k = 0; k < j; ++k) {
        const double factor = panel[k][first + j];
        for (std::size_t i = first + j; i < size; ++i) column[i] -= factor * panel[k][i];
      }
      if (!(column[first + j] > 0)) return false;
      const double scale = 1 / std::sqrt(column[first + j]);
      for (std::size_t i = first + j; i < size; ++i) column[i] *= scale;
    }
    for (std::size_t k = first + 3; k < size; ++k) {
      double* const column = a + k * size;
      const double f0 = panel[0][k], f1 = panel[1][k], f2 = panel[2][k];
      for (std::size_t i = k; i < size; ++i) column[i] -= f0 * panel[0][i] + f1 * panel[1][i] + f2 * panel[2][i];
    }
  }
  return true;
}

/// The first columns from [L; W] to [(L L^T)^-1; W L^-1]. @param inverse of L, lower, column-major: columns^2, written
void invert(double* a, std::size_t size, std::size_t columns, double* inverse) {
  std::fill_n(inverse, columns * columns, 0.0);
  for (std::size_t j = 0; j < columns; ++j) {
    double* const x = inverse + j * columns;
    x[j] = 1;
    for (std::size_t k = j; k < columns; ++k) {
      x[k] /= a[k * size + k];
      for (std::size_t i = k + 1; i < columns; ++i) x[i] -= a[k * size + i] * x[k];
    }
  }
  for (std::size_t j = columns; j-- > 0;) {  // rows below: B L = W, from the last column
    double* const column = a + j * size;
    for (std::size_t k = j + 1; k < columns; ++k) {
      const double factor = column[k];
      const double* const done = a + k * size;
      for (std::size_t i = columns; i < size; ++i) column[i] -= factor * done[i];
    }
    const double scale = 1 / column[j];
    for (std::size_t i = columns; i < size; ++i) column[i] *= scale;
  }
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t i = j; i < columns; ++i) {
      double sum = 0;
      for (std::size_t k = i; k < columns; ++k) sum += inverse[i * columns + k] * inverse[j * columns + k];
      a[j * size + i] = a[i * size + j] = sum;
    }
}

std::size_t padded(std::size_t n, std::size_t lanes) {
  return (n + lanes - 1) / lanes * lanes;
}

}  // namespace

void BlockMatrix::add(std::size_t row, std::size_t column, const Matrix3d& value) {
  for (Entry& e : columns_[column])
    if (e.row == row) {
      e.value += value;
      return;
    }
  columns_[column].push_back({static_cast<std::uint32_t>(row), value});
}

void BlockMatrix::set_zero() noexcept {
  for (std::vector<Entry>& column : columns_)
    for (Entry& e : column) e.value.setZero();
}

template <class Real>
bool Factor<Real>::factor(const BlockMatrix& matrix, const std::vector<Vector3d>& places) {
  plan(matrix, places);
  const bool positive = refactor(matrix);
  scratch_ = {};
  return positive;
}

template <class Real>
void Factor<Real>::plan(const BlockMatrix& matrix, const std::vector<Vector3d>& places) {
  const std::size_t n = places.size();
  Graph graph(n);
  for (std::size_t column = 0; column < n; ++column)
    for (const BlockMatrix::Entry& e : matrix.column(column))
      if (e.row != column) graph[column].push_back(e.row);
  std::vector<std::uint32_t> all(n);
  std::iota(all.begin(), all.end(), 0u);
  std::vector<std::uint8_t> side(n, 0);
  std::vector<std::vector<std::uint32_t>> groups;
  dissect(graph, places, std::move(all), side, groups);

  scratch_ = {};
  std::vector<std::uint32_t>& place_of = scratch_.place_of;
  std::vector<std::uint32_t> group_of(n), node_at;  // by elimination order
  place_of.resize(n);
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (const std::uint32_t node : groups[g]) {
      place_of[node] = static_cast<std::uint32_t>(node_at.size());
      group_of[node_at.size()] = static_cast<std::uint32_t>(g);
      node_at.push_back(node);
    }
  order_.resize(3 * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < 3; ++k) order_[3 * i + k] = 3 * static_cast<std::size_t>(node_at[i]) + k;

  // Which nodes stand below each supernode, and who takes its update.
  std::vector<std::vector<std::uint32_t>> below(groups.size());
  std::vector<std::vector<std::uint32_t>>& children = scratch_.children;
  children.resize(groups.size());
  std::size_t first_node = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::size_t end = first_node + groups[g].size();
    std::vector<std::uint32_t>& rows = below[g];
    for (const std::uint32_t node : groups[g])
      for (const std::uint32_t m : graph[node])
        if (place_of[m] >= end) rows.push_back(place_of[m]);
    for (const std::uint32_t child : children[g])
      for (const std::uint32_t r : below[child])
        if (r >= end) rows.push_back(r);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    if (!rows.empty()) children[group_of[rows.front()]].push_back(static_cast<std::uint32_t>(g));
    first_node = end;
  }

  constexpr std::size_t lanes = Lanes<Real>::count;
  super_.clear(), row_lists_.clear();
  scratch_.updates.resize(groups.size());
  std::size_t first = 0, widest = 0, total = 0, largest = 0, broadest = 0;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Supernode s;
    s.first = first, s.columns = 3 * groups[g].size(), s.rows = 3 * below[g].size();
    s.row_list = row_lists_.size(), s.stride = padded(s.columns + s.rows, lanes), s.panel = total;
    for (const std::uint32_t place : below[g]) row_lists_.push_back(3 * place);
    scratch_.updates[g].resize(s.rows * s.rows);
    total += s.stride * s.columns;
    widest = std::max(widest, s.stride + lanes);
    largest = std::max(largest, s.columns + s.rows);
    broadest = std::max(broadest, s.columns);
    first += s.columns;
    super_.push_back(s);
  }
  panels_.assign(total, Real(0));
  scratch_.front.resize(largest * largest);
  scratch_.inverse.resize(broadest * broadest);
  scratch_.local.assign(n, 0);
  work_.assign(2 * widest, Real(0));
  x_.assign(2 * (3 * n + lanes), Real(0));
}

/// Multifrontal: each supernode gathers its entries and its children's updates in one dense front.
template <class Real>
bool Factor<Real>::refactor(const BlockMatrix& matrix) noexcept {
  double* const front = scratch_.front.data();
  std::vector<std::size_t>& local = scratch_.local;
  for (std::size_t g = 0; g < super_.size(); ++g) {
    const Supernode& s = super_[g];
    const std::size_t size = s.columns + s.rows;
    for (std::size_t i = 0; i < s.columns; i += 3) local[(s.first + i) / 3] = i;
    for (std::size_t i = 0; i < s.rows; i += 3) local[row_lists_[s.row_list + i / 3] / 3] = s.columns + i;
    std::fill_n(front, size * size, 0.0);
    for (std::size_t j = 0; j < s.columns; j += 3)
      for (const BlockMatrix::Entry& e : matrix.column(order_[s.first + j] / 3)) {
        const std::uint32_t place = scratch_.place_of[e.row];
        if (place < (s.first + j) / 3) continue;
        for (std::size_t k = 0; k < 3; ++k)
          for (std::size_t i = 0; i < 3; ++i)
            front[(j + k) * size + local[place] + i] +=
                e.value(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k));
      }
    for (const std::uint32_t child : scratch_.children[g]) {
      const std::uint32_t* const rows = row_lists_.data() + super_[child].row_list;
      const std::size_t child_size = super_[child].rows;
      const double* const update = scratch_.updates[child].data();
      for (std::size_t b = 0; b < child_size; ++b)
        for (std::size_t a = b; a < child_size; ++a) {
          std::size_t row = local[rows[a / 3] / 3] + a % 3, column = local[rows[b / 3] / 3] + b % 3;
          if (row < column) std::swap(row, column);
          front[column * size + row] += update[b * child_size + a];
        }
    }
    if (!eliminate(front, size, s.columns)) return false;
    for (std::size_t j = 0; j < s.rows; ++j)
      std::copy_n(front + (s.columns + j) * size + s.columns, s.rows, scratch_.updates[g].data() + j * s.rows);
    invert(front, size, s.columns, scratch_.inverse.data());
    for (std::size_t j = 0; j < s.columns; ++j)
      for (std::size_t i = 0; i < size; ++i)
        panels_[s.panel + j * s.stride + i] = static_cast<Real>(front[j * size + i]);
  }
  return true;
}

template <class Real>
template <std::size_t N>
void Factor<Real>::solve_several(double* b, double* c) noexcept {
  using L = Lanes<Real>;
  using Wide = typename L::Wide;
  constexpr std::size_t lanes = L::count;
  const std::size_t n = order_.size();
  std::array<Real*, N> x, y;
  for (std::size_t v = 0; v < N; ++v) {
    x[v] = x_.data() + v * (x_.size() / 2);
    y[v] = work_.data() + v * (work_.size() / 2);
    const double* const from = v == 0 ? b : c;
    for (std::size_t i = 0; i < n; ++i) x[v][i] = static_cast<Real>(from[order_[i]]);
  }
  for (const Supernode& s : super_) {
    // Few forces: most supernodes have none.
    bool nothing = true;
    for (std::size_t v = 0; v < N; ++v)
      for (std::size_t j = 0; j < s.columns && nothing; ++j) nothing = x[v][s.first + j] == Real(0);
    if (nothing) continue;
    const Real* const panel = panels_.data() + s.panel;
    // y = panel x_s, some columns at a time, each run through from top to bottom.
    const auto add_columns = [&]<std::size_t C>(std::size_t j, std::integral_constant<std::size_t, C>, bool first) {
      const Real* const column = panel + j * s.stride;
      Wide value[N][C];
      for (std::size_t v = 0; v < N; ++v)
        for (std::size_t a = 0; a < C; ++a) value[v][a] = L::spread(x[v][s.first + j + a]);
      for (std::size_t i = 0; i < s.stride; i += lanes) {
        Wide p[C];
        for (std::size_t a = 0; a < C; ++a) p[a] = L::load(column + a * s.stride + i);
        for (std::size_t v = 0; v < N; ++v) {
          Wide sum = first ? Wide{} : L::load(y[v] + i);
          for (std::size_t a = 0; a < C; ++a) sum = multiply_add(p[a], value[v][a], sum);
          L::store(y[v] + i, sum);
        }
      }
    };
    std::size_t j = 0;
    if (s.columns % 6 == 3) {
      add_columns(0, std::integral_constant<std::size_t, 3>{}, true);
      j = 3;
    }
    for (; j < s.columns; j += 6) add_columns(j, std::integral_constant<std::size_t, 6>{}, j == 0);
    const std::uint32_t* const rows = row_lists_.data() + s.row_list;
    for (std::size_t v = 0; v < N; ++v) {
      std::copy_n(y[v], s.columns, x[v] + s.first);
      const Real* from = y[v] + s.columns;
      for (std::size_t k = 0; k < s.rows / 3; ++k, from += 3) {
        Real* const to = x[v] + rows[k];
        to[0] -= from[0], to[1] -= from[1], to[2] -= from[2];
      }
    }
  }
  for (std::size_t g = super_.size(); g-- > 0;) {
    const Supernode& s = super_[g];
    if (s.rows == 0) continue;
    // The rows of A11^-1 that share a register with the first of B are multiplied by zero, as is the padding.
    const std::size_t skipped = s.columns / lanes * lanes;
    const std::uint32_t* const rows = row_lists_.data() + s.row_list;
    for (std::size_t v = 0; v < N; ++v) {
      for (std::size_t k = skipped; k < s.columns; ++k) y[v][k] = 0;
      Real* to = y[v] + s.columns;
      for (std::size_t k = 0; k < s.rows / 3; ++k, to += 3) {
        const Real* const from = x[v] + rows[k];
        to[0] = from[0], to[1] = from[1], to[2] = from[2];
      }
      for (std::size_t k = s.columns + s.rows; k < s.stride; ++k) y[v][k] = 0;
    }
    const Real* const panel = panels_.data() + s.panel;
    for (std::size_t j = 0; j < s.columns; j += 3) {
      Wide sum[N][3]{};
      const Real* column = panel + j * s.stride;
      for (std::size_t k = skipped; k < s.stride; k += lanes) {
        Wide p[3];
        for (std::size_t a = 0; a < 3; ++a) p[a] = L::load(column + a * s.stride + k);
        for (std::size_t v = 0; v < N; ++v) {
          const Wide value = L::load(y[v] + k);
          for (std::size_t a = 0; a < 3; ++a) sum[v][a] = multiply_add(p[a], value, sum[v][a]);
        }
      }
      for (std::size_t v = 0; v < N; ++v)
        for (std::size_t a = 0; a < 3; ++a) x[v][s.first + j + a] -= L::sum(sum[v][a]);
    }
  }
  for (std::size_t v = 0; v < N; ++v) {
    double* const to = v == 0 ? b : c;
    for (std::size_t i = 0; i < n; ++i) to[order_[i]] = static_cast<double>(x[v][i]);
  }
}

template void Factor<float>::solve_several<1>(double*, double*) noexcept;
template void Factor<float>::solve_several<2>(double*, double*) noexcept;
template void Factor<double>::solve_several<1>(double*, double*) noexcept;
template void Factor<double>::solve_several<2>(double*, double*) noexcept;
template class Factor<float>;
template class Factor<double>;

}  // namespace ligature::tissue
