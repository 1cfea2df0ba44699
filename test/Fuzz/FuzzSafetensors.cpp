//===- FuzzSafetensors.cpp - Graphs and parameters in files ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A file is refused, or every byte of every tensor can be read, and a model's graph and parameters can be looked for.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "gnnc/Host/GraphFile.h"
#include "gnnc/Host/Parameters.h"

using namespace gnnc;

static void checkModel(const SafetensorsFile &file, const ModelInfo &model) {
  llvm::Expected<BoundGraph> graph = BoundGraph::create(file, model);
  if (!graph) {
    checkMessage(graph.takeError());
    return;
  }
  gnnc_graph_desc description = graph->description();
  for (int32_t i = 0; i < description.num_indices; ++i) {
    const gnnc_index &index = description.indices[i];
    touch(index.data, size_t(index.length) * size_t(index.bits / 8));
  }
  for (const gnnc_binding &input : graph->inputs()) {
    size_t bytes = 4;
    for (int32_t i = 0; i < input.tensor.ndim; ++i)
      bytes *= size_t(input.tensor.shape[i]);
    touch(input.tensor.data, bytes);
  }
  llvm::Expected<Parameters> parameters =
      Parameters::load(model, [&](llvm::StringRef space) { return graph->extent(space); }, file, /*map=*/nullptr);
  if (!parameters)
    checkMessage(parameters.takeError());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const ModelInfo dense = smallModel(/*sparse=*/false), sparse = smallModel(/*sparse=*/true);
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::parse(
      llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(reinterpret_cast<const char *>(data), size)), "fuzz");
  if (!file) {
    checkMessage(file.takeError());
    return 0;
  }
  for (const FileTensor &tensor : file->tensors()) {
    if (tensor.type)
      touch(tensor.data, size_t(tensor.elements * elementBytes(*tensor.type)));
    require(file->find(tensor.name) == &tensor, "a tensor by its name");
  }
  checkModel(*file, dense);
  checkModel(*file, sparse);
  return 0;
}
