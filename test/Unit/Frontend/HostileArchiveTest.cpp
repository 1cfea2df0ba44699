//===- HostileArchiveTest.cpp - Archives that are not what they say -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every archive here is refused in one line that names the file and the place in it.
//
//===----------------------------------------------------------------------===//

#include "ExportedArchive.h"

#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace gnnc::frontend::pytorch;
using nlohmann::json;

/// The little-endian number at `at`, which need not be aligned.
template <typename T>
using Number = llvm::support::detail::packed_endian_specific_integral<T, llvm::endianness::little, 1>;
template <typename T> static Number<T> &numberAt(std::string &bytes, size_t at) {
  return *reinterpret_cast<Number<T> *>(bytes.data() + at);
}

/// Where the central directory has `name`.
static size_t directoryOf(const std::string &bytes, const std::string &name) {
  for (size_t at = bytes.find("PK\1\2"); at != std::string::npos; at = bytes.find("PK\1\2", at + 1))
    if (bytes.compare(at + 46, name.size(), name) == 0)
      return at;
  ADD_FAILURE() << "no entry " << name;
  return 0;
}

static std::string replaced(std::string bytes, const std::string &from, const std::string &to) {
  EXPECT_EQ(from.size(), to.size());
  for (size_t at = bytes.find(from); at != std::string::npos; at = bytes.find(from, at + 1))
    bytes.replace(at, from.size(), to);
  return bytes;
}

static void expectError(const std::string &bytes, const std::string &text) {
  std::string error = errorOf(bytes);
  EXPECT_EQ(error, "'m.pt2': " + text);
  EXPECT_EQ(error.find('\n'), std::string::npos);
}
static void expectError(const TestArchive &archive, const std::string &text) { expectError(archive.pack(), text); }

static const std::string kWeight = "m/data/weights/weight_0", kModel = "models/model.json: ";

//===----------------------------------------------------------------------===//
// The zip archive
//===----------------------------------------------------------------------===//

TEST(HostileArchive, IsNoArchive) {
  expectError("", "expected a zip archive as torch.export.save writes, found: no entries");
  expectError(std::string(1000, 'x'), "expected a zip archive as torch.export.save writes, found: Not a zip archive");
}

TEST(HostileArchive, IsCut) {
  std::string bytes = TestArchive().pack();
  for (size_t length = 0; length < bytes.size(); length += length < bytes.size() - 200 ? 37 : 1)
    EXPECT_NE(errorOf(bytes.substr(0, length)), "") << length;
  for (size_t length = 1; length < bytes.size(); length += 101)
    EXPECT_NE(errorOf(bytes.substr(length)), "") << length;
}

TEST(HostileArchive, HasNamesTwice) {
  TestArchive archive;
  archive.entry("data/weights/weight_9");
  expectError(replaced(archive.pack(), "weight_9", "weight_0"),
              "data/weights/weight_0: expected one entry of this name, found two");
}

TEST(HostileArchive, HasNamesOutside) {
  std::string bytes = TestArchive().pack();
  auto renamed = [&](const std::string &to) { return errorOf(replaced(bytes, "m/.data/version", to)); };
  std::string place = "'m.pt2': entry 6: ";
  EXPECT_EQ(renamed("/.data/versions"), place + "expected a name relative to the archive, found '/.data/versions'");
  EXPECT_EQ(renamed("m/../../version"),
            place + "expected a name that stays within the archive, found 'm/../../version'");
  EXPECT_EQ(renamed("c:/data/version"), place + "expected a name relative to the archive, found 'c:/data/version'");
  EXPECT_EQ(renamed("m\\..\\a\\versions"),
            place + "expected a name relative to the archive, found 'm\\..\\a\\versions'");
  EXPECT_EQ(renamed("m/.da\na/version"), place + "expected a name without control characters, found 'm/.da?a/version'");
  EXPECT_EQ(renamed("m/.da\xff"
                    "a/version")
                .substr(0, place.size() + 24),
            place + "expected a name in UTF-8");
  EXPECT_EQ(renamed("n/.data/version"), place + "expected all entries in the folder 'm', found 'n/.data/version'");
  // A folder is no entry.
  EXPECT_EQ(renamed("m/.data/versio/"), "");
}

TEST(HostileArchive, LiesAboutSizes) {
  std::string bytes = TestArchive().pack();
  size_t at = directoryOf(bytes, kWeight);
  std::string lie = bytes;
  numberAt<uint32_t>(lie, at + 24) = 1000;
  expectError(lie, "data/weights/weight_0: the archive gives 1000 bytes, which 24 stored bytes are not");
  numberAt<uint32_t>(lie, at + 20) = 1000;
  EXPECT_NE(errorOf(lie), "");
  numberAt<uint32_t>(lie, at + 20) = 0xfffffff0;
  numberAt<uint32_t>(lie, at + 24) = 0xfffffff0;
  expectError(lie, "data/weights/weight_0: the archive gives 4294967280 bytes, but the file has only " +
                       std::to_string(bytes.size()));
  lie = bytes;
  numberAt<uint32_t>(lie, at + 42) = 0x7fffffff;
  EXPECT_NE(errorOf(lie), "");
  lie = bytes;
  lie[lie.find(std::string(24, '\1'))] = '\7';
  expectError(lie, "data/weights/weight_0: cannot be read: CRC error");
}

TEST(HostileArchive, LiesAboutDeflatedSizes) {
  TestArchive archive;
  archive.entry("data/weights/weight_0") = std::string(10000, '\1');
  std::string bytes = archive.pack(/*deflate=*/true), lie = bytes;
  EXPECT_EQ(errorOf(bytes), "");
  size_t at = directoryOf(bytes, kWeight);
  uint32_t packed = numberAt<uint32_t>(bytes, at + 20);
  numberAt<uint32_t>(lie, at + 24) = 0x7fffffff;
  expectError(lie, "data/weights/weight_0: the archive gives 2147483647 bytes, which " + std::to_string(packed) +
                       " deflated bytes cannot hold");
  numberAt<uint32_t>(lie, at + 24) = 10001;
  EXPECT_NE(errorOf(lie), "");
  numberAt<uint32_t>(lie, at + 24) = 9999;
  EXPECT_NE(errorOf(lie), "");
}

TEST(HostileArchive, IsABomb) {
  TestArchive archive;
  archive.entry("data/weights/weight_0") = std::string(size_t(100) << 20, '\1');
  std::string bytes = archive.pack(/*deflate=*/true);
  ASSERT_LT(bytes.size(), 200000u);
  std::string error = errorOf(bytes);
  EXPECT_EQ(error.find("'m.pt2': data/weights/weight_0: takes 104857600 bytes, of which "), 0u) << error;

  TestArchive model;
  model.model["graph_module"]["metadata"] = std::string(size_t(200) << 20, 'a');
  EXPECT_EQ(
      errorOf(model.pack(/*deflate=*/true)).find("'m.pt2': models/model.json: expected at most 134217728 bytes, found"),
      0u);
}

TEST(HostileArchive, IsEncryptedOrOfOtherMethods) {
  std::string bytes = TestArchive().pack();
  size_t at = directoryOf(bytes, kWeight);
  numberAt<uint16_t>(bytes, at + 10) = 12;
  expectError(bytes, "data/weights/weight_0: expected an entry that is stored or deflated, found method 12");
  numberAt<uint16_t>(bytes, at + 10) = 0;
  numberAt<uint16_t>(bytes, at + 8) |= 1;
  expectError(bytes, "data/weights/weight_0: expected an entry that is not encrypted");
}

//===----------------------------------------------------------------------===//
// Layout and versions
//===----------------------------------------------------------------------===//

TEST(HostileArchive, IsOfAnotherProgram) {
  expectError(packEntries({{"version", "8.0"}, {"serialized_exported_program.json", "{}"}}),
              "written by torch 2.7 or older, which pickles weights; export it again with torch 2.9 or newer");
  expectError(packEntries({{"m/data.pkl", ""}, {"m/byteorder", "little"}}),
              "expected a program of torch.export.save, found a file of torch.save or torch.jit.save");
  expectError(packEntries({{"m/a", ""}}), "archive_format: expected this entry in the archive, found none");
  expectError(
      packEntries({{"m/archive_format", "pt2"}, {"m/byteorder", "little"}, {"m/data/aotinductor/model/a.so", ""}}),
      "expected a program of torch.export.save, found compiled code of AOTInductor");
  TestArchive archive;
  archive.entry("byteorder") = "big";
  expectError(archive, "byteorder: expected little, found 'big'");
  archive.entry("archive_version") = "1";
  expectError(archive, "archive_version: expected 0, found '1'");
}

TEST(HostileArchive, IsOfAnotherVersion) {
  TestArchive archive;
  archive.model["schema_version"] = {{"major", 9}, {"minor", 1}};
  archive.model["graph_module"] = 0;
  expectError(archive, kModel +
                           "/schema_version: expected schema 8, found 9.1, which torch 2.15.0 wrote; export it with an "
                           "older torch, or use a newer gnnc");
  archive.model["schema_version"]["major"] = 7;
  expectError(archive, kModel +
                           "/schema_version: expected schema 8, found 7.1, which torch 2.15.0 wrote; export it again "
                           "with torch 2.9 or newer");
  TestArchive pickled;
  pickled.model["schema_version"]["minor"] = 8;
  pickled.model["torch_version"] = "2.8.0+cpu";
  pickled.weights = nullptr;
  expectError(
      pickled,
      "written by torch 2.8.0+cpu (schema 8.8), which pickles weights; export it again with torch 2.9 or newer");
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// The archive whose model.json is this text.
static std::string withModel(const std::string &text) {
  Entries entries = TestArchive().entries();
  entries[0].second = text;
  return packEntries(entries);
}

TEST(HostileArchive, HasOtherJSON) {
  expectError(withModel(""), kModel + "/: expected a JSON document, found a mistake at line 1, column 1");
  expectError(withModel("[]"), kModel + "/: expected an object, found array");
  expectError(withModel("{\"a\": {\"b\": 1, \"b\": 2}}"), kModel + "/a/b: expected one member of this name, found two");
  expectError(withModel("{\"a\": \"\xff\"}"),
              kModel + "/: expected a JSON document, found a mistake at line 1, column 8");
  std::string deep(100000, '[');
  std::string error = errorOf(withModel(deep));
  EXPECT_EQ(error.find("'m.pt2': models/model.json: /0/0"), 0u);
  EXPECT_NE(error.find("expected at most 256 nested values, found more"), std::string::npos);
  std::string many = "[0";
  for (int i = 0; i < 4'000'000; ++i)
    many += ",0";
  expectError(withModel(many + "]"), kModel + "/3999999: expected at most 4000000 values, found more");
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

static const std::string kConfig = "data/weights/model_weights_config.json: /config/lin.weight";

TEST(HostileArchive, HasOtherWeights) {
  auto fault = [](auto change) {
    TestArchive archive;
    change(archive.weights["config"]["lin.weight"], archive);
    return errorOf(archive).substr(strlen("'m.pt2': "));
  };
  EXPECT_EQ(fault([](json &at, auto &) { at["use_pickle"] = true; }),
            kConfig +
                ": expected raw bytes, found a pickle for 'lin.weight': objects and subclasses of Tensor cannot be "
                "imported; make it a plain tensor");
  EXPECT_EQ(fault([](json &at, auto &) { at["path_name"] = "../../secret"; }),
            "data/weights/../../secret: tensor 'lin.weight': expected this entry in the archive, found none");
  EXPECT_EQ(fault([](json &at, auto &) { at["tensor_meta"] = nullptr; }),
            kConfig + "/tensor_meta: expected an object, found null");
  EXPECT_EQ(fault([](json &at, auto &) { at["tensor_meta"]["sizes"][0] = {{"as_int", -2}}; }),
            kConfig + "/tensor_meta/sizes/0/as_int: expected an integer of at least 0, found -2");
  EXPECT_EQ(fault([](json &at, auto &) { at["tensor_meta"]["strides"][0] = {{"as_int", -3}}; }),
            kConfig + "/tensor_meta/strides/0/as_int: expected an integer of at least 0, found -3");
  EXPECT_EQ(
      fault([](json &at, auto &) { at["tensor_meta"]["sizes"][0] = {{"as_expr", {{"expr_str", "Symbol('s0')"}}}}; }),
      kConfig + "/tensor_meta/sizes: expected numbers, found 's0'");
  EXPECT_EQ(fault([](json &at, auto &) { at["tensor_meta"]["strides"].erase(0); }),
            kConfig + "/tensor_meta/strides: expected 2, one for each size, found 1");
  EXPECT_EQ(fault([](json &at, auto &) { at["tensor_meta"]["layout"] = 2; }),
            kConfig +
                "/tensor_meta/layout: expected a dense tensor, found layout sparse_csr; pass the rows and columns of a "
                "sparse tensor as an index tensor, such as edge_index");
  EXPECT_EQ(fault([](json &at, auto &) { at["tensor_meta"]["dtype"] = 99; }),
            kConfig + "/tensor_meta/dtype: expected the number of an element type of torch, found 99");
  EXPECT_EQ(fault([](json &at, auto &) { at["tensor_meta"]["sizes"][0] = {{"as_int", 3}}; }),
            "data/weights/weight_0: tensor 'lin.weight': sizes, strides and offset need 36 bytes, found 24");
  EXPECT_EQ(
      fault([](json &at, auto &) { at["tensor_meta"]["sizes"] = {{{"as_int", int64_t(1) << 62}}, {{"as_int", 8}}}; }),
      "data/weights/weight_0: tensor 'lin.weight': its sizes and strides do not fit in 64 bits");
  // Without strides, a tensor of any size lies in a few bytes.
  EXPECT_EQ(fault([](json &at, auto &) {
              at["tensor_meta"]["sizes"] = {{{"as_int", int64_t(1) << 40}}, {{"as_int", 1}}};
              at["tensor_meta"]["strides"] = {{{"as_int", 0}}, {{"as_int", 0}}};
            }).substr(0, 47),
            "data/weights/weight_0: takes 4398046511080 byte");
  EXPECT_EQ(fault([](json &, TestArchive &archive) {
              archive.constants["config"]["tied"] = archive.weights["config"]["tied"];
              archive.entry("data/constants/weight_0") = std::string(24, 'x');
            }),
            "data/constants/model_constants_config.json: /config/tied: expected a new name, found one that is a weight "
            "already");
  // What the graph takes it for.
  EXPECT_EQ(
      fault([](json &at, auto &) { at["tensor_meta"]["dtype"] = 4; }),
      kModel + "/graph_module/signature/input_specs/0/parameter: expected 'lin.weight' to be float32 [2, 3], as in the "
               "graph, found int32 [2, 3]");
}

TEST(HostileArchive, RepeatsOneStorage) {
  TestArchive archive;
  archive.entry("data/weights/weight_0") = std::string(1 << 20, '\1');
  json whole = archive.weights["config"]["lin.weight"];
  whole["tensor_meta"]["sizes"] = {{{"as_int", 1 << 18}}};
  whole["tensor_meta"]["strides"] = {{{"as_int", 1}}};
  for (int i = 0; i < 1000; ++i)
    archive.weights["config"]["w" + std::to_string(i)] = whole;
  std::string error = errorOf(archive);
  EXPECT_EQ(error.find("'m.pt2': data/weights/weight_0: takes 1048576 bytes, of which "), 0u) << error;
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

static std::string graphFault(void (*change)(TestArchive &)) {
  TestArchive archive;
  change(archive);
  std::string error = errorOf(archive), prefix = "'m.pt2': " + kModel + "/graph_module/";
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_EQ(error.find(prefix), 0u) << error;
  return error.substr(std::min(prefix.size(), error.size()));
}

TEST(HostileArchive, HasOtherNames) {
  EXPECT_EQ(graphFault([](TestArchive &a) { a.node(2)["inputs"][0]["arg"]["as_tensor"]["name"] = "scatter_add"; }),
            "graph/nodes/2/inputs/0/arg/as_tensor/name: expected the name of a tensor that is defined before, found "
            "'scatter_add' (node 'linear')");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.node(2)["inputs"][0]["arg"]["as_tensor"]["name"] = "sym_size"; }),
            "graph/nodes/2/inputs/0/arg/as_tensor/name: expected the name of a tensor that is defined before, found "
            "'sym_size', which is an integer (node 'linear')");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.node(4)["outputs"][0]["as_tensor"]["name"] = "linear"; }),
            "graph/nodes/4/outputs/0/as_tensor: expected a new name, found 'linear', which is defined before (node "
            "'index_1')");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.graph()["tensor_values"].erase("linear"); }),
            "graph/nodes/2/outputs/0/as_tensor: expected 'linear' in tensor_values, found none (node 'linear')");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.graph()["sym_int_values"] = json::object(); }),
            "graph/nodes/0/outputs/0/as_sym_int/as_name: expected 'sym_size' in sym_int_values, found none (node "
            "'sym_size')");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.graph()["outputs"][0]["as_tensor"]["name"] = "nothing\nat all"; }),
            "graph/outputs/0/as_tensor/name: expected a name of 1 to 1024 bytes without control characters, found "
            "'nothing?at all'");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.node(2)["name"] = ""; }),
            "graph/nodes/2/name: expected a name of 1 to 1024 bytes without control characters, found ''");
  // A subgraph sees nothing of the graph around it.
  EXPECT_EQ(
      graphFault([](TestArchive &a) {
        json &inner = a.node(3)["inputs"][1]["arg"]["as_graph"]["graph"];
        inner["nodes"][0]["inputs"][0]["arg"]["as_tensor"]["name"] = "x";
      }),
      "graph/nodes/3/inputs/1/arg/as_graph/graph/nodes/0/inputs/0/arg/as_tensor/name: expected the name of a tensor "
      "that is defined before, found 'x' (node 'relu')");
}

TEST(HostileArchive, HasOtherSizes) {
  EXPECT_EQ(graphFault([](TestArchive &a) { a.graph()["tensor_values"]["x"]["sizes"][1] = {{"as_int", -1}}; }),
            "graph/tensor_values/x/sizes/1/as_int: expected an integer of at least 0, found -1");
  EXPECT_EQ(graphFault([](TestArchive &a) {
              a.graph()["tensor_values"]["x"]["sizes"][1] = {{"as_int", 1e300}};
            }).substr(0, 76),
            "graph/tensor_values/x/sizes/1/as_int: expected an integer of at least 0, fou");
  EXPECT_EQ(graphFault([](TestArchive &a) {
              a.graph()["tensor_values"]["x"]["sizes"][1] = {{"as_expr", {{"expr_str", "Integer(-4)"}}}};
            }),
            "graph/tensor_values/x/sizes/1/as_expr/expr_str: expected a size of at least 0, found -4");
  EXPECT_EQ(graphFault([](TestArchive &a) {
              a.graph()["tensor_values"]["x"]["sizes"][1] = {{"as_expr", {{"expr_str", "Symbol("}}}};
            }),
            "graph/tensor_values/x/sizes/1/as_expr/expr_str: expected a name in quotes at byte 7, found the end");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.graph()["tensor_values"]["x"]["sizes"][1] = {{"a", 1}, {"b", 2}}; }),
            "graph/tensor_values/x/sizes/1: expected an object with one member, found 2");
}

TEST(HostileArchive, HasOtherArguments) {
  EXPECT_EQ(graphFault([](TestArchive &a) { a.node(0)["inputs"][1]["arg"] = {{"as_int", 0.5}}; }),
            "graph/nodes/0/inputs/1/arg/as_int: expected an integer of at least -9223372036854775808, found "
            "0.500000 (node 'sym_size')");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.node(0)["inputs"][1]["arg"] = {{"as_float", "many"}}; }),
            "graph/nodes/0/inputs/1/arg/as_float: expected a number, found 'many' (node 'sym_size')");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.node(0)["inputs"] = 3; }),
            "graph/nodes/0/inputs: expected an array, found 3 (node 'sym_size')");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.node(0)["inputs"][0].erase("arg"); }),
            "graph/nodes/0/inputs/0: expected a member 'arg', found none (node 'sym_size')");
  EXPECT_EQ(
      graphFault([](TestArchive &a) { a.node(5)["inputs"][1]["arg"]["as_sym_ints"][0] = {{"as_float", 1}}; }),
      "graph/nodes/5/inputs/1/arg/as_sym_ints/0: expected as_name or as_int, found 'as_float' (node 'new_zeros')");
}

TEST(HostileArchive, HasGraphsWithinGraphs) {
  TestArchive archive;
  json wrap = archive.node(3);
  json graph = wrap["inputs"][1]["arg"]["as_graph"]["graph"];
  for (int i = 0; i < 20; ++i) {
    json outer = graph;
    json call = wrap;
    call["inputs"].erase(2);
    call["inputs"].erase(0);
    call["inputs"][0]["arg"]["as_graph"]["graph"] = graph;
    call["outputs"] = json::array();
    outer["nodes"] = json::array({call});
    outer["outputs"] = json::array();
    graph = outer;
  }
  archive.node(3)["inputs"][1]["arg"]["as_graph"]["graph"] = graph;
  std::string error = errorOf(archive);
  EXPECT_NE(error.find("expected at most 16 graphs within each other, found more (node 'wrap')"), std::string::npos)
      << error;
}

TEST(HostileArchive, HasAnotherSignature) {
  EXPECT_EQ(graphFault([](TestArchive &a) { a.signature()["input_specs"].erase(4); }),
            "signature/input_specs: expected one for each of the graph's 5, found 4");
  EXPECT_EQ(graphFault([](TestArchive &a) { a.signature()["output_specs"] = json::array(); }),
            "signature/output_specs: expected one for each of the graph's 1, found 0");
  EXPECT_EQ(
      graphFault([](TestArchive &a) { std::swap(a.signature()["input_specs"][3], a.signature()["input_specs"][4]); }),
      "signature/input_specs/3: expected the graph's input 'x', found 'index'");
  EXPECT_EQ(
      graphFault([](TestArchive &a) { a.signature()["input_specs"][0]["parameter"]["parameter_name"] = "other"; }),
      "signature/input_specs/0/parameter: expected a tensor 'other' in the archive, found none");
  EXPECT_EQ(graphFault([](TestArchive &a) {
              a.signature()["input_specs"][0] = {{"token", {{"arg", {{"name", "p_weight"}}}}}};
            }),
            "signature/input_specs/0: expected a parameter, a buffer, a tensor, a number or a string, found 'token'");
  EXPECT_EQ(graphFault([](TestArchive &a) {
              a.signature()["output_specs"][0] = {{"gradient_to_parameter", {{"arg", {{"name", "scatter_add"}}}}}};
            }),
            "signature/output_specs/0: expected an output of the model or a changed buffer or input, found "
            "'gradient_to_parameter'");
  EXPECT_EQ(graphFault([](TestArchive &a) {
              a.signature()["output_specs"][0]["user_output"]["arg"]["as_tensor"]["name"] = "linear";
            }),
            "signature/output_specs/0/user_output/arg/as_tensor/name: expected the graph's output 'scatter_add'");
}

TEST(HostileArchive, HasOtherRanges) {
  TestArchive archive;
  archive.model["range_constraints"]["s77"] = {{"min_val", 5}, {"max_val", 4}};
  expectError(archive, kModel + "/range_constraints/s77: expected a least value of at most 4, found 5");
}

TEST(HostileArchive, IsNamedByItsFile) {
  llvm::Expected<ExportedProgram> program = readExportedProgram("/nowhere/model.pt2");
  ASSERT_FALSE(program);
  EXPECT_EQ(llvm::toString(program.takeError()), "cannot read '/nowhere/model.pt2': No such file or directory");
}
