//===- SweepSchedules.cpp - Configuration and launches of a sweep ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many threads, lanes and owners a warp; which kernels there are, and how they are started.
//
//===----------------------------------------------------------------------===//

#include "Sweep/SweepPrinterImpl.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;
using mpk::AccessKind;
using mpk::Level;

constexpr int64_t kMostSharedMemory = 48 << 10;
/// Of partial totals that one block would take long to add up, so many blocks add up parts first.
constexpr int64_t kCombiningBlocks = 64;
/// Numbers of a total from which that pays.
constexpr int64_t kWideTotal = 128;
/// Live-value thresholds for 32 and 40 registers: with too few registers the rows in flight are loaded one after the
/// other.
constexpr int64_t kLeastBytes = 20 * 4, kFewBytes = 24 * 4;
/// Threads that add up an owner's parts: one owner may have all members.
constexpr int64_t kMergingThreads = 512;
/// Of a body that is compiled once more for owners with few members.
constexpr int64_t kMostLinesOfFew = 200;

int64_t SweepPrinter::sumsWords(unsigned number) {
  const WalkBody &walk = body.walks[number];
  int64_t words = 0;
  for (const Statistic &statistic : walk.statistics)
    words += 2 * heldBy(axes.of(statistic.score), axes);
  for (int i : walk.accumulates) {
    mpk::AccumulateOp op = plan.accumulates[i].op;
    words += heldBy(axes.of(op.getInput()), axes) * (namesWinner(op.getKind()) ? 2 : 1);
  }
  return words;
}

void SweepPrinter::configuration() {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t groupBytes = print.stagingNumbers() * bytes;
  while (layout.threads > 32 && layout.threads / layout.lanes * groupBytes > kMostSharedMemory)
    layout.threads /= 2;
  int64_t totalBytes = totalsWords() * layout.lanes * bytes; // of one warp
  while (layout.threads > 32 && layout.threads / 32 * totalBytes > kMostSharedMemory)
    layout.threads /= 2;
  while (combineThreads > 32 &&
         combineThreads / 32 * totalBytes + combineThreads / layout.lanes * groupBytes > kMostSharedMemory)
    combineThreads /= 2;

  out.open("namespace " + kernel + "_");
  out.line(std::string("using Real = ") + (element.isF64() ? "double" : "float") + ";");
  for (unsigned i = 0; i < axes.size(); ++i) {
    const Atom &atom = axes[i];
    out.line("// " + print.atomName(i) + " of " + Twine(atom.extent) + ": " + Twine(atom.tiles) + " tiles, " +
             Twine(atom.registers) + " registers, " + Twine(atom.lanes) + " lanes, " + Twine(atom.vector) +
             " side by side");
  }
  out.open("struct Args");
  for (auto [i, value] : llvm::enumerate(step.buffers)) {
    bool written = llvm::is_contained(sweep.getResults(), value) || isReplaced(value);
    out.line(Twine(written ? "" : "const ") + heldType(value) + " *b" + Twine(i) + ";");
  }
  for (size_t i = 0; i < step.indices.size(); ++i)
    out.line("const int *i" + Twine(i) + ";");
  for (size_t i = 0; i < extents.size(); ++i)
    out.line("gnnc::device::Extent n" + Twine(i) + ";");
  out.line(onlyRows() ? "gnnc::Rows work;" : "gnnc::Work work;");
  if (plan.walks > 0)
    out.line("gnnc::Part parts[" + Twine(ways().size() + hasFew()) + "];");
  out.close("};");
  out.open("struct Body");
  out.line("using Real = " + kernel + "_::Real;");
  out.line("using Args = " + kernel + "_::Args;");
  out.line("static constexpr int kLanes = " + Twine(layout.lanes) +
           ", kSplits = " + Twine(plan.walks ? 32 / layout.lanes : 1) +
           ", kWarps = 1, kFlight = " + Twine(layout.flight) + ", kThreads = " + Twine(layout.threads) +
           ", kTiles = " + Twine(layout.tiles) + ", kWalks = " + Twine(plan.walks) + ";");
  out.line(std::string("static constexpr bool kIsLight = ") + (isLight() ? "true;" : "false;"));
  std::string starts;
  int64_t states = 0;
  for (unsigned walk = 0; walk + 1 < plan.walks; ++walk) {
    starts += "walk == " + std::to_string(walk) + " ? " + std::to_string(states) + " : ";
    states += sumsWords(walk);
  }
  out.line("static constexpr int kCombineThreads = " + Twine(combineThreads) +
           ", kStaging = " + Twine(print.stagingNumbers()) + ", kStateWords = " + Twine(states) + ";");
  out.line("GNNC_DEVICE static constexpr int stateAt(int walk) { return " + starts + "0; }");
  SmallVector<StringRef> lines;
  members.text().split(lines, '\n', -1, false);
  for (StringRef line : ArrayRef<StringRef>(lines).drop_front().drop_back()) // braces
    out.line(line.drop_front(2));
  out.close("};");
  out.close("} // namespace " + kernel + "_");
}

/// Whether the warps of a block can merge what they have of an item's sums: in shared memory, beside the totals'.
bool SweepPrinter::canShareBlocks() {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, warps = layout.threads / 32, words = totalsWords();
  for (unsigned walk = 0; walk < plan.walks; ++walk)
    words += sumsWords(walk);
  return warps > 1 && warps * words * layout.lanes * bytes <= kMostSharedMemory;
}

/// Threads that add up what the items of an owner have left, of a walk: as many as have room for their sums.
int64_t SweepPrinter::mergingThreads(unsigned walk) {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8, words = (sumsWords(walk) + totalsWords()) * layout.lanes;
  int64_t threads = kMergingThreads;
  while (threads > layout.threads &&
         (threads / 32 * words + threads / layout.lanes * print.stagingNumbers()) * bytes > kMostSharedMemory)
    threads /= 2;
  return threads;
}

/// What a lane holds throughout a walk.
int64_t SweepPrinter::walkBytes() { return layout.walkNumbers * element.getIntOrFloatBitWidth() / 8; }

/// Whether that is little, and all that a lane holds: random numbers are made in a dozen registers, a running maximum
/// scales what was summed before, and totals, and what an operation before or after a walk takes and gives, are held
/// too.
bool SweepPrinter::isLight() {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  auto numbersOf = [&](Operation &op) {
    llvm::SmallDenseSet<Value> values;
    for (Value operand : op.getOperands())
      if (!operand.getDefiningOp<ConstantOp>())
        values.insert(operand);
    values.insert(op.result_begin(), op.result_end());
    int64_t numbers = 0;
    for (Value value : values)
      numbers += heldBy(axes.of(value), axes);
    return numbers;
  };
  auto holdsMore = [&](Operation &op) {
    auto accumulate = dyn_cast<mpk::AccumulateOp>(op);
    return isa<RandomOp, mpk::SoftmaxOp>(op) || (accumulate && isStatistic(accumulate.getKind())) ||
           numbersOf(op) * bytes > kFewBytes;
  };
  return layout.walkNumbers > 0 && walkBytes() + totalsWords() * bytes <= kFewBytes &&
         llvm::none_of(sweep.getBody().front(), holdsMore);
}

/// Whether owners with few members have a kernel of their own, with one member in flight: what several would take is
/// better left to more owners at a time. Of those that hold little there are as many as fit already, and a long body
/// would be one more large kernel to compile.
bool SweepPrinter::hasFew() { return layout.flight > 1 && !isLight() && members.text().count('\n') <= kMostLinesOfFew; }

/// How items may be shared out, most groups first. Where owners have few members, fewer groups leave fewer idle, and a
/// warp has several owners.
SmallVector<SweepPrinter::Way> SweepPrinter::ways() {
  int64_t most = 32 / layout.lanes;
  SmallVector<Way> found;
  if (canShareBlocks())
    found.push_back({layout.threads / 32, most});
  found.push_back({1, most});
  if (most > 2)
    found.push_back({1, 2});
  if (most > 1)
    found.push_back({1, 1});
  return found;
}

void SweepPrinter::launches() {
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  // Without a walk there is no use for a worklist: what depends on the members is their number.
  FlatSymbolRefAttr along = plan.walks > 0 ? sweep.getOwnersAttr() : FlatSymbolRefAttr();
  int64_t slotBytes = 0, stateBytes = 0;
  for (unsigned walk = 0; walk < plan.walks; ++walk) {
    int64_t own = sumsWords(walk) * layout.lanes * layout.tiles * bytes;
    slotBytes = std::max(slotBytes, own);
    stateBytes += walk + 1 < plan.walks ? own : 0;
  }
  unsigned scratchNumber = 0;
  auto scratch = [&](ScratchKind kind, int64_t size) {
    step.scratch.push_back({kind, along, size});
    return Word{WordKind::Scratch, scratchNumber++, {}};
  };
  Word zero{WordKind::Zero, 0, {}};
  unsigned numWays = along ? ways().size() : 0, numParts = numWays + (along && hasFew());
  Word slots = along ? scratch(ScratchKind::Slots, slotBytes) : zero;
  Word states = along ? scratch(ScratchKind::HeavyOwners, stateBytes) : zero;
  Word partials =
      hasTotals() ? scratch(ScratchKind::Blocks, totalsWords() * layout.lanes * layout.tiles * bytes) : zero;
  auto words = [&] {
    SmallVector<Word> list;
    // The blocks of all ways are counted as they lie in one grid.
    unsigned before = step.launches.size() < numWays ? 0 : step.launches.size();
    for (size_t i = 0; i < step.buffers.size(); ++i)
      list.push_back({WordKind::Buffer, unsigned(i), {}});
    for (size_t i = 0; i < step.indices.size(); ++i)
      list.push_back({WordKind::Index, unsigned(i), {}});
    for (FlatSymbolRefAttr space : extents)
      list.push_back({WordKind::Extent, 0, space});
    if (onlyRows()) {
      list.push_back({WordKind::Extent, 0, sweep.getOverAttr()});
      return list;
    }
    if (along) {
      for (WordKind kind : {WordKind::Items, WordKind::NumItems, WordKind::NumHeavyItems, WordKind::Heavy,
                            WordKind::NumHeavy, WordKind::HeavyOfSlot})
        list.push_back({kind, 0, along});
    } else {
      list.append({zero, Word{WordKind::Extent, 0, sweep.getOverAttr()}, zero, zero, zero, zero});
    }
    list.append({slots, states, partials, Word{WordKind::BlocksBefore, before, {}}, Word{WordKind::Blocks, 0, {}}});
    for (unsigned part = 0; part < numParts; ++part)
      for (WordKind kind : {WordKind::PartItems, WordKind::PartNumItems, WordKind::PartBlocks})
        list.push_back({kind, part, {}});
    return list;
  };
  auto record = [&](const std::string &suffix, GridKind grid, int64_t perBlock, bool isCounted,
                    int64_t threads) -> Launch & {
    Launch launch;
    launch.kernel = kernel + suffix;
    launch.grid = grid;
    launch.symbol = grid == GridKind::Elements ? sweep.getOverAttr() : along;
    launch.perBlock = perBlock;
    launch.spread(layout.tiles);
    launch.threads = threads;
    launch.sharedBytes = threads / layout.lanes * print.stagingNumbers() * bytes;
    if (threads > 32 && hasTotals())
      launch.staticSharedBytes = threads / 32 * totalsWords() * layout.lanes * bytes;
    launch.isCounted = isCounted;
    launch.mostBlocksPerProcessor = isCounted ? 12 : 0;
    launch.words = words();
    step.launches.push_back(std::move(launch));
    return step.launches.back();
  };
  auto entry = [&](const std::string &suffix, const std::string &code, int64_t threads) {
    // Where few numbers are held, all or three quarters of a processor's warps can be there; the compiler would rather
    // have some more registers, or load rows one after the other where it could have had more.
    std::string bounds = std::to_string(threads);
    if (suffix.empty() && isLight() && threads == 128)
      bounds += walkBytes() <= kLeastBytes ? ", GNNC_MOST_BLOCKS" : ", GNNC_MOST_BLOCKS * 3 / 4";
    out.line("extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + kernel + suffix +
             "(const __grid_constant__ " + kernel + "_::Args args) { gnnc::followLaunch(); gnnc::" + code +
             "(args); }");
  };
  auto launch = [&](const std::string &suffix, const std::string &code, GridKind grid, int64_t perBlock, bool isCounted,
                    int64_t threads) -> Launch & {
    entry(suffix, code, threads);
    return record(suffix, grid, perBlock, isCounted, threads);
  };
  std::string type = kernel + "_::Body";
  int64_t groups = layout.threads / layout.lanes;
  if (!along) {
    if (!isPart)
      entry("", "rows<" + type + ">", layout.threads);
    record("", GridKind::Elements, groups, hasTotals(), layout.threads);
  } else {
    auto inWay = [&](Way way) {
      return "gnnc::InWay<" + type + ", " + std::to_string(way.warps) + ", " + std::to_string(way.splits) + ">";
    };
    SmallVector<Way> all = ways();
    std::string bodies;
    for (Way way : all)
      bodies += (bodies.empty() ? "" : ", ") + inWay(way);
    entry("", "sweep<" + bodies + ">", layout.threads);
    // Each has the items, or the worklists, with a step's worth of members for each of its groups, and whole blocks
    // those with four: merging its warps costs a block about as much as a step.
    int64_t below = 0;
    for (auto [i, way] : llvm::enumerate(all)) {
      bool isLast = i + 1 == all.size(), whole = way.warps > 1;
      Launch &part = record("", GridKind::Items, whole ? 1 : layout.threads / layout.lanes / way.splits, hasTotals(),
                            layout.threads);
      part.leastMembers = isLast ? 0 : llvm::PowerOf2Ceil((whole ? 4 : 1) * way.warps * way.splits * layout.flight);
      part.belowMembers = below;
      part.lanes = layout.lanes;
      part.groups = way.warps * way.splits;
      part.flight = layout.flight;
      part.wholeBlocks = whole;
      part.isJoined = !isLast;
      below = part.leastMembers;
    }
    if (hasFew()) {
      std::string own = "gnnc::InWay<" + type + ", 1, 1, " + std::to_string(layout.threads) + ", 1>";
      entry("_few", "sweepOnly<" + std::to_string(numWays) + ", " + own + ">", layout.threads);
      Launch &part = record("_few", GridKind::Items, layout.threads / layout.lanes, hasTotals(), layout.threads);
      part.lanes = layout.lanes;
      part.groups = 1;
      part.flight = 1;
      part.isFew = true;
    }
    // Owners with several items.
    Way most = all.front();
    for (unsigned walk = 0; walk < plan.walks; ++walk) {
      std::string suffix = walk == 0 ? "" : "_walk" + std::to_string(walk), number = ", " + std::to_string(walk) + ">";
      if (walk > 0)
        launch(suffix, "sweepHeavy<" + inWay(most) + number, GridKind::HeavyItems,
               most.warps > 1 ? 1 : layout.threads / layout.lanes / most.splits, false, layout.threads);
      int64_t threads = most.warps > 1 ? mergingThreads(walk) : layout.threads;
      std::string merging = "gnnc::InWay<" + type + ", " + std::to_string(most.warps > 1 ? threads / 32 : 1) + ", " +
                            std::to_string(most.splits) + ", " + std::to_string(threads) + ">";
      launch(suffix + "_merge", "mergeSlots<" + merging + number, GridKind::HeavyOwners,
             most.warps > 1 ? 1 : threads / 32, hasTotals() && walk + 1 == plan.walks, threads);
    }
  }
  if (hasTotals()) {
    bool inTwo = totalsWords() * layout.lanes * layout.tiles >= kWideTotal;
    std::string parts = std::to_string(kCombiningBlocks);
    if (inTwo)
      launch("_parts", "combineParts<" + type + ", " + parts + ">", GridKind::Once, 1, false, combineThreads)
          .perElement = kCombiningBlocks;
    launch("_combine", "combine<" + type + ", " + (inTwo ? parts : "0") + ">", GridKind::Once, 1, false,
           combineThreads);
  }
  for (auto [i, result] : llvm::enumerate(sweep.getResults()))
    if (sweep.getYieldOf(i).getKind() == AccessKind::Member && mapIsPartial(sweep.getAlongAttr()))
      step.zeroed.push_back(llvm::find(step.buffers, result) - step.buffers.begin());
}
