//===- TileSweepPrinter.cpp - Sweeps that multiply their members ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prints the Body that Kernels/TileSweep.cuh asks for: one struct for each step of the plan, and the steps in order.
//
//===----------------------------------------------------------------------===//

#include "Tile/TileSweepPrinter.h"
#include "Tile/TileNumbers.h"
#include "Tile/TilePlan.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;

namespace {

class TileSweepPrinter {
public:
  TileSweepPrinter(mpk::SweepOp sweep, const TilePlan &plan, StringRef name, const PrintOptions &options,
                   bool onTensorCores, CodeWriter &out)
      : sweep(sweep), plan(plan), name(name), options(options), onTensorCores(onTensorCores), out(out),
        numbers(sweep, plan, body), yield(cast<mpk::YieldOp>(sweep.getBody().front().getTerminator())),
        element(getElementType(sweep.getResult(0).getType()).getElementType()) {}

  DeviceStep run();

private:
  bool along() { return bool(sweep.getAlongAttr()); }
  std::string stepName(unsigned number) const;
  void printStep(unsigned number);
  void make(unsigned number);
  void store(unsigned number);
  void factors(const TilePlan::Factors &sizes, Value from, Value to, const char *of);
  void product(unsigned number);
  void outer(unsigned number);
  void sum(unsigned number);
  void total(unsigned number);
  void writeNumber(Value output, const Twine &at, const Twine &number);
  void writeNumbers(Value output, const Twine &number);
  void sequence();
  void body_();
  void launches();

  mpk::SweepOp sweep;
  const TilePlan &plan;
  StringRef name;
  const PrintOptions &options;
  bool onTensorCores;
  CodeWriter &out;
  CodeWriter body;
  TileNumbers numbers;
  mpk::YieldOp yield;
  Type element;
  DeviceStep step;
};

} // namespace

std::string TileSweepPrinter::stepName(unsigned number) const {
  static constexpr const char *kNames[] = {"Make", "Product", "Sum", "Outer", "Total", "Store"};
  return kNames[plan.steps[number].kind] + std::to_string(number);
}

void TileSweepPrinter::make(unsigned number) {
  Value value = plan.steps[number].value;
  const TileRows &rows = *plan.rowsOf(value);
  int64_t lanes = plan.lanesOf(value), vector = lanes > 1 ? 1 : plan.vectorOf(rows.width);
  body.line("static constexpr int kWidth = " + Twine(rows.width) + ", kV = " + Twine(vector) + ", kLanes = " +
            Twine(lanes) + ", kPlace = " + Twine(rows.place) + ", kStride = " + Twine(rows.stride) + ";");
  body.open("GNNC_DEVICE static void make(const Args &args, const gnnc::Tile<Body> &tile, int row, int first, Real "
            "(&to)[kV])");
  numbers.row(number, value, vector, lanes);
  body.close();
}

void TileSweepPrinter::store(unsigned number) {
  const TileStep &own = plan.steps[number];
  int64_t width = getFeatureElements(own.value.getType()), vector = plan.vectorOf(width);
  Value output = sweep.getResults()[own.result];
  body.line("static constexpr int kWidth = " + Twine(width) + ", kV = " + Twine(vector) + ";");
  body.open("GNNC_DEVICE static void make(const Args &args, const gnnc::Tile<Body> &tile, int row, int first, Real "
            "(&to)[kV])");
  numbers.row(number, own.value, vector);
  body.close();
  body.open("GNNC_DEVICE static void store(const Args &args, const gnnc::Tile<Body> &tile, int row, int first, const "
            "Real *made)");
  std::string row = numbers.rowNumber(along() ? AccessKind::Member : AccessKind::Owner, {});
  body.line("gnnc::writeRow<kV>(" + numbers.buffer(output) + " + gnnc::int64(" + row + ") * kWidth + first, made);");
  body.close();
}

/// The sizes of a product, and where its factors (or a factor and the result) are.
void TileSweepPrinter::factors(const TilePlan::Factors &sizes, Value from, Value to, const char *of) {
  const TileRows &x = *plan.rowsOf(from), &y = *plan.rowsOf(to);
  body.line("static constexpr int kSlices = " + Twine(sizes.slices) + ", kK = " + Twine(sizes.k) +
            ", kN = " + Twine(sizes.n) + "; // " + of);
  body.line("static constexpr int kFrom = " + Twine(x.place) + ", kFromStride = " + Twine(x.stride) +
            ", kTo = " + Twine(y.place) + ", kToStride = " + Twine(y.stride) + ";");
  body.line(Twine("static constexpr bool kOnTensorCores = ") + (onTensorCores ? "true" : "false") +
            ", kSplit = " + (options.products == ProductArithmetic::TF32x3 ? "true" : "false") + ";");
}

void TileSweepPrinter::product(unsigned number) {
  const TileStep &own = plan.steps[number];
  ContractOp contract = own.contract;
  TilePlan::Factors sizes = TilePlan::factorsOf(contract);
  factors(sizes, contract.getLhs(), contract.getResult(), "rows by a weight");
  // Rectangles of 32 x 32, or smaller ones so that all warps have one: but each splits its operands anew, so half the
  // warps will do where those of the weight are not kept, and eight columns are too few.
  int64_t columns = std::clamp<int64_t>(llvm::PowerOf2Ceil(sizes.n), 8, 32), rows = 32;
  int64_t wanted = plan.threads / (plan.parts[number] >= 0 ? 32 : 64);
  auto lacks = [&] {
    return int64_t(plan.tileRows / rows * llvm::divideCeil(sizes.n, columns) * sizes.slices) < wanted;
  };
  if (lacks())
    rows = 16;
  while (lacks() && columns > 16)
    columns /= 2;
  body.line("static constexpr int kWarpRows = " + Twine(rows) + ", kWarpColumns = " + Twine(columns) +
            ", kParts = " + Twine(plan.parts[number]) + ";");
  body.line(Twine("static constexpr bool kBatched = ") + (sizes.batched ? "true" : "false") + ";");
  Value weight = sweep.getInputs()[cast<BlockArgument>(contract.getRhs()).getArgNumber()];
  body.line("GNNC_DEVICE static const Real *weight(const Args &args) { return " + numbers.buffer(weight) + "; }");
}

void TileSweepPrinter::outer(unsigned number) {
  ContractOp contract = plan.steps[number].contract;
  TilePlan::Factors sizes = TilePlan::factorsOf(contract);
  factors(sizes, contract.getLhs(), contract.getRhs(), "outer products");
  body.line("static constexpr int kWarpRows = 16, kWarpColumns = " +
            Twine(std::clamp<int64_t>(llvm::PowerOf2Ceil(sizes.n), 8, 32)) +
            ", kWord = " + Twine(plan.sums[number].word) + ";");
}

/// Numbers of a row side by side, each an expression of `v`.
void TileSweepPrinter::writeNumbers(Value output, const Twine &number) {
  body.open("");
  body.line("Real made[kV];");
  body.line("GNNC_FOR(v, kV) made[v] = " + number + ";");
  body.line("gnnc::writeRow<kV>(" + numbers.buffer(output) + " + at, made);");
  body.close();
}

void TileSweepPrinter::writeNumber(Value output, const Twine &at, const Twine &number) {
  std::string to = numbers.buffer(output);
  if (isNarrow(output))
    body.line("gnnc::writeOne(" + Twine(to) + " + " + at + ", " + number + ");");
  else
    body.line(Twine(to) + "[" + at + "] = " + number + ";");
}

void TileSweepPrinter::sum(unsigned number) {
  const TileStep &own = plan.steps[number];
  const TilePlan::SumPlaces &places = plan.sums[number];
  mpk::AccumulateOp sumOp = own.number, winner = own.winner, one = sumOp ? sumOp : winner;
  bool most = one.getKind() == ReduceKind::Max || one.getKind() == ReduceKind::ArgMax,
       least = one.getKind() == ReduceKind::Min || one.getKind() == ReduceKind::ArgMin;
  auto flag = [](bool is) { return is ? "true" : "false"; };
  int64_t width = getFeatureElements(own.value.getType());
  TilePlan::Strips strips = plan.stripsOf(width);
  body.line("static constexpr int kWidth = " + Twine(width) + ", kV = " + Twine(strips.vector) +
            ", kLanes = " + Twine(strips.lanes) + ", kStrip = " + Twine(strips.rows) +
            ", kParts = " + Twine(places.parts) + ", kNamesParts = " + Twine(places.names) +
            ", kCarry = " + Twine(places.carry) + ", kNamesCarry = " + Twine(places.namesCarry) +
            ", kWord = " + Twine(places.word) + ", kNamesWord = " + Twine(places.namesWord) + ";");
  body.line(Twine("static constexpr bool kMost = ") + flag(most) + ", kLeast = " + flag(least) +
            ", kNames = " + flag(bool(winner)) + ";");
  body.open("GNNC_DEVICE static void make(const Args &args, const gnnc::Tile<Body> &tile, int row, int first, Real "
            "(&to)[kV])");
  numbers.row(number, own.value, strips.vector);
  body.close();
  if (winner)
    body.line("GNNC_DEVICE static int element(const gnnc::Tile<Body> &tile, int row) { return " +
              numbers.rowNumber(AccessKind::Member, {}) + "; }");
  body.open("GNNC_DEVICE static void store(const Args &args, int owner, int first, [[maybe_unused]] int members, const "
            "Real *numbers, [[maybe_unused]] const Real *winners)");
  body.line("[[maybe_unused]] const gnnc::int64 at = gnnc::int64(owner) * kWidth + first;");
  for (auto [value, output] : llvm::zip(yield.getValues(), sweep.getResults())) {
    if (winner && value == winner.getResult())
      writeNumbers(output, "winners[v]");
    if (sumOp && value == sumOp.getResult())
      writeNumbers(output, sumOp.getKind() == ReduceKind::Sum    ? "numbers[v]"
                           : sumOp.getKind() == ReduceKind::Mean ? "members > 0 ? numbers[v] / Real(members) : Real(0)"
                                                                 : "members > 0 ? numbers[v] : Real(0)");
  }
  body.close();
}

void TileSweepPrinter::total(unsigned number) {
  const TileStep &own = plan.steps[number];
  body.line("static constexpr int kWidth = " + Twine(getFeatureElements(own.value.getType())) +
            ", kPlace = 0, kWord = " + Twine(plan.sums[number].word) + ";");
  body.open("GNNC_DEVICE static Real value(const Args &args, const gnnc::Tile<Body> &tile, int row, int f)");
  body.line("return " + numbers.one(number, own.value) + ";");
  body.close();
}

void TileSweepPrinter::printStep(unsigned number) {
  body.open("struct " + stepName(number));
  switch (plan.steps[number].kind) {
  case TileStep::Make:
    make(number);
    break;
  case TileStep::Product:
    product(number);
    break;
  case TileStep::Sum:
    sum(number);
    break;
  case TileStep::Outer:
    outer(number);
    break;
  case TileStep::Total:
    total(number);
    break;
  case TileStep::Store:
    store(number);
    break;
  }
  body.close("};");
}

/// What is done with a tile, and before the first and after the last.
void TileSweepPrinter::sequence() {
  auto functionOf = [](TileStep::Kind kind) {
    switch (kind) {
    case TileStep::Make:
      return "makeRows";
    case TileStep::Product:
      return "multiplyRows";
    case TileStep::Sum:
      return "sumRows";
    case TileStep::Outer:
      return "addOuter";
    case TileStep::Total:
      return "addTotals";
    case TileStep::Store:
      return "storeRows";
    }
    return "";
  };
  body.open("GNNC_DEVICE static void prepare([[maybe_unused]] const Args &args, [[maybe_unused]] const "
            "gnnc::Tile<Body> &tile)");
  for (unsigned i = 0; i < plan.steps.size(); ++i)
    if (plan.parts[i] >= 0)
      body.line(Twine("gnnc::") + (plan.byThreads ? "keepOwnWeight<" : "keepWeight<") + stepName(i) + ">(args, tile);");
  body.close();
  body.open("struct Sums");
  for (unsigned i = 0; i < plan.steps.size(); ++i)
    if (plan.steps[i].kind == TileStep::Outer)
      body.line("gnnc::Outer<" + stepName(i) + ", Real, kThreads> s" + Twine(i) + ";");
    else if (plan.steps[i].kind == TileStep::Total)
      body.line("gnnc::Totals<" + stepName(i) + ", Real> s" + Twine(i) + ";");
  body.close("};");
  body.open(
      "GNNC_DEVICE static void step(const Args &args, const gnnc::Tile<Body> &tile, [[maybe_unused]] Sums &sums)");
  BitVector meets = plan.stepsAfterBarriers();
  for (unsigned i = 0; i < plan.steps.size(); ++i) {
    TileStep::Kind kind = plan.steps[i].kind;
    bool adds = kind == TileStep::Outer || kind == TileStep::Total;
    std::string names = stepName(i);
    while (plan.joinsSum(i + 1))
      names += ", " + stepName(++i);
    body.line(Twine("gnnc::") + functionOf(kind) + "<" + names + ">(args, tile" +
              (adds ? ", sums.s" + Twine(i) : Twine()) + ");");
    if (i + 1 < plan.steps.size() && meets[i + 1])
      body.line("__syncthreads();");
  }
  body.close();
  body.open("GNNC_DEVICE static void leave([[maybe_unused]] const Args &args, [[maybe_unused]] const gnnc::Tile<Body> "
            "&tile, [[maybe_unused]] const Sums &sums)");
  for (unsigned i = 0; i < plan.steps.size(); ++i)
    if (plan.steps[i].kind == TileStep::Outer || plan.steps[i].kind == TileStep::Total)
      body.line(Twine("gnnc::leave") + (plan.steps[i].kind == TileStep::Outer ? "Outer<" : "Totals<") + stepName(i) +
                ">(args, tile, sums.s" + Twine(i) + ");");
  body.close();
  if (along()) {
    body.open("GNNC_DEVICE static void finish(const Args &args, int owner, int members, gnnc::int64 first, gnnc::int64 "
              "last)");
    for (unsigned i = 0; i < plan.steps.size(); ++i)
      if (plan.steps[i].kind == TileStep::Sum)
        body.line("gnnc::finishSum<" + stepName(i) + ", Body>(args, owner, members, first, last);");
    body.close();
  } else {
    body.open("GNNC_DEVICE static void store(const Args &args, int at, Real sum)");
    for (auto [i, own] : llvm::enumerate(plan.steps)) {
      if (own.kind != TileStep::Outer && own.kind != TileStep::Total)
        continue;
      int64_t word = plan.sums[i].word, width = getFeatureElements(own.value.getType());
      body.open("if (at >= " + Twine(word) + " && at < " + Twine(word + width) + ")");
      mpk::AccumulateOp op = yield.getValues()[own.result].getDefiningOp<mpk::AccumulateOp>();
      std::string rows = numbers.extent(sweep.getOverAttr());
      writeNumber(sweep.getResults()[own.result], "at - " + Twine(word),
                  op.getKind() == ReduceKind::Mean ? rows + " > 0 ? sum / Real(" + rows + ") : Real(0)"
                                                   : std::string("sum"));
      body.close();
    }
    body.close();
  }
}

DeviceStep TileSweepPrinter::run() {
  step.name = name.str();
  // In one order, and the owner first.
  for (Value input : sweep.getInputs())
    if (!input.getDefiningOp<DegreeOp>())
      (void)numbers.buffer(input);
  for (Value result : sweep.getResults())
    (void)numbers.buffer(result);
  (void)numbers.rowNumber(AccessKind::Owner, {});
  body.open("");
  for (unsigned i = 0; i < plan.steps.size(); ++i)
    printStep(i);
  sequence();
  std::string space = numbers.extent(sweep.getOverAttr());
  if (along()) {
    std::string pointers = numbers.index({IndexKind::Pointers, sweep.getAlongAttr(), {}});
    body.line("GNNC_DEVICE static const int *pointers(const Args &args) { return " + Twine(pointers) + "; }");
    body.line("GNNC_DEVICE static gnnc::int64 numOwners(const Args &args) { return " + Twine(space) + "; }");
    body.line("GNNC_DEVICE static gnnc::int64 numPositions(const Args &args) { return __ldg(" + Twine(pointers) +
              " + " + space + "); }");
  } else {
    body.line("GNNC_DEVICE static gnnc::int64 numPositions(const Args &args) { return " + Twine(space) + "; }");
  }
  body.open("GNNC_DEVICE static void find([[maybe_unused]] const Args &args, int (&at)[kArrays], int position)");
  for (auto [i, find] : llvm::enumerate(numbers.arrays()))
    body.line("at[" + Twine(i) + "] = " + find + ";");
  body.close();
  body.close();

  out.open("namespace " + name + "_");
  out.line(std::string("using Real = ") + (element.isF64() ? "double" : "float") + ";");
  out.open("struct Args");
  for (auto [i, value] : llvm::enumerate(numbers.buffers)) {
    bool written = llvm::is_contained(sweep.getResults(), value) || isReplacedBy(sweep, value);
    out.line(Twine(written ? "" : "const ") + heldType(value) + " *b" + Twine(i) + ";");
  }
  for (size_t i = 0; i < numbers.indices.size(); ++i)
    out.line("const int *i" + Twine(i) + ";");
  for (size_t i = 0; i < numbers.extents.size(); ++i)
    out.line("gnnc::device::Extent n" + Twine(i) + ";");
  out.line("gnnc::Work work;");
  out.close("};");
  out.open("struct Body");
  out.line("using Real = " + name + "_::Real;");
  out.line("using Args = " + name + "_::Args;");
  out.line("static constexpr int kTileRows = " + Twine(plan.tileRows) + ", kThreads = " + Twine(plan.threads) +
           ", kArrays = " + Twine(numbers.arrays().size()) + ", kPlaces = " + Twine(plan.places) +
           ", kWords = " + Twine(plan.slotWords) + ";");
  out.line(Twine("static constexpr bool kSegments = ") + (along() ? "true" : "false") +
           ", kByThreads = " + (plan.byThreads ? "true" : "false") + ";");
  SmallVector<StringRef> lines;
  body.text().split(lines, '\n', -1, false);
  for (StringRef line : ArrayRef<StringRef>(lines).drop_front().drop_back()) // braces
    out.line(line.drop_front(2));
  out.close("};");
  out.close(("} // namespace " + name + "_").str());
  launches();
  return std::move(step);
}

void TileSweepPrinter::launches() {
  step.buffers = numbers.buffers;
  step.indices = numbers.indices;
  Word zero{WordKind::Zero, 0, {}};
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  bool leaves = plan.slotWords > 0;
  if (leaves)
    step.scratch.push_back({ScratchKind::Blocks, {}, plan.slotWords * bytes * (along() ? 2 : 1)});
  SmallVector<Word> words;
  for (size_t i = 0; i < step.buffers.size(); ++i)
    words.push_back({WordKind::Buffer, unsigned(i), {}});
  for (size_t i = 0; i < step.indices.size(); ++i)
    words.push_back({WordKind::Index, unsigned(i), {}});
  for (FlatSymbolRefAttr space : numbers.extents)
    words.push_back({WordKind::Extent, 0, space});
  words.append(8, zero);
  words.append({leaves ? Word{WordKind::Scratch, 0, {}} : zero, zero, Word{WordKind::Blocks, 0, {}}});
  auto launch = [&](const Twine &suffix, const Twine &code, int64_t threads, int64_t least) -> Launch & {
    std::string kernel = (name + suffix).str();
    out.line("extern \"C\" __global__ void __launch_bounds__(" + Twine(threads) + ", " + Twine(least) + ") " + kernel +
             "(const __grid_constant__ " + name + "_::Args args) { gnnc::followLaunch(); gnnc::" + code + "<" + name +
             "_::Body>(args); }");
    Launch record;
    record.kernel = kernel;
    record.threads = threads;
    record.words = words;
    step.launches.push_back(std::move(record));
    return step.launches.back();
  };
  {
    Launch &record = launch("", "tiles", plan.threads, plan.blocks);
    record.grid = GridKind::Elements;
    record.symbol = sweep.getOverAttr();
    if (FlatSymbolRefAttr map = sweep.getAlongAttr())
      record.symbol = SymbolTable::lookupNearestSymbolFrom<MapOp>(sweep, map).getFromAttr();
    record.perBlock = plan.tileRows;
    record.mostBlocksPerProcessor = plan.blocks;
    record.isCounted = true;
    int64_t arrays = int64_t(numbers.arrays().size()) * plan.tileRows + (along() ? 3 * plan.tileRows + 12 : 0);
    record.sharedBytes = llvm::alignTo(plan.places, 4) * bytes + arrays * 4;
  }
  if (along()) {
    Launch &record = launch("_finish", "finishTiles", plan.threads, 1);
    record.grid = GridKind::Elements;
    record.symbol = sweep.getOverAttr();
    record.perBlock = plan.threads;
  } else if (leaves) {
    Launch &record = launch("_add", "addTiles", 256, 1); // as addStrips wants
    record.grid = GridKind::Once;
    record.perElement = llvm::divideCeil(plan.slotWords, 32);
  }
  for (auto [i, result] : llvm::enumerate(sweep.getResults()))
    if (sweep.getYieldOf(i).getKind() == AccessKind::Member && isPartialMap(sweep, sweep.getAlongAttr()))
      step.zeroed.push_back(llvm::find(step.buffers, result) - step.buffers.begin());
}

/// Whether float32 products in tiles are made by tensor cores; double precision's are not.
static bool usesTensorCores(mpk::SweepOp sweep, const PrintOptions &options) {
  return getElementType(sweep.getResult(0).getType()).getElementType().isF32() &&
         options.products != ProductArithmetic::FMA && options.leastArchitecture >= 80;
}

static bool hasTiles(mpk::SweepOp sweep) {
  return llvm::any_of(sweep.getBody().front(), [](Operation &op) { return mpk::isTiled(&op); });
}

std::optional<DeviceStep> cuda::printTileSweep(mpk::SweepOp sweep, StringRef name, const PrintOptions &options,
                                               CodeWriter &out) {
  if (!hasTiles(sweep))
    return std::nullopt;
  bool onTensorCores = usesTensorCores(sweep, options);
  TilePlan plan(sweep, onTensorCores, options.sharedBytes);
  if (!plan.isPossible())
    return std::nullopt;
  return TileSweepPrinter(sweep, plan, name, options, onTensorCores, out).run();
}

bool cuda::hasTileKernels(ModuleOp module, const PrintOptions &options) {
  return !module
              .walk([&](mpk::SweepOp sweep) {
                return !hasTiles(sweep) ||
                               TilePlan(sweep, usesTensorCores(sweep, options), options.sharedBytes).isPossible()
                           ? WalkResult::advance()
                           : WalkResult::interrupt();
              })
              .wasInterrupted();
}
