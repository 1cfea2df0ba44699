//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Branches.h"
#include <gtest/gtest.h>
#include <random>
#include <vector>

using namespace gnnc;
using namespace gnnc::runtime;
using namespace gnnc::table;

namespace {

/// A function of random steps: each reads a few values and makes one, in an arena in which places are used again, over
/// a value that it reads, in an output, or in one that replaces a parameter; some have scratch memory.
class BranchesTest : public ::testing::TestWithParam<unsigned> {
protected:
  struct Access {
    int64_t space, begin, end;
    bool written;
  };

  void SetUp() override {
    std::mt19937 random(GetParam());
    auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    numSteps = 1 + below(90);
    constexpr int64_t kParams = 4;
    for (int64_t i = 0; i < kParams; ++i)
      addBuffer(BufferKind::Param, -1, 0, 0);
    std::vector<int64_t> lists;
    for (int64_t i = 0; i < numSteps; ++i) {
      DeviceStepRec step{};
      std::vector<Access> own;
      std::vector<int64_t> list, written;
      auto add = [&](int64_t buffer, bool isWritten) {
        list.push_back(buffer);
        if (isWritten)
          written.push_back(buffer);
        const BufferRec &record = buffers[buffer];
        if (record.kind == BufferKind::Arena)
          own.push_back({-1, prepared[buffer].offset, prepared[buffer].offset + prepared[buffer].bytes, isWritten});
        else
          own.push_back({replaces(buffer) ? record.replaces : buffer, 0, 1, isWritten});
      };
      for (int64_t k = below(4); k > 0; --k) {
        int64_t buffer = below(static_cast<int64_t>(buffers.size()));
        if (!replaces(buffer))
          add(buffer, false);
      }
      std::vector<int64_t> readable; // places whose rows may be written over
      for (int64_t buffer : list)
        if (buffers[buffer].kind == BufferKind::Arena || buffers[buffer].kind == BufferKind::Output)
          readable.push_back(buffer);
      if (!readable.empty() && below(3) == 0)
        add(readable.front(), true);
      else if (below(4) == 0)
        add(addBuffer(BufferKind::Output, std::max<int64_t>(-1, below(2 * kParams) - kParams), 0, 0), true);
      else
        add(addBuffer(BufferKind::Arena, -1, 64 * below(20), below(200)), true);
      step.firstScratch = static_cast<int64_t>(scratch.size());
      step.numScratch = below(5) == 0;
      if (step.numScratch) {
        scratch.push_back(64 * below(20));
        scratchBytes.push_back(below(100));
        own.push_back({-1, scratch.back(), scratch.back() + scratchBytes.back(), true});
      }
      step.buffersAt = static_cast<int64_t>(lists.size());
      step.numBuffers = static_cast<int64_t>(list.size());
      lists.insert(lists.end(), list.begin(), list.end());
      step.writtenAt = static_cast<int64_t>(lists.size());
      step.numWritten = static_cast<int64_t>(written.size());
      lists.insert(lists.end(), written.begin(), written.end());
      steps.push_back(step);
      accesses.push_back(own);
    }
    constexpr int64_t kHeader = sizeof(Header) / sizeof(int64_t);
    table.assign(kHeader, 0);
    auto append = [&](const auto &records) {
      int64_t at = static_cast<int64_t>(table.size());
      const auto *words = reinterpret_cast<const int64_t *>(records.data());
      table.insert(table.end(), words, words + records.size() * sizeof(records[0]) / sizeof(int64_t));
      return at;
    };
    int64_t listsAt = append(lists);
    for (DeviceStepRec &step : steps)
      step.buffersAt += listsAt, step.writtenAt += listsAt;
    Header header{};
    header.buffersAt = append(buffers);
    header.deviceStepsAt = append(steps);
    FunctionRec function{};
    function.numBuffers = static_cast<int64_t>(buffers.size());
    function.numSteps = numSteps;
    header.functionsAt = append(std::vector<FunctionRec>{function});
    std::copy_n(reinterpret_cast<const int64_t *>(&header), kHeader, table.begin());
  }

  int64_t addBuffer(BufferKind kind, int64_t replaces, int64_t offset, int64_t bytes) {
    BufferRec record{};
    record.kind = kind;
    record.replaces = replaces;
    record.values = -1;
    buffers.push_back(record);
    PreparedBuffer place;
    place.offset = offset;
    place.bytes = place.room = bytes;
    prepared.push_back(place);
    return static_cast<int64_t>(buffers.size()) - 1;
  }

  /// An output that is a parameter.
  bool replaces(int64_t buffer) const {
    return buffers[buffer].kind == BufferKind::Output && buffers[buffer].replaces >= 0;
  }

  bool conflict(int64_t a, int64_t b) const {
    for (const Access &x : accesses[a])
      for (const Access &y : accesses[b])
        if ((x.written || y.written) && x.space == y.space && x.begin < y.end && y.begin < x.end)
          return true;
    return false;
  }

  int64_t numSteps = 0;
  std::vector<int64_t> table, scratch, scratchBytes;
  std::vector<BufferRec> buffers;
  std::vector<PreparedBuffer> prepared;
  std::vector<DeviceStepRec> steps;
  std::vector<std::vector<Access>> accesses;
};

/// Steps that touch the same memory wait for each other, on some way; nothing waits without a reason, or twice.
TEST_P(BranchesTest, OrderWhatTouchesTheSameMemory) {
  Model model{};
  model.table = table.data();
  gnnc_graph graph(model, defaultAllocator());
  graph.buffers = prepared.data();
  cuda::Driver driver{};
  cuda::Device device(driver, defaultAllocator());
  cuda::DeviceGraph onDevice(device);
  onDevice.scratch = scratch.data();
  onDevice.scratchBytes = scratchBytes.data();
  graph.device = &onDevice;
  ProgramRec program{};
  program.numSteps = numSteps;
  Call call{graph, program, nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr};

  std::vector<uint64_t> words(cuda::StepOrder::wordsFor(call));
  cuda::StepOrder order(call, words.data());
  std::vector<std::vector<bool>> after(numSteps, std::vector<bool>(numSteps));
  std::vector<int64_t> before(numSteps);
  for (int64_t i = 0; i < numSteps; ++i) {
    int64_t count = order.find(i, before.data());
    for (int64_t k = 0; k < count; ++k) {
      EXPECT_LT(before[k], i);
      EXPECT_TRUE(conflict(before[k], i)) << before[k] << ", " << i;
      EXPECT_FALSE(after[i][before[k]]) << before[k] << ", " << i;
      after[i][before[k]] = true;
      for (int64_t j = 0; j < before[k]; ++j)
        after[i][j] = after[i][j] || after[before[k]][j];
    }
    for (int64_t j = 0; j < i; ++j)
      EXPECT_TRUE(after[i][j] || !conflict(j, i)) << j << ", " << i;
  }
  graph.device = nullptr;
}

INSTANTIATE_TEST_SUITE_P(Functions, BranchesTest, ::testing::Range(0u, 60u));

} // namespace
