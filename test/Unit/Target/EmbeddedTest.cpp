//===- EmbeddedTest.cpp - Values inside an object -------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannedModel.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/ModelFormat/ModelTable.h"
#include "llvm/Support/JSON.h"

#include <cstring>

using namespace gnnc;
using namespace gnnc::test;

namespace {

/// The model's parameter W: [8, 6].
EmbeddedTensor weight() { return {"W", {8, 6}, 32, false, std::string(4 * 48, '\1')}; }

class EmbeddedTest : public testing::Test {
protected:
  std::string errorOf(llvm::ArrayRef<EmbeddedTensor> tensors) {
    return llvm::toString(checkEmbedded(*model.module, tensors));
  }
  PlannedModel model;
};

TEST_F(EmbeddedTest, IsWhatTheModelHas) {
  EXPECT_EQ(errorOf({weight()}), "");
  EXPECT_EQ(errorOf({}), "");
  EmbeddedTensor other = weight();
  other.name = "x"; // an input
  EXPECT_EQ(errorOf({other}), "cannot embed 'x': the model has no such parameter or state");
  EXPECT_EQ(errorOf({weight(), weight()}), "cannot embed 'W': expected its values once, found them twice");
  other = weight();
  other.shape = {6, 8};
  EXPECT_EQ(errorOf({other}), "cannot embed 'W': expected float32 [8, 6], found float32 [6, 8]");
  other = weight();
  other.bits = 16;
  other.isBFloat = true;
  EXPECT_EQ(errorOf({other}), "cannot embed 'W': expected float32 [8, 6], found bfloat16 [8, 6]");
  other = weight();
  other.bytes.pop_back();
  EXPECT_EQ(errorOf({other}), "cannot embed 'W': expected 192 bytes, found 191");
}

TEST_F(EmbeddedTest, DependsOnNoGraph) {
  auto function = *model.module->getOps<mlir::func::FuncOp>().begin();
  function.setArgAttr(0, kRoleAttr, mpdfg::RoleAttr::get(&model.context, mpdfg::Role::Param));
  EXPECT_EQ(errorOf({{"x", {4, 2, 4}, 32, false, std::string(128, 0)}}),
            "cannot embed 'x': it has a row for each element of 'node', whose extent a graph gives");
}

TEST_F(EmbeddedTest, IsInTheTable) {
  EmbeddedTensor tensor = weight();
  tensor.bytes = std::string(191, '\2') + '\3';
  ModelTable table = buildTable(*model.module, model.kernels, 1, DeviceCode(), tensor);
  table::Header header;
  std::memcpy(&header, table.words.data(), sizeof header);
  ASSERT_EQ(header.numValues, 1);
  EXPECT_EQ(header.valuesBytes, 192);
  table::ValuesRec record;
  std::memcpy(&record, table.words.data() + header.valuesAt, sizeof record);
  EXPECT_STREQ(table.names.c_str() + record.name, "W");
  EXPECT_EQ(record.dtypeBits, 32);
  EXPECT_EQ(record.isBFloat, 0);
  ASSERT_EQ(record.numShape, 2);
  EXPECT_EQ(table.words[record.shapeAt], 8);
  EXPECT_EQ(table.words[record.shapeAt + 1], 6);
  EXPECT_EQ(table.values.substr(record.valuesAt), tensor.bytes);
  for (int64_t i = 0; i < header.numBuffers; ++i) {
    table::BufferRec buffer;
    std::memcpy(&buffer, table.words.data() + header.buffersAt + i * int64_t(sizeof buffer / sizeof(int64_t)),
                sizeof buffer);
    EXPECT_EQ(buffer.values, buffer.kind == table::BufferKind::Param ? 0 : -1) << table.names.c_str() + buffer.name;
  }
}

/// What is measured on one compilation holds for the same model with other weights.
TEST_F(EmbeddedTest, IsNotPartOfTheDigest) {
  EmbeddedTensor one = weight(), other = weight();
  other.bytes[7] = '\5';
  auto digestOf = [&](const EmbeddedTensor &tensor) {
    return buildTable(*model.module, model.kernels, 1, DeviceCode(), tensor).words[2];
  };
  EXPECT_EQ(digestOf(one), digestOf(other));
}

TEST_F(EmbeddedTest, IsSaid) {
  auto paramOf = [&](llvm::ArrayRef<EmbeddedTensor> tensors) {
    llvm::json::Value document =
        llvm::cantFail(llvm::json::parse(describeModel(*model.module, model.kernels, DeviceCode(), tensors)));
    return (*document.getAsObject()->getArray("params"))[0].getAsObject()->getBoolean("embedded");
  };
  EXPECT_EQ(paramOf(weight()), true);
  EXPECT_EQ(paramOf({}), std::nullopt);
}

} // namespace
