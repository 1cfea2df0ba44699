//===- MPDFGOps.td - Operations of the mpdfg dialect ------------*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constraints shared by all operations on tensors ("(R1)" ... are cited by the verifiers):
//  (R1) operands that are not shared have one residency, which is the result's, except for movements;
//  (R2) elementwise operands have the same number of feature axes as the result; each axis is the result's or 1;
//  (R3) a movement's operand and result reside where its map says.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPDFG_OPS
#define GNNC_MPDFG_OPS

include "MPDFGBase.td"
include "dialects/mpdfg/Interfaces/MPDFGInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// Each row of the result is a function of the operands' rows alone, so it is the same wherever these rows are: the
/// operation may be moved to another space with its operands. Not so where the number of the row counts.
def MPDFG_RowFunction : NativeOpTrait<"RowFunction"> { let cppNamespace = "::gnnc::mpdfg"; }

class MPDFG_Op<string mnemonic, list<Trait> traits = []> : Op<MPDFG_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// Spaces and maps
//===----------------------------------------------------------------------===//

def MPDFG_RatioAttr : Attr<CPred<"::llvm::isa<::mlir::FloatAttr>($_self)">, "number"> {
  let storageType = "::mlir::FloatAttr";
  let returnType = "::mlir::FloatAttr";
  let convertFromStorage = "$_self";
}

def SpaceOp : MPDFG_Op<"space", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "declares an index space";
  let description = [{
    A set of elements that tensors may reside on. `root` spaces get their extent with the graph, `static` ones have it
    here and it is checked when a graph is prepared; the others are derived from maps: `filter` keeps the elements of
    `base` on which two maps agree (or differ, where `equal` is false), `union` is the disjoint union of `parts`,
    `distinct` the distinct tuples of maps[i] over `base`, in lexicographic order. `share` is what a rank has of `base`,
    which all ranks have: all of it on the first rank, nothing on others. `selection` has, for each element of `base`, as
    many elements as are chosen for it among those of `of`: `most`, or all there are where these are fewer. `maps`, if
    there, say where elements of `base` and of `of` belong, and only those that belong together are chosen for one
    another; with `others`, base and `of` are one space, and none is chosen for itself. With a `ratio`, there are
    ceil(ratio * n) of n elements, the product rounded to the ratio's type. How many there are is known with the graph,
    and which they are once an operation of the program has chosen; in an `open` selection that operation also decides
    how many there are, up to that number. `pairs` has the pairs of an element of `base` and one of `of` that the two
    `maps` send to the same element, in lexicographic order: the fibre product of the maps. How and when derived spaces
    are built, and whether they are ever listed, is left to the runtime.

    Example:
    ```mlir
    mpdfg.space @node root
    mpdfg.space @edge root
    mpdfg.space @edge_type static {extent = 90 : i64}
    mpdfg.space @real filter {base = @edge, maps = [@src, @dst]}
    mpdfg.space @ring union {parts = [@real, @node]}
    mpdfg.space @pair distinct {base = @edge, maps = [@dst, @etype]}
    mpdfg.space @near selection {base = @node, of = @node, maps = [@batch, @batch], most = 16 : i64, others}
    mpdfg.space @best selection {base = @graph, of = @node, maps = [unit, @batch], most = 64 : i64, ratio = 0.5 : f32}
    mpdfg.space @kept selection {base = @edge, of = @edge, most = 1 : i64, open}
    mpdfg.space @all pairs {base = @node, of = @node, maps = [@batch, @batch]}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, MPDFG_SpaceKind:$kind, OptionalAttr<I64Attr>:$extent,
      OptionalAttr<FlatSymbolRefAttr>:$base, OptionalAttr<ArrayAttr>:$maps, UnitAttr:$equal,
      OptionalAttr<ArrayAttr>:$parts, OptionalAttr<FlatSymbolRefAttr>:$of, OptionalAttr<I64Attr>:$most,
      UnitAttr:$others, OptionalAttr<MPDFG_RatioAttr>:$ratio, UnitAttr:$open);
  let builders = [OpBuilder<(ins "::mlir::StringAttr":$name, "::gnnc::mpdfg::SpaceKindAttr":$kind,
                                "::mlir::IntegerAttr":$extent, "::mlir::FlatSymbolRefAttr":$base,
                                "::mlir::ArrayAttr":$maps, "::mlir::UnitAttr":$equal, "::mlir::ArrayAttr":$parts),
                            [{
    build($_builder, $_state, name, kind, extent, base, maps, equal, parts, ::mlir::FlatSymbolRefAttr(),
          ::mlir::IntegerAttr(), ::mlir::UnitAttr(), ::mlir::FloatAttr(), ::mlir::UnitAttr());
  }]>];
  let assemblyFormat = "$sym_name $kind attr-dict";
}

def MapOp : MPDFG_Op<"map", [Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "declares a map between two spaces";
  let description = [{
    A function from the elements of one space to those of another; a `partial` one is undefined on some. `root` maps come
    with the graph. `inclusion` leads from a filter or a share to its base, `part` from a union to its part number `part`,
    `parts` from a union along one map for each part (a unit entry is the identity, `undefined` nothing),
    `projection` from a distinct space to the codomain of its map number `part`, `class` from the base of a distinct space
    to it, `last` from the codomain of parts[0] to the last element that goes there, and `compose` follows
    parts[0], then parts[1]. `injection` leads from part number `part` of a union into it. From a selection, `owner` leads
    to the element of its base that it was chosen for, and `chosen` to the one that was chosen. What leads through the
    latter, or through either from an open selection, is known where an operation such as `nearest` has chosen, and
    nowhere before. From pairs, `owner` leads to the element of the base and `partner` to the other one. `only` leads from
    all elements to the one of a static space of
    extent 1.

    Example:
    ```mlir
    mpdfg.map @dst root from @edge to @node
    mpdfg.map @ring.dst parts from @ring to @node {parts = [@real.dst, unit]}
    mpdfg.map @last_loop last from @node to @loop {parts = [@loop.dst], partial}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, MPDFG_MapKind:$kind, FlatSymbolRefAttr:$from, FlatSymbolRefAttr:$to,
      UnitAttr:$partial, OptionalAttr<I64Attr>:$part, OptionalAttr<ArrayAttr>:$parts);
  let assemblyFormat = "$sym_name $kind `from` $from `to` $to attr-dict";
}

//===----------------------------------------------------------------------===//
// Movements
//===----------------------------------------------------------------------===//

class MPDFG_Movement<string mnemonic, bit broadcast, list<Trait> traits = []>
    : MPDFG_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<EvaluateOpInterface>,
                          DeclareOpInterfaceMethods<SymbolUserOpInterface>, MovementOpInterface,
                          DeclareOpInterfaceMethods<DifferentiableOpInterface>]#traits> {
  code movementMethods = [{
    ::mlir::FlatSymbolRefAttr getMovementMap() { return getAlongAttr(); }
    bool isBroadcast() { return }]#!if(broadcast, "true", "false")#[{; }
  }];
  let extraClassDeclaration = movementMethods;
}

def BroadcastOp : MPDFG_Movement<"broadcast", 1> {
  let summary = "moves a value against a map: y[i] = x[m(i)]";
  let description = [{
    For a map m: A -> B, takes a value on B to A; along `@all`, a shared value to any space. Where m is undefined the result is `fill`. Whether it is ever a copy is left
    to fusion: usually kernels read through the map.

    Example:
    ```mlir
    %1 = mpdfg.broadcast %0 along @src : tensor<?x64xf32, #mpdfg.on<@node>> -> tensor<?x64xf32, #mpdfg.on<@edge>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input, FlatSymbolRefAttr:$along, DefaultValuedAttr<F64Attr, "0.0">:$fill);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$input `along` $along attr-dict `:` type($input) `->` type($result)";
}

def ReduceOp : MPDFG_Movement<"reduce", 0> {
  let summary = "combines the members of each element: y[j] = + over m(i) = j of x[i]";
  let description = [{
    For a map m: A -> B, takes a value on A to B; along `@all` from any space to shared. Elements without members get 0 (sum,
    mean, max, min) or minus infinity (logsumexp); members whose map is undefined are ignored. Max and min are won by the member with the smallest
    number, which is what argmax and argmin give (-1 where there is none): an element number in the memory of a
    floating-point number, which only `is_element` can read. Logsumexp is minus infinity where all members are, and infinity where
    one is (a member that is not a number makes it none).

    The statistics of a softmax are two kinds: exp(x - `softmax_shift`) * `softmax_scale` is each member's share. The shift is the largest
    member, or the nearest finite number of the type to it, so that no infinity is subtracted from itself (without members some finite number); the
    scale is 1 / the sum of exp(x - shift), 0 where that sum is 0 and NaN where it is infinite. Only the share has a derivative: the shift counts as a constant.

    The order of additions is left to the schedule, which fixes it for a given object and graph.

    Example:
    ```mlir
    %1 = mpdfg.reduce sum %0 along @dst : tensor<?x64xf32, #mpdfg.on<@edge>> -> tensor<?x64xf32, #mpdfg.on<@node>>
    ```
  }];
  let arguments = (ins MPDFG_ReduceKind:$kind, MPDFG_Tensor:$input, FlatSymbolRefAttr:$along);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$kind $input `along` $along attr-dict `:` type($input) `->` type($result)";
}

def NormOp : MPDFG_Movement<"norm", 0, [DeclareOpInterfaceMethods<DifferentiableOpInterface, ["recompute"]>]> {
  let summary = "softmax over the members of each element";
  let description = [{
    For a map m: A -> B: y[i] = exp(x[i] - max) / sum of exp(x[k] - max) over the k with m(k) = m(i), for each feature by itself.
    Equal to two reductions, `softmax_shift` and `softmax_scale`, followed by broadcasts back; kept whole so that it can be computed online. Members whose map is undefined get 0.
    Where all members are minus infinity, all get 0. A member that is infinite or NaN makes those of its owner NaN.

    Example:
    ```mlir
    %1 = mpdfg.norm %0 along @dst : tensor<?x8xf32, #mpdfg.on<@edge>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input, FlatSymbolRefAttr:$along);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$input `along` $along attr-dict `:` type($input) `->` type($result)";
}

def DegreeOp : MPDFG_Op<"degree", [Pure, DeclareOpInterfaceMethods<EvaluateOpInterface>,
                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "number of members of each element of a map's target";
  let description = [{
    y[j] = number of i with m(i) = j, as a floating-point number without feature axes.

    Example:
    ```mlir
    %0 = mpdfg.degree along @dst : tensor<?xf32, #mpdfg.on<@node>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$along);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "`along` $along attr-dict `:` type($result)";
}

def SpreadOp : MPDFG_Op<"spread", [Pure, DeclareOpInterfaceMethods<EvaluateOpInterface>,
                                   DeclareOpInterfaceMethods<DifferentiableOpInterface>,
                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "views the first axis of a shared value as a static space";
  let description = [{
    The rows of a weight become elements of a space, so that a map can select among them: a product with sparse features
    is a sum over the stored entries of value times the weight's row at the entry's column. Costs nothing.

    Example:
    ```mlir
    %1 = mpdfg.spread %w : tensor<1433x16xf32> -> tensor<1433x16xf32, #mpdfg.on<@x.column.space>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def CollectOp : MPDFG_Op<"collect", [Pure, DeclareOpInterfaceMethods<EvaluateOpInterface>,
                                     DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "views a value on a static space as a shared one: the converse of spread";
  let description = [{
    The space becomes the first axis. The gradient of a weight that was spread comes back this way. Costs nothing.

    Example:
    ```mlir
    %1 = mpdfg.collect %g : tensor<1433x16xf32, #mpdfg.on<@x.columns>> -> tensor<1433x16xf32>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

def NearestOp : MPDFG_Op<"nearest", [DeclareOpInterfaceMethods<EvaluateOpInterface>,
                                     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "chooses for each element those whose rows are nearest";
  let description = [{
    Says where the map `along` leads, the `chosen` one of a selection: for each element q of its base (to which `owner`
    leads) the elements p of `of` that have the least |points[p] - queries[q]|^2, in rising order; of equal distances
    the smaller number comes first, and distances that are not a number come last. Distances are sums of squares from
    the first feature on, each difference, square and sum rounded to the operands' type.

    The result has the number of the chosen element, as `argmax` has it, for each element of the selection. There is one
    such operation for each selection in a function; operations that name the map, or one that leads through it, come
    after it. It has no derivative.

    Example:
    ```mlir
    %near = mpdfg.nearest %pos, %pos along @near.src owner @near.dst
      : tensor<?x3xf32, #mpdfg.on<@node>>, tensor<?x3xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@near>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$points, MPDFG_Tensor:$queries, FlatSymbolRefAttr:$along, FlatSymbolRefAttr:$owner);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = [{
    $points `,` $queries `along` $along `owner` $owner attr-dict `:` type($points) `,` type($queries) `->` type($result)
  }];
}

def WithinOp : MPDFG_Op<"within", [DeclareOpInterfaceMethods<EvaluateOpInterface>,
                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "chooses for each element those whose rows are nearer than a radius";
  let description = [{
    Says how many elements an open selection has, and where its maps lead: for each element q of the base the elements p
    of `of` with |points[p] - queries[q]|^2 < radius^2, by rising number; of more than `most` those with the smallest
    numbers. A distance that is not a number is not less. Distances are those of `nearest`, and the square of the radius
    is rounded to the operands' type. Otherwise like `nearest`.

    Example:
    ```mlir
    %near = mpdfg.within %pos, %pos radius 5.0 along @near.src owner @near.dst
      : tensor<?x3xf32, #mpdfg.on<@node>>, tensor<?x3xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@near>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$points, MPDFG_Tensor:$queries, F64Attr:$radius, FlatSymbolRefAttr:$along,
      FlatSymbolRefAttr:$owner);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = [{
    $points `,` $queries `radius` $radius `along` $along `owner` $owner attr-dict
    `:` type($points) `,` type($queries) `->` type($result)
  }];
}

def TopOp : MPDFG_Op<"top", [DeclareOpInterfaceMethods<EvaluateOpInterface>,
                             DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "chooses for each element those with the largest scores";
  let description = [{
    Like `nearest`, but the elements with the largest scores are chosen, in falling order; of equal scores the smaller
    number comes first, and scores that are not a number come last.

    Example:
    ```mlir
    %best = mpdfg.top %score along @best.src owner @best.dst
      : tensor<?xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@best>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$scores, FlatSymbolRefAttr:$along, FlatSymbolRefAttr:$owner);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$scores `along` $along `owner` $owner attr-dict `:` type($scores) `->` type($result)";
}

def FarthestOp : MPDFG_Op<"farthest", [DeclareOpInterfaceMethods<EvaluateOpInterface>,
                                       DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "chooses for each element points that are far from each other";
  let description = [{
    Like `top`, but by the distance of rows: first the member with the largest number of `start`, or without it the one
    with the smallest number, then again and again the member whose nearest point chosen so far is farthest away; of
    equally far ones the one with the smaller number. Distances are sums of squares, as `nearest` has them. Those that
    are not a number come last, and no member is chosen twice.

    Example:
    ```mlir
    %centres = mpdfg.farthest %pos along @centres.src owner @centres.dst
      : tensor<?x3xf32, #mpdfg.on<@node>> -> tensor<?xf32, #mpdfg.on<@centres>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$points, Optional<MPDFG_Tensor>:$start, FlatSymbolRefAttr:$along,
      FlatSymbolRefAttr:$owner);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = [{
    $points (`start` $start^)? `along` $along `owner` $owner attr-dict `:` type($points) (`start` type($start)^)?
    `->` type($result)
  }];
}

def KeepOp : MPDFG_Op<"keep", [DeclareOpInterfaceMethods<EvaluateOpInterface>,
                               DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "chooses the elements on which a value is not zero";
  let description = [{
    Says how many elements an open selection with `most` 1 has, whose base is what it chooses from: those on which the
    condition is neither 0 nor not a number, in order. `along` leads to them, and there is no other map to what is
    chosen. Otherwise like `nearest`.

    Example:
    ```mlir
    %kept = mpdfg.keep %good along @kept.edge
      : tensor<?xf32, #mpdfg.on<@edge>> -> tensor<?xf32, #mpdfg.on<@kept>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$condition, FlatSymbolRefAttr:$along);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$condition `along` $along attr-dict `:` type($condition) `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Between ranks
//===----------------------------------------------------------------------===//

def TransferOp : MPDFG_Op<"transfer", [Pure, DeclareOpInterfaceMethods<EvaluateOpInterface>,
                                       DeclareOpInterfaceMethods<DifferentiableOpInterface>,
                                       DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "rows of one rank become rows of another";
  let description = [{
    Operand and result are on root spaces of which the graph says how many rows are of which rank: first those for (of)
    rank 0, then those for rank 1, and so on. What a rank has for another arrives there in the same order. So
    the gradient is the transfer the other way. All ranks run the same transfers in the same order. One rank alone
    keeps its rows.

    Example: the rows that others read go there, those that are read here come
    ```mlir
    %1 = mpdfg.transfer %0 : tensor<?x64xf32, #mpdfg.on<@node.send>> -> tensor<?x64xf32, #mpdfg.on<@node.halo>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def AwaitOp
    : MPDFG_Op<"await", [Pure, AllTypesMatch<["input", "result"]>, DeclareOpInterfaceMethods<EvaluateOpInterface>]> {
  let summary = "wait for a transfer to complete";
  let description = [{
    Returns its first operand, the result of a `transfer` that has no other users. So the transfer only begins an
    exchange: what comes between it and this operation runs meanwhile. The second operand is what is sent, which has to
    stay in memory for as long. The result lies where the first operand does. Added by the overlap-transfers pass.

    Example:
    ```mlir
    %1 = mpdfg.transfer %0 : tensor<?x64xf32, #mpdfg.on<@node.send>> -> tensor<?x64xf32, #mpdfg.on<@node.halo>>
    %2 = mpdfg.await %1 sent %0 : tensor<?x64xf32, #mpdfg.on<@node.halo>>, tensor<?x64xf32, #mpdfg.on<@node.send>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input, MPDFG_Tensor:$sent);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$input `sent` $sent attr-dict `:` type($input) `,` type($sent)";
  let hasVerifier = 1;
}

def AllReduceOp
    : MPDFG_Op<"all_reduce", [Pure, AllTypesMatch<["input", "result"]>, DeclareOpInterfaceMethods<EvaluateOpInterface>,
                              DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "combines what each rank has of a value, for all of them";
  let description = [{
    `sum`, `max` or `min` of each number over all ranks, in their order, so that all get the same bits. The value is
    shared or on a static space. The gradient of the sum is the result's, which is the same on all ranks, as `vary` has it; that of a
    maximum or minimum goes to the ranks that have it, in equal parts (`distribute` says with `derive_as` which of them won).

    Example: the sum over all nodes of all ranks
    ```mlir
    %1 = mpdfg.reduce sum %0 along @all : tensor<?x8xf32, #mpdfg.on<@node>> -> tensor<8xf32>
    %2 = mpdfg.all_reduce sum %1 : tensor<8xf32>
    ```
  }];
  let arguments = (ins MPDFG_ReduceKind:$kind, MPDFG_Tensor:$input);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$kind $input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def VaryOp : MPDFG_Op<"vary", [Pure, AllTypesMatch<["input", "result"]>, DeclareOpInterfaceMethods<EvaluateOpInterface>,
                               DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the identity, where a value that all ranks have meets what each has of its own";
  let description = [{
    Each rank computes a part of the gradient; that of the operand is their sum. Removed by the differentiate pass.

    Example:
    ```mlir
    %1 = mpdfg.vary %w : tensor<64x16xf32>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def DeriveAsOp : MPDFG_Op<"derive_as", [Pure, AllTypesMatch<["input", "other", "result"]>,
                                        DeclareOpInterfaceMethods<EvaluateOpInterface>,
                                        DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "the first operand, whose gradient goes to the second";
  let description = [{
    For two ways to compute the same value of which one is cheap and the other has the gradient that is wanted: without a
    gradient the second is not computed. Removed by the differentiate pass.

    Example: the largest number of all ranks, as the sum of what the winner has
    ```mlir
    %2 = mpdfg.derive_as %most, %winner : tensor<8xf32>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input, MPDFG_Tensor:$other);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$input `,` $other attr-dict `:` type($input)";
}

//===----------------------------------------------------------------------===//
// Row by row
//===----------------------------------------------------------------------===//

class MPDFG_RowOp<string mnemonic, list<Trait> traits = []>
    : MPDFG_Op<mnemonic, [Pure, DeclareOpInterfaceMethods<EvaluateOpInterface>,
                          DeclareOpInterfaceMethods<CostOpInterface>,
                          DeclareOpInterfaceMethods<DifferentiableOpInterface>]#traits> {
  let results = (outs MPDFG_Tensor:$result);
  let hasVerifier = 1;
}

def ConstantOp : MPDFG_Op<"constant", [Pure, DeclareOpInterfaceMethods<EvaluateOpInterface>]> {
  let summary = "a shared value that holds one number everywhere";
  let description = [{
    Example:
    ```mlir
    %0 = mpdfg.constant 5.000000e-01 : tensor<1xf32>
    ```
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def ExtentOp : MPDFG_Op<"extent", [Pure, DeclareOpInterfaceMethods<EvaluateOpInterface>,
                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "number of elements of a space, as a shared number";
  let description = [{
    Example:
    ```mlir
    %0 = mpdfg.extent @node : tensor<f32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$space);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$space attr-dict `:` type($result)";
}

def UnaryOp
    : MPDFG_RowOp<"unary", [MPDFG_RowFunction, DeclareOpInterfaceMethods<LinearOpInterface, ["isElementwise"]>]> {
  let summary = "an elementwise function of one operand";
  let description = [{
    `alpha` is the slope of `leaky_relu` and the scale of `elu`. relu, leaky_relu and elu take x where x > 0. `finite` is x, and
    the largest or lowest finite number of the type where x is infinite.

    Example:
    ```mlir
    %1 = mpdfg.unary leaky_relu %0 {alpha = 2.000000e-01 : f64} : tensor<?x8xf32, #mpdfg.on<@edge>>
       -> tensor<?x8xf32, #mpdfg.on<@edge>>
    ```
  }];
  let arguments = (ins MPDFG_UnaryKind:$kind, MPDFG_Tensor:$input, DefaultValuedAttr<F64Attr, "0.0">:$alpha);
  let assemblyFormat = "$kind $input attr-dict `:` type($input) `->` type($result)";
}

def BinaryOp : MPDFG_RowOp<"binary", [MPDFG_RowFunction,
                                      DeclareOpInterfaceMethods<LinearOpInterface, ["isElementwise", "dividesBy"]>]> {
  let summary = "an elementwise function of two operands";
  let description = [{
    Axes of size 1 are repeated (R2); a shared operand meets rows of any space (R1). Comparisons give 1 or 0.

    Example:
    ```mlir
    %2 = mpdfg.binary mul %0, %1 : tensor<?x8x1xf32, #mpdfg.on<@edge>>, tensor<?x8x16xf32, #mpdfg.on<@edge>>
       -> tensor<?x8x16xf32, #mpdfg.on<@edge>>
    ```
  }];
  let arguments = (ins MPDFG_BinaryKind:$kind, MPDFG_Tensor:$lhs, MPDFG_Tensor:$rhs);
  let hasFolder = 1;
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
}

def SelectOp
    : MPDFG_RowOp<"select", [MPDFG_RowFunction, DeclareOpInterfaceMethods<LinearOpInterface, ["isElementwise"]>]> {
  let summary = "a where the condition is not 0, else b";
  let description = [{
    Operands are aligned as for `binary`.

    Example:
    ```mlir
    %3 = mpdfg.select %c, %a, %b : tensor<?x1xf32, #mpdfg.on<@node>>, tensor<?x8xf32, #mpdfg.on<@node>>, tensor<1xf32>
       -> tensor<?x8xf32, #mpdfg.on<@node>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$condition, MPDFG_Tensor:$trueValue, MPDFG_Tensor:$falseValue);
  let assemblyFormat = "$condition `,` $trueValue `,` $falseValue attr-dict `:` type($condition) `,` type($trueValue) "
                       "`,` type($falseValue) `->` type($result)";
}

def ContractOp : MPDFG_RowOp<"contract", [MPDFG_RowFunction, DeclareOpInterfaceMethods<LinearOpInterface>]> {
  let summary = "the general product: einsum on feature axes";
  let description = [{
    Each feature axis of each operand and of the result has a label; labels that the result lacks are summed over. Rows meet by (R1). How it is computed (a
    matrix product on all rows, inside a sweep, grouped by type) is left to later phases.

    Example: heads of a matrix product, x[in] W[in, heads, out]
    ```mlir
    %1 = mpdfg.contract %x [0], %w [0, 1, 2] -> [1, 2] : tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x8x16xf32>
       -> tensor<?x8x16xf32, #mpdfg.on<@node>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$lhs, DenseI64ArrayAttr:$lhsLabels, MPDFG_Tensor:$rhs, DenseI64ArrayAttr:$rhsLabels,
      DenseI64ArrayAttr:$outLabels);
  let assemblyFormat =
      "$lhs $lhsLabels `,` $rhs $rhsLabels `->` $outLabels attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasCanonicalizeMethod = 1;
}

def FoldOp : MPDFG_RowOp<"fold", [MPDFG_RowFunction, DeclareOpInterfaceMethods<LinearOpInterface>]> {
  let summary = "combines feature axes of each row";
  let description = [{
    The folded axes stay with size 1. Kinds are those of `reduce` but for the statistics of a softmax.

    Example:
    ```mlir
    %1 = mpdfg.fold sum %0 [1] : tensor<?x8x16xf32, #mpdfg.on<@edge>> -> tensor<?x8x1xf32, #mpdfg.on<@edge>>
    ```
  }];
  let arguments = (ins MPDFG_ReduceKind:$kind, MPDFG_Tensor:$input, DenseI64ArrayAttr:$axes);
  let assemblyFormat = "$kind $input $axes attr-dict `:` type($input) `->` type($result)";
}

def ReshapeOp : MPDFG_RowOp<"reshape", [MPDFG_RowFunction, DeclareOpInterfaceMethods<LinearOpInterface>]> {
  let summary = "the same numbers of each row under other feature axes, row-major";
  let description = [{
    Example:
    ```mlir
    %1 = mpdfg.reshape %0 : tensor<?x8x8xf32, #mpdfg.on<@node>> -> tensor<?x64xf32, #mpdfg.on<@node>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input);
  let hasFolder = 1;
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def TransposeOp : MPDFG_RowOp<"transpose", [MPDFG_RowFunction, DeclareOpInterfaceMethods<LinearOpInterface>]> {
  let summary = "permutes feature axes";
  let description = [{
    Axis i of the result is axis permutation[i] of the operand.

    Example:
    ```mlir
    %1 = mpdfg.transpose %0 [1, 0] : tensor<?x8x16xf32, #mpdfg.on<@node>> -> tensor<?x16x8xf32, #mpdfg.on<@node>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let hasFolder = 1;
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
}

def ConcatOp : MPDFG_RowOp<"concat", [MPDFG_RowFunction, DeclareOpInterfaceMethods<LinearOpInterface>]> {
  let summary = "joins values along a feature axis";
  let description = [{
    All other axes are equal; shared operands are repeated for each row.

    Example:
    ```mlir
    %2 = mpdfg.concat %0, %1 axis 0 : (tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x4xf32, #mpdfg.on<@edge>>)
       -> tensor<?x12xf32, #mpdfg.on<@edge>>
    ```
  }];
  let arguments = (ins Variadic<MPDFG_Tensor>:$inputs, I64Attr:$axis);
  let assemblyFormat = "$inputs `axis` $axis attr-dict `:` functional-type($inputs, $result)";
}

def SliceOp : MPDFG_RowOp<"slice", [MPDFG_RowFunction, DeclareOpInterfaceMethods<LinearOpInterface>]> {
  let summary = "a range of a feature axis";
  let description = [{
    Example:
    ```mlir
    %1 = mpdfg.slice %0 axis 0 from 4 : tensor<?x12xf32, #mpdfg.on<@edge>> -> tensor<?x8xf32, #mpdfg.on<@edge>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input, I64Attr:$axis, I64Attr:$begin);
  let assemblyFormat = "$input `axis` $axis `from` $begin attr-dict `:` type($input) `->` type($result)";
}

def DetachOp : MPDFG_RowOp<"detach", [MPDFG_RowFunction, DeclareOpInterfaceMethods<LinearOpInterface>]> {
  let summary = "the identity, through which no gradient goes";
  let description = [{
    Example:
    ```mlir
    %1 = mpdfg.detach %0 : tensor<?x64xf32, #mpdfg.on<@node>> -> tensor<?x64xf32, #mpdfg.on<@node>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
}

def ElementOp : MPDFG_Op<"element", [Pure, DeclareOpInterfaceMethods<EvaluateOpInterface>]> {
  let summary = "each row's own element number";
  let description = [{
    In the caller's order, in the memory of a floating-point number as `reduce argmax` writes it: only `is_element` and `random`
    can read it. All feature axes have size 1. In the body of a sweep, `member` says that the row is the member's, not the owner's.

    Example:
    ```mlir
    %0 = mpdfg.element : tensor<?x1xf32, #mpdfg.on<@edge>>
    ```
  }];
  let arguments = (ins UnitAttr:$member);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def IotaOp : MPDFG_Op<"iota", [Pure, DeclareOpInterfaceMethods<EvaluateOpInterface>]> {
  let summary = "a shared value that holds the number of each of its places, row-major";
  let description = [{
    Numbers are written as `element` writes them.

    Example: the identity matrix on a static space
    ```mlir
    %0 = mpdfg.element : tensor<7x1xf32, #mpdfg.on<@class>>
    %1 = mpdfg.iota : tensor<7xf32>
    %2 = mpdfg.is_element %1, %0 : tensor<7xf32>, tensor<7x1xf32, #mpdfg.on<@class>> -> tensor<7x7xf32, #mpdfg.on<@class>>
    ```
  }];
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def IsElementOp : MPDFG_RowOp<"is_element"> {
  let summary = "1 where two element numbers are the same, else 0";
  let description = [{
    Reads what `reduce argmax` or `argmin` wrote, moved back to the members: it marks the winner, which alone gets the
    gradient. Operands are aligned as for `binary`.

    Example:
    ```mlir
    %1 = mpdfg.is_element %0, %own : tensor<?x8xf32, #mpdfg.on<@edge>>, tensor<?x1xf32, #mpdfg.on<@edge>>
       -> tensor<?x8xf32, #mpdfg.on<@edge>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$numbers, MPDFG_Tensor:$element);
  let assemblyFormat = "$numbers `,` $element attr-dict `:` type($numbers) `,` type($element) `->` type($result)";
}

def RandomOp : MPDFG_RowOp<"random"> {
  let summary = "uniform random numbers in [0, 1), recomputed wherever they are needed";
  let description = [{
    A multiple of 2^-24 from word feature mod 4 of Philox4x32-7 (Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011; seven
    rounds are the fewest that pass BigCrush) with counter (element, feature / 4, site, step) and key (seed_low, seed_high). `element` and `feature` are
    numbers as `element` and `iota` write them; seeds and step hold integers from 0 to 2^24 - 1. So a number depends neither on the
    schedule nor on how often it is computed. `site` is the place in the program: no two have the same. Operands are aligned as for `binary`.

    Example: a mask of dropout
    ```mlir
    %0 = mpdfg.random %low, %high, %step, %element, %feature site 3 : tensor<1xf32>, tensor<1xf32>, tensor<1xf32>,
         tensor<?x1xf32, #mpdfg.on<@edge>>, tensor<8xf32> -> tensor<?x8xf32, #mpdfg.on<@edge>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$seedLow, MPDFG_Tensor:$seedHigh, MPDFG_Tensor:$step, MPDFG_Tensor:$element,
      MPDFG_Tensor:$feature, I64Attr:$site);
  let assemblyFormat = [{
    $seedLow `,` $seedHigh `,` $step `,` $element `,` $feature `site` $site attr-dict `:` type($seedLow) `,`
    type($seedHigh) `,` type($step) `,` type($element) `,` type($feature) `->` type($result)
  }];
}

//===----------------------------------------------------------------------===//
// Derivatives
//===----------------------------------------------------------------------===//

def VariableOp : MPDFG_RowOp<"variable", [AllTypesMatch<["input", "result"]>]> {
  let summary = "the identity: a value by which a derivative is asked for";
  let description = [{
    What is made of the result depends on this very value, and on no other that is equal to it. So no rewrite looks through it, and
    two with different numbers are never merged. Removed by the differentiate pass.

    Example:
    ```mlir
    %1 = mpdfg.variable 0 %0 : tensor<?x64xf32, #mpdfg.on<@node>>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input, I64Attr:$number);
  let assemblyFormat = "$number $input attr-dict `:` type($input)";
}

def GradientOp : MPDFG_Op<"gradient", [Pure, AllTypesMatch<["by", "result"]>]> {
  let summary = "the derivative of a shared number by an argument or variable";
  let description = [{
    Has the type of `by`; 0 where the number does not depend on it. The differentiate pass replaces it by reverse-mode code,
    which later gradients may go through in turn. The interpreter does not know it.

    Example:
    ```mlir
    %g = mpdfg.gradient %loss by %w : tensor<f32>, tensor<64x16xf32>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$value, MPDFG_Tensor:$by);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$value `by` $by attr-dict `:` type($value) `,` type($by)";
  let hasVerifier = 1;
}

#endif // GNNC_MPDFG_OPS
