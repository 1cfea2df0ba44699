//===- Serialization.cpp - GNNCForce as XML -------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GNNCForce.h"

#include "openmm/OpenMMException.h"
#include "openmm/serialization/SerializationNode.h"
#include "openmm/serialization/SerializationProxy.h"

#include <memory>
#include <typeinfo>

using namespace GNNCPlugin;
using OpenMM::SerializationNode;

namespace {

class Proxy : public OpenMM::SerializationProxy {
public:
  Proxy() : SerializationProxy("GNNCForce") {}

  void serialize(const void *object, SerializationNode &node) const override {
    const GNNCForce &force = *static_cast<const GNNCForce *>(object);
    node.setIntProperty("version", 1);
    node.setStringProperty("name", force.getName());
    node.setIntProperty("forceGroup", force.getForceGroup());
    node.setStringProperty("file", force.getFile());
    node.setStringProperty("device", force.getDevice());
    node.setIntProperty("threads", force.getThreads());
    node.setDoubleProperty("lengthUnit", force.getLengthUnit());
    node.setDoubleProperty("energyUnit", force.getEnergyUnit());
    node.setDoubleProperty("skin", force.getSkin());
    node.setBoolProperty("periodic", force.usesPeriodicBoundaryConditions());
    // A node is good until its parent gets another one.
    SerializationNode &elements = node.createChildNode("Elements");
    for (int number : force.getAtomicNumbers())
      elements.createChildNode("Element").setIntProperty("number", number);
    SerializationNode &particles = node.createChildNode("Particles");
    for (int particle : force.getParticles())
      particles.createChildNode("Particle").setIntProperty("index", particle);
  }

  void *deserialize(const SerializationNode &node) const override {
    if (node.getIntProperty("version") != 1)
      throw OpenMM::OpenMMException("GNNCForce: expected version 1, found " +
                                    std::to_string(node.getIntProperty("version")));
    std::vector<int> elements, particles;
    for (const SerializationNode &each : node.getChildNode("Elements").getChildren())
      elements.push_back(each.getIntProperty("number"));
    for (const SerializationNode &each : node.getChildNode("Particles").getChildren())
      particles.push_back(each.getIntProperty("index"));
    auto force = std::make_unique<GNNCForce>(node.getStringProperty("file"), elements);
    force->setName(node.getStringProperty("name"));
    force->setForceGroup(node.getIntProperty("forceGroup"));
    force->setParticles(particles);
    force->setDevice(node.getStringProperty("device"));
    force->setThreads(node.getIntProperty("threads"));
    force->setUnits(node.getDoubleProperty("lengthUnit"), node.getDoubleProperty("energyUnit"));
    force->setSkin(node.getDoubleProperty("skin"));
    force->setUsesPeriodicBoundaryConditions(node.getBoolProperty("periodic"));
    return force.release();
  }
};

/// As soon as the library is loaded.
struct Registration {
  Registration() { OpenMM::SerializationProxy::registerProxy(typeid(GNNCForce), new Proxy()); }
} registration;

} // namespace
