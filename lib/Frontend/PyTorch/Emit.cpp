//===- Emit.cpp - A recovered program as a text in the language -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Emit.h"
#include "PyTorch/Emitter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace gnnc::frontend::pytorch;
using llvm::StringRef;

bool gnnc::frontend::pytorch::isKeyword(StringRef word) {
  for (const char *each : {"import", "space", "map", "relation", "layer", "model", "let", "param", "state", "input",
                           "output", "repeat", "on", "as", "and", "or", "not", "true", "false"})
    if (word == each)
      return true;
  return false;
}

std::string gnnc::frontend::pytorch::identifier(const std::string &text) {
  std::string result;
  for (char c : text)
    result += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (result.empty() || llvm::isDigit(result[0]))
    result = "v" + result;
  return result;
}

std::string Emitter::run(const std::string &name, const std::string &comment, bool withLayers) {
  // What no graph, model or number may be called.
  for (const char *word :
       {"import", "space",    "map",       "relation", "layer",    "model",    "let",       "param",     "state",
        "input",  "output",   "repeat",    "on",       "as",       "and",      "or",        "not",       "true",
        "false",  "static",   "sparse",    "partial",  "filter",   "union",    "distinct",  "last",      "none",
        "all",    "shared",   "int",       "float",    "bool",     "loss",     "metric",    "train",     "for",
        "update", "instance", "from",      "node",     "edge",     "graph",    "src",       "dst",       "ntype",
        "etype",  "batch",    "class",     "val",      "test",     "label",    "node_type", "edge_type", "source",
        "target", "any",      "train_idx", "val_idx",  "test_idx", "exported", "training",  "step",      "seed"})
    taken.insert(word);
  findLive();
  nameInputs();
  nameSpaces();
  nameMaps();
  // What a model chooses is declared where it does, and layers do not see that.
  outline = withLayers && !hasChoices() ? pytorch::outline(program, live) : flatOutline(program, live);
  for (size_t i = 0; i < program.operations.size(); ++i)
    if (live[i] && (program.operations[i].op == Op::Param || program.operations[i].op == Op::State))
      tensors.push_back(program.operations[i].text);
  std::string text = comment.empty() ? "" : "// " + comment + "\n";
  // The names of layers are known before they are called.
  std::string modelName = unique(identifier(name));
  for (const std::vector<int> &calls : outline.layers) {
    std::string className = identifier(outline.blocks[calls[0]].className);
    className[0] = llvm::toUpper(className[0]);
    layers.push_back({unique(className == "V" ? "Layer" : className), {}, {}, {}, {}, {}, {}});
  }
  for (size_t layer = 0; layer < layers.size(); ++layer)
    findRelation(int(layer));
  findDeclared();
  text += declareGraph();
  for (size_t layer = 0; layer < layers.size(); ++layer)
    text += writeLayer(int(layer));
  return text + writeModel(modelName);
}

Emitted gnnc::frontend::pytorch::emit(RecoveredProgram program, const std::string &name, const std::string &comment,
                                      bool withLayers) {
  Emitter emitter(std::move(program));
  Emitted result;
  result.text = emitter.run(name, comment, withLayers);
  result.tensors = emitter.tensors;
  result.constants = emitter.constants();
  return result;
}
