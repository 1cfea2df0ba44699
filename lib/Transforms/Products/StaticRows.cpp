//===- StaticRows.cpp - Static spaces that passes make --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/StaticRows.h"
#include "dialects/mpdfg/IR/MPDFG.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

FlatSymbolRefAttr gnnc::getStaticRows(ModuleOp module, int64_t extent) {
  MLIRContext *context = module.getContext();
  std::string name = "rows." + std::to_string(extent);
  while (Operation *taken = module.lookupSymbol(name)) {
    auto space = dyn_cast<SpaceOp>(taken);
    if (space && space.getKind() == SpaceKind::Static && space.getExtent() == extent)
      break;
    name += "_";
  }
  auto symbol = FlatSymbolRefAttr::get(context, name);
  if (!module.lookupSymbol(name)) {
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    SpaceOp::create(b, module.getLoc(), b.getStringAttr(name), SpaceKindAttr::get(context, SpaceKind::Static),
                    b.getI64IntegerAttr(extent), FlatSymbolRefAttr(), ArrayAttr(), UnitAttr(), ArrayAttr());
  }
  return symbol;
}
