//===- Documents.cpp - The models open in an editor -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Documents.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace gnnc;
using namespace gnnc::lsp;
using llvm::StringRef;
using llvm::lsp::Location;
using llvm::lsp::Position;
using llvm::lsp::URIForFile;

/// How the front end names the files of the standard library.
static constexpr llvm::StringLiteral kEmbedded = "<std>/";

/// Puts a file of the standard library where an editor can open it, and says where; empty where that fails.
static std::string cacheEmbedded(StringRef file) {
  std::optional<std::string> text = frontend::embeddedText(llvm::sys::path::stem(file).str());
  llvm::SmallString<128> path;
  if (!text || !llvm::sys::path::cache_directory(path))
    return "";
  llvm::sys::path::append(path, "gnnc", "std");
  if (llvm::sys::fs::create_directories(path))
    return "";
  llvm::sys::path::append(path, llvm::sys::path::filename(file));
  if (auto current = llvm::MemoryBuffer::getFile(path); current && (*current)->getBuffer() == *text)
    return path.str().str();
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &os) {
    os << *text;
    return llvm::Error::success();
  });
  if (!error)
    return path.str().str();
  llvm::consumeError(std::move(error));
  return "";
}

void Documents::open(const URIForFile &uri, int64_t version, std::string text) {
  Document &document = documents[uri.file().str()];
  document.uri = uri;
  document.version = version;
  document.lines = Lines(std::move(text));
}

void Documents::close(const URIForFile &uri) { documents.erase(uri.file().str()); }

std::optional<std::string> Documents::read(const std::string &path) const {
  if (auto it = documents.find(path); it != documents.end())
    return it->second.lines.text().str();
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return std::nullopt;
  return (*buffer)->getBuffer().str();
}

frontend::CompileInputs Documents::inputs() const {
  frontend::CompileInputs inputs;
  inputs.readFile = [this](const std::string &path) { return read(path); };
  return inputs;
}

std::vector<llvm::lsp::PublishDiagnosticsParams> Documents::analyze() {
  std::vector<llvm::lsp::PublishDiagnosticsParams> all;
  for (auto &[path, document] : documents) {
    document.analysis = frontend::analyzeText(path, document.lines.text().str(), inputs());
    all.emplace_back(document.uri, document.version);
    for (const frontend::Diagnostic &diagnostic : document.analysis.diagnostics)
      all.back().diagnostics.push_back(convert(diagnostic, document));
  }
  return all;
}

std::optional<Location> Documents::location(const std::string &file, const frontend::Loc &loc) const {
  if (auto it = documents.find(file); it != documents.end()) {
    Location result;
    result.uri = it->second.uri;
    result.range = it->second.lines.range(loc);
    return result;
  }
  std::string path = StringRef(file).starts_with(kEmbedded) ? cacheEmbedded(file) : file;
  std::optional<std::string> text = path.empty() ? std::nullopt : read(path);
  if (!text)
    return std::nullopt;
  llvm::Expected<URIForFile> uri = URIForFile::fromFile(path);
  if (!uri) {
    llvm::consumeError(uri.takeError());
    return std::nullopt;
  }
  Location result;
  result.uri = *uri;
  result.range = Lines(*text).range(loc);
  return result;
}

/// A message about another file stands at the top of this one, with its place in words and as related information.
llvm::lsp::Diagnostic Documents::convert(const frontend::Diagnostic &diagnostic, const Document &document) const {
  llvm::lsp::Diagnostic result;
  result.source = "gnnc";
  result.severity = diagnostic.severity == frontend::Severity::Error     ? llvm::lsp::DiagnosticSeverity::Error
                    : diagnostic.severity == frontend::Severity::Warning ? llvm::lsp::DiagnosticSeverity::Warning
                                                                         : llvm::lsp::DiagnosticSeverity::Information;
  result.message = diagnostic.message;
  std::vector<llvm::lsp::DiagnosticRelatedInformation> related;
  auto relate = [&](const frontend::Diagnostic &other) {
    std::string place = other.loc.line == 0 ? ""
                                            : (llvm::Twine(llvm::sys::path::filename(other.file)) + ":" +
                                               llvm::Twine(other.loc.line) + ":" + llvm::Twine(other.loc.column) + ": ")
                                                  .str();
    std::optional<Location> where = other.loc.line == 0 ? std::nullopt : location(other.file, other.loc);
    if (where)
      related.emplace_back(*where, other.message);
    return place;
  };
  if (diagnostic.file == document.uri.file() || diagnostic.file.empty())
    result.range = document.lines.range(diagnostic.loc);
  else
    result.message = relate(diagnostic) + diagnostic.message;
  for (const frontend::Diagnostic &note : diagnostic.notes) {
    size_t before = related.size();
    std::string place = relate(note);
    if (related.size() == before)
      result.message += "\n" + place + note.message;
  }
  if (!related.empty())
    result.relatedInformation = std::move(related);
  return result;
}

const Documents::Document *Documents::find(const URIForFile &uri) const {
  auto it = documents.find(uri.file().str());
  return it == documents.end() ? nullptr : &it->second;
}

const frontend::Occurrence *Documents::occurrence(const Document *document, Position position) const {
  if (!document)
    return nullptr;
  frontend::Loc loc = document->lines.loc(position);
  if (const frontend::Occurrence *found = document->analysis.find(loc.line, loc.column))
    return found;
  // Editors ask with the cursor just behind a name too.
  return loc.column > 1 ? document->analysis.find(loc.line, loc.column - 1) : nullptr;
}

std::optional<llvm::lsp::Hover> Documents::hover(const URIForFile &uri, Position position) const {
  const Document *document = find(uri);
  const frontend::Occurrence *found = occurrence(document, position);
  if (!found)
    return std::nullopt;
  llvm::lsp::Hover result(document->lines.range(found->loc));
  result.contents.value = "```gnn\n" + found->text + "\n```";
  return result;
}

std::vector<Location> Documents::definition(const URIForFile &uri, Position position) const {
  const frontend::Occurrence *found = occurrence(find(uri), position);
  if (!found || !found->definition)
    return {};
  std::optional<Location> where = location(found->definitionFile, *found->definition);
  return where ? std::vector<Location>{*where} : std::vector<Location>{};
}

std::vector<Location> Documents::references(const URIForFile &uri, Position position, bool includeDeclaration) const {
  const Document *document = find(uri);
  const frontend::Occurrence *found = occurrence(document, position);
  if (!found || !found->definition)
    return {};
  auto same = [](const frontend::Loc &a, const frontend::Loc &b) { return a.line == b.line && a.column == b.column; };
  std::vector<Location> all;
  for (const frontend::Occurrence &other : document->analysis.occurrences) {
    if (!other.definition || other.definitionFile != found->definitionFile ||
        !same(*other.definition, *found->definition))
      continue;
    bool declaration = other.definitionFile == document->uri.file() && same(other.loc, *other.definition);
    llvm::lsp::Range range = document->lines.range(other.loc);
    // A layer that several models call is elaborated, and its names met, once for each.
    if ((declaration && !includeDeclaration) || (!all.empty() && all.back().range == range))
      continue;
    Location where;
    where.uri = document->uri;
    where.range = range;
    all.push_back(where);
  }
  return all;
}

static llvm::lsp::CompletionItemKind kindOf(frontend::Completion::Kind kind) {
  using Kind = frontend::Completion::Kind;
  using Shown = llvm::lsp::CompletionItemKind;
  switch (kind) {
  case Kind::Value:
    return Shown::Variable;
  case Kind::Axis:
    return Shown::Property;
  case Kind::Space:
    return Shown::Class;
  case Kind::Map:
    return Shown::Field;
  case Kind::Layer:
    return Shown::Module;
  case Kind::Function:
    return Shown::Function;
  case Kind::Argument:
    return Shown::Property;
  case Kind::Keyword:
    return Shown::Keyword;
  }
  return Shown::Text;
}

llvm::lsp::CompletionList Documents::complete(const URIForFile &uri, Position position) const {
  llvm::lsp::CompletionList list;
  const Document *document = find(uri);
  if (!document)
    return list;
  frontend::Loc loc = document->lines.loc(position);
  for (const frontend::Completion &found :
       frontend::completeText(uri.file().str(), document->lines.text().str(), loc.line, loc.column, inputs())) {
    // What is near comes first: values, axes and maps before what the libraries have.
    std::string order = std::to_string(int(found.kind)) + found.label;
    llvm::lsp::CompletionItem &item = list.items.emplace_back(found.label, kindOf(found.kind), order);
    item.detail = found.detail;
  }
  return list;
}
