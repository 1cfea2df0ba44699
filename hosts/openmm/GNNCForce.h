//===- GNNCForce.h - A compiled force field in OpenMM -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_OPENMM_GNNCFORCE_H
#define GNNC_HOSTS_OPENMM_GNNCFORCE_H

#include "openmm/Force.h"

#include <string>
#include <vector>

namespace GNNCPlugin {

/// Energies and forces of an object that `gnnc.export(…, forces=…)` wrote, on all platforms of OpenMM: positions and
/// forces go through the host. With periodic boundaries the box has to be at least twice as wide as the cutoff, as
/// OpenMM asks of its own forces.
class __attribute__((visibility("default"))) GNNCForce : public OpenMM::Force {
public:
  /// `file`: the object. `atomicNumbers`: of each particle of the system, or of each of `particles`.
  GNNCForce(const std::string &file, const std::vector<int> &atomicNumbers);

  const std::string &getFile() const { return file; }
  const std::vector<int> &getAtomicNumbers() const { return atomicNumbers; }

  /// The particles that the model describes; empty, as at first: all.
  void setParticles(const std::vector<int> &numbers) { particles = numbers; }
  const std::vector<int> &getParticles() const { return particles; }

  /// cpu, cuda or cuda:NUMBER: where the object runs, whatever platform OpenMM has. At first the CPU.
  void setDevice(const std::string &name) { device = name; }
  const std::string &getDevice() const { return device; }
  /// Of the CPU; 0, as at first: all processors.
  void setThreads(int number) { threads = number; }
  int getThreads() const { return threads; }

  /// A model's unit of length in nm, and of energy in kJ/mol. At first Å and eV.
  void setUnits(double length, double energy);
  double getLengthUnit() const { return lengthUnit; }
  double getEnergyUnit() const { return energyUnit; }

  /// How much farther than the cutoff pairs are listed, in nm, so that a list serves several steps. At first 0.1.
  void setSkin(double length);
  double getSkin() const { return skin; }

  void setUsesPeriodicBoundaryConditions(bool yes) { periodic = yes; }
  bool usesPeriodicBoundaryConditions() const override { return periodic; }

protected:
  OpenMM::ForceImpl *createImpl() const override;

private:
  std::string file, device = "cpu";
  std::vector<int> atomicNumbers, particles;
  int threads = 0;
  double lengthUnit = 0.1, energyUnit = 96.48533212331, skin = 0.1;
  bool periodic = false;
};

} // namespace GNNCPlugin

#endif // GNNC_HOSTS_OPENMM_GNNCFORCE_H
