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
  let methods = [
    InterfaceMethod<[{
      Computes the one result from the operands. Operands and result carry their rows (the extent of the space they
      reside on; shared values have one row), so the same code serves whole tensors and the bodies of kernels.
    }], "::mlir::FailureOr<::gnnc::RefTensor>", "evaluate",
    (ins "::llvm::ArrayRef<const ::gnnc::RefTensor *>":$operands, "const ::gnnc::GraphData &":$graph)>
  ];
}

def MovementOpInterface : OpInterface<"MovementOpInterface"> {
  let description = [{
    An operation that moves a value along a map (DESIGN section 1): all others work row by row.
  }];
  let cppNamespace = "::gnnc::mpdfg";
  let methods = [
    InterfaceMethod<"The map the value moves along; `all` for every space to shared.",
      "::mlir::FlatSymbolRefAttr", "getMovementMap">,
    InterfaceMethod<"Whether the value goes against the map's arrow: from the map's target to its domain.",
      "bool", "isBroadcast">
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let description = [{
    Arithmetic cost of one row of the result (of the operand, for a reduction), in floating-point operations. A
    transcendental function counts as the operations of its polynomial (16).
  }];
  let cppNamespace = "::gnnc::mpdfg";
  let methods = [
    InterfaceMethod<"Floating-point operations for one row.", "int64_t", "flopsPerRow">
  ];
}

#endif // GNNC_MPDFG_INTERFACES
