//===- CUDABackend.cpp - Kernels to CUDA C++ ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Target/CUDA/CUDABackend.h"
#include "JoinedPrinter.h"
#include "KernelTexts.h"
#include "Product/ProductPrinter.h"
#include "Product/SeparateEpilogue.h"
#include "Sweep/SweepPrinter.h"
#include "Tile/TileSweepPrinter.h"
#include "dialects/mpdfg/IR/Choices.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;

// Made by cmake/EmbedText.cmake.
extern const char *const gnnc_kernels_names[];
extern const char *const gnnc_kernels_texts[];
extern const size_t gnnc_kernels_sizes[];
extern const size_t gnnc_kernels_count;
extern const char *const gnnc_device_data_texts[];
extern const size_t gnnc_device_data_sizes[];

llvm::ArrayRef<KernelHeader> cuda::kernelHeaders() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (size_t i = 0; i < gnnc_kernels_count; ++i)
      all.push_back(std::string(gnnc_kernels_names[i]) + ".cuh");
    return all;
  }();
  static const std::vector<KernelHeader> headers = [] {
    std::vector<KernelHeader> all;
    for (size_t i = 0; i < gnnc_kernels_count; ++i)
      all.push_back({names[i].c_str(), llvm::StringRef(gnnc_kernels_texts[i], gnnc_kernels_sizes[i])});
    static constexpr const char *shared[] = {"Cells.h", "DeviceData.h", "PointTree.h"};
    for (auto [i, name] : llvm::enumerate(shared))
      all.push_back({name, llvm::StringRef(gnnc_device_data_texts[i], gnnc_device_data_sizes[i])});
    return all;
  }();
  return headers;
}

/// CUDA C++ Programming Guide, technical specifications by compute capability. Code for sm_80 runs on sm_86 and sm_89
/// too, which have less than it.
static int64_t sharedBytesOf(int architecture) {
  bool isSmall = architecture < 90 || architecture >= 120;
  return (architecture == 75 ? 64 : architecture < 80 ? 96 : isSmall ? 99 : 227) << 10;
}

PrintOptions PrintOptions::forArchitectures(ProductArithmetic products, llvm::ArrayRef<int> architectures) {
  PrintOptions options{products, *llvm::min_element(architectures), llvm::is_contained(architectures, 90),
                       kMostSharedBytes};
  for (int architecture : architectures)
    options.sharedBytes = std::min(options.sharedBytes, sharedBytesOf(architecture));
  return options;
}

TargetCapabilities cuda::capabilities(const PrintOptions &options) {
  return {/*spreadEpilogues=*/true,
          /*tilesInBlocks=*/true,
          /*joinLaunches=*/true,
          /*packRows=*/true,
          [options](ModuleOp module) { return hasTileKernels(module, options); },
          [options](ModuleOp module) { return lengthOfLongestKernel(module, options); }};
}

/// Estimated statements of a printed one, in bodies that are estimated well: most are loops over a lane's numbers.
static constexpr int64_t kStatementsPerLine = 2;
/// Statements of unrolled loops that the compiler behind takes as long for as for one that is estimated.
static constexpr int64_t kUnrolledPerStatement = 3;

/// Whether GPUs can launch a step; an error at its operation if not.
static LogicalResult checkLimits(Operation *op, const DeviceStep &step) {
  for (const Launch &launch : step.launches) {
    auto refuse = [&](const char *what, int64_t found, int64_t most) {
      return op->emitOpError() << "is not possible on GPUs: kernel '" << launch.kernel << "' would take " << found
                               << " " << what << ", and at most " << most << " can be had";
    };
    if (int64_t found = launch.words.size(); found > kMostWords)
      return refuse("arguments of 8 bytes", found, kMostWords);
    if (int64_t found = launch.sharedBytes + launch.staticSharedBytes; found > kMostSharedBytes)
      return refuse("bytes of shared memory in a block", found, kMostSharedBytes);
    if (int64_t found = std::max(launch.gridY, launch.gridZ); found > kMostBlocksAlongYZ)
      return refuse("blocks along one dimension of its grid", found, kMostBlocksAlongYZ);
  }
  return success();
}

llvm::StringRef cuda::preparationSource() { return "// Made by gnnc.\n#include \"Prepare.cuh\"\n"; }

/// The text of one kernel of a program, under a name that stands for its own.
static FailureOr<DeviceStep> printKernel(Operation *op, const PrintOptions &options, CodeWriter &out) {
  if (auto sweep = dyn_cast<mpk::SweepOp>(op)) {
    if (std::optional<DeviceStep> tiled = printTileSweep(sweep, kNoName, options, out))
      return std::move(*tiled);
    return printSweep(sweep, kNoName, /*isPart=*/false, out);
  }
  if (auto product = dyn_cast<mpk::ProductOp>(op))
    return spreadsEpilogue(product) ? FailureOr<DeviceStep>(printProduct(product, kNoName, options, out))
                                    : printWithRows(product, kNoName, options, out);
  return FailureOr<DeviceStep>(printOuterSum(cast<mpk::OuterSumOp>(op), kNoName, options, out));
}

/// A kernel's text: what all of its functions need, those for any architecture, and those for sm_90a alone (empty:
/// there are none). What is compiled for sm_90a has no PTX for later GPUs, so the others are not compiled with it.
struct SplitText {
  std::string shape, any, warpgroups;
  explicit SplitText(StringRef text) {
    constexpr StringLiteral begin = "#ifdef GNNC_HAS_WARPGROUPS\n", end = "#endif\n";
    auto [before, rest] = text.split(begin);
    if (rest.empty()) {
      any = text.str();
      return;
    }
    auto [inside, after] = rest.split(end);
    size_t first = before.find("extern \"C\"");
    shape = before.take_front(first).str();
    any = before.drop_front(shape.size()).str() + after.str();
    warpgroups = (begin + inside + end).str();
  }
};

/// One kernel of a program. The parts of launches are the texts' numbers until all are there.
static FailureOr<DeviceStep> printStep(Operation *op, const PrintOptions &options, StringRef stepName,
                                       KernelTexts &texts) {
  CodeWriter out;
  FailureOr<DeviceStep> step = printKernel(op, options, out);
  if (failed(step))
    return failure();
  SplitText text(out.text());
  KernelTexts::SplitPlace places;
  if (text.warpgroups.empty())
    places.any = texts.add(text.any, stepName);
  else
    places = texts.addSplit(text.shape, text.any, text.warpgroups, stepName);
  step->name = stepName.str();
  for (Launch &launch : step->launches) {
    bool isOfWarpgroups = StringRef(text.warpgroups).contains(" " + launch.kernel + "(");
    launch.kernel = places.any.name + launch.kernel.substr(kNoName.size());
    launch.part = isOfWarpgroups ? places.one.number : places.any.number;
  }
  step->written.assign(op->result_begin(), op->result_end());
  return step;
}

/// Statements of a kernel's text when all of its loops over registers are unrolled.
static int64_t countUnrolled(StringRef text) {
  SmallVector<int64_t> around{1}; // how often the lines of each open block are there
  int64_t total = 0;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    line = line.trim();
    int64_t times = around.back();
    for (auto [macro, rest] = line.split("GNNC_FOR"); !rest.empty(); std::tie(macro, rest) = rest.split("GNNC_FOR")) {
      // (variable, numbers) or _STEP(variable, numbers, step)
      SmallVector<StringRef> arguments;
      rest.take_until([](char c) { return c == ')'; }).split(arguments, ',');
      int64_t numbers = 1, step = 1;
      if (arguments.size() > 1 && !arguments[1].trim().getAsInteger(10, numbers) && arguments.size() > 2)
        (void)arguments[2].trim().getAsInteger(10, step);
      times *= std::max<int64_t>(numbers / std::max<int64_t>(step, 1), 1);
    }
    if (line.starts_with("}") && around.size() > 1)
      around.pop_back();
    total += int64_t(line.count(';')) * times;
    if (line.ends_with("{"))
      around.push_back(times);
  }
  return total;
}

int64_t cuda::lengthOfLongestKernel(ModuleOp module, const PrintOptions &options) {
  // What is wrong with a kernel is said when all are printed.
  ScopedDiagnosticHandler silent(module.getContext(), [](Diagnostic &) { return success(); });
  int64_t longest = 0;
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &op : function.getBody().front())
      if (mpk::isKernel(&op) && !mpk::isOfRuntime(&op)) {
        CodeWriter out;
        if (succeeded(printKernel(&op, options, out)))
          longest = std::max({longest, int64_t(out.text().count(';')) * kStatementsPerLine,
                              countUnrolled(out.text()) / kUnrolledPerStatement});
      }
  return longest;
}

llvm::Expected<CUDASource> cuda::printModule(ModuleOp module, const PrintOptions &options) {
  // What is not used takes time to compile too.
  bool tiled =
      module.walk([](Operation *op) { return mpk::isTiled(op) ? WalkResult::interrupt() : WalkResult::advance(); })
          .wasInterrupted();
  bool hasOpen = llvm::any_of(module.getOps<mpdfg::SpaceOp>(), [](mpdfg::SpaceOp space) { return space.getOpen(); });
  KernelTexts texts((Twine("// Made by gnnc.\n") + StringRef(hasOpen ? "#define GNNC_OPEN_SPACES\n" : "") +
                     "#include \"JoinedRows.cuh\"\n#include \"Product.cuh\"\n#include \"RowNumbers.cuh\"\n"
                     "#include \"SlicedProduct.cuh\"\n#include \"Sweep.cuh\"\n#include \"TensorProduct.cuh\"\n" +
                     StringRef(tiled ? "#include \"TileSweep.cuh\"\n" : "") +
                     (options.hasWarpgroups ? "#include \"WarpgroupOuterStages.cuh\"\n#include "
                                              "\"WarpgroupOuterSum.cuh\"\n#include \"WarpgroupProduct.cuh\"\n"
                                              "#include \"WarpgroupStages.cuh\"\n"
                                            : ""))
                        .str());
  CUDASource source;
  auto failed = [] { return llvm::createStringError("internal error in code generation; the diagnostic says where"); };
  SmallVector<Operation *> kernels;
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &op : function.getBody().front())
      if (mpk::isKernel(&op))
        kernels.push_back(&op);
  auto isOfLaunch = [&](size_t i, Attribute launch, Operation *first) {
    return i < kernels.size() && kernels[i]->getBlock() == first->getBlock() &&
           kernels[i]->getAttr(mpk::kLaunchAttr) == launch;
  };
  for (size_t i = 0, end; i < kernels.size(); i = end) {
    Attribute launch = kernels[i]->getAttr(mpk::kLaunchAttr);
    for (end = i + 1; launch && isOfLaunch(end, launch, kernels[i]); ++end)
      ;
    SmallVector<std::string> names;
    for (size_t k = i; k < end; ++k)
      names.push_back("gnnc_kernel" + std::to_string(k));
    FailureOr<std::vector<DeviceStep>> steps = failure();
    if (mpdfg::isChoice(kernels[i])) { // The table says what it reads and writes.
      DeviceStep step;
      step.name = names.front();
      step.scratch.push_back({ScratchKind::Choice, FlatSymbolRefAttr(), 1});
      steps = std::vector<DeviceStep>{std::move(step)};
    } else if (mpk::isCollective(kernels[i])) {
      DeviceStep step;
      step.name = names.front();
      step.buffers = {kernels[i]->getOperands().back(), kernels[i]->getResult(0)};
      step.written = {kernels[i]->getResult(0)};
      if (auto reduce = dyn_cast<mpdfg::AllReduceOp>(kernels[i])) // What each rank gives.
        step.scratch.push_back({ScratchKind::Ranks, FlatSymbolRefAttr(),
                                reduce.getType().getNumElements() * reduce.getType().getElementTypeBitWidth() / 8});
      steps = std::vector<DeviceStep>{std::move(step)};
    } else if (end - i > 1)
      steps = printJoined(ArrayRef(kernels).slice(i, end - i), names, texts);
    else if (FailureOr<DeviceStep> step = printStep(kernels[i], options, names.front(), texts); succeeded(step))
      steps = std::vector<DeviceStep>{std::move(*step)};
    if (mlir::failed(steps))
      return failed();
    for (auto [k, step] : llvm::enumerate(*steps)) {
      if (mlir::failed(checkLimits(kernels[i + k], step)))
        return failed();
      source.steps.push_back(std::move(step));
    }
  }
  source.text = texts.whole();
  KernelTexts::Parts parts = texts.cut();
  source.parts = std::move(parts.texts);
  for (DeviceStep &step : source.steps)
    for (Launch &launch : step.launches)
      launch.part = parts.partOf[launch.part];
  return source;
}
