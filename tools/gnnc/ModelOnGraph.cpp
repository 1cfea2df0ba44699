//===- ModelOnGraph.cpp - A model on a graph ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelOnGraph.h"
#include "Report.h"
#include "gnnc/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <random>

using namespace gnnc;

llvm::Expected<std::unique_ptr<ModelOnGraph>> ModelOnGraph::create(const std::string &modelPath,
                                                                   const std::string &graphPath, int threads,
                                                                   llvm::StringRef program, llvm::StringRef device,
                                                                   llvm::StringRef tuning, bool makesProgram) {
  llvm::Expected<DeviceChoice> choice = parseDevice(deviceOfRank(device));
  if (!choice)
    return choice.takeError();
  Stopwatch watch;
  llvm::Expected<ModelFile> model = ModelFile::open(modelPath);
  if (!model)
    return model.takeError();
  double secondsToLoad = watch.lap();
  llvm::Expected<std::string> path = graphFileOfRank(graphPath);
  if (!path)
    return path.takeError();
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(*path);
  if (!file)
    return file.takeError();
  // What it goes on from would have to be computed first, and then it is the whole.
  if (auto [whole, half] = program.split('.'); half == "backward")
    return llvm::createStringError("program '" + program + "' goes on from what '" + whole +
                                   ".forward' left in memory: run '" + whole + "', which is both");
  std::unique_ptr<ModelOnGraph> onGraph(new ModelOnGraph(std::move(*model), std::move(*file)));
  llvm::Expected<BoundGraph> bound = BoundGraph::create(onGraph->graphFile, onGraph->modelFile.info(), program);
  if (!bound)
    return bound.takeError();
  onGraph->boundGraph.emplace(std::move(*bound));
  if (llvm::Error error = onGraph->joinRanks())
    return std::move(error);
  onGraph->secondsToLoad = secondsToLoad;
  onGraph->secondsToRead = watch.lap();
  const RunRanks *ranks = runRanks();
  llvm::Expected<TuningText> tuned =
      TuningText::read(ranks && tuning.empty() ? llvm::StringRef(kNoTuning) : tuning, modelPath);
  if (!tuned)
    return tuned.takeError();
  gnnc_graph_desc description = onGraph->boundGraph->description();
  description.tuning = tuned->path.empty() ? nullptr : tuned->text.c_str();
  std::string ignored;
  llvm::ArrayRef<gnnc_row_counts> counts = onGraph->boundGraph->rowCounts();
  gnnc_part_desc part = {sizeof part, int32_t(counts.size()), counts.data(), nullptr};
  if (ranks) {
    llvm::Expected<const gnnc_collectives *> collectives = collectivesOfRanks(*choice);
    if (!collectives)
      return collectives.takeError();
    part.collectives = *collectives;
  }
  llvm::Expected<Session> session = Session::create(onGraph->modelFile, description, threadsOfRank(threads), *choice,
                                                    &ignored, ranks ? &part : nullptr);
  if (!session)
    return onGraph->explain(session.takeError(), tuned->path);
  if (!ignored.empty())
    llvm::errs() << "gnnc: warning: '" << tuned->path << "' is not used: " << ignored << "\n";
  onGraph->modelSession.emplace(std::move(*session));
  // Whether the graph has what the program needs.
  if (llvm::Expected<size_t> bytes = onGraph->modelSession->workspaceBytes(program); !bytes)
    return onGraph->explain(bytes.takeError());
  if (makesProgram) {
    llvm::Expected<ProgramRun> run = onGraph->modelSession->program(program);
    if (!run)
      return onGraph->explain(run.takeError());
    onGraph->programRun.emplace(std::move(*run));
  }
  onGraph->programName = program.str();
  onGraph->secondsToPrepare = watch.lap();
  return std::move(onGraph);
}

/// That all ranks have parts of the same partition.
llvm::Error ModelOnGraph::joinRanks() {
  const RunRanks *ranks = runRanks();
  const GraphPart &part = boundGraph->part();
  if (part.parts() > 1 && (!ranks || ranks->size() != part.parts() || ranks->rank() != part.rank()))
    return llvm::createStringError("'" + graphFile.path() + "' is part " + llvm::Twine(part.rank()) + " of " +
                                   llvm::Twine(part.parts()) + ": expected to be rank " + llvm::Twine(part.rank()) +
                                   " of as many (mpirun -np " + llvm::Twine(part.parts()) +
                                   " gnnc ... --graph FOLDER), found rank " + llvm::Twine(ranks ? ranks->rank() : 0) +
                                   " of " + llvm::Twine(ranks ? ranks->size() : 1));
  if (!ranks)
    return llvm::Error::success();
  dividedRows.emplace(modelFile.info(), part, *ranks);
  constexpr size_t kLength = 32;
  std::string own = part.partition().take_front(kLength).str();
  own.resize(kLength);
  std::vector<char> all(kLength * size_t(ranks->size()));
  if (llvm::Error error = ranks->gather(own.data(), all.data(), kLength))
    return error;
  for (int rank = 0; rank < ranks->size(); ++rank)
    if (llvm::StringRef(all.data() + kLength * size_t(rank), kLength) != llvm::StringRef(all.data(), kLength))
      return llvm::createStringError("'" + graphFile.path() +
                                     "': expected parts of one partition, found others on "
                                     "ranks 0 and " +
                                     llvm::Twine(rank));
  return boundGraph->exchangeInputs(*ranks);
}

llvm::Expected<TuningText> TuningText::read(llvm::StringRef choice, llvm::StringRef model) {
  TuningText result;
  if (choice == kNoTuning)
    return result;
  std::string path = choice.empty() ? (model + ".tune").str() : choice.str();
  if (choice.empty() && !llvm::sys::fs::exists(path))
    return result;
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer = readInputFile(path);
  if (!buffer)
    return buffer.takeError();
  result.path = path;
  result.text = (*buffer)->getBuffer().str();
  return result;
}

/// The model knows no file names.
llvm::Error ModelOnGraph::explain(llvm::Error error, llvm::StringRef tuning) const {
  std::string message = llvm::toString(std::move(error));
  if (!tuning.empty() && llvm::StringRef(message).starts_with("tuning"))
    return llvm::createStringError("'" + tuning + "': " + message);
  return llvm::createStringError("'" + modelFile.path() + "' on '" + graphFile.path() + "': " + message);
}

llvm::Error ModelOnGraph::prepareWith(const std::string &tuning, llvm::StringRef path) {
  gnnc_graph_desc description = boundGraph->description();
  description.tuning = tuning.c_str();
  llvm::Expected<Session> session = modelSession->prepare(description);
  if (!session)
    return explain(session.takeError(), path);
  recording.reset();
  programRun.reset();
  modelSession.emplace(std::move(*session));
  llvm::Expected<ProgramRun> run = modelSession->program(programName);
  if (!run)
    return explain(run.takeError());
  programRun.emplace(std::move(*run));
  return llvm::Error::success();
}

ExtentLookup ModelOnGraph::extents() const {
  return [this](llvm::StringRef space) -> std::optional<int64_t> {
    int64_t extent = modelSession->extent(space.str());
    return extent < 0 ? std::nullopt : std::optional(extent);
  };
}

llvm::Error ModelOnGraph::fillGradients(uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const TensorInfo &input : modelFile.info().inputs) {
    bool given = llvm::any_of(boundGraph->inputs(), [&](const gnnc_binding &b) { return input.name == b.name; });
    if (!input.gradient || given)
      continue;
    llvm::Expected<std::vector<int64_t>> shape = shapeOf(input, extents());
    if (!shape)
      return shape.takeError();
    llvm::Expected<HostTensor> tensor = HostTensor::create(input.name, input.type, *shape);
    if (!tensor)
      return tensor.takeError();
    for (int64_t i = 0; i < tensor->elements(); ++i)
      tensor->set(i, double(random() >> 11) * 0x1p-52 - 1);
    gradients.push_back(std::move(*tensor));
  }
  return llvm::Error::success();
}

std::vector<gnnc_binding> ModelOnGraph::inputs(const Parameters &params) const {
  std::vector<gnnc_binding> inputs = boundGraph->inputs().vec();
  llvm::append_range(inputs, params.bindings());
  for (const HostTensor &gradient : gradients)
    inputs.push_back(gradient.binding());
  return inputs;
}

llvm::Error ModelOnGraph::run(const Parameters &params) {
  if (llvm::Error error = programRun->run(inputs(params)))
    return explain(std::move(error));
  return runRanks() ? runRanks()->check() : llvm::Error::success();
}

llvm::Error ModelOnGraph::bind(const Parameters &params) {
  if (llvm::Error error = programRun->bind(inputs(params)))
    return explain(std::move(error));
  if (!modelSession->canRecord())
    return llvm::Error::success();
  llvm::Expected<Recording> made = modelSession->record(&*programRun);
  if (!made)
    return explain(made.takeError());
  recording = std::move(*made);
  return llvm::Error::success();
}

llvm::Error ModelOnGraph::repeat(unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    if (llvm::Error error = recording ? modelSession->replay(recording) : programRun->launch())
      return explain(std::move(error));
  if (llvm::Error error = programRun->wait())
    return explain(std::move(error));
  return runRanks() ? runRanks()->check() : llvm::Error::success();
}
