//===- Products.td - Products of matrices and outer sums ---*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TRANSFORMS_PASSES_PRODUCTS
#define GNNC_TRANSFORMS_PASSES_PRODUCTS

include "mlir/Pass/PassBase.td"

def GroupTypes : Pass<"group-types", "::mlir::ModuleOp"> {
  let summary = "Compute products with weights of types once per pair of row and type (R3)";
  let description = [{
    Applies to a product of rows that are broadcast along one map with weights of a static space that are broadcast
    along another. The product is computed on the space of the distinct pairs of both maps, which is declared if the
    model does not have it, and each element reads the product of its pair. If the product is summed and does not make
    rows narrower, the rows are summed per pair of owner and type before they are multiplied. `extents` says which
    pairs to assume to be fewer if that is not known: those of senders or those of owners.

    Example: test/Transforms/Products/group-types.mlir
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

def SplitJoinedOperands : Pass<"split-joined-operands", "::mlir::ModuleOp"> {
  let summary = "Let products read the parts of long joined rows one by one";
  let description = [{
    A joined row of more than 1024 numbers that only products read, of parts of different shapes, would be computed by
    one sweep whose parts have different axes: on a GPU all of them for each tile of one. Such is what the paths of a
    tensor product give to the weights that an edge network makes. A product along the joined axis becomes a sum of
    products of the (at most 16) parts, and a sum of outer products a join of sums.

    ```mlir
    func.func @f(%h: !edge32, %a: !edge600, %b: !edge900) -> tensor<32x1500xf32> {
      %0 = mpdfg.concat %a, %b axis 0 : (!edge600, !edge900) -> !edge1500
      %1 = mpdfg.contract %h [0], %0 [1] -> [0, 1] : !edge32, !edge1500 -> !edge32x1500
      %2 = mpdfg.reduce sum %1 along @all : !edge32x1500 -> tensor<32x1500xf32>
      return %2 : tensor<32x1500xf32>
    }
    // becomes
    func.func @f(%h: !edge32, %a: !edge600, %b: !edge900) -> tensor<32x1500xf32> {
      %0 = mpdfg.contract %h [0], %a [1] -> [0, 1] : !edge32, !edge600 -> !edge32x600
      %1 = mpdfg.reduce sum %0 along @all : !edge32x600 -> tensor<32x600xf32>
      %2 = mpdfg.contract %h [0], %b [1] -> [0, 1] : !edge32, !edge900 -> !edge32x900
      %3 = mpdfg.reduce sum %2 along @all : !edge32x900 -> tensor<32x900xf32>
      %4 = mpdfg.concat %1, %3 axis 1 : (tensor<32x600xf32>, tensor<32x900xf32>) -> tensor<32x1500xf32>
      return %4 : tensor<32x1500xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Joined rows that are read part by part">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def SpreadContractions : Pass<"spread-contractions", "::mlir::ModuleOp"> {
  let summary = "Sum long axes of shared products over rows of a static space";
  let description = [{
    A product of shared values whose result has few numbers, each a sum of at least 4096 terms, would be computed by
    few threads. Its summed axis becomes a static space, and the product a sum of outer products over all its rows,
    which `form-outer-sums` makes a product of its own. The result must not have more numbers than a sum has terms.

    ```mlir
    func.func @f(%c: tensor<90x9000xf32>, %w: tensor<30x9000xf32>) -> tensor<90x30xf32> {
      %0 = mpdfg.contract %c [0, 2], %w [1, 2] -> [0, 1] : tensor<90x9000xf32>, tensor<30x9000xf32> -> tensor<90x30xf32>
      return %0 : tensor<90x30xf32>
    }
    // becomes
    mpdfg.space @rows.9000 static {extent = 9000 : i64}
    func.func @f(%c: tensor<90x9000xf32>, %w: tensor<30x9000xf32>) -> tensor<90x30xf32> {
      %0 = mpdfg.transpose %c [1, 0] : tensor<90x9000xf32> -> tensor<9000x90xf32>
      %1 = mpdfg.spread %0 : tensor<9000x90xf32> -> tensor<9000x90xf32, #mpdfg.on<@rows.9000>>
      %2 = mpdfg.transpose %w [1, 0] : tensor<30x9000xf32> -> tensor<9000x30xf32>
      %3 = mpdfg.spread %2 : tensor<9000x30xf32> -> tensor<9000x30xf32, #mpdfg.on<@rows.9000>>
      %4 = mpdfg.contract %1 [0], %3 [1] -> [0, 1] : tensor<9000x90xf32, #mpdfg.on<@rows.9000>>,
          tensor<9000x30xf32, #mpdfg.on<@rows.9000>> -> tensor<9000x90x30xf32, #mpdfg.on<@rows.9000>>
      %5 = mpdfg.reduce sum %4 along @all : tensor<9000x90x30xf32, #mpdfg.on<@rows.9000>> -> tensor<90x30xf32>
      return %5 : tensor<90x30xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numSpread", "spread", "Products summed over rows">];
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def FormOuterSums : Pass<"form-outer-sums", "::mlir::ModuleOp"> {
  let summary = "Turn gradients of weights into matrix products";
  let description = [{
    A sum of outer products of two values, over all rows or along a map, becomes `mpk.outer_sum`. The outer product is
    never computed. Along a map to a space that is not static, that is done where both operands are in memory anyway or
    have 32 numbers or more. Features that the product sums over, as a convolution's gradient does over steps, become
    a batch of sums, which are folded.

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
    rows of the space. A weight that is broadcast from another space along a map m becomes the weight of group m (R3);
    if that space is not static, only where k and n are 32 or more, and m is total and known with the graph. Operands
    are transposed to [batch, rows, k] and [batch, k, n] where needed. Contractions without such an axis (scores, products within a row) are left to the body of a sweep. With `hoist`, a value that was broadcast is
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

def SweepChannels : Pass<"sweep-channels", "::mlir::ModuleOp"> {
  let summary = "Keep small products of each channel in sweeps";
  let description = [{
    Marks contractions `x[channel, k] w[k, n] -> y[channel, n]` of rows with a small shared tensor (`mpk.swept`), such as
    couplings of spherical harmonics. They stay among the operations on rows: a matrix product would read and write
    more than it computes.

    ```mlir
    func.func @f(%x: tensor<?x32x3xf32, #mpdfg.on<@edge>>, %w: tensor<3x5xf32>)
        -> tensor<?x32x5xf32, #mpdfg.on<@edge>> {
      %0 = mpdfg.contract %x [0, 1], %w [1, 2] -> [0, 2]
          : tensor<?x32x3xf32, #mpdfg.on<@edge>>, tensor<3x5xf32> -> tensor<?x32x5xf32, #mpdfg.on<@edge>>
      return %0 : tensor<?x32x5xf32, #mpdfg.on<@edge>>
    }
    // becomes
    func.func @f(%x: tensor<?x32x3xf32, #mpdfg.on<@edge>>, %w: tensor<3x5xf32>)
        -> tensor<?x32x5xf32, #mpdfg.on<@edge>> {
      %0 = mpdfg.contract %x [0, 1], %w [1, 2] -> [0, 2] {mpk.swept}
          : tensor<?x32x3xf32, #mpdfg.on<@edge>>, tensor<3x5xf32> -> tensor<?x32x5xf32, #mpdfg.on<@edge>>
      return %0 : tensor<?x32x5xf32, #mpdfg.on<@edge>>
    }
    ```
  }];
  let statistics = [Statistic<"numSwept", "swept", "Contractions that stay in sweeps">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def TileProducts : Pass<"tile-products", "::mlir::ModuleOp"> {
  let summary = "Keep matrix products of members in the sweeps that sum them";
  let description = [{
    Marks contractions of members with a weight (`mpk.tile`) if their results are only used by sums over members. They
    then become part of the sweeps that compute these sums, and a target computes them for a few members at a time.
    The same applies to outer products, of values that would have to be stored, that are summed over everything. Does
    not apply if the operations of all sweeps that need a product outweigh the bytes of a row per member. Narrow values
    that are made of wide products are kept (`mpdfg.keep`) if reductions that need one another, such as a deviation's,
    would make them in several walks, and one walk that only makes them costs less.

    With `blocks`, for a target that keeps the rows of a tile in the shared memory of a block: rows have at most a few
    hundred numbers, and no tile knows a softmax or log-sum-exp over all members of an owner. What these take of a
    product, and what is made of them, is kept (`mpdfg.keep`) if it is narrow, as an attention's scores are. A product
    that would be made too often, and whose factor is made of other values, is kept too: one sweep in tiles makes it.
    And products of a few numbers are marked `mpk.swept`: they stay among the operations on single rows.

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

#endif // GNNC_TRANSFORMS_PASSES_PRODUCTS
