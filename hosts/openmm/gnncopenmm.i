// The Python module `gnncopenmm`: GNNCForce as one of OpenMM's forces.
// Part of gnnc. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
%module gnncopenmm

%import(module="openmm") "swig/OpenMMSwigHeaders.i"
%include "swig/typemaps.i"
%include <std_string.i>
%include <std_vector.i>

namespace std {
%template(vectori) vector<int>;
}

%{
#include "GNNCForce.h"
#include "OpenMM.h"
#include "OpenMMAmoeba.h"
#include "OpenMMDrude.h"
#include "openmm/RPMDIntegrator.h"
#include "openmm/RPMDMonteCarloBarostat.h"
%}

%exception {
  try {
    $action
  } catch (std::exception &failure) {
    PyErr_SetString(PyExc_Exception, failure.what());
    SWIG_fail;
  }
}

namespace GNNCPlugin {

class GNNCForce : public OpenMM::Force {
public:
  GNNCForce(const std::string &file, const std::vector<int> &atomicNumbers);
  const std::string &getFile() const;
  const std::vector<int> &getAtomicNumbers() const;
  void setParticles(const std::vector<int> &numbers);
  const std::vector<int> &getParticles() const;
  void setDevice(const std::string &name);
  const std::string &getDevice() const;
  void setThreads(int number);
  int getThreads() const;
  void setUnits(double length, double energy);
  double getLengthUnit() const;
  double getEnergyUnit() const;
  void setSkin(double length);
  double getSkin() const;
  void setUsesPeriodicBoundaryConditions(bool yes);
  bool usesPeriodicBoundaryConditions() const;

  %extend {
    static GNNCPlugin::GNNCForce &cast(OpenMM::Force &force) { return dynamic_cast<GNNCPlugin::GNNCForce &>(force); }
    static bool isinstance(OpenMM::Force &force) { return dynamic_cast<GNNCPlugin::GNNCForce *>(&force) != nullptr; }
  }
};

} // namespace GNNCPlugin
