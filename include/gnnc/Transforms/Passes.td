//===- Passes.td - Passes on mpdfg and mpk ----------------------*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TRANSFORMS_PASSES
#define GNNC_TRANSFORMS_PASSES

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

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "Replace mpdfg.gradient by the code that computes it, and add @gradient";
  let description = [{
    Reverse-mode differentiation; the rules are in DifferentiableOpInterface. Each `mpdfg.gradient` becomes the code
    that computes it. With `gradient`, the module also gets a function `@gradient`: a copy of `@forward` with an
    additional input `grad.y` for each output `y`, and an additional output `grad.W` for each parameter `W` and, with
    `inputs`, for each input. Which forward values are kept and which are recomputed is decided later, by fusion.

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
                 Option<"inputs", "inputs", "bool", "true", "also compute gradients of inputs">];
  let statistics = [Statistic<"numRules", "rules", "Derivative rules applied">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def Distribute : Pass<"distribute", "::mlir::ModuleOp"> {
  let summary = "Make a program for ranks that have a part of the graph each";
  let description = [{
    The elements of root spaces are divided among ranks, together with those of spaces derived from them. A root space
    to which no root map leads goes along one of its maps (`along`, else the one along which most numbers are reduced):
    its elements are on the rank where that map leads. Other maps may lead to elements of other ranks. A value that is read through
    one is exchanged: its rows of a rank are followed by those that others have sent, or by those that are made here of
    what has fewer bytes. What is reduced along one is brought back in the same way, and what is reduced to shared or to
    a static space is combined over all ranks. A softmax with members on several ranks is split into the largest number
    and the sum of powers of each owner. A value that all ranks have is marked with `vary` where it meets one that is
    divided. Random numbers of elements are made of the elements' numbers in the whole graph, which are a further
    input. So are rows of the halo of inputs that do not change (`fixed`), and the elements' places, by which a maximum's gradient goes to the member that one process would take. Tuples of a
    distinct space that no map leads to a rank's own elements are copied to each rank with members of them. Errors are
    winners among elements of several ranks, random numbers on distinct spaces, and what is about copied tuples.

    Example: test/Transforms/distribute.mlir
  }];
  let options = [ListOption<"along", "along", "std::string", "maps that root spaces go along">,
                 Option<"operationsPerByte", "operations-per-byte", "int64_t", "kOperationsPerExchangedByte",
                        "operations that one byte less between ranks is worth">,
                 ListOption<"fixed", "fixed", "std::string", "inputs whose rows of other ranks are an input, too">];
  let statistics = [Statistic<"numExchanged", "exchanged", "Values whose rows are exchanged">,
                    Statistic<"numFixed", "fixed", "Inputs that rows of the halo are given of">,
                    Statistic<"numRemade", "remade", "Values whose rows of the halo are made of others">,
                    Statistic<"numReturned", "returned", "Values that are brought back">,
                    Statistic<"numSplit", "split", "Softmaxes of members of several ranks">,
                    Statistic<"numCombined", "combined", "Values that are combined over all ranks">,
                    Statistic<"numVaried", "varied", "Values of all ranks that meet divided ones">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def ReadParts : Pass<"read-parts", "::mlir::ModuleOp"> {
  let summary = "Make sums that have one member reads";
  let description = [{
    A sum along the map from a union to one of its parts has one member for each element: it becomes a read along the
    injection of the part. A sum along an injection becomes a read along the map to the part. In programs for ranks,
    where own rows and those of other ranks make a union, such sums are what derivatives of exchanges begin with.

    Example: test/Transforms/read-parts.mlir
  }];
  let statistics = [Statistic<"numRead", "read", "Sums that became reads">];
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
  let options = [
    Option<"gradient", "gradient", "bool", "false", "@forward will be differentiated as a whole">,
    Option<"blocks", "blocks", "bool", "false",
           "The target's kernels are blocks of a GPU: rows that a softmax over the members needs are stored, and a "
           "product of two weights is a kernel more">
  ];
  let statistics = [Statistic<"numAssociated", "associated", "Products of members that are not made">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def RecognizePatterns : Pass<"recognize-patterns", "::mlir::ModuleOp"> {
  let summary = "Recognise softmaxes, means and degrees that are written out (R7)";
  let description = [{
    The exponential of x, with or without its maximum subtracted, divided by its sum, all along one total map, is a
    softmax. A sum divided by the number of members (1 for none) is a mean. The sum of a constant is a degree. In one
    piece these can be computed online, or cost nothing.

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

def SplitConcats : Pass<"split-concats", "::mlir::ModuleOp"> {
  let summary = "Split products of concatenated values by operand (R4)";
  let description = [{
    A contraction over the axis along which its operand was concatenated becomes a sum of contractions with slices of
    the other operand. Applies if one part is shared, or is broadcast along a map that not all parts are broadcast
    along: `reorder-broadcast` then multiplies that part before it is broadcast.

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
    beside the largest group. Their sum can then be computed before the broadcast. Changes the last bits of sums.

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

def GroupTypes : Pass<"group-types", "::mlir::ModuleOp"> {
  let summary = "Compute products with weights of types once per pair of row and type (R3)";
  let description = [{
    Applies to a product of rows that are broadcast along one map with weights of a static space that are broadcast
    along another. The product is computed on the space of the distinct pairs of both maps, which is declared if the
    model does not have it, and each element reads the product of its pair. If the product is summed and does not make
    rows narrower, the rows are summed per pair of owner and type before they are multiplied. `extents` says which
    pairs to assume to be fewer if that is not known: those of senders or those of owners.

    Example: test/Transforms/group-types.mlir
  }];
  let options =
      [Option<"gradient", "gradient", "bool", "false", "@forward will be differentiated as a whole">,
       Option<
           "extents", "extents", "::gnnc::Extents", "::gnnc::Extents::Unknown",
           "which of two spaces to assume to be smaller if only the graph can tell",
           [{::llvm::cl::values(clEnumValN(::gnnc::Extents::Unknown, "unknown", "assume nothing, and leave the program as it is"),
                                             clEnumValN(::gnnc::Extents::FewSources, "few-sources", "the one that rows come from"),
                                             clEnumValN(::gnnc::Extents::FewOwners, "few-owners", "the one on which they are summed"))}]>];
  let statistics = [Statistic<"numGrouped", "grouped", "Products computed on pairs">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect", "::mlir::func::FuncDialect"];
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

def FormOuterSums : Pass<"form-outer-sums", "::mlir::ModuleOp"> {
  let summary = "Turn gradients of weights into matrix products";
  let description = [{
    A sum of outer products of two values, over all rows or along a map, becomes `mpk.outer_sum`. The outer product is
    never computed.

    ```mlir
    func.func @f(%x: !node64, %g: !node16) -> tensor<64x16xf32> {
      %0 = mpdfg.contract %x [0], %g [1] -> [0, 1] : !node64, !node16 -> !node64x16
      %1 = mpdfg.reduce sum %0 along @all : !node64x16 -> tensor<64x16xf32>
      return %1 : tensor<64x16xf32>
    }
    // becomes
    func.func @f(%x: !node64, %g: !node16) -> tensor<64x16xf32> {
      %0 = mpk.outer_sum over @node(%x, %g) batch 1 k 64 n 16 : (!node64, !node16) -> tensor<64x16xf32>
      return %0 : tensor<64x16xf32>
    }
    ```
  }];
  let options = [Option<"blocks", "blocks", "bool", "false", "The target takes a block of a GPU for each owner">];
  let statistics = [Statistic<"numFormed", "outer-sums", "Gradients of weights turned into products">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def FormProducts : Pass<"form-products", "::mlir::ModuleOp"> {
  let summary = "Turn contractions with a weight into matrix products";
  let description = [{
    A contraction of a value on a space with a shared weight that has axes of its own becomes `mpk.product` on the
    rows of the space. A weight that is broadcast from another space along a map m becomes the weight of group m (R3).
    Operands are transposed to [batch, rows, k] and [batch, k, n] where needed. Contractions without such an axis
    (scores, products within a row) are left to the body of a sweep. With `hoist`, a value that was broadcast is
    multiplied before the broadcast (R1).

    ```mlir
    func.func @f(%x: !node64, %w: tensor<64x16xf32>) -> !node16 {
      %0 = mpdfg.contract %x [0], %w [0, 1] -> [1] : !node64, tensor<64x16xf32> -> !node16
      return %0 : !node16
    }
    // becomes
    func.func @f(%x: !node64, %w: tensor<64x16xf32>) -> !node16 {
      %0 = mpk.product over @node(%x, %w) batch 1 rows 1 k 64 n 16 : (!node64, tensor<64x16xf32>) -> !node16
      return %0 : !node16
    }
    ```
  }];
  let options = [Option<"hoist", "hoist", "bool", "true", "multiply before broadcasting (R1)">];
  let statistics = [Statistic<"numProducts", "products", "Contractions turned into products">,
                    Statistic<"numHoisted", "hoisted", "Products moved before a broadcast">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def ReuseSums : Pass<"reuse-sums", "::mlir::ModuleOp"> {
  let summary = "Reuse a sum that exists by taking factors of the owner out of another one (R6)";
  let description = [{
    The sum over members of p <g, v>, where g belongs to the owner, is <g, O> if O = sum of p v has been computed
    already. In the backward pass of an attention layer this saves one walk over the neighbours. Does not apply if
    that sum does not exist: it would be wider than the one that it replaces.

    Example: test/Transforms/reuse-sums.mlir
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

def SpreadShared : Pass<"spread-shared", "::mlir::ModuleOp"> {
  let summary = "View large shared values as rows of a static space for elementwise operations";
  let description = [{
    An optimiser's update of a weight would be one row, computed by one thread. Viewed as rows of at most 256 numbers
    it is divided into blocks like any other sweep. Each operand must have all the numbers, or one.

    ```mlir
    func.func @f(%w: tensor<22928xf32>, %g: tensor<22928xf32>) -> tensor<22928xf32> {
      %0 = mpdfg.binary sub %w, %g : tensor<22928xf32>, tensor<22928xf32> -> tensor<22928xf32>
      return %0 : tensor<22928xf32>
    }
    // becomes
    mpdfg.space @rows.1433 static {extent = 1433 : i64}
    func.func @f(%w: tensor<22928xf32>, %g: tensor<22928xf32>) -> tensor<22928xf32> {
      %0 = mpdfg.reshape %w : tensor<22928xf32> -> tensor<1433x16xf32>
      %1 = mpdfg.spread %0 : tensor<1433x16xf32> -> tensor<1433x16xf32, #mpdfg.on<@rows.1433>>
      %2 = mpdfg.reshape %g : tensor<22928xf32> -> tensor<1433x16xf32>
      %3 = mpdfg.spread %2 : tensor<1433x16xf32> -> tensor<1433x16xf32, #mpdfg.on<@rows.1433>>
      %4 = mpdfg.binary sub %1, %3 : tensor<1433x16xf32, #mpdfg.on<@rows.1433>>, tensor<1433x16xf32,
          #mpdfg.on<@rows.1433>> -> tensor<1433x16xf32, #mpdfg.on<@rows.1433>>
      %5 = mpdfg.collect %4 : tensor<1433x16xf32, #mpdfg.on<@rows.1433>> -> tensor<1433x16xf32>
      %6 = mpdfg.reshape %5 : tensor<1433x16xf32> -> tensor<22928xf32>
      return %6 : tensor<22928xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numSpread", "spread", "Operations computed on rows">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SaveValues : Pass<"save-values", "::mlir::ModuleOp"> {
  let summary = "Choose which forward values the backward half keeps and which it recomputes (R8)";
  let description = [{
    `auto` leaves the choice to fusion: values between kernels are kept (statistics of owners, operands and results of
    products), all others are recomputed by the kernels that need them. `all` keeps every value that a forward
    operation computes and a backward one reads, including values of members. `none` copies the forward half for the
    backward one, which then reads only the results of the function.

    Example: test/Transforms/save-values.mlir
  }];
  let options = [Option<"save", "save", "::gnnc::SaveMode", "::gnnc::SaveMode::Auto", "what to keep",
                        [{::llvm::cl::values(clEnumValN(::gnnc::SaveMode::None, "none", "nothing"),
      clEnumValN(::gnnc::SaveMode::Auto, "auto", "what is expensive to recompute"),
      clEnumValN(::gnnc::SaveMode::All, "all", "everything that the backward half reads"))}]>];
  let statistics = [Statistic<"numKept", "kept", "Values kept for the backward half">,
                    Statistic<"numAgain", "again", "Operations copied to the backward half">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def TileProducts : Pass<"tile-products", "::mlir::ModuleOp"> {
  let summary = "Keep matrix products of members in the sweeps that sum them";
  let description = [{
    Marks contractions of members with a weight (`mpk.tile`) if their results are only used by sums over members. They
    then become part of the sweeps that compute these sums, and a target computes them for a few members at a time.
    The same applies to outer products, of values that would have to be stored, that are summed over everything. Does
    not apply if the operations of all sweeps that need a product outweigh the bytes of a row per member. With
    `blocks`, only what a target can do that keeps the rows of a tile in the shared memory of a block: no softmax or
    log-sum-exp of a product, and rows of at most a few hundred numbers.

    ```mlir
    func.func @f(%x: !node64, %w: tensor<64x64xf32>) -> !node64 {
      %0 = mpdfg.broadcast %x along @src : !node64 -> !edge64
      %1 = mpdfg.unary relu %0 : !edge64 -> !edge64
      %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] : !edge64, tensor<64x64xf32> -> !edge64
      %3 = mpdfg.reduce max %2 along @dst : !edge64 -> !node64
      return %3 : !node64
    }
    // becomes
    func.func @f(%x: !node64, %w: tensor<64x64xf32>) -> !node64 {
      %0 = mpdfg.broadcast %x along @src : !node64 -> !edge64
      %1 = mpdfg.unary relu %0 : !edge64 -> !edge64
      %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] {mpk.tile} : !edge64, tensor<64x64xf32> -> !edge64
      %3 = mpdfg.reduce max %2 along @dst : !edge64 -> !node64
      return %3 : !node64
    }
    ```
  }];
  let options = [Option<"blocks", "blocks", "bool", "false",
                        "only what works with the rows of a tile in the shared memory of a block">];
  let statistics = [Statistic<"numTiled", "tiled", "Contractions that stay in sweeps">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect", "::gnnc::mpk::MPKDialect"];
}

def SplitJoinedRows : Pass<"split-joined-rows", "::mlir::ModuleOp"> {
  let summary = "Compute the parts of joined rows in bodies of sweeps";
  let description = [{
    Joins sink to where rows are written, and slices rise to where they are read, through what is computed number by
    number, sums over members included. Targets do both by addresses, so no value is as wide as a joined row. Every
    number is computed as before: results keep their bits.

    ```mlir
    func.func @f(%x: !node4, %y: !node4) -> tensor<?x8xf32, #mpdfg.on<@node>> {
      %0 = mpk.sweep over @node (%x, %y) access [#mpk.access<owner>, #mpk.access<owner>]
          yields [#mpk.access<owner>] {
      ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
        %j = mpdfg.concat %a, %b axis 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
        %r = mpdfg.unary relu %j : tensor<8xf32> -> tensor<8xf32>
        mpk.yield %r : tensor<8xf32>
      } : (!node4, !node4) -> tensor<?x8xf32, #mpdfg.on<@node>>
      return %0 : tensor<?x8xf32, #mpdfg.on<@node>>
    }
    // becomes
    func.func @f(%x: !node4, %y: !node4) -> tensor<?x8xf32, #mpdfg.on<@node>> {
      %0 = mpk.sweep over @node(%x, %y) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>] {
      ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
        %1 = mpdfg.unary relu %a : tensor<4xf32> -> tensor<4xf32>
        %2 = mpdfg.unary relu %b : tensor<4xf32> -> tensor<4xf32>
        %3 = mpdfg.concat %1, %2 axis 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
        mpk.yield %3 : tensor<8xf32>
      } : (!node4, !node4) -> tensor<?x8xf32, #mpdfg.on<@node>>
      return %0 : tensor<?x8xf32, #mpdfg.on<@node>>
    }
    ```
  }];
  let options = [Option<"statements", "statements", "int64_t", "kMostStatements",
                        "statements that a body may come to have, about">];
  let statistics = [Statistic<"numSplit", "split", "Operations replaced by parts">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def SplitTileSweeps : Pass<"split-tile-sweeps", "::mlir::ModuleOp"> {
  let summary = "End sweeps with products in tiles with what they accumulate";
  let description = [{
    Applies to sweeps along a map with products in tiles. What the body computes from its accumulations becomes a
    sweep over the owners that follows. For targets where a tile holds parts of owners, whose accumulations are
    complete only after the last tile.

    ```mlir
    func.func @f(%x: !node4, %w: tensor<4x4xf32>) -> !node4 {
      %0 = mpk.sweep over @node along @dst (%x, %w) access [#mpk.access<gather_member @src>, #mpk.access<shared>]
          yields [#mpk.access<owner>] {
      ^bb0(%a: tensor<4xf32>, %v: tensor<4x4xf32>):
        %p = mpdfg.contract %a [0], %v [0, 1] -> [1] {mpk.tile} : tensor<4xf32>, tensor<4x4xf32> -> tensor<4xf32>
        %s = mpk.accumulate sum %p : tensor<4xf32>
        %y = mpdfg.unary relu %s : tensor<4xf32> -> tensor<4xf32>
        mpk.yield %y : tensor<4xf32>
      } : (!node4, tensor<4x4xf32>) -> !node4
      return %0 : !node4
    }
    // becomes
    func.func @f(%x: !node4, %w: tensor<4x4xf32>) -> !node4 {
      %0 = mpk.sweep over @node along @dst(%x, %w)
          access [#mpk.access<gather_member @src>, #mpk.access<shared>] yields [#mpk.access<owner>] {
      ^bb0(%arg2: tensor<4xf32>, %arg3: tensor<4x4xf32>):
        %2 = mpdfg.contract %arg2 [0], %arg3 [0, 1] -> [1] {mpk.tile}
            : tensor<4xf32>, tensor<4x4xf32> -> tensor<4xf32>
        %3 = mpk.accumulate sum %2 : tensor<4xf32>
        mpk.yield %3 : tensor<4xf32>
      } : (!node4, tensor<4x4xf32>) -> !node4
      %1 = mpk.sweep over @node(%0) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
      ^bb0(%arg2: tensor<4xf32>):
        %2 = mpdfg.unary relu %arg2 : tensor<4xf32> -> tensor<4xf32>
        mpk.yield %2 : tensor<4xf32>
      } : (!node4) -> !node4
      return %1 : !node4
    }
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Sweeps that were split">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def SplitUnrelatedRows : Pass<"split-unrelated-rows", "::mlir::ModuleOp"> {
  let summary = "Give long rows whose axes have nothing in common sweeps of their own";
  let description = [{
    A sweep is cut along its parallel axes until a row's numbers fit the registers, and everything is repeated for each
    tile. Where results have long rows (more than 512 numbers) of unrelated axes, that would be tiles of the
    one for each tile of the other. Such results get sweeps of their own, which make again what they have in common:
    tiles do that anyway.

    ```mlir
    func.func @f(%s: !node1, %a: tensor<600xf32>, %b: tensor<700xf32>) -> (!node600, !node700) {
      %0:2 = mpk.sweep over @node(%s, %a, %b)
          access [#mpk.access<owner>, #mpk.access<shared>, #mpk.access<shared>]
          yields [#mpk.access<owner>, #mpk.access<owner>] {
      ^bb0(%x: tensor<1xf32>, %p: tensor<600xf32>, %q: tensor<700xf32>):
        %y = mpdfg.contract %x [0], %p [1] -> [1] : tensor<1xf32>, tensor<600xf32> -> tensor<600xf32>
        %z = mpdfg.contract %x [0], %q [1] -> [1] : tensor<1xf32>, tensor<700xf32> -> tensor<700xf32>
        mpk.yield %y, %z : tensor<600xf32>, tensor<700xf32>
      } : (!node1, tensor<600xf32>, tensor<700xf32>) -> (!node600, !node700)
      return %0#0, %0#1 : !node600, !node700
    }
    // becomes
    func.func @f(%s: !node1, %a: tensor<600xf32>, %b: tensor<700xf32>) -> (!node600, !node700) {
      %0 = mpk.sweep over @node(%a, %s) access [#mpk.access<shared>, #mpk.access<owner>] yields [#mpk.access<owner>] {
      ^bb0(%p: tensor<600xf32>, %x: tensor<1xf32>):
        %y = mpdfg.contract %x [0], %p [1] -> [1] : tensor<1xf32>, tensor<600xf32> -> tensor<600xf32>
        mpk.yield %y : tensor<600xf32>
      } : (tensor<600xf32>, !node1) -> !node600
      %1 = mpk.sweep over @node(%b, %s) access [#mpk.access<shared>, #mpk.access<owner>] yields [#mpk.access<owner>] {
      ^bb0(%q: tensor<700xf32>, %x: tensor<1xf32>):
        %z = mpdfg.contract %x [0], %q [1] -> [1] : tensor<1xf32>, tensor<700xf32> -> tensor<700xf32>
        mpk.yield %z : tensor<700xf32>
      } : (tensor<700xf32>, !node1) -> !node700
      return %0, %1 : !node600, !node700
    }
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Sweeps that were split">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def ExpandSoftmaxes : Pass<"expand-softmaxes", "::mlir::ModuleOp"> {
  let summary = "Softmaxes that are not online are written with their statistics";
  let description = [{
    A softmax whose weights are seen otherwise than in sums of the same walk takes two walks over the members: one finds shift and
    scale, and a second one uses them. After this pass, the softmaxes that are left are online.

    ```mlir
    func.func @f(%s: !edge8) -> !edge8 {
      %0 = mpk.sweep over @node along @dst (%s) access [#mpk.access<member>] yields [#mpk.access<member>] {
      ^bb0(%x: tensor<8xf32>):
        %p = mpk.softmax %x : tensor<8xf32>
        mpk.yield %p : tensor<8xf32>
      } : (!edge8) -> !edge8
      return %0 : !edge8
    }
    // becomes
    func.func @f(%s: !edge8) -> !edge8 {
      %0 = mpk.sweep over @node along @dst(%s) access [#mpk.access<member>] yields [#mpk.access<member>] {
      ^bb0(%x: tensor<8xf32>):
        %1 = mpk.accumulate softmax_shift %x : tensor<8xf32>
        %2 = mpk.accumulate softmax_scale %x : tensor<8xf32>
        %3 = mpdfg.binary sub %x, %1 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
        %4 = mpdfg.unary exp %3 : tensor<8xf32> -> tensor<8xf32>
        %5 = mpdfg.binary mul %4, %2 : tensor<8xf32>, tensor<8xf32> -> tensor<8xf32>
        mpk.yield %5 : tensor<8xf32>
      } : (!edge8) -> !edge8
      return %0 : !edge8
    }
    ```
  }];
  let statistics = [Statistic<"numExpanded", "expanded", "Softmaxes that were written out">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def FuseMessagePassing : Pass<"fuse-message-passing", "::mlir::ModuleOp"> {
  let summary = "Gather everything between matrix products into few sweeps";
  let description = [{
    Decides which values are stored (outputs, operands of products, values that are read through a map, reductions),
    groups these into sweeps along one map as far as dependences allow, and recomputes all others in the sweeps that
    need them: values of edges are not stored. A reduction whose result is broadcast along its own map and used by
    another reduction along the same map becomes a further phase of the same sweep. Without `fuse` each operation is a
    sweep of its own.

    A degree is not computed: a kernel that needs it has `mpdfg.degree` as an operand and reads two offsets of the
    map's index. Values made of degrees (normalisations) are therefore recomputed where they are used, and GCN is one
    product and one sweep.

    A sweep has a bounded number of `statements`: compilers take more than twice the time for twice as many. A value
    whose computation would be longer is made in several sweeps, with what they need of each other in memory.

    ```mlir
    func.func @f(%x: !node8) -> !node8 {
      %0 = mpdfg.broadcast %x along @src : !node8 -> !edge8
      %1 = mpdfg.unary exp %0 : !edge8 -> !edge8
      %2 = mpdfg.reduce sum %1 along @dst : !edge8 -> !node8
      return %2 : !node8
    }
    // becomes
    func.func @f(%x: !node8) -> !node8 {
      %0 = mpk.sweep over @node along @dst(%x) access [#mpk.access<gather_member @src>]
          yields [#mpk.access<owner>] {
      ^bb0(%arg1: tensor<8xf32>):
        %1 = mpdfg.unary exp %arg1 : tensor<8xf32> -> tensor<8xf32>
        %2 = mpk.accumulate sum %1 : tensor<8xf32>
        mpk.yield %2 : tensor<8xf32>
      } : (!node8) -> !node8
      return %0 : !node8
    }
    ```
  }];
  let options = [Option<"fuse", "fuse", "bool", "true", "fuse; otherwise each operation is a sweep">,
                 Option<"degrees", "degrees", "bool", "true", "read degrees from the indices of their maps (R1)">,
                 Option<"statements", "statements", "int64_t", "kMostStatements",
                        "statements that a sweep may have, about; beyond it values are kept and sweeps stay apart">];
  let statistics = [Statistic<"numSweeps", "sweeps", "Sweeps formed">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def FuseEpilogues : Pass<"fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Merge row operations into the matrix product before them";
  let description = [{
    A sweep without members that reads rows of a product becomes the epilogue of that product, if it needs only its
    own row and nothing reads the rows of the product before it. Saves one pass over memory and one kernel launch.
    With `spread`, only if each number of its results is made of one number of the row, and of folds over the whole
    row if it is short.

    ```mlir
    func.func @f(%x: !node8, %w: tensor<8x4xf32>) -> !node4 {
      %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 : (!node8, tensor<8x4xf32>) -> !node4
      %1 = mpk.sweep over @node (%0) access [#mpk.access<owner>] yields [#mpk.access<owner>] {
      ^bb0(%z: tensor<4xf32>):
        %2 = mpdfg.unary relu %z : tensor<4xf32> -> tensor<4xf32>
        mpk.yield %2 : tensor<4xf32>
      } : (!node4) -> !node4
      return %1 : !node4
    }
    // becomes
    func.func @f(%x: !node8, %w: tensor<8x4xf32>) -> !node4 {
      %0 = mpk.product over @node(%x, %w) batch 1 rows 1 k 8 n 4 epilogue() access [] {
      ^bb0(%arg2: tensor<4xf32>):
        %1 = mpdfg.unary relu %arg2 : tensor<4xf32> -> tensor<4xf32>
        mpk.yield %1 : tensor<4xf32>
      } : (!node8, tensor<8x4xf32>) -> !node4
      return %0 : !node4
    }
    ```
  }];
  let options = [Option<"spread", "spread", "bool", "false", "for targets that spread a row over several threads">];
  let statistics = [Statistic<"numFused", "fused", "Sweeps that became epilogues">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def NarrowStorage : Pass<"narrow-storage", "::mlir::ModuleOp"> {
  let summary = "Store rows of spaces as 16-bit numbers (R1)";
  let description = [{
    Inputs, outputs and intermediate tensors with a row per element of a space of the graph become tensors of bf16 or
    f16. The bodies of kernels, which compute in f32, do not change: kernels convert when they read and write. These
    stay f32: shared values (parameters, states, losses, sums over everything) and values on a space of fixed extent;
    parameters on a space of the graph and their gradients; weights of products and their gradients; views and what
    they view; element numbers; log-sum-exps; and intermediate rows of at most 32 bytes, which a gather reads as one
    sector of memory anyway. A remark reports each of the last three.

    Example: test/Transforms/narrow-storage.mlir
  }];
  let options = [Option<"storage", "storage", "::gnnc::Storage", "::gnnc::Storage::BF16", "bf16 or f16",
                        [{::llvm::cl::values(clEnumValN(::gnnc::Storage::AsComputed, "as-computed", "as computed"),
                                             clEnumValN(::gnnc::Storage::BF16, "bf16", "8 bits of significand"),
                                             clEnumValN(::gnnc::Storage::F16, "f16", "11 bits of significand"))}]>];
  let statistics = [Statistic<"numNarrowed", "narrowed", "Values stored in 16 bits">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def PackRows : Pass<"pack-rows", "::mlir::ModuleOp"> {
  let summary = "Put narrow rows that are gathered together side by side";
  let description = [{
    Applies to rows of at most 32 bytes that the members of a sweep gather through one map. The last sweep that makes
    one of them writes it and what else of them it makes, or reads by owner, as one joined row; readers take slices of
    it, which are addresses on GPUs. A member then fetches one piece of memory instead of several. A value that only
    such readers and readers by owner need is not written by itself any more.

    ```mlir
    func.func @f(%x: !node4) -> !node4 {
      %0:2 = mpk.sweep over @node along @dst (%x) access [#mpk.access<gather_member @src>]
          yields [#mpk.access<owner>, #mpk.access<owner>] {
      ^bb0(%a: tensor<4xf32>):
        %s = mpk.accumulate sum %a : tensor<4xf32>
        %m = mpk.accumulate max %a : tensor<4xf32>
        mpk.yield %s, %m : tensor<4xf32>, tensor<4xf32>
      } : (!node4) -> (!node4, !node4)
      %1 = mpk.sweep over @node along @src (%0#0, %0#1)
          access [#mpk.access<gather_member @dst>, #mpk.access<gather_member @dst>] yields [#mpk.access<owner>] {
      ^bb0(%s: tensor<4xf32>, %m: tensor<4xf32>):
        %p = mpdfg.binary mul %s, %m : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
        %t = mpk.accumulate sum %p : tensor<4xf32>
        mpk.yield %t : tensor<4xf32>
      } : (!node4, !node4) -> !node4
      return %1 : !node4
    }
    // becomes
    func.func @f(%x: !node4) -> !node4 {
      %0 = mpk.sweep over @node along @dst(%x) access [#mpk.access<gather_member @src>] yields [#mpk.access<owner>] {
      ^bb0(%a: tensor<4xf32>):
        %2 = mpk.accumulate sum %a : tensor<4xf32>
        %3 = mpk.accumulate max %a : tensor<4xf32>
        %4 = mpdfg.concat %2, %3 axis 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
        mpk.yield %4 : tensor<8xf32>
      } : (!node4) -> tensor<?x8xf32, #mpdfg.on<@node>>
      %1 = mpk.sweep over @node along @src(%0) access [#mpk.access<gather_member @dst>] yields [#mpk.access<owner>] {
      ^bb0(%r: tensor<8xf32>):
        %2 = mpdfg.slice %r axis 0 from 0 : tensor<8xf32> -> tensor<4xf32>
        %3 = mpdfg.slice %r axis 0 from 4 : tensor<8xf32> -> tensor<4xf32>
        %4 = mpdfg.binary mul %2, %3 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
        %5 = mpk.accumulate sum %4 : tensor<4xf32>
        mpk.yield %5 : tensor<4xf32>
      } : (tensor<?x8xf32, #mpdfg.on<@node>>) -> !node4
      return %1 : !node4
    }
    ```
  }];
  let statistics = [Statistic<"numPacked", "packed", "Joined rows">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def PlaceUpdates : Pass<"place-updates", "::mlir::ModuleOp"> {
  let summary = "Make it possible to update parameters and states in place";
  let description = [{
    A result with `mpdfg.updates` is written where the argument of that number is. Kernels that compute only such
    results move to the end. If the argument is still read afterwards, or is read by the same kernel other than row by
    row, the result is computed in the workspace and copied last.

    Example: test/Transforms/place-updates.mlir
  }];
  let options = [Option<
      "early", "early", "bool", "false",
      "do not delay small updates that other kernels read until the kernels that read the old value">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def JoinLaunches : Pass<"join-launches", "::mlir::ModuleOp"> {
  let summary = "Put small independent kernels into one launch";
  let description = [{
    Elementwise sweeps over one element, or over a space of known extent, that do not depend on each other get the
    same number `mpk.launch` and stand side by side; they may then run at the same time. A kernel waits for the others
    of its launch only if the longest chain of kernels does not grow. For targets where launching a kernel takes
    longer than a small kernel runs. Runs after place-updates: an update of an argument stays behind everything that
    reads it.

    Example: test/Transforms/join-launches.mlir
  }];
  let statistics = [Statistic<"numLaunches", "launches", "Launches of several kernels">,
                    Statistic<"numJoined", "joined", "Kernels in such launches">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def PlanMemory : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give each intermediate tensor a slot in one arena";
  let description = [{
    Adds an `mpk.arena` with a slot for each result that is not an output, and with the kernels between which the slot
    is live, and says on the kernels where each result lies (`mpk.places`): in a slot, or nowhere else than where it
    is returned. A sweep that is the last to read a row as long as one that it writes, number by number, writes it
    there: both values have one slot. So does a product with a row that its epilogue adds. If the value written is a
    result of the function, both lie in the caller's memory for it.

    ```mlir
    func.func @f(%x: !node8, %w: tensor<8x4xf32>, %v: tensor<4x2xf32>) -> !node2 {
      %0 = mpk.product over @node (%x, %w) batch 1 rows 1 k 8 n 4 : (!node8, tensor<8x4xf32>) -> !node4
      %1 = mpk.product over @node (%0, %v) batch 1 rows 1 k 4 n 2 : (!node4, tensor<4x2xf32>) -> !node2
      return %1 : !node2
    }
    // becomes
    func.func @f(%x: !node8, %w: tensor<8x4xf32>, %v: tensor<4x2xf32>) -> !node2 {
      mpk.arena [@node] bytes [16] first [0] last [1]
      %0 = mpk.product over @node(%x, %w) batch 1 rows 1 k 8 n 4 {mpk.places = [#mpk.place<arena 0>]}
          : (!node8, tensor<8x4xf32>) -> !node4
      %1 = mpk.product over @node(%0, %v) batch 1 rows 1 k 4 n 2 {mpk.places = [#mpk.place<none>]}
          : (!node4, tensor<4x2xf32>) -> !node2
      return %1 : !node2
    }
    ```
  }];
  let statistics = [Statistic<"numInPlace", "in-place", "Values written over an operand">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

#endif // GNNC_TRANSFORMS_PASSES
