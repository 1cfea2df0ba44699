//===- ParametersTest.cpp - Parameters from files and at random -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/Parameters.h"
#include "TestFiles.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace gnnc;
using namespace gnnc::test;

namespace {

std::optional<int64_t> noExtents(llvm::StringRef) { return std::nullopt; }

/// A model with one parameter W of these axes (name and size).
ModelInfo modelOf(const std::vector<std::pair<std::string, int64_t>> &axes) {
  std::string dims, names;
  for (const auto &[name, size] : axes) {
    dims += (dims.empty() ? "" : ",") + std::to_string(size);
    names += (names.empty() ? "\"" : ",\"") + name + "\"";
  }
  return modelWith("\"params\":[{\"name\":\"W\",\"space\":null,\"dims\":[" + dims + "],\"axes\":[" + names + "]}]");
}

llvm::Expected<Parameters> load(const ModelInfo &model, const SafetensorsFile &file, const std::string &map) {
  llvm::Expected<ParamsMap> parsed = ParamsMap::parse(map, "map");
  if (!parsed)
    return parsed.takeError();
  return Parameters::load(model, noExtents, file, &*parsed);
}

std::vector<float> valuesOf(llvm::Expected<Parameters> params) {
  if (!params) {
    ADD_FAILURE() << llvm::toString(params.takeError());
    return {};
  }
  return params->tensors()[0].as<float>().vec();
}

using Floats = std::vector<float>;

TEST(Parameters, AreReadUnderTheirNames) {
  SafetensorsFile file = FileBuilder().add<float>("W", {2, 2}, {1, 2, 3, 4}).build();
  ModelInfo model = modelOf({{"in", 2}, {"out", 2}});
  EXPECT_EQ(valuesOf(Parameters::load(model, noExtents, file, nullptr)), (Floats{1, 2, 3, 4}));
}

TEST(Parameters, AreConverted) {
  SafetensorsFile file = FileBuilder().add<double>("W", {2}, {0.5, 2}).build();
  EXPECT_EQ(valuesOf(Parameters::load(modelOf({{"out", 2}}), noExtents, file, nullptr)), (Floats{0.5, 2}));
}

TEST(Parameters, NameWhatIsMissingAndWhatIsThere) {
  SafetensorsFile file = FileBuilder().add<float>("c.weight", {3, 2}, {1, 2, 3, 4, 5, 6}).build();
  ModelInfo model = modelOf({{"in", 2}, {"out", 3}});
  EXPECT_EQ(errorOf(Parameters::load(model, noExtents, file, nullptr)),
            "'f' has no tensor for parameter 'W' [2, 3]; it has 'c.weight' [3, 2]");
  EXPECT_EQ(errorOf(load(model, file, R"({"W": "c.wieght"})")),
            "'f' has no tensor for parameter 'W' [2, 3] (from 'c.wieght'); it has 'c.weight' [3, 2]");
  EXPECT_EQ(errorOf(load(model, file, R"({"V": "c.weight"})")),
            "parameters map 'map': 'V' is no parameter of model 'm'");
}

TEST(Parameters, ExtraTensorsMustBeIgnored) {
  SafetensorsFile file =
      FileBuilder().add<float>("W", {1}, {1}).add<float>("logits", {1}, {2}).add<float>("n.steps", {1}, {3}).build();
  ModelInfo model = modelOf({{"out", 1}});
  EXPECT_EQ(errorOf(Parameters::load(model, noExtents, file, nullptr)),
            "'f' has tensors that are no parameters of model 'm': 'logits' [1], 'n.steps' [1]; list them under "
            "\"ignore\" in a parameters map if meant");
  EXPECT_EQ(valuesOf(load(model, file, R"({"ignore": ["logits", "*.steps"]})")), (Floats{1}));
  EXPECT_EQ(errorOf(load(model, file, R"({"ignore": "log*"})")).substr(0, 60),
            "'f' has tensors that are no parameters of model 'm': 'n.step");
}

TEST(Parameters, AreTransposed) {
  SafetensorsFile file = FileBuilder().add<float>("w", {3, 2}, {1, 2, 3, 4, 5, 6}).build();
  ModelInfo model = modelOf({{"in", 2}, {"out", 3}});
  EXPECT_EQ(valuesOf(load(model, file, R"({"W": {"from": "w", "steps": [{"transpose": true}]}})")),
            (Floats{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(valuesOf(load(model, file, R"({"W": {"from": "w", "steps": [{"transpose": [1, 0]}]}})")),
            (Floats{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(errorOf(load(model, file, R"({"W": {"from": "w", "steps": [{"transpose": [1, 1]}]}})")),
            "parameter 'W' [2, 3] from 'f': transpose of 'w': expected the axes of [3, 2] in some order, found [1, 1]");
  // As many elements, but in another order: never silently taken.
  EXPECT_EQ(errorOf(load(model, file, R"({"W": "w"})")),
            "parameter 'W' [2, 3] from 'f': expected shape [2, 3], found [3, 2] in 'w'");
}

TEST(Parameters, TransposeMovesEveryAxis) {
  Floats values;
  for (int i = 0; i < 24; ++i)
    values.push_back(float(i));
  SafetensorsFile file = FileBuilder().add<float>("w", {2, 3, 4}, values).build();
  ModelInfo model = modelOf({{"a", 4}, {"b", 2}, {"c", 3}});
  Floats moved = valuesOf(load(model, file, R"({"W": {"from": "w", "steps": [{"transpose": [2, 0, 1]}]}})"));
  ASSERT_EQ(moved.size(), 24u);
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 2; ++b)
      for (int c = 0; c < 3; ++c)
        EXPECT_EQ(moved[(a * 2 + b) * 3 + c], values[(b * 3 + c) * 4 + a]);
}

TEST(Parameters, FinalShapeMaySplitMergeAndDropOnes) {
  SafetensorsFile file = FileBuilder().add<float>("w", {1, 6}, {1, 2, 3, 4, 5, 6}).build();
  EXPECT_EQ(valuesOf(load(modelOf({{"heads", 2}, {"out", 3}}), file, R"({"W": "w"})")).size(), 6u);
  EXPECT_EQ(valuesOf(load(modelOf({{"out", 6}}), file, R"({"W": "w"})")).size(), 6u);
  EXPECT_EQ(errorOf(load(modelOf({{"out", 5}}), file, R"({"W": "w"})")),
            "parameter 'W' [5] from 'f': expected shape [5], found [1, 6] in 'w'");
  SafetensorsFile attention = FileBuilder().add<float>("w", {1, 2, 3}, {1, 2, 3, 4, 5, 6}).build();
  EXPECT_EQ(valuesOf(load(modelOf({{"heads", 2}, {"out", 3}}), attention, R"({"W": "w"})")).size(), 6u);
  EXPECT_EQ(valuesOf(load(modelOf({{"all", 6}}), attention, R"({"W": "w"})")).size(), 6u);
}

TEST(Parameters, AreReshapedByNames) {
  // [out * heads, in] with out varying slowest, as W[in, heads, out].
  SafetensorsFile file = FileBuilder().add<float>("w", {4, 1}, {1, 2, 3, 4}).build();
  ModelInfo model = modelOf({{"in", 1}, {"heads", 2}, {"out", 2}});
  EXPECT_EQ(
      valuesOf(load(model, file,
                    R"({"W": {"from": "w", "steps": [{"reshape": ["out", "heads", -1]}, {"transpose": [2, 1, 0]}]}})")),
      (Floats{1, 3, 2, 4}));
  EXPECT_EQ(
      valuesOf(load(model, file, R"({"W": {"from": "w", "steps": [{"reshape": ["in", "heads * out"]}]}})")).size(), 4u);
  EXPECT_EQ(errorOf(load(model, file, R"({"W": {"from": "w", "steps": [{"reshape": ["rows"]}]}})")),
            "parameter 'W' [1, 2, 2] from 'f': reshape of 'w': expected an axis of the parameter (in, heads, out), "
            "found 'rows'");
  EXPECT_EQ(
      errorOf(load(model, file, R"({"W": {"from": "w", "steps": [{"reshape": [3, -1]}]}})")),
      "parameter 'W' [1, 2, 2] from 'f': reshape of 'w': expected sizes for the elements of [4, 1], found [3, -1]");
}

TEST(Parameters, AreSlicedAndIndexed) {
  SafetensorsFile file = FileBuilder().add<float>("w", {2, 3}, {1, 2, 3, 4, 5, 6}).build();
  ModelInfo model = modelOf({{"a", 2}, {"b", 2}}), row = modelOf({{"b", 3}}), column = modelOf({{"a", 2}});
  EXPECT_EQ(valuesOf(load(model, file, R"({"W": {"from": "w", "steps": [{"slice": [1, 1, 3]}]}})")),
            (Floats{2, 3, 5, 6}));
  EXPECT_EQ(valuesOf(load(row, file, R"({"W": {"from": "w", "steps": [{"index": [0, 1]}]}})")), (Floats{4, 5, 6}));
  EXPECT_EQ(valuesOf(load(column, file, R"({"W": {"from": "w", "steps": [{"index": [1, 2]}]}})")), (Floats{3, 6}));
  EXPECT_EQ(errorOf(load(row, file, R"({"W": {"from": "w", "steps": [{"slice": [0, 1, 3]}]}})")),
            "parameter 'W' [3] from 'f': slice of 'w': expected [axis, begin, end] within [2, 3], found [0, 1, 3]");
  EXPECT_NE(errorOf(load(row, file, R"({"W": {"from": "w", "steps": [{"index": [2, 0]}]}})")), "no error");
  EXPECT_NE(errorOf(load(row, file, R"({"W": {"from": "w", "steps": [{"index": [0, 9223372036854775807]}]}})")),
            "no error");
}

TEST(Parameters, AreStackedAndJoined) {
  SafetensorsFile file = FileBuilder()
                             .add<float>("a", {1, 2}, {1, 2})
                             .add<float>("b", {1, 2}, {3, 4})
                             .add<float>("c", {3}, {5, 6, 7})
                             .build();
  ModelInfo stacked = modelOf({{"t", 2}, {"in", 2}, {"out", 1}}), joined = modelOf({{"in", 1}, {"out", 4}});
  std::string ignore = R"(, "ignore": "c"})";
  EXPECT_EQ(valuesOf(load(stacked, file,
                          R"({"W": {"from": ["a", "b"], "steps": [{"transpose": true}], "stack": true})" + ignore)),
            (Floats{1, 2, 3, 4}));
  EXPECT_EQ(valuesOf(load(joined, file, R"({"W": {"from": ["b", "a"], "concat": 1})" + ignore)), (Floats{3, 4, 1, 2}));
  EXPECT_EQ(errorOf(load(joined, file, R"({"W": {"from": ["a", "c"], "concat": 1}, "ignore": "b"})")),
            "parameter 'W' [1, 4] from 'f': expected 'c' to have the shape of 'a', [1, 2], found [3]");
}

TEST(Parameters, APartialMapLeavesTheOthersTheirNames) {
  ModelInfo model = modelWith(R"("params":[{"name":"W","space":null,"dims":[1],"axes":["a"]},)"
                              R"({"name":"b","space":null,"dims":[1],"axes":["a"]}])");
  SafetensorsFile file = FileBuilder().add<float>("w", {1}, {3}).add<float>("b", {1}, {4}).build();
  llvm::Expected<Parameters> params = load(model, file, R"({"W": "w"})");
  ASSERT_TRUE(bool(params)) << llvm::toString(params.takeError());
  EXPECT_EQ(params->tensors()[0].at(0), 3);
  EXPECT_EQ(params->tensors()[1].at(0), 4);
}

TEST(Parameters, StatesAreMappedLikeParametersAndTensorsMayHaveAnyName) {
  ModelInfo model = modelWith(R"("params":[],"states":[)"
                              R"({"name":"bn.running_mean","space":null,"dims":[2],"axes":["d"],"fill":0.0}])");
  SafetensorsFile file = FileBuilder().add<float>("1.running_mean", {2}, {5, 6}).build();
  EXPECT_EQ(valuesOf(load(model, file, R"({"bn.running_mean": "1.running_mean"})")), (Floats{5, 6}));
}

TEST(Parameters, AreFilledWithANumber) {
  SafetensorsFile file = FileBuilder().build();
  EXPECT_EQ(valuesOf(load(modelOf({{"out", 2}}), file, R"({"W": 1.5})")), (Floats{1.5, 1.5}));
}

TEST(Parameters, OnASpaceHaveItsExtent) {
  ModelInfo model = modelWith(R"("params":[{"name":"h","space":"node","dims":[2],"axes":["d"]}],"states":[)"
                              R"({"name":"var","space":null,"dims":[2],"axes":["d"],"fill":1.0}])");
  auto extents = [](llvm::StringRef space) { return space == "node" ? std::optional<int64_t>(3) : std::nullopt; };
  llvm::Expected<Parameters> params = Parameters::random(model, extents, 1);
  ASSERT_TRUE(bool(params)) << llvm::toString(params.takeError());
  ASSERT_EQ(params->tensors().size(), 2u);
  EXPECT_EQ(params->tensors()[0].shape(), llvm::ArrayRef<int64_t>({3, 2}));
  EXPECT_EQ(params->tensors()[1].at(1), 1.0);
  EXPECT_EQ(errorOf(Parameters::random(model, noExtents, 1)), "the extent of space 'node' of 'h' is not known");
}

TEST(Parameters, InTheObjectNeedNotBeGiven) {
  ModelInfo model = modelWith(R"("params":[{"name":"A","space":null,"dims":[2],"axes":["a"],"embedded":true},)"
                              R"({"name":"W","space":null,"dims":[1],"axes":["a"]}],"states":[)"
                              R"({"name":"s","space":null,"dims":[1],"axes":["a"],"fill":1.0,"embedded":true}])");
  auto namesOf = [](llvm::Expected<Parameters> params) {
    std::vector<std::string> names;
    EXPECT_TRUE(bool(params));
    for (const HostTensor &tensor : params->tensors())
      names.push_back(tensor.name());
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(namesOf(Parameters::random(model, noExtents, 1)), Names{"W"});
  SafetensorsFile some = FileBuilder().add<float>("W", {1}, {1}).build();
  EXPECT_EQ(namesOf(Parameters::load(model, noExtents, some, nullptr)), Names{"W"});
  // Given ones are read, and checked like others.
  SafetensorsFile all = FileBuilder().add<float>("W", {1}, {1}).add<float>("A", {2}, {2, 3}).build();
  EXPECT_EQ(namesOf(Parameters::load(model, noExtents, all, nullptr)), (Names{"A", "W"}));
  EXPECT_EQ(namesOf(load(model, some, R"({"s": 2})")), (Names{"W", "s"}));
  EXPECT_EQ(errorOf(load(model, some, R"({"A": "other"})")), "'f' has no tensor for parameter 'A' [2] (from 'other')");
  SafetensorsFile wide = FileBuilder().add<float>("W", {1}, {1}).add<float>("A", {3}, {1, 2, 3}).build();
  EXPECT_EQ(errorOf(Parameters::load(model, noExtents, wide, nullptr)),
            "parameter 'A' [2] from 'f': expected shape [2], found [3] in 'A'");
}

TEST(Parameters, AreStoredInTheirOwnType) {
  ModelInfo model = modelWith(R"("params":[{"name":"W","space":null,"dims":[2],"axes":["a"],"dtype":"bf16"}])");
  SafetensorsFile file = FileBuilder().add<float>("W", {2}, {0.5, 3}).build();
  Parameters params = llvm::cantFail(Parameters::load(model, noExtents, file, nullptr));
  EXPECT_EQ(params.tensors()[0].type(), ElementType::BF16);
  EXPECT_EQ(params.tensors()[0].at(1), 3);
}

TEST(Parameters, RandomOnesDependOnSeedAndNameAlone) {
  ModelInfo one = modelOf({{"in", 30}, {"out", 20}});
  ModelInfo two = modelWith(R"("params":[{"name":"A","space":null,"dims":[4],"axes":["a"]},)"
                            R"({"name":"W","space":null,"dims":[30,20],"axes":["in","out"]}])");
  Parameters a = llvm::cantFail(Parameters::random(one, noExtents, 7));
  Parameters b = llvm::cantFail(Parameters::random(two, noExtents, 7));
  Parameters c = llvm::cantFail(Parameters::random(one, noExtents, 8));
  EXPECT_EQ(a.tensors()[0].as<float>().vec(), b.tensors()[1].as<float>().vec());
  EXPECT_NE(a.tensors()[0].as<float>().vec(), c.tensors()[0].as<float>().vec());
  float bound = std::sqrt(6.0f / 50), largest = 0;
  for (float value : a.tensors()[0].as<float>()) {
    EXPECT_LE(std::abs(value), bound);
    largest = std::max(largest, std::abs(value));
  }
  EXPECT_GT(largest, 0.95f * bound);
}

TEST(ParamsMap, RefusesWhatItDoesNotKnow) {
  auto error = [](const std::string &text) { return errorOf(ParamsMap::parse(text, "map")); };
  EXPECT_EQ(error("{"),
            "parameters map 'map': expected a JSON object, found text that is not JSON at line 1, column 1");
  EXPECT_EQ(error("{\n  \"W\": \"w\",\n}\n"),
            "parameters map 'map': expected a JSON object, found text that is not JSON at line 3, column 1");
  EXPECT_EQ(error("[]"), "parameters map 'map': expected a JSON object, found array");
  EXPECT_EQ(error(R"({"W": {}})"), "parameters map 'map': 'W': expected a member 'from', found none");
  EXPECT_EQ(error(R"({"W": true})"),
            "parameters map 'map': 'W': expected the name of a tensor, a number or an object, found true");
  EXPECT_EQ(error(R"({"W": {"from": "w", "transpose": true}})"),
            "parameters map 'map': 'W': expected from, steps, stack or concat, found 'transpose'");
  EXPECT_EQ(error(R"({"W": {"from": "w", "steps": [{"twist": 1}]}})"),
            "parameters map 'map': 'W': expected a step with one of reshape, transpose, slice, index; found 'twist'");
  EXPECT_EQ(error(R"({"W": {"from": ["a", "b"]}})"),
            "parameters map 'map': 'W': expected stack or concat with several tensors, found neither");
  EXPECT_EQ(error(R"({"ignore": 3})"),
            "parameters map 'map': 'ignore': expected the name of a tensor or a list of names, found 3");
}

} // namespace
