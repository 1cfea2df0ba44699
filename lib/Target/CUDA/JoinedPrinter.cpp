//===- JoinedPrinter.cpp - Small sweeps as one CUDA kernel ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels/JoinedRows.cuh says what such a kernel is made of.
//
//===----------------------------------------------------------------------===//

#include "JoinedPrinter.h"
#include "Sweep/SweepPrinter.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;

namespace {

/// A kernel in the making.
struct Join {
  size_t step; ///< which of the steps launches it
  std::string bodies;
  SmallVector<unsigned> texts; ///< of the bodies
  SmallVector<Word> words;
};

/// The number of `value` in a list that it is added to if it is not there.
template <typename List, typename T> unsigned numberIn(List &list, const T &value) {
  unsigned number = llvm::find(list, value) - list.begin();
  if (number == list.size())
    list.push_back(value);
  return number;
}

/// Adds a part, a step of one launch, to those of `to`.
void addPart(const DeviceStep &part, DeviceStep &to, SmallVectorImpl<Word> &words) {
  Launch launch = part.launches.front();
  for (Word word : launch.words) {
    if (word.kind == WordKind::Buffer)
      word.number = numberIn(to.buffers, part.buffers[word.number]);
    else if (word.kind == WordKind::Index)
      word.number = numberIn(to.indices, part.indices[word.number]);
    words.push_back(word);
  }
  words.push_back({WordKind::PartBlocks, unsigned(to.launches.size()), {}});
  // Tiles are along x, so that bodies may have different numbers of them.
  launch.perElement = launch.gridY * launch.gridZ;
  launch.gridY = launch.gridZ = 1;
  launch.isJoined = true;
  launch.words.clear();
  to.launches.push_back(std::move(launch));
}

} // namespace

FailureOr<std::vector<DeviceStep>> cuda::printJoined(ArrayRef<Operation *> sweeps, ArrayRef<std::string> names,
                                                     KernelTexts &texts) {
  std::vector<DeviceStep> steps(sweeps.size());
  SmallVector<Join> joins;
  for (auto [i, op] : llvm::enumerate(sweeps)) {
    steps[i].name = names[i];
    CodeWriter out;
    FailureOr<DeviceStep> part = printSweep(cast<mpk::SweepOp>(op), kNoName, /*isPart=*/true, out);
    if (failed(part))
      return failure();
    KernelTexts::Place place = texts.add(out.text(), names[i]);
    std::string body = place.name + "_::Body";
    const Launch &launch = part->launches.front();
    Join *join = llvm::find_if(joins, [&](const Join &join) {
      return steps[join.step].launches.front().threads == launch.threads &&
             int64_t(join.words.size() + launch.words.size()) < kMostWords;
    });
    if (join == joins.end()) {
      joins.push_back({i, body, {}, {}});
      join = &joins.back();
    } else {
      join->bodies += ", " + body;
    }
    join->texts.push_back(place.number);
    DeviceStep &step = steps[join->step];
    addPart(*part, step, join->words);
    step.written.append(op->result_begin(), op->result_end());
  }
  for (Join &join : joins) {
    DeviceStep &step = steps[join.step];
    Launch &last = step.launches.back();
    int64_t threads = last.threads;
    KernelTexts::Place place =
        texts.add(("extern \"C\" __global__ void __launch_bounds__(" + Twine(threads) + ") " + kNoName +
                   "(const __grid_constant__ gnnc::JoinedArgs<" + join.bodies +
                   "> args) { gnnc::followLaunch(); gnnc::joinedRows<" + join.bodies + ">(args, blockIdx.x); }\n")
                      .str(),
                  step.name, join.texts);
    for (Launch &launch : step.launches) {
      launch.kernel = place.name;
      launch.part = place.number;
      last.sharedBytes = std::max(last.sharedBytes, launch.sharedBytes);
    }
    last.isJoined = false;
    last.words = std::move(join.words);
  }
  return steps;
}
