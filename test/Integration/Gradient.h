//===- Gradient.h - Gradients against differences ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gradient is what changes of the inputs say it is: central differences in double precision, computed by interpreting
// the program that is not differentiated.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_GRADIENT_H
#define GNNC_TEST_INTEGRATION_GRADIENT_H

#include "TestModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"

namespace gnnc::test {

/// A module that the interpreter evaluates.
class Program {
public:
  /// `forRanks`: with the random numbers of a program for ranks.
  explicit Program(const frontend::ModelSpec &model, bool forRanks = false);
  /// For what the language cannot say.
  explicit Program(llvm::StringRef mlir);

  bool ok() const { return bool(module); }
  /// Adds the gradients of parameters, and of inputs where they are wanted.
  bool differentiate(bool inputs = true);
  /// Runs the phases that lead to kernels, with gradients.
  bool lower(unsigned optLevel);
  llvm::Expected<Tensors> run(const Graph &graph, const Tensors &tensors) const;
  /// For each result in order, the largest finite magnitude among the numbers it is computed from: what rounding errors
  /// are relative to.
  llvm::Expected<std::map<std::string, double>> magnitudes(const Graph &graph, const Tensors &tensors) const;
  /// The function that is run.
  mlir::func::FuncOp body() const;

private:
  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string function = "forward"; ///< what is run: `gradient` once there is one
};

/// Adds random `grad.y` for each output y of `outputs`.
void addOutputGradients(Tensors &tensors, const Tensors &outputs, unsigned seed);

/// Compares `gradients` (named `grad.x`) of the sum over all outputs y of y * grad.y with differences in every number
/// of every x that is given. Empty where they agree up to `tolerance` of the largest number of a gradient.
std::string compareWithDifferences(const Program &program, const Graph &graph, const Tensors &tensors,
                                   const Tensors &gradients, double tolerance);

/// The same along random lines through each x, two for each: every number of x moves along all of them, so this takes
/// four runs a tensor instead of two a number or more. Empty where the slopes agree; a kink may disturb them.
std::string compareAlongLines(const Program &program, const Graph &graph, const Tensors &tensors,
                              const Tensors &gradients);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_GRADIENT_H
