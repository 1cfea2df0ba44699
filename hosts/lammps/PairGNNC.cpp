//===- PairGNNC.cpp - pair_style gnnc -------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairGNNC.h"

#include "atom.h"
#include "comm.h"
#include "domain.h"
#include "error.h"
#include "force.h"
#include "memory.h"
#include "neigh_list.h"
#include "neighbor.h"
#include "update.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

using namespace LAMMPS_NS;
using gnnc::hosts::Pairs;
using gnnc::hosts::Results;

/// A rank that waits longer than this for another one ends the run, in seconds.
static constexpr double kTimeout = 600;

static const char *const kOptions = "options=[\"--distributed\", \"--without\", \"overlap-transfers\"]";

PairGNNC::PairGNNC(LAMMPS *lammps) : Pair(lammps) {
  manybody_flag = 1;
  one_coeff = 1;
  single_enable = 0;
  restartinfo = 0;
  no_virial_fdotr_compute = 1;
  centroidstressflag = CENTROID_NOTAVAIL;
  comm_forward = 5;
}

PairGNNC::~PairGNNC() {
  model.reset();
  gnnc_mpi_close(ranks);
  if (allocated) {
    memory->destroy(setflag);
    memory->destroy(cutsq);
  }
}

void PairGNNC::allocate() {
  int types = atom->ntypes;
  memory->create(setflag, types + 1, types + 1, "pair:setflag");
  memory->create(cutsq, types + 1, types + 1, "pair:cutsq");
  for (int i = 1; i <= types; ++i)
    for (int j = 1; j <= types; ++j)
      setflag[i][j] = 0;
  allocated = 1;
}

void PairGNNC::settings(int count, char **words) {
  for (int i = 0; i < count; i += 2) {
    std::string name = words[i];
    if (i + 1 == count)
      error->all(FLERR, "pair_style gnnc: expected a value after '{}'", name);
    if (name == "device")
      device = words[i + 1];
    else if (name == "threads")
      threads = utils::inumeric(FLERR, words[i + 1], false, lmp);
    else
      error->all(FLERR, "pair_style gnnc: expected device or threads, found '{}'", name);
  }
  if (threads < 0)
    error->all(FLERR, "pair_style gnnc: expected 0 or more threads, found {}", threads);
}

/// The device of a rank: those of a machine are given out in order.
static std::string deviceOfRank(const std::string &device, MPI_Comm world) {
  if (device != "cuda")
    return device;
  MPI_Comm machine;
  int rank = 0, number = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
  MPI_Comm_rank(machine, &number);
  MPI_Comm_free(&machine);
  const char *given = std::getenv("GNNC_DEVICES");
  int devices = given ? std::max(std::atoi(given), 1) : 1;
  return "cuda:" + std::to_string(number % devices);
}

void PairGNNC::coeff(int count, char **words) {
  if (!allocated)
    allocate();
  if (count != 3 + atom->ntypes)
    error->all(FLERR,
               "pair_coeff for gnnc: expected * * MODEL.so and an element for each of {} atom types, found {} words",
               atom->ntypes, count);
  if (std::string(words[0]) != "*" || std::string(words[1]) != "*")
    error->all(FLERR, "pair_coeff for gnnc: expected * * first, found {} {}", words[0], words[1]);
  elements.assign(size_t(atom->ntypes) + 1, 0);
  for (int type = 1; type <= atom->ntypes; ++type) {
    elements[size_t(type)] = gnnc::hosts::atomicNumber(words[2 + type]);
    if (!elements[size_t(type)])
      error->all(FLERR, "pair_coeff for gnnc: expected the symbol of an element, found '{}'", words[2 + type]);
  }
  // One rank after the other says what is wrong, or all go on.
  std::string complaint;
  try {
    if (comm->nprocs > 1 && threads == 0)
      threads = 1;
    model = std::make_unique<gnnc::hosts::ForceField>(words[2], deviceOfRank(device, world), threads);
    if (model->cutoff() <= 0)
      complaint = "'" + std::string(words[2]) + "' takes no pairs, so it cannot be used with LAMMPS";
    else if (comm->nprocs > 1 && !model->isDistributed())
      complaint = "'" + std::string(words[2]) + "' is for one process: export it with " + kOptions;
    else if (comm->nprocs > 1 && model->overlaps())
      complaint = "'" + std::string(words[2]) + "' exchanges rows from a thread of its own: export it with " + kOptions;
  } catch (const std::exception &failure) {
    complaint = failure.what();
  }
  int failed = !complaint.empty(), anyFailed = 0;
  MPI_Allreduce(&failed, &anyFailed, 1, MPI_INT, MPI_MAX, world);
  if (failed)
    error->one(FLERR, "pair_coeff for gnnc: {}", complaint);
  if (anyFailed)
    MPI_Barrier(world);
  if (comm->nprocs > 1 && !ranks) {
    gnnc_error problem;
    if (gnnc_mpi_open(&world, kTimeout, &ranks, &problem))
      error->all(FLERR, "pair_coeff for gnnc: {}", problem.message);
  }
  for (int i = 1; i <= atom->ntypes; ++i)
    for (int j = i; j <= atom->ntypes; ++j)
      setflag[i][j] = 1;
}

void PairGNNC::init_style() {
  if (!model)
    error->all(FLERR, "pair_style gnnc: expected pair_coeff before");
  for (int bonds = 1; bonds <= 3; ++bonds)
    if (atom->molecular && force->special_lj[bonds] == 0 && force->special_coul[bonds] == 0)
      error->all(FLERR,
                 "pair_style gnnc: pairs of bonded atoms would be left out: expected special_bonds lj/coul 1 1 1");
  neighbor->add_request(this, NeighConst::REQ_FULL);
}

double PairGNNC::init_one(int, int) { return model->cutoff(); }

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

int PairGNNC::pack_forward_comm(int count, int *atoms, double *values, int, int *) {
  int written = 0;
  for (int i = 0; i < count; ++i) {
    const Home &home = homes[size_t(atoms[i])];
    values[written++] = home.rank;
    values[written++] = home.number;
    for (double x : home.x)
      values[written++] = x;
  }
  return written;
}

void PairGNNC::unpack_forward_comm(int count, int first, double *values) {
  for (int i = first; i < first + count; ++i) {
    Home &home = homes[size_t(i)];
    home.rank = *values++;
    home.number = *values++;
    for (double &x : home.x)
      x = *values++;
  }
}

/// Numbers of own atoms and places reach the ghosts as all of LAMMPS's values do.
void PairGNNC::learnHomes() {
  homes.resize(size_t(atom->nlocal + atom->nghost));
  for (int i = 0; i < atom->nlocal; ++i)
    homes[size_t(i)] = {double(comm->me), double(i), {atom->x[i][0], atom->x[i][1], atom->x[i][2]}};
  comm->forward_comm(this);
}

/// Writes the pairs in force; whether they are other ones than before.
bool PairGNNC::listPairs() {
  centres.clear();
  neighbours.clear();
  double most = model->ignoresLongerPairs() ? HUGE_VAL : model->cutoff() * model->cutoff();
  double **x = atom->x;
  for (int ii = 0; ii < list->inum; ++ii) {
    int i = list->ilist[ii];
    for (int jj = 0; jj < list->numneigh[i]; ++jj) {
      int j = list->firstneigh[i][jj] & NEIGHMASK;
      double dx = x[j][0] - x[i][0], dy = x[j][1] - x[i][1], dz = x[j][2] - x[i][2];
      if (dx * dx + dy * dy + dz * dz <= most) {
        centres.push_back(i);
        neighbours.push_back(j);
      }
    }
  }
  return centres != listedCentres || neighbours != listedNeighbours;
}

/// Own atoms of other elements than before, or more or fewer of them.
bool PairGNNC::hasOtherTypes() const {
  return listedTypes.size() != size_t(atom->nlocal) || !std::equal(listedTypes.begin(), listedTypes.end(), atom->type);
}

/// Atoms of other ranks behind the own ones, by rank and number, and who is sent what.
void PairGNNC::addHalo(Pairs &pairs) {
  std::map<std::pair<int, int>, int64_t> halo; // atom -> its place
  std::map<std::pair<int, int>, int> types;
  for (int j : neighbours)
    if (int(homes[size_t(j)].rank) != comm->me) {
      std::pair<int, int> home = {int(homes[size_t(j)].rank), int(homes[size_t(j)].number)};
      halo[home] = 0;
      types[home] = atom->type[j];
    }
  int size = comm->nprocs;
  std::vector<int> wanted, counts(size_t(size), 0), sends(size_t(size), 0);
  int64_t place = pairs.atoms;
  for (auto &[home, at] : halo) {
    at = place++;
    wanted.push_back(home.second);
    ++counts[size_t(home.first)];
    pairs.elements.push_back(elements[size_t(types[home])]);
  }
  MPI_Alltoall(counts.data(), 1, MPI_INT, sends.data(), 1, MPI_INT, world);
  auto begins = [](const std::vector<int> &of) {
    std::vector<int> result;
    int sum = 0;
    for (int each : of) {
      result.push_back(sum);
      sum += each;
    }
    return result;
  };
  std::vector<int> from = begins(counts), to = begins(sends);
  std::vector<int> sent(size_t(to.back() + sends.back()));
  MPI_Alltoallv(wanted.data(), counts.data(), from.data(), MPI_INT, sent.data(), sends.data(), to.data(), MPI_INT,
                world);
  pairs.sent.assign(sent.begin(), sent.end());
  pairs.haloCounts.assign(counts.begin(), counts.end());
  pairs.sendCounts.assign(sends.begin(), sends.end());
  for (size_t pair = 0; pair < neighbours.size(); ++pair) {
    const Home &home = homes[size_t(neighbours[pair])];
    if (int(home.rank) != comm->me)
      pairs.neighbour[pair] = halo[{int(home.rank), int(home.number)}];
  }
}

void PairGNNC::prepare() {
  Pairs pairs;
  pairs.atoms = atom->nlocal;
  for (int i = 0; i < atom->nlocal; ++i)
    pairs.elements.push_back(elements[size_t(atom->type[i])]);
  for (size_t pair = 0; pair < centres.size(); ++pair) {
    const Home &home = homes[size_t(neighbours[pair])];
    pairs.centre.push_back(centres[pair]);
    pairs.neighbour.push_back(int64_t(home.number));
    for (int d = 0; d < 3; ++d)
      pairs.shifts.push_back(atom->x[neighbours[pair]][d] - home.x[d]);
  }
  if (comm->nprocs > 1)
    addHalo(pairs);
  model->prepare(pairs, ranks ? gnnc_mpi_collectives(ranks) : nullptr);
  listedCentres = centres;
  listedNeighbours = neighbours;
  listedTypes.assign(atom->type, atom->type + atom->nlocal);
}

//===----------------------------------------------------------------------===//
// A step
//===----------------------------------------------------------------------===//

void PairGNNC::compute(int energies, int virials) {
  ev_init(energies, virials);
  // Whatever makes the graph anew needs shifts of this very step: those of another one would be wrong beside it. All
  // ranks prepare together.
  int others = listPairs() || neighbor->ago == 0 || domain->box_change || hasOtherTypes();
  if (comm->nprocs > 1)
    MPI_Allreduce(MPI_IN_PLACE, &others, 1, MPI_INT, MPI_MAX, world);
  if (others)
    learnHomes();
  try {
    if (others)
      prepare();
    gnnc::hosts::Wanted wanted;
    wanted.virial = vflag_global != 0;
    wanted.pairForces = vflag_atom != 0;
    // All ranks ask for the same.
    const Results &results = model->evaluate(atom->nlocal ? atom->x[0] : nullptr, wanted);
    tally(results);
  } catch (const std::exception &failure) {
    error->one(FLERR, "pair_style gnnc: {}", failure.what());
  }
}

void PairGNNC::tally(const Results &results) {
  double **f = atom->f;
  for (int i = 0; i < atom->nlocal; ++i)
    for (int d = 0; d < 3; ++d) {
      double force = results.forces[size_t(3 * i + d)];
      if (!std::isfinite(force))
        throw std::runtime_error("step " + std::to_string(update->ntimestep) + ": the force on atom " +
                                 std::to_string(atom->tag[i]) + " is no number");
      f[i][d] += force;
    }
  bool isWhole = !model->hasEnergies(); // the energy of all ranks: the first has it
  if (eflag_global && (!isWhole || comm->me == 0))
    eng_vdwl += results.energy;
  if (eflag_atom) {
    if (isWhole)
      throw std::runtime_error("the model has no energies of atoms: let forward return one for each");
    for (int i = 0; i < atom->nlocal; ++i)
      eatom[i] += results.energies[size_t(i)];
  }
  static constexpr int kRow[] = {0, 1, 2, 0, 0, 1}, kColumn[] = {0, 1, 2, 1, 2, 2};
  if (vflag_global && comm->me == 0)
    for (int k = 0; k < 6; ++k)
      virial[k] += results.virial[3 * kRow[k] + kColumn[k]];
  if (!vflag_atom)
    return;
  // The whole of a pair's virial goes to its centre: each pair is there in both directions.
  for (size_t pair = 0; pair < centres.size(); ++pair) {
    int i = centres[pair], j = neighbours[pair];
    for (int k = 0; k < 6; ++k) {
      auto part = [&](int a, int b) {
        return (atom->x[j][a] - atom->x[i][a]) * results.pairForces[3 * pair + size_t(b)];
      };
      vatom[i][k] += (part(kRow[k], kColumn[k]) + part(kColumn[k], kRow[k])) / 2;
    }
  }
}

double PairGNNC::memory_usage() {
  return Pair::memory_usage() + double(homes.capacity() * sizeof(Home)) +
         double((centres.capacity() + neighbours.capacity()) * sizeof(int));
}
