#include "sim/contact/coupling.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "appliance/rt/executor.hpp"
#include "tests/support/coupling_case.hpp"
#include "tests/support/thesis_coupling.hpp"

namespace ligature::contact {
namespace {

using coupling_case::BandInverse;
using coupling_case::dense_coupling;
using coupling_case::fill;
using coupling_case::random_axes;
using Eigen::Index;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr std::size_t kBalanced = rod::BlockBand<3>::kBalanced;

/// Threads with their matrices, and contacts between them.
struct Scene {
  Random random{11};
  std::vector<Vector3d> straight = std::vector<Vector3d>(3000, Vector3d::Zero());  // no corner to cut
  std::vector<Vector3d> bent = [] {
    std::vector<Vector3d> x;
    for (int i = 0; i < 100; ++i) x.emplace_back(i, 0.3 * std::sin(i), 0.2 * std::cos(1.3 * i));
    return x;
  }();
  std::vector<Strand> strands;
  std::vector<std::unique_ptr<ThreadInverse>> inverses;
  std::vector<bool*> couples;  // of each of them
  std::vector<MatrixXd> matrices;
  std::vector<StrandContact> contacts;
  std::vector<Matrix3d> axes;

  template <int D>
  BandInverse<D>& thread(std::size_t n, bool closed, std::size_t middle = kBalanced) {
    Strand strand;
    strand.x = straight.data();
    strand.vertices = n;
    strand.closed = closed;
    strands.push_back(strand);
    auto inverse = std::make_unique<BandInverse<D>>(n);
    matrices.push_back(fill<D>(inverse->band, n, closed, middle, random));
    EXPECT_EQ(inverse->band.factor(), 0);
    BandInverse<D>& made = *inverse;
    couples.push_back(&made.couples);
    inverses.push_back(std::move(inverse));
    return made;
  }
  /// A thread that friction turns about its centreline.
  void turned_thread(std::size_t n, bool closed, std::size_t middle = kBalanced) {
    thread<4>(n, closed, middle);
    strands.back().x = bent.data();
    strands.back().radius = 3;
    strands.back().turns = true;
  }
  std::size_t edge(std::size_t strand, std::size_t first, std::size_t last) {
    const std::size_t span = last - first + 1;
    return (first + static_cast<std::size_t>(random.uniform() * static_cast<double>(span))) % strands[strand].edges();
  }
  /// Edges first..last of both (of a closed one round the ring). @param b kNoStrand: an obstacle
  void touch(std::uint32_t a, std::uint32_t b, std::size_t count, std::size_t first, std::size_t last) {
    for (std::size_t i = 0; i < count; ++i) {
      StrandContact c;
      c.pair.strand_a = a;
      c.pair.edge_a = static_cast<std::uint32_t>(edge(a, first, last));
      c.pair.strand_b = b;
      c.pair.edge_b = b == kNoStrand ? 0u : static_cast<std::uint32_t>(edge(b, first, last));
      c.sa = random.uniform() < 0.2 ? 0 : random.uniform();
      c.sb = random.uniform() < 0.2 ? 1 : random.uniform();
      c.normal = Vector3d(random.normal(), random.normal(), random.normal()).normalized();
      contacts.push_back(c);
    }
    std::stable_sort(contacts.begin(), contacts.end(), [](const auto& x, const auto& y) { return x.pair < y.pair; });
    axes.clear();
    for (std::size_t i = 0; i < contacts.size(); ++i) axes.push_back(random_axes(random));
  }
  std::size_t vertices() const {
    std::size_t sum = 0;
    for (const Strand& s : strands) sum += s.vertices;
    return sum;
  }
  Coupling coupling() const { return Coupling(contacts.size() + 3, vertices(), strands.size()); }
  void build(Coupling& coupling, Executor& executor, bool same_matrix = false) const {
    std::vector<const ThreadInverse*> pointers;
    for (const auto& i : inverses) pointers.push_back(i.get());
    coupling.build(strands.data(), strands.size(), pointers.data(), contacts.data(), axes.data(), contacts.size(),
                   executor, same_matrix);
  }
  MatrixXd expected() const { return dense_coupling(strands, matrices, contacts, axes); }
};

RowMatrix padded_matrix(const Coupling& coupling, std::size_t count) {
  return Eigen::Map<const RowMatrix>(coupling.w(), static_cast<Index>(3 * count),
                                     static_cast<Index>(coupling.stride()));
}
MatrixXd matrix(const Coupling& coupling, std::size_t count) {
  return padded_matrix(coupling, count).leftCols(static_cast<Index>(3 * count));
}

void expect_right_one_way(const Scene& scene, const std::string& name) {
  Coupling coupling = scene.coupling();
  InlineExecutor inline_executor;
  scene.build(coupling, inline_executor);
  const std::size_t m = scene.contacts.size();
  ASSERT_EQ(coupling.stride() % 4, 0u);
  ASSERT_EQ(reinterpret_cast<std::uintptr_t>(coupling.w()) % 32, 0u);
  const MatrixXd w = matrix(coupling, m), expected = scene.expected();
  // Both are right to the condition of the matrices, about 1e4.
  EXPECT_LT((w - expected).norm(), 1e-11 * expected.norm()) << name;
  EXPECT_EQ(w, w.transpose()) << name;
  const RowMatrix all = padded_matrix(coupling, m);
  EXPECT_TRUE((all.rightCols(all.cols() - w.cols()).array() == 0).all()) << name;
  const VectorXd eigenvalues = Eigen::SelfAdjointEigenSolver<MatrixXd>(w, Eigen::EigenvaluesOnly).eigenvalues();
  EXPECT_GT(eigenvalues[0], -1e-12 * eigenvalues[eigenvalues.size() - 1]) << name;
}

void expect_right(const Scene& scene, const std::string& name) {
  for (const bool sides : {false, true}) {
    for (bool* may : scene.couples) *may = sides;
    expect_right_one_way(scene, name + (sides ? ", by sides" : ", by columns"));
  }
}

// Few vertices: columns are theirs; many: the contacts'.
struct Spread {
  std::size_t n, first, last, contacts;
};
const Spread kSpreads[] = {{60, 5, 40, 17},  {60, 20, 30, 60}, {60, 0, 8, 9},    {60, 50, 58, 9},
                           {60, 50, 58, 40}, {60, 0, 58, 25},  {120, 30, 31, 1}, {5, 0, 3, 12}};

std::string text(const Spread& s, bool closed) {
  return (closed ? "closed " : "open ") + std::to_string(s.n) + ", edges " + std::to_string(s.first) + ".." +
         std::to_string(s.last) + ", contacts " + std::to_string(s.contacts);
}

template <int D>
void expect_right_on_one_thread() {
  for (const Spread& s : kSpreads)
    for (const bool closed : {false, true})
      for (const std::size_t middle : {kBalanced, (s.first + s.last) / 2, std::size_t{0}, s.n - 1}) {
        Scene scene;
        scene.thread<D>(s.n, closed, middle);
        scene.touch(0, 0, s.contacts, s.first, s.last);
        expect_right(scene, text(s, closed) + ", middle " + std::to_string(middle));
      }
}

TEST(Coupling, IsTheDenseMatrixOnOneThread) {
  expect_right_on_one_thread<3>();
}
TEST(Coupling, IsTheDenseMatrixWithAnglesAsUnknowns) {
  expect_right_on_one_thread<4>();
}
TEST(Coupling, IsTheDenseMatrixOfTheScalarSimplification) {
  expect_right_on_one_thread<1>();
}

TEST(Coupling, FrictionTurnsThreadsWhoseAnglesAreUnknowns) {
  for (const bool closed : {false, true})
    for (const std::size_t contacts : {3u, 20u, 60u}) {
      const std::string name = (closed ? "closed, " : "open, ") + std::to_string(contacts);
      Scene alone;
      alone.turned_thread(60, closed, 20);
      alone.touch(0, 0, contacts, 10, 40);
      expect_right(alone, name);
      Scene ends;
      ends.turned_thread(30, closed);
      ends.touch(0, 0, contacts, 0, 28);
      expect_right(ends, name + ", at the ends");
      Scene several;
      several.turned_thread(60, closed);
      several.turned_thread(50, false, 40);
      several.thread<3>(40, false);  // this one does not turn
      several.touch(0, 1, contacts, 3, 20);
      several.touch(1, 2, contacts, 3, 20);
      several.touch(0, kNoStrand, 5, 3, 20);
      expect_right(several, name + ", several");
    }
}

TEST(Coupling, ContactsRoundTheCutOfARingAreInOneWindow) {
  for (const std::size_t middle : {kBalanced, std::size_t{0}, std::size_t{70}}) {
    Scene scene;
    scene.thread<3>(80, true, middle);
    scene.touch(0, 0, 20, 72, 88);  // edges 72..79 and 0..8
    expect_right(scene, "middle " + std::to_string(middle));
  }
}

TEST(Coupling, AddsWhatEachOfTwoOrThreeThreadsGives) {
  for (const std::size_t contacts : {4u, 14u, 50u}) {
    Scene scene;
    scene.thread<3>(60, false, 10);
    scene.thread<3>(40, true);
    scene.touch(0, 1, contacts, 3, 20);
    expect_right(scene, "two");
    scene.thread<4>(90, false);
    scene.touch(0, 2, contacts, 10, 30);
    scene.touch(1, 2, contacts, 0, 39);
    scene.touch(1, 1, contacts, 0, 39);
    expect_right(scene, "three");
  }
}

TEST(Coupling, AContactWithAnObstacleHasOneSide) {
  Scene scene;
  scene.thread<3>(60, false);
  scene.touch(0, kNoStrand, 13, 0, 58);
  expect_right(scene, "obstacle alone");
  scene.thread<3>(60, true);
  scene.touch(0, 1, 13, 3, 20);
  scene.touch(1, kNoStrand, 30, 3, 20);
  scene.touch(0, 0, 13, 3, 20);
  expect_right(scene, "and threads");
}

TEST(Coupling, TakesInARankOneTermOfTheWholeThread) {
  for (const bool closed : {false, true}) {
    Scene scene;
    auto& inverse = scene.thread<3>(50, closed, 25);
    VectorXd g(150);
    for (double& v : g) v = scene.random.normal();
    inverse.add_rank_one(g, 3.0);
    scene.matrices[0] += 3.0 * g * g.transpose();
    scene.touch(0, 0, 30, 20, 35);
    expect_right(scene, closed ? "closed" : "open");
  }
}

TEST(Coupling, HasTheSameBitsAtAnyWidth) {
  for (const std::size_t contacts : {5u, 40u, 150u}) {
    Scene scene;
    scene.thread<3>(90, false, 40);
    scene.thread<3>(70, true);
    scene.touch(0, 0, contacts, 20, 60);
    scene.touch(0, 1, contacts / 2, 20, 60);
    scene.touch(1, 1, contacts / 2, 10, 30);
    Coupling alone = scene.coupling();
    InlineExecutor inline_executor;
    scene.build(alone, inline_executor);
    const MatrixXd w = matrix(alone, scene.contacts.size());
    for (const std::size_t width : {1u, 2u, 4u}) {
      auto executor = rt::PooledExecutor::create(std::vector<rt::ThreadSettings>(width - 1));
      ASSERT_TRUE(executor.has_value());
      Coupling coupling = scene.coupling();
      for (int round = 0; round < 20; ++round) {
        scene.build(coupling, **executor);
        ASSERT_EQ(matrix(coupling, scene.contacts.size()), w) << "width " << width;
      }
    }
  }
}

TEST(Coupling, IsTheMatrixOfTheThesissRecursion) {
  for (const Spread& s : kSpreads) {
    Scene scene;
    auto& inverse = scene.thread<3>(s.n, false);
    scene.touch(0, 0, s.contacts, s.first, s.last);
    Random same{11};
    fill<3>(inverse.band, s.n, false, kBalanced, same);
    coupling_case::ThesisCoupling thesis;
    thesis.factor(coupling_case::columns_of(inverse.band));
    inverse.band.factor();
    Coupling coupling = scene.coupling();
    InlineExecutor executor;
    scene.build(coupling, executor);
    coupling_case::ThesisCoupling::Matrix w;
    thesis.couple(scene.contacts, scene.axes, w);
    EXPECT_LT((matrix(coupling, s.contacts) - w).norm(), 1e-11 * w.norm()) << text(s, false);
  }
}

TEST(Coupling, WithoutContactsIsEmpty) {
  Scene scene;
  scene.thread<3>(20, false);
  scene.touch(0, 0, 4, 2, 9);
  Coupling coupling = scene.coupling();
  InlineExecutor executor;
  scene.build(coupling, executor);
  scene.contacts.clear();
  scene.build(coupling, executor);
  EXPECT_EQ(coupling.stride(), 0u);
  EXPECT_EQ(coupling.columns_solved(), 0u);
}

TEST(Coupling, ContactsThatWereThereAreNotSolvedAgainWithTheSameMatrix) {
  for (const std::uint32_t other : {0u, 1u}) {
    Scene scene;
    scene.thread<3>(60, false, 25);
    scene.thread<3>(50, true);
    scene.touch(0, other, 60, 10, 40);
    const auto contacts = scene.contacts;
    const auto axes = scene.axes;
    InlineExecutor executor;
    Coupling coupling = scene.coupling();
    // Some go, some come, some move; more and fewer than before.
    for (int round = 0; round < 20; ++round) {
      scene.contacts.clear();
      scene.axes.clear();
      const double share = scene.random.uniform();
      for (std::size_t i = 0; i < contacts.size(); ++i) {
        if (scene.random.uniform() > share) continue;
        scene.contacts.push_back(contacts[i]);
        scene.axes.push_back(scene.random.uniform() < 0.2 ? random_axes(scene.random) : axes[i]);
        if (scene.random.uniform() < 0.2) scene.contacts.back().sb *= 0.9;
      }
      scene.build(coupling, executor, true);
      const MatrixXd w = matrix(coupling, scene.contacts.size()), expected = scene.expected();
      EXPECT_LT((w - expected).norm(), 1e-11 * (expected.norm() + 1e-300)) << round;
      EXPECT_EQ(w, w.transpose()) << round;
      scene.build(coupling, executor, true);
      EXPECT_EQ(coupling.columns_solved(), 0u);
      EXPECT_EQ(matrix(coupling, scene.contacts.size()), w);
      const std::size_t gone = scene.contacts.size() / 2;
      scene.contacts.erase(scene.contacts.begin() + static_cast<std::ptrdiff_t>(gone), scene.contacts.end());
      scene.axes.resize(gone);
      scene.build(coupling, executor, true);
      EXPECT_EQ(coupling.columns_solved(), 0u);
      const auto size = static_cast<Index>(3 * gone);
      EXPECT_EQ(matrix(coupling, gone), w.topLeftCorner(size, size));
    }
  }
}

// W^-1 with k a a^T more, and the motion with the spring, by dense algebra.
TEST(Coupling, TakesASpringAlongASumOfRows) {
  Scene scene;
  scene.thread<3>(40, false);
  scene.touch(0, kNoStrand, 6, 5, 30);
  Coupling coupling = scene.coupling();
  InlineExecutor here;
  for (const double part : {10.0, 0.1, -0.5, -3.0}) {
    scene.build(coupling, here);
    const MatrixXd w = matrix(coupling, 6);
    const Coupling::Along along{{4, 12}, {0.8, -0.6}};
    VectorXd a = VectorXd::Zero(18), q(18);
    a[4] = 0.8, a[12] = -0.6;
    for (Index i = 0; i < 18; ++i) q[i] = std::sin(1.0 + static_cast<double>(i));
    const double k = part / a.dot(w * a), at = 0.3;
    const double added = coupling.stiffen(along, k, at, q.data());
    EXPECT_NEAR(added, std::max(k, -0.8 / a.dot(w * a)), 1e-9 * std::abs(k));
    const MatrixXd expected = (w.inverse() + added * a * a.transpose()).inverse();
    EXPECT_LT((matrix(coupling, 6) - expected).norm(), 1e-6 * expected.norm()) << part;
    // q = q0 + W (-k a (a.q - at))
    VectorXd q0(18);
    for (Index i = 0; i < 18; ++i) q0[i] = std::sin(1.0 + static_cast<double>(i));
    EXPECT_LT((q - (q0 - added * (a.dot(q) - at) * (w * a))).norm(), 1e-9) << part;
    coupling.keep(4);
    EXPECT_TRUE((padded_matrix(coupling, 4).rightCols(padded_matrix(coupling, 4).cols() - 12).array() == 0).all());
  }
}

}  // namespace
}  // namespace ligature::contact
