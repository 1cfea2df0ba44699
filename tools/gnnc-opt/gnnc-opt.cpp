//===- gnnc-opt.cpp - Runs passes on IR in text form ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// mlir-opt for this project: only the dialects and passes it uses, so that it starts at once and its help can be read.
//
//===----------------------------------------------------------------------===//

#include "InterpretPass.h"
#include "dialects/mpk/IR/MPK.h"
#include "gnnc/Pipelines/Pipelines.h"
#include "gnnc/Support/CrashReport.h"
#include "gnnc/Support/Version.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  gnnc::installCrashReport("gnnc-opt", "gnnc " GNNC_VERSION ", LLVM " LLVM_VERSION_STRING, argc, argv);
  llvm::cl::SetVersionPrinter(
      [](llvm::raw_ostream &out) { out << "gnnc-opt " GNNC_VERSION ", LLVM " LLVM_VERSION_STRING "\n"; });
  mlir::DialectRegistry registry;
  registry
      .insert<gnnc::mpdfg::MPDFGDialect, gnnc::mpk::MPKDialect, mlir::arith::ArithDialect, mlir::func::FuncDialect,
              mlir::LLVM::LLVMDialect, mlir::math::MathDialect, mlir::scf::SCFDialect, mlir::vector::VectorDialect>();
  gnnc::registerPasses();
  gnnc::registerInterpretPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Runs passes of gnnc on IR in text form\n", registry));
}
