//===- ForceField.h - A compiled force field in a simulator -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What hosts of objects that `gnnc.export(…, forces=…)` wrote have in common: which argument is for what, atoms and
// pairs as the object wants them, memory of a device. Everything is in the model's units. Needs gnnc-c/gnnc.h and
// nlohmann/json.hpp, and nothing else of gnnc. Functions throw std::runtime_error with one line, unless it is said that
// they do not.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_FORCEFIELD_H
#define GNNC_HOSTS_FORCEFIELD_H

#include "gnnc-c/gnnc.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace gnnc::hosts {

/// Atoms of one rank and the pairs that they are in. A pair is of an own atom, the centre, and a neighbour within the
/// cutoff; pairs are in both directions.
struct Pairs {
  int64_t atoms = 0;         ///< own ones
  std::vector<int> elements; ///< atomic numbers of the own atoms, then of the halo's
  /// Numbers of atoms: own ones, and behind them those of the halo.
  std::vector<int64_t> neighbour, centre;
  std::vector<double> shifts; ///< [pairs, 3]: what to add to the neighbour's position

  /// On several ranks: how many atoms of the halo each rank has, which own atoms others have in theirs (by rank, in the
  /// order of their halo) and how many these are by rank.
  std::vector<int64_t> haloCounts, sent, sendCounts;
};

/// Which results are wanted.
struct Wanted {
  bool virial = false;
  bool pairForces = false;
};

struct Results {
  double energy = 0;              ///< of the own atoms if the model has `energies`, else of those of all ranks
  std::vector<double> energies;   ///< of own atoms; empty if the model does not have them
  std::vector<double> forces;     ///< [atoms, 3], whole ones: what pairs of other ranks contribute is in them
  double virial[9] = {};          ///< of all ranks: minus the derivative of the energy by strain
  std::vector<double> pairForces; ///< [pairs, 3]: minus the derivative of the energy by the pair's vector
};

/// One object on one device. Not to be used by several threads at once.
class ForceField {
public:
  /// `device`: cpu, cuda or cuda:NUMBER. `threads`: of the CPU; 0: all processors.
  ForceField(const std::string &path, const std::string &device, int threads);
  ~ForceField();
  ForceField(const ForceField &) = delete;
  ForceField &operator=(const ForceField &) = delete;

  /// 0: the model takes no pairs.
  double cutoff() const;
  /// Whether pairs beyond the cutoff change nothing, so that a list with a skin needs no sifting.
  bool ignoresLongerPairs() const;
  bool hasEnergies() const;
  bool hasVirial() const;
  bool hasPairForces() const;
  /// Whether it runs on several ranks.
  bool isDistributed() const;
  /// Whether it calls collectives from a thread of its own.
  bool overlaps() const;

  /// Takes other pairs. `collectives`: null for one rank alone. What it needs of `pairs` is copied.
  void prepare(const Pairs &pairs, const gnnc_collectives *collectives = nullptr);
  /// Positions of the own atoms, [atoms, 3].
  const Results &evaluate(const double *positions, Wanted wanted);

private:
  struct State;
  std::unique_ptr<State> state;
};

/// The atomic number of a symbol such as "O"; 0: there is none.
int atomicNumber(const std::string &symbol);

} // namespace gnnc::hosts

#endif // GNNC_HOSTS_FORCEFIELD_H
