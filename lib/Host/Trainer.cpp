//===- Trainer.cpp - Training a compiled model ----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/Trainer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace gnnc;

constexpr llvm::StringLiteral kLoss = "loss", kBestPrefix = "best/";

llvm::Expected<Trainer> Trainer::create(const ModelFile &model, const Session &session, const BoundGraph &graph) {
  Trainer trainer(model, session, graph);
  for (llvm::StringRef name : {"train_step", "initialize"})
    if (!model.info().findProgram(name))
      return llvm::createStringError("'" + model.path() + "' has no program '" + name +
                                     "': expected a model with a loss and a train statement");
  auto start = [&](llvm::StringRef name, auto &place) -> llvm::Error {
    llvm::Expected<ProgramRun> program = session.program(name, /*before=*/nullptr, trainer.onDevice);
    if (!program)
      return program.takeError();
    place = std::move(*program);
    return llvm::Error::success();
  };
  if (llvm::Error error = start("train_step", trainer.step))
    return std::move(error);
  if (llvm::Error error = start("initialize", trainer.initialization))
    return std::move(error);
  if (model.info().findProgram("evaluate"))
    if (llvm::Error error = start("evaluate", trainer.evaluation))
      return std::move(error);
  auto extents = [&](llvm::StringRef space) -> std::optional<int64_t> {
    int64_t extent = session.extent(space.str());
    return extent < 0 ? std::nullopt : std::optional(extent);
  };
  llvm::Expected<Parameters> parameters = Parameters::random(model.info(), extents, /*seed=*/0);
  if (!parameters)
    return parameters.takeError();
  trainer.current.emplace(std::move(*parameters));
  for (const HostTensor &tensor : trainer.current->tensors()) {
    llvm::Expected<HostTensor> copy = HostTensor::create(tensor.name(), tensor.type(), tensor.shape());
    if (!copy)
      return copy.takeError();
    trainer.bestTensors.push_back(std::move(*copy));
    if (session.isOnCPU())
      continue;
    llvm::Expected<std::shared_ptr<void>> memory = session.allocate(tensor.bytes());
    if (!memory)
      return memory.takeError();
    trainer.bestOnDevice.push_back(std::move(*memory));
  }
  llvm::cantFail(trainer.choose(""));
  return std::move(trainer);
}

llvm::Error Trainer::choose(llvm::StringRef metric) {
  std::vector<std::string> names;
  if (evaluation)
    for (const HostTensor &output : evaluation->outputs())
      names.push_back(output.name());
  names.push_back(kLoss.str());
  if (metric.empty()) {
    auto found = llvm::find_if(names, [](llvm::StringRef name) { return name.starts_with("val"); });
    chosenMetric = found == names.end() ? kLoss.str() : *found;
    return llvm::Error::success();
  }
  if (!llvm::is_contained(names, metric))
    return llvm::createStringError("model '" + model->info().name + "' has no metric '" + metric +
                                   "': expected one of " + llvm::join(names, ", "));
  chosenMetric = metric.str();
  return llvm::Error::success();
}

bool Trainer::isBetter(double value, double than) const {
  if (std::isnan(than)) // Anything is.
    return !std::isnan(value);
  return llvm::StringRef(chosenMetric).contains("loss") ? value < than : value > than;
}

std::vector<gnnc_binding> Trainer::bindings() const {
  std::vector<gnnc_binding> all = graph->inputs().vec();
  llvm::append_range(all, current->bindings());
  return all;
}

llvm::Error Trainer::initialize(uint64_t seed) {
  done = best = 0;
  constexpr uint64_t kMask = (1 << 24) - 1; // What a seed's number holds; see mpdfg.random.
  for (const HostTensor &tensor : current->tensors())
    if (tensor.name() == "seed" && tensor.elements() == 2) {
      tensor.set(0, double(seed & kMask));
      tensor.set(1, double((seed >> 24 ^ seed >> 48) & kMask));
    }
  isBound = false;
  return initialization.run(bindings());
}

llvm::Error Trainer::bindEpoch() {
  if (llvm::Error error = step.bind(bindings()))
    return error;
  if (evaluation)
    if (llvm::Error error = evaluation->bind(bindings()))
      return error;
  isBound = true;
  if (session->isOnCPU() || wholeEpoch)
    return llvm::Error::success();
  llvm::SmallVector<ProgramRun *> programs{&step};
  if (evaluation)
    programs.push_back(&*evaluation);
  llvm::Expected<Recording> recording = session->record(programs);
  if (!recording)
    return recording.takeError();
  wholeEpoch = std::move(*recording);
  return llvm::Error::success();
}

/// A step, then the metrics of what it left.
llvm::Error Trainer::runEpoch() {
  if (!isBound)
    if (llvm::Error error = bindEpoch())
      return error;
  if (wholeEpoch) {
    if (llvm::Error error = session->replay(wholeEpoch))
      return error;
  } else {
    if (llvm::Error error = step.launch())
      return error;
    if (evaluation)
      if (llvm::Error error = evaluation->launch())
        return error;
  }
  if (llvm::Error error = step.fetchOutputs())
    return error;
  return evaluation ? evaluation->fetchOutputs() : llvm::Error::success();
}

llvm::Expected<bool> Trainer::epoch() {
  if (llvm::Error error = runEpoch())
    return std::move(error);
  for (const HostTensor &output : step.outputs())
    if (output.name() == kLoss)
      lastLoss = output.at(0);
  ++done;
  lastMetrics.clear();
  if (evaluation)
    for (const HostTensor &output : evaluation->outputs())
      lastMetrics.emplace_back(output.name(), output.at(0));
  double value = lastLoss;
  for (const auto &[name, number] : lastMetrics)
    if (name == chosenMetric)
      value = number;
  if (best > 0 && !isBetter(value, bestValue))
    return false;
  best = done;
  bestValue = value;
  metricsOfBest = lastMetrics;
  if (llvm::Error error = keepBest())
    return std::move(error);
  return true;
}

llvm::Error Trainer::keepBest() {
  if (session->isOnCPU()) {
    for (auto [from, to] : llvm::zip_equal(current->tensors(), bestTensors))
      std::memcpy(to.data(), from.data(), from.bytes());
    return llvm::Error::success();
  }
  for (auto [from, to] : llvm::zip_equal(current->tensors(), bestOnDevice))
    if (llvm::Error error =
            session->copy(to.get(), true, onDevice->tensors[from.name()].memory.get(), true, from.bytes()))
      return error;
  return llvm::Error::success();
}

/// Brings everything from the device, if there is one.
llvm::Error Trainer::fetch() {
  if (session->isOnCPU() || !isBound)
    return llvm::Error::success();
  if (llvm::Error error = step.fetchUpdates())
    return error;
  for (auto [from, to] : llvm::zip_equal(bestOnDevice, bestTensors))
    if (llvm::Error error = session->copy(to.data(), false, from.get(), true, to.bytes()))
      return error;
  return llvm::Error::success();
}

llvm::Error Trainer::saveBest(llvm::StringRef path) {
  if (llvm::Error error = fetch())
    return error;
  SafetensorsWriter writer;
  writer.addMetadata("model", model->info().name);
  writer.addMetadata("epoch", std::to_string(best));
  for (const auto &[name, value] : metricsOfBest)
    writer.addMetadata(name, llvm::formatv("{0}", value).str());
  for (const HostTensor &tensor : bestTensors)
    if (llvm::Error error = writer.add(tensor.name(), tensor.type(), tensor.shape(), tensor.data()))
      return error;
  return writer.write(path);
}

llvm::Error Trainer::saveCheckpoint(llvm::StringRef path) {
  if (llvm::Error error = fetch())
    return error;
  auto exact = [](double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.17g", value);
    return text;
  };
  SafetensorsWriter writer;
  writer.addMetadata("model", model->info().name);
  writer.addMetadata("checkpoint.epoch", std::to_string(done));
  writer.addMetadata("checkpoint.best_epoch", std::to_string(best));
  writer.addMetadata("checkpoint.best_value", exact(bestValue));
  writer.addMetadata("checkpoint.chosen", chosenMetric);
  for (const auto &[name, value] : metricsOfBest)
    writer.addMetadata("checkpoint.metric." + name, exact(value));
  for (const HostTensor &tensor : current->tensors())
    if (llvm::Error error = writer.add(tensor.name(), tensor.type(), tensor.shape(), tensor.data()))
      return error;
  for (const HostTensor &tensor : bestTensors)
    if (llvm::Error error =
            writer.add((kBestPrefix + tensor.name()).str(), tensor.type(), tensor.shape(), tensor.data()))
      return error;
  return writer.write(path);
}

llvm::Error Trainer::loadCheckpoint(llvm::StringRef path) {
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  auto wrong = [&](const llvm::Twine &what) { return llvm::createStringError("'" + path + "': " + what); };
  auto number = [&](const llvm::Twine &key, auto &value) -> llvm::Error {
    const std::string *text = file->findMetadata(("checkpoint." + key).str());
    double parsed = 0;
    if (!text || llvm::StringRef(*text).getAsDouble(parsed))
      return wrong("expected a checkpoint of this model's training, found no 'checkpoint." + key + "' in its metadata");
    value = std::remove_reference_t<decltype(value)>(parsed);
    return llvm::Error::success();
  };
  int64_t epoch = 0, bestOne = 0;
  double value = 0;
  if (llvm::Error error = number("epoch", epoch))
    return error;
  if (llvm::Error error = number("best_epoch", bestOne))
    return error;
  if (llvm::Error error = number("best_value", value))
    return error;
  // Everything is looked at before anything is taken over.
  std::vector<std::pair<const FileTensor *, const HostTensor *>> copies;
  for (bool ofBest : {false, true})
    for (const HostTensor &tensor : ofBest ? llvm::ArrayRef(bestTensors) : current->tensors()) {
      std::string name = (ofBest ? kBestPrefix : llvm::StringLiteral("")).str() + tensor.name();
      const FileTensor *found = file->find(name);
      if (!found || !found->type || *found->type != tensor.type() || llvm::ArrayRef(found->shape) != tensor.shape())
        return wrong(
            "expected tensor '" + name + "' " + elementTypeName(tensor.type()) + " " + formatShape(tensor.shape()) +
            (found ? ", found " + found->typeName + " " + formatShape(found->shape) : std::string(", found none")));
      copies.emplace_back(found, &tensor);
    }
  const std::string *chosen = file->findMetadata("checkpoint.chosen");
  if (!chosen || *chosen != chosenMetric)
    return wrong("its best epoch was chosen by '" + llvm::Twine(chosen ? *chosen : "") + "', not by '" + chosenMetric +
                 "'");
  for (auto [from, to] : copies)
    std::memcpy(to->data(), from->data, to->bytes());
  isBound = false;
  if (!session->isOnCPU())
    for (auto [from, to] : llvm::zip_equal(bestTensors, bestOnDevice))
      if (llvm::Error error = session->copy(to.get(), true, from.data(), false, from.bytes()))
        return error;
  done = epoch;
  best = bestOne;
  bestValue = value;
  metricsOfBest.clear();
  if (evaluation)
    for (const HostTensor &output : evaluation->outputs()) {
      double metric = 0;
      if (llvm::Error error = number("metric." + output.name(), metric))
        return error;
      metricsOfBest.emplace_back(output.name(), metric);
    }
  return llvm::Error::success();
}
