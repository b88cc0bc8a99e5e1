#include "tests/bench/bullet_chain.hpp"

#include <BulletDynamics/ConstraintSolver/btNNCGConstraintSolver.h>
#include <btBulletDynamicsCommon.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "sim/base/hash.hpp"

namespace ligature::bench {
namespace {

constexpr double kRadius = 0.5;         // Bullet's units
constexpr double kJointOpening = 0.02;  // of the radius, see the header
constexpr double kStep_s = 0.005, kErp = 0.2, kIterations = 10;
constexpr btScalar kLinearDamping = btScalar(0.5), kAngularDamping = btScalar(0.9);  // lost in a second
constexpr btScalar kNoRolling = btScalar(1e4);  // inertia about the axis over that across
// A spring against bending that a step of 5 ms still follows: k = kBend I / dt^2.
constexpr double kBend = 0.05;

btScalar number(double value) {
  return static_cast<btScalar>(value);
}
btVector3 vector(Vec3 v) {
  return {number(v.x), number(v.y), number(v.z)};
}
Vec3 vec3(const btVector3& v) {
  return {double(v.x()), double(v.y()), double(v.z())};
}

/// Pairs of the same thread whose arc keeps them from touching are no business of the narrow phase.
struct NeighboursApart : btOverlapFilterCallback {
  std::vector<double> reach;                ///< of each thread: pi h of arc
  std::vector<std::vector<double>> middle;  ///< of each segment of each thread, along it
  std::vector<std::vector<double>> length;
  bool needBroadphaseCollision(btBroadphaseProxy* a, btBroadphaseProxy* b) const override {
    const auto* x = static_cast<const btCollisionObject*>(a->m_clientObject);
    const auto* y = static_cast<const btCollisionObject*>(b->m_clientObject);
    if (x->isStaticOrKinematicObject() && y->isStaticOrKinematicObject()) return false;
    if (x->getUserIndex() != y->getUserIndex()) return true;
    const auto t = static_cast<std::size_t>(x->getUserIndex());
    const auto i = static_cast<std::size_t>(x->getUserIndex2()), j = static_cast<std::size_t>(y->getUserIndex2());
    if (i + 1 == j || j + 1 == i) return false;
    return std::abs(middle[t][i] - middle[t][j]) > reach[t] + 0.25 * (length[t][i] + length[t][j]);
  }
};

struct Pull {
  std::size_t body;
  btVector3 at;  ///< in the body's frame
  world::ForceParams force;
};

struct Hold {
  btPoint2PointConstraint* joint = nullptr;  ///< position: to the world; null: the body is moved by hand
  btRigidBody* body = nullptr;
  btVector3 pivot;  ///< in the body's frame
  world::ClampParams clamp;
  bool active = false;
};

/// @param along_mm where the vertices are, along the thread
std::size_t vertex_of(const world::Place& place, std::size_t vertices, const std::vector<double>& along_mm) {
  switch (place.kind) {
    case world::Place::Kind::first:
      return 0;
    case world::Place::Kind::last:
      return vertices - 1;
    case world::Place::Kind::vertex:
      return std::min(place.vertex, vertices - 1);
    case world::Place::Kind::arc:
      break;
  }
  const auto after = std::lower_bound(along_mm.begin(), along_mm.end(), place.s_mm);
  if (after == along_mm.begin()) return 0;
  if (after == along_mm.end()) return vertices - 1;
  const auto i = static_cast<std::size_t>(after - along_mm.begin());
  return place.s_mm - along_mm[i - 1] < along_mm[i] - place.s_mm ? i - 1 : i;
}

}  // namespace

struct BulletChain::State {
  world::WorldParams params;
  std::vector<std::vector<Vec3>> vertices;
  BulletSettings settings;
  double scale = 1;                     ///< units per mm
  double load_scale = 0;                ///< Bullet's force per uN
  std::vector<double> radius;           ///< of each thread, in units
  std::vector<double> half;             ///< half a segment of each body, in units
  std::vector<std::size_t> first_body;  ///< of each thread, and one behind the last
  double time_s = 0;
  double work_from_s = world::kForever, work_share = 0, work_spin = 0, work_period_s = 1;

  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher{&configuration};
  btDbvtBroadphase broadphase;
  NeighboursApart filter;
  std::unique_ptr<btSequentialImpulseConstraintSolver> solver;
  std::unique_ptr<btDiscreteDynamicsWorld> world;
  std::vector<std::unique_ptr<btCollisionShape>> shapes;
  std::vector<std::unique_ptr<btRigidBody>> bodies;
  std::vector<std::unique_ptr<btTypedConstraint>> joints;
  std::vector<Pull> pulls;
  std::vector<Hold> holds;

  State(const world::WorldParams& p, const std::vector<std::vector<Vec3>>& v, const BulletSettings& s)
      : params(p), vertices(v), settings(s) {
    build();
  }
  ~State() {
    for (auto& joint : joints) world->removeConstraint(joint.get());
    for (auto& body : bodies) world->removeRigidBody(body.get());
  }

  void build() {
    if (settings.solver == BulletSettings::Solver::nncg)
      solver = std::make_unique<btNNCGConstraintSolver>();
    else
      solver = std::make_unique<btSequentialImpulseConstraintSolver>();
    world = std::make_unique<btDiscreteDynamicsWorld>(&dispatcher, &broadphase, solver.get(), &configuration);
    world->getPairCache()->setOverlapFilterCallback(&filter);
    world->setGravity({0, 0, 0});
    btContactSolverInfo& info = world->getSolverInfo();
    info.m_numIterations = settings.iterations;
    info.m_erp = info.m_erp2 = number(settings.erp);
    info.m_splitImpulse = settings.split_impulse;
    if (settings.friction_anchors) info.m_solverMode |= SOLVER_USE_2_FRICTION_DIRECTIONS;

    double thinnest = 1e300, strongest = 0;
    bool spins = false;
    for (const world::ThreadParams& thread : params.threads) {
      thinnest = std::min(thinnest, thread.diameter_mm / 2);
      for (const auto& force : thread.forces) strongest = std::max(strongest, norm(force.force));
      for (const auto& clamp : thread.clamps) spins = spins || clamp.spin_rad_per_s != 0;
    }
    scale = kRadius / thinnest;
    // All segments weigh one unit.
    const double pull = kJointOpening * kRadius * kErp * kIterations / (2 * kStep_s * kStep_s);
    load_scale = strongest > 0 ? pull / strongest : 0;

    for (std::size_t t = 0; t < params.threads.size(); ++t) add_thread(t, spins);
    first_body.push_back(bodies.size());
  }

  void add_thread(std::size_t t, bool spins) {
    const world::ThreadParams& thread = params.threads[t];
    const std::vector<Vec3>& x = vertices[t];
    const std::size_t first = bodies.size(), segments = x.size() - 1;
    const double h = thread.diameter_mm / 2 * scale;
    first_body.push_back(first);
    radius.push_back(h);
    std::vector<double> along_mm{0}, middle, length;  // the first in rest lengths, where those are alike
    double along = 0;
    for (std::size_t i = 0; i < segments; ++i) {
      const double l = norm(x[i + 1] - x[i]);
      middle.push_back((along + l / 2) * scale);
      along += l;
      length.push_back(l * scale);
      half.push_back(l * scale / 2);
      along_mm.push_back(thread.coarsest_mm > 0 ? along : along_mm.back() + thread.segment_mm);
    }
    filter.reach.push_back(std::numbers::pi * h);
    filter.middle.push_back(middle);
    filter.length.push_back(length);

    double friction = params.friction.thread_thread;  // as it is in the end
    for (const auto& entry : params.schedule)
      if (entry.key == world::ScheduleEntry::Key::friction_thread_thread) friction = entry.value;
    for (std::size_t i = 0; i < segments; ++i) {
      const btVector3 a = vector(scale * x[i]), b = vector(scale * x[i + 1]);
      shapes.push_back(std::make_unique<btCapsuleShapeX>(number(h), number(length[i])));
      btVector3 inertia;
      shapes.back()->calculateLocalInertia(1, inertia);
      const btScalar most = std::max({inertia.x(), inertia.y(), inertia.z()});
      inertia.setValue(spins ? most : kNoRolling * most, most, most);
      const btQuaternion turn = shortestArcQuat(btVector3(1, 0, 0), (b - a).normalized());
      btRigidBody::btRigidBodyConstructionInfo how(1, nullptr, shapes.back().get(), inertia);
      how.m_startWorldTransform = btTransform(turn, (a + b) / 2);
      how.m_friction = number(std::sqrt(friction));  // Bullet multiplies the two
      how.m_restitution = 0;
      how.m_linearDamping = kLinearDamping;
      how.m_angularDamping = kAngularDamping;
      auto body = std::make_unique<btRigidBody>(how);
      body->setFlags(0);  // no gyroscopic forces: the inertia about the axis is not a real one
      if (settings.friction_anchors)
        body->setCollisionFlags(body->getCollisionFlags() | btCollisionObject::CF_HAS_FRICTION_ANCHOR);
      body->setActivationState(DISABLE_DEACTIVATION);
      body->setUserIndex(static_cast<int>(t));
      body->setUserIndex2(static_cast<int>(i));
      bodies.push_back(std::move(body));
    }
    for (const world::ClampParams& clamp : thread.clamps) {
      const std::size_t vertex = vertex_of(clamp.at, x.size(), along_mm);
      const bool at_end = vertex == segments;
      const std::size_t index = first + (at_end ? vertex - 1 : vertex);
      Hold hold;
      hold.clamp = clamp;
      hold.body = bodies[index].get();
      hold.pivot = {number(at_end ? half[index] : -half[index]), 0, 0};
      if (clamp.hold == world::ClampParams::Hold::frame) {
        hold.body->setMassProps(0, {0, 0, 0});
        hold.body->setCollisionFlags((hold.body->getCollisionFlags() & ~btCollisionObject::CF_STATIC_OBJECT) |
                                     btCollisionObject::CF_KINEMATIC_OBJECT);
      } else {
        auto joint = std::make_unique<btPoint2PointConstraint>(*hold.body, hold.pivot);
        hold.joint = joint.get();
        hold.joint->setEnabled(false);
        joints.push_back(std::move(joint));
      }
      holds.push_back(hold);
    }
    for (std::size_t i = first; i < bodies.size(); ++i) world->addRigidBody(bodies[i].get());
    for (std::size_t i = first; i + 1 < bodies.size(); ++i) {
      const btVector3 end(number(half[i]), 0, 0), begin(number(-half[i + 1]), 0, 0);
      if (!spins) {
        joints.push_back(std::make_unique<btPoint2PointConstraint>(*bodies[i], *bodies[i + 1], end, begin));
      } else {
        btTransform in_a, in_b;
        in_b.setIdentity();
        in_b.setOrigin(begin);
        in_a.setIdentity();
        in_a.setOrigin(end);
        // Frames agree about the axis where the thread is drawn straight.
        auto joint = std::make_unique<btGeneric6DofSpring2Constraint>(*bodies[i], *bodies[i + 1], in_a, in_b);
        joint->setLinearLowerLimit({0, 0, 0});
        joint->setLinearUpperLimit({0, 0, 0});
        joint->setAngularLowerLimit({0, 1, 1});  // lower above upper: free
        joint->setAngularUpperLimit({0, -1, -1});
        for (const int axis : {4, 5}) {
          joint->enableSpring(axis, true);
          const double most = 1 / double(bodies[i]->getInvInertiaDiagLocal().y());
          joint->setStiffness(axis, number(kBend * most / (kStep_s * kStep_s)));
          joint->setDamping(axis, number(0.1 * most / kStep_s));
          joint->setEquilibriumPoint(axis, 0);
        }
        joints.push_back(std::move(joint));
      }
    }
    for (auto& joint : joints) {
      if (joint->getUserConstraintId() == 1) continue;
      joint->setUserConstraintId(1);
      world->addConstraint(joint.get(), true);
    }
    for (const world::ForceParams& force : thread.forces) {
      const std::size_t vertex = vertex_of(force.at, x.size(), along_mm);
      const bool at_end = vertex == segments;
      const std::size_t index = first + (at_end ? vertex - 1 : vertex);
      pulls.push_back({index, {number(at_end ? half[index] : -half[index]), 0, 0}, force});
    }
  }

  void step() {
    const double dt = params.step_s / settings.substeps;
    for (int k = 0; k < settings.substeps; ++k) {
      time_s += dt;
      // A swing 0, 1, 0, -1, 0 in one period.
      const double phase = time_s > work_from_s ? std::fmod((time_s - work_from_s) / work_period_s, 1.0) : 0.0;
      const bool rising = phase < 0.25 || phase >= 0.75;
      const double swing = rising ? 4 * (phase < 0.5 ? phase : phase - 1) : 2 - 4 * phase;
      const double spin = time_s > work_from_s ? (rising ? work_spin : -work_spin) : 0.0;
      for (Hold& hold : holds) {
        const world::ClampParams& c = hold.clamp;
        const bool active = time_s >= c.from_s && time_s < c.until_s;
        if (hold.joint != nullptr) {
          if (active && !hold.active) hold.joint->setPivotB(hold.body->getWorldTransform() * hold.pivot);
          hold.joint->setPivotB(hold.joint->getPivotInB() + vector(scale * dt * c.velocity));
          hold.joint->setEnabled(active);
        } else if (active) {
          const double turning = c.spin_rad_per_s + (c.at.kind == world::Place::Kind::first ? -spin : spin);
          btTransform pose = hold.body->getWorldTransform();
          const btQuaternion turn(pose.getBasis().getColumn(0), number(dt * turning));
          pose.setRotation((turn * pose.getRotation()).normalized());
          pose.setOrigin(pose.getOrigin() + vector(scale * dt * c.velocity));
          hold.body->setWorldTransform(pose);
        }
        hold.active = active;
      }
      for (const Pull& pull : pulls) {
        const world::ForceParams& f = pull.force;
        if (time_s < f.from_s || time_s >= f.until_s) continue;
        const double grown =
            (f.ramp_s > 0 ? std::min((time_s - f.from_s) / f.ramp_s, 1.0) : 1.0) * (1 + work_share * swing);
        btRigidBody& body = *bodies[pull.body];
        body.applyForce(vector(load_scale * grown * f.force), body.getWorldTransform().getBasis() * pull.at);
      }
      world->stepSimulation(number(dt), 0);
    }
  }
};

BulletChain::BulletChain(const world::WorldParams& params, const std::vector<std::vector<Vec3>>& vertices,
                         double time_s, const BulletSettings& settings)
    : state_(std::make_unique<State>(params, vertices, settings)) {
  state_->time_s = time_s;
}

BulletChain::BulletChain(const BulletChain& other, const BulletSettings& settings)
    : state_(std::make_unique<State>(other.state_->params, other.state_->vertices, settings)) {
  state_->time_s = other.state_->time_s;
  for (std::size_t i = 0; i < state_->holds.size(); ++i) {
    Hold& hold = state_->holds[i];
    hold.active = other.state_->holds[i].active;
    if (hold.joint == nullptr) continue;
    hold.joint->setPivotB(other.state_->holds[i].joint->getPivotInB());
    hold.joint->setEnabled(hold.active);
  }
  for (std::size_t i = 0; i < state_->bodies.size(); ++i) {
    btRigidBody& body = *state_->bodies[i];
    const btRigidBody& as = *other.state_->bodies[i];
    body.setWorldTransform(as.getWorldTransform());
    body.setInterpolationWorldTransform(as.getWorldTransform());
    body.setLinearVelocity(as.getLinearVelocity());
    body.setAngularVelocity(as.getAngularVelocity());
    state_->world->updateSingleAabb(&body);
  }
}

BulletChain::~BulletChain() = default;

void BulletChain::step() {
  state_->step();
}

void BulletChain::work(double share, double spin_rad_per_s, double period_s) {
  state_->work_from_s = state_->time_s;
  state_->work_share = share;
  state_->work_spin = spin_rad_per_s;
  state_->work_period_s = period_s;
}

double BulletChain::time_s() const {
  return state_->time_s;
}

std::vector<Curve> BulletChain::curves() const {
  std::vector<Curve> out;
  for (std::size_t t = 0; t < state_->radius.size(); ++t) {
    Curve curve;
    curve.radius = state_->radius[t] / state_->scale;
    btVector3 before;
    for (std::size_t i = state_->first_body[t]; i < state_->first_body[t + 1]; ++i) {
      const btVector3 end(number(state_->half[i]), 0, 0);
      if (i == state_->first_body[t]) before = state_->bodies[i]->getWorldTransform() * -end;
      const btTransform& pose = state_->bodies[i]->getWorldTransform();
      curve.x.push_back((1 / state_->scale) * vec3((before + pose * -end) / 2));
      before = pose * end;
    }
    curve.x.push_back((1 / state_->scale) * vec3(before));
    out.push_back(std::move(curve));
  }
  return out;
}

double BulletChain::worst_joint() const {
  double worst = 0;
  for (std::size_t t = 0; t < state_->radius.size(); ++t) {
    for (std::size_t i = state_->first_body[t]; i + 1 < state_->first_body[t + 1]; ++i) {
      const btVector3 end(number(state_->half[i]), 0, 0), begin(number(-state_->half[i + 1]), 0, 0);
      const btVector3 gap =
          state_->bodies[i]->getWorldTransform() * end - state_->bodies[i + 1]->getWorldTransform() * begin;
      worst = std::max(worst, double(gap.length()) / state_->radius[t]);
    }
  }
  return worst;
}

int BulletChain::contacts() const {
  int touching = 0;
  for (int m = 0; m < state_->dispatcher.getNumManifolds(); ++m) {
    const btPersistentManifold* manifold = state_->dispatcher.getManifoldByIndexInternal(m);
    for (int k = 0; k < manifold->getNumContacts(); ++k) touching += manifold->getContactPoint(k).getDistance() <= 0;
  }
  return touching;
}

bool BulletChain::finite() const {
  return std::all_of(state_->bodies.begin(), state_->bodies.end(), [](const auto& body) {
    const btVector3 p = body->getWorldTransform().getOrigin();
    return std::isfinite(p.x()) && std::isfinite(p.y()) && std::isfinite(p.z());
  });
}

std::uint64_t BulletChain::state_hash() const {
  StateHash hash;
  for (const auto& body : state_->bodies) {
    const btVector3 p = body->getWorldTransform().getOrigin(), v = body->getLinearVelocity();
    for (int axis = 0; axis < 3; ++axis) {
      hash.add(double(p[axis]));
      hash.add(double(v[axis]));
    }
  }
  return hash.value();
}

}  // namespace ligature::bench
