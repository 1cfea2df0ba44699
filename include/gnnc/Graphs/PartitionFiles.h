//===- PartitionFiles.h - A graph file, cut into parts ----------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a graph file into files of the same form, one for each part (docs/Distributed.md has the tensors). What a tensor
// is follows from
//
// * a list of maps, and of tensors with rows, that a model has, if one is given;
// * the conventions of graph files: `edge_index` has the maps src and dst from edge to node, another `…edge_index`
//   those of a relation of nodes of that name, `…_idx` a map to node, `batch` or `graph_ptr` that from node to graph;
// * its number of rows, if exactly one of these spaces has as many elements. Numbers and tensors of one row are of the
//   whole graph and go to every part as they are; all others have to be named.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_GRAPHS_PARTITIONFILES_H
#define GNNC_GRAPHS_PARTITIONFILES_H

#include "gnnc/Graphs/Partition.h"
#include "gnnc/Support/Safetensors.h"

#include <map>
#include <memory>
#include <set>

namespace gnnc {

struct PartitionOptions {
  int parts = 2;
  PartitionKind kind = PartitionKind::Metis;
  /// Maps along which the elements of their space are divided, instead of the map that would be chosen.
  std::vector<std::string> along;
  /// The maps of a model between spaces that come with the graph.
  struct Map {
    std::string name, from, to;
  };
  std::vector<Map> maps;
  /// The spaces that tensors, or sparse inputs, have rows of, by name.
  std::map<std::string, std::string> rows;
  /// Tensors that go to every part as they are.
  std::set<std::string> whole;
  /// Tensors of which a part has the rows of its halo too, and under which name.
  std::map<std::string, std::string> ofHalo;
};

/// Whether parts can be written to a folder of that name.
llvm::Error checkPartsFolder(llvm::StringRef folder);

/// A graph file with what its tensors are, and who has what. Points into the file.
class PartitionedGraph {
public:
  /// The error names the file and the tensor, what was expected and what was found.
  static llvm::Expected<PartitionedGraph> create(const SafetensorsFile &file, const PartitionOptions &options);

  const GraphStructure &structure() const { return *graph; }
  const GraphPartition &partition() const { return *parted; }
  /// Writes `part.0.safetensors`, `part.1.safetensors`, … into a folder that is new or empty; nothing is there unless
  /// all is.
  llvm::Error write(llvm::StringRef folder) const;

private:
  enum class Kind { Whole, Extent, Rows, Map, Relation, GraphPointers, RowPointers, Entries };
  /// What a tensor is; numbers of a space, or of a map (of a relation: of its first one).
  struct Role {
    Kind kind = Kind::Whole;
    size_t number = 0;
    std::string sparse; ///< the name of the sparse input whose entries these are
  };

  explicit PartitionedGraph(const SafetensorsFile &file) : file(&file), graph(std::make_unique<GraphStructure>()) {}

  llvm::Error wrong(const llvm::Twine &what) const;
  std::optional<size_t> findSpace(llvm::StringRef name) const;
  llvm::Expected<size_t> needSpace(llvm::StringRef name, const llvm::Twine &neededBy) const;
  llvm::Expected<size_t> addSpace(llvm::StringRef name, int64_t extent);
  llvm::Expected<std::optional<int64_t>> readExtent(llvm::StringRef space) const;
  llvm::Expected<Targets> readTargets(const FileTensor &tensor, bool partial) const;
  llvm::Error addMap(llvm::StringRef name, size_t from, size_t to, Targets targets, const FileTensor &tensor);
  llvm::Error findSpaces(const PartitionOptions &options);
  llvm::Error readRelation(const FileTensor &tensor, llvm::StringRef space, llvm::StringRef source,
                           llvm::StringRef target);
  llvm::Error readMap(const FileTensor &tensor, llvm::StringRef name, llvm::StringRef from, llvm::StringRef to);
  llvm::Error readGraphs();
  llvm::Error findMaps(const PartitionOptions &options);
  llvm::Expected<std::optional<size_t>> findSpaceOf(const FileTensor &tensor, int64_t rows) const;
  llvm::Error findSparseInputs(const PartitionOptions &options);
  llvm::Error findRows(const PartitionOptions &options);
  llvm::Error checkNames(const PartitionOptions &options) const;
  llvm::Error chooseAlong(const PartitionOptions &options);
  /// 16 hexadecimal digits that tell this partition of this graph from all others.
  std::string digest() const;
  llvm::Error writePart(llvm::StringRef path, int rank, llvm::StringRef digest) const;

  const SafetensorsFile *file;
  std::unique_ptr<GraphStructure> graph;
  std::map<std::string, Role> roles;         ///< of tensors, by name
  std::map<std::string, std::string> ofHalo; ///< as PartitionOptions has it
  /// The first entry of each row of a sparse input, and one behind the last.
  std::map<std::string, std::vector<int32_t>> rowPointers;
  std::optional<GraphPartition> parted;
};

} // namespace gnnc

#endif // GNNC_GRAPHS_PARTITIONFILES_H
