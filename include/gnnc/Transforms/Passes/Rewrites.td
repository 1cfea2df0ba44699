//===- Rewrites.td - Movements, products and terms put in better order -*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TRANSFORMS_PASSES_REWRITES
#define GNNC_TRANSFORMS_PASSES_REWRITES

include "mlir/Pass/PassBase.td"

def SimplifyMovements : Pass<"simplify-movements", "::mlir::ModuleOp"> {
  let summary = "Rewrite movements that no kernel implements";
  let description = [{
    A softmax or log-sum-exp over a whole space becomes a maximum, an exponential and a sum over that space. Each of
    these is a reduction that blocks can share. Where all numbers are minus infinity, softmax is 0.

    ```mlir
    func.func @f(%x: !node4) -> !node4 {
      %0 = mpdfg.norm %x along @all : !node4 -> !node4
      return %0 : !node4
    }
    // becomes
    func.func @f(%x: !node4) -> !node4 {
      %0 = mpdfg.reduce max %x along @all : !node4 -> tensor<4xf32>
      %1 = mpdfg.detach %0 : tensor<4xf32> -> tensor<4xf32>
      %2 = mpdfg.unary finite %1 : tensor<4xf32> -> tensor<4xf32>
      %3 = mpdfg.binary maximum %1, %2 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
      %4 = mpdfg.binary sub %x, %3 : !node4, tensor<4xf32> -> !node4
      %5 = mpdfg.unary exp %4 : !node4 -> !node4
      %6 = mpdfg.reduce sum %5 along @all : !node4 -> tensor<4xf32>
      %7 = mpdfg.constant 1.0 : tensor<1xf32>
      %8 = mpdfg.select %6, %6, %7 : tensor<4xf32>, tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
      %9 = mpdfg.binary div %5, %8 : !node4, tensor<4xf32> -> !node4
      return %9 : !node4
    }
    ```
  }];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def RecognizePatterns : Pass<"recognize-patterns", "::mlir::ModuleOp"> {
  let summary = "Recognise softmaxes, means and degrees that are written out (R7)";
  let description = [{
    The exponential of x, with or without its maximum subtracted, divided by its sum, all along one total map, is a
    softmax. A sum divided by the number of members (1 for none) is a mean. The sum of a constant is a degree. In one
    piece these can be computed online, or cost nothing. A product of a column and a row of 32 numbers or more is a
    contraction that sums nothing, so that its sums become matrix products. Values that are transposed, joined and
    transposed back are joined along another axis.

    ```mlir
    func.func @f(%x: !edge8) -> !edge8 {
      %0 = mpdfg.unary exp %x : !edge8 -> !edge8
      %1 = mpdfg.reduce sum %0 along @dst : !edge8 -> !node8
      %2 = mpdfg.broadcast %1 along @dst : !node8 -> !edge8
      %3 = mpdfg.binary div %0, %2 : !edge8, !edge8 -> !edge8
      return %3 : !edge8
    }
    // becomes
    func.func @f(%x: !edge8) -> !edge8 {
      %0 = mpdfg.norm %x along @dst : !edge8 -> !edge8
      return %0 : !edge8
    }
    ```
  }];
  let statistics = [Statistic<"numRecognized", "recognized", "Patterns recognised">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SplitMovements : Pass<"split-movements", "::mlir::ModuleOp"> {
  let summary = "Move parts of joined rows apart where they are sliced again";
  let description = [{
    Applies to a concatenation that is moved or reduced, with functions of one operand before and after that, and then
    only read by slices that take one part each. Each part that is read moves alone. Does not apply if a part is shared,
    or has fewer than 64 numbers. Where nothing is between the concatenation and its slices, these are its parts, of any
    width.

    ```mlir
    func.func @f(%x: !edge64, %y: tensor<?x128xf32, #mpdfg.on<@edge>>) -> (!node64, tensor<?x128xf32, #mpdfg.on<@node>>) {
      %0 = mpdfg.concat %x, %y axis 0 : (!edge64, tensor<?x128xf32, #mpdfg.on<@edge>>) -> tensor<?x192xf32, #mpdfg.on<@edge>>
      %1 = mpdfg.reduce sum %0 along @dst : tensor<?x192xf32, #mpdfg.on<@edge>> -> tensor<?x192xf32, #mpdfg.on<@node>>
      %2 = mpdfg.slice %1 axis 0 from 0 : tensor<?x192xf32, #mpdfg.on<@node>> -> !node64
      %3 = mpdfg.slice %1 axis 0 from 64 : tensor<?x192xf32, #mpdfg.on<@node>> -> tensor<?x128xf32, #mpdfg.on<@node>>
      return %2, %3 : !node64, tensor<?x128xf32, #mpdfg.on<@node>>
    }
    // becomes
    func.func @f(%x: !edge64, %y: tensor<?x128xf32, #mpdfg.on<@edge>>) -> (!node64, tensor<?x128xf32, #mpdfg.on<@node>>) {
      %0 = mpdfg.reduce sum %x along @dst : !edge64 -> !node64
      %1 = mpdfg.reduce sum %y along @dst : tensor<?x128xf32, #mpdfg.on<@edge>> -> tensor<?x128xf32, #mpdfg.on<@node>>
      return %0, %1 : !node64, tensor<?x128xf32, #mpdfg.on<@node>>
    }
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Joined rows split">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def ReorderBroadcast : Pass<"reorder-broadcast", "::mlir::ModuleOp"> {
  let summary = "Move contractions before the broadcasts of their operands (R1, R3)";
  let description = [{
    Applies to a contraction whose operands are all shared or broadcast along one map m, or along a composition that
    begins with m. The contraction is computed on the space that m leads to, and its result is broadcast. Does not
    apply if an operand is broadcast along another map, or with a fill other than 0.

    ```mlir
    func.func @f(%x: !node64, %w: tensor<64x16xf32>) -> !edge16 {
      %0 = mpdfg.broadcast %x along @src : !node64 -> !edge64
      %1 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : !edge64, tensor<64x16xf32> -> !edge16
      return %1 : !edge16
    }
    // becomes
    func.func @f(%x: !node64, %w: tensor<64x16xf32>) -> !edge16 {
      %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !node64, tensor<64x16xf32> -> !node16
      %1 = mpdfg.broadcast %0 along @src : !node16 -> !edge16
      return %1 : !edge16
    }
    ```
  }];
  let options = [Option<"gradient", "gradient", "bool", "false", "@forward will be differentiated as a whole">];
  let statistics = [Statistic<"numHoisted", "hoisted", "Contractions moved before broadcasts">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SplitConcats : Pass<"split-concats", "::mlir::ModuleOp"> {
  let summary = "Split products of concatenated values by operand (R4)";
  let description = [{
    A contraction over the axis along which its operand was concatenated becomes a sum of contractions with slices of
    the other operand. Applies if one part is shared, or is broadcast along a map that not all parts are broadcast
    along: `reorder-broadcast` then multiplies that part before it is broadcast. A part that is a sum of values that are
    broadcast (`x.src - x.dst`) is one by itself, for `distribute-linear`.

    ```mlir
    func.func @f(%x: !node8, %e: !edge4, %w: tensor<12x16xf32>) -> !edge16 {
      %0 = mpdfg.broadcast %x along @src : !node8 -> !edge8
      %1 = mpdfg.concat %0, %e axis 0 : (!edge8, !edge4) -> !edge12
      %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] : !edge12, tensor<12x16xf32> -> !edge16
      return %2 : !edge16
    }
    // becomes
    func.func @f(%x: !node8, %e: !edge4, %w: tensor<12x16xf32>) -> !edge16 {
      %0 = mpdfg.broadcast %x along @src : !node8 -> !edge8
      %1 = mpdfg.slice %w axis 0 from 0 : tensor<12x16xf32> -> tensor<8x16xf32>
      %2 = mpdfg.contract %0 [0], %1 [0, 1] -> [1] : !edge8, tensor<8x16xf32> -> !edge16
      %3 = mpdfg.slice %w axis 0 from 8 : tensor<12x16xf32> -> tensor<4x16xf32>
      %4 = mpdfg.contract %e [0], %3 [0, 1] -> [1] : !edge4, tensor<4x16xf32> -> !edge16
      %5 = mpdfg.binary add %2, %4 : !edge16, !edge16 -> !edge16
      return %5 : !edge16
    }
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Contractions split">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def DistributeLinear : Pass<"distribute-linear", "::mlir::ModuleOp"> {
  let summary = "Replace linear operations on sums by sums of linear operations (R5)";
  let description = [{
    f(u + v) becomes f(u) + f(v) for a linear operation f that mixes the numbers of a row: a contraction, or a sum
    over features. Applies if each term, together with the other operands of f, is shared or broadcast along a map of
    its own, so that `reorder-broadcast` can compute it where it comes from.

    ```mlir
    func.func @f(%x: !node8, %w: tensor<8x4xf32>) -> !edge4 {
      %0 = mpdfg.broadcast %x along @src : !node8 -> !edge8
      %1 = mpdfg.broadcast %x along @dst : !node8 -> !edge8
      %2 = mpdfg.binary add %0, %1 : !edge8, !edge8 -> !edge8
      %3 = mpdfg.contract %2 [0], %w [0, 1] -> [1] : !edge8, tensor<8x4xf32> -> !edge4
      return %3 : !edge4
    }
    // becomes
    func.func @f(%x: !node8, %w: tensor<8x4xf32>) -> !edge4 {
      %0 = mpdfg.broadcast %x along @src : !node8 -> !edge8
      %1 = mpdfg.broadcast %x along @dst : !node8 -> !edge8
      %2 = mpdfg.contract %0 [0], %w [0, 1] -> [1] : !edge8, tensor<8x4xf32> -> !edge4
      %3 = mpdfg.contract %1 [0], %w [0, 1] -> [1] : !edge8, tensor<8x4xf32> -> !edge4
      %4 = mpdfg.binary add %2, %3 : !edge4, !edge4 -> !edge4
      return %4 : !edge4
    }
    ```
  }];
  let statistics = [Statistic<"numDistributed", "distributed", "Operations distributed over sums">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def GroupTerms : Pass<"group-terms", "::mlir::ModuleOp"> {
  let summary = "Add terms first that are broadcast along the same map (R2)";
  let description = [{
    Reorders the terms of a sum so that those that are broadcast along one map stand side by side, the shared ones
    beside the largest group. Their sum can then be computed before the broadcast. Contractions of the same rows with shared
    weights, broadcast along one map, become one with the sum of the weights where fewer contractions are left. Changes
    the last bits of sums.

    ```mlir
    func.func @f(%a: !node8, %b: !node8, %c: !node8) -> !edge8 {
      %0 = mpdfg.broadcast %a along @src : !node8 -> !edge8
      %1 = mpdfg.broadcast %b along @dst : !node8 -> !edge8
      %2 = mpdfg.broadcast %c along @src : !node8 -> !edge8
      %3 = mpdfg.binary add %0, %1 : !edge8, !edge8 -> !edge8
      %4 = mpdfg.binary add %3, %2 : !edge8, !edge8 -> !edge8
      return %4 : !edge8
    }
    // becomes
    func.func @f(%a: !node8, %b: !node8, %c: !node8) -> !edge8 {
      %0 = mpdfg.broadcast %a along @src : !node8 -> !edge8
      %1 = mpdfg.broadcast %b along @dst : !node8 -> !edge8
      %2 = mpdfg.broadcast %c along @src : !node8 -> !edge8
      %3 = mpdfg.binary add %0, %2 : !edge8, !edge8 -> !edge8
      %4 = mpdfg.binary add %3, %1 : !edge8, !edge8 -> !edge8
      return %4 : !edge8
    }
    ```
  }];
  let statistics = [Statistic<"numGrouped", "grouped", "Sums reordered">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def MoveTransposes : Pass<"move-transposes", "::mlir::ModuleOp"> {
  let summary = "Transpose operands of few rows instead of those of many";
  let description = [{
    Applies to an elementwise operation of a transposed value with others that are shared, broadcast from a static space
    of at most 1024 elements, or transposed alike. These are transposed back instead, and so is the result: its users,
    which must all be contractions or transposes, take its axes in the other order.

    ```mlir
    func.func @f(%x: tensor<?x4x3xf32, #mpdfg.on<@node>>, %t: tensor<3x4xf32>, %w: tensor<3x8xf32>) -> tensor<?x4x8xf32, #mpdfg.on<@node>> {
      %0 = mpdfg.transpose %x [1, 0] : tensor<?x4x3xf32, #mpdfg.on<@node>> -> tensor<?x3x4xf32, #mpdfg.on<@node>>
      %1 = mpdfg.binary add %t, %0 : tensor<3x4xf32>, tensor<?x3x4xf32, #mpdfg.on<@node>> -> tensor<?x3x4xf32, #mpdfg.on<@node>>
      %2 = mpdfg.contract %1 [0, 1], %w [0, 2] -> [1, 2] : tensor<?x3x4xf32, #mpdfg.on<@node>>, tensor<3x8xf32> -> tensor<?x4x8xf32, #mpdfg.on<@node>>
      return %2 : tensor<?x4x8xf32, #mpdfg.on<@node>>
    }
    // becomes
    func.func @f(%x: tensor<?x4x3xf32, #mpdfg.on<@node>>, %t: tensor<3x4xf32>, %w: tensor<3x8xf32>) -> tensor<?x4x8xf32, #mpdfg.on<@node>> {
      %0 = mpdfg.transpose %t [1, 0] : tensor<3x4xf32> -> tensor<4x3xf32>
      %1 = mpdfg.binary add %0, %x : tensor<4x3xf32>, tensor<?x4x3xf32, #mpdfg.on<@node>> -> tensor<?x4x3xf32, #mpdfg.on<@node>>
      %2 = mpdfg.contract %1 [1, 0], %w [0, 2] -> [1, 2] : tensor<?x4x3xf32, #mpdfg.on<@node>>, tensor<3x8xf32> -> tensor<?x4x8xf32, #mpdfg.on<@node>>
      return %2 : tensor<?x4x8xf32, #mpdfg.on<@node>>
    }
    ```
  }];
  let statistics = [Statistic<"numMoved", "moved", "Transposes moved">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SplitFactors : Pass<"split-factors", "::mlir::ModuleOp"> {
  let summary = "Separate factors by the spaces that they come from (R2)";
  let description = [{
    A row that is multiplied or divided by numbers from both ends of an edge is scaled first by those that are
    broadcast with it. Square roots and reciprocals of products of such numbers become products of square roots and
    reciprocals. Changes the last bits of products.

    ```mlir
    func.func @f(%x: !node8, %s: !node1, %t: !node1) -> !edge8 {
      %0 = mpdfg.broadcast %x along @src : !node8 -> !edge8
      %1 = mpdfg.broadcast %s along @src : !node1 -> !edge1
      %2 = mpdfg.broadcast %t along @dst : !node1 -> !edge1
      %3 = mpdfg.binary mul %1, %2 : !edge1, !edge1 -> !edge1
      %4 = mpdfg.binary mul %0, %3 : !edge8, !edge1 -> !edge8
      return %4 : !edge8
    }
    // becomes
    func.func @f(%x: !node8, %s: !node1, %t: !node1) -> !edge8 {
      %0 = mpdfg.broadcast %x along @src : !node8 -> !edge8
      %1 = mpdfg.broadcast %s along @src : !node1 -> !edge1
      %2 = mpdfg.broadcast %t along @dst : !node1 -> !edge1
      %3 = mpdfg.binary mul %0, %1 : !edge8, !edge1 -> !edge8
      %4 = mpdfg.binary mul %3, %2 : !edge8, !edge1 -> !edge8
      return %4 : !edge8
    }
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Products reordered">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def HoistElementwise : Pass<"hoist-elementwise", "::mlir::ModuleOp"> {
  let summary = "Move cheap operations before a broadcast if that saves memory traffic (R1, R2)";
  let description = [{
    Applies to a value made of shared values and of values that are broadcast along one total map. It is computed on
    the space that they come from and broadcast once, if the bytes and operations saved per member outweigh the bytes
    read and written per owner. Does not apply across a partial map, whose filled rows would need a fill of their own,
    nor to operations that depend on the number of the row (dropout).

    ```mlir
    func.func @f(%x: !node8, %y: !node8) -> !edge8 {
      %0 = mpdfg.broadcast %x along @src : !node8 -> !edge8
      %1 = mpdfg.broadcast %y along @src : !node8 -> !edge8
      %2 = mpdfg.binary add %0, %1 : !edge8, !edge8 -> !edge8
      return %2 : !edge8
    }
    // becomes
    func.func @f(%x: !node8, %y: !node8) -> !edge8 {
      %0 = mpdfg.binary add %x, %y : !node8, !node8 -> !node8
      %1 = mpdfg.broadcast %0 along @src : !node8 -> !edge8
      return %1 : !edge8
    }
    ```
  }];
  let options = [Option<"gradient", "gradient", "bool", "false", "@forward will be differentiated as a whole">];
  let statistics = [Statistic<"numHoisted", "hoisted", "Values moved before broadcasts">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def FactorSums : Pass<"factor-sums", "::mlir::ModuleOp"> {
  let summary = "Take factors that all members share out of their sum (R6)";
  let description = [{
    In a sum or mean along m, a factor that is shared, or broadcast along m or along a composition through m, is
    applied once per owner instead of once per member. Owners without members keep their 0: if the factor is not known
    to be finite, it is replaced by 1 for them. Does not apply through non-linear operations, nor if the factor
    differs among the members of an owner.

    ```mlir
    func.func @f(%x: !edge8, %c: !node1) -> !node8 {
      %0 = mpdfg.broadcast %c along @dst : !node1 -> !edge1
      %1 = mpdfg.binary mul %x, %0 : !edge8, !edge1 -> !edge8
      %2 = mpdfg.reduce sum %1 along @dst : !edge8 -> !node8
      return %2 : !node8
    }
    // becomes
    func.func @f(%x: !edge8, %c: !node1) -> !node8 {
      %0 = mpdfg.reduce sum %x along @dst : !edge8 -> !node8
      %1 = mpdfg.binary mul %0, %c : !node8, !node1 -> !node8
      return %1 : !node8
    }
    ```
  }];
  let options = [Option<"gradient", "gradient", "bool", "false", "@forward will be differentiated as a whole">];
  let statistics = [Statistic<"numFactors", "factors", "Factors taken out of sums">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def OrderAggregation : Pass<"order-aggregation", "::mlir::ModuleOp"> {
  let summary = "Choose whether rows are summed or multiplied first (R6)";
  let description = [{
    Exchanges products with a shared weight and sums over members, broadcasts, scalings of rows and additions, so that
    broadcasts carry the narrower rows and products have the smaller number of rows. Declined if the intermediate
    result has other uses, or if the two sides are on different spaces, only the graph can tell which is smaller, and
    `extents` does not say what to assume. A shared bias that is added right under a sum or mean, to a product that can
    come after it, is added afterwards: times the number of members, or where there are members.

    ```mlir
    func.func @f(%x: !node64, %w: tensor<64x8xf32>) -> !node8 {
      %0 = mpdfg.broadcast %x along @src : !node64 -> !edge64
      %1 = mpdfg.reduce mean %0 along @dst : !edge64 -> !node64
      %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] : !node64, tensor<64x8xf32> -> !node8
      return %2 : !node8
    }
    // becomes
    func.func @f(%x: !node64, %w: tensor<64x8xf32>) -> !node8 {
      %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !node64, tensor<64x8xf32> -> !node8
      %1 = mpdfg.broadcast %0 along @src : !node8 -> !edge8
      %2 = mpdfg.reduce mean %1 along @dst : !edge8 -> !node8
      return %2 : !node8
    }
    ```
  }];
  let options = [Option<
      "extents", "extents", "::gnnc::Extents", "::gnnc::Extents::Unknown",
      "which of two spaces to assume to be smaller if only the graph can tell",
      [{::llvm::cl::values(clEnumValN(::gnnc::Extents::Unknown, "unknown", "assume nothing, and leave the program as it is"),
                                             clEnumValN(::gnnc::Extents::FewSources, "few-sources", "the one that rows come from"),
                                             clEnumValN(::gnnc::Extents::FewOwners, "few-owners", "the one on which they are summed"))}]>];
  let statistics = [Statistic<"numMoved", "moved", "Products moved before or after a sum">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def AssociateProducts : Pass<"associate-products", "::mlir::ModuleOp"> {
  let summary = "Choose which two of three factors are multiplied first (R9)";
  let description = [{
    Applies to a product of members' rows with a shared weight that, through additions, only meets values which are
    shared or broadcast along a map, or is summed along one, with weights or without. The weight is multiplied with
    these values before they are broadcast, or with the sums, and no member has the product. Applies also to a product
    of two members' rows that is multiplied with a weight and not summed, if one of the two is broadcast. An estimate of
    bytes and operations for each member decides.

    ```mlir
    func.func @f(%e: !edge8, %q: !node64, %w: tensor<8x64xf32>) -> tensor<?xf32, #mpdfg.on<@edge>> {
      %0 = mpdfg.contract %e [0], %w [0, 1] -> [1] : !edge8, tensor<8x64xf32> -> !edge64
      %1 = mpdfg.broadcast %q along @dst : !node64 -> !edge64
      %2 = mpdfg.contract %1 [0], %0 [0] -> [] : !edge64, !edge64 -> tensor<?xf32, #mpdfg.on<@edge>>
      return %2 : tensor<?xf32, #mpdfg.on<@edge>>
    }
    // becomes
    func.func @f(%e: !edge8, %q: !node64, %w: tensor<8x64xf32>) -> tensor<?xf32, #mpdfg.on<@edge>> {
      %0 = mpdfg.contract %q [0], %w [1, 0] -> [1] : !node64, tensor<8x64xf32> -> !node8
      %1 = mpdfg.broadcast %0 along @dst : !node8 -> !edge8
      %2 = mpdfg.contract %1 [1], %e [1] -> [] : !edge8, !edge8 -> tensor<?xf32, #mpdfg.on<@edge>>
      return %2 : tensor<?xf32, #mpdfg.on<@edge>>
    }
    ```
  }];
  let options =
      [Option<"gradient", "gradient", "bool", "false", "@forward will be differentiated as a whole">,
       Option<"blocks", "blocks", "bool", "false",
              "The target's kernels are blocks of a GPU: rows that a softmax over the members needs are stored, and a "
              "product of two weights is a kernel more">];
  let statistics = [Statistic<"numAssociated", "associated", "Products of members that are not made">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

#endif // GNNC_TRANSFORMS_PASSES_REWRITES
