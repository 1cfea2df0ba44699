//===- MPDFGInterfaces.td - What passes may ask an operation ----*- tablegen -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All knowledge about an operation is here; no pass knows an operation by name where one of these would do.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_MPDFG_INTERFACES
#define GNNC_MPDFG_INTERFACES

include "mlir/IR/OpBase.td"

def EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let description = [{
    The reference meaning of an operation: a slow, obvious evaluation in double precision. The interpreter calls it for
    each operation in order; every pass, target and schedule must agree with it.
  }];
  let cppNamespace = "::gnnc::mpdfg";
  let methods = [InterfaceMethod<[{
      Computes the one result from the operands. Operands and result carry their rows (the extent of the space they
      reside on; shared values have one row), so the same code serves whole tensors and the bodies of kernels.
    }],
                                 "::mlir::FailureOr<::gnnc::RefTensor>", "evaluate",
                                 (ins "::llvm::ArrayRef<const ::gnnc::RefTensor *>":$operands,
                                     "const ::gnnc::GraphData &":$graph)>];
}

def MovementOpInterface : OpInterface<"MovementOpInterface"> {
  let description = [{
    An operation that moves a value along a map (DESIGN section 1): all others work row by row.
  }];
  let cppNamespace = "::gnnc::mpdfg";
  let methods = [InterfaceMethod<"The map the value moves along; `all` for every space to shared.",
                                 "::mlir::FlatSymbolRefAttr", "getMovementMap">,
                 InterfaceMethod<"Whether the value goes against the map's arrow: from the map's target to its domain.",
                                 "bool", "isBroadcast">];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let description = [{
    Arithmetic cost of one row of the result (of the operand, for a reduction), in floating-point operations. A
    transcendental function counts as the operations of its polynomial (16).
  }];
  let cppNamespace = "::gnnc::mpdfg";
  let methods = [InterfaceMethod<"Floating-point operations for one row.", "int64_t", "flopsPerRow">];
}

def LinearOpInterface : OpInterface<"LinearOpInterface"> {
  let description = [{
    Linear algebra of rows: where an operation keeps sums and scales, so that it may change places with a sum over
    members (R6), with an addition (R5), or be cut with its operand (R4).
  }];
  let cppNamespace = "::gnnc::mpdfg";
  let methods = [InterfaceMethod<[{
      Whether the result is linear in the marked operands together, the others being fixed: f(x + y) = f(x) + f(y) and
      f(c x) = c f(x) where x stands for all marked operands at once. A bias is not linear in one operand alone.
    }],
                                 "bool", "isLinearIn", (ins "::llvm::ArrayRef<bool>":$operands)>,
                 InterfaceMethod<[{
      Whether numbers meet index by index (R2). Linear in one operand, such an operation is a scale by the others, and any two of
      them commute.
    }],
                                 "bool", "isElementwise", (ins), "", [{ return false; }]>,
                 InterfaceMethod<"Whether the result is not defined where this operand is 0.", "bool", "dividesBy",
                                 (ins "unsigned":$operand), "", [{ return false; }]>];
}

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let description = [{
    Reverse mode. `emitAdjoint` writes, in terms of the operation's operands and result, what the result's gradient gives to
    each wanted operand. Rules are local: they neither sum over repeated axes nor over the rows that a shared operand met; the
    driver does. Forward values a rule names are kept or recomputed as fusion finds cheaper, so a rule names statistics of
    owners (a softmax's shift and scale, the number of a winner) rather than values of members.
  }];
  let cppNamespace = "::gnnc::mpdfg";
  let methods = [InterfaceMethod<[{
      Gradients of the operands from the gradient of the result, which has the result's type. An entry may have the
      result's rows and axes where its operand was repeated, and is null where it is not wanted or zero.
    }],
                                 "::llvm::SmallVector<::mlir::Value>", "emitAdjoint",
                                 (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$gradient,
                                     "::llvm::ArrayRef<bool>":$wanted)>,
                 InterfaceMethod<[{
      Writes the result once more, at the builder's place, from statistics that are kept for each owner instead of numbers
      for each member (R8): the reductions among what is written. Null where there is no such form.
    }],
                                 "::mlir::Value", "recompute", (ins "::mlir::OpBuilder &":$builder), "",
                                 [{ return ::mlir::Value(); }]>];
}

#endif // GNNC_MPDFG_INTERFACES
