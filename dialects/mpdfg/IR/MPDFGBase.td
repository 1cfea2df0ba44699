//===- MPDFGBase.td - The mpdfg dialect, its enums and attributes -*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPDFG_BASE
#define GNNC_MPDFG_BASE

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"
include "mlir/IR/OpBase.td"

def MPDFG_Dialect : Dialect {
  let name = "mpdfg";
  let cppNamespace = "::gnnc::mpdfg";
  let summary = "Message-passing data-flow graphs";
  let description = [{
    A program on index spaces (nodes, edges, relations, graphs, ...) and maps between them. Each tensor carries the
    space its rows live on, its *residency*, as an encoding: `tensor<?x8x16xf32, #mpdfg.on<@edge>>` has a row of 8x16
    numbers for each edge. Dimension 0 is the extent of the space: dynamic, or static for spaces of fixed extent. A
    tensor without the encoding is *shared*: one row, which meets rows of any space. Movements (`broadcast`, `reduce`,
    `norm`) go along maps; everything else works row by row. This is Graphiler's MP-DFG (Xie et al., MLSys 2022,
    section 3) with spaces and maps as data instead of five fixed kinds.

    The dialect leaves undecided how a value is computed, in which order members are visited (except where a meaning
    depends on it), and whether it is ever stored.

    Discardable attributes say what a program's values are to its users, and what passes tell each other. Any other
    attribute of the dialect, and any of these elsewhere, is an error:

    | attribute | on | value |
    | --- | --- | --- |
    | `mpdfg.name` | arguments and results of functions | a string, the name that users bind by; that of an argument is its alone |
    | `mpdfg.axes` | arguments and results of functions | strings, the names of its feature axes |
    | `mpdfg.role` | arguments | `#mpdfg.role<...>`: input, parameter or state |
    | `mpdfg.fill` | arguments that are inputs | f64: what it holds where the user gives none |
    | `mpdfg.seed` | arguments that are inputs | unit: it is the gradient of an output, given for the backward half |
    | `mpdfg.numbers` | arguments that are inputs | unit: it holds the numbers that elements have in the whole graph, written as `mpdfg.element` writes them |
    | `mpdfg.updates` | results | `#mpdfg.argument<...>`: the parameter or state of the same type that the result replaces |
    | `mpdfg.sparse` | modules | an array of `#mpdfg.sparse_input<...>` |
    | `mpdfg.distributed` | modules | a dictionary of strings: programs are for ranks that have a part of the graph each, and the root spaces named go along these maps |
    | `mpdfg.again` | operations of a function | unit: it belongs to the backward half, although it could run before gradients of outputs are given |
    | `mpdfg.keep` | operations of a function | unit: its value is to be in memory, although it could be computed where it is read |
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let dependentDialects = ["::mlir::func::FuncDialect"];
}

class MPDFG_Attr<string name, string mnem, list<Trait> traits = []> : AttrDef<MPDFG_Dialect, name, traits> {
  let mnemonic = mnem;
}

def MPDFG_OnAttr : MPDFG_Attr<"On", "on", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "residency of a tensor: the space its rows live on";
  let description = [{
    Example: `tensor<?x64xf32, #mpdfg.on<@edge>>`, 64 features for each edge. The tensor must have rank 1 at least;
    all dimensions but the first are static.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$space);
  let assemblyFormat = "`<` $space `>`";
}

def MPDFG_Tensor
    : Type<CPred<"::gnnc::mpdfg::isValueType($_self)">,
           "tensor of f32, f64, bf16 or f16 that is static but for the rows of its space", "::mlir::RankedTensorType">;

class MPDFG_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::gnnc::mpdfg";
}

def MPDFG_SpaceKind : MPDFG_Enum<"SpaceKind", "how a space is formed",
                                 [I32EnumAttrCase<"Root", 0, "root">, I32EnumAttrCase<"Static", 1, "static">,
                                  I32EnumAttrCase<"Filter", 2, "filter">, I32EnumAttrCase<"Union", 3, "union">,
                                  I32EnumAttrCase<"Distinct", 4, "distinct">, I32EnumAttrCase<"Share", 5, "share">,
                                  I32EnumAttrCase<"Selection", 6, "selection">, I32EnumAttrCase<"Pairs", 7, "pairs">]>;

def MPDFG_MapKind : MPDFG_Enum<"MapKind", "how a map is formed",
                               [I32EnumAttrCase<"Root", 0, "root">, I32EnumAttrCase<"Inclusion", 1, "inclusion">,
                                I32EnumAttrCase<"Part", 2, "part">, I32EnumAttrCase<"Parts", 3, "parts">,
                                I32EnumAttrCase<"Projection", 4, "projection">, I32EnumAttrCase<"Class", 5, "class">,
                                I32EnumAttrCase<"Last", 6, "last">, I32EnumAttrCase<"Compose", 7, "compose">,
                                I32EnumAttrCase<"Injection", 8, "injection">, I32EnumAttrCase<"Owner", 9, "owner">,
                                I32EnumAttrCase<"Chosen", 10, "chosen">, I32EnumAttrCase<"Partner", 11, "partner">,
                                I32EnumAttrCase<"Only", 12, "only">]>;

def MPDFG_UnaryKind
    : MPDFG_Enum<
          "UnaryKind", "an elementwise function of one operand",
          [I32EnumAttrCase<"Neg", 0, "neg">, I32EnumAttrCase<"Exp", 1, "exp">, I32EnumAttrCase<"Log", 2, "log">,
           I32EnumAttrCase<"Sqrt", 3, "sqrt">, I32EnumAttrCase<"Rsqrt", 4, "rsqrt">,
           I32EnumAttrCase<"Recip", 5, "recip">, I32EnumAttrCase<"Abs", 6, "abs">, I32EnumAttrCase<"Sign", 7, "sign">,
           I32EnumAttrCase<"Square", 8, "square">, I32EnumAttrCase<"Sin", 9, "sin">, I32EnumAttrCase<"Cos", 10, "cos">,
           I32EnumAttrCase<"Tanh", 11, "tanh">, I32EnumAttrCase<"Erf", 12, "erf">, I32EnumAttrCase<"Relu", 13, "relu">,
           I32EnumAttrCase<"LeakyRelu", 14, "leaky_relu">, I32EnumAttrCase<"Elu", 15, "elu">,
           I32EnumAttrCase<"Gelu", 16, "gelu">, I32EnumAttrCase<"Silu", 17, "silu">,
           I32EnumAttrCase<"Sigmoid", 18, "sigmoid">, I32EnumAttrCase<"Softplus", 19, "softplus">,
           I32EnumAttrCase<"Finite", 20, "finite">, I32EnumAttrCase<"Floor", 21, "floor">,
           I32EnumAttrCase<"Ceil", 22, "ceil">, I32EnumAttrCase<"Round", 23, "round">]>;

def MPDFG_BinaryKind
    : MPDFG_Enum<"BinaryKind", "an elementwise function of two operands",
                 [I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"Sub", 1, "sub">, I32EnumAttrCase<"Mul", 2, "mul">,
                  I32EnumAttrCase<"Div", 3, "div">, I32EnumAttrCase<"Pow", 4, "pow">,
                  I32EnumAttrCase<"Maximum", 5, "maximum">, I32EnumAttrCase<"Minimum", 6, "minimum">,
                  I32EnumAttrCase<"Lt", 7, "lt">, I32EnumAttrCase<"Le", 8, "le">, I32EnumAttrCase<"Gt", 9, "gt">,
                  I32EnumAttrCase<"Ge", 10, "ge">, I32EnumAttrCase<"Eq", 11, "eq">, I32EnumAttrCase<"Ne", 12, "ne">]>;

def MPDFG_ReduceKind
    : MPDFG_Enum<"ReduceKind", "a commutative monoid with an answer for no members",
                 [I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Mean", 1, "mean">,
                  I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
                  I32EnumAttrCase<"LogSumExp", 4, "logsumexp">, I32EnumAttrCase<"ArgMax", 5, "argmax">,
                  I32EnumAttrCase<"ArgMin", 6, "argmin">, I32EnumAttrCase<"SoftmaxShift", 7, "softmax_shift">,
                  I32EnumAttrCase<"SoftmaxScale", 8, "softmax_scale">]>;

def MPDFG_Role
    : I32Enum<"Role", "what an argument of a program is to its user",
              [I32EnumCase<"Input", 0, "input">, I32EnumCase<"Param", 1, "param">, I32EnumCase<"State", 2, "state">]> {
  let cppNamespace = "::gnnc::mpdfg";
}

def MPDFG_RoleAttr : EnumAttr<MPDFG_Dialect, MPDFG_Role, "role"> {
  let summary = "what an argument of a program is to its user";
  let description = [{
    `input`: given for each run; `param`: learnt, and what gradients are taken with respect to; `state`: kept between
    runs, such as a moment of an optimiser.

    Example: `%w: tensor<8x4xf32> {mpdfg.name = "W", mpdfg.role = #mpdfg.role<param>}`
  }];
  let assemblyFormat = "`<` $value `>`";
}

def MPDFG_ArgumentAttr : MPDFG_Attr<"Argument", "argument"> {
  let summary = "an argument of the function, by its number";
  let description = [{
    Example: `-> (tensor<8x4xf32> {mpdfg.name = "W", mpdfg.updates = #mpdfg.argument<1>})`, which replaces argument 1.
  }];
  let parameters = (ins "unsigned":$number);
  let hasCustomAssemblyFormat = 1; // A declarative one takes -1 for 4294967295.
}

def MPDFG_SparseInputAttr : MPDFG_Attr<"SparseInput", "sparse_input"> {
  let summary = "a matrix that users give by its entries";
  let description = [{
    `entries` is a space with an element for each entry, and the maps `row` and `column` from there tell where it
    stands; `value` is the name of the input that holds the entries' numbers. Without it they are all 1.

    Example: `#mpdfg.sparse_input<"x" entries @x.entry row @x.row column @x.column value "x">`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::FlatSymbolRefAttr":$entries,
      "::mlir::FlatSymbolRefAttr":$row, "::mlir::FlatSymbolRefAttr":$column,
      OptionalParameter<"::mlir::StringAttr">:$value);
  let assemblyFormat = "`<` $name `entries` $entries `row` $row `column` $column (`value` $value^)? `>`";
}

#endif // GNNC_MPDFG_BASE
