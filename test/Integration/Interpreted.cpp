//===- Interpreted.cpp - Test models in the interpreter -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpreted.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

using namespace gnnc;
using namespace gnnc::test;

RootGraph test::rootsOf(const Graph &graph) {
  RootGraph root;
  for (const auto &[name, extent] : graph.extents)
    root.extents[name] = extent;
  for (const auto &[name, targets] : graph.maps)
    root.maps[name].assign(targets.begin(), targets.end());
  return root;
}

Tensor test::tensorOf(RefTensor value) {
  Tensor tensor;
  if (!value.shared)
    tensor.shape.push_back(value.rows);
  tensor.shape.insert(tensor.shape.end(), value.dims.begin(), value.dims.end());
  tensor.data = std::move(value.data);
  return tensor;
}

llvm::Expected<std::vector<NamedTensor>> test::interpretOn(mlir::ModuleOp module, const Graph &graph,
                                                           const Tensors &tensors, llvm::StringRef name) {
  llvm::Expected<GraphData> data = materialise(module, rootsOf(graph));
  if (!data)
    return data.takeError();
  auto function = mlir::cast<mlir::func::FuncOp>(mlir::SymbolTable::lookupSymbolIn(module, name));
  llvm::StringMap<RefTensor> inputs;
  for (mlir::BlockArgument argument : function.getArguments()) {
    auto name = function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), kNameAttr);
    auto given = tensors.find(name.str());
    if (given == tensors.end())
      continue;
    bool resides = bool(mpdfg::getResidency(argument.getType()));
    llvm::ArrayRef<int64_t> shape = given->second.shape;
    RefTensor input(!resides, resides ? shape[0] : 1, shape.drop_front(resides));
    input.data = given->second.data;
    inputs[name.str()] = std::move(input);
  }
  return interpret(module, *data, inputs, name);
}

Tensors test::tensorsOf(std::vector<NamedTensor> results) {
  Tensors tensors;
  for (NamedTensor &result : results)
    tensors[result.name] = tensorOf(std::move(result.value));
  return tensors;
}
