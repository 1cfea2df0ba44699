//===- Kernels.cpp - What each kernel reads, fuses and writes -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"

#include "dialects/mpk/IR/MPK.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace gnnc;

/// Residency and features, coloured.
static std::string chip(Type type, ColourOf colour) {
  FlatSymbolRefAttr space = mpdfg::getResidency(type);
  std::string name = space ? space.getValue().str() : "";
  std::string text = name + "[";
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(mpdfg::getFeatureShape(type), stream);
  return llvm::formatv("<span class=\"chip {0}\">{1}]</span>", colour(name), escape(text));
}

/// How an operand is read: `owner`, `gather_member @src`.
static std::string accessOf(Operation *op, unsigned operand) {
  mpk::AccessAttr access;
  if (auto sweep = dyn_cast<mpk::SweepOp>(op))
    access = sweep.getAccessOf(operand);
  else if (auto product = dyn_cast<mpk::ProductOp>(op); product && operand >= 2)
    access = product.getAccessOf(operand - 2);
  if (!access)
    return "";
  std::string text = " by " + stringifyEnum(access.getKind()).str();
  if (access.getMap())
    text += " ." + access.getMap().getValue().str();
  return text;
}

/// The operations of a body by name, with how many there are.
static std::string bodyOf(Operation *op) {
  std::vector<std::pair<std::string, unsigned>> names;
  for (Region &region : op->getRegions())
    for (Operation &inner : region.getOps())
      if (!inner.hasTrait<OpTrait::IsTerminator>() && inner.getNumOperands() > 0) {
        std::string label = labelOf(&inner, printOperation(&inner));
        StringRef name = label;
        name.consume_front("unary ") || name.consume_front("binary ");
        auto known = llvm::find_if(names, [&](const auto &entry) { return entry.first == name; });
        if (known == names.end())
          known = names.insert(names.end(), {name.str(), 0});
        ++known->second;
      }
  std::string text;
  for (const auto &[name, count] : names)
    text += (text.empty() ? "" : ", ") + name + (count > 1 ? " ×" + std::to_string(count) : std::string());
  return text;
}

std::string gnnc::listKernels(func::FuncOp function, llvm::ArrayRef<KernelInfo> kernels, ColourOf colour) {
  std::string text = "<div class=\"kernels\">\n";
  llvm::raw_string_ostream out(text);
  size_t number = 0;
  for (Operation &op : function.getBody().front()) {
    if (!mpk::isKernel(&op) || number >= kernels.size())
      continue;
    const KernelInfo &kernel = kernels[number];
    std::string title = kernel.kind;
    if (kernel.k > 0)
      title += llvm::formatv(" {0} × {1}", kernel.k, kernel.n);
    if (kernel.space)
      title += " over " + *kernel.space;
    if (kernel.map)
      title += " along " + *kernel.map;
    out << llvm::formatv("<div class=\"card {0}\"><h4>{1} · {2}</h4><dl>\n", kernel.half, number, escape(title));
    if (op.getNumOperands() > 0)
      out << "<dt>reads</dt><dd>";
    for (auto [i, operand] : llvm::enumerate(op.getOperands()))
      out << (i ? ", " : "") << chip(operand.getType(), colour) << escape(accessOf(&op, unsigned(i)));
    out << "</dd>\n";
    if (std::string body = bodyOf(&op); !body.empty())
      out << "<dt>fuses</dt><dd>" << escape(body) << "</dd>\n";
    out << "<dt>writes</dt><dd>";
    for (auto [i, result] : llvm::enumerate(op.getResults()))
      out << (i ? ", " : "") << chip(result.getType(), colour);
    out << "</dd></dl><details><summary>code</summary><pre>";
    out << escape(printOperation(&op)) << "</pre></details></div>\n";
    ++number;
  }
  out << "</div>\n";
  return text;
}
