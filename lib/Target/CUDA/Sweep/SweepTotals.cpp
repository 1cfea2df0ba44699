//===- SweepTotals.cpp - Sums over all owners -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sweep/SweepPrinterImpl.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

void SweepPrinter::totals() {
  members.open("struct Totals");
  members.line("static constexpr bool kNone = " + Twine(hasTotals() ? "false" : "true") + ";");
  for (auto [i, op] : llvm::enumerate(plan.shared)) {
    fields("sum" + Twine(i), op.getInput());
    if (namesWinner(op.getKind()))
      fields("winner" + Twine(i), op.getInput());
  }
  members.close("};");
  auto statements = [&](function_ref<std::string(unsigned, mpk::AccumulateOp)> statement) {
    for (auto [i, op] : llvm::enumerate(plan.shared))
      print.forEach(axes.of(op.getInput()), statement(i, op));
    members.close();
  };
  auto combine = [&](unsigned i, mpk::AccumulateOp op, const std::string &other, const std::string &number) {
    std::string sum = at("t", "sum", i, op.getInput()), winner = at("t", "winner", i, op.getInput());
    switch (op.getKind()) {
    case ReduceKind::Max:
      return sum + " = gnnc::most(" + sum + ", " + other + ");";
    case ReduceKind::Min:
      return sum + " = gnnc::least(" + sum + ", " + other + ");";
    case ReduceKind::ArgMax:
      return "gnnc::keepMost(" + sum + ", " + winner + ", " + other + ", " + number + ");";
    case ReduceKind::ArgMin:
      return "gnnc::keepLeast(" + sum + ", " + winner + ", " + other + ", " + number + ");";
    default:
      return sum + " += " + other + ";";
    }
  };
  members.open("GNNC_DEVICE void reset(Totals &t) const");
  statements([&](unsigned i, mpk::AccumulateOp op) -> std::string {
    bool most = op.getKind() == ReduceKind::Max || op.getKind() == ReduceKind::ArgMax;
    bool least = op.getKind() == ReduceKind::Min || op.getKind() == ReduceKind::ArgMin;
    std::string sum = at("t", "sum", i, op.getInput());
    std::string start = sum + (most ? " = -Real(GNNC_INFINITY)" : least ? " = Real(GNNC_INFINITY)" : " = 0");
    return start + (namesWinner(op.getKind())
                        ? ", " + at("t", "winner", i, op.getInput()) + " = gnnc::numberOf(Real(0), -1);"
                        : ";");
  });
  members.open("GNNC_DEVICE void merge(Totals &t, const Totals &o) const");
  statements([&](unsigned i, mpk::AccumulateOp op) {
    return combine(i, op, at("o", "sum", i, op.getInput()), at("o", "winner", i, op.getInput()));
  });
  members.open("GNNC_DEVICE void add(Totals &t) const");
  statements([&](unsigned i, mpk::AccumulateOp op) {
    return combine(i, op, "Real(" + print.element(op.getInput()) + ")", "gnnc::numberOf(Real(0), owner)");
  });
  members.open("GNNC_DEVICE void store(Totals &t)");
  for (auto [i, value] : llvm::enumerate(body.yield.getValues())) {
    if (sweep.getYieldOf(i).getKind() != AccessKind::Shared)
      continue;
    Value output = sweep.getResults()[i];
    auto op = value.getDefiningOp<mpk::AccumulateOp>();
    if (!op) { // The same for all owners, and there may be none.
      if (sweep.getOverAttr())
        print.storeRow(value, partOf(value), axes.of(value), buffer(output));
      continue;
    }
    int number = llvm::find(plan.shared, op) - plan.shared.begin();
    std::string sum = at("t", namesWinner(op.getKind()) ? "winner" : "sum", number, op.getInput());
    std::string count = sweep.getOverAttr() ? extent(sweep.getOverAttr()) : "1";
    std::string final = op.getKind() == ReduceKind::Mean ? sum + " / Real(" + count + ")" : sum;
    if (op.getKind() != ReduceKind::Sum && !namesWinner(op.getKind()))
      final = count + " > 0 ? " + final + " : Real(0)";
    members.open("");
    members.line(print.declaration("x_total", axes.of(value)) + ";");
    print.forEach(axes.of(value), "x_total" + print.subscripts(axes.of(value)) + " = " + final + ";");
    print.storeArray("x_total", getFeatureShape(value.getType()), axes.of(value), buffer(output));
    members.close();
  }
  members.close();
}

int64_t SweepPrinter::totalsWords() {
  int64_t words = 0;
  for (mpk::AccumulateOp op : plan.shared)
    words += heldBy(axes.of(op.getInput()), axes) * (namesWinner(op.getKind()) ? 2 : 1);
  return words;
}
