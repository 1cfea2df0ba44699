//===- GNNCForce.cpp - A compiled force field in OpenMM -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GNNCForce.h"
#include "common/ForceField.h"

#include "openmm/OpenMMException.h"
#include "openmm/System.h"
#include "openmm/internal/ContextImpl.h"
#include "openmm/internal/CustomCPPForceImpl.h"
#include "openmm/reference/ReferenceNeighborList.h"

#include <cmath>
#include <memory>
#include <set>

using namespace GNNCPlugin;
using gnnc::hosts::ForceField;
using gnnc::hosts::Pairs;
using OpenMM::OpenMMException;
using OpenMM::Vec3;

GNNCForce::GNNCForce(const std::string &file, const std::vector<int> &atomicNumbers)
    : file(file), atomicNumbers(atomicNumbers) {}

void GNNCForce::setUnits(double length, double energy) {
  if (!(length > 0) || !(energy > 0))
    throw OpenMMException("GNNCForce: expected units greater than 0");
  lengthUnit = length;
  energyUnit = energy;
}

void GNNCForce::setSkin(double length) {
  if (!(length >= 0))
    throw OpenMMException("GNNCForce: expected a skin of at least 0");
  skin = length;
}

namespace {

class Impl : public OpenMM::CustomCPPForceImpl {
public:
  explicit Impl(const GNNCForce &force) : CustomCPPForceImpl(force), force(force) {}
  const GNNCForce &getOwner() const override { return force; }

  void initialize(OpenMM::ContextImpl &context) override {
    CustomCPPForceImpl::initialize(context);
    int count = context.getSystem().getNumParticles();
    particles = force.getParticles();
    if (particles.empty())
      for (int i = 0; i < count; ++i)
        particles.push_back(i);
    for (int particle : particles)
      if (particle < 0 || particle >= count)
        throw OpenMMException("GNNCForce: particle " + std::to_string(particle) + " of a system that has " +
                              std::to_string(count));
    if (force.getAtomicNumbers().size() != particles.size())
      throw OpenMMException("GNNCForce: expected " + std::to_string(particles.size()) + " atomic numbers, found " +
                            std::to_string(force.getAtomicNumbers().size()));
    attempt([&] { model = std::make_unique<ForceField>(force.getFile(), force.getDevice(), force.getThreads()); });
    if (model->isDistributed())
      throw OpenMMException("GNNCForce: '" + force.getFile() + "' is for ranks: export it without --distributed");
  }

  double computeForce(OpenMM::ContextImpl &context, const std::vector<Vec3> &all, std::vector<Vec3> &forces) override {
    // Positions in the unit of the model.
    places.clear();
    for (int particle : particles)
      places.push_back(all[size_t(particle)] * (1 / force.getLengthUnit()));
    Vec3 box[3];
    context.getPeriodicBoxVectors(box[0], box[1], box[2]);
    for (Vec3 &vector : box)
      vector *= 1 / force.getLengthUnit();
    const gnnc::hosts::Results *results = nullptr;
    attempt([&] {
      if (!isListed(box))
        list(box);
      takePairs();
      results = &model->evaluate(places.empty() ? nullptr : &places[0][0], {});
    });
    double scale = force.getEnergyUnit() / force.getLengthUnit();
    forces.assign(all.size(), Vec3());
    for (size_t i = 0; i < particles.size(); ++i)
      forces[size_t(particles[i])] =
          Vec3(results->forces[3 * i], results->forces[3 * i + 1], results->forces[3 * i + 2]) * scale;
    return results->energy * force.getEnergyUnit();
  }

private:
  template <typename Body> static void attempt(Body body) {
    try {
      body();
    } catch (const OpenMMException &) {
      throw;
    } catch (const std::exception &failure) {
      throw OpenMMException(std::string("GNNCForce: ") + failure.what());
    }
  }

  double skinInModel() const { return force.getSkin() / force.getLengthUnit(); }

  bool isListed(const Vec3 *box) const {
    if (listedPlaces.size() != places.size())
      return false;
    if (force.usesPeriodicBoundaryConditions())
      for (int i = 0; i < 3; ++i)
        if (!(box[i] == listedBox[i]))
          return false;
    double most = (listedReach - model->cutoff()) / 2;
    for (size_t i = 0; i < places.size(); ++i) {
      Vec3 moved = places[i] - listedPlaces[i];
      if (!(moved.dot(moved) <= most * most))
        return false;
    }
    return true;
  }

  void list(const Vec3 *box) {
    bool periodic = force.usesPeriodicBoundaryConditions();
    double reach = model->cutoff() + skinInModel();
    if (periodic)
      for (int i = 0; i < 3; ++i)
        if (box[i][i] < 2 * model->cutoff())
          throw OpenMMException("GNNCForce: expected a box at least twice as wide as the cutoff, " +
                                std::to_string(model->cutoff()) + ", found " + std::to_string(box[i][i]) +
                                " (in the model's unit)");
    for (const Vec3 &place : places)
      if (!std::isfinite(place.dot(place)))
        throw OpenMMException("GNNCForce: a position is no number");
    // Where the skin does not fit into the box, lists are of the cutoff alone and serve one step.
    if (periodic)
      for (int i = 0; i < 3; ++i)
        reach = std::min(reach, box[i][i] / 2);
    listedReach = reach;
    OpenMM::NeighborList found;
    if (model->cutoff() > 0)
      OpenMM::computeNeighborListVoxelHash(found, int(places.size()), places, std::vector<std::set<int>>(places.size()),
                                           box, periodic, reach);
    neighbours.clear();
    centres.clear();
    shifts.clear();
    for (auto [i, j] : found) {
      Vec3 vector = places[j] - places[i], nearest = vector;
      if (periodic)
        for (int k = 2; k >= 0; --k)
          nearest -= box[k] * std::floor(nearest[k] / box[k][k] + 0.5);
      add(i, j, nearest - vector);
      add(j, i, vector - nearest);
    }
    listedPlaces = places;
    for (int i = 0; i < 3; ++i)
      listedBox[i] = box[i];
    hasNewList = true;
  }

  void add(int64_t centre, int64_t neighbour, const Vec3 &shift) {
    centres.push_back(centre);
    neighbours.push_back(neighbour);
    shifts.push_back(shift);
  }

  /// Those in force of the list.
  void takePairs() {
    taken.clear();
    double most = model->cutoff() * model->cutoff();
    for (size_t pair = 0; pair < centres.size(); ++pair) {
      Vec3 vector = places[size_t(neighbours[pair])] + shifts[pair] - places[size_t(centres[pair])];
      if (model->ignoresLongerPairs() || vector.dot(vector) <= most)
        taken.push_back(pair);
    }
    if (!hasNewList && taken == lastTaken)
      return;
    Pairs pairs;
    pairs.atoms = int64_t(places.size());
    pairs.elements = force.getAtomicNumbers();
    for (size_t pair : taken) {
      pairs.neighbour.push_back(neighbours[pair]);
      pairs.centre.push_back(centres[pair]);
      for (int d = 0; d < 3; ++d)
        pairs.shifts.push_back(shifts[pair][d]);
    }
    model->prepare(pairs);
    lastTaken = taken;
    hasNewList = false;
  }

  const GNNCForce &force;
  std::unique_ptr<ForceField> model;
  std::vector<int> particles;
  std::vector<Vec3> places, listedPlaces, shifts;
  Vec3 listedBox[3];
  double listedReach = 0;
  std::vector<int64_t> neighbours, centres;
  std::vector<size_t> taken, lastTaken;
  bool hasNewList = false;
};

} // namespace

OpenMM::ForceImpl *GNNCForce::createImpl() const { return new Impl(*this); }
