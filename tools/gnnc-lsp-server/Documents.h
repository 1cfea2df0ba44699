//===- Documents.h - The models open in an editor -----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the front end knows of each open text, in the words of the protocol. Files that a text imports are taken from
// the editor where they are open there, else from disk; definitions in the standard library lead to a copy in the
// user's cache folder, because editors open files.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_LSP_DOCUMENTS_H
#define GNNC_TOOLS_LSP_DOCUMENTS_H

#include "Lines.h"
#include "gnnc/Frontend/Frontend.h"
#include "llvm/Support/LSP/Protocol.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gnnc::lsp {

class Documents {
public:
  void open(const llvm::lsp::URIForFile &uri, int64_t version, std::string text);
  void close(const llvm::lsp::URIForFile &uri);

  /// Analyses every open text again: any of them may import the one that changed.
  std::vector<llvm::lsp::PublishDiagnosticsParams> analyze();

  std::optional<llvm::lsp::Hover> hover(const llvm::lsp::URIForFile &uri, llvm::lsp::Position position) const;
  std::vector<llvm::lsp::Location> definition(const llvm::lsp::URIForFile &uri, llvm::lsp::Position position) const;
  /// Within the same text.
  std::vector<llvm::lsp::Location> references(const llvm::lsp::URIForFile &uri, llvm::lsp::Position position,
                                              bool includeDeclaration) const;
  /// All words that may stand there, whatever has been typed of one.
  llvm::lsp::CompletionList complete(const llvm::lsp::URIForFile &uri, llvm::lsp::Position position) const;

private:
  frontend::CompileInputs inputs() const;

  struct Document {
    llvm::lsp::URIForFile uri;
    int64_t version = 0;
    Lines lines;
    frontend::Analysis analysis;
  };

  const Document *find(const llvm::lsp::URIForFile &uri) const;
  const frontend::Occurrence *occurrence(const Document *document, llvm::lsp::Position position) const;
  std::optional<std::string> read(const std::string &path) const;
  std::optional<llvm::lsp::Location> location(const std::string &file, const frontend::Loc &loc) const;
  llvm::lsp::Diagnostic convert(const frontend::Diagnostic &diagnostic, const Document &document) const;

  std::map<std::string, Document> documents; ///< by path
};

} // namespace gnnc::lsp

#endif // GNNC_TOOLS_LSP_DOCUMENTS_H
