#pragma once
/// What contacts have to do with each other by way of a soft body: its share of W.
///
///   W_ij += sign_i sign_j sum_mn w_im w_jn C(m, n)      w: weights of a place's nodes, C: the body's compliance
///
/// Nodes are few beside places: C is asked for once for every two nodes that are touched.
#include <Eigen/Core>
#include <vector>

#include "sim/contact/coupling.hpp"
#include "sim/contact/soft_body.hpp"

namespace ligature::contact {

class SoftCoupling {
 public:
  explicit SoftCoupling(std::size_t most_contacts);

  /// Begins the places on one body.
  void begin(const SoftBody& body) noexcept;
  /// One more. @param sign 1 where it moves the contact's first side, -1 its second @pre contacts in ascending order
  void touch(std::size_t contact, const SurfacePlace& place, double sign) noexcept;
  /// Adds their share. @param axes of each contact @rt O(nodes^2 + places^2), no allocation
  void add_to(Coupling& coupling, const Eigen::Matrix3d* axes) noexcept;

 private:
  static constexpr std::size_t kMostNodes = 256;  ///< whose compliance is kept; of more it is asked for again
  struct Side {
    std::size_t contact = 0;
    std::uint32_t node[3] = {};  ///< of the body, then among nodes_
    double weight[3] = {};       ///< signed
  };
  Eigen::Matrix3d compliance(std::uint32_t m, std::uint32_t n) const noexcept;
  double rounding(const Side& a, const Side& b) const noexcept;

  const SoftBody* body_ = nullptr;
  std::vector<Side> sides_;
  std::vector<std::uint32_t> nodes_;
  std::vector<Eigen::Matrix3d> between_;  // of nodes m >= n, at m (m + 1) / 2 + n
};

}  // namespace ligature::contact
