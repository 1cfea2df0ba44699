//===- CUDABackend.cpp - Kernels to CUDA C++ ------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Target/CUDA/CUDABackend.h"
#include "ProductPrinter.h"
#include "SeparateEpilogue.h"
#include "SweepPrinter.h"
#include "TileSweepPrinter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;

// Made by cmake/EmbedText.cmake.
extern const char *const gnnc_kernels_names[];
extern const char *const gnnc_kernels_texts[];
extern const size_t gnnc_kernels_sizes[];
extern const size_t gnnc_kernels_count;

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
    return all;
  }();
  return headers;
}

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

llvm::Expected<CUDASource> cuda::printModule(ModuleOp module, const PrintOptions &options) {
  CUDASource source;
  CodeWriter out;
  out.line("// Made by gnnc.");
  out.line("#include \"Product.cuh\"");
  out.line("#include \"Sweep.cuh\"");
  out.line("#include \"TensorProduct.cuh\"");
  // What is not used takes time to compile too.
  if (module.walk([](Operation *op) { return mpk::isTiled(op) ? WalkResult::interrupt() : WalkResult::advance(); })
          .wasInterrupted())
    out.line("#include \"TileSweep.cuh\"");
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &op : function.getBody().front()) {
      std::string name = "gnnc_kernel" + std::to_string(source.steps.size());
      FailureOr<DeviceStep> step = failure();
      if (auto sweep = dyn_cast<mpk::SweepOp>(op)) {
        if (std::optional<DeviceStep> tiled = printTileSweep(sweep, name, options, out))
          step = std::move(*tiled);
        else
          step = printSweep(sweep, name, out);
      } else if (auto product = dyn_cast<mpk::ProductOp>(op)) {
        step = spreadsEpilogue(product) ? printProduct(product, name, options, out)
                                        : printWithRows(product, name, options, out);
      } else if (auto sum = dyn_cast<mpk::OuterSumOp>(op)) {
        step = printOuterSum(sum, name, options, out);
      } else {
        continue;
      }
      if (failed(step) || failed(checkLimits(&op, *step)))
        return llvm::createStringError("internal error in code generation; the diagnostic says where");
      source.steps.push_back(std::move(*step));
    }
  source.text = out.text().str();
  return source;
}
