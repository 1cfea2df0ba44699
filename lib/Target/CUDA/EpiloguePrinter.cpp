//===- EpiloguePrinter.cpp - The epilogue of a product as CUDA C++ --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a product are spread over a block's registers, a few numbers in each thread. So what is made of them
// there is made number by number: the expressions of an elementwise body at one feature. An operand that lacks an axis
// is read where its own index is.
//
//===----------------------------------------------------------------------===//

#include "EpiloguePrinter.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;

std::string EpiloguePrinter::indexIn(ArrayRef<int64_t> dims, ArrayRef<int64_t> of, const std::string &index) {
  if (dims == of)
    return index;
  std::string text;
  int64_t stride = 1, inner = 1;
  for (size_t axis = of.size(); axis-- > 0;) {
    if (dims[axis] != 1) {
      std::string at = inner == 1 ? index : index + " / " + std::to_string(inner);
      at = "(" + at + ") % " + std::to_string(of[axis]) + (stride == 1 ? "" : " * " + std::to_string(stride));
      text += (text.empty() ? "" : " + ") + at;
    }
    stride *= dims[axis], inner *= of[axis];
  }
  return text.empty() ? "0" : "(" + text + ")";
}

std::string EpiloguePrinter::number(Value value, const std::string &index) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return literal(constant.getValue().convertToDouble());
  if (value == product.getEpilogue().getArgument(0))
    return "y[v]";
  auto [it, isNew] = names.try_emplace(std::make_pair(value, index), "x" + std::to_string(names.size()));
  std::string name = it->second;
  if (!isNew)
    return name;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned extra = argument.getArgNumber() - 1;
    std::string at = index;
    if (product.getAccessOf(extra).getKind() == mpk::AccessKind::Owner) {
      int64_t row = getFeatureElements(value.getType());
      at = row == rowElements && index == "f"
               ? "at + v"
               : "(at + v) / " + std::to_string(rowElements) + " * " + std::to_string(row) + " + " + index;
    }
    out.line("const Real " + name +
             (isNarrow(product.getExtras()[extra]) ? " = gnnc::read(args.extra" : " = __ldg(args.extra") +
             Twine(extra) + " + " + at + ");");
    return name;
  }
  Operation *op = value.getDefiningOp();
  SmallVector<std::string> operands;
  for (Value operand : op->getOperands())
    operands.push_back(number(operand, isa<ReshapeOp>(op) ? index
                                                          : indexIn(getFeatureShape(operand.getType()),
                                                                    getFeatureShape(value.getType()), index)));
  out.line("const Real " + name + " = " + elementwise(op, operands) + ";");
  return name;
}

void EpiloguePrinter::fields() {
  for (unsigned i = 0; i < product.getExtras().size(); ++i)
    out.line(Twine("const ") + heldType(product.getExtras()[i]) + " *extra" + Twine(i) + ";");
  for (unsigned i = 0; i < product.getNumResults(); ++i)
    out.line(Twine(heldType(product.getResult(i))) + " *made" + Twine(i) + ";");
}

void EpiloguePrinter::body() {
  auto yield = cast<mpk::YieldOp>(product.getEpilogue().front().getTerminator());
  for (unsigned i = 0; i < yield.getValues().size(); ++i)
    out.line("Real made" + Twine(i) + "[V];");
  out.open("GNNC_FOR(v, V)");
  out.line("[[maybe_unused]] const int f = feature + v;");
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    std::string text = number(value, "f");
    out.line("made" + Twine(i) + "[v] = " + text + ";");
  }
  out.close();
  for (unsigned i = 0; i < yield.getValues().size(); ++i)
    out.line(Twine(isNarrow(product.getResult(i)) ? "gnnc::writeRow<V>(args.made" : "gnnc::store<V>(args.made") +
             Twine(i) + " + at, made" + Twine(i) + ");");
}
