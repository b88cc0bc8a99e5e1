#include "sim/contact/cone_problem.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "tests/sim/cone_cases.hpp"
#include "tests/sim/cone_oracle.hpp"

namespace ligature::contact {
namespace {

constexpr ConeMethod kMethods[] = {ConeMethod::standard, ConeMethod::nncg, ConeMethod::pgs};

struct Solved {
  std::vector<double> r, u;
  ConeOutcome out;
};

Solved run(const StoredConeProblem& p, ConeMethod method, int iterations, double target = 0) {
  ConeSolver solver(p.mu.size());
  Solved s;
  s.r = p.warm;
  s.out = solver.solve(p.view(), {method, iterations, target}, s.r.data());
  s.u.assign(solver.motion(), solver.motion() + p.q.size());
  return s;
}

/// |r_t| <= mu r_n but for the rounding of one product and a root.
void expect_in_cone(const StoredConeProblem& p, const std::vector<double>& r) {
  for (std::size_t i = 0; i < p.mu.size(); ++i) {
    const double t = std::hypot(r[3 * i + 1], r[3 * i + 2]);
    ASSERT_GE(r[3 * i], 0);
    ASSERT_LE(t, std::max(p.mu[i], 0.0) * r[3 * i] * (1 + 1e-14) + 1e-300) << "contact " << i;
  }
}

TEST(ConeProblem, EveryMethodStaysInTheConeAtAnyBound) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    StoredConeProblem p = cases::any(15, seed % 3 == 0 ? 20 : 60, 4, 2.0, seed);
    std::uint64_t random = 100 + seed;
    for (double& x : p.warm) x = cases::uniform(random, -1e3, 1e3);
    for (const ConeMethod method : kMethods)
      for (const int iterations : {0, 1, 2, 3, 7, 50}) {
        const Solved s = run(p, method, iterations);
        expect_in_cone(p, s.r);
        EXPECT_LE(s.out.iterations, iterations);
        EXPECT_TRUE(std::isfinite(s.out.residual));
        EXPECT_DOUBLE_EQ(s.out.residual, natural_residual(p.view(), s.r.data(), s.u.data()));
      }
  }
}

TEST(ConeProblem, OneContactIsSolvedExactlyByOneSweep) {
  std::uint64_t random = 5;
  for (int k = 0; k < 2000; ++k) {
    StoredConeProblem p = cases::any(1, 3, 0, 2.0, static_cast<std::uint64_t>(k) + 1);
    const double size = std::pow(10.0, cases::uniform(random, -9, 2));
    for (double& x : p.q) x *= size;
    const Solved s = run(p, ConeMethod::standard, 1);
    EXPECT_LT(s.out.residual, 1e-11) << "problem " << k;
  }
}

TEST(ConeProblem, NothingPressedNeedsNoForce) {
  StoredConeProblem p = cases::any(10, 40, 2, 1.0, 3);
  for (std::size_t i = 0; i < 10; ++i) p.q[3 * i] = std::abs(p.q[3 * i]);
  p.warm.assign(30, 1.0);
  for (const ConeMethod method : kMethods) {
    const Solved s = run(p, method, 60);
    EXPECT_LE(s.out.iterations, 1);
    EXPECT_EQ(s.out.residual, 0);
    EXPECT_EQ(s.r, std::vector<double>(30, 0.0));
    EXPECT_EQ(s.u, p.q);
  }
}

TEST(ConeProblem, WithoutContactsThereIsNothingToDo) {
  const StoredConeProblem none;
  for (const ConeMethod method : kMethods) EXPECT_EQ(run(none, method, 10).out.residual, 0);
}

TEST(ConeProblem, NotANumberComesBackAsNoForce) {
  const double bad[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity()};
  for (const ConeMethod method : kMethods)
    for (const double x : bad)
      for (int where = 0; where < 3; ++where) {
        StoredConeProblem p = cases::any(8, 30, 2, 1.0, 4);
        (where == 0 ? p.w[77] : where == 1 ? p.q[5] : p.mu[3]) = x;
        const Solved s = run(p, method, 60);
        EXPECT_EQ(s.r, std::vector<double>(24, 0.0));
        EXPECT_EQ(s.out.residual, std::numeric_limits<double>::infinity());
        for (const double u : s.u) EXPECT_TRUE(std::isfinite(u));
      }
}

TEST(ConeProblem, WarmStartThatIsNotANumberIsForgotten) {
  StoredConeProblem p = cases::any(8, 30, 2, 1.0, 4);
  p.warm[4] = std::numeric_limits<double>::quiet_NaN();
  p.warm[9] = std::numeric_limits<double>::infinity();
  for (const ConeMethod method : kMethods) EXPECT_TRUE(std::isfinite(run(p, method, 60).out.residual));
}

TEST(ConeProblem, ContactThatNothingMovesGetsNoForce) {
  StoredConeProblem p = cases::any(6, 30, 1, 1.0, 9);
  for (std::size_t a = 6; a < 9; ++a)
    for (std::size_t j = 0; j < 18; ++j) p.w[a * 18 + j] = p.w[j * 18 + a] = 0;
  p.q[6] = -1;
  p.warm.assign(18, 5.0);
  for (const ConeMethod method : kMethods) {
    const Solved s = run(p, method, 60);
    EXPECT_EQ(s.r[6], 0);
    EXPECT_TRUE(std::isfinite(s.out.residual));
  }
}

TEST(ConeProblem, SameInputSameBits) {
  const StoredConeProblem p = cases::any(40, 90, 3, 0.8, 11);
  for (const ConeMethod method : kMethods) {
    const Solved a = run(p, method, 37), b = run(p, method, 37);
    EXPECT_EQ(a.r, b.r);
    EXPECT_EQ(a.u, b.u);
  }
}

TEST(ConeFile, ComesBackBitForBit) {
  StoredConeProblem p = cases::any(7, 12, 6, 1.5, 21);
  for (std::size_t j = 0; j < p.warm.size(); ++j) p.warm[j] = -1.0 / static_cast<double>(j + 3);
  p.q[2] = -0.0, p.q[4] = 4.9e-324, p.q[5] = 1.7976931348623157e308;
  const std::string text = print_cone_problem(p.view(), p.warm.data());
  const Result<StoredConeProblem> back = parse_cone_problem(text);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->w, p.w);
  EXPECT_EQ(back->mu, p.mu);
  EXPECT_EQ(back->warm, p.warm);
  EXPECT_EQ(back->q, p.q);
  EXPECT_TRUE(std::signbit(back->q[2]));
  EXPECT_EQ(print_cone_problem(back->view(), back->warm.data()), text);
}

TEST(ConeFile, EmptyProblemIsAProblem) {
  const StoredConeProblem none;
  const Result<StoredConeProblem> back = parse_cone_problem(print_cone_problem(none.view(), nullptr));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->view().count, 0u);
}

TEST(ConeFile, BadFilesAreRefusedWithTheirLine) {
  const StoredConeProblem p = cases::any(1, 3, 0, 1.0, 2);
  const std::string good = print_cone_problem(p.view(), nullptr);
  ASSERT_TRUE(parse_cone_problem(good));
  const struct {
    std::string text, line;
  } bad[] = {{"", "line 1"},
             {"hello\n", "line 1"},
             {"ligature cone problem 1\ncontacts -1\n", "line 2"},
             {"ligature cone problem 1\ncontacts 99999999999999999999\n", "line 2"},
             {"ligature cone problem 1\ncontacts 2048\nmu\n", "line 4"},
             {"ligature cone problem 1\ncontacts 1 1\n", "line 2"},
             {"ligature cone problem 1\n\ncontacts 1\nmu\n0x\n", "line 5"},
             {"ligature cone problem 1\ncontacts 1\nmu\n1 2\n", "line 4"},
             {"ligature cone problem 1\ncontacts 1\nmu\n0x1p999999\n", "line 4"},
             {"ligature cone problem 1\ncontacts 1\nmu\n--1\n", "line 4"},
             {good + "1 2 3\n", "line 14"}};
  for (const auto& b : bad) {
    const Result<StoredConeProblem> r = parse_cone_problem(b.text);
    ASSERT_FALSE(r) << b.text;
    EXPECT_EQ(r.error().message.substr(0, b.line.size() + 1), b.line + ":") << r.error().message;
  }
  for (std::size_t n = 0; n + 1 < good.size(); ++n) EXPECT_FALSE(parse_cone_problem(good.substr(0, n))) << n;
  std::uint64_t random = 1;
  for (int k = 0; k < 3000; ++k) {  // never a crash, whatever stands there
    std::string text = good;
    for (int c = 0; c < 3; ++c)
      text[static_cast<std::size_t>(cases::uniform(random, 0, static_cast<double>(text.size())))] =
          static_cast<char>(cases::uniform(random, 0, 256));
    if (const Result<StoredConeProblem> r = parse_cone_problem(text); r) {
      EXPECT_EQ(r->w.size(), 9 * r->mu.size() * r->mu.size());
    }
  }
}

}  // namespace
}  // namespace ligature::contact
