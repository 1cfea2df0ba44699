//===- Fusion.td - Fusion into sweeps ----------------------*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TRANSFORMS_PASSES_FUSION
#define GNNC_TRANSFORMS_PASSES_FUSION

include "mlir/Pass/PassBase.td"

def FuseMessagePassing : Pass<"fuse-message-passing", "::mlir::ModuleOp"> {
  let summary = "Gather everything between matrix products into few sweeps";
  let description = [{
    Decides which values are stored (outputs, operands of products, values that are read through a map, reductions),
    groups these into sweeps along one map as far as dependences allow, and recomputes all others in the sweeps that
    need them: values of edges are not stored. Values that are dearer to make again in several sweeps than to write and
    read (the sum so far of a residual stream) are kept too (`keep`). A reduction whose result is broadcast along its own map and used by
    another reduction along the same map becomes a further phase of the same sweep. A result with a row for each member
    that nothing else needs is made by a sweep along a map of its space, if both read mostly the same values. Without
    `fuse` each operation is a sweep of its own.

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
                 Option<"keep", "keep", "bool", "true", "keep values that are dearer to make again (R8)">,
                 Option<"statements", "statements", "int64_t", "kMostStatements",
                        "statements that a sweep may have, about; beyond it values are kept and sweeps stay apart">];
  let statistics = [Statistic<"numSweeps", "sweeps", "Sweeps formed">,
                    Statistic<"numKept", "kept", "Values kept that would be dearer to make again">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
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

def ExpandSoftmaxes : Pass<"expand-softmaxes", "::mlir::ModuleOp"> {
  let summary = "Softmaxes that are not online are written with their statistics";
  let description = [{
    A softmax whose weights are seen otherwise than in sums of the same walk takes two walks over the members: one finds
    shift and scale, and a second one uses them. After this pass, the softmaxes that are left are online.

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

def WalkPairs : Pass<"walk-pairs", "::mlir::ModuleOp"> {
  let summary = "Let sweeps along pairs walk what an owner is paired with, without a list of the pairs";
  let description = [{
    A sweep along a map from pairs to one of their sides becomes one along the map that the other side is made of, if
    all it reads of a pair is of its two sides: then the pairs need not be listed. What keeps a sweep from that (a row
    for each pair in memory, the number of a pair) is said in a remark.

    ```mlir
    func.func @f(%x: !edge8) -> !edge8 { // @path is pairs {base = @edge, of = @edge, maps = [@src, @dst]}
      %0 = mpk.sweep over @edge along @path.dst (%x) access [#mpk.access<gather_member @path.src>]
          yields [#mpk.access<owner>] {
      ^bb0(%a: tensor<8xf32>):
        %t = mpk.accumulate sum %a : tensor<8xf32>
        mpk.yield %t : tensor<8xf32>
      } : (!edge8) -> !edge8
      return %0 : !edge8
    }
    // becomes
    func.func @f(%x: !edge8) -> !edge8 {
      %0 = mpk.sweep over @edge along @dst pairs @path.dst(%x) access [#mpk.access<member>] yields [#mpk.access<owner>] {
      ^bb0(%a: tensor<8xf32>):
        %1 = mpk.accumulate sum %a : tensor<8xf32>
        mpk.yield %1 : tensor<8xf32>
      } : (!edge8) -> !edge8
      return %0 : !edge8
    }
    ```
  }];
  let statistics = [Statistic<"numWalked", "walked", "Sweeps that walk pairs without a list">];
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

def SplitWideOwners : Pass<"split-wide-owners", "::mlir::ModuleOp"> {
  let summary = "Give wide rows of owners sweeps of their own where members' rows are narrow";
  let description = [{
    For targets that spread rows over lanes. An owner has as many lanes as its members' rows and its own rows take
    together. Where members have 8 numbers at most, and the owner's rows a long axis that no member has, all these lanes
    would walk over the members, most of them for nothing. What is made of the accumulations becomes a sweep over the
    owners that follows.

    ```mlir
    func.func @f(%x: !node64, %e: !edge4) -> !node68 {
      %0 = mpk.sweep over @node along @dst (%x, %e) access [#mpk.access<owner>, #mpk.access<member>]
          yields [#mpk.access<owner>] {
      ^bb0(%a: tensor<64xf32>, %b: tensor<4xf32>):
        %s = mpk.accumulate sum %b : tensor<4xf32>
        %y = mpdfg.concat %a, %s axis 0 : (tensor<64xf32>, tensor<4xf32>) -> tensor<68xf32>
        mpk.yield %y : tensor<68xf32>
      } : (!node64, !edge4) -> !node68
      return %0 : !node68
    }
    // becomes
    func.func @f(%x: !node64, %e: !edge4) -> !node68 {
      %0 = mpk.sweep over @node along @dst(%e) access [#mpk.access<member>] yields [#mpk.access<owner>] {
      ^bb0(%b: tensor<4xf32>):
        %s = mpk.accumulate sum %b : tensor<4xf32>
        mpk.yield %s : tensor<4xf32>
      } : (!edge4) -> !node4
      %1 = mpk.sweep over @node(%0, %x) access [#mpk.access<owner>, #mpk.access<owner>] yields [#mpk.access<owner>] {
      ^bb0(%s: tensor<4xf32>, %a: tensor<64xf32>):
        %y = mpdfg.concat %a, %s axis 0 : (tensor<64xf32>, tensor<4xf32>) -> tensor<68xf32>
        mpk.yield %y : tensor<68xf32>
      } : (!node4, !node64) -> !node68
      return %1 : !node68
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
    tile. Where results, or the parts of a joined result, come from long rows (more than 512 numbers) whose axes are not
    those of another, that would be tiles of the one for each tile of the other. They get sweeps of their own, which make
    again what they have in common, as tiles do anyway, and a last one joins parts. Shared
    values have no owners to be cut by: they are apart where loops over all axes would take many more steps than they
    have numbers.

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

#endif // GNNC_TRANSFORMS_PASSES_FUSION
