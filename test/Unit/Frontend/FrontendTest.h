//===- FrontendTest.h - What the front end's tests share ------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_UNIT_FRONTEND_FRONTENDTEST_H
#define GNNC_TEST_UNIT_FRONTEND_FRONTENDTEST_H

#include "gnnc/Frontend/Frontend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

namespace gnnc::frontend {

using Defines = std::map<std::string, std::string>;

/// Loads a text; other files are read from `files`.
struct Loaded {
  std::optional<ModelSpec> model;
  std::vector<Diagnostic> diagnostics;
};

inline Loaded tryLoad(const std::string &text, Defines defines = {}, std::map<std::string, std::string> files = {}) {
  CompileInputs inputs;
  inputs.defines = std::move(defines);
  inputs.readFile = [files](const std::string &path) -> std::optional<std::string> {
    auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  };
  Loaded loaded;
  loaded.model = loadModelFromText("test.gnn", text, inputs, loaded.diagnostics);
  return loaded;
}

/// A text that must load.
inline ModelSpec load(const std::string &text, Defines defines = {}, std::map<std::string, std::string> files = {}) {
  Loaded loaded = tryLoad(text, std::move(defines), std::move(files));
  EXPECT_TRUE(loaded.model) << render(loaded.diagnostics) << text;
  return loaded.model.value_or(ModelSpec());
}

/// `line:column: message` of the first error of a text that must not load.
inline std::string errorOf(const std::string &text, Defines defines = {},
                           std::map<std::string, std::string> files = {}) {
  Loaded loaded = tryLoad(text, std::move(defines), std::move(files));
  EXPECT_FALSE(loaded.model) << text;
  for (const Diagnostic &diagnostic : loaded.diagnostics)
    if (diagnostic.severity == Severity::Error)
      return (diagnostic.loc.line == 0
                  ? ""
                  : std::to_string(diagnostic.loc.line) + ":" + std::to_string(diagnostic.loc.column) + ": ") +
             diagnostic.message;
  return "no error";
}

/// The error of a model with some statements; line 1 is the first of them.
inline std::string errorIn(const std::string &statements, const std::string &header = "",
                           const std::string &declarations = "") {
  return errorOf("model M(" + header + ") {" + statements + "\n}\n" + declarations);
}

inline std::string spaceOf(const ModelSpec &model, Id residency) {
  return residency == kNone ? "shared" : model.spaces.at(residency).name;
}

/// `node[heads = 8, out = 8]`
inline std::string typeOf(const ModelSpec &model, Id id) {
  const Value &value = model.values.at(id);
  std::string text;
  for (const Axis &axis : value.axes)
    text += (text.empty() ? "" : ", ") + axis.name + " = " + std::to_string(axis.size);
  return spaceOf(model, value.residency) + "[" + text + "]";
}

/// The type of an output, the only one by default.
inline std::string outputType(const ModelSpec &model, size_t number = 0) {
  return number < model.outputs.size() ? typeOf(model, model.outputs[number].value) : "no output";
}

/// The type that an expression has in a model with some inputs.
inline std::string typeOfExpr(const std::string &expr) {
  return outputType(load("model M {\n"
                         "  input x: node[in = 6], h: node[heads = 2, out = 3], g: graph[in = 6]\n"
                         "  input e: edge[heads = 2], w: edge[], s: [in = 6]\n"
                         "  param W[in, out = 3], K: node_type[in], b[out]\n"
                         "  output y = " +
                             expr + "\n}\n",
                         {{"node_type", "4"}}));
}

inline int count(const ModelSpec &model, OpCode op, const std::string &name = "") {
  return std::count_if(model.values.begin(), model.values.end(),
                       [&](const Value &value) { return value.op == op && (name.empty() || value.name == name); });
}

/// The only value of an operation.
inline const Value &only(const ModelSpec &model, OpCode op, const std::string &name = "") {
  EXPECT_EQ(count(model, op, name), 1);
  static const Value none;
  for (const Value &value : model.values)
    if (value.op == op && (name.empty() || value.name == name))
      return value;
  return none;
}

inline Id valueNamed(const ModelSpec &model, const std::string &name) {
  for (size_t id = 0; id < model.values.size(); ++id)
    if (model.values[id].name == name && model.values[id].op <= OpCode::State)
      return id;
  ADD_FAILURE() << "no value " << name;
  return kNone;
}

inline Id spaceNamed(const ModelSpec &model, const std::string &name) {
  for (size_t id = 0; id < model.spaces.size(); ++id)
    if (model.spaces[id].name == name)
      return id;
  ADD_FAILURE() << "no space " << name;
  return kNone;
}

inline Id mapNamed(const ModelSpec &model, const std::string &name) {
  for (size_t id = 0; id < model.maps.size(); ++id)
    if (model.maps[id].name == name)
      return id;
  ADD_FAILURE() << "no map " << name;
  return kNone;
}

/// Whether all fields are equal; places in the text only where `locations`.
void expectEqual(const ModelSpec &a, const ModelSpec &b, bool locations = true);

} // namespace gnnc::frontend

#endif // GNNC_TEST_UNIT_FRONTEND_FRONTENDTEST_H
