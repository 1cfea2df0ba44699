//===- RecoverTypes.cpp - Where the file's types matter -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recovery knows two kinds of tensors: integers of 64 bits, which are known before the model runs, and numbers. What
// PyTorch computes in narrower integers, or makes whole by writing it into integers, would have other values here.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/StringSet.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

static bool isFloat(ScalarType type) {
  return type == ScalarType::Float16 || type == ScalarType::Float32 || type == ScalarType::Float64 ||
         type == ScalarType::BFloat16;
}

/// The bits of an integer's magnitude; 0 for all other types.
static int widthOf(ScalarType type) {
  switch (type) {
  case ScalarType::Int8:
    return 7;
  case ScalarType::UInt8:
    return 8;
  case ScalarType::Int16:
    return 15;
  case ScalarType::UInt16:
    return 16;
  case ScalarType::Int32:
    return 31;
  case ScalarType::Int64:
    return 63;
  default:
    return 0;
  }
}

void Recover::checkTypes(const NormalNode &node) const {
  auto typeOfArgument = [&](const char *name) {
    const Argument *argument = find(node, name);
    auto *value = argument ? std::get_if<ValueName>(argument) : nullptr;
    return value ? typeOf(value->name) : std::nullopt;
  };
  // A view with a type reads the same bits as other numbers.
  if (node.op == "view" && (has(node, "dtype") || node.overload == "dtype"))
    throw Refusal{"it reads the bits of numbers as another type; use .to(dtype)"};
  std::optional<ScalarType> result = node.outputs.empty() ? std::nullopt : typeOf(node.outputs[0]);
  if (!result || (isFloat(*result)))
    return;
  // What is written into a tensor becomes of its type.
  if (node.op == "copy" || node.op == "index_put" || node.op == "masked_fill" || node.op == "fill")
    for (const char *name : {"src", "values", "value"}) {
      std::optional<ScalarType> from = typeOfArgument(name);
      if ((from && isFloat(*from)) || (from && *result == ScalarType::Bool && *from != ScalarType::Bool))
        throw Refusal{std::string("it writes numbers of type ") + pytorch::nameOf(*from) + " into a tensor of type " +
                      pytorch::nameOf(*result) + ", which changes them; make both of one type"};
    }
  if (widthOf(*result) == 0 || widthOf(*result) > 16)
    return;
  const std::string type = pytorch::nameOf(*result);
  static const llvm::StringSet<> same = {"to", "_to_copy", "type_as", "copy"};
  if (same.contains(node.op)) {
    std::optional<ScalarType> from = typeOfArgument(node.op == "copy" ? "src" : "self");
    bool isUnsigned = *result == ScalarType::UInt8 || *result == ScalarType::UInt16;
    bool fits = !from || *from == *result || *from == ScalarType::Bool ||
                (widthOf(*from) > 0 && widthOf(*from) < widthOf(*result) && !isUnsigned);
    if (!fits)
      throw Refusal{"it narrows " + std::string(pytorch::nameOf(*from)) + " to " + type +
                    ", whose numbers start again where they overflow; use int64"};
    return;
  }
  static const llvm::StringSet<> growing = {"add",         "sub",       "rsub",           "mul",   "neg",     "square",
                                            "pow",         "cumsum",    "cumprod",        "prod",  "sum",     "abs",
                                            "scatter_add", "index_add", "scatter_reduce", "addmm", "addcmul", "div"};
  if (growing.contains(node.op))
    throw Refusal{"it computes in " + type + ", whose numbers start again where they overflow; use int64"};
}
