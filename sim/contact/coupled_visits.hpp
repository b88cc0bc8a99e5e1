#pragma once
/// Loops over what a coupled step is of: the files that CoupledStep is defined in, and nobody else, include this.

#include <algorithm>

#include "sim/contact/coupled_step.hpp"
#include "sim/contact/rigid_surface.hpp"

namespace ligature::contact {

template <class Visit>
void CoupledStep::visit_soft(const Visit& visit) const noexcept {
  for (std::size_t b = 0; b < bodies_.count; ++b)
    if (SoftBody* const body = bodies_.soft_of(b)) visit(*body);
}

template <class Visit>
void CoupledStep::visit_rigid_surfaces(const Visit& visit) const noexcept {
  for (std::size_t b = 0; b < bodies_.count; ++b)
    if (RigidSurface* const surface = bodies_.rigid_of(b)) visit(*surface);
}

template <class Visit>
void CoupledStep::visit_rigid(const Visit& visit) const noexcept {
  std::for_each(body_contacts_.contacts().begin(), body_contacts_.contacts().end(), visit);
  for (const BodyContact& c : mesh_contacts_.contacts())
    if (is_rigid(c.contact)) visit(c);
}

template <class Visit>
void CoupledStep::visit_contacts(const Visit& visit) noexcept {
  std::vector<StrandContact>& between = contacts_.contacts();
  for (std::size_t j = 0; j < between.size(); ++j) visit(between[j], Row{j, Row::Of::strands});
  std::vector<BodyContact>& with = body_contacts_.contacts();
  for (std::size_t j = 0; j < with.size(); ++j) visit(with[j].contact, Row{j, Row::Of::body});
  std::vector<BodyContact>& on_mesh = mesh_contacts_.contacts();
  for (std::size_t j = 0; j < on_mesh.size(); ++j) visit(on_mesh[j].contact, Row{j, Row::Of::mesh});
  std::vector<StrandContact>& in = rings_.contacts();
  for (std::size_t j = 0; j < in.size(); ++j) visit(in[j], Row{j, Row::Of::ring});
  std::vector<StrandContact>& along = rings_.struts();
  for (std::size_t j = 0; j < along.size(); ++j) visit(along[j], Row{j, Row::Of::strut});
  std::vector<BodyContact>& by = tools_.contacts();
  for (std::size_t j = 0; j < by.size(); ++j) visit(by[j].contact, Row{j, Row::Of::tool});
  std::vector<TissueContact>& on = tissue_contacts_.contacts();
  for (std::size_t j = 0; j < on.size(); ++j) visit(on[j].contact, Row{j, Row::Of::tissue});
}

}  // namespace ligature::contact
