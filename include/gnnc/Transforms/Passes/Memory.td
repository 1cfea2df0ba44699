//===- Memory.td - Storage, launches and memory ------------*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TRANSFORMS_PASSES_MEMORY
#define GNNC_TRANSFORMS_PASSES_MEMORY

include "mlir/Pass/PassBase.td"

def NarrowStorage : Pass<"narrow-storage", "::mlir::ModuleOp"> {
  let summary = "Store rows of spaces as 16-bit numbers (R1)";
  let description = [{
    Inputs, outputs and intermediate tensors with a row per element of a space of the graph become tensors of bf16 or
    f16. The bodies of kernels, which compute in f32, do not change: kernels convert when they read and write. These
    stay f32: shared values (parameters, states, losses, sums over everything) and values on a space of fixed extent;
    parameters on a space of the graph and their gradients; weights of products and their gradients; views and what
    they view; element numbers; log-sum-exps; and intermediate rows of at most 32 bytes, which a gather reads as one
    sector of memory anyway. A remark reports each of the last three. With `whole-interface`, inputs and outputs stay f32 too.

    Example: test/Transforms/Memory/narrow-storage.mlir
  }];
  let options = [Option<"storage", "storage", "::gnnc::Storage", "::gnnc::Storage::BF16", "bf16 or f16",
                        [{::llvm::cl::values(clEnumValN(::gnnc::Storage::AsComputed, "as-computed", "as computed"),
                                             clEnumValN(::gnnc::Storage::BF16, "bf16", "8 bits of significand"),
                                             clEnumValN(::gnnc::Storage::F16, "f16", "11 bits of significand"))}]>,
                 Option<"wholeInterface", "whole-interface", "bool", "false", "Leave inputs and outputs in f32">];
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

    Example: test/Transforms/Memory/place-updates.mlir
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

    Example: test/Transforms/Memory/join-launches.mlir
  }];
  let statistics = [Statistic<"numLaunches", "launches", "Launches of several kernels">,
                    Statistic<"numJoined", "joined", "Kernels in such launches">];
  let dependentDialects = ["::gnnc::mpk::MPKDialect"];
}

def OverlapTransfers : Pass<"overlap-transfers", "::mlir::ModuleOp"> {
  let summary = "Run kernels while rows of other ranks are on their way";
  let description = [{
    Puts an `mpdfg.await` behind each `mpdfg.transfer`, and kernels in an order in which transfers come as early and
    awaits as late as can be: what the next transfer needs is made first, then what needs nothing that is on its way.
    Rows of the graph are not made before the transfer that came before them, so that they are not kept for longer than
    one exchange takes; sums over all rows, which are small, may be. A reduction over all ranks waits for everything
    that has begun, so it comes after other work. The halves of a program that can be run apart stay apart. Where
    nothing is done meanwhile, the await is taken away again.

    Runs after place-updates and join-launches: an update of an argument stays behind everything that reads it, kernels
    of a launch stay side by side.

    Example: test/Transforms/Memory/overlap-transfers.mlir
  }];
  let statistics = [Statistic<"numOverlapped", "overlapped", "Transfers while which kernels run">];
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

#endif // GNNC_TRANSFORMS_PASSES_MEMORY
