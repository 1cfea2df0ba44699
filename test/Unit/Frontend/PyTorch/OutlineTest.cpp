//===- OutlineTest.cpp - Modules that become layers -----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "PyTorch/Emitter.h"
#include "gtest/gtest.h"

using namespace gnnc::frontend::pytorch;
using namespace gnnc::frontend::pytorch::test;

namespace {

using Stack = std::vector<std::pair<std::string, std::string>>;

/// A product and a bias with the parameters of module `path`, from `in` to `out` features.
void linear(ProgramBuilder &b, const std::string &name, const std::string &path, const char *x, const std::string &in,
            const std::string &out) {
  if (!b.program.graph.tensors.count("w_" + path))
    b.param("w_" + path, path + ".weight", {out, in}).param("b_" + path, path + ".bias", {out});
  b.node(name, "linear.default",
         {arg("input", x), arg("weight", ("w_" + path).c_str()), arg("bias", ("b_" + path).c_str())}, {"N", out});
}

/// The text from its first layer on.
std::string layersOf(const ProgramBuilder &b) {
  std::string text = b.text();
  size_t at = text.find("\nlayer ");
  return at == std::string::npos ? text : text.substr(at + 1);
}

TEST(OutlineTest, CallsOfOneStructureAreOneLayer) {
  ProgramBuilder b;
  b.input("x", {"N", "6"});
  linear(b.within({{"first", "torch.nn.Linear"}}), "h", "first", "x", "6", "8");
  b.within({}).node("r", "relu.default", {arg("self", "h")}, {"N", "8"});
  linear(b.within({{"second", "torch.nn.Linear"}}), "y", "second", "r", "8", "3");
  EXPECT_EQ(layersOf(b.output("y")), "layer Linear(x: any[in], out: int) -> any[out] {\n"
                                     "  param weight[out, in], bias[out]\n"
                                     "  x @ weight + bias\n"
                                     "}\n"
                                     "\n"
                                     "model m exported {\n"
                                     "  input x: node[in = 6]\n"
                                     "  let h = relu(Linear(x, out: 8) as first)\n"
                                     "  output y = Linear(h, out: 3) as second\n"
                                     "}\n");
}

TEST(OutlineTest, OneProductIsNoLayer) {
  ProgramBuilder b;
  b.input("x", {"N", "6"});
  linear(b.within({{"first", "torch.nn.Linear"}}), "y", "first", "x", "6", "8");
  EXPECT_EQ(b.output("y").missing({"  param first_weight[out = 8, in] as \"first.weight\"",
                                   "  output y = x @ first_weight + first_bias"}),
            "");
}

/// Two blocks, each of two products; `returns` gives what follows the second product of a block.
ProgramBuilder blocks(bool withResidual) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  std::string x = "x";
  for (std::string number : {"0", "1"}) {
    std::string path = "blocks." + number;
    Stack stack = {{path, "models.Block"}};
    Stack inner = {{path, "models.Block"}, {path + ".a", "torch.nn.Linear"}};
    linear(b.within(inner), "h" + number, path + ".a", x.c_str(), "4", "8");
    b.within(stack).node("r" + number, "relu.default", {arg("self", ("h" + number).c_str())}, {"N", "8"});
    inner[1].first = path + ".b";
    linear(b.within(inner), "o" + number, path + ".b", ("r" + number).c_str(), "8", "4");
    std::string result = "o" + number;
    if (withResidual && number == "1") { // outside of the block
      b.within({}).node("sum", "add.Tensor", {arg("self", x.c_str()), arg("other", result.c_str())}, {"N", "4"});
      result = "sum";
    }
    x = result;
  }
  return b.output(x);
}

TEST(OutlineTest, LayersHaveLayers) {
  EXPECT_EQ(layersOf(blocks(false)), "layer Linear(x: any[in], out: int) -> any[out] {\n"
                                     "  param weight[out, in], bias[out]\n"
                                     "  x @ weight + bias\n"
                                     "}\n"
                                     "\n"
                                     "layer Block(x: any[in], out: int) -> any[out] {\n"
                                     "  let h = relu(Linear(x, out: 8) as a)\n"
                                     "  Linear(h, out: out) as b\n"
                                     "}\n"
                                     "\n"
                                     "model m exported {\n"
                                     "  input x: node[in = 4]\n"
                                     "  let block = Block(x, out: 4) as \"blocks.0\"\n"
                                     "  output o1 = Block(block, out: 4) as \"blocks.1\"\n"
                                     "}\n");
}

TEST(OutlineTest, AnAxisThatASumOutsideMakesOneIsTwoInTheLayer) {
  std::string text = layersOf(blocks(true));
  EXPECT_EQ(text.find("Block2"), std::string::npos) << text;
  EXPECT_NE(text.find("layer Block(x: any[in], out: int) -> any[out] {"), std::string::npos) << text;
}

TEST(OutlineTest, ConstantsThatDifferAreArguments) {
  auto scaledBy = [](std::vector<double> numbers) {
    ProgramBuilder b;
    b.input("x", {"N", "4"});
    std::string x = "x";
    for (int i : {0, 1}) {
      std::string number = std::to_string(i);
      b.within({{"convs." + number, "models.Conv"}});
      linear(b, "h" + number, "convs." + number, x.c_str(), "4", "4");
      b.node("y" + number, "mul.Tensor", {arg("self", ("h" + number).c_str()), arg("other", numbers[size_t(i)])},
             {"N", "4"});
      b.node("z" + number, "add.Tensor", {arg("self", ("y" + number).c_str()), arg("other", 0.5)}, {"N", "4"});
      x = "z" + number;
    }
    return layersOf(b.output("z1"));
  };
  EXPECT_EQ(scaledBy({0.75, -0.25}), "layer Conv(x: any[in], out: int, factor: float) -> any[out] {\n"
                                     "  param weight[out, in], bias[out]\n"
                                     "  (x @ weight + bias) * factor + 0.5\n"
                                     "}\n"
                                     "\n"
                                     "model m exported {\n"
                                     "  input x: node[in = 4]\n"
                                     "  let conv = Conv(x, out: 4, factor: 0.75) as \"convs.0\"\n"
                                     "  output z1 = Conv(conv, out: 4, factor: -0.25) as \"convs.1\"\n"
                                     "}\n");
  EXPECT_NE(scaledBy({3, 3}).find("* 3 + 0.5"), std::string::npos);
  // A product with 0 is no product with a number for which another could stand.
  EXPECT_NE(scaledBy({3, 0}).find("Conv2"), std::string::npos);
}

TEST(OutlineTest, WhatSeveralModulesShareIsComputedInEach) {
  // Degrees are computed in the first module, and equal ones of the second are the same nodes.
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("d", {"E"}).input("ones", {"E"});
  b.within({{"a", "models.Conv"}});
  b.node("none", "zeros.default", {}, {"N"});
  b.node("deg", "scatter_add_.default", {arg("self", "none"), arg("dim", 0), arg("index", "d"), arg("src", "ones")},
         {"N"});
  b.node("column", "view.default", {arg("self", "deg")}, {"N", "1"});
  b.node("s", "sqrt.default", {arg("self", "column")}, {"N", "1"});
  linear(b, "h", "a", "x", "4", "8");
  b.node("y", "mul.Tensor", {arg("self", "h"), arg("other", "s")}, {"N", "8"});
  b.within({{"b", "models.Conv"}});
  linear(b, "h2", "b", "y", "8", "3");
  b.node("z", "mul.Tensor", {arg("self", "h2"), arg("other", "s")}, {"N", "3"});
  EXPECT_EQ(layersOf(b.output("z")), "layer Conv(x: node[in], ones: ones_row[], out: int) -> node[out] {\n"
                                     "  param weight[out, in], bias[out]\n"
                                     "  (x @ weight + bias) * sqrt(sum(ones, along: d))\n"
                                     "}\n"
                                     "\n"
                                     "model m exported {\n"
                                     "  input x: node[in = 4]\n"
                                     "  input ones: ones_row[]\n"
                                     "  let a = Conv(x, ones, out: 8) as a\n"
                                     "  output z = Conv(a, ones, out: 3) as b\n"
                                     "}\n");
}

TEST(OutlineTest, ModulesWithTwoResultsAreNoLayers) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.within({{"cell", "models.Cell"}});
  linear(b, "h", "cell.a", "x", "4", "8");
  linear(b, "c", "cell.b", "h", "8", "8");
  b.within({}).node("y", "add.Tensor", {arg("self", "h"), arg("other", "c")}, {"N", "8"});
  EXPECT_EQ(b.output("y").text().find("layer "), std::string::npos) << b.text();
  EXPECT_EQ(b.missing({"  param cell_a_weight[out = 8, in] as \"cell.a.weight\""}), "");
}

TEST(OutlineTest, InstancesThatAreCalledTwiceAreDeclared) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).input("y", {"N", "4"});
  for (int call : {0, 1}) {
    std::string number = std::to_string(call);
    b.within({{"enc.0", "models.Encoder"}}, call);
    linear(b, "h" + number, "enc.0.lin", call == 0 ? "x" : "y", "4", "8");
    b.node("r" + number, "relu.default", {arg("self", ("h" + number).c_str())}, {"N", "8"});
  }
  b.within({}).node("z", "mul.Tensor", {arg("self", "r0"), arg("other", "r1")}, {"N", "8"});
  EXPECT_EQ(layersOf(b.output("z")), "layer Encoder(x: any[in], out: int) -> any[out] {\n"
                                     "  param weight[out, in] as \"lin.weight\", bias[out] as \"lin.bias\"\n"
                                     "  relu(x @ weight + bias)\n"
                                     "}\n"
                                     "\n"
                                     "model m exported {\n"
                                     "  input x: node[in = 4]\n"
                                     "  input y: node[in]\n"
                                     "  instance enc = Encoder(out: 8) as \"enc.0\"\n"
                                     "  output z = enc(x) * enc(y)\n"
                                     "}\n");
}

TEST(OutlineTest, AModuleThatAnotherReadsParametersOfIsNoLayer) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  for (std::string path : {"a", "b"}) {
    b.within({{path, "models.Encoder"}});
    linear(b, "h" + path, path, "x", "4", "8");
    b.node("r" + path, "relu.default", {arg("self", ("h" + path).c_str())}, {"N", "8"});
  }
  b.within({}).node("back", "matmul.default", {arg("self", "ra"), arg("other", "w_a")}, {"N", "4"});
  b.node("sum", "sum.dim_IntList", {arg("self", "rb"), ints("dim", {1}), arg("keepdim", true)}, {"N", "1"});
  b.node("z", "add.Tensor", {arg("self", "back"), arg("other", "sum")}, {"N", "4"});
  std::string text = b.output("z").text();
  EXPECT_NE(text.find("  param a_weight["), std::string::npos) << text;
  // One call is left, of one product.
  EXPECT_EQ(text.find("as \"weight\""), std::string::npos) << text;
}

TEST(OutlineTest, NamesOfParametersTellModulesWhereTheFileDoesNot) {
  ProgramBuilder b;
  b.input("x", {"N", "4"}).integers("edge_index", {"2", "E"});
  b.integerNode("s", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 0)}, {"E"});
  b.integerNode("d", "select.int", {arg("self", "edge_index"), arg("dim", 0), arg("index", 1)}, {"E"});
  std::string x = "x";
  for (std::string number : {"0", "1"}) {
    std::string path = "convs." + number, size = number == "0" ? "4" : "8", out = number == "0" ? "8" : "3";
    b.param("w" + number, path + ".lin.weight", {out, size}).param("b" + number, path + ".bias", {out});
    // What comes before the first parameter is the module's, since both have it.
    b.node("g" + number, "index_select.default", {arg("self", x.c_str()), arg("dim", 0), arg("index", "s")},
           {"E", size});
    b.node("h" + number, "linear.default",
           {arg("input", ("g" + number).c_str()), arg("weight", ("w" + number).c_str())}, {"E", out});
    b.node("zeros" + number, "zeros.default", {}, {"N", out});
    b.node("a" + number, "index_add.default",
           {arg("self", ("zeros" + number).c_str()), arg("dim", 0), arg("index", "d"),
            arg("source", ("h" + number).c_str())},
           {"N", out});
    b.node("y" + number, "add.Tensor", {arg("self", ("a" + number).c_str()), arg("other", ("b" + number).c_str())},
           {"N", out});
    x = "y" + number;
    if (number == "0") {
      b.node("r", "relu.default", {arg("self", "y0")}, {"N", "8"});
      x = "r";
    }
  }
  EXPECT_EQ(layersOf(b.output("y1")), "layer Conv(x: node[in], out: int) -> node[out] {\n"
                                      "  param weight[out, in] as \"lin.weight\", bias[out]\n"
                                      "  sum(x.src @ weight, along: dst) + bias\n"
                                      "}\n"
                                      "\n"
                                      "model m exported {\n"
                                      "  input x: node[in = 4]\n"
                                      "  let h = relu(Conv(x, out: 8) as \"convs.0\")\n"
                                      "  output y1 = Conv(h, out: 3) as \"convs.1\"\n"
                                      "}\n");
}

TEST(OutlineTest, ValuesAreCalledAsInTheSource) {
  ProgramBuilder b;
  b.input("x", {"N", "4"});
  b.line = "h = torch.exp(x).relu()";
  b.node("e", "exp.default", {arg("self", "x")}, {"N", "4"});
  b.node("r", "relu.default", {arg("self", "e")}, {"N", "4"});
  b.line = "return h * h";
  b.node("y", "mul.Tensor", {arg("self", "r"), arg("other", "r")}, {"N", "4"});
  EXPECT_EQ(b.output("y").missing({"  let h = relu(exp(x))", "  output y = h * h"}), "");
}

TEST(OutlineTest, LongStatementsAreBroken) {
  EXPECT_EQ(wrapped("  let y = " + std::string(50, 'a') + " + " + std::string(50, 'b') + " * " + std::string(20, 'c')),
            "  let y = " + std::string(50, 'a') + " +\n      " + std::string(50, 'b') + " * " + std::string(20, 'c') +
                "\n");
  // With as few open brackets as may be.
  EXPECT_EQ(wrapped("  f(" + std::string(60, 'a') + ", g(" + std::string(30, 'b') + ", " + std::string(40, 'c') + "))"),
            "  f(" + std::string(60, 'a') + ",\n      g(" + std::string(30, 'b') + ", " + std::string(40, 'c') +
                "))\n");
  EXPECT_EQ(wrapped("  let y = x"), "  let y = x\n");
}

} // namespace
