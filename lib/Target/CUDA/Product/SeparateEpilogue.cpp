//===- SeparateEpilogue.cpp - A product, then a sweep over rows -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epilogues are fused for all targets of an object. Where the CPU's code wants one that threads of a GPU, which have a
// few numbers of a row each, cannot do, it becomes here what it was before: a sweep over rows.
//
//===----------------------------------------------------------------------===//

#include "Product/SeparateEpilogue.h"
#include "Product/ProductPrinter.h"
#include "Sweep/SweepPrinter.h"
#include "Tile/TileSweepPrinter.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "dialects/mpk/IR/SpreadRows.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using mpk::AccessKind;

bool cuda::spreadsEpilogue(mpk::ProductOp product) {
  return !product.hasEpilogue() || mpk::whyNotSpread(product, product.getEpilogue().front()).empty();
}

FailureOr<DeviceStep> cuda::printWithRows(mpk::ProductOp product, StringRef name, const PrintOptions &options,
                                          CodeWriter &out) {
  OpBuilder b(product);
  Block &epilogue = product.getEpilogue().front();
  ValueRange yielded = epilogue.getTerminator()->getOperands();
  Value row = epilogue.getArgument(0);
  // The row is a result as it is, or has no memory of its own.
  auto keptRow = llvm::find(yielded, row);
  bool isKept = keptRow != yielded.end();
  int64_t extent = cast<RankedTensorType>(product.getResult(0).getType()).getDimSize(0);
  auto rowType = cast<RankedTensorType>(row.getType());
  Type type = isKept ? product.getResult(keptRow - yielded.begin()).getType()
                     : Type(mpdfg::getTensorOn(product.getOverAttr(), extent, mpdfg::getFeatureShape(rowType),
                                               rowType.getElementType()));
  auto plain = mpk::ProductOp::create(b, product.getLoc(), TypeRange{type}, product.getOverAttr(), product.getLhs(),
                                      product.getRhs(), ValueRange(), product.getBatchAttr(), product.getRowsAttr(),
                                      product.getKAttr(), product.getNAttr(), product.getGatherAttr(),
                                      product.getGroupAttr(), ArrayAttr());
  llvm::scope_exit erasePlain([&] { plain.erase(); });
  SmallVector<Value> inputs(product.getExtras());
  SmallVector<Attribute> access(product.getAccessAttr().getValue()), yields;
  inputs.insert(inputs.begin(), plain.getResult(0));
  auto owner = mpk::AccessAttr::get(b.getContext(), AccessKind::Owner);
  access.insert(access.begin(), owner);
  SmallVector<Type> types;
  SmallVector<Value> values, results;
  SmallVector<Attribute> places;
  for (auto [value, result] : llvm::zip(yielded, product.getResults()))
    if (value != row || !isKept) {
      types.push_back(result.getType());
      yields.push_back(owner);
      values.push_back(value);
      results.push_back(result);
      if (mpk::PlaceAttr place = mpk::getPlace(result))
        places.push_back(place);
    }
  auto sweep = mpk::SweepOp::create(b, product.getLoc(), types, product.getOverAttr(), FlatSymbolRefAttr(), inputs,
                                    b.getArrayAttr(access), b.getArrayAttr(yields));
  llvm::scope_exit eraseSweep([&] { sweep.erase(); });
  if (!places.empty()) // What it writes over what it reads.
    sweep->setAttr(mpk::kPlacesAttr, b.getArrayAttr(places));
  IRMapping mapping;
  product.getEpilogue().cloneInto(&sweep.getBody(), mapping);
  SmallVector<Value> mapped;
  for (Value value : values)
    mapped.push_back(mapping.lookup(value));
  sweep.getBody().front().getTerminator()->setOperands(mapped);

  DeviceStep step = printProduct(plain, name, options, out);
  std::string rowName = (name + "_rows").str();
  std::optional<DeviceStep> tiles = printTileSweep(sweep, rowName, options, out);
  FailureOr<DeviceStep> rows =
      tiles ? FailureOr<DeviceStep>(std::move(*tiles)) : printSweep(sweep, rowName, /*isPart=*/false, out);
  if (failed(rows))
    return failure();
  unsigned rowScratch = 0;
  if (!isKept) {
    rowScratch = step.scratch.size();
    step.scratch.push_back({ScratchKind::Elements, product.getOverAttr(),
                            mpdfg::getFeatureElements(rowType) * rowType.getElementTypeBitWidth() / 8});
  }
  // One list of everything; the printed code only knows the order of a launch's words.
  SmallVector<Value> buffers;
  unsigned indices = step.indices.size(), scratch = step.scratch.size(), launches = step.launches.size();
  auto moveWords = [&](DeviceStep &from, Launch &launch, bool isSecond) {
    for (Word &word : launch.words) {
      if (word.kind == WordKind::Buffer) {
        Value value = from.buffers[word.number];
        if (value == plain.getResult(0) && !isKept) {
          word = {WordKind::Scratch, rowScratch, {}};
          continue;
        }
        if (value == plain.getResult(0))
          value = product.getResult(keptRow - yielded.begin());
        else if (auto it = llvm::find(sweep.getResults(), value); it != sweep.getResults().end())
          value = results[it - sweep.getResults().begin()];
        auto it = llvm::find(buffers, value);
        word.number = it - buffers.begin();
        if (it == buffers.end())
          buffers.push_back(value);
      } else if (isSecond) {
        word.number += word.kind == WordKind::Index          ? indices
                       : word.kind == WordKind::Scratch      ? scratch
                       : word.kind == WordKind::BlocksBefore ? launches
                                                             : 0;
      }
    }
  };
  for (Launch &launch : step.launches)
    moveWords(step, launch, false);
  for (Launch &launch : rows->launches) {
    moveWords(*rows, launch, true);
    step.launches.push_back(launch);
  }
  step.indices.append(rows->indices);
  step.scratch.append(rows->scratch);
  step.buffers = buffers;
  return step;
}
