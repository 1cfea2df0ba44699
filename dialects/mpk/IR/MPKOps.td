//===- MPKOps.td - The mpk dialect: kernels ---------------------*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPK_OPS
#define GNNC_MPK_OPS

include "MPKEnums.td"
include "dialects/mpdfg/IR/MPDFGBase.td"
include "dialects/mpdfg/Interfaces/MPDFGInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def MPK_Dialect : Dialect {
  let name = "mpk";
  let cppNamespace = "::gnnc::mpk";
  let summary = "Message-passing kernels";
  let description = [{
    What a program is made of once it is fused: sweeps over the members of each element of a space, and matrix products
    on the rows of a space. What ranks do together, `mpdfg.transfer`, `mpdfg.await` and `mpdfg.all_reduce`, stays as it is and is a kernel, too, as is what chooses: `mpdfg.nearest`. A kernel says what is read, how (by owner, by member, through a map), what is computed for one element, and what
    is written; it leaves open the order of owners, how they are cut into blocks, vector widths and threads. Targets decide those.

    Discardable attributes are how passes and targets tell each other what they decided. Any other attribute of the
    dialect, and any of these elsewhere, is an error:

    | attribute | on | value |
    | --- | --- | --- |
    | `mpk.places` | kernels of a function | an array of `#mpk.place<...>`, one for each result: the memory plan |
    | `mpk.launch` | kernels of a function | i64, not negative: kernels with the same number are next to each other, none reads what another one writes, and they may run at the same time |
    | `mpk.tile` | `mpdfg.contract` | unit: a matrix product that is made for a few members at a time; labels are in the order of `x[batch, k] w[batch, k, n] -> [batch, n]`, of `x[m, k] w[k, n] -> [m, n]`, or, where the result is summed over everything, of `x[batch, k] g[batch, n] -> [batch, k, n]` |
    | `mpk.swept` | `mpdfg.contract` of a function | unit: a product with a weight, or an outer product that is summed over everything, so narrow that it stays among the operations on a row |
    | `mpk.alternative` | functions | the symbol of a function of the same type: this one computes the same, and the runtime chooses for each graph |
    | `mpk.of_owner` | `mpdfg.element` in a sweep | unit: where rows are positions in an index, the number of the member's owner |
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::gnnc::mpdfg::MPDFGDialect"];
}

def MPK_AccessAttr : AttrDef<MPK_Dialect, "Access"> {
  let mnemonic = "access";
  let summary = "how a sweep reads an operand or writes a result";
  let description = [{
    `owner`: the row of the owner; `member`: the row of the member (in the caller's order); `gather_owner @m` and
    `gather_member @m`: the row of m(owner) or m(member), or `fill` everywhere where m is undefined; `shared`: the one row there is. Results are
    `owner`, `member` or `shared`.

    Example: `#mpk.access<gather_member @src>`
  }];
  let parameters = (ins EnumParameter<MPK_AccessKind>:$kind, OptionalParameter<"::mlir::FlatSymbolRefAttr">:$map,
      OptionalParameter<"::mlir::FloatAttr">:$fill);
  let hasCustomAssemblyFormat = 1; // A declarative one would need a keyword before the optional map.
  let builders = [AttrBuilder<(ins "::gnnc::mpk::AccessKind":$kind),
                              [{ return $_get($_ctxt, kind, ::mlir::FlatSymbolRefAttr(), ::mlir::FloatAttr()); }]>];
}

def MPK_PlaceAttr : AttrDef<MPK_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "where a result of a kernel lies";
  let description = [{
    `arena k`: in slot k of the function's `mpk.arena`. `result k`: in the memory that the caller gives for result k of
    the function; another value takes its place there in the end. `none`: nowhere else than where it is returned.

    Example: `{mpk.places = [#mpk.place<arena 3>, #mpk.place<result 0>, #mpk.place<none>]}` on a kernel of three results
  }];
  let parameters = (ins EnumParameter<MPK_PlaceKind>:$kind, OptionalParameter<"std::optional<unsigned>">:$number);
  let hasCustomAssemblyFormat = 1; // A declarative one would need a keyword before the optional number.
  let genVerifyDecl = 1;
  let builders = [AttrBuilder<(ins "::gnnc::mpk::PlaceKind":$kind), [{ return $_get($_ctxt, kind, std::nullopt); }]>];
}

class MPK_Op<string mnemonic, list<Trait> traits = []> : Op<MPK_Dialect, mnemonic, traits>;

def SweepOp
    : MPK_Op<"sweep", [Pure, IsolatedFromAbove, SingleBlock, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "visits each owner's members: every fused message-passing kernel";
  let description = [{
    For each element of the space `over` (the owner; one nameless owner where there is no `over`), and for each of its
    members, the elements that the map `along` sends to it. The body is what is computed for one owner: block argument i is the row of operand i that
    `access[i]` selects, without its row dimension. A body value is *member-level* if it depends on a member (through a
    `member` or `gather_member` argument), else *owner-level*, else *shared*; `mpk.accumulate` and `mpk.softmax` are the only operations that
    see more than one member. Results are yielded: an owner-level value for each owner, a member-level one for each member, or a shared one.
    Members that `along` sends nowhere are not visited: they count in nothing, and their rows of a `member` result are 0.

    With `pairs`, a map from a space of pairs to `over`, an owner's members are what it is paired with: all elements that
    `along`, the other of the two maps that the pairs are made of, sends where the owner's own map leads. An element is a
    member of many owners then, so no result is a member's; and the pairs are nowhere in memory.

    Left undecided: in which order owners are visited and by whom, whether a body with a softmax walks the members once or twice (phases), the vector width, and how shared sums are
    split into blocks. With `along` absent it is elementwise work. The backward form uses the same operation: gradients of owners sweep along the same map, gradients of gathered values along the map they were gathered by.

    Example: GAT's aggregation
    ```mlir
    %y = mpk.sweep over @node along @dst (%sd, %ss, %z)
        access [#mpk.access<owner>, #mpk.access<gather_member @src>, #mpk.access<gather_member @src>]
        yields [#mpk.access<owner>] {
    ^bb0(%d: tensor<8x1xf32>, %s: tensor<8x1xf32>, %v: tensor<8x8xf32>):
      %0 = mpdfg.binary add %s, %d : tensor<8x1xf32>, tensor<8x1xf32> -> tensor<8x1xf32>
      %1 = mpdfg.unary leaky_relu %0 {alpha = 2.0e-01 : f64} : tensor<8x1xf32> -> tensor<8x1xf32>
      %2 = mpk.softmax %1 : tensor<8x1xf32>
      %3 = mpdfg.binary mul %2, %v : tensor<8x1xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
      %4 = mpk.accumulate sum %3 : tensor<8x8xf32>
      mpk.yield %4 : tensor<8x8xf32>
    } : (tensor<?x8x1xf32, #mpdfg.on<@node>>, tensor<?x8x1xf32, #mpdfg.on<@node>>, tensor<?x8x8xf32, #mpdfg.on<@node>>)
      -> tensor<?x8x8xf32, #mpdfg.on<@node>>
    ```
  }];
  let arguments = (ins OptionalAttr<FlatSymbolRefAttr>:$over, OptionalAttr<FlatSymbolRefAttr>:$along,
      OptionalAttr<FlatSymbolRefAttr>:$pairs, Variadic<MPDFG_Tensor>:$inputs,
      TypedArrayAttrBase<MPK_AccessAttr, "accesses">:$access, TypedArrayAttrBase<MPK_AccessAttr, "accesses">:$yields);
  let results = (outs Variadic<MPDFG_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`over` $over^)? (`along` $along^)? (`pairs` $pairs^)? `(` $inputs `)` `access` $access `yields` $yields $body
    attr-dict `:` functional-type($inputs, $results)
  }];
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$types, "::mlir::FlatSymbolRefAttr":$over,
                                "::mlir::FlatSymbolRefAttr":$along, "::mlir::ValueRange":$inputs,
                                "::mlir::ArrayAttr":$access, "::mlir::ArrayAttr":$yields),
                            [{
    build($_builder, $_state, types, over, along, ::mlir::FlatSymbolRefAttr(), inputs, access, yields);
  }]>];
  let extraClassDeclaration = [{
    ::gnnc::mpk::AccessAttr getAccessOf(unsigned operand) {
      return ::llvm::cast<::gnnc::mpk::AccessAttr>(getAccess()[operand]);
    }
    ::gnnc::mpk::AccessAttr getYieldOf(unsigned result) {
      return ::llvm::cast<::gnnc::mpk::AccessAttr>(getYields()[result]);
    }
    /// The map whose index says how many members each owner has.
    ::mlir::FlatSymbolRefAttr getOwnersAttr() { return getPairsAttr() ? getPairsAttr() : getAlongAttr(); }
  }];
}

def AccumulateOp : MPK_Op<"accumulate", [Pure, HasParent<"SweepOp">, SameOperandsAndResultType]> {
  let summary = "combines a body value over the owner's members, or over everything";
  let description = [{
    Without `shared`: over the members of the owner; the result is owner-level. A value that does not depend on the member counts once for each. With `shared`: over all owners (a
    member-level value: over all their members); the result is shared, and may only be yielded. No members: 0, or minus infinity for
    logsumexp.

    Example:
    ```mlir
    %1 = mpk.accumulate sum %0 : tensor<64xf32>
    ```
  }];
  let arguments = (ins MPDFG_ReduceKind:$kind, MPDFG_Tensor:$input, UnitAttr:$shared);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$kind $input (`shared` $shared^)? attr-dict `:` type($result)";
}

def SoftmaxOp : MPK_Op<"softmax", [Pure, HasParent<"SweepOp">, SameOperandsAndResultType]> {
  let summary = "the member's share of the softmax over its owner's members";
  let description = [{
    exp(x - logsumexp of x over the members). Where it is used only as a factor of accumulated sums, a target computes it online in one walk (running maximum, sum, and
    rescaled accumulators); otherwise it walks the members once more.

    Example:
    ```mlir
    %1 = mpk.softmax %0 : tensor<8x1xf32>
    ```
  }];
  let arguments = (ins MPDFG_Tensor:$input);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
}

def YieldOp : MPK_Op<"yield", [Pure, Terminator, ParentOneOf<["SweepOp", "ProductOp"]>]> {
  let summary = "what a sweep, or the epilogue of a product, writes";
  let description = [{
    Example:
    ```mlir
    mpk.yield %0, %1 : tensor<64xf32>, tensor<8xf32>
    ```
  }];
  let arguments = (ins Variadic<MPDFG_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def ProductOp : MPK_Op<"product", [Pure, IsolatedFromAbove, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a matrix product on the rows of a space, and what is made of each row at once";
  let description = [{
    y[i, b, n] = sum over k of x[i, b, k] w[b, k, n], for each element i of `over`, with the features of x, w and y seen as
    [batch, rows, k], [batch, k, n] and [batch, rows, n]: `rows` matrix rows for each element (1 for most), `batch` blocks (heads
    with a weight each; only with rows = 1). With `gather`, x is read at gather(i). With `group`, the weight is the one of group(i), whose rows x runs through together. Where either map is undefined, y is 0. Tiling, packing and the
    order of additions are the target's.

    An `epilogue` is computed for each element from its row of y, which is its first argument, and from further rows, which `access` says to be
    the element's (`owner`) or `shared`: biases, activations, scores. Its operations are row operations, as in a sweep's body; each value
    yielded is a result on `over`. Without one, y is the only result. If y itself is kept, the epilogue yields its first argument.

    Example:
    ```mlir
    %1 = mpk.product over @node (%x, %w) batch 1 rows 1 k 64 n 16
       : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x16xf32>) -> tensor<?x16xf32, #mpdfg.on<@node>>
    %2 = mpk.product over @edge (%x, %w) batch 1 rows 1 k 64 n 16 gather @src group @etype
       : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<9x64x16xf32, #mpdfg.on<@edge_type>>)
       -> tensor<?x16xf32, #mpdfg.on<@edge>>
    %3 = mpk.product over @node (%x, %w) batch 1 rows 1 k 64 n 16 epilogue (%b) access [#mpk.access<shared>] {
    ^bb0(%row: tensor<16xf32>, %bias: tensor<16xf32>):
      %4 = mpdfg.binary add %row, %bias : tensor<16xf32>, tensor<16xf32> -> tensor<16xf32>
      mpk.yield %4 : tensor<16xf32>
    } : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<64x16xf32>, tensor<16xf32>) -> tensor<?x16xf32, #mpdfg.on<@node>>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$over, MPDFG_Tensor:$lhs, MPDFG_Tensor:$rhs, Variadic<MPDFG_Tensor>:$extras,
      I64Attr:$batch, I64Attr:$rows, I64Attr:$k, I64Attr:$n, OptionalAttr<FlatSymbolRefAttr>:$gather,
      OptionalAttr<FlatSymbolRefAttr>:$group, OptionalAttr<TypedArrayAttrBase<MPK_AccessAttr, "accesses">>:$access);
  let results = (outs Variadic<MPDFG_Tensor>:$results);
  let regions = (region AnyRegion:$epilogue);
  let assemblyFormat = [{
    `over` $over `(` $lhs `,` $rhs `)` `batch` $batch `rows` $rows `k` $k `n` $n (`gather` $gather^)? (`group` $group^)?
    (`epilogue` `(` $extras `)` `access` $access^ $epilogue)? attr-dict `:` functional-type(operands, $results)
  }];
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::FlatSymbolRefAttr":$over, "::mlir::Value":$lhs,
                                "::mlir::Value":$rhs, "::mlir::IntegerAttr":$batch, "::mlir::IntegerAttr":$rows,
                                "::mlir::IntegerAttr":$k, "::mlir::IntegerAttr":$n, "::mlir::FlatSymbolRefAttr":$gather,
                                "::mlir::FlatSymbolRefAttr":$group),
                            [{
    build($_builder, $_state, ::mlir::TypeRange(type), over, lhs, rhs, ::mlir::ValueRange(), batch, rows, k, n, gather,
          group, ::mlir::ArrayAttr());
  }]>];
  let extraClassDeclaration = [{
    bool hasEpilogue() { return !getEpilogue().empty(); }
    ::gnnc::mpk::AccessAttr getAccessOf(unsigned extra) {
      return ::llvm::cast<::gnnc::mpk::AccessAttr>((*getAccess())[extra]);
    }
    /// The features of the product's own row: of the only result, or of the epilogue's first argument.
    ::llvm::ArrayRef<int64_t> getRowShape() {
      return hasEpilogue() ? ::gnnc::mpdfg::getFeatureShape(getEpilogue().getArgument(0).getType())
                           : ::gnnc::mpdfg::getFeatureShape(getResult(0).getType());
    }
  }];
}

def OuterSumOp : MPK_Op<"outer_sum", [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a sum of outer products over the rows of a space: the gradient of a weight";
  let description = [{
    y[j, b, k, n] = sum over the elements i of `over` with along(i) = j of x[i, b, k] g[i, b, n]; without `along` the result is
    shared and the sum over all. Operands may be read through a map. How rows are blocked is the target's; partial sums of
    blocks are added in block order.

    Example:
    ```mlir
    %1 = mpk.outer_sum over @node (%x, %g) batch 1 k 64 n 16
       : (tensor<?x64xf32, #mpdfg.on<@node>>, tensor<?x16xf32, #mpdfg.on<@node>>) -> tensor<64x16xf32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$over, MPDFG_Tensor:$lhs, MPDFG_Tensor:$rhs, I64Attr:$batch, I64Attr:$k,
      I64Attr:$n, OptionalAttr<FlatSymbolRefAttr>:$gatherLhs, OptionalAttr<FlatSymbolRefAttr>:$gatherRhs,
      OptionalAttr<FlatSymbolRefAttr>:$along);
  let results = (outs MPDFG_Tensor:$result);
  let assemblyFormat = [{
    `over` $over `(` $lhs `,` $rhs `)` `batch` $batch `k` $k `n` $n (`gather_lhs` $gatherLhs^)?
    (`gather_rhs` $gatherRhs^)? (`along` $along^)? attr-dict `:` functional-type(operands, $result)
  }];
}

def ArenaOp : MPK_Op<"arena", []> {
  let summary = "the memory plan: which intermediate tensors share one arena";
  let description = [{
    One slot for each intermediate tensor, with the space whose extent it has, its bytes for one element, and the first and last
    kernel that need it. The kernels name the slots of their results (`mpk.places`). Offsets depend on the graph, so the runtime assigns them when it is prepared: slots
    whose lifetimes do not meet may share memory.

    Example:
    ```mlir
    mpk.arena [@node, unit] bytes [64, 4] first [0, 1] last [2, 1]
    ```
  }];
  let arguments = (ins ArrayAttr:$spaces, DenseI64ArrayAttr:$bytes, DenseI64ArrayAttr:$first, DenseI64ArrayAttr:$last);
  let assemblyFormat = "$spaces `bytes` $bytes `first` $first `last` $last attr-dict";
  let hasVerifier = 1;
}

#endif // GNNC_MPK_OPS
