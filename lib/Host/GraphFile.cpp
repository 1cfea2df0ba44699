//===- GraphFile.cpp - A graph file as a model wants it -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/GraphFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace gnnc;

llvm::Expected<BoundGraph> BoundGraph::create(const SafetensorsFile &file, const ModelInfo &model,
                                              llvm::StringRef program) {
  BoundGraph graph(file, model);
  graph.program = model.findProgram(program);
  if (!graph.program && program == "train_step")
    return llvm::createStringError("model '" + model.name +
                                   "' has no program 'train_step': expected a model with a loss and a train statement");
  if (!graph.program && !model.programs.empty())
    return llvm::createStringError("model '" + model.name + "' has no program '" + program + "': expected one of " +
                                   llvm::join(llvm::map_range(model.programs, [](auto &p) { return p.name; }), ", "));
  if (llvm::Error error = graph.readPart())
    return std::move(error);
  if (llvm::Error error = graph.bindExtents())
    return std::move(error);
  if (llvm::Error error = graph.bindMaps())
    return std::move(error);
  if (llvm::Error error = graph.bindInputs())
    return std::move(error);
  return std::move(graph);
}

llvm::Error BoundGraph::readPart() {
  llvm::Expected<GraphPart> part = GraphPart::read(*file);
  if (!part)
    return part.takeError();
  if (llvm::Error error = part->check(*model))
    return error;
  filePart.emplace(std::move(*part));
  llvm::Expected<std::vector<gnnc_row_counts>> rows = filePart->rowCounts(*model);
  if (!rows)
    return rows.takeError();
  counts = std::move(*rows);
  return llvm::Error::success();
}

bool BoundGraph::isOfOtherRanks(llvm::StringRef name) const {
  return filePart->parts() == 1 && model->haloRole(name).second != HaloRole::None;
}

gnnc_graph_desc BoundGraph::description() const {
  return {sizeof(gnnc_graph_desc),
          int32_t(extents.size()),
          extents.data(),
          int32_t(indices.size()),
          indices.data(),
          0,
          nullptr,
          nullptr,
          nullptr};
}

std::optional<int64_t> BoundGraph::extent(llvm::StringRef space) const {
  for (const gnnc_extent &known : extents)
    if (space == known.space)
      return known.extent;
  return std::nullopt;
}

bool BoundGraph::isNeeded(llvm::StringRef name) const {
  return !program || llvm::is_contained(program->inputs, name) || llvm::is_contained(program->needs, name);
}

llvm::Error BoundGraph::ifNeeded(llvm::StringRef name, llvm::Error error) const {
  if (isNeeded(name))
    return error;
  llvm::consumeError(std::move(error));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Looking into the file
//===----------------------------------------------------------------------===//

llvm::Error BoundGraph::missing(const llvm::Twine &what, const llvm::Twine &neededBy) const {
  return llvm::createStringError("graph '" + file->path() + "' has no " + what + ", needed by " + neededBy);
}

llvm::Error BoundGraph::wrong(const llvm::Twine &what) const {
  return llvm::createStringError("graph '" + file->path() + "': " + what);
}

llvm::Expected<const FileTensor *> BoundGraph::findIndices(llvm::StringRef name, size_t rank) const {
  const FileTensor *tensor = file->find(name);
  if (!tensor)
    return nullptr;
  if (!tensor->type || isFloat(*tensor->type))
    return wrong("tensor '" + name + "': expected dtype I32 or I64, found " + tensor->typeName);
  if (tensor->shape.size() != rank || (rank == 2 && tensor->shape[0] != 2))
    return wrong("tensor '" + name + "': expected shape " + (rank == 2 ? "[2, E]" : "[E]") + ", found " +
                 formatShape(tensor->shape));
  return tensor;
}

const SparseInfo *BoundGraph::sparseInputOfSpace(llvm::StringRef space) const {
  auto found = llvm::find_if(model->sparseInputs, [&](const SparseInfo &sparse) { return sparse.entries == space; });
  return found == model->sparseInputs.end() ? nullptr : &*found;
}

const SparseInfo *BoundGraph::sparseInputOfMap(llvm::StringRef map) const {
  auto found = llvm::find_if(model->sparseInputs,
                             [&](const SparseInfo &sparse) { return sparse.row == map || sparse.column == map; });
  return found == model->sparseInputs.end() ? nullptr : &*found;
}
