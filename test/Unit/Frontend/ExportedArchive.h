//===- ExportedArchive.h - Archives for tests -------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small program as torch.export.save writes it, to be changed by a test and packed.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_UNIT_FRONTEND_EXPORTEDARCHIVE_H
#define GNNC_TEST_UNIT_FRONTEND_EXPORTEDARCHIVE_H

#include "PyTorch/ReadExportedProgram.h"

#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

#include <string>
#include <utility>
#include <vector>

namespace gnnc::frontend::pytorch {

using Entries = std::vector<std::pair<std::string, std::string>>;

/// The bytes of a zip archive. Names get no folder.
std::string packEntries(const Entries &entries, bool deflate = false);

struct TestArchive {
  /// y = linear(x, weight), sum(y[i] for i in index), and a subgraph; three weights, of which two share an entry.
  TestArchive();

  nlohmann::json model, weights, constants;
  Entries others; ///< beside the three tables

  nlohmann::json &graph() { return model["graph_module"]["graph"]; }
  nlohmann::json &node(size_t index) { return graph()["nodes"][index]; }
  nlohmann::json &signature() { return model["graph_module"]["signature"]; }
  std::string &entry(const std::string &name);

  Entries entries() const;
  std::string pack(bool deflate = false) const;
};

/// The program in `bytes`, which are called m.pt2.
inline llvm::Expected<ExportedProgram> readBytes(const std::string &bytes) {
  return parseExportedProgram(llvm::MemoryBuffer::getMemBufferCopy(bytes), "m.pt2");
}
/// The error for `bytes`; empty if there is none.
inline std::string errorOf(const std::string &bytes) {
  llvm::Expected<ExportedProgram> program = readBytes(bytes);
  return program ? "" : llvm::toString(program.takeError());
}
inline std::string errorOf(const TestArchive &archive) { return errorOf(archive.pack()); }

} // namespace gnnc::frontend::pytorch

#endif // GNNC_TEST_UNIT_FRONTEND_EXPORTEDARCHIVE_H
