//===- RowNumbers.cpp - Rows without members, number by number ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Results of one width, of which each number is made of numbers in the same place, are made together: then a result may
// lie where an operand did. Others lie behind one another: a thread makes a number of one of them.
//
//===----------------------------------------------------------------------===//

#include "Sweep/RowNumbers.h"
#include "Body/NumberPrinter.h"
#include "StepMemory.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;

namespace {

constexpr int64_t kThreads = 256;
/// Numbers of a block's rows, about.
constexpr int64_t kNumbersOfBlock = 1024;
/// Of a row, at most.
constexpr int64_t kWidest = 512;
/// How often a function of a number that several numbers need is computed.
constexpr int64_t kMostAgain = 4;

class RowNumbers : public NumberPrinter {
public:
  RowNumbers(mpk::SweepOp sweep, StringRef kernel, CodeWriter &members)
      : NumberPrinter(members, kMostText), sweep(sweep), kernel(kernel),
        yield(cast<mpk::YieldOp>(sweep.getBody().front().getTerminator())) {}

  bool isPossible();
  void printMembers();
  DeviceStep print(CodeWriter &text);

private:
  std::string argument(BlockArgument value, const std::string &at) override;
  std::string extent(FlatSymbolRefAttr space) override { return "args.n" + std::to_string(numberIn(extents, space)); }
  std::string elementNumber(ElementOp) override { return "row"; }
  std::string buffer(Value value) { return "args.b" + std::to_string(numberIn(step.buffers, value)); }
  std::string index(IndexRef ref) { return "args.i" + std::to_string(numberIn(step.indices, ref)); }
  template <typename List, typename Item> static unsigned numberIn(List &list, const Item &item) {
    unsigned number = llvm::find(list, item) - list.begin();
    if (number == list.size())
      list.push_back(item);
    return number;
  }
  void write(Value result, const std::string &at, const std::string &made);

  mpk::SweepOp sweep;
  std::string kernel;
  mpk::YieldOp yield;
  SmallVector<FlatSymbolRefAttr> extents;
  bool together = false; ///< all results at a place
  int64_t numbers = 0;   ///< of a row
  DeviceStep step;
};

} // namespace

bool RowNumbers::isPossible() {
  if (!sweep.getOverAttr() || sweep.getAlongAttr())
    return false;
  bool changesPlaces = false;
  for (Operation &op : sweep.getBody().front().without_terminator()) {
    if (!isa<UnaryOp, BinaryOp, SelectOp, IsElementOp, RandomOp, ConcatOp, SliceOp, TransposeOp, ReshapeOp, DetachOp,
             ConstantOp, IotaOp, ExtentOp, ElementOp>(op))
      return false;
    if (isa<UnaryOp>(op) && llvm::any_of(op.getUsers(), [&](Operation *user) {
          return !isa<mpk::YieldOp>(user) && getFeatureElements(user->getResult(0).getType()) >
                                                 kMostAgain * getFeatureElements(op.getResult(0).getType());
        }))
      return false;
    changesPlaces |= isa<ConcatOp, SliceOp, TransposeOp>(op) && getFeatureElements(op.getResult(0).getType()) > 1;
  }
  SmallVector<int64_t> widths;
  for (auto [i, value] : llvm::enumerate(yield.getValues())) {
    if (sweep.getYieldOf(i).getKind() != AccessKind::Owner)
      return false;
    widths.push_back(getFeatureElements(value.getType()));
  }
  bool replaces = llvm::any_of(sweep.getInputs(), [&](Value input) { return !findReplacing(sweep, input).empty(); });
  ArrayRef<int64_t> shape = getFeatureShape(yield.getValues().front().getType());
  bool isOfOneShape = llvm::all_of(sweep.getBody().front().without_terminator(), [&](Operation &op) {
    return getFeatureElements(op.getResult(0).getType()) == 1 || getFeatureShape(op.getResult(0).getType()) == shape;
  });
  together = !changesPlaces && llvm::all_equal(widths);
  numbers = together ? widths.front() : std::accumulate(widths.begin(), widths.end(), int64_t(0));
  return numbers <= kWidest && (!replaces || (together && isOfOneShape));
}

std::string RowNumbers::argument(BlockArgument value, const std::string &at) {
  mpk::AccessAttr access = sweep.getAccessOf(value.getArgNumber());
  Value input = sweep.getInputs()[value.getArgNumber()];
  if (access.getKind() == AccessKind::Shared)
    return define("gnnc::read(" + buffer(input) + " + " + at + ")");
  std::string row = "row";
  if (access.getMap()) {
    row = fresh("row");
    out.line("const int " + Twine(row) + " = __ldg(" + index({IndexKind::Raw, access.getMap(), {}}) + " + row);");
  }
  std::string text;
  if (auto degree = input.getDefiningOp<DegreeOp>()) {
    std::string pointers = index({IndexKind::Pointers, degree.getAlongAttr(), {}});
    text = "Real(__ldg(" + pointers + " + " + row + " + 1) - __ldg(" + pointers + " + " + row + "))";
  } else {
    text = "gnnc::read(" + buffer(input) + " + gnnc::int64(" + row + ") * " +
           std::to_string(getFeatureElements(value.getType())) + " + " + at + ")";
  }
  if (access.getMap() && isPartialMap(sweep, access.getMap()))
    text = row + " >= 0 ? " + text + " : " + literal(access.getFill() ? access.getFill().getValueAsDouble() : 0);
  return define(text);
}

void RowNumbers::write(Value result, const std::string &at, const std::string &made) {
  std::string to =
      buffer(result) + " + gnnc::int64(row) * " + std::to_string(getFeatureElements(result.getType())) + " + " + at;
  out.line(isNarrow(result) ? "gnnc::writeOne(" + to + ", " + made + ");" : "*(" + to + ") = " + made + ";");
}

void RowNumbers::printMembers() {
  for (Value input : sweep.getInputs())
    if (!input.getDefiningOp<DegreeOp>())
      (void)buffer(input);
  for (Value result : sweep.getResults())
    (void)buffer(result);
  step.name = kernel;
  auto function = [&](const char *name, const char *made, auto each) {
    out.open(Twine("GNNC_DEVICE static void ") + name + "(const Args &args, int row, [[maybe_unused]] int at, " + made +
             " (&made)[kResults])");
    int64_t before = 0;
    for (auto [i, value, result] : llvm::enumerate(yield.getValues(), sweep.getResults())) {
      int64_t width = getFeatureElements(value.getType());
      if (together) {
        each(value, result, "made[" + std::to_string(i) + "]", std::string("at"));
        continue;
      }
      out.open("if (at >= " + Twine(before) + " && at < " + Twine(before + width) + ")");
      out.line("[[maybe_unused]] const int f = at - " + Twine(before) + ";");
      forget();
      each(value, result, std::string("made[0]"), std::string("f"));
      forget();
      out.close();
      before += width;
    }
    out.close();
  };
  function("make", "Real", [&](Value value, Value, const std::string &made, const std::string &at) {
    std::string name = number(value, at);
    out.line(Twine(made) + " = " + name + ";");
  });
  function("store", "const Real",
           [&](Value, Value result, const std::string &made, const std::string &at) { write(result, at, made); });
}

DeviceStep RowNumbers::print(CodeWriter &text) {
  int64_t rows = std::max<int64_t>(1, kNumbersOfBlock / numbers);

  text.open("namespace " + kernel + "_");
  bool isDouble = getElementType(sweep.getResult(0).getType()).getElementType().isF64();
  text.line(std::string("using Real = ") + (isDouble ? "double" : "float") + ";");
  text.open("struct Args");
  for (auto [i, value] : llvm::enumerate(step.buffers)) {
    bool written = llvm::is_contained(sweep.getResults(), value) || isReplacedBy(sweep, value);
    text.line(Twine(written ? "" : "const ") + heldType(value) + " *b" + Twine(i) + ";");
  }
  for (size_t i = 0; i < step.indices.size(); ++i)
    text.line("const int *i" + Twine(i) + ";");
  for (size_t i = 0; i < extents.size(); ++i)
    text.line("gnnc::device::Extent n" + Twine(i) + ";");
  text.line("gnnc::Rows work;");
  text.close("};");
  text.open("struct Body");
  text.line("using Real = " + kernel + "_::Real;");
  text.line("using Args = " + kernel + "_::Args;");
  text.line("static constexpr int kThreads = " + Twine(kThreads) + ", kNumbers = " + Twine(numbers) +
            ", kRows = " + Twine(rows) + ", kResults = " + Twine(together ? sweep.getNumResults() : 1) + ";");
  SmallVector<StringRef> lines;
  out.text().split(lines, '\n', -1, false);
  for (StringRef line : lines)
    text.line(line);
  text.close("};");
  text.close("} // namespace " + kernel + "_");
  text.line("extern \"C\" __global__ void __launch_bounds__(" + Twine(kThreads) + ") " + kernel +
            "(const __grid_constant__ " + kernel + "_::Args args) { gnnc::followLaunch(); gnnc::rowNumbers<" + kernel +
            "_::Body>(args); }");

  Launch launch;
  launch.kernel = kernel;
  launch.grid = GridKind::Elements;
  launch.symbol = sweep.getOverAttr();
  launch.perBlock = rows;
  launch.threads = kThreads;
  for (size_t i = 0; i < step.buffers.size(); ++i)
    launch.words.push_back({WordKind::Buffer, unsigned(i), {}});
  for (size_t i = 0; i < step.indices.size(); ++i)
    launch.words.push_back({WordKind::Index, unsigned(i), {}});
  for (FlatSymbolRefAttr space : extents)
    launch.words.push_back({WordKind::Extent, 0, space});
  launch.words.push_back({WordKind::Extent, 0, sweep.getOverAttr()});
  step.launches.push_back(std::move(launch));
  return std::move(step);
}

std::optional<DeviceStep> cuda::printRowNumbers(mpk::SweepOp sweep, StringRef name, CodeWriter &out) {
  CodeWriter members;
  RowNumbers printer(sweep, name, members);
  if (!printer.isPossible())
    return std::nullopt;
  printer.printMembers();
  if (printer.isTooLong())
    return std::nullopt;
  return printer.print(out);
}
