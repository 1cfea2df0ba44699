//===- Lines.h - Places in a text, for editors --------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The front end counts lines and bytes from 1. The protocol counts lines and UTF-16 units from 0.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_LSP_LINES_H
#define GNNC_TOOLS_LSP_LINES_H

#include "gnnc/Frontend/ModelSpec.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/LSP/Protocol.h"

#include <string>
#include <vector>

namespace gnnc::lsp {

/// A text that is split into lines. Places outside it are moved to its nearest end.
class Lines {
public:
  explicit Lines(std::string text = "");

  llvm::StringRef text() const { return contents; }
  llvm::lsp::Range range(const frontend::Loc &loc) const;
  /// Only `line` and `column` are set.
  frontend::Loc loc(llvm::lsp::Position position) const;

private:
  llvm::StringRef line(size_t number) const;
  llvm::lsp::Position position(unsigned line, unsigned column) const;

  std::string contents;
  std::vector<size_t> starts; ///< of each line
};

} // namespace gnnc::lsp

#endif // GNNC_TOOLS_LSP_LINES_H
