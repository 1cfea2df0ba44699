//===- AttachGraph.cpp - A random program's graph as attributes -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gnnc;

void test::attachGraph(RandomProgram &program) {
  Builder builder(program.module->getContext());
  SmallVector<NamedAttribute> extents, targets, inputs;
  for (const auto &[name, extent] : program.graph.extents)
    extents.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(extent)));
  for (const auto &[name, map] : program.graph.maps)
    targets.push_back(builder.getNamedAttr(name, builder.getDenseI64ArrayAttr(map)));
  for (const auto &[name, value] : program.inputs) {
    SmallVector<int64_t> shape(value.dims);
    if (!value.shared)
      shape.insert(shape.begin(), value.rows);
    auto type = RankedTensorType::get(shape, builder.getF64Type());
    inputs.push_back(builder.getNamedAttr(name, DenseElementsAttr::get(type, ArrayRef<double>(value.data))));
  }
  (*program.module)->setAttr("test.extents", builder.getDictionaryAttr(extents));
  (*program.module)->setAttr("test.maps", builder.getDictionaryAttr(targets));
  (*program.module)->setAttr("test.inputs", builder.getDictionaryAttr(inputs));
}
