//===- Context.cpp - What all of an elaboration shares --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sema/Context.h"

using namespace gnnc::frontend;
using llvm::StringRef;
using llvm::Twine;

Context::Context(Modules &modules, const Sources &sources, DiagnosticEngine &diagnostics, const CompileInputs &inputs)
    : modules(modules), sources(sources), diagnostics(diagnostics), inputs(inputs),
      builder([&diagnostics](Loc loc, const std::string &message) { diagnostics.error(loc, message); }) {
  // Layers speak of these, whatever file they are in.
  builder.mayHide = [](StringRef name) { return name != "node" && name != "edge" && name != "src" && name != "dst"; };
}

Id Context::residencyOf(const Operand &operand) const {
  if (auto *value = std::get_if<Dense>(&operand))
    return builder.value(value->id).residency;
  if (auto *sparse = std::get_if<Sparse>(&operand))
    return builder.map(inputOf(*sparse).row).to;
  return kNone;
}

std::nullopt_t ElaborationPart::error(Loc loc, const Twine &message) {
  diagnostics.error(loc, message);
  return std::nullopt;
}

void ElaborationPart::record(Loc loc, const std::string &text, std::optional<Loc> definition) {
  if (context.observer && loc.line != 0)
    context.observer->onMeaning(loc, text, definition);
}

std::string gnnc::frontend::suggestion(StringRef name, const std::vector<std::string> &known) {
  std::string best;
  // Few letters apart, and not all of them.
  unsigned bound = std::min<size_t>(name.size() <= 2 ? 2 : name.size() <= 6 ? 3 : 4, name.size());
  for (const std::string &each : known) {
    unsigned distance = name.edit_distance(each, /*AllowReplacements=*/true, bound);
    if (distance < bound) {
      bound = distance;
      best = each;
    }
  }
  return best.empty() ? "" : "; did you mean '" + best + "'?";
}

MaybeId ElaborationPart::dense(const Operand &operand, Loc loc, StringRef doing) {
  if (auto *number = std::get_if<Number>(&operand))
    return builder.constant(number->asDouble(), loc);
  if (auto *sparse = std::get_if<Sparse>(&operand))
    return sparseUnsupported(*sparse, ("in " + doing).str(), loc);
  return std::get<Dense>(operand).id;
}

std::nullopt_t ElaborationPart::sparseUnsupported(const Sparse &x, StringRef doing, Loc loc) {
  return error(loc,
               "sparse input '" + inputOf(x).name + "' is not supported " + doing +
                   "; it can be multiplied as 'x @ W', scaled by one number per row, summed over its axis, dropped "
                   "out, and passed to functions with f(0) = 0");
}

std::string Context::describe(const Operand &operand) const {
  if (auto *number = std::get_if<Number>(&operand))
    return (number->kind == Number::Kind::Int     ? "int = "
            : number->kind == Number::Kind::Float ? "float = "
                                                  : "bool = ") +
           number->str();
  if (auto *value = std::get_if<Dense>(&operand))
    return builder.describe(value->id);
  const Sparse &sparse = std::get<Sparse>(operand);
  const SparseInput &input = inputOf(sparse);
  int64_t size = builder.space(builder.map(input.column).to).extent;
  return builder.spaceName(builder.map(input.row).to) + "[" + sparse.axis + " = " + std::to_string(size) + "] sparse";
}
