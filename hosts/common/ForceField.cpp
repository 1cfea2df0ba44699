//===- ForceField.cpp - A compiled force field in a simulator -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists of pairs change every few steps, and their number with them. On one rank a graph is prepared with room for more
// pairs and updated within that, so that memory, the call and what a GPU has recorded stay; when the room is used up,
// or the number of atoms differs, it is prepared again with more. Ranks have no such room, and prepare each time.
//
//===----------------------------------------------------------------------===//

#include "ForceField.h"
#include "Object.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

using namespace gnnc::hosts;

/// Room for pairs that a later list may have more than the first one.
static constexpr double kRoom = 1.2;

struct ForceField::State {
  Object object;
  gnnc_graph *graph = nullptr;
  gnnc_call *call = nullptr;
  Memory workspace;
  std::vector<Memory> inputs, outputs; ///< by their places in the call
  std::vector<std::string> inputNames, outputNames;
  std::vector<void *> addresses;
  Wanted callWanted;
  Pairs pairs;
  int64_t roomForPairs = 0; ///< 0: none, the graph is of several ranks
  int64_t preparedAtoms = 0;
  Results results;
  std::vector<std::vector<char>> staging; ///< of each input
  std::vector<char> narrowResult;

  State(const std::string &path, const std::string &device, int threads) : object(path, device, threads) {}
  ~State() {
    dropCall();
    object.api().free_graph(graph);
  }

  void dropCall() {
    object.api().free_call(call);
    call = nullptr;
    inputs.clear();
    outputs.clear();
    addresses.clear();
  }

  void dropGraph() {
    dropCall();
    object.api().free_graph(graph);
    graph = nullptr;
  }

  int64_t rows(const std::string &space) const { return object.api().extent(graph, space.c_str()); }
  void describeGraph(const gnnc_collectives *collectives);
  void makeCall(Wanted wanted);
  void writeFixed();
  Memory allocateFor(const Value &value, bool withRoom);
  void write(size_t input, const double *numbers, size_t count);
  void read(const std::string &name, std::vector<double> &numbers, size_t count);
};

ForceField::ForceField(const std::string &path, const std::string &device, int threads)
    : state(std::make_unique<State>(path, device, threads)) {}
ForceField::~ForceField() = default;

double ForceField::cutoff() const { return state->object.roles().cutoff; }
bool ForceField::ignoresLongerPairs() const { return state->object.roles().ignoresLongerPairs; }
bool ForceField::hasEnergies() const { return state->object.roles().energies; }
bool ForceField::hasVirial() const { return state->object.roles().virial; }
bool ForceField::hasPairForces() const { return state->object.roles().pairForces; }
bool ForceField::isDistributed() const { return state->object.isDistributed(); }
bool ForceField::overlaps() const { return state->object.overlaps(); }

void ForceField::prepare(const Pairs &pairs, const gnnc_collectives *collectives) {
  state->pairs = pairs;
  try {
    state->describeGraph(collectives);
  } catch (...) {
    state->dropGraph(); // of other pairs than are known now
    throw;
  }
}

/// What a list of the graph's data is, by the text that the object says it is computed from.
static const std::vector<int64_t> &listOf(const GraphData &data, const Roles &roles, const Map &map) {
  if (auto found = data.lists.find(map.name); found != data.lists.end())
    return found->second;
  auto found = data.lists.find(roles.generic(map.source));
  if (found == data.lists.end())
    throw std::runtime_error("map '" + map.name + "' is computed from '" + map.source +
                             "', which hosts do not follow: expected types, numbers, edge_index[0] or edge_index[1]");
  return found->second;
}

void ForceField::State::describeGraph(const gnnc_collectives *collectives) {
  const gnnc_api &api = object.api();
  GraphData data = object.graphData(pairs);
  std::vector<gnnc_extent> extents, capacities;
  for (const Space &space : object.spaces()) {
    int64_t extent = object.extentOf(space, pairs);
    extents.push_back({space.name.c_str(), extent});
    if (object.isOfPairs(space))
      extent = std::max<int64_t>(roomForPairs, extent);
    capacities.push_back({space.name.c_str(), extent});
  }
  std::vector<gnnc_index> indices;
  for (const Map &map : object.maps()) {
    const std::vector<int64_t> &list = listOf(data, object.roles(), map);
    indices.push_back({map.name.c_str(), list.data(), static_cast<int64_t>(list.size()), 64, GNNC_INDEX_EACH});
  }
  gnnc_graph_desc desc = {sizeof desc,    static_cast<int32_t>(extents.size()),
                          extents.data(), static_cast<int32_t>(indices.size()),
                          indices.data(), 0,
                          nullptr,        nullptr,
                          object.stream()};
  gnnc_error error;
  int64_t count = static_cast<int64_t>(pairs.neighbour.size());
  if (!collectives && graph && roomForPairs >= count && preparedAtoms == pairs.atoms &&
      api.update(object.context(), graph, &desc, &error) == GNNC_OK)
    return writeFixed();

  dropGraph();
  preparedAtoms = pairs.atoms;
  if (collectives) {
    std::vector<gnnc_row_counts> counts;
    for (const Space &space : object.spaces()) {
      if (space.role == Space::Role::Halo)
        counts.push_back({space.name.c_str(), pairs.haloCounts.data()});
      if (space.role == Space::Role::Send)
        counts.push_back({space.name.c_str(), pairs.sendCounts.data()});
    }
    gnnc_part_desc part = {sizeof part, static_cast<int32_t>(counts.size()), counts.data(), collectives};
    object.check(api.prepare_part(object.context(), &desc, &part, &graph, &error), error);
    roomForPairs = 0;
    return;
  }
  if (object.takesCapacities()) {
    roomForPairs = static_cast<int64_t>(static_cast<double>(count) * kRoom) + 64;
    for (size_t i = 0; i < capacities.size(); ++i)
      if (object.isOfPairs(object.spaces()[i]))
        capacities[i].extent = roomForPairs;
    desc.num_capacities = static_cast<int32_t>(capacities.size());
    desc.capacities = capacities.data();
  }
  object.check(api.prepare(object.context(), &desc, &graph, &error), error);
}

Memory ForceField::State::allocateFor(const Value &value, bool withRoom) {
  int64_t elements = value.space.empty() ? 1 : rows(value.space);
  if (withRoom && object.isOfPairs(value.space))
    elements = std::max(elements, roomForPairs);
  return object.allocate(static_cast<size_t>(std::max<int64_t>(elements, 1) * value.rowNumbers()) * value.bytes());
}

void ForceField::State::makeCall(Wanted wanted) {
  dropCall();
  const Roles &roles = object.roles();
  outputNames = {roles.energies ? "energies" : "energy", "forces"};
  if (wanted.virial)
    outputNames.push_back("virial");
  if (wanted.pairForces)
    outputNames.push_back("pair_forces");
  inputNames.clear();
  staging.assign(object.inputs().size(), {});
  for (const Value &input : object.inputs()) {
    inputNames.push_back(input.name);
    inputs.push_back(allocateFor(input, true));
    addresses.push_back(inputs.back().data());
  }
  for (const std::string &name : outputNames) {
    outputs.push_back(allocateFor(object.output(name), true));
    addresses.push_back(outputs.back().data());
  }
  std::vector<const char *> in, out;
  for (const std::string &name : inputNames)
    in.push_back(name.c_str());
  for (const std::string &name : outputNames)
    out.push_back(name.c_str());
  gnnc_call_desc desc = {sizeof desc, static_cast<int32_t>(in.size()),  nullptr, in.data(),
                         out.data(),  static_cast<int32_t>(out.size()), 0,       nullptr};
  gnnc_error error;
  size_t bytes = 0;
  object.check(object.api().make_call(graph, &desc, &call, &bytes, &error), error);
  workspace = object.allocate(std::max<size_t>(bytes, 64));
  callWanted = wanted;
  writeFixed();
}

/// Inputs that stay as long as the pairs do.
void ForceField::State::writeFixed() {
  if (!call)
    return;
  for (size_t i = 0; i < inputNames.size(); ++i) {
    const Value &input = object.inputs()[i];
    if (object.roles().of(input) == "shifts")
      write(i, pairs.shifts.data(), pairs.shifts.size());
    else if (object.roles().of(input) != "positions") {
      std::vector<double> numbers = object.numbersOf(input, pairs);
      write(i, numbers.data(), numbers.size());
    }
  }
}

/// Through memory that stays until the next step: a device may still be copying from it.
void ForceField::State::write(size_t input, const double *numbers, size_t count) {
  std::vector<char> &given = staging[input];
  if (object.inputs()[input].isDouble) {
    given.resize(count * sizeof(double));
    std::memcpy(given.data(), numbers, given.size());
  } else {
    given.resize(count * sizeof(float));
    float *narrow = reinterpret_cast<float *>(given.data());
    for (size_t i = 0; i < count; ++i)
      narrow[i] = static_cast<float>(numbers[i]);
  }
  object.copyTo(inputs[input], given.data(), given.size());
}

void ForceField::State::read(const std::string &name, std::vector<double> &numbers, size_t count) {
  size_t at = static_cast<size_t>(std::find(outputNames.begin(), outputNames.end(), name) - outputNames.begin());
  numbers.resize(count);
  if (object.output(name).isDouble)
    return object.copyFrom(outputs[at], numbers.data(), count * sizeof(double));
  narrowResult.resize(count * sizeof(float));
  object.copyFrom(outputs[at], narrowResult.data(), narrowResult.size());
  const float *narrow = reinterpret_cast<const float *>(narrowResult.data());
  std::copy(narrow, narrow + count, numbers.begin());
}

const Results &ForceField::evaluate(const double *positions, Wanted wanted) {
  State &s = *state;
  if (!s.graph)
    throw std::runtime_error("evaluate: expected prepare before");
  if ((wanted.virial && !hasVirial()) || (wanted.pairForces && !hasPairForces()))
    throw std::runtime_error("the model has no virial: export it with stress=True");
  if (!s.call || s.callWanted.virial != wanted.virial || s.callWanted.pairForces != wanted.pairForces)
    s.makeCall(wanted);
  size_t atoms = static_cast<size_t>(s.pairs.atoms);
  for (size_t i = 0; i < s.inputNames.size(); ++i)
    if (s.object.roles().of(s.object.inputs()[i]) == "positions")
      s.write(i, positions, 3 * atoms);
  gnnc_error error;
  s.object.check(s.object.api().run_call(s.object.context(), s.call, s.addresses.data(), s.workspace.data(),
                                         s.workspace.bytes(), s.object.stream(), &error),
                 error);
  Results &results = s.results;
  std::vector<double> numbers;
  s.read("forces", results.forces, 3 * atoms);
  if (hasEnergies()) {
    s.read("energies", results.energies, atoms);
    results.energy = 0;
    for (double energy : results.energies)
      results.energy += energy;
  } else {
    s.read("energy", numbers, 1);
    results.energy = numbers[0];
  }
  if (wanted.virial) {
    s.read("virial", numbers, 9);
    std::copy(numbers.begin(), numbers.end(), results.virial);
  }
  if (wanted.pairForces)
    s.read("pair_forces", results.pairForces, 3 * s.pairs.neighbour.size());
  return results;
}
