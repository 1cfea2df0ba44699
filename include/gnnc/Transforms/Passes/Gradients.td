//===- Gradients.td - Derivatives, and what of the forward half they keep -*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TRANSFORMS_PASSES_GRADIENTS
#define GNNC_TRANSFORMS_PASSES_GRADIENTS

include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "Replace mpdfg.gradient by the code that computes it, and add @gradient";
  let description = [{
    Reverse-mode differentiation; the rules are in DifferentiableOpInterface. Each `mpdfg.gradient` becomes the code
    that computes it. With `gradient`, the module also gets a function `@gradient`: a copy of `@forward` with an
    additional input `grad.y` for each output `y`, and an additional output `grad.W` for each parameter `W` and, with
    `inputs`, for each input. With `cotangents`, only those outputs are differentiated: the others have no `grad.y`, and
    their derivatives, which may be infinite, have no part in any gradient. Which forward values are kept and which are recomputed is decided later, by fusion.

    ```mlir
    func.func @forward(%x: !node8 {mpdfg.name = "x"}, %w: tensor<8x4xf32> {mpdfg.name = "W",
        mpdfg.role = #mpdfg.role<param>}) -> (!node4 {mpdfg.name = "y"}) {
      %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !node8, tensor<8x4xf32> -> !node4
      return %0 : !node4
    }
    // becomes
    func.func @forward(%x: !node8 {mpdfg.name = "x"}, %w: tensor<8x4xf32> {mpdfg.name = "W",
        mpdfg.role = #mpdfg.role<param>}) -> (!node4 {mpdfg.name = "y"}) {
      %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !node8, tensor<8x4xf32> -> !node4
      return %0 : !node4
    }
    func.func @gradient(%x: !node8 {mpdfg.name = "x"}, %w: tensor<8x4xf32> {mpdfg.name = "W",
        mpdfg.role = #mpdfg.role<param>}, %arg2: !node4 {mpdfg.name = "grad.y", mpdfg.role = #mpdfg.role<input>, mpdfg.seed}
            ) -> (!node4 {mpdfg.name = "y"}, tensor<8x4xf32> {mpdfg.name = "grad.W"}) {
      %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !node8, tensor<8x4xf32> -> !node4
      %1 = mpdfg.contract %arg2 [1], %x [0] -> [0, 1] : !node4, !node8 -> !node8x4
      %2 = mpdfg.reduce sum %1 along @all : !node8x4 -> tensor<8x4xf32>
      return %0, %2 : !node4, tensor<8x4xf32>
    }
    ```
  }];
  let options = [Option<"gradient", "gradient", "bool", "true", "add @gradient">,
                 Option<"inputs", "inputs", "bool", "true", "also compute gradients of inputs">,
                 ListOption<"cotangents", "cotangents", "std::string",
                            "outputs that are differentiated; all, if there are none">];
  let statistics = [Statistic<"numRules", "rules", "Derivative rules applied">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SaveValues : Pass<"save-values", "::mlir::ModuleOp"> {
  let summary = "Choose which forward values the backward half keeps and which it recomputes (R8)";
  let description = [{
    `auto` leaves the choice to fusion: values between kernels are kept (statistics of owners, operands and results of
    products), all others are recomputed by the kernels that need them. `all` keeps every value that a forward
    operation computes and a backward one reads, including values of members. `none` copies the forward half for the
    backward one, which then reads only the results of the function. With `checkpoints=n` the forward half is divided
    into n segments where little crosses from one to the next; what crosses is kept, and all segments but the last are
    copied, each right before what reads it.

    Example: test/Transforms/Gradients/save-values.mlir
  }];
  let options = [Option<"save", "save", "::gnnc::SaveMode", "::gnnc::SaveMode::Auto", "what to keep",
                        [{::llvm::cl::values(clEnumValN(::gnnc::SaveMode::None, "none", "nothing"),
      clEnumValN(::gnnc::SaveMode::Auto, "auto", "what is expensive to recompute"),
      clEnumValN(::gnnc::SaveMode::All, "all", "everything that the backward half reads"))}]>,
                 Option<"checkpoints", "checkpoints", "unsigned", "0",
                        "segments of the forward half that are computed again one by one; 0 and 1: none is">];
  let statistics = [Statistic<"numKept", "kept", "Values kept for the backward half">,
                    Statistic<"numAgain", "again", "Operations copied to the backward half">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def ReuseSums : Pass<"reuse-sums", "::mlir::ModuleOp"> {
  let summary = "Reuse a sum that exists by taking factors of the owner out of another one (R6)";
  let description = [{
    The sum over members of p <g, v>, where g belongs to the owner, is <g, O> if O = sum of p v has been computed
    already. In the backward pass of an attention layer this saves one walk over the neighbours. In place of <g, v>
    there may be several inner products that are added up, and contractions with features that all heads share, as in
    an attention with edge features. Does not apply if one of the sums does not exist: it would be wider than the one
    that it replaces.

    Example: test/Transforms/Gradients/reuse-sums.mlir
  }];
  let statistics = [Statistic<"numReused", "reused", "Sums replaced">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SplitSums : Pass<"split-sums", "::mlir::ModuleOp"> {
  let summary = "Sum over owners first where a sweep computes the members anyway";
  let description = [{
    The sum of x over everything becomes the sum over everything of the sum of x along m, for a total map m along
    which another sum shares the computation of x. Fusion then puts the inner sum into that sweep. Without such a sum
    nothing changes.

    ```mlir
    func.func @f(%x: !node8) -> (!node8, tensor<8xf32>) {
      %0 = mpdfg.broadcast %x along @src : !node8 -> !edge8
      %1 = mpdfg.unary exp %0 : !edge8 -> !edge8
      %2 = mpdfg.reduce sum %1 along @dst : !edge8 -> !node8
      %3 = mpdfg.reduce sum %1 along @all : !edge8 -> tensor<8xf32>
      return %2, %3 : !node8, tensor<8xf32>
    }
    // becomes
    func.func @f(%x: !node8) -> (!node8, tensor<8xf32>) {
      %0 = mpdfg.broadcast %x along @src : !node8 -> !edge8
      %1 = mpdfg.unary exp %0 : !edge8 -> !edge8
      %2 = mpdfg.reduce sum %1 along @dst : !edge8 -> !node8
      %3 = mpdfg.reduce sum %1 along @dst : !edge8 -> !node8
      %4 = mpdfg.reduce sum %3 along @all : !node8 -> tensor<8xf32>
      return %2, %4 : !node8, tensor<8xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Sums split">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

#endif // GNNC_TRANSFORMS_PASSES_GRADIENTS
