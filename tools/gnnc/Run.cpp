//===- Run.cpp - gnnc run -------------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Files.h"
#include "ModelOnGraph.h"
#include "Report.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <array>
#include <cmath>

using namespace gnnc;

/// Those of the whole graph.
static llvm::Expected<Parameters> readParameters(const RunArguments &arguments, const ModelOnGraph &onGraph) {
  const ModelInfo &info = onGraph.model().info();
  if (arguments.params.empty())
    return Parameters::random(info, onGraph.wholeExtents(), arguments.seed);
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(arguments.params);
  if (!file)
    return file.takeError();
  if (arguments.paramsMap.empty())
    return Parameters::load(info, onGraph.wholeExtents(), *file, nullptr, info.findProgram(arguments.program));
  llvm::Expected<ParamsMap> map = ParamsMap::open(arguments.paramsMap);
  if (!map)
    return map.takeError();
  return Parameters::load(info, onGraph.wholeExtents(), *file, &*map, info.findProgram(arguments.program));
}

/// Numbers that the program needs and takes from the object.
static llvm::Expected<int64_t> countInside(const ModelOnGraph &onGraph, const ProgramInfo &program,
                                           const Parameters &given) {
  const ModelInfo &info = onGraph.model().info();
  int64_t count = 0;
  for (const auto *list : {&info.params, &info.states})
    for (const TensorInfo &tensor : *list) {
      bool isGiven =
          llvm::any_of(given.tensors(), [&](const HostTensor &other) { return other.name() == tensor.name; });
      if (!tensor.embedded || isGiven || !llvm::is_contained(program.inputs, tensor.name))
        continue;
      llvm::Expected<std::vector<int64_t>> shape = shapeOf(tensor, onGraph.extents());
      if (!shape)
        return shape.takeError();
      count += countElements(*shape).value_or(0);
    }
  return count;
}

/// Shape, range and a hash of all bytes: equal hashes are bitwise equal outputs.
static void printOutput(const HostTensor &tensor, const TensorInfo &info, llvm::raw_ostream &out) {
  double least = INFINITY, greatest = -INFINITY, sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    double value = tensor.at(i);
    if (!std::isfinite(value))
      continue;
    ++finite;
    sum += value;
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  out << "output " << tensor.name() << ": " << formatType(info) << " " << formatShape(tensor.shape()) << " "
      << elementTypeName(tensor.type()).lower();
  if (finite > 0)
    out << llvm::format(", mean %.6g, min %.6g, max %.6g", sum / double(finite), least, greatest);
  if (finite != tensor.elements())
    out << ", " << formatCount(tensor.elements() - finite) << " not finite";
  llvm::ArrayRef<uint8_t> bytes(static_cast<const uint8_t *>(tensor.data()), tensor.bytes());
  out << ", digest " << llvm::format_hex_no_prefix(llvm::xxh3_64bits(bytes), 16) << "\n";
}

static int64_t integerAt(const FileTensor &tensor, int64_t i) {
  return *tensor.type == ElementType::I32 ? int64_t(tensor.as<int32_t>()[i]) : tensor.as<int64_t>()[i];
}

static bool isIntegerVector(const FileTensor *tensor) {
  return tensor && tensor->type && !isFloat(*tensor->type) && tensor->shape.size() == 1;
}

/// Classes of nodes, and the nodes that a model is tested on.
struct Split {
  const FileTensor *classes, *test;
};

/// Where the graph has classes and a split, and an output is one row of scores for each node. An output that is not
/// called `logits` may be anything.
static std::optional<Split> findSplit(const SafetensorsFile &graph, const TensorInfo &info,
                                      std::optional<int64_t> nodes) {
  Split split = {graph.find("y"), graph.find("test_idx")};
  bool fits = info.name == "logits" && isIntegerVector(split.classes) && isIntegerVector(split.test) &&
              info.space == "node" && info.dims.size() == 1 && info.dims[0] > 1 && split.classes->elements == nodes;
  return fits ? std::optional(split) : std::nullopt;
}

/// Before the model runs: whether all nodes and classes of the split are some.
static llvm::Error checkSplit(const ModelOnGraph &onGraph, const std::string &path, const TensorInfo &info) {
  std::optional<Split> split = findSplit(onGraph.graph(), info, onGraph.extents()("node"));
  for (int64_t i = 0; split && i < split->test->elements; ++i) {
    int64_t node = integerAt(*split->test, i), nodes = split->classes->elements;
    if (node < 0 || node >= nodes)
      return llvm::createStringError("graph '" + path + "': number " + llvm::Twine(i) +
                                     " of 'test_idx': expected a node from 0 to " + llvm::Twine(nodes - 1) +
                                     ", found " + llvm::Twine(node));
    int64_t found = integerAt(*split->classes, node);
    if (found >= info.dims[0])
      return llvm::createStringError("graph '" + path + "': class of node " + llvm::Twine(node) +
                                     " in 'y': expected one from 0 to " + llvm::Twine(info.dims[0] - 1) +
                                     ", as output 'logits' has " + llvm::Twine(info.dims[0]) +
                                     " scores, or a negative number for none, found " + llvm::Twine(found));
  }
  return llvm::Error::success();
}

/// How many test nodes have their greatest score at their class, and of how many. The first of equal scores counts.
static std::array<int64_t, 2> countRight(const Split &split, const HostTensor &scores) {
  int64_t width = scores.shape()[1], right = 0, counted = 0;
  for (int64_t i = 0; i < split.test->elements; ++i) {
    int64_t node = integerAt(*split.test, i), expected = integerAt(*split.classes, node);
    if (expected < 0) // unlabelled
      continue;
    int64_t best = 0;
    for (int64_t j = 1; j < width; ++j)
      if (scores.at(node * width + j) > scores.at(node * width + best))
        best = j;
    ++counted;
    right += best == expected;
  }
  return {right, counted};
}

/// Of all ranks together.
static llvm::Error printAccuracy(const SafetensorsFile &graph, const HostTensor &scores, const TensorInfo &info,
                                 llvm::raw_ostream &out) {
  std::array<int64_t, 2> found = {0, 0};
  if (std::optional<Split> split = findSplit(graph, info, scores.shape().empty() ? 0 : scores.shape()[0]))
    found = countRight(*split, scores);
  if (const RunRanks *ranks = runRanks()) {
    std::vector<std::array<int64_t, 2>> all(size_t(ranks->size()));
    if (llvm::Error error = ranks->gather(found.data(), all.data(), sizeof found))
      return error;
    found = {0, 0};
    for (const std::array<int64_t, 2> &each : all)
      found = {found[0] + each[0], found[1] + each[1]};
  }
  if (found[1] > 0)
    out << llvm::format("test accuracy %.4f (%lld of %lld)\n", double(found[0]) / double(found[1]), (long long)found[0],
                        (long long)found[1]);
  return llvm::Error::success();
}

/// What an output is called in the file. A model that was exported from another framework has numbered outputs and
/// that framework's names of parameters.
static std::string nameInFile(const ModelInfo &info, llvm::StringRef name) {
  if (!info.exported)
    return name.str();
  for (auto [i, output] : llvm::enumerate(info.outputs))
    if (name == output.name)
      return "out." + std::to_string(i);
  llvm::StringRef of = name;
  if (of.consume_front("grad.") && llvm::any_of(info.params, [&](const TensorInfo &p) { return p.name == of; }))
    return ("grad.param." + of).str();
  return name.str();
}

/// Concatenates each output from all ranks on rank 0.
static llvm::Expected<std::vector<HostTensor>> collectOutputs(const ModelOnGraph &onGraph, const ProgramInfo &program) {
  std::vector<HostTensor> all;
  for (auto [tensor, info] : llvm::zip_equal(onGraph.program().outputs(), program.outputs)) {
    llvm::Expected<HostTensor> whole = onGraph.divided()->collect(tensor, info.space);
    if (!whole)
      return whole.takeError();
    all.push_back(std::move(*whole));
  }
  return std::move(all);
}

static llvm::Error writeOutputs(const std::string &path, const ModelOnGraph &onGraph,
                                llvm::ArrayRef<HostTensor> outputs) {
  SafetensorsWriter writer;
  writer.addMetadata("model", onGraph.model().info().name);
  for (const HostTensor &tensor : outputs)
    if (llvm::Error error =
            writer.add(nameInFile(onGraph.model().info(), tensor.name()), tensor.type(), tensor.shape(), tensor.data()))
      return error;
  return writer.write(path);
}

int gnnc::runModel(const RunArguments &arguments) {
  if (llvm::Error error = checkOverwriting({{"--out", arguments.output}}, {{"the model", arguments.model},
                                                                           {"--graph", arguments.graph},
                                                                           {"--params", arguments.params},
                                                                           {"--params-map", arguments.paramsMap},
                                                                           {"--tuning", arguments.tuning}}))
    return fail(std::move(error));
  llvm::Expected<std::unique_ptr<ModelOnGraph>> created = ModelOnGraph::create(
      arguments.model, arguments.graph, arguments.threads, arguments.program, arguments.device, arguments.tuning);
  if (!created)
    return fail(created.takeError());
  ModelOnGraph &onGraph = **created;
  const ModelInfo &info = onGraph.model().info();
  if (llvm::Error error = onGraph.bound().expectGradients())
    return fail(std::move(error));
  llvm::Expected<Parameters> params = readParameters(arguments, onGraph);
  if (!params)
    return fail(params.takeError());
  const ProgramInfo &program = *info.findProgram(arguments.program);
  int64_t given = 0;
  for (const HostTensor &tensor : params->tensors())
    if (llvm::is_contained(program.inputs, tensor.name()))
      given += tensor.elements();
  llvm::Expected<int64_t> inside = countInside(onGraph, program, *params);
  if (!inside)
    return fail(inside.takeError());
  if (llvm::Error error = params->addEmbedded(onGraph.model(), llvm::ArrayRef(program.updates)))
    return fail(std::move(error));
  if (onGraph.divided())
    if (llvm::Error error = onGraph.divided()->take(*params))
      return fail(std::move(error));
  bool isMeasured = !arguments.params.empty() || given == 0;
  for (const TensorInfo &output : program.outputs)
    if (isMeasured)
      if (llvm::Error error = checkSplit(onGraph, arguments.graph, output))
        return fail(std::move(error));
  Stopwatch watch;
  if (llvm::Error error = onGraph.run(*params))
    return fail(std::move(error));
  double seconds = watch.lap();

  llvm::raw_ostream &out = llvm::outs();
  std::vector<std::string> extents;
  ExtentLookup whole = onGraph.wholeExtents();
  auto isOwn = [&](const SpaceInfo &space) {
    return space.kind == "root" && info.haloRole(space.name).second == HaloRole::None;
  };
  for (const SpaceInfo &space : info.spaces)
    if (std::optional<int64_t> extent = isOwn(space) ? whole(space.name) : std::nullopt)
      extents.push_back(space.name + " " + formatCount(*extent));
  out << "model " << info.name << " on " << arguments.graph << ": " << llvm::join(extents, ", ");
  if (runRanks())
    out << ", on " << runRanks()->size() << " ranks";
  out << "\n";
  if (given > 0 && arguments.params.empty())
    out << "parameters: " << formatCount(given) << " random numbers from seed " << arguments.seed
        << " (no --params given)\n";
  else if (given > 0)
    out << "parameters: " << formatCount(given) << " numbers from " << arguments.params << "\n";
  if (*inside > 0)
    out << "parameters: " << formatCount(*inside) << " numbers in " << arguments.model << "\n";

  std::vector<HostTensor> collected;
  if (onGraph.divided()) {
    llvm::Expected<std::vector<HostTensor>> all = collectOutputs(onGraph, program);
    if (!all)
      return fail(all.takeError());
    collected = std::move(*all);
  }
  llvm::ArrayRef<HostTensor> outputs = onGraph.divided() ? llvm::ArrayRef(collected) : onGraph.program().outputs();
  for (auto [tensor, output] : llvm::zip_equal(outputs, program.outputs))
    printOutput(tensor, output, out);
  if (isMeasured)
    for (auto [tensor, output] : llvm::zip_equal(onGraph.program().outputs(), program.outputs))
      if (llvm::Error error = printAccuracy(onGraph.graph(), tensor, output, out))
        return fail(std::move(error));
  out << "run " << formatSeconds(seconds) << " (load " << formatSeconds(onGraph.loadSeconds()) << ", prepare "
      << formatSeconds(onGraph.prepareSeconds()) << ")\n";
  if (!arguments.output.empty() && (!onGraph.divided() || onGraph.divided()->isFirst())) {
    if (llvm::Error error = writeOutputs(arguments.output, onGraph, outputs))
      return fail(std::move(error));
    out << "wrote " << arguments.output << "\n";
  }
  return ExitOk;
}
