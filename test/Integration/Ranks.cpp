//===- Ranks.cpp - Ranks that are threads ---------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <thread>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// Where the threads meet.
class Meeting {
public:
  explicit Meeting(int ranks) : given(size_t(ranks)) {}

  std::vector<std::vector<double>> gather(int rank, std::vector<double> own) {
    std::unique_lock lock(mutex);
    if (hasLeft)
      return {};
    given[size_t(rank)] = std::move(own);
    if (++arrived == given.size()) {
      arrived = 0;
      ++round;
      all = given;
      changed.notify_all();
      return all;
    }
    uint64_t before = round;
    changed.wait(lock, [&] { return round != before || hasLeft; });
    return round == before ? std::vector<std::vector<double>>() : all;
  }
  /// Nobody waits for a rank that has come to its end.
  void leave() {
    std::lock_guard lock(mutex);
    hasLeft = true;
    changed.notify_all();
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<double>> given, all;
  size_t arrived = 0;
  uint64_t round = 0;
  bool hasLeft = false;
};

class ThreadRank : public RefCollectives {
public:
  ThreadRank(Meeting &meeting, int rank) : meeting(meeting), number(rank) {}
  int rank() const override { return number; }
  std::vector<std::vector<double>> gather(std::vector<double> own) override {
    return meeting.gather(number, std::move(own));
  }

private:
  Meeting &meeting;
  int number;
};

} // namespace

Ranks::Ranks(mlir::ModuleOp module, const Graph &graph, int count, PartitionKind kind)
    : Ranks(module, graph,
            [=](const GraphStructure &structure) { return GraphPartition::create(structure, count, kind); }) {}

Ranks::Ranks(mlir::ModuleOp module, const Graph &graph, const Divide &divide)
    : structure(std::make_unique<GraphStructure>()), wholeGraph(rootsOf(graph)), undistributed(module.clone()) {
  auto numberOf = [&](llvm::StringRef name) -> std::optional<size_t> {
    for (size_t i = 0; i < structure->spaces.size(); ++i)
      if (structure->spaces[i].name == name)
        return i;
    return std::nullopt;
  };
  for (auto space : module.getOps<mpdfg::SpaceOp>())
    if (space.getKind() == mpdfg::SpaceKind::Root)
      structure->spaces.push_back({space.getSymName().str(), graph.extent(space.getSymName().str()), std::nullopt});
  std::vector<mpdfg::MapOp> others; // to static spaces
  for (auto map : module.getOps<mpdfg::MapOp>()) {
    if (map.getKind() != mpdfg::MapKind::Root)
      continue;
    if (auto to = numberOf(map.getTo()))
      structure->maps.push_back(
          {map.getSymName().str(), *numberOf(map.getFrom()), *to, graph.map(map.getSymName().str())});
    else
      others.push_back(map);
  }
  structure->chooseAlong();
  partition = llvm::cantFail(divide(*structure));
  int count = partition->parts();
  parts.resize(size_t(count));
  numbers.resize(size_t(count));
  for (const GraphStructure::Space &space : structure->spaces)
    extents[space.name] = space.extent;
  for (int rank = 0; rank < count; ++rank) {
    RootGraph &part = parts[size_t(rank)];
    for (auto [s, space] : llvm::enumerate(structure->spaces)) {
      const PartOfSpace &of = partition->part(s, rank);
      llvm::ArrayRef<int32_t> own = partition->own(s, rank);
      numbers[size_t(rank)][space.name].assign(own.begin(), own.end());
      part.extents[space.name] = int64_t(own.size());
      part.extents[space.name + ".halo"] = int64_t(of.halo.size());
      part.extents[space.name + ".send"] = int64_t(of.sent.size());
      part.maps[space.name + ".sent"].assign(of.sent.begin(), of.sent.end());
      part.counts[space.name + ".halo"].assign(of.haloCounts.begin(), of.haloCounts.end());
      part.counts[space.name + ".send"].assign(of.sentCounts.begin(), of.sentCounts.end());
    }
    for (auto [m, map] : llvm::enumerate(structure->maps)) {
      std::vector<int32_t> targets = partition->localTargets(m, rank);
      part.maps[map.name].assign(targets.begin(), targets.end());
    }
    for (mpdfg::MapOp map : others) {
      const std::vector<int32_t> &targets = graph.map(map.getSymName().str());
      size_t from = *numberOf(map.getFrom());
      std::string ofHalo = (map.getSymName() + ".halo").str();
      part.maps[map.getSymName()]; // also if there are no elements
      part.maps[ofHalo];
      for (int32_t element : partition->own(from, rank))
        part.maps[map.getSymName()].push_back(targets[size_t(element)]);
      for (int32_t element : partition->part(from, rank).halo)
        part.maps[ofHalo].push_back(targets[size_t(element)]);
    }
  }
}

std::optional<size_t> Ranks::dividedSpace(llvm::StringRef space) const {
  for (size_t i = 0; i < structure->spaces.size(); ++i)
    if (structure->spaces[i].name == space)
      return i;
  return std::nullopt;
}

int64_t Ranks::haloOf(llvm::StringRef space) const {
  int64_t all = 0;
  for (int rank = 0; rank < int(parts.size()); ++rank)
    all += int64_t(partition->part(*dividedSpace(space), rank).halo.size());
  return all;
}

void Ranks::findDerivedSpaces(mlir::ModuleOp distributed) {
  DerivedSpaces all(*undistributed, wholeGraph);
  Meeting nowhere(int(parts.size()));
  for (auto [rank, part, known] : llvm::enumerate(parts, numbers)) {
    ThreadRank asRank(nowhere, int(rank)); // what one has of static spaces depends on it
    part.collectives = &asRank;
    DerivedSpaces own(distributed, part);
    part.collectives = nullptr;
    llvm::StringMap<std::vector<int64_t>> roots = known;
    // Halos and their unions are no spaces of the whole graph.
    for (auto space : undistributed->getOps<mpdfg::SpaceOp>()) {
      llvm::StringRef name = space.getSymName();
      auto found = own.find(name) ? numbersOfElements(name, all, own, roots) : std::nullopt;
      if (!found)
        continue;
      known[name] = std::move(*found);
      extents[name] = all.extent(name);
    }
  }
}

const std::vector<int64_t> *Ranks::elementsOf(llvm::StringRef space, int rank) const {
  auto found = numbers[size_t(rank)].find(space);
  return found == numbers[size_t(rank)].end() ? nullptr : &found->second;
}

Tensor Ranks::numbersOf(llvm::StringRef space, int rank, bool inDigits) const {
  std::vector<int64_t> own;
  if (const std::vector<int64_t> *known = elementsOf(space, rank)) {
    own = *known;
  } else { // static
    own.resize(size_t(wholeGraph.extents.lookup(space)));
    std::iota(own.begin(), own.end(), int64_t(0));
  }
  if (inDigits) {
    // Digits of few bits, so that both matter in small graphs too.
    Tensor digits = Tensor::zeros({int64_t(own.size()), 2});
    for (size_t i = 0; i < own.size(); ++i) {
      digits.data[2 * i] = double(own[i] >> 2);
      digits.data[2 * i + 1] = double(own[i] & 3);
    }
    return digits;
  }
  return {{int64_t(own.size())}, {own.begin(), own.end()}};
}

template <typename Number> static Tensor rowsOf(const Tensor &tensor, llvm::ArrayRef<Number> rows) {
  Tensor part = tensor;
  int64_t width = tensor.shape[0] ? int64_t(tensor.data.size()) / tensor.shape[0] : 0;
  part.shape[0] = int64_t(rows.size());
  part.data.clear();
  for (int64_t row : rows)
    part.data.insert(part.data.end(), tensor.data.begin() + row * width, tensor.data.begin() + (row + 1) * width);
  return part;
}

Tensor Ranks::cut(const Tensor &tensor, llvm::StringRef name, int rank) const {
  const std::vector<int64_t> *own = elementsOf(name, rank);
  return own ? rowsOf<int64_t>(tensor, *own) : tensor;
}

Tensor Ranks::cutHalo(const Tensor &tensor, llvm::StringRef space, int rank) const {
  space.consume_back(".halo");
  return rowsOf<int32_t>(tensor, partition->part(*dividedSpace(space), rank).halo);
}

llvm::Expected<Tensors> Ranks::putTogether(llvm::ArrayRef<Result> results) const {
  Tensors whole;
  for (const Result &result : results) {
    const Tensor &first = result.ofRanks.front();
    bool isDivided = elementsOf(result.space, 0);
    Tensor &all = whole[result.name] = first;
    if (isDivided) {
      all.shape[0] = extents.lookup(result.space);
      all = Tensor::zeros(all.shape);
    }
    for (auto [rank, part] : llvm::enumerate(result.ofRanks)) {
      if (!isDivided) {
        if (!haveSameBits(part, first))
          return llvm::createStringError("'" + result.name + "' differs between ranks");
        continue;
      }
      const std::vector<int64_t> &own = *elementsOf(result.space, int(rank));
      int64_t width = all.shape[0] ? int64_t(all.data.size()) / all.shape[0] : 0;
      for (size_t row = 0; row < own.size(); ++row)
        std::copy_n(part.data.begin() + int64_t(row) * width, width, all.data.begin() + own[row] * width);
    }
  }
  return whole;
}

static std::string spaceOf(mlir::Type type) {
  mlir::FlatSymbolRefAttr space = mpdfg::getResidency(type);
  return space ? space.getValue().str() : "";
}

llvm::Expected<Tensors> Ranks::run(mlir::ModuleOp distributed, llvm::StringRef name, const Tensors &tensors) const {
  auto function = mlir::cast<mlir::func::FuncOp>(mlir::SymbolTable::lookupSymbolIn(distributed, name));
  Meeting meeting(int(parts.size()));
  std::vector<llvm::Expected<std::vector<NamedTensor>>> results;
  for (size_t rank = 0; rank < parts.size(); ++rank)
    results.push_back(std::vector<NamedTensor>());
  auto runRank = [&](int rank) -> llvm::Expected<std::vector<NamedTensor>> {
    ThreadRank collectives(meeting, rank);
    RootGraph part = parts[size_t(rank)];
    part.collectives = &collectives;
    llvm::Expected<GraphData> data = materialise(distributed, part);
    if (!data)
      return data.takeError();
    llvm::StringMap<RefTensor> inputs;
    for (mlir::BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      std::string label = function.getArgAttrOfType<mlir::StringAttr>(i, kNameAttr).str();
      std::string space = spaceOf(argument.getType());
      auto haloOf = function.getArgAttrOfType<mlir::StringAttr>(i, kHaloOfAttr);
      auto given = tensors.find(haloOf ? haloOf.str() : label);
      bool isNumbers = bool(function.getArgAttr(i, kNumbersAttr));
      if (given == tensors.end() && !isNumbers)
        continue;
      Tensor own = isNumbers ? numbersOf(space, rank, !mpdfg::getFeatureShape(argument.getType()).empty())
                   : haloOf  ? cutHalo(given->second, space, rank)
                             : cut(given->second, space, rank);
      RefTensor input(space.empty(), space.empty() ? 1 : own.shape[0],
                      llvm::ArrayRef(own.shape).drop_front(!space.empty()));
      input.data = std::move(own.data);
      inputs[label] = std::move(input);
    }
    return interpret(distributed, *data, inputs, name);
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < int(parts.size()); ++rank)
    threads.emplace_back([&, rank] {
      auto result = runRank(rank);
      llvm::consumeError(results[size_t(rank)].takeError());
      results[size_t(rank)] = std::move(result);
      meeting.leave();
    });
  for (std::thread &thread : threads)
    thread.join();
  llvm::Error failed = llvm::Error::success();
  for (auto &result : results)
    failed = llvm::joinErrors(std::move(failed), result.takeError());
  if (failed)
    return std::move(failed);

  std::vector<Result> whole;
  for (size_t i = 0; i < results[0]->size(); ++i) {
    Result result{(*results[0])[i].name, spaceOf(function.getResultTypes()[i]), {}};
    for (auto &ofRank : results)
      result.ofRanks.push_back(tensorOf((*ofRank)[i].value));
    whole.push_back(std::move(result));
  }
  return putTogether(whole);
}
