//===- EpiloguePrinter.cpp - The epilogue of a product as CUDA C++ --------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rows of a product are spread over a block's registers, a few numbers in each thread. So what is made of them
// there is made number by number: the expressions of a body at one feature. An operand that lacks an axis is read where
// its own index is. Folds over a row come first, one after the other: each thread folds its numbers, then threads that
// share the row exchange what they have. What a fold is made of is computed again where it is needed once more.
//
// A result may lie where an operand does (plan-memory). That is still read through the read-only cache, so that a
// thread's reads need not wait for its writes: the thread that writes a number has read it before, and what others read
// of it they throw away, so it does not matter whether the cache has it as it was or as it is.
//
//===----------------------------------------------------------------------===//

#include "Product/EpiloguePrinter.h"

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
    return rowNumber;
  if (auto it = folds.find(value); it != folds.end())
    return "row." + it->second;
  auto [it, isNew] = names.try_emplace(std::make_pair(value, index), "x" + std::to_string(names.size()));
  std::string name = it->second;
  if (!isNew)
    return name;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    unsigned extra = argument.getArgNumber() - 1;
    if (isRead.contains(value) && index == "f") {
      out.line("const Real " + name + " = read" + Twine(extra) + "[v];");
      return name;
    }
    if (product.getExtras()[extra].getDefiningOp<DegreeOp>()) { // Read off the index of its map.
      std::string pointers = "args.extra" + std::to_string(extra) + " + element";
      out.line("const Real " + name + " = Real(__ldg(" + pointers + " + 1) - __ldg(" + pointers + "));");
      return name;
    }
    std::string at = index;
    if (product.getAccessOf(extra).getKind() == mpk::AccessKind::Owner) {
      int64_t row = getFeatureElements(value.getType());
      at = "element * " + std::to_string(row) + " + " + index;
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
    out.line(Twine("const ") +
             (product.getExtras()[i].getDefiningOp<DegreeOp>() ? StringRef("int") : heldType(product.getExtras()[i])) +
             " *extra" + Twine(i) + ";");
  for (unsigned i = 0; i < product.getNumResults(); ++i)
    out.line(Twine(heldType(product.getResult(i))) + " *made" + Twine(i) + ";");
}

/// Reads the numbers of an operand of the row's own shape that are side by side, for all that is made of them. Of
/// several in float32 the compiler would read many more at once than warpgroups have registers for.
void EpiloguePrinter::readNumbers() {
  SmallVector<Value> pending(product.getEpilogue().front().getTerminator()->getOperands());
  DenseSet<Value> seen;
  SmallVector<BlockArgument> found;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (getFeatureElements(value.getType()) != rowElements || !seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getArgNumber() > 0)
      found.push_back(argument);
    else if (Operation *op = value.getDefiningOp(); op && !isa<FoldOp>(op))
      llvm::append_range(pending, op->getOperands());
  }
  if (found.size() > 1 && llvm::none_of(product.getResults(), isNarrow))
    return;
  llvm::sort(found, [](BlockArgument a, BlockArgument b) { return a.getArgNumber() < b.getArgNumber(); });
  for (BlockArgument argument : found) {
    unsigned extra = argument.getArgNumber() - 1;
    if (product.getExtras()[extra].getDefiningOp<DegreeOp>())
      continue;
    std::string number = std::to_string(extra);
    bool isOwn = product.getAccessOf(extra).getKind() == mpk::AccessKind::Owner;
    out.line("Real read" + number + "[V];");
    out.line("gnnc::readRow<V>(read" + number + ", args.extra" + number + " + " +
             (isOwn ? "element * " + std::to_string(rowElements) + " + " : "") + "feature);");
    isRead.insert(argument);
  }
}

void EpiloguePrinter::open(const std::string &loop, const std::string &numbers) {
  out.open(loop);
  rowNumber = numbers;
  names.clear();
}

void EpiloguePrinter::rows() {
  SmallVector<FoldOp> ops(product.getEpilogue().front().getOps<FoldOp>());
  out.line(Twine("static constexpr bool kFoldsRows = ") + (ops.empty() ? "false;" : "true;"));
  std::string fields;
  for (unsigned i = 0; i < ops.size(); ++i)
    fields += (i ? ", fold" : "Real fold") + std::to_string(i);
  out.line("struct Row { " + (fields.empty() ? fields : fields + "; ") + "};");
  if (ops.empty())
    return;
  out.open("template <int Lanes, int C, typename Feature> GNNC_DEVICE static Row rowOf(const Args &args, gnnc::int64 "
           "element, const Real (&y)[C], Feature feature)");
  out.line("Row row;");
  for (FoldOp op : ops) {
    bool most = op.getKind() == ReduceKind::Max, least = op.getKind() == ReduceKind::Min;
    std::string name = "fold" + std::to_string(folds.size()), field = "row." + name;
    out.line(field + " = " + (most ? "-Real(GNNC_INFINITY);" : least ? "Real(GNNC_INFINITY);" : "0;"));
    open("GNNC_FOR(c, C)", "y[c]");
    out.line("[[maybe_unused]] const int f = feature(c);");
    out.open("if (kN % kTileColumns == 0 || f < kN)");
    std::string value = number(op.getInput(), "f");
    out.line(field + " = " +
             (most    ? "gnnc::most(" + field + ", "
              : least ? "gnnc::least(" + field + ", "
                      : field + " + ") +
             (most || least ? "Real(" + value + "));" : value + ";"));
    out.close();
    out.close();
    out.line(field + " = gnnc::" +
             (most    ? "maxLanes"
              : least ? "minLanes"
                      : "sumLanes") +
             "<1, Lanes>(" + field + ")" +
             (op.getKind() == ReduceKind::Mean ? " * " + literal(1.0 / double(rowElements)) : "") + ";");
    folds[op.getResult()] = name;
  }
  out.line("return row;");
  out.close();
}

void EpiloguePrinter::body() {
  auto yield = cast<mpk::YieldOp>(product.getEpilogue().front().getTerminator());
  for (unsigned i = 0; i < yield.getValues().size(); ++i)
    out.line("Real made" + Twine(i) + "[V];");
  readNumbers();
  open("GNNC_FOR(v, V)", "y[v]");
  out.line("[[maybe_unused]] const int f = feature + v;");
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    std::string text = number(value, getFeatureElements(value.getType()) == rowElements ? "f" : "0");
    out.line("made" + Twine(i) + "[v] = " + text + ";");
  }
  out.close();
  bool anyNarrow = llvm::any_of(product.getResults(), isNarrow); // so V may be 8
  for (unsigned i = 0; i < yield.getValues().size(); ++i) {
    bool isWhole = getFeatureElements(yield.getValues()[i].getType()) == rowElements;
    std::string how = anyNarrow ? "gnnc::writeRow<" : "gnnc::store<", number = std::to_string(i);
    out.line((isWhole ? "if (live) " + how + "V>(args.made" + number + " + at"
                      : "if (live && feature == 0) " + how + "1>(args.made" + number + " + element") +
             ", made" + number + ");");
  }
}
