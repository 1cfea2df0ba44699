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
  let summary = "Rewrites movements that have no kernel form into ones that have";
  let description = [{
    A softmax or log-sum-exp over a whole space becomes max, exp and sum over it, each a reduction that blocks can share.
  }];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "Replaces mpdfg.gradient, and adds @gradient";
  let description = [{
    Reverse mode (see DifferentiableOpInterface). Each `mpdfg.gradient` becomes the code that computes it. With `gradient` the module
    also gets a function `@gradient`, a copy of `@forward` that for each output `y` has an input `grad.y`, its gradient, and
    for each parameter `W`, and with `inputs` each input, an output `grad.W`. Which forward values are kept and which are
    computed again is left to fusion.
  }];
  let options = [Option<"gradient", "gradient", "bool", "true", "add @gradient">,
                 Option<"inputs", "inputs", "bool", "true", "gradients of inputs too">];
  let statistics = [Statistic<"numRules", "rules", "Derivative rules applied">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def ReorderBroadcast : Pass<"reorder-broadcast", "::mlir::ModuleOp"> {
  let summary = "Moves contractions before the broadcasts of their operands (R1, R3)";
  let description = [{
    A contraction all of whose operands are shared or move along one map m, or along a composition that begins with m, is made
    where m leads to, and its result is moved. Not where an operand moves along another map, or with a fill that is not 0.

    ```mlir
    %1 = mpdfg.broadcast %x along @src : tensor<?x64xf32, #mpdfg.on<@node>> -> tensor<?x64xf32, #mpdfg.on<@edge>>
    %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] : tensor<?x64xf32, #mpdfg.on<@edge>>, tensor<64x16xf32>
       -> tensor<?x16xf32, #mpdfg.on<@edge>>
    // becomes
    %1 = mpdfg.contract %x [0], %w [0, 1] -> [1] : tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x16xf32>
       -> tensor<?x16xf32, #mpdfg.on<@node>>
    %2 = mpdfg.broadcast %1 along @src : tensor<?x16xf32, #mpdfg.on<@node>> -> tensor<?x16xf32, #mpdfg.on<@edge>>
    ```
  }];
  let options = [Option<"gradient", "gradient", "bool", "false", "@forward will be differentiated as a whole">];
  let statistics = [Statistic<"numHoisted", "hoisted", "Contractions moved before broadcasts">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def RecognizePatterns : Pass<"recognize-patterns", "::mlir::ModuleOp"> {
  let summary = "Recognises softmaxes, means and degrees that are written out (R7)";
  let description = [{
    The exponential of x, perhaps less its maximum, divided by its sum, all along one total map, is a softmax; a sum divided by the number of members, with 1
    for none, a mean; the sum of a constant a degree. Kept whole they can be computed online, or cost nothing.
  }];
  let statistics = [Statistic<"numRecognized", "recognized", "Patterns recognised">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SplitConcats : Pass<"split-concats", "::mlir::ModuleOp"> {
  let summary = "Cuts products of joined values by operand (R4)";
  let description = [{
    A contraction over an axis along which its operand was joined becomes a sum of contractions with slices of the other operand, where a
    part is shared or moves along a map that not all parts move along; `reorder-broadcast` then multiplies it before it moves.

    ```mlir
    %2 = mpdfg.concat %0, %1 axis 0 : (tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>>) -> tensor<?x12xf32, #mpdfg.on<@edge>>
    %3 = mpdfg.contract %2 [0], %w [0, 1] -> [1] : tensor<?x12xf32, #mpdfg.on<@edge>>, tensor<12x16xf32> -> tensor<?x16xf32, #mpdfg.on<@edge>>
    // becomes
    %a = mpdfg.slice %w axis 0 from 0 : tensor<12x16xf32> -> tensor<8x16xf32>
    %b = mpdfg.slice %w axis 0 from 8 : tensor<12x16xf32> -> tensor<4x16xf32>
    %2 = mpdfg.contract %0 [0], %a [0, 1] -> [1] : ...
    %3 = mpdfg.contract %1 [0], %b [0, 1] -> [1] : ...
    %4 = mpdfg.binary add %2, %3 : ...
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Contractions split">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def DistributeLinear : Pass<"distribute-linear", "::mlir::ModuleOp"> {
  let summary = "Makes linear operations of sums sums of linear operations (R5)";
  let description = [{
    f(u + v) becomes f(u) + f(v) for a linear operation that mixes numbers of a row (a contraction, a sum over features), where each term is shared
    or moves, with f's other operands, along a map of its own, so that `reorder-broadcast` makes each where it comes from.
  }];
  let statistics = [Statistic<"numDistributed", "distributed", "Operations distributed over sums">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def GroupTerms : Pass<"group-terms", "::mlir::ModuleOp"> {
  let summary = "Adds first what comes along one map (R2)";
  let description = [{
    The terms of a sum are put in an order in which those that move along one map are next to each other, with the shared ones beside
    the largest group, so that their sum can be made before it moves. Sums change in the last bits.
  }];
  let statistics = [Statistic<"numGrouped", "grouped", "Sums put in another order">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SplitFactors : Pass<"split-factors", "::mlir::ModuleOp"> {
  let summary = "Parts factors by the spaces they come from (R2)";
  let description = [{
    A row that is multiplied or divided by numbers from both ends of an edge is scaled first by those that it moves with; roots and
    reciprocals of products of such numbers become products of roots and reciprocals. Products change in the last bits.
  }];
  let statistics = [Statistic<"numSplit", "split", "Products put in another order">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def GroupTypes : Pass<"group-types", "::mlir::ModuleOp"> {
  let summary = "Makes products with weights of types once for each pair that occurs (R3)";
  let description = [{
    A product of rows that come along one map with weights that come along another, from a static space, is made on the space of the maps'
    distinct pairs, which is declared if the model has none, and read through the class of each element. If the product is summed and does not make rows narrower,
    rows are summed for each pair of owner and type before they are multiplied. `extents` says which pairs to take for fewer instead: those of senders or of owners.
  }];
  let options = [Option<"gradient", "gradient", "bool", "false", "@forward will be differentiated as a whole">,
                 Option<"extents", "extents", "::gnnc::Extents", "::gnnc::Extents::Unknown",
                        "which of two spaces to take for the smaller where only the graph can tell",
                        [{::llvm::cl::values(clEnumValN(::gnnc::Extents::Unknown, "unknown", "stay as the program is written"),
                                             clEnumValN(::gnnc::Extents::FewSources, "few-sources", "where rows come from"),
                                             clEnumValN(::gnnc::Extents::FewOwners, "few-owners", "where they are summed"))}]>];
  let statistics = [Statistic<"numGrouped", "grouped", "Products made on pairs">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect", "::mlir::func::FuncDialect"];
}

def HoistElementwise : Pass<"hoist-elementwise", "::mlir::ModuleOp"> {
  let summary = "Moves cheap operations before a broadcast where that saves memory traffic (R1, R2)";
  let description = [{
    A value that is made of shared values and of values that moved along one total map is computed where they come from and moved once, if the bytes
    and operations saved for members are worth the bytes read and written for owners. Not across a partial map, whose filled rows would
    need a fill of their own, nor for what depends on the number of its row (dropout).
  }];
  let options = [Option<"gradient", "gradient", "bool", "false", "@forward will be differentiated as a whole">];
  let statistics = [Statistic<"numHoisted", "hoisted", "Values moved before broadcasts">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def FactorSums : Pass<"factor-sums", "::mlir::ModuleOp"> {
  let summary = "Takes factors that members share out of their sum (R6)";
  let description = [{
    In a sum or mean along m, a factor that moves along m (or by way of it), or is shared, is applied once for each owner instead of once for
    each member. Owners without members keep their 0: where the factor is not known to be finite, they get 1 for it. Not through
    operations that are not linear, nor where the factor differs among an owner's members.

    ```mlir
    %1 = mpdfg.broadcast %c along @dst : tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x1xf32, #mpdfg.on<@edge>>
    %2 = mpdfg.binary mul %x, %1 : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
    %3 = mpdfg.reduce sum %2 along @dst : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    // becomes
    %2 = mpdfg.reduce sum %x along @dst : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    %3 = mpdfg.binary mul %2, %c : tensor<?x8xf32, #mpdfg.on<@node>>, tensor<?x1xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    ```
  }];
  let options = [Option<"gradient", "gradient", "bool", "false", "@forward will be differentiated as a whole">];
  let statistics = [Statistic<"numFactors", "factors", "Factors taken out of sums">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def OrderAggregation : Pass<"order-aggregation", "::mlir::ModuleOp"> {
  let summary = "Chooses whether rows are summed or multiplied first (R6)";
  let description = [{
    Products with a shared weight change places with sums over members, movements, scales of rows and additions, so that movements carry the narrower
    rows and products have the fewer. Declined where the sum or product is needed by others, or where the two sides are on different spaces, only the
    graph can tell which is smaller, and `extents` does not say what to assume.

    ```mlir
    %1 = mpdfg.broadcast %x along @src : tensor<?x64xf32, #mpdfg.on<@node>> -> tensor<?x64xf32, #mpdfg.on<@edge>>
    %2 = mpdfg.reduce mean %1 along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
    %3 = mpdfg.contract %2 [0], %w [0, 1] -> [1] : tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x8xf32> -> tensor<?x8xf32, #mpdfg.on<@node>>
    // becomes
    %1 = mpdfg.contract %x [0], %w [0, 1] -> [1] : tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x8xf32> -> tensor<?x8xf32, #mpdfg.on<@node>>
    %2 = mpdfg.broadcast %1 along @src : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
    %3 = mpdfg.reduce mean %2 along @dst : tensor<?x8xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@node>>
    ```
  }];
  let options = [Option<"extents", "extents", "::gnnc::Extents", "::gnnc::Extents::Unknown",
                        "which of two spaces to take for the smaller where only the graph can tell",
                        [{::llvm::cl::values(clEnumValN(::gnnc::Extents::Unknown, "unknown", "stay as the program is written"),
                                             clEnumValN(::gnnc::Extents::FewSources, "few-sources", "where rows come from"),
                                             clEnumValN(::gnnc::Extents::FewOwners, "few-owners", "where they are summed"))}]>];
  let statistics = [Statistic<"numMoved", "moved", "Products moved before or after a sum">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def FormOuterSums : Pass<"form-outer-sums", "::mlir::ModuleOp"> {
  let summary = "Turns gradients of weights into matrix products";
  let description = [{
    A sum, over all rows or along a map, of outer products of two values becomes `mpk.outer_sum`; the outer product is never made.

    ```mlir
    %1 = mpdfg.contract %x [0], %g [1] -> [0, 1] : tensor<?x64xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>
       -> tensor<?x64x16xf32, #mpdfg.on<@node>>
    %2 = mpdfg.reduce sum %1 along @all : tensor<?x64x16xf32, #mpdfg.on<@node>> -> tensor<64x16xf32>
    // becomes
    %2 = mpk.outer_sum over @node(%x, %g) batch 1 k 64 n 16 : ...
    ```
  }];
  let statistics = [Statistic<"numFormed", "outer-sums", "Gradients of weights turned into products">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def FormProducts : Pass<"form-products", "::mlir::ModuleOp"> {
  let summary = "Turns contractions with a weight into matrix products";
  let description = [{
    A contraction of a value on a space with a shared weight that has axes of its own becomes `mpk.product` on the space's rows; a weight
    that is moved from another space by a map m becomes the weight of group m (R3). Operands are transposed into
    [batch, rows, k] x [batch, k, n] where they are not. Contractions without such an axis (scores, per-row products) stay:
    they belong in a sweep's body. With `hoist`, a value that was moved along a map is multiplied before it is moved (R1).

    ```mlir
    %1 = mpdfg.contract %x [0], %w [0, 1] -> [1] : tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x16xf32>
       -> tensor<?x16xf32, #mpdfg.on<@node>>
    // becomes
    %1 = mpk.product over @node (%x, %w) batch 1 rows 1 k 64 n 16 : ...
    ```
  }];
  let options = [Option<"hoist", "hoist", "bool", "true", "multiply before moving (R1)">];
  let statistics = [Statistic<"numProducts", "products", "Contractions turned into products">,
                    Statistic<"numHoisted", "hoisted", "Products moved before a broadcast">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def ReuseSums : Pass<"reuse-sums", "::mlir::ModuleOp"> {
  let summary = "Takes owner-constant factors out of sums where the sum that is left exists already (R6)";
  let description = [{
    sum of p <g, v> over the members, where g is the owner's, is <g, O> if O = sum of p v is there. In the backward pass of an
    attention this saves walking the neighbours once more. Not applied where the sum does not exist: the inner one would be wider than the one it replaces.
  }];
  let statistics = [Statistic<"numReused", "reused", "Sums replaced">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SplitSums : Pass<"split-sums", "::mlir::ModuleOp"> {
  let summary = "Sums over everything go by way of owners where a sweep computes their members anyway";
  let description = [{
    sum over all of x becomes sum over all of (sum along m of x), for a total map m along which another sum shares x's computation; fusion then
    puts the inner one into that sweep. Without such a sum it stays.
  }];
  let statistics = [Statistic<"numSplit", "split", "Sums split">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SpreadShared : Pass<"spread-shared", "::mlir::ModuleOp"> {
  let summary = "Views large shared values as rows of a static space for elementwise work";
  let description = [{
    What an optimiser does to a weight would be one row that one thread computes. Seen as rows of at most 256 numbers it is cut into blocks like
    any other sweep. Operands must have all the numbers or one.

    ```mlir
    %2 = mpdfg.binary sub %w, %g : tensor<22928xf32>, tensor<22928xf32> -> tensor<22928xf32>
    // becomes
    %0 = mpdfg.reshape %w : tensor<22928xf32> -> tensor<1433x16xf32>
    %1 = mpdfg.spread %0 : tensor<1433x16xf32> -> tensor<1433x16xf32, #mpdfg.on<@rows.1433>>
    ...
    ```
  }];
  let statistics = [Statistic<"numSpread", "spread", "Operations made on rows">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SaveValues : Pass<"save-values", "::mlir::ModuleOp"> {
  let summary = "Says which forward values the backward half keeps and which it computes again (R8)";
  let description = [{
    `auto` leaves it to fusion: values between kernels are kept (statistics of owners, operands and results of products), all others are computed again by
    the kernels that need them. `all` keeps every value that a forward operation makes and a backward one reads, values of members too. `none` writes
    the forward half a second time for the backward one, which then reads nothing of it but the function's results.
  }];
  let options = [Option<"save", "save", "::gnnc::SaveMode", "::gnnc::SaveMode::Auto", "what is kept",
    [{::llvm::cl::values(clEnumValN(::gnnc::SaveMode::None, "none", "nothing"),
      clEnumValN(::gnnc::SaveMode::Auto, "auto", "what is not cheap to compute again"),
      clEnumValN(::gnnc::SaveMode::All, "all", "everything the backward half reads"))}]>];
  let statistics = [Statistic<"numKept", "kept", "Values kept for the backward half">,
                    Statistic<"numAgain", "again", "Operations written once more">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def TileProducts : Pass<"tile-products", "::mlir::ModuleOp"> {
  let summary = "Keeps matrix products of members in the sweeps that sum them";
  let description = [{
    Marks contractions of members with a weight (`mpk.tile`) whose results only go into sums over members, so that they become part of the sweeps
    that make these sums and a target makes them a few members at a time; likewise outer products, made of values that would have to be stored, that are
    summed over everything. Not where the operations of all sweeps that need a product outweigh the bytes of a row for each member.
    With `blocks`, only what a target can do that keeps the rows of a tile in a block's shared memory: no softmax or log-sum-exp of a product, rows of a
    few hundred numbers.

    ```mlir
    %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] : tensor<?x64xf32, #mpdfg.on<@edge>>, tensor<64x64xf32> -> tensor<?x64xf32, #mpdfg.on<@edge>>
    %3 = mpdfg.reduce max %2 along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
    // becomes
    %2 = mpdfg.contract %1 [0], %w [0, 1] -> [1] {mpk.tile} : ...
    ```
  }];
  let options = [Option<"blocks", "blocks", "bool", "false", "for targets that have a tile's rows in a block's shared memory too">];
  let statistics = [Statistic<"numTiled", "tiled", "Contractions that stay in sweeps">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect", "::gnnc::mpk::MPKDialect"];
}

def SplitTileSweeps : Pass<"split-tile-sweeps", "::mlir::ModuleOp"> {
  let summary = "Sweeps with products in tiles end with what they accumulate";
  let description = [{
    What the body of a sweep along a map with products in tiles makes of its accumulations becomes a sweep over the owners that follows: for targets
    where a tile has parts of owners, whose accumulations are known when all tiles have been seen.

    ```mlir
    %0 = mpk.sweep over @node along @dst (...) {... %a = mpk.accumulate sum %p; %y = mpdfg.unary relu %a; mpk.yield %y}
    // becomes
    %1 = mpk.sweep over @node along @dst (...) {... %a = mpk.accumulate sum %p; mpk.yield %a}
    %0 = mpk.sweep over @node (%1) {... %y = mpdfg.unary relu %a; mpk.yield %y}
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Sweeps that were split">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def FuseMessagePassing : Pass<"fuse-message-passing", "::mlir::ModuleOp"> {
  let summary = "Gathers everything between matrix products into few sweeps";
  let description = [{
    Decides which values are kept in memory (outputs, operands of products, values that are read through a map, reductions), groups those into
    sweeps along one map as far as dependences allow, and recomputes all others inside the sweeps that need them; so edge-sized values are not
    stored. A reduction whose result is moved back along its own map and used by another one of the same map is a
    further phase of the same sweep. With `fuse` off each operation is a sweep of its own.

    A degree is not computed: a kernel that needs it has `mpdfg.degree` as an operand and reads two offsets of the map's index. So what is made of
    degrees (normalisations) is made again where it is used, and GCN is a product and one sweep.
  }];
  let options = [Option<"fuse", "fuse", "bool", "true", "fuse at all">,
                 Option<"degrees", "degrees", "bool", "true", "read degrees off the indices of their maps (R1)">];
  let statistics = [Statistic<"numSweeps", "sweeps", "Sweeps formed">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def FuseEpilogues : Pass<"fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Row operations join the matrix product before them";
  let description = [{
    A sweep without members that reads rows of a product becomes the epilogue of that product, where it only needs its own row and nobody reads the
    product's rows before it. A pass over memory and the start of a kernel are saved. With `spread`, only where each number of
    its results is made of one number of the row, and of folds over all of it where it is short.
  }];
  let options = [Option<"spread", "spread", "bool", "false", "for targets that spread a row over a few threads">];
  let statistics = [Statistic<"numFused", "fused", "Sweeps that became epilogues">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def NarrowStorage : Pass<"narrow-storage", "::mlir::ModuleOp"> {
  let summary = "Keeps rows of spaces as numbers of 16 bits in memory (R1)";
  let description = [{
    Inputs, outputs and intermediate tensors that have a row for each element of a space of the graph become tensors of bf16 or f16; bodies of kernels,
    which compute in f32, stay as they are. Kernels convert where they read and write. These stay f32: whatever is shared (parameters,
    states, losses, sums over everything) or on a space of fixed extent, parameters on a space of the graph and their gradients, weights of products and their gradients, views and what they view, element numbers, log-sum-exps, and
    intermediate rows of at most 32 bytes, which a gather reads as one sector of memory in any case. A remark on each of the latter three says so.
  }];
  let options = [Option<"storage", "storage", "::gnnc::Storage", "::gnnc::Storage::BF16", "bf16 or f16",
                        [{::llvm::cl::values(clEnumValN(::gnnc::Storage::AsComputed, "as-computed", "as numbers are computed"),
                                             clEnumValN(::gnnc::Storage::BF16, "bf16", "8 bits of significand"),
                                             clEnumValN(::gnnc::Storage::F16, "f16", "11 bits of significand"))}]>];
  let statistics = [Statistic<"numNarrowed", "narrowed", "Values kept in 16 bits">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def PlaceUpdates : Pass<"place-updates", "::mlir::ModuleOp"> {
  let summary = "Sees to it that parameters and states can be replaced in place";
  let description = [{
    A result with `mpdfg.updates` is written where the argument of that number is. Kernels that only make such results go to the end;
    where the argument is still read afterwards, or by the same kernel otherwise than row by row, the result is made in the arena and copied last.
  }];
  let options = [Option<"early", "early", "bool", "false", "Small updates that other kernels read need not wait for those that read what they replace">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def JoinLaunches : Pass<"join-launches", "::mlir::ModuleOp"> {
  let summary = "Puts small kernels that do not need each other into one launch";
  let description = [{
    Elementwise sweeps over one element or a space of known extent, of which none needs another, get the same number `mpk.launch` and lie side by side;
    they may run at the same time then. A kernel waits for the others of its launch at most as long as the longest chain of kernels does not grow.
    For targets where starting a kernel takes longer than a small one works. After place-updates: what replaces an argument stays behind all that read it.
  }];
  let statistics = [Statistic<"numLaunches", "launches", "Launches of several kernels">,
                    Statistic<"numJoined", "joined", "Kernels in such launches">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def PlanMemory : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "Gives each intermediate tensor a slot in one arena";
  let description = [{
    Adds an `mpk.arena` with a slot for each result that is not an output, with the kernels between which it is live, and names the slots on the kernels
    (`mpk.slots`; -1 for outputs). A sweep that is the last to read a row as long as one it writes, number by number, writes it there: both
    values have one slot. So does a product with a row that its epilogue adds. If what is written is a result of the function,
    both lie in the caller's memory for it: -2 - k for result k.
  }];
  let statistics = [Statistic<"numInPlace", "in-place", "Values written over what they are made of">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

#endif // GNNC_TRANSFORMS_PASSES
