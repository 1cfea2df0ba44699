//===- Server.h - The language server for models ------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TOOLS_LSP_SERVER_H
#define GNNC_TOOLS_LSP_SERVER_H

#include "Documents.h"
#include "llvm/Support/LSP/Transport.h"

namespace gnnc::lsp {

/// Answers the messages of one editor about `.gnn` texts.
class Server {
public:
  explicit Server(llvm::lsp::MessageHandler &messages);

  /// Whether the editor has said goodbye, so that the end of input is no failure.
  bool wasShutDown() const { return shutDown; }

private:
  template <typename T> using Callback = llvm::lsp::Callback<T>;

  void onInitialize(const llvm::lsp::InitializeParams &params, Callback<llvm::json::Value> reply);
  void onInitialized(const llvm::lsp::InitializedParams &params) {}
  void onShutdown(const llvm::lsp::NoParams &params, Callback<std::nullptr_t> reply);
  void onOpen(const llvm::lsp::DidOpenTextDocumentParams &params);
  void onChange(const llvm::lsp::DidChangeTextDocumentParams &params);
  void onClose(const llvm::lsp::DidCloseTextDocumentParams &params);
  void onHover(const llvm::lsp::TextDocumentPositionParams &params, Callback<std::optional<llvm::lsp::Hover>> reply);
  void onDefinition(const llvm::lsp::TextDocumentPositionParams &params,
                    Callback<std::vector<llvm::lsp::Location>> reply);
  void onReferences(const llvm::lsp::ReferenceParams &params, Callback<std::vector<llvm::lsp::Location>> reply);
  void onCompletion(const llvm::lsp::CompletionParams &params, Callback<llvm::lsp::CompletionList> reply);

  void publishAll();

  Documents documents;
  llvm::lsp::OutgoingNotification<llvm::lsp::PublishDiagnosticsParams> publish;
  bool shutDown = false;
};

} // namespace gnnc::lsp

#endif // GNNC_TOOLS_LSP_SERVER_H
