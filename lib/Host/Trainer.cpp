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
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

using namespace gnnc;

constexpr llvm::StringLiteral kLoss = "loss", kBestPrefix = "best/";

llvm::Expected<Trainer> Trainer::create(const ModelFile &model, const Session &session, const BoundGraph &graph,
                                        llvm::StringRef select, const DividedRows *divided) {
  Trainer trainer(model, session, graph);
  trainer.divided = divided;
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
  if (llvm::Error error = parameters->addEmbedded(model))
    return std::move(error);
  trainer.current.emplace(std::move(*parameters));
  if (llvm::Error error = trainer.choose(select))
    return std::move(error);
  for (Snapshot *snapshot : {&trainer.ofBest, &trainer.ofStart}) {
    if (snapshot == &trainer.ofStart && !trainer.choosesByLoss())
      break;
    llvm::Expected<Snapshot> made = trainer.makeSnapshot();
    if (!made)
      return made.takeError();
    *snapshot = std::move(*made);
  }
  return std::move(trainer);
}

//===----------------------------------------------------------------------===//
// Which epoch is the best
//===----------------------------------------------------------------------===//

llvm::Error Trainer::choose(llvm::StringRef select) {
  std::vector<std::string> names;
  if (evaluation)
    for (const HostTensor &output : evaluation->outputs())
      names.push_back(output.name());
  names.push_back(kLoss.str());
  auto [metric, direction] = select.split(':');
  if (select.contains(':') && direction != "min" && direction != "max")
    return llvm::createStringError("expected NAME, NAME:min or NAME:max to select by, found '" + select + "'");
  if (select.empty()) {
    auto found = llvm::find_if(names, [](llvm::StringRef name) { return name.starts_with("val"); });
    chosenMetric = found == names.end() ? kLoss.str() : *found;
  } else if (llvm::is_contained(names, metric)) {
    chosenMetric = metric.str();
  } else {
    return llvm::createStringError("model '" + model->info().name + "' has no metric '" + metric +
                                   "': expected one of " + llvm::join(names, ", "));
  }
  llvm::StringRef chosen = chosenMetric;
  takesLeast = direction.empty() ? chosen.contains("loss") || chosen.contains("error") : direction == "min";
  return llvm::Error::success();
}

bool Trainer::choosesByLoss() const { return chosenMetric == kLoss; }

bool Trainer::isBetter(double value, double than) const {
  if (std::isnan(than)) // Anything is.
    return !std::isnan(value);
  return takesLeast ? value < than : value > than;
}

/// Of the best epoch, in order.
std::vector<std::string> Trainer::metricNames() const {
  std::vector<std::string> names;
  if (choosesByLoss())
    names.push_back(kLoss.str());
  if (evaluation)
    for (const HostTensor &output : evaluation->outputs())
      names.push_back(output.name());
  return names;
}

llvm::Expected<Trainer::Snapshot> Trainer::makeSnapshot() const {
  Snapshot snapshot;
  for (const HostTensor &tensor : current->tensors()) {
    llvm::Expected<HostTensor> copy = HostTensor::create(tensor.name(), tensor.type(), tensor.shape());
    if (!copy)
      return copy.takeError();
    snapshot.host.push_back(std::move(*copy));
  }
  if (session->isOnCPU())
    return std::move(snapshot);
  constexpr size_t kAlignment = 256;
  size_t total = 0;
  for (const HostTensor &tensor : current->tensors())
    total += llvm::alignTo(tensor.bytes(), kAlignment);
  llvm::Expected<std::shared_ptr<void>> memory = session->allocate(total);
  if (!memory)
    return llvm::createStringError("the best epoch's parameters and states need " + llvm::Twine(total) +
                                   " bytes: " + llvm::toString(memory.takeError()));
  size_t place = 0;
  for (const HostTensor &tensor : current->tensors()) {
    snapshot.device.emplace_back(*memory, static_cast<char *>(memory->get()) + place);
    place += llvm::alignTo(tensor.bytes(), kAlignment);
  }
  return std::move(snapshot);
}

llvm::Error Trainer::take(Snapshot &snapshot) {
  snapshot.metrics = lastMetrics;
  if (session->isOnCPU()) {
    for (auto [from, to] : llvm::zip_equal(current->tensors(), snapshot.host))
      std::memcpy(to.data(), from.data(), from.bytes());
    return llvm::Error::success();
  }
  for (auto [from, to] : llvm::zip_equal(current->tensors(), snapshot.device))
    if (llvm::Error error =
            session->copy(to.get(), true, onDevice->tensors[from.name()].memory.get(), true, from.bytes()))
      return error;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Epochs
//===----------------------------------------------------------------------===//

std::vector<gnnc_binding> Trainer::bindings() const {
  std::vector<gnnc_binding> all = graph->inputs().vec();
  llvm::append_range(all, current->bindings());
  return all;
}

llvm::Error Trainer::initialize(uint64_t seed) {
  done = best = 0;
  startSeed = seed;
  constexpr uint64_t kMask = (1 << 24) - 1; // What a seed's number holds; see mpdfg.random.
  for (const HostTensor &tensor : current->tensors())
    if (tensor.name() == "seed" && tensor.elements() == 2) {
      tensor.set(0, double(seed & kMask));
      tensor.set(1, double((seed >> 24 ^ seed >> 48) & kMask));
    }
  isBound = false;
  if (llvm::Error error = initialization.run(bindings()))
    return error;
  // Training goes on from what the object has.
  for (const auto *list : {&model->info().params, &model->info().states})
    for (const TensorInfo &info : *list) {
      if (!info.embedded)
        continue;
      llvm::Expected<HostTensor> values = model->embedded(info);
      if (!values)
        return values.takeError();
      for (const HostTensor &tensor : current->tensors())
        if (tensor.name() == info.name)
          std::memcpy(tensor.data(), values->data(), tensor.bytes());
    }
  return llvm::Error::success();
}

llvm::Error Trainer::bindEpoch() {
  if (llvm::Error error = step.bind(bindings()))
    return error;
  if (evaluation)
    if (llvm::Error error = evaluation->bind(bindings()))
      return error;
  isBound = true;
  if (!session->canRecord() || wholeEpoch)
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

Metrics Trainer::readMetrics() const {
  Metrics metrics;
  for (const HostTensor &output : evaluation->outputs())
    metrics.emplace_back(output.name(), output.at(0));
  return metrics;
}

/// A step, then the metrics of what it left.
llvm::Error Trainer::runEpoch() {
  if (!isBound) {
    if (llvm::Error error = bindEpoch())
      return error;
    // Those of what the first step begins with.
    if (choosesByLoss() && evaluation) {
      if (llvm::Error error = evaluation->launch())
        return error;
      if (llvm::Error error = evaluation->fetchOutputs())
        return error;
      lastMetrics = readMetrics();
    }
  }
  if (choosesByLoss())
    if (llvm::Error error = take(ofStart))
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
  if (!evaluation)
    return llvm::Error::success();
  if (llvm::Error error = evaluation->fetchOutputs())
    return error;
  lastMetrics = readMetrics();
  return llvm::Error::success();
}

llvm::Expected<bool> Trainer::epoch() {
  if (llvm::Error error = runEpoch())
    return std::move(error);
  for (const HostTensor &output : step.outputs())
    if (output.name() == kLoss)
      lastLoss = output.at(0);
  ++done;
  double value = lastLoss;
  for (const auto &[name, number] : lastMetrics)
    if (name == chosenMetric)
      value = number;
  if (!std::isfinite(lastLoss) || (best > 0 && !isBetter(value, bestValue)))
    return false;
  best = done;
  bestValue = value;
  if (choosesByLoss()) {
    std::swap(ofBest, ofStart);
    ofBest.metrics.insert(ofBest.metrics.begin(), {kLoss.str(), lastLoss});
  } else if (llvm::Error error = take(ofBest)) {
    return std::move(error);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Brings everything from the device, if there is one.
llvm::Error Trainer::fetch() {
  if (session->isOnCPU() || !isBound)
    return llvm::Error::success();
  if (llvm::Error error = step.fetchUpdates())
    return error;
  for (auto [from, to] : llvm::zip_equal(ofBest.device, ofBest.host))
    if (llvm::Error error = session->copy(to.data(), false, from.get(), true, to.bytes()))
      return error;
  return llvm::Error::success();
}

std::optional<std::string> Trainer::spaceOf(llvm::StringRef tensor) const {
  for (const auto *list : {&model->info().params, &model->info().states})
    for (const TensorInfo &info : *list)
      if (info.name == tensor)
        return info.space;
  return std::nullopt;
}

/// Files have what ranks have of a tensor in one. The writer reads it where it is: in `collected`, until it has
/// written.
llvm::Error Trainer::add(SafetensorsWriter &writer, const std::string &name, const HostTensor &tensor,
                         std::vector<HostTensor> &collected) const {
  if (!divided)
    return writer.add(name, tensor.type(), tensor.shape(), tensor.data());
  llvm::Expected<HostTensor> whole = divided->collect(tensor, spaceOf(tensor.name()));
  if (!whole)
    return whole.takeError();
  if (!divided->isFirst())
    return llvm::Error::success();
  collected.push_back(std::move(*whole));
  const HostTensor &kept = collected.back();
  return writer.add(name, kept.type(), kept.shape(), kept.data());
}

/// Only rank 0 writes, and all know whether it could.
llvm::Error Trainer::write(SafetensorsWriter &writer, llvm::StringRef path) const {
  if (!divided)
    return writer.write(path);
  llvm::Error failed = divided->isFirst() ? writer.write(path) : llvm::Error::success();
  bool hasFailed = bool(failed);
  llvm::Expected<int64_t> first = divided->all().ofFirst(hasFailed);
  if (hasFailed) {
    if (!first)
      llvm::consumeError(first.takeError());
    return failed;
  }
  if (!first)
    return first.takeError();
  return *first ? llvm::createStringError("rank 0 could not write '" + path + "'") : llvm::Error::success();
}

llvm::Error Trainer::saveBest(llvm::StringRef path) {
  if (llvm::Error error = fetch())
    return error;
  SafetensorsWriter writer;
  std::vector<HostTensor> collected;
  writer.addMetadata("model", model->info().name);
  writer.addMetadata("epoch", std::to_string(best));
  for (const auto &[name, value] : ofBest.metrics)
    writer.addMetadata(name, llvm::formatv("{0}", value).str());
  for (const HostTensor &tensor : ofBest.host)
    if (llvm::Error error = add(writer, tensor.name(), tensor, collected))
      return error;
  return write(writer, path);
}

llvm::Error Trainer::saveCheckpoint(llvm::StringRef path) {
  if (llvm::Error error = fetch())
    return error;
  llvm::Expected<std::string> digest = model->digest();
  if (!digest)
    return digest.takeError();
  auto exact = [](double value) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.17g", value);
    return text;
  };
  SafetensorsWriter writer;
  std::vector<HostTensor> collected;
  writer.addMetadata("model", model->info().name);
  writer.addMetadata("checkpoint.epoch", std::to_string(done));
  writer.addMetadata("checkpoint.best_epoch", std::to_string(best));
  writer.addMetadata("checkpoint.best_value", exact(bestValue));
  writer.addMetadata("checkpoint.selection", selection());
  writer.addMetadata("checkpoint.seed", std::to_string(startSeed));
  writer.addMetadata("checkpoint.digest", *digest);
  for (const auto &[name, value] : ofBest.metrics)
    writer.addMetadata("checkpoint.metric." + name, exact(value));
  for (const HostTensor &tensor : current->tensors())
    if (llvm::Error error = add(writer, tensor.name(), tensor, collected))
      return error;
  for (const HostTensor &tensor : ofBest.host)
    if (llvm::Error error = add(writer, (kBestPrefix + tensor.name()).str(), tensor, collected))
      return error;
  return write(writer, path);
}

namespace {

/// No training gets there, and there are numbers for epochs after it.
constexpr int64_t kMostEpochs = int64_t(1) << 53;

/// What the metadata of a checkpoint says, or an error that names the file.
struct CheckpointReader {
  const SafetensorsFile &file;

  llvm::Error wrong(const llvm::Twine &what) const { return llvm::createStringError("'" + file.path() + "': " + what); }
  llvm::Expected<llvm::StringRef> text(const std::string &key) const {
    if (const std::string *found = file.findMetadata(key))
      return *found;
    return wrong("expected a checkpoint of this model's training, found no '" + key + "' in its metadata");
  }
  llvm::Error expect(const std::string &key, const std::string &wanted, llvm::StringRef what) const {
    llvm::Expected<llvm::StringRef> found = text(key);
    if (!found)
      return found.takeError();
    return *found == wanted ? llvm::Error::success()
                            : wrong("expected a checkpoint of " + what + " " + wanted + ", found one of " + *found);
  }
  llvm::Expected<int64_t> integer(const std::string &key, int64_t least, int64_t most) const {
    llvm::Expected<llvm::StringRef> found = text(key);
    if (!found)
      return found.takeError();
    int64_t value = 0;
    if (found->getAsInteger(10, value) || value < least || value > most)
      return wrong("metadata '" + key + "': expected a number from " + llvm::Twine(least) + " to " + llvm::Twine(most) +
                   ", found '" + *found + "'");
    return value;
  }
  llvm::Expected<double> number(const std::string &key) const {
    llvm::Expected<llvm::StringRef> found = text(key);
    if (!found)
      return found.takeError();
    double value = 0;
    if (found->getAsDouble(value))
      return wrong("metadata '" + key + "': expected a number, found '" + *found + "'");
    return value;
  }
};

} // namespace

llvm::Error Trainer::loadCheckpoint(llvm::StringRef path) {
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(path);
  if (!file)
    return file.takeError();
  llvm::Expected<std::string> digest = model->digest();
  if (!digest)
    return digest.takeError();
  // Everything is looked at before anything is taken over.
  CheckpointReader said{*file};
  llvm::Expected<int64_t> epoch = said.integer("checkpoint.epoch", 0, kMostEpochs);
  if (!epoch)
    return epoch.takeError();
  if (llvm::Error error = said.expect("model", model->info().name, "model"))
    return error;
  if (llvm::Error error = said.expect("checkpoint.digest", *digest, "this compilation of the model,"))
    return error;
  if (llvm::Error error = said.expect("checkpoint.seed", std::to_string(startSeed), "seed"))
    return error;
  if (llvm::Error error = said.expect("checkpoint.selection", selection(), "the training for the"))
    return error;
  llvm::Expected<int64_t> bestOne = said.integer("checkpoint.best_epoch", std::min<int64_t>(*epoch, 1), *epoch);
  if (!bestOne)
    return bestOne.takeError();
  llvm::Expected<double> value = said.number("checkpoint.best_value");
  if (!value)
    return value.takeError();
  Metrics metrics;
  for (const std::string &name : *bestOne > 0 ? metricNames() : std::vector<std::string>()) {
    llvm::Expected<double> metric = said.number("checkpoint.metric." + name);
    if (!metric)
      return metric.takeError();
    metrics.emplace_back(name, *metric);
  }
  std::vector<std::pair<const FileTensor *, const HostTensor *>> copies;
  for (bool isBest : {false, true})
    for (const HostTensor &tensor : isBest ? llvm::ArrayRef(ofBest.host) : current->tensors()) {
      std::string name = (isBest ? kBestPrefix : llvm::StringLiteral("")).str() + tensor.name();
      const FileTensor *found = file->find(name);
      llvm::Expected<std::vector<int64_t>> shape =
          divided ? divided->wholeShape(tensor, spaceOf(tensor.name())) : tensor.shape().vec();
      if (!shape)
        return shape.takeError();
      if (!found || !found->type || *found->type != tensor.type() || found->shape != *shape)
        return said.wrong(
            "expected tensor '" + name + "' " + elementTypeName(tensor.type()) + " " + formatShape(*shape) +
            (found ? ", found " + found->typeName + " " + formatShape(found->shape) : std::string(", found none")));
      copies.emplace_back(found, &tensor);
    }

  for (auto [from, to] : copies)
    if (!divided)
      std::memcpy(to->data(), from->data, to->bytes());
    else if (llvm::Error error = divided->take(from->data, *to, spaceOf(to->name())))
      return error;
  isBound = false;
  if (!session->isOnCPU())
    for (auto [from, to] : llvm::zip_equal(ofBest.host, ofBest.device))
      if (llvm::Error error = session->copy(to.get(), true, from.data(), false, from.bytes()))
        return error;
  done = *epoch;
  best = *bestOne;
  bestValue = *value;
  ofBest.metrics = std::move(metrics);
  return llvm::Error::success();
}
