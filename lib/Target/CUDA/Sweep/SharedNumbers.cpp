//===- SharedNumbers.cpp - Shared values, number by number ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The results' numbers are the tiles of one row (Kernels/JoinedRows.cuh), one result after the other.
//
//===----------------------------------------------------------------------===//

#include "Sweep/SharedNumbers.h"
#include "Body/NumberPrinter.h"
#include "StepMemory.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;

namespace {

constexpr int64_t kThreads = 128;
/// Rows of up to so many numbers are left to lanes that share them, if nothing in them changes places. So is what is
/// elementwise: lanes read and write several numbers at once.
constexpr int64_t kWidestOfLanes = 1024;
/// How much more may be computed than if each value were computed once, unless it is little.
constexpr double kMostAgain = 4, kLittle = 1 << 20;

class SharedNumbers : public NumberPrinter {
public:
  SharedNumbers(mpk::SweepOp sweep, StringRef kernel, CodeWriter &members)
      : NumberPrinter(members, kMostText), sweep(sweep), kernel(kernel) {}

  bool isPossible();
  void printMembers();
  DeviceStep print(bool isPart, CodeWriter &text);

private:
  double costOfNumber(Value value);
  std::string argument(BlockArgument value, const std::string &at) override {
    return define("gnnc::read(" + buffer(sweep.getInputs()[value.getArgNumber()]) + " + " + at + ")");
  }
  std::string extent(FlatSymbolRefAttr space) override {
    unsigned number = llvm::find(extents, space) - extents.begin();
    if (number == extents.size())
      extents.push_back(space);
    return "args.n" + std::to_string(number);
  }
  std::string elementNumber(ElementOp) override { return "0"; }
  std::string buffer(Value value) {
    unsigned number = llvm::find(step.buffers, value) - step.buffers.begin();
    if (number == step.buffers.size())
      step.buffers.push_back(value);
    return "args.b" + std::to_string(number);
  }
  mpk::YieldOp yield() { return cast<mpk::YieldOp>(sweep.getBody().front().getTerminator()); }

  mpk::SweepOp sweep;
  std::string kernel;
  SmallVector<FlatSymbolRefAttr> extents;
  DenseMap<Value, double> costs;
  int64_t numbers = 0; ///< of all results
  DeviceStep step;
};

} // namespace

/// Terms of a sum, or 1.
static int64_t termsOf(Operation *op) {
  if (auto fold = dyn_cast<FoldOp>(op))
    return getFeatureElements(fold.getInput().getType()) / std::max<int64_t>(1, getFeatureElements(fold.getType()));
  auto contract = dyn_cast<ContractOp>(op);
  if (!contract)
    return 1;
  DenseMap<int64_t, int64_t> sizes;
  auto see = [&](ArrayRef<int64_t> labels, Type type) {
    for (auto [label, size] : llvm::zip(labels, getFeatureShape(type)))
      sizes[label] = std::max(sizes[label], size);
  };
  see(contract.getLhsLabels(), contract.getLhs().getType());
  see(contract.getRhsLabels(), contract.getRhs().getType());
  int64_t terms = 1;
  for (auto [label, size] : sizes)
    if (!llvm::is_contained(contract.getOutLabels(), label))
      terms *= size;
  return terms;
}

/// Operations that make one number of a value from operands in memory.
double SharedNumbers::costOfNumber(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return 1;
  if (auto it = costs.find(value); it != costs.end())
    return it->second;
  double operands = 0;
  for (Value operand : op->getOperands())
    operands = isa<ConcatOp>(op) ? std::max(operands, costOfNumber(operand)) : operands + costOfNumber(operand);
  return costs[value] = double(termsOf(op)) * (1 + operands);
}

bool SharedNumbers::isPossible() {
  if (sweep.getOverAttr() || sweep.getAlongAttr())
    return false;
  // Another thread's number may still be read where a result is written over an operand.
  if (llvm::any_of(sweep.getInputs(), [&](Value input) { return !findReplacing(sweep, input).empty(); }))
    return false;
  bool changesPlaces = false, isElementwise = true;
  int64_t widest = 0;
  double once = 0, again = 0;
  for (Operation &op : sweep.getBody().front().without_terminator()) {
    if (!isa<UnaryOp, BinaryOp, SelectOp, IsElementOp, RandomOp, ContractOp, FoldOp, ConcatOp, SliceOp, TransposeOp,
             ReshapeOp, DetachOp, ConstantOp, IotaOp, ExtentOp, ElementOp>(op))
      return false;
    int64_t elements = getFeatureElements(op.getResult(0).getType());
    changesPlaces |= isa<ConcatOp, SliceOp, TransposeOp>(op) && elements > 1;
    isElementwise &= isa<UnaryOp, BinaryOp, SelectOp, ReshapeOp, DetachOp, ConstantOp>(op);
    widest = std::max(widest, elements);
    once += double(elements * termsOf(&op));
  }
  for (Value argument : sweep.getBody().getArguments())
    widest = std::max(widest, getFeatureElements(argument.getType()));
  int64_t numbers = 0;
  for (Value value : yield().getValues()) {
    int64_t elements = getFeatureElements(value.getType());
    numbers += elements;
    again += double(elements) * costOfNumber(value);
  }
  if (numbers > std::numeric_limits<int32_t>::max() - kThreads)
    return false;
  return (changesPlaces || (widest > kWidestOfLanes && !isElementwise)) &&
         (again <= kMostAgain * once || again <= kLittle);
}

void SharedNumbers::printMembers() {
  for (Value input : sweep.getInputs())
    (void)buffer(input);
  for (Value result : sweep.getResults())
    (void)buffer(result);
  step.name = kernel;
  out.open("GNNC_DEVICE void store()");
  for (auto [value, result] : llvm::zip(yield().getValues(), sweep.getResults())) {
    int64_t elements = getFeatureElements(value.getType());
    out.open("if (at >= " + Twine(numbers) + " && at < " + Twine(numbers + elements) + ")");
    out.line("[[maybe_unused]] const int f = at - " + Twine(numbers) + ";");
    forget();
    std::string made = number(value, "f");
    std::string to = buffer(result) + " + f";
    out.line(isNarrow(result) ? "gnnc::writeOne(" + to + ", " + made + ");" : "*(" + to + ") = " + made + ";");
    out.close();
    numbers += elements;
  }
  out.close();
}

DeviceStep SharedNumbers::print(bool isPart, CodeWriter &text) {
  text.open("namespace " + kernel + "_");
  bool isDouble = getElementType(sweep.getResult(0).getType()).getElementType().isF64();
  text.line(std::string("using Real = ") + (isDouble ? "double" : "float") + ";");
  text.open("struct Args");
  for (auto [i, value] : llvm::enumerate(step.buffers))
    text.line(Twine(llvm::is_contained(sweep.getResults(), value) ? "" : "const ") + heldType(value) + " *b" +
              Twine(i) + ";");
  for (size_t i = 0; i < extents.size(); ++i)
    text.line("gnnc::device::Extent n" + Twine(i) + ";");
  text.line("gnnc::Rows work;");
  text.close("};");
  text.open("struct Body");
  text.line("using Real = " + kernel + "_::Real;");
  text.line("using Args = " + kernel + "_::Args;");
  text.line("using Totals = gnnc::NoTotals;");
  text.line("static constexpr int kLanes = 1, kSplits = 1, kWarps = 1, kThreads = " + Twine(kThreads) +
            ", kStaging = 0, kTiles = " + Twine(numbers) + ", kWalks = 0;");
  text.line("const Args &args;");
  text.line("const int at;");
  text.line("GNNC_DEVICE Body(const Args &args, int, int tile, Real *) : args(args), at(tile) {}");
  text.line("GNNC_DEVICE void begin(int) {}");
  SmallVector<StringRef> lines;
  out.text().split(lines, '\n', -1, false);
  for (StringRef line : lines)
    text.line(line);
  text.close("};");
  text.close("} // namespace " + kernel + "_");
  if (!isPart)
    text.line("extern \"C\" __global__ void __launch_bounds__(" + Twine(kThreads) + ") " + kernel +
              "(const __grid_constant__ " + kernel + "_::Args args) { gnnc::followLaunch(); gnnc::rowsOfBlock<" +
              kernel + "_::Body>(args, blockIdx.x); }");

  Launch launch;
  launch.kernel = kernel;
  launch.grid = GridKind::Elements;
  launch.perBlock = launch.threads = kThreads;
  if (isPart)
    launch.spread(numbers);
  else
    launch.perElement = numbers;
  for (size_t i = 0; i < step.buffers.size(); ++i)
    launch.words.push_back({WordKind::Buffer, unsigned(i), {}});
  for (FlatSymbolRefAttr space : extents)
    launch.words.push_back({WordKind::Extent, 0, space});
  launch.words.push_back({WordKind::Extent, 0, {}});
  step.launches.push_back(std::move(launch));
  return std::move(step);
}

std::optional<DeviceStep> cuda::printSharedNumbers(mpk::SweepOp sweep, StringRef name, bool isPart, CodeWriter &out) {
  CodeWriter members;
  SharedNumbers printer(sweep, name, members);
  if (!printer.isPossible())
    return std::nullopt;
  printer.printMembers();
  if (printer.isTooLong())
    return std::nullopt;
  return printer.print(isPart, out);
}
