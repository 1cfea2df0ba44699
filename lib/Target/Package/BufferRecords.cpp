//===- BufferRecords.cpp - Where the values of a function are -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments, results and the slots of the workspace that memory planning gave to all other values.
//
//===----------------------------------------------------------------------===//

#include "TableBuilder.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "dialects/mpk/IR/KernelAttrs.h"
#include "gnnc/Support/Half.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace gnnc;

void TableBuilder::bufferRecords(func::FuncOp function) {
  auto add = [&](Value value, Type seenAs, StringRef label, table::BufferKind kind) -> table::BufferRec & {
    auto type = cast<RankedTensorType>(seenAs);
    ArrayRef<int64_t> dims = mpdfg::getFeatureShape(type);
    table::BufferRec record{};
    record.name = name(label);
    record.kind = kind;
    record.space = space(mpdfg::getResidency(type));
    record.rowElements = RefTensor::product(dims);
    record.dimsAt = list(dims);
    record.numDims = dims.size();
    record.dtypeBits = type.getElementTypeBitWidth();
    record.isBFloat = type.getElementType().isBF16();
    record.replaces = -1;
    record.values = -1;
    bufferNumbers[value] = buffers.size();
    buffers.push_back(record);
    return buffers.back();
  };
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    std::optional<mpdfg::Role> role = getRole(function, i);
    table::BufferRec &record =
        add(argument, argument.getType(), function.getArgAttrOfType<StringAttr>(i, kNameAttr).getValue(),
            role == mpdfg::Role::Param   ? table::BufferKind::Param
            : role == mpdfg::Role::State ? table::BufferKind::State
                                         : table::BufferKind::Input);
    if (auto found = valuesOf.find(function.getArgAttrOfType<StringAttr>(i, kNameAttr).getValue());
        found != valuesOf.end())
      record.values = found->second;
    if (auto fill = function.getArgAttrOfType<FloatAttr>(i, kFillAttr)) {
      record.optional = 1;
      record.fill = llvm::bit_cast<int64_t>(fill.getValueAsDouble());
      auto number = float(fill.getValueAsDouble());
      if (record.dtypeBits == 16)
        record.fill = record.isBFloat ? encodeBF16(number) : encodeF16(number);
    }
  }
  Operation *terminator = function.getBody().front().getTerminator();
  mpk::ArenaOp arena;
  DenseMap<int64_t, int64_t> slotBuffers;         // Of values that take each other's place.
  SmallVector<std::pair<Value, Value>> inOutputs; // Values in the memory of an output, which is made later.
  for (Operation &op : function.getBody().front()) {
    if (auto found = dyn_cast<mpk::ArenaOp>(op))
      arena = found;
    for (OpResult value : op.getResults()) {
      mpk::PlaceAttr place = mpk::getPlace(value);
      if (!place)
        continue;
      if (place.getKind() == mpk::PlaceKind::Arena) {
        int64_t slot = *place.getNumber();
        auto [known, fresh] = slotBuffers.try_emplace(slot, int64_t(buffers.size()));
        if (!fresh) {
          bufferNumbers[value] = known->second;
          continue;
        }
        table::BufferRec &record =
            add(value, value.getType(), "arena" + std::to_string(slot), table::BufferKind::Arena);
        record.first = arena.getFirst()[slot];
        record.last = arena.getLast()[slot];
        continue;
      }
      if (place.getKind() == mpk::PlaceKind::Result)
        if (Value output = terminator->getOperand(*place.getNumber()); output != value) {
          inOutputs.push_back({value, output});
          continue;
        }
      auto isThis = [value = value](Value returned) { return mpdfg::getViewed(returned) == value; };
      unsigned output = llvm::find_if(terminator->getOperands(), isThis) - terminator->operand_begin();
      table::BufferRec &record =
          add(value, terminator->getOperand(output).getType(),
              function.getResultAttrOfType<StringAttr>(output, kNameAttr).getValue(), table::BufferKind::Output);
      if (std::optional<unsigned> updated = getUpdated(function, output))
        record.replaces = bufferNumbers.lookup(function.getArgument(*updated));
    }
  }
  for (auto [value, output] : inOutputs)
    bufferNumbers[value] = bufferNumbers.lookup(output);
}
