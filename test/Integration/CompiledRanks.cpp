//===- CompiledRanks.cpp - Ranks that run a compiled model ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"
#include "gnnc/Ranks/ThreadRanks.h"
#include "llvm/ADT/ScopeExit.h"

#include <cstring>

using namespace gnnc;
using namespace gnnc::test;

static Tensor read(const HostTensor &from) {
  Tensor tensor = Tensor::zeros(from.shape().vec());
  for (size_t i = 0; i < tensor.data.size(); ++i)
    tensor.data[i] = from.at(int64_t(i));
  return tensor;
}

/// What the model says of an input, parameter or state.
static const TensorInfo *infoOf(const ModelInfo &info, llvm::StringRef name) {
  for (const auto *list : {&info.inputs, &info.params, &info.states})
    for (const TensorInfo &tensor : *list)
      if (tensor.name == name)
        return &tensor;
  return nullptr;
}

llvm::Error Ranks::runRank(const ModelFile &model, const ProgramInfo &program, const Tensors &tensors, int rank,
                           const gnnc_collectives &collectives, std::vector<Result> &results) const {
  const gnnc_api &api = model.api();
  const RootGraph &part = parts[size_t(rank)];
  gnnc_error error = {};
  auto failed = [&] { return llvm::createStringError("rank " + std::to_string(rank) + ": " + error.message); };
  gnnc_options options = {};
  options.struct_size = sizeof options;
  options.threads = 1;
  gnnc_context *context = nullptr;
  if (api.open(&options, &context, &error))
    return failed();
  auto close = llvm::scope_exit([&] { api.close(context); });

  std::vector<gnnc_extent> extents;
  for (const auto &extent : part.extents)
    extents.push_back({extent.getKeyData(), extent.second});
  std::vector<gnnc_index> indices;
  for (const auto &map : part.maps)
    indices.push_back({map.getKeyData(), map.second.data(), int64_t(map.second.size()), 64, GNNC_INDEX_EACH});
  std::vector<gnnc_row_counts> counts;
  for (const auto &of : part.counts)
    counts.push_back({of.getKeyData(), of.second.data()});
  gnnc_graph_desc description{sizeof(gnnc_graph_desc),
                              int32_t(extents.size()),
                              extents.data(),
                              int32_t(indices.size()),
                              indices.data(),
                              0,
                              nullptr,
                              nullptr,
                              nullptr};
  gnnc_part_desc ofRanks{sizeof(gnnc_part_desc), int32_t(counts.size()), counts.data(), &collectives};
  gnnc_graph *graph = nullptr;
  if (api.prepare_part(context, &description, &ofRanks, &graph, &error))
    return failed();
  auto release = llvm::scope_exit([&] { api.free_graph(graph); });

  std::vector<HostTensor> memory;
  std::vector<gnnc_binding> inputs, outputs;
  for (const std::string &name : program.inputs) {
    const TensorInfo *info = infoOf(model.info(), name);
    std::string space = info->space.value_or("");
    bool inDigits = space + ".order" == name, isNumbers = space + ".global" == name;
    const std::string &givenAs = info->haloOf.empty() ? name : info->haloOf;
    if (!isNumbers && !inDigits && !tensors.count(givenAs))
      continue; // It may be left out, or the model says what is missing.
    Tensor own = isNumbers || inDigits  ? numbersOf(space, rank, inDigits)
                 : info->haloOf.empty() ? cut(tensors.at(name), space, rank)
                                        : cutHalo(tensors.at(givenAs), space, rank);
    memory.push_back(llvm::cantFail(HostTensor::create(name, info->type, own.shape)));
    for (size_t i = 0; i < own.data.size(); ++i)
      if (isNumbers && info->type == ElementType::F64)
        memory.back().as<int64_t>()[i] = int64_t(own.data[i]);
      else if (isNumbers)
        memory.back().as<int32_t>()[i] = int32_t(own.data[i]);
      else
        memory.back().set(int64_t(i), own.data[i]);
  }
  size_t given = memory.size();
  for (const TensorInfo &output : program.outputs) {
    std::vector<int64_t> shape = output.dims;
    if (output.space)
      shape.insert(shape.begin(), api.extent(graph, output.space->c_str()));
    memory.push_back(llvm::cantFail(HostTensor::create(output.name, output.type, shape)));
  }
  for (auto [i, tensor] : llvm::enumerate(memory))
    (i < given ? inputs : outputs).push_back(tensor.binding());
  if (api.run(context, graph, program.name.c_str(), inputs.data(), int32_t(inputs.size()), outputs.data(),
              int32_t(outputs.size()), nullptr, 0, nullptr, &error))
    return failed();
  size_t number = 0;
  for (size_t i = 0; i < program.outputs.size(); ++i)
    results[number++].ofRanks[size_t(rank)] = read(memory[given + i]);
  for (const std::string &updated : program.updates)
    results[number++].ofRanks[size_t(rank)] =
        read(*llvm::find_if(memory, [&](const HostTensor &tensor) { return tensor.name() == updated; }));
  return llvm::Error::success();
}

namespace {

/// Another's functions, but for exchanges, by which nothing arrives but zeros.
struct NoExchange {
  explicit NoExchange(const gnnc_collectives &real) : real(real), made(real) {
    made.user = this;
    made.exchange = [](void *user, const void *, const int64_t *, void *receive, const int64_t *counts,
                       int64_t rowBytes, void *, gnnc_error *) {
      int64_t rows = 0;
      for (int32_t rank = 0; rank < static_cast<NoExchange *>(user)->real.size; ++rank)
        rows += counts[rank];
      if (rows > 0)
        std::memset(receive, 0, size_t(rows * rowBytes));
      return GNNC_OK;
    };
    made.gather = [](void *user, const void *own, void *all, int64_t bytes, void *stream, gnnc_error *error) {
      const gnnc_collectives &real = static_cast<NoExchange *>(user)->real;
      return real.gather(real.user, own, all, bytes, stream, error);
    };
    made.gather_host = [](void *user, const void *own, void *all, int64_t bytes, gnnc_error *error) {
      const gnnc_collectives &real = static_cast<NoExchange *>(user)->real;
      return real.gather_host(real.user, own, all, bytes, error);
    };
  }
  gnnc_collectives real, made;
};

} // namespace

llvm::Expected<Tensors> Ranks::run(const ModelFile &model, llvm::StringRef name, const Tensors &tensors,
                                   bool exchanges) const {
  const ProgramInfo *program = model.info().findProgram(name);
  if (!program)
    return llvm::createStringError("no program '" + name + "'");
  std::vector<Result> results;
  for (const TensorInfo &output : program->outputs)
    results.push_back({output.name, output.space.value_or(""), std::vector<Tensor>(parts.size())});
  for (const std::string &updated : program->updates)
    results.push_back({updated, infoOf(model.info(), updated)->space.value_or(""), std::vector<Tensor>(parts.size())});
  ThreadRanks ranks(int(parts.size()));
  ranks.delayExchanges(ThreadRanks::Milliseconds(delay));
  std::string failure = ranks.run([&](int rank, const gnnc_collectives &collectives) -> std::string {
    NoExchange nothing(collectives);
    if (llvm::Error error = runRank(model, *program, tensors, rank, exchanges ? collectives : nothing.made, results))
      return llvm::toString(std::move(error));
    return "";
  });
  exchanged = ranks.bytesExchanged();
  if (!failure.empty())
    return llvm::createStringError(failure);
  return putTogether(results);
}
