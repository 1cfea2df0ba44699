//===- ProgramBuilder.h - Exported programs written by hand -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_UNIT_FRONTEND_PYTORCH_PROGRAMBUILDER_H
#define GNNC_TEST_UNIT_FRONTEND_PYTORCH_PROGRAMBUILDER_H

#include "PyTorch/Emit.h"
#include "PyTorch/Recover.h"

namespace gnnc::frontend::pytorch::test {

/// Nodes one after the other, with the shapes of what they give. Sizes are numbers or symbols: "N", "u0", or sums of
/// two: "N+u0", "P+-1".
class ProgramBuilder {
public:
  static Size size(const std::string &text) {
    Size result;
    result.text = text;
    SymbolicExpr sum;
    size_t begin = 0;
    for (size_t end; begin <= text.size(); begin = end + 1) {
      end = std::min(text.find('+', begin), text.size());
      std::string term = text.substr(begin, end - begin);
      bool isNumber = term.find_first_not_of("-0123456789") == std::string::npos;
      sum += isNumber ? SymbolicExpr(std::stoll(term)) : SymbolicExpr::of(term);
    }
    result.linear = sum;
    return result;
  }
  static TensorMeta meta(const std::vector<std::string> &sizes, ScalarType type = ScalarType::Float32) {
    TensorMeta result;
    result.type = type;
    for (const std::string &each : sizes)
      result.sizes.push_back(size(each));
    return result;
  }

  ProgramBuilder &input(const std::string &name, const std::vector<std::string> &sizes,
                        ScalarType type = ScalarType::Float32) {
    return given(ProgramInput::Kind::User, name, "", sizes, type);
  }
  /// As `run_decompositions` leaves it, or, as otherwise, the training IR.
  ProgramBuilder &decomposed(bool is) {
    program.isTraining = !is;
    return *this;
  }
  ProgramBuilder &integers(const std::string &name, const std::vector<std::string> &sizes) {
    return input(name, sizes, ScalarType::Int64);
  }
  ProgramBuilder &param(const std::string &name, const std::string &target, const std::vector<std::string> &sizes) {
    return given(ProgramInput::Kind::Parameter, name, target, sizes, ScalarType::Float32);
  }

  using Arguments = std::vector<NamedArgument>;
  ProgramBuilder &node(const std::string &name, const std::string &op, Arguments arguments,
                       const std::vector<std::string> &sizes, ScalarType type = ScalarType::Float32) {
    Node node;
    node.name = name;
    node.target = "torch.ops.aten." + op;
    node.arguments = std::move(arguments);
    node.outputs = {name};
    node.source = SourceFrame{"model.py", 7, line};
    node.modules = modules;
    program.graph.nodes.push_back(node);
    program.graph.tensors[name] = meta(sizes, type);
    return *this;
  }
  ProgramBuilder &integerNode(const std::string &name, const std::string &op, Arguments arguments,
                              const std::vector<std::string> &sizes) {
    return node(name, op, std::move(arguments), sizes, ScalarType::Int64);
  }
  ProgramBuilder &maskNode(const std::string &name, const std::string &op, Arguments arguments,
                           const std::vector<std::string> &sizes) {
    return node(name, op, std::move(arguments), sizes, ScalarType::Bool);
  }
  ProgramBuilder &integer(const std::string &name, const std::string &value) {
    program.graph.integers[name] = size(value);
    return *this;
  }
  /// Another result of the last node.
  ProgramBuilder &second(const std::string &name, const std::vector<std::string> &sizes,
                         ScalarType type = ScalarType::Float32) {
    program.graph.nodes.back().outputs.push_back(name);
    program.graph.tensors[name] = meta(sizes, type);
    return *this;
  }
  /// A parameter's numbers are in an entry of the archive.
  ProgramBuilder &lies(const std::string &target, const std::string &entry) {
    program.tensors[target].entry = entry;
    return *this;
  }
  ProgramBuilder &outputNone() {
    program.graph.outputs.push_back(NoArgument());
    program.outputs.emplace_back();
    return *this;
  }
  ProgramBuilder &output(const std::string &name) {
    program.graph.outputs.push_back(ValueName{name});
    ProgramOutput output;
    output.value = ValueName{name};
    program.outputs.push_back(output);
    return *this;
  }

  /// The modules that the nodes from here on are of, from the outermost: paths and classes.
  ProgramBuilder &within(const std::vector<std::pair<std::string, std::string>> &stack, int64_t call = 0) {
    modules = {{"", "models.Net", 0}};
    for (auto &[path, className] : stack)
      modules.push_back({path, className, call});
    return *this;
  }

  /// The text, without the comment; or the reason for which it is refused.
  std::string text() const {
    Recover recover(program, gridOptions);
    try {
      return emit(recover.run(), "m", "").text;
    } catch (const Refusal &refusal) {
      return "refused: " + refusal.reason;
    }
  }
  /// Whether the text has all of these lines.
  std::string missing(const std::vector<std::string> &lines) const {
    std::string whole = text();
    for (const std::string &line : lines)
      if (whole.find(line + "\n") == std::string::npos)
        return "no line '" + line + "' in\n" + whole;
    return "";
  }

  /// Follows several axes of elements; lists index axes of these fixed sizes, too.
  ProgramBuilder &grids(std::set<int64_t> sizes = {}) {
    gridOptions.areFollowed = true;
    gridOptions.sizes = std::move(sizes);
    return *this;
  }
  /// Fixed sizes of axes that lists index feature by feature, when it is not followed that they are elements.
  std::set<int64_t> listedSizes() const {
    Recover recover(program);
    try {
      recover.run();
    } catch (const Refusal &) {
    }
    return recover.wanted().sizes;
  }

  ExportedProgram program;
  GridOptions gridOptions;
  std::string line = "layer(x)"; ///< of the source, of the nodes from here on

private:
  std::vector<ModuleFrame> modules;

  ProgramBuilder &given(ProgramInput::Kind kind, const std::string &name, const std::string &target,
                        const std::vector<std::string> &sizes, ScalarType type) {
    ProgramInput input;
    input.kind = kind;
    input.value = name;
    input.target = target;
    program.inputs.push_back(input);
    program.graph.inputs.push_back(name);
    program.graph.tensors[name] = meta(sizes, type);
    return *this;
  }
};

inline NamedArgument arg(const std::string &name, const char *value) { return {name, ValueName{value}}; }
inline NamedArgument arg(const std::string &name, int value) { return {name, int64_t(value)}; }
inline NamedArgument arg(const std::string &name, double value) { return {name, value}; }
inline NamedArgument arg(const std::string &name, bool value) { return {name, value}; }
inline NamedArgument text(const std::string &name, const std::string &value) { return {name, value}; }
inline NamedArgument list(const std::string &name, std::vector<std::string> names) {
  return {name, ValueNames{std::move(names)}};
}
inline NamedArgument ints(const std::string &name, const std::vector<int64_t> &numbers) {
  Integers integers;
  for (int64_t number : numbers)
    integers.numbers.push_back(number);
  return {name, integers};
}

/// x of [N, 4] and edge_index of [2, E], with its rows s and d.
inline ProgramBuilder graph() {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("edge_index", {"2", "E"});
  b.integerNode("s", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 0)}, {"E"});
  b.integerNode("d", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 1)}, {"E"});
  return b;
}

} // namespace gnnc::frontend::pytorch::test

#endif // GNNC_TEST_UNIT_FRONTEND_PYTORCH_PROGRAMBUILDER_H
