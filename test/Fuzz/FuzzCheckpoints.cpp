//===- FuzzCheckpoints.cpp - Checkpoints of training ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A checkpoint is refused and changes nothing, or training goes on from it. GNNC_FUZZ_MODEL and GNNC_FUZZ_GRAPH name a
// compiled model with a train statement and a graph for it (corpus.py makes both).
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "gnnc/Host/Trainer.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

using namespace gnnc;

namespace {

/// Lives as long as the process.
struct Training {
  Training()
      : model(open(ModelFile::open(variable("GNNC_FUZZ_MODEL")))),
        file(open(SafetensorsFile::open(variable("GNNC_FUZZ_GRAPH")))),
        graph(open(BoundGraph::create(file, model.info()))), description(graph.description()),
        session(open(Session::create(model, description, /*threads=*/1))),
        trainer(open(Trainer::create(model, session, graph))) {
    llvm::cantFail(trainer.initialize(0));
    llvm::cantFail(llvm::errorCodeToError(llvm::sys::fs::createTemporaryFile("gnnc-fuzz", "safetensors", path)));
  }
  ~Training() { llvm::sys::fs::remove(path); }

  static llvm::StringRef variable(const char *name) {
    const char *text = std::getenv(name);
    if (!text)
      fail(std::string(name) + " is not set");
    return text;
  }
  template <typename T> static T open(llvm::Expected<T> result) {
    if (!result)
      fail(llvm::toString(result.takeError()));
    return std::move(*result);
  }

  ModelFile model;
  SafetensorsFile file;
  BoundGraph graph;
  gnnc_graph_desc description;
  Session session;
  Trainer trainer;
  llvm::SmallString<128> path;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static Training training;
  Trainer &trainer = training.trainer;
  {
    std::error_code code;
    llvm::raw_fd_ostream stream(training.path, code);
    stream.write(reinterpret_cast<const char *>(data), size);
    require(!code && !stream.has_error(), "a file to write to");
  }
  int64_t epochs = trainer.epochs();
  if (llvm::Error error = trainer.loadCheckpoint(training.path)) {
    checkMessage(std::move(error));
    require(trainer.epochs() == epochs, "nothing changed");
    return 0;
  }
  llvm::Expected<bool> better = trainer.epoch();
  if (!better)
    checkMessage(better.takeError());
  else
    require(trainer.bestEpoch() <= trainer.epochs(), "the best of the epochs");
  return 0;
}
