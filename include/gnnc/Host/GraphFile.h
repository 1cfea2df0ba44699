//===- GraphFile.h - A graph file as a model wants it -----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Takes from a graph file what one model needs, and nothing else:
//
// * Extents. `node`: metadata `num_nodes`, never guessed. `edge`: columns of `edge_index`. `graph`: one less than the
//   length of `graph_ptr`, else metadata `num_graphs`. Another root space S: metadata `num_<S>s`, else the first
//   element of tensor `<S>.extent`, else the length of the data of a root map that starts at S. Static spaces: as
//   compiled.
// * Maps. `src`, `dst`: rows of `edge_index`. `etype`, `ntype`: `edge_type`, `node_type`. `batch`: tensor `batch`, else
//   `graph_ptr` as row pointers. Any other map M: tensor M; `R.src` and `R.dst` also from the rows of a tensor R of
//   shape [2, E].
// * Inputs: the tensor of the input's name; integers and the other floating-point type are converted.
// * A sparse input x: `x_indptr`, `x_indices` and, if there, `x_values`. If the file has a dense x instead, it is
//   converted; and a model that asks for a dense x gets the sparse one filled up with zeros.
// * What the model says how to compute (GraphSource.h) is computed from the file's tensors instead.
//
// Of a model that was exported from another framework, the gradient of output number K is tensor `grad.out.K`.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOST_GRAPHFILE_H
#define GNNC_HOST_GRAPHFILE_H

#include "gnnc/Host/GraphPart.h"
#include "gnnc/Host/GraphSource.h"
#include "gnnc/Host/HostTensor.h"
#include "gnnc/Host/ModelInfo.h"

#include <deque>

namespace gnnc {

class RunRanks;

/// A graph's data in the form that one model needs. Points into the file and the description it was made from.
class BoundGraph {
public:
  /// What the program (one of `model`'s) needs must be in the file. Gradients of outputs, and what only other programs
  /// need, are used if the file has them.
  static llvm::Expected<BoundGraph> create(const SafetensorsFile &file, const ModelInfo &model,
                                           llvm::StringRef program = "forward");

  BoundGraph(BoundGraph &&) = default;
  BoundGraph &operator=(BoundGraph &&) = default;

  /// For gnnc_api::prepare; valid until this object is moved.
  gnnc_graph_desc description() const;
  llvm::ArrayRef<gnnc_binding> inputs() const { return inputBindings; }
  /// An error where the program needs a gradient of an output that the file does not have.
  llvm::Error expectGradients() const;
  /// What part of a graph the file is, and for gnnc_api::prepare_part the rows that are exchanged.
  const GraphPart &part() const { return *filePart; }
  llvm::ArrayRef<gnnc_row_counts> rowCounts() const { return counts; }
  /// Fills the rows of other ranks of inputs that do not change (TensorInfo::haloOf): all ranks call it together,
  /// before `inputs` are read.
  llvm::Error exchangeInputs(const RunRanks &ranks);
  /// Extent of a root or static space of the model.
  std::optional<int64_t> extent(llvm::StringRef space) const;

private:
  BoundGraph(const SafetensorsFile &file, const ModelInfo &model) : file(&file), model(&model) {}

  /// Whether the program needs an input, space or map; and `error`, unless it is about something that the program does
  /// not need.
  bool isNeeded(llvm::StringRef name) const;
  llvm::Error ifNeeded(llvm::StringRef name, llvm::Error error) const;
  llvm::Error bindExtents();
  llvm::Error bindMaps();
  llvm::Error bindInputs();
  llvm::Expected<int64_t> findExtent(const SpaceInfo &space);
  llvm::Error bindMap(const MapInfo &map);
  /// What a source gives; `neededBy` begins the message of an error.
  llvm::Expected<std::shared_ptr<const Integers>> compute(llvm::StringRef source, const llvm::Twine &neededBy);
  llvm::Error bindComputedMap(const MapInfo &map);
  llvm::Error bindComputedInput(const TensorInfo &input);
  llvm::Error bindNumbers(const TensorInfo &input);
  llvm::Error bindHalo(const TensorInfo &input);
  const gnnc_binding *findInput(llvm::StringRef name) const;
  llvm::Error readPart();
  /// Of a whole graph: a space of elements of other ranks, or a map from one.
  bool isOfOtherRanks(llvm::StringRef name) const;
  std::string tensorNameOf(const TensorInfo &input) const;
  llvm::Error bindSparseInput(const SparseInfo &sparse);
  llvm::Error bindInput(const TensorInfo &input);
  llvm::Error addValues(llvm::StringRef name, const FileTensor &tensor);
  void addIndex(const MapInfo &map, const FileTensor &tensor, int64_t begin, int64_t length, int32_t format);

  /// The index tensor of that name: null if there is none, an error if it is not I32 or I64 of that rank.
  llvm::Expected<const FileTensor *> findIndices(llvm::StringRef name, size_t rank) const;
  llvm::Error missing(const llvm::Twine &what, const llvm::Twine &neededBy) const;
  llvm::Error wrong(const llvm::Twine &what) const;
  const SparseInfo *sparseInputOfSpace(llvm::StringRef space) const;
  const SparseInfo *sparseInputOfMap(llvm::StringRef map) const;

  const SafetensorsFile *file;
  const ModelInfo *model;
  const ProgramInfo *program = nullptr; ///< null: the model has only one
  std::vector<gnnc_extent> extents;
  std::vector<gnnc_index> indices;
  std::vector<gnnc_binding> inputBindings;
  std::deque<HostTensor> converted;
  std::shared_ptr<GraphSources> sources;
  std::deque<std::shared_ptr<const Integers>> computed;
  std::deque<std::vector<int32_t>> madeIndices; ///< of dense inputs made sparse
  std::optional<GraphPart> filePart;
  std::vector<gnnc_row_counts> counts;
};

/// The sparse form of an input in a graph file, checked.
struct SparseRows {
  const FileTensor *pointers = nullptr; ///< `x_indptr`
  const FileTensor *columns = nullptr;  ///< `x_indices`
  const FileTensor *values = nullptr;   ///< `x_values`; null: all ones
  int64_t rows() const { return pointers->elements - 1; }
};

/// The sparse form of `name`; nothing if the file has none, an error if it is malformed.
llvm::Expected<std::optional<SparseRows>> findSparseRows(const SafetensorsFile &file, llvm::StringRef name);

} // namespace gnnc

#endif // GNNC_HOST_GRAPHFILE_H
