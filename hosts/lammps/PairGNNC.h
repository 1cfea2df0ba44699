//===- PairGNNC.h - pair_style gnnc -----------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   pair_style gnnc [device cpu|cuda|cuda:N] [threads N]
//   pair_coeff * * model.so H O
//
// Pairs are those of LAMMPS's full list. A ghost is not an atom of the model: it stands for the atom that it is an
// image of, on this rank or another one, and the way there is the pair's shift. So a model of several layers needs no
// longer cutoff: rows of neighbours are exchanged between layers, by the object itself over the communicator of LAMMPS,
// and forces come back to their atoms whole.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_LAMMPS_PAIRGNNC_H
#define GNNC_HOSTS_LAMMPS_PAIRGNNC_H

#include "common/ForceField.h"

#include "gnnc-c/gnnc_mpi.h"
#include "pair.h"

#include <memory>
#include <string>
#include <vector>

namespace LAMMPS_NS {

class PairGNNC : public Pair {
public:
  explicit PairGNNC(LAMMPS *lammps);
  ~PairGNNC() override;

  void settings(int count, char **words) override;
  void coeff(int count, char **words) override;
  void init_style() override;
  double init_one(int i, int j) override;
  void compute(int energies, int virials) override;
  int pack_forward_comm(int count, int *atoms, double *values, int, int *) override;
  void unpack_forward_comm(int count, int first, double *values) override;
  double memory_usage() override;

private:
  /// The atom that an atom or ghost stands for, and where it is.
  struct Home {
    double rank, number, x[3];
  };
  void allocate();
  void learnHomes();
  bool listPairs();
  bool hasOtherTypes() const;
  void prepare();
  void addHalo(gnnc::hosts::Pairs &pairs);
  void tally(const gnnc::hosts::Results &results);

  std::string device = "cpu";
  int threads = 0;
  std::unique_ptr<gnnc::hosts::ForceField> model;
  gnnc_mpi *ranks = nullptr;
  std::vector<int> elements;                                     ///< atomic number of each type of LAMMPS, from 1
  std::vector<Home> homes;                                       ///< of own atoms and ghosts
  std::vector<int> centres, neighbours;                          ///< of the pairs in force, as LAMMPS numbers atoms
  std::vector<int> listedCentres, listedNeighbours, listedTypes; ///< what lists and atoms are compared with
};

} // namespace LAMMPS_NS

#endif // GNNC_HOSTS_LAMMPS_PAIRGNNC_H
