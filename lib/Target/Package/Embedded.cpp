//===- Embedded.cpp - What may be embedded --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Target/Package/Package.h"
#include "gnnc/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace gnnc;

/// Code reads with 32-bit offsets, of one sign.
static constexpr uint64_t kMostBytes = uint64_t(1) << 30;

static std::string describe(ArrayRef<int64_t> shape, int bits, bool isBFloat) {
  auto sizes = llvm::map_range(shape, [](int64_t size) { return std::to_string(size); });
  return (isBFloat ? "bfloat" : "float") + std::to_string(bits) + " [" + llvm::join(sizes, ", ") + "]";
}

/// The shape of a parameter; nothing if its space gets its extent from a graph.
static std::optional<SmallVector<int64_t>> shapeOf(ModuleOp module, Type type) {
  SmallVector<int64_t> shape;
  if (auto space = dyn_cast_or_null<FlatSymbolRefAttr>(mpdfg::getResidency(type))) {
    auto declared = module.lookupSymbol<mpdfg::SpaceOp>(space.getAttr());
    if (!declared.getExtent())
      return std::nullopt;
    shape.push_back(int64_t(*declared.getExtent()));
  }
  llvm::append_range(shape, mpdfg::getFeatureShape(type));
  return shape;
}

llvm::Error gnnc::checkEmbedded(ModuleOp module, ArrayRef<EmbeddedTensor> tensors) {
  llvm::StringMap<Type> types;
  for (auto function : module.getOps<func::FuncOp>())
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      std::optional<mpdfg::Role> role = getRole(function, i);
      if (role == mpdfg::Role::Param || role == mpdfg::Role::State)
        types.try_emplace(function.getArgAttrOfType<StringAttr>(i, kNameAttr).getValue(), argument.getType());
    }
  llvm::StringMap<bool> seen;
  uint64_t total = 0;
  for (const EmbeddedTensor &tensor : tensors) {
    auto fail = [&](const Twine &text) {
      return llvm::createStringError("cannot embed '" + tensor.name + "': " + text);
    };
    if (tensor.isInteger) {
      total += tensor.bytes.size();
      continue;
    }
    auto found = types.find(tensor.name);
    if (found == types.end())
      return fail("the model has no such parameter or state");
    if (!seen.try_emplace(tensor.name, true).second)
      return fail("expected its values once, found them twice");
    Type type = found->second;
    std::optional<SmallVector<int64_t>> shape = shapeOf(module, type);
    if (!shape)
      return fail("it has a row for each element of '" + cast<FlatSymbolRefAttr>(mpdfg::getResidency(type)).getValue() +
                  "', whose extent a graph gives");
    Type element = cast<RankedTensorType>(type).getElementType();
    std::string expected = describe(*shape, int(element.getIntOrFloatBitWidth()), element.isBF16());
    std::string given = describe(tensor.shape, tensor.bits, tensor.isBFloat);
    if (expected != given)
      return fail("expected " + expected + ", found " + given);
    uint64_t bytes = uint64_t(tensor.bits) / 8;
    for (int64_t size : *shape)
      bytes *= uint64_t(size);
    if (tensor.bytes.size() != bytes)
      return fail("expected " + Twine(bytes) + " bytes, found " + Twine(tensor.bytes.size()));
    total += bytes;
  }
  if (total > kMostBytes)
    return llvm::createStringError("cannot embed " + Twine(total) + " bytes of parameters: expected at most " +
                                   Twine(kMostBytes) + "; ship them in a file of their own");
  return llvm::Error::success();
}
