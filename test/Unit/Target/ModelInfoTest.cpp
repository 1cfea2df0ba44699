//===- ModelInfoTest.cpp - A model's description of itself ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlannedModel.h"
#include "gnnc-c/gnnc.h"
#include "llvm/Support/JSON.h"

using namespace gnnc;
using namespace gnnc::test;

namespace {

class ModelInfoTest : public testing::Test {
protected:
  ModelInfoTest() {
    auto parsed = llvm::json::parse(describeModel(*model.module, model.kernels));
    EXPECT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
    if (parsed)
      document = *parsed->getAsObject();
  }
  const llvm::json::Object &item(const char *list, size_t i) { return *(*document.getArray(list))[i].getAsObject(); }
  static llvm::json::Value json(const char *text) { return llvm::cantFail(llvm::json::parse(text)); }

  PlannedModel model;
  llvm::json::Object document;
};

TEST_F(ModelInfoTest, NameAndType) {
  EXPECT_EQ(document.getString("name"), "Planned");
  EXPECT_EQ(document.getInteger("abi"), int64_t(GNNC_ABI_VERSION));
  EXPECT_EQ(document.getString("dtype"), "f32");
}

TEST_F(ModelInfoTest, SpacesAndMapsAsDeclared) {
  EXPECT_EQ(document.getArray("spaces")->size(), 5u);
  EXPECT_EQ(llvm::json::Value(llvm::json::Object(item("spaces", 0))), json(R"({"name": "ring", "kind": "union"})"));
  EXPECT_EQ(llvm::json::Value(llvm::json::Object(item("spaces", 4))),
            json(R"({"name": "kind", "kind": "static", "extent": 3})"));
  EXPECT_EQ(llvm::json::Value(llvm::json::Object(item("maps", 4))),
            json(R"({"name": "dst", "from": "edge", "to": "node", "kind": "root", "partial": false})"));
}

TEST_F(ModelInfoTest, TensorsWithTheirAxes) {
  ASSERT_EQ(document.getArray("inputs")->size(), 1u);
  EXPECT_EQ(llvm::json::Value(llvm::json::Object(item("inputs", 0))),
            json(R"({"name": "x", "space": "node", "dims": [2, 4], "axes": ["heads", "in"],
                     "optional": true, "fill": 0.5})"));
  ASSERT_EQ(document.getArray("params")->size(), 1u);
  EXPECT_EQ(llvm::json::Value(llvm::json::Object(item("params", 0))),
            json(R"({"name": "W", "space": null, "dims": [8, 6], "axes": ["in", "out"]})"));
  ASSERT_EQ(document.getArray("outputs")->size(), 2u);
  EXPECT_EQ(item("outputs", 0).getString("space"), "node");
  EXPECT_EQ(item("outputs", 1).getString("name"), "top");
  EXPECT_TRUE(document.getArray("states")->empty());
}

TEST_F(ModelInfoTest, KernelsInOrder) {
  ASSERT_EQ(document.getArray("kernels")->size(), 2u);
  EXPECT_EQ(item("kernels", 0).getString("kind"), "product");
  EXPECT_EQ(item("kernels", 0).getInteger("k"), 8);
  EXPECT_EQ(item("kernels", 0).getInteger("n"), 6);
  EXPECT_EQ(item("kernels", 1).getString("kind"), "sweep");
  EXPECT_EQ(item("kernels", 1).getString("map"), "ring.dst");
  EXPECT_EQ(item("kernels", 1).getInteger("operations"), 2);
  EXPECT_EQ(item("kernels", 1).getInteger("results"), 2);
}

TEST_F(ModelInfoTest, TheMemoryPlan) {
  ASSERT_EQ(document.getArray("buffers")->size(), 1u);
  EXPECT_EQ(
      llvm::json::Value(llvm::json::Object(item("buffers", 0))),
      json(
          R"({"name": "arena0", "function": "forward", "kind": "arena", "space": "node", "row_elements": 6, "first": 0, "last": 1})"));
}

} // namespace
