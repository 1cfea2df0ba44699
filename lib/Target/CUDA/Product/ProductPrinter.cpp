//===- ProductPrinter.cpp - Matrix products as CUDA kernels ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses the tiles of Kernels/Product.cuh for a product's size.
//
//===----------------------------------------------------------------------===//

#include "Product/ProductPrinter.h"
#include "Product/EpiloguePrinter.h"
#include "Product/OuterSumTile.h"
#include "StepMemory.h"
#include "dialects/mpk/IR/SpreadRows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;

namespace {

/// Bytes of a weight's tile that stays in shared memory, so that two blocks fit a processor.
constexpr int64_t kMostResident = 48 << 10;

/// From this depth on a product has a kernel more, for few rows, in which warps share K (Kernels/SlicedProduct.cuh);
/// few are those of at most so many tiles, two for each processor of a large GPU.
constexpr int64_t kLeastSliced = 256, kFewTiles = 256;
/// Rows and depths of a tile there.
constexpr int64_t kSlicedRows = 32, kSlicedDepth = 64;

/// On sm_90, warpgroups do products of at least so many columns and depths: 64 rows each, so many threads a processor,
/// and so many columns at most, as registers allow. They are faster from so many of their blocks on, and outer sums
/// from so many rows on.
constexpr int64_t kLeastForWarpgroups = 64, kWarpgroupThreads = 512, kMostWarpgroupColumns = 64, kManyBlocks = 64,
                  kManyRows = 8192;
/// Where rows have 16 bits, or operands are rounded to TF32: sums have no totals up to so many depths, and leave room
/// for twice the columns (Kernels/WarpgroupProduct.cuh).
constexpr int64_t kMostDepthsOf16Bits = 512, kMostDepthsOfTF32 = 2048, kLeastForWide = 256;
/// Depths of a panel of a weight that does not fit shared memory: those of a total, or more where there is none to add.
constexpr int64_t kPanelOfTotal = 64, kPanel = 128;
/// Depths of products whose sides come through stages: fewer leave a weight in shared memory, and more need totals.
constexpr int64_t kLeastStaged = 512, kMostStaged = kMostDepthsOfTF32;
/// Bytes of a row in a stage of both sides (Kernels/WarpgroupStages.cuh), stages, and columns that registers allow
/// there.
constexpr int64_t kBytesOfStage = 128, kMostStages = 4, kMostStagedColumns = 160;
/// Threads that put one stage of a weight in order. They do it whatever elements there are.
constexpr int64_t kPlacingThreads = 512, kAllElements = int64_t(1) << 40;
/// Outer sums of rows of 16 bits have so many stages.
constexpr int64_t kOuterSumStages = 4, kWideOuterSumStages = 6;
/// Those of float32 that is rounded (Kernels/WarpgroupOuterStages.cuh): columns of the left side of a tile at most, of
/// the right side of a tile that is so wide and of others, numbers of a stage's right side that there are registers
/// for, places for it.
constexpr int64_t kMostOuterRows = 256, kMostOuterColumns = 128, kMostWideOuterColumns = 256, kMostOfOuterStage = 8192,
                  kOuterPlaces = 3;

struct Shape {
  int64_t batch = 1, rows = 1, k = 0, n = 0;
  int64_t tileRows = 0, tileColumns = 0, depth = 0, height = 0, width = 0;
  bool gathersLhs = false, gathersRhs = false, grouped = false;
  bool onTensorCores = false, split = false; ///< rectangles of warps then, not of threads
  int64_t stages = 0;
  bool resident = false;     ///< the weight's tile stays in shared memory
  bool storesHalves = false; ///< results of 16 bits go by way of shared memory, eight at a time
  int64_t fewRows = 0;       ///< elements below which there is a kernel for few; 0: there is none
  int64_t manyRows = 0;      ///< elements from which on warpgroups do it where there are any; 0: they never do

  int64_t threads() const { return tileRows / height * (tileColumns / width) * (onTensorCores ? 32 : 1); }
};

/// What both products share: their arguments in order.
class ProductStep {
public:
  ProductStep(Operation *op, StringRef name, const Shape &shape, FlatSymbolRefAttr over, FlatSymbolRefAttr group,
              FlatSymbolRefAttr gatherLhs, FlatSymbolRefAttr gatherRhs, CodeWriter &out)
      : shape(shape), over(over), group(group), out(out) {
    step.name = name.str();
    for (Value value : {op->getOperand(0), op->getOperand(1), Value(op->getResult(0))})
      words.push_back(buffer(value));
    // What the epilogue wants comes last.
    if (auto product = dyn_cast<mpk::ProductOp>(op); product && product.hasEpilogue()) {
      for (Value value : product.getExtras())
        if (auto degree = value.getDefiningOp<DegreeOp>())
          lastWords.push_back(index({IndexKind::Pointers, degree.getAlongAttr(), {}}));
        else
          lastWords.push_back(buffer(value));
      for (Value value : product.getResults())
        lastWords.push_back(buffer(value));
    }
    addRows(gatherLhs);
    addRows(gatherRhs);
    if (group)
      words.push_back(index({IndexKind::Members, group, {}}));
    else
      words.push_back(zero);
    element = getElementType(op->getResult(0).getType()).getElementType();
    held[0] = op->getOperand(0), held[1] = op->getOperand(1), held[2] = op->getResult(0);
  }

  /// `epilogue`: of a product that has one.
  void printShape(mpk::ProductOp epilogue = nullptr);
  Launch &launch(const std::string &suffix, const std::string &code, int64_t threads);
  /// Puts a weight in order for what launchWarpgroups prints next.
  Launch &launchPlacing();
  /// Of warpgroups, with a tile of its own, for sm_90 alone.
  /// `constants`: more of what the kernel wants to know.
  Launch &launchWarpgroups(const std::string &code, int64_t tileRows, int64_t tileColumns, const Twine &constants,
                           int64_t threadsOfProcessor = kWarpgroupThreads);
  int64_t elements() const { return shape.batch * shape.k * shape.n; }
  int64_t bytes() const { return elements() * element.getIntOrFloatBitWidth() / 8; }

  DeviceStep step;

private:
  Launch &add(const std::string &kernel, int64_t threads);
  Word buffer(Value value) {
    if (!llvm::is_contained(step.buffers, value))
      step.buffers.push_back(value);
    return {WordKind::Buffer, unsigned(llvm::find(step.buffers, value) - step.buffers.begin()), {}};
  }
  Word index(IndexRef ref) {
    step.indices.push_back(ref);
    return {WordKind::Index, unsigned(step.indices.size() - 1), {}};
  }
  void addRows(FlatSymbolRefAttr gather) {
    if (!gather)
      words.push_back(zero);
    else
      words.push_back(index(group ? IndexRef{IndexKind::Sorted, group, gather} : IndexRef{IndexKind::Raw, gather, {}}));
  }

  /// The template arguments of ProductArgs.
  std::string types() const {
    std::string text = "Real";
    for (Value value : held)
      text += (", " + heldType(value)).str();
    return llvm::any_of(held, isNarrow) ? text : "Real";
  }

  const Shape &shape;
  Value held[3]; ///< operands and result
  FlatSymbolRefAttr over, group;
  CodeWriter &out;
  Type element;
  const Word zero{WordKind::Zero, 0, {}};
  SmallVector<Word> words, lastWords;
  bool isPlaced = false; ///< whether a weight is put in order first
};

} // namespace

void ProductStep::printShape(mpk::ProductOp epilogue) {
  out.open("struct " + step.name + "_shape");
  out.line(std::string("using Real = ") + (element.isF64() ? "double" : "float") + ";");
  auto flag = [](bool is) { return is ? "true" : "false"; };
  bool finishes = epilogue && epilogue.hasEpilogue();
  if (finishes) {
    out.open("struct Args : gnnc::ProductArgs<" + types() + ">");
    EpiloguePrinter(epilogue, out).fields();
    out.close("};");
  } else {
    out.line("using Args = gnnc::ProductArgs<" + types() + ">;");
  }
  std::optional<EpiloguePrinter> printer;
  if (finishes)
    printer.emplace(epilogue, out).rows();
  else
    out.line("static constexpr bool kFoldsRows = false; struct Row {};");
  out.open("template <int V> GNNC_DEVICE static void finish(const Args &args, const Row &row, gnnc::int64 element, "
           "gnnc::int64 at, int feature, const Real *y, bool live = true)");
  if (finishes)
    printer->body();
  else
    out.line(Twine("if (live) gnnc::") + (isNarrow(held[2]) ? "writeRow" : "store") + "<V>(args.result + at, y);");
  out.close();
  out.line(Twine("static constexpr bool kStoresHalves = ") + flag(shape.storesHalves) + ";");
  out.line("static constexpr int kBatch = " + Twine(shape.batch) + ", kRows = " + Twine(shape.rows) +
           ", kK = " + Twine(shape.k) + ", kN = " + Twine(shape.n) + ";");
  out.line("static constexpr int kTileRows = " + Twine(shape.tileRows) +
           ", kTileColumns = " + Twine(shape.tileColumns) + ", kDepth = " + Twine(shape.depth) +
           (shape.onTensorCores ? ", kWarpRows = " : ", kHeight = ") + Twine(shape.height) +
           (shape.onTensorCores ? ", kWarpColumns = " : ", kWidth = ") + Twine(shape.width) + ";");
  if (shape.onTensorCores)
    out.line("static constexpr int kStages = " + Twine(shape.stages) +
             "; static constexpr bool kSplit = " + flag(shape.split) + ", kResident = " + flag(shape.resident) + ";");
  if (shape.fewRows || shape.manyRows)
    out.line("static constexpr int kFewRows = " + Twine(shape.fewRows) + ", kManyRows = " + Twine(shape.manyRows) +
             ";");
  out.line("static constexpr bool kGathersLhs = " + Twine(flag(shape.gathersLhs)) +
           ", kGathersRhs = " + flag(shape.gathersRhs) + ", kGrouped = " + flag(shape.grouped) + ";");
  out.close("};");
}

Launch &ProductStep::launchWarpgroups(const std::string &code, int64_t tileRows, int64_t tileColumns,
                                      const Twine &constants, int64_t threadsOfProcessor) {
  out.line("#ifdef GNNC_HAS_WARPGROUPS");
  out.line("struct " + step.name + "_many_shape : " + step.name + "_shape { static constexpr int kTileRows = " +
           Twine(tileRows) + ", kTileColumns = " + Twine(tileColumns) + constants + "; };");
  int64_t threads = tileRows * 2;
  if (isPlaced)
    out.line("extern \"C\" __global__ void __launch_bounds__(" + Twine(kPlacingThreads) + ") " + step.name +
             "_place(const __grid_constant__ " + step.name +
             "_shape::Args args) { gnnc::followLaunch(); gnnc::placeWeight<" + step.name + "_many_shape>(args); }");
  out.line("extern \"C\" __global__ void __launch_bounds__(" + Twine(threads) + ", " +
           Twine(threadsOfProcessor / threads) + ") " + step.name + "_many(const __grid_constant__ " + step.name +
           "_shape::Args args) { gnnc::followLaunch(); gnnc::" + code + "<" + step.name + "_many_shape>(args); }");
  out.line("#endif");
  Launch &record = add(step.name + "_many", threads);
  record.architecture = 90;
  return record;
}

Launch &ProductStep::launchPlacing() {
  isPlaced = true;
  Launch &record = add(step.name + "_place", kPlacingThreads);
  record.architecture = 90;
  return record;
}

Launch &ProductStep::launch(const std::string &suffix, const std::string &code, int64_t threads) {
  out.line("extern \"C\" __global__ void __launch_bounds__(" + Twine(threads) +
           (shape.onTensorCores && threads == 256 ? ", 2" : "") + ") " + step.name + suffix +
           "(const __grid_constant__ " + step.name + "_shape::Args args) { gnnc::followLaunch(); gnnc::" + code + "<" +
           step.name + "_shape>(args); }");
  return add(step.name + suffix, threads);
}

Launch &ProductStep::add(const std::string &kernel, int64_t threads) {
  Launch record;
  record.kernel = kernel;
  record.threads = threads;
  record.words = words;
  for (WordKind kind : {WordKind::Items, WordKind::NumItems, WordKind::NumHeavyItems, WordKind::Heavy,
                        WordKind::NumHeavy, WordKind::HeavyOfSlot})
    record.words.push_back(group ? Word{kind, 0, group} : zero);
  bool scratch = !step.scratch.empty();
  record.words.push_back(scratch && group ? Word{WordKind::Scratch, 0, {}} : zero);
  record.words.push_back(zero);
  record.words.push_back(scratch && !group ? Word{WordKind::Scratch, 0, {}} : zero);
  record.words.push_back({WordKind::BlocksBefore, unsigned(step.launches.size()), {}});
  record.words.push_back({WordKind::Blocks, 0, {}});
  record.words.push_back({WordKind::Extent, 0, over});
  record.words.append(lastWords);
  step.launches.push_back(std::move(record));
  return step.launches.back();
}

static int64_t powerOfTwo(int64_t size, int64_t least, int64_t most) {
  return std::clamp<int64_t>(llvm::PowerOf2Ceil(size), least, most);
}

/// As Kernels/TensorProduct.cuh has it.
static int64_t paddedRow(int64_t columns) { return columns == 8 ? 8 : columns + 8; }

/// Bytes in which results of so many warps wait to be stored, columns of 16 rows at a time: none where rows of n
/// numbers are stored as they are.
static int64_t resultBytes(int64_t n, int64_t columns, int64_t warps, bool folds, bool halves) {
  if (folds || (n % 8 == 0 && !halves))
    return 0;
  return warps * 16 * (columns % 16 == 0 ? columns + 8 : columns) * 4;
}

/// A row of x of a stage, in words; of lanes that have pairs of its numbers.
static int64_t paddedDepth(int64_t depth, bool narrow, bool paired = false) {
  return !narrow ? depth + (paired ? 8 : 4) : (depth == 8 ? 24 : depth + 8) / 2;
}

/// Whether tensor cores can do it; says so in `shape`.
static bool useTensorCores(Operation *op, const PrintOptions &options, Shape &shape) {
  RankedTensorType type = getElementType(op->getResult(0).getType());
  shape.onTensorCores =
      type.getElementType().isF32() && options.products != ProductArithmetic::FMA && options.leastArchitecture >= 80;
  shape.split = options.products == ProductArithmetic::TF32x3;
  shape.stages = 3;
  return shape.onTensorCores;
}

/// Columns of a warpgroup's tile: as few tiles as there must be, as narrow as they may be.
static int64_t warpgroupColumns(int64_t n, int64_t most) {
  return llvm::alignTo(llvm::divideCeil(n, llvm::divideCeil(n, most)), 16);
}

namespace {
/// Columns of a tile of warpgroups, depths of a panel of the weight (0: all are in shared memory), bytes of that;
/// stages of both sides (0: rows come straight to registers).
struct WarpgroupTile {
  int64_t columns = 0, panel = 0, bytes = 0, stages = 0;
};
} // namespace

/// Whether both sides come through stages (Kernels/WarpgroupStages.cuh): of rows of whole pieces, which nothing folds,
/// and of a weight that need not be scaled.
static bool isStaged(const Shape &shape, mpk::ProductOp op, bool folds) {
  Type type = op.getLhs().getType().getElementType();
  return !shape.split && !folds && !type.isF16() && shape.k >= kLeastStaged && shape.k <= kMostStaged &&
         shape.n > kMostWarpgroupColumns && shape.k % (128 / type.getIntOrFloatBitWidth()) == 0;
}

static WarpgroupTile tileOfWarpgroups(const Shape &shape, mpk::ProductOp op, bool folds, bool storesHalves) {
  bool narrow = isNarrow(op.getLhs());
  if (isStaged(shape, op, folds)) {
    WarpgroupTile result{warpgroupColumns(shape.n, kMostStagedColumns), kBytesOfStage / (narrow ? 2 : 4)};
    int64_t bytesOfStage = kBytesOfStage * (kWarpgroupThreads / 2 + result.columns);
    int64_t results =
        resultBytes(shape.n, result.columns % 32 == 0 ? 32 : 16, kWarpgroupThreads / 32, folds, storesHalves);
    constexpr int64_t arrivals = 64;
    result.stages = std::min<int64_t>(kMostStages, (kMostSharedBytes - results - arrivals) / bytesOfStage);
    result.bytes = result.stages * bytesOfStage + arrivals + results;
    return result;
  }
  bool hasTotals = narrow ? shape.k > kMostDepthsOf16Bits : shape.split || shape.k > kMostDepthsOfTF32;
  int64_t bytesOfNumber = (shape.split ? 8 : 4) / (narrow ? 2 : 1), depths = llvm::alignTo(shape.k, narrow ? 32 : 16);
  auto tile = [&](int64_t mostColumns, int64_t panel) {
    WarpgroupTile result{warpgroupColumns(shape.n, mostColumns), panel, 0};
    // Two panels lie there as they are multiplied, one as it was copied.
    int64_t bytesOfColumn = panel ? panel * (2 * bytesOfNumber + 4) : depths * bytesOfNumber;
    result.bytes = bytesOfColumn * result.columns + resultBytes(shape.n, result.columns % 32 == 0 ? 32 : 16,
                                                                kWarpgroupThreads / 32, folds, storesHalves);
    return result;
  };
  // Wide tiles of float32 leave no registers for an epilogue, and are worth it only where a block multiplies long
  // enough.
  bool mayBeWide = !hasTotals && !folds && (narrow || (shape.k >= kLeastForWide && !op.hasEpilogue()));
  if (WarpgroupTile wide = tile(2 * kMostWarpgroupColumns, 0); mayBeWide && wide.bytes <= kMostSharedBytes)
    return wide;
  if (WarpgroupTile whole = tile(kMostWarpgroupColumns, 0); whole.bytes <= kMostSharedBytes)
    return whole;
  // To read rows of float32 once more costs less than panels do.
  if (shape.n <= kMostWarpgroupColumns && !narrow)
    return tile(kMostWarpgroupColumns / 2, 0);
  return mayBeWide ? tile(2 * kMostWarpgroupColumns, kPanel)
                   : tile(kMostWarpgroupColumns, narrow ? kPanel : kPanelOfTotal);
}

static bool useWarpgroups(const Shape &shape, const PrintOptions &options) {
  return options.hasWarpgroups && shape.onTensorCores && !shape.grouped &&
         std::min(shape.k, shape.n) >= kLeastForWarpgroups;
}

/// After what warpgroups do there comes all of it for other GPUs, and what is too little for them for theirs.
static void addOthers(DeviceStep &step, int64_t manyRows) {
  step.launches.back().architecture = -90;
  Launch less = step.launches.back();
  less.architecture = 90, less.belowMembers = manyRows;
  step.launches.push_back(std::move(less));
}

DeviceStep cuda::printProduct(mpk::ProductOp op, StringRef name, const PrintOptions &options, CodeWriter &out) {
  Shape shape;
  shape.batch = op.getBatch(), shape.rows = op.getRows(), shape.k = op.getK(), shape.n = op.getN();
  shape.gathersLhs = bool(op.getGatherAttr());
  shape.grouped = bool(op.getGroupAttr());
  shape.tileRows = 128;
  int64_t sharedBytes = 0;
  WarpgroupTile many;
  if (useTensorCores(op, options, shape)) {
    // As few tiles as there must be, as narrow as they may be: warps beside each other have whole fragments each.
    shape.tileColumns = powerOfTwo(shape.n, 8, 32);
    if (int64_t tiles = llvm::divideCeil(shape.n, 64); shape.n > 32)
      shape.tileColumns = llvm::alignTo(llvm::divideCeil(shape.n, tiles), 16);
    // A row that is folded lies in four lanes of one warp.
    bool folds = op.hasEpilogue() && mpk::foldsRows(op.getEpilogue().front());
    many = tileOfWarpgroups(shape, op, folds, /*storesHalves=*/false);
    // Not where there is room for fewer columns then, so that rows would be read more often.
    if (llvm::any_of(op.getResults(), isNarrow)) {
      WarpgroupTile halves = tileOfWarpgroups(shape, op, folds, /*storesHalves=*/true);
      shape.storesHalves = halves.columns == many.columns && halves.bytes <= kMostSharedBytes;
      if (shape.storesHalves)
        many = halves;
    }
    shape.height = folds ? 16 : 32;
    shape.width = shape.tileColumns / (folds || shape.tileColumns <= 32 ? 1 : 2);
    // Rows that are copied number by number need a register for each.
    shape.depth = powerOfTwo(shape.k, 8, shape.k % 4 == 0 ? 32 : 16);
    int64_t weight = llvm::alignTo(shape.k, shape.depth) * (2 * shape.tileColumns + 4) * 4;
    auto rowsOf = [&](bool paired) {
      return shape.stages * shape.tileRows * paddedDepth(shape.depth, isNarrow(op.getLhs()), paired) * 4 +
             resultBytes(shape.n, shape.width, shape.threads() / 32, folds, shape.storesHalves);
    };
    shape.resident = !op.getGroupAttr() && weight <= kMostResident && weight + rowsOf(true) <= options.sharedBytes;
    auto bytes = [&] {
      return rowsOf(shape.resident) +
             (shape.resident ? weight : shape.stages * shape.depth * paddedRow(shape.tileColumns) * 4);
    };
    if (bytes() > options.sharedBytes) // only what is not resident
      shape.depth = std::min<int64_t>(shape.depth, 16);
    sharedBytes = bytes();
    if (shape.k >= kLeastSliced && !op.getGroupAttr() && !folds)
      shape.fewRows =
          kFewTiles * kSlicedRows / (shape.batch * llvm::divideCeil(shape.n, shape.tileColumns) * shape.rows);
    if (useWarpgroups(shape, options) && many.bytes <= kMostSharedBytes && !(folds && many.columns < shape.n))
      shape.manyRows = std::max<int64_t>(1, kManyBlocks * kWarpgroupThreads / 2 /
                                                (shape.batch * llvm::divideCeil(shape.n, many.columns) * shape.rows));
  } else { // At most 256 threads, each with a rectangle that grows with the tile; at most 8 x 8.
    bool isWide = op.getRhs().getType().getElementType().isF64();
    shape.tileRows = isWide ? 64 : 128;
    shape.tileColumns = powerOfTwo(shape.n, 16, isWide ? 64 : 128);
    shape.width = shape.tileColumns >= 128 ? 8 : 4;
    shape.height = shape.tileColumns >= 64 ? 8 : 4;
    shape.depth = powerOfTwo(shape.k, 4, 16);
  }
  ProductStep builder(op, name, shape, op.getOverAttr(), op.getGroupAttr(), op.getGatherAttr(), {}, out);
  builder.printShape(op);
  auto place = [&](Launch &record, int64_t tileRows, int64_t tileColumns) {
    record.grid = shape.grouped ? GridKind::Items : GridKind::Elements;
    record.symbol = shape.grouped ? op.getGroupAttr() : op.getOverAttr();
    record.perBlock = shape.grouped ? 1 : tileRows;
    record.perElement = shape.grouped ? 1 : shape.rows;
    record.spread(shape.batch * llvm::divideCeil(shape.n, tileColumns));
  };
  auto launch = [&](const std::string &suffix, const std::string &code) -> Launch & {
    Launch &record = builder.launch(suffix, code, shape.threads());
    place(record, shape.tileRows, shape.tileColumns);
    record.sharedBytes = sharedBytes;
    // Sixteen warps on each processor go through all rows.
    if (shape.onTensorCores && !shape.grouped)
      record.mostBlocksPerProcessor = std::max<int64_t>(1, 512 / shape.threads());
    return record;
  };
  if (shape.fewRows) {
    Launch &few = launch("_few", "slicedProduct");
    few.perBlock = kSlicedRows, few.belowMembers = shape.fewRows;
    few.sharedBytes =
        shape.stages * 4 *
        (kSlicedRows * paddedDepth(kSlicedDepth, isNarrow(op.getLhs())) + kSlicedDepth * paddedRow(shape.tileColumns));
    launch("", "tallProduct").leastMembers = shape.fewRows;
  } else {
    launch("", shape.manyRows ? "tallProduct" : shape.onTensorCores ? "tensorProduct" : "product");
  }
  if (shape.manyRows) {
    addOthers(builder.step, shape.manyRows);
    if (many.stages) { // The weight is put in order first.
      int64_t stages = shape.batch * llvm::divideCeil(shape.n, many.columns) * llvm::divideCeil(shape.k, many.panel);
      builder.step.scratch.push_back({ScratchKind::Elements, {}, stages * many.columns * kBytesOfStage});
      Launch &weight = builder.launchPlacing();
      weight.grid = GridKind::Elements, weight.symbol = op.getOverAttr();
      weight.perBlock = kAllElements, weight.leastMembers = shape.manyRows;
      weight.spread(stages);
    }
    std::string constants = ", kPanel = " + std::to_string(many.panel);
    if (many.stages)
      constants += ", kStages = " + std::to_string(many.stages);
    Launch &launch = builder.launchWarpgroups(many.stages ? "stagedProduct" : "warpgroupProduct", kWarpgroupThreads / 2,
                                              many.columns, constants);
    place(launch, kWarpgroupThreads / 2, many.columns);
    launch.sharedBytes = many.bytes, launch.leastMembers = shape.manyRows, launch.mostBlocksPerProcessor = 1;
  }
  if (shape.grouped && isPartialMap(op, op.getGroupAttr()))
    builder.step.zeroed.push_back(llvm::find(builder.step.buffers, Value(op.getResult(0))) -
                                  builder.step.buffers.begin());
  return std::move(builder.step);
}

namespace {
/// An outer sum by warpgroups: columns of both sides that a block takes, and what it keeps of them in shared memory.
struct OuterTile {
  std::string code;
  int64_t rows = 0, columns = 0, stages = 0, bytes = 0;
  std::string constants;       ///< beside kStages
  bool fillsProcessor = false; ///< one block is all that a processor's memory has room for
};
} // namespace

static OuterTile tileOfWarpgroups(const Shape &shape, mpk::OuterSumOp op) {
  auto evenly = [](int64_t size, int64_t most) { return llvm::divideCeil(size, llvm::divideCeil(size, most)); };
  bool isLeftNarrow = isNarrow(op.getLhs()), isRightNarrow = isNarrow(op.getRhs());
  // Each row is one copy, of pieces of 16 bytes.
  if (!shape.split && !isLeftNarrow && !isRightNarrow && shape.k % 4 == 0 && shape.n % 4 == 0) {
    OuterTile tile;
    tile.code = "stagedOuterSum", tile.rows = llvm::alignTo(evenly(shape.k, kMostOuterRows), 64);
    bool isWide = tile.rows > kMostOuterRows / 2;
    tile.columns = warpgroupColumns(shape.n, isWide ? kMostOuterColumns : kMostWideOuterColumns);
    int64_t rowsOfStage = !isWide && 64 * tile.columns <= kMostOfOuterStage ? 64 : 32;
    int64_t bytesOfStage = rowsOfStage * 4 * (tile.rows + 8);
    int64_t others = kOuterPlaces * rowsOfStage * 4 * tile.columns + kMostStages * 8;
    tile.stages = std::min<int64_t>(kMostStages, (kMostSharedBytes - others) / bytesOfStage);
    tile.bytes = tile.stages * bytesOfStage + others, tile.fillsProcessor = true;
    tile.constants = ", kStageRows = " + std::to_string(rowsOfStage);
    return tile;
  }
  // Rows of an odd length cannot be copied as they are.
  bool narrow = isLeftNarrow && isRightNarrow && shape.k % 2 == 0 && shape.n % 2 == 0;
  // Tiles of 128 columns read the left side half as often, and one such block fills a processor's memory.
  bool wide = narrow && shape.n > kMostWarpgroupColumns && shape.k > 64;
  int64_t most = wide ? 128 : kWarpgroupThreads / 2;
  OuterTile tile;
  tile.code = "warpgroupOuterSum", tile.rows = powerOfTwo(evenly(shape.k, most), 64, most);
  tile.columns = warpgroupColumns(shape.n, wide ? 2 * kMostWarpgroupColumns : kMostWarpgroupColumns);
  tile.fillsProcessor = wide;
  if (narrow)
    tile.stages = wide ? kWideOuterSumStages : kOuterSumStages;
  tile.bytes = narrow ? tile.stages * 64 * (tile.rows + tile.columns) * 2
                      : 2 * 64 * tile.columns * (shape.split && !isRightNarrow ? 8 : 4);
  return tile;
}

DeviceStep cuda::printOuterSum(mpk::OuterSumOp op, StringRef name, const PrintOptions &options, CodeWriter &out) {
  Shape shape;
  shape.batch = op.getBatch(), shape.k = op.getK(), shape.n = op.getN();
  shape.grouped = bool(op.getAlongAttr());
  shape.depth = 16;
  if (useTensorCores(op, options, shape)) {
    OuterSumTile tile = tileOuterSum(shape.k, shape.n, shape.depth, shape.stages);
    shape.tileRows = tile.rows, shape.tileColumns = tile.columns;
    shape.height = tile.height, shape.width = tile.width;
  } else {
    shape.tileRows = powerOfTwo(shape.k, 16, 64);
    shape.tileColumns = powerOfTwo(shape.n, 16, 64);
    shape.height = 4;
    shape.width = 4;
  }
  shape.gathersLhs = bool(op.getGatherLhsAttr());
  shape.gathersRhs = bool(op.getGatherRhsAttr());
  // One warpgroup a block would wait for its own copies.
  if (useWarpgroups(shape, options) && shape.k > 64)
    shape.manyRows = kManyRows;
  ProductStep builder(op, name, shape, op.getOverAttr(), op.getAlongAttr(), op.getGatherLhsAttr(),
                      op.getGatherRhsAttr(), out);
  builder.step.scratch.push_back(
      {shape.grouped ? ScratchKind::Slots : ScratchKind::Blocks, op.getAlongAttr(), builder.bytes()});
  builder.printShape();
  // About sixteen warps on each processor; more would only leave more partial sums, each as large as the weight.
  auto place = [&](Launch &launch, int64_t tileRows, int64_t tileColumns) {
    launch.grid = shape.grouped ? GridKind::Items : GridKind::Elements;
    launch.symbol = shape.grouped ? op.getAlongAttr() : op.getOverAttr();
    // Of few rows a block has no more than make its partial sum worth writing, so that there are blocks enough.
    launch.perBlock = shape.grouped ? 1 : powerOfTwo(shape.k * shape.n / (shape.k + shape.n), 64, 256);
    launch.spread(shape.batch * llvm::divideCeil(shape.k, tileRows) * llvm::divideCeil(shape.n, tileColumns));
    launch.isCounted = !shape.grouped;
    int64_t most = shape.onTensorCores ? std::max<int64_t>(1, 512 / launch.threads) : 4;
    launch.mostBlocksPerProcessor = shape.grouped ? 0 : most;
  };
  const char *code = shape.manyRows ? "fewOuterSum" : shape.onTensorCores ? "tensorOuterSum" : "outerSum";
  place(builder.launch("", code, shape.threads()), shape.tileRows, shape.tileColumns);
  if (shape.manyRows) {
    addOthers(builder.step, shape.manyRows);
    OuterTile tile = tileOfWarpgroups(shape, op);
    Launch &many =
        builder.launchWarpgroups(tile.code, tile.rows, tile.columns,
                                 tile.constants + (tile.stages ? ", kStages = " + std::to_string(tile.stages) : ""),
                                 tile.fillsProcessor ? tile.rows * 2 : kWarpgroupThreads);
    place(many, tile.rows, tile.columns);
    if (tile.fillsProcessor)
      many.mostBlocksPerProcessor = 1;
    many.leastMembers = shape.manyRows, many.sharedBytes = tile.bytes;
  }
  Launch &launch = builder.launch("_add", "addPartials", 256);
  launch.grid = shape.grouped ? GridKind::HeavyOwners : GridKind::Once;
  launch.symbol = op.getAlongAttr();
  launch.perElement = llvm::divideCeil(builder.elements(), 32); // All along x: the other dimensions end at 65535.
  return std::move(builder.step);
}
