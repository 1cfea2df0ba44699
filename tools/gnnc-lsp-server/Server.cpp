//===- Server.cpp - The language server for models ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Server.h"
#include "gnnc/Support/Version.h"

using namespace gnnc::lsp;
using llvm::json::Object;

Server::Server(llvm::lsp::MessageHandler &messages)
    : publish(messages.outgoingNotification<llvm::lsp::PublishDiagnosticsParams>("textDocument/publishDiagnostics")) {
  messages.method("initialize", this, &Server::onInitialize);
  messages.notification("initialized", this, &Server::onInitialized);
  messages.method("shutdown", this, &Server::onShutdown);
  messages.notification("textDocument/didOpen", this, &Server::onOpen);
  messages.notification("textDocument/didChange", this, &Server::onChange);
  messages.notification("textDocument/didClose", this, &Server::onClose);
  messages.method("textDocument/hover", this, &Server::onHover);
  messages.method("textDocument/definition", this, &Server::onDefinition);
  messages.method("textDocument/references", this, &Server::onReferences);
  messages.method("textDocument/completion", this, &Server::onCompletion);
}

void Server::onInitialize(const llvm::lsp::InitializeParams &, Callback<llvm::json::Value> reply) {
  // Texts are small: the whole of one comes with each change.
  Object sync{{"openClose", true}, {"change", int(llvm::lsp::TextDocumentSyncKind::Full)}};
  reply(Object{{"serverInfo", Object{{"name", "gnnc-lsp-server"}, {"version", GNNC_VERSION}}},
               {"capabilities",
                Object{{"textDocumentSync", std::move(sync)},
                       {"hoverProvider", true},
                       {"definitionProvider", true},
                       {"referencesProvider", true},
                       {"completionProvider", Object{{"triggerCharacters", llvm::json::Array{".", ":", "(", "["}}}}}}});
}

void Server::onShutdown(const llvm::lsp::NoParams &, Callback<std::nullptr_t> reply) {
  shutDown = true;
  reply(nullptr);
}

void Server::publishAll() {
  for (const llvm::lsp::PublishDiagnosticsParams &params : documents.analyze())
    publish(params);
}

void Server::onOpen(const llvm::lsp::DidOpenTextDocumentParams &params) {
  documents.open(params.textDocument.uri, params.textDocument.version, params.textDocument.text);
  publishAll();
}

void Server::onChange(const llvm::lsp::DidChangeTextDocumentParams &params) {
  if (params.contentChanges.empty())
    return;
  documents.open(params.textDocument.uri, params.textDocument.version, params.contentChanges.back().text);
  publishAll();
}

void Server::onClose(const llvm::lsp::DidCloseTextDocumentParams &params) {
  documents.close(params.textDocument.uri);
  publish(llvm::lsp::PublishDiagnosticsParams(params.textDocument.uri, 0));
  publishAll();
}

void Server::onHover(const llvm::lsp::TextDocumentPositionParams &params,
                     Callback<std::optional<llvm::lsp::Hover>> reply) {
  reply(documents.hover(params.textDocument.uri, params.position));
}

void Server::onDefinition(const llvm::lsp::TextDocumentPositionParams &params,
                          Callback<std::vector<llvm::lsp::Location>> reply) {
  reply(documents.definition(params.textDocument.uri, params.position));
}

void Server::onReferences(const llvm::lsp::ReferenceParams &params, Callback<std::vector<llvm::lsp::Location>> reply) {
  reply(documents.references(params.textDocument.uri, params.position, params.context.includeDeclaration));
}

void Server::onCompletion(const llvm::lsp::CompletionParams &params, Callback<llvm::lsp::CompletionList> reply) {
  reply(documents.complete(params.textDocument.uri, params.position));
}
