/// Tissue: what must hold for any material and shape.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <map>

#include "sim/base/random.hpp"
#include "sim/tissue/tissue.hpp"

namespace ligature::tissue {
namespace {

Vector3d random_vector(Random& random) {
  return {random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5), random.uniform(-0.5, 0.5)};
}

Vessel small_vessel() {
  Vessel v;
  v.length = 2, v.around = 10, v.along = 6;
  return v;
}

Tissue tissue_of(const Vessel& v, TissueSettings settings = {}) {
  auto model = vessel_model(v);
  EXPECT_TRUE(model.has_value());
  auto tissue = Tissue::create(std::move(*model), settings);
  EXPECT_TRUE(tissue.has_value());
  return std::move(*tissue);
}

Matrix3d some_rotation() {
  return Eigen::AngleAxisd(1.9, Vector3d(1, -2, 3).normalized()).toRotationMatrix();
}

TEST(Tissue, RigidMotionGivesNoForce) {
  Tissue t = tissue_of(small_vessel());
  std::vector<Vector3d> x = t.model().nodes, gradient(x.size());
  for (Vector3d& p : x) p = some_rotation() * p + Vector3d(30, -20, 10);
  t.set_state(x);
  EXPECT_LT(t.elastic_energy(gradient), 1e-12);
  double worst = 0;
  for (const Vector3d& g : gradient) worst = std::max(worst, g.norm());
  // Stiffness E t ~ 1e5 uN/mm times rounding of positions ~ 40 mm * 1e-16.
  EXPECT_LT(worst, 1e-8);
}

TEST(Tissue, ForceIsTheDerivativeOfEnergy) {
  Tissue t = tissue_of(small_vessel());
  Random random(7);
  for (const double amplitude : {1e-4, 0.03, 0.1, 0.3}) {  // mm; from 0.1 on some elements are inside out
    std::vector<Vector3d> x = t.model().nodes, d(x.size()), gradient(x.size());
    for (Vector3d& p : x) p = some_rotation() * p + amplitude * random_vector(random);
    for (Vector3d& p : d) p = random_vector(random);
    t.set_state(x);
    t.elastic_energy(gradient);
    double slope = 0, size = 0;
    for (std::size_t i = 0; i < x.size(); ++i) slope += gradient[i].dot(d[i]), size += gradient[i].norm();
    const double h = 1e-6;
    double energy[2];
    for (int side = 0; side < 2; ++side) {
      std::vector<Vector3d> moved = x;
      for (std::size_t i = 0; i < x.size(); ++i) moved[i] += (side == 0 ? h : -h) * d[i];
      t.set_state(moved);
      energy[side] = t.elastic_energy();
    }
    EXPECT_NEAR((energy[0] - energy[1]) / (2 * h), slope, 1e-7 * size) << amplitude;
  }
}

TEST(Tissue, InnerForcesHaveNoResultantAndNoMoment) {
  Tissue t = tissue_of(small_vessel());
  Random random(11);
  std::vector<Vector3d> x = t.model().nodes, gradient(x.size());
  for (Vector3d& p : x) p += 0.1 * random_vector(random);
  t.set_state(x);
  t.elastic_energy(gradient);
  Vector3d force = Vector3d::Zero(), moment = Vector3d::Zero();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    force += gradient[i], moment += x[i].cross(gradient[i]);
    largest = std::max(largest, gradient[i].norm());
  }
  EXPECT_LT(force.norm(), 1e-12 * largest * static_cast<double>(x.size()));
  EXPECT_LT(moment.norm(), 1e-12 * largest * static_cast<double>(x.size()));
}

TEST(Tissue, PatchTestIsPassedByDistortedElements) {
  Vessel v = small_vessel();
  auto model = vessel_model(v);
  ASSERT_TRUE(model.has_value());
  Random random(3);
  for (Vector3d& p : model->nodes) p += 0.02 * random_vector(random);
  auto t = Tissue::create(*model);
  ASSERT_TRUE(t.has_value());
  // A small homogeneous deformation: the energy of the linear law, and no force at nodes that only elements touch.
  Matrix3d strain;
  strain << 2, 1, -1, 1, -3, 2, -1, 2, 1;
  strain *= 1e-6;
  std::vector<Vector3d> x = model->nodes;
  for (Vector3d& p : x) p += strain * p;
  t->set_state(x);
  const double mu = 1e6 / 2.9, lambda = 1e6 * 0.45 / (1.45 * 0.1);
  const double density = mu * strain.squaredNorm() + 0.5 * lambda * strain.trace() * strain.trace();
  std::vector<Vector3d> rest = model->nodes;
  const double energy = t->elastic_energy();
  t->set_state(rest);
  EXPECT_NEAR(energy, density * t->volume(), 1e-4 * energy);
}

TEST(Tissue, SurfaceIsClosedAndFacesOutwards) {
  const Vessel v = small_vessel();
  const auto model = vessel_model(v);
  ASSERT_TRUE(model.has_value());
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> edges;
  double volume = 0;
  for (const SurfaceTriangle& s : model->surface) {
    for (std::size_t k = 0; k < 3; ++k) ++edges[{s.node[k], s.node[(k + 1) % 3]}];
    const Vector3d &a = model->nodes[s.node[0]], &b = model->nodes[s.node[1]], &c = model->nodes[s.node[2]];
    volume += a.dot(b.cross(c)) / 6;
  }
  for (const auto& [edge, count] : edges) {
    EXPECT_EQ(count, 1);
    EXPECT_EQ(edges.count({edge.second, edge.first}), 1u);
  }
  EXPECT_NEAR(volume, M_PI * (0.25 - 0.16) * v.length, 1e-12);
}

TEST(Tissue, BadModelsAreRefusedByName) {
  Vessel v;
  v.wall = 0;
  EXPECT_NE(vessel_model(v).error().message.find("wall_mm is 0"), std::string::npos);
  v.wall = 0.5;
  EXPECT_FALSE(vessel_model(v).has_value());
  v.wall = std::nan("");
  EXPECT_FALSE(vessel_model(v).has_value());
  Vessel good = small_vessel();
  TissueModel model = *vessel_model(good);
  std::swap(model.elements[3][0], model.elements[3][1]);
  EXPECT_NE(Tissue::create(model).error().message.find("element 3 is inside out"), std::string::npos);
}

TEST(Tissue, ComplianceIsTheResponseAndSymmetric) {
  const Vessel v = small_vessel();
  Tissue t = tissue_of(v, {.iterations = 50, .residual_target = 1e-9});
  const std::uint32_t i = vessel_node(v, 4, 2, 1), j = vessel_node(v, 6, 7, 0);
  EXPECT_LT((t.compliance(i, j) - t.compliance(j, i).transpose()).norm(), 1e-4 * t.compliance(i, j).norm());
  for (const std::uint32_t from : {i, j})
    for (int axis = 0; axis < 3; ++axis) {
      Vector3d f = Vector3d::Zero();
      f[axis] = 0.01;
      t.clear_loads();
      t.load(from, f);
      t.begin(0.005);
      t.settle(50);
      for (const std::uint32_t to : {i, j})
        EXPECT_LT((t.x()[to] - t.start()[to] - t.compliance(to, from) * f).norm(),
                  1e-3 * t.compliance(from, from).norm() * f.norm());
      t.go_back(0);
    }
}

// Contact relies on it: what a push adds to the step is what compliance() says, bent or not, at every linearisation.
TEST(Tissue, PushedStepsFollowCompliance) {
  const Vessel v = small_vessel();
  Tissue t = tissue_of(v);
  const std::uint32_t i = vessel_node(v, 5, 2, 1), j = vessel_node(v, 6, 0, 0);
  t.begin(0.005);
  for (int k = 0; k < 8; ++k) {
    t.linearise();
    t.push(j, {0, 300, 20});
    t.solve();
    const Vector3d before = t.step()[i], own = t.step()[j];
    const Vector3d f(10, -20, 30);
    t.push(j, f);
    t.solve();
    EXPECT_LT((t.step()[i] - before - t.compliance(i, j) * f).norm(), 1e-4 * (t.step()[j] - own).norm()) << k;
    EXPECT_LT((t.step()[j] - own - t.compliance(j, j) * f).norm(), 1e-4 * (t.step()[j] - own).norm()) << k;
    t.advance(1);
  }
}

// Whatever it has been through: contact solves with this matrix, and goes to infinity where it is not positive.
TEST(Tissue, ComplianceIsPositiveAfterAnyHistory) {
  const Vessel v = small_vessel();
  Tissue t = tissue_of(v);
  Random random(31);
  std::vector<std::uint32_t> some;
  for (int k = 0; k < 30; ++k) some.push_back(vessel_node(v, 1 + k % 6, k % 10, k % 2));
  const auto any = [&] { return some[static_cast<std::size_t>(random.uniform(0, 30))]; };
  for (int k = 0; k < 120; ++k) {
    if (k % 7 == 0) t.clear_loads();
    if (k % 7 == 2) t.load(any(), 600 * random_vector(random));
    if (k % 11 == 3) {
      t.step_alone(0.005);
      continue;
    }
    t.begin(0.005);
    const std::uint32_t pressed = any(), aside = any();
    const Vector3d force = (k / 10) % 3 == 2 ? Vector3d(0, 0, 0) : Vector3d(800 * random_vector(random));
    const int rounds = 1 + k % 6;
    for (int n = 0; n < rounds; ++n) {
      t.linearise();
      t.push(pressed, force);
      t.solve();
      Eigen::Matrix<double, 90, 90> w;
      for (int i = 0; i < 30; ++i)
        for (int j = 0; j < 30; ++j)
          w.block<3, 3>(3 * i, 3 * j) =
              t.compliance(some[static_cast<std::size_t>(i)], some[static_cast<std::size_t>(j)]);
      const Eigen::SelfAdjointEigenSolver<Eigen::Matrix<double, 90, 90>> eigen(w);
      ASSERT_GT(eigen.eigenvalues()[0], -1e-6 * eigen.eigenvalues()[89]) << k << " " << n;
      const Vector3d before = t.step()[aside], f(10, -20, 30);
      const Vector3d own = t.step()[pressed];
      t.push(pressed, f);
      t.solve();
      ASSERT_LT((t.step()[aside] - before - t.compliance(aside, pressed) * f).norm(),
                1e-4 * (t.step()[pressed] - own).norm() + 1e-9)
          << k << " " << n;
      t.advance(n % 3 == 1 ? 0.4 : t.reach());
    }
    if (k % 5 == 0) t.linearise();  // as contact ends: learnt from, not solved
    if (k % 13 == 0) t.go_back(0.5);
    if (k % 17 == 0) t.go_back(0);
    t.finish();
  }
}

// Too many nodes to keep all responses.
TEST(Tissue, PushedStepsFollowComplianceOnLargeSurfaces) {
  Vessel v;
  v.around = 40, v.along = 40;
  Tissue t = tissue_of(v);
  Random random(2);
  t.begin(0.005);
  t.linearise();
  t.solve();
  const auto any = [&] { return static_cast<std::uint32_t>(random.uniform(80, static_cast<double>(t.nodes()))); };
  const std::uint32_t first = any(), second = any();
  const Matrix3d asked_first = t.compliance(first, second);
  for (int k = 0; k < 300; ++k) t.compliance(any(), any());
  EXPECT_EQ(t.compliance(first, second), asked_first);
  EXPECT_EQ(t.compliance(second, first), asked_first.transpose());
  for (int k = 0; k < 10; ++k) {
    const std::uint32_t i = any(), j = any();
    const Vector3d before = t.step()[i], own = t.step()[j], f(10, -20, 30);
    t.push(j, f);
    t.solve();
    EXPECT_LT((t.step()[i] - before - t.compliance(i, j) * f).norm(), 1e-4 * (t.step()[j] - own).norm()) << k;
    EXPECT_LT((t.step()[j] - own - t.compliance(j, j) * f).norm(), 1e-4 * (t.step()[j] - own).norm()) << k;
  }
}

TEST(Tissue, StepsOfItsSurfaceCanBeLed) {
  const Vessel v = small_vessel();
  Tissue t = tissue_of(v);
  const std::uint32_t led = vessel_node(v, 5, 2, 1), other = vessel_node(v, 5, 3, 1), held = vessel_node(v, 0, 2, 1);
  t.begin(0.005);
  t.linearise();
  t.push(other, {0, 300, 20});
  t.solve();
  const Vector3d before = t.step()[other], place = t.x()[led], to(0.01, -0.02, 0.03);
  t.lead(led, to);
  t.lead(held, to);
  EXPECT_LT((t.step()[led] - to).norm(), 1e-15);
  EXPECT_EQ(t.step()[other], before);
  EXPECT_EQ(t.step()[held], Vector3d(0, 0, 0)) << "what is held is not led";
  t.advance(0.5);
  EXPECT_LT((t.x()[led] - place - 0.5 * to).norm(), 1e-12);
}

TEST(Tissue, GoingBackIsExact) {
  const Vessel v = small_vessel();
  Tissue t = tissue_of(v);
  for (int k = 0; k < 5; ++k) {
    const std::vector<Vector3d> x(t.x(), t.x() + t.nodes());
    t.begin(0.005);
    for (int n = 0; n < 4; ++n) {
      t.linearise();
      t.push(vessel_node(v, 6, 0, 1), {500, -300, 200});
      t.solve();
      t.advance(0.7);
    }
    t.go_back(0);
    for (std::size_t i = 0; i < t.nodes(); ++i) ASSERT_EQ(t.x()[i], x[i]);
    t.clear_loads();
    t.load(vessel_node(v, 6, 0, 1), {0, 200, 0});
    t.step_alone(0.005);
  }
}

}  // namespace
}  // namespace ligature::tissue
