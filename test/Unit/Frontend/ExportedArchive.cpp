//===- ExportedArchive.cpp - Archives for tests ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExportedArchive.h"

#include <zip.h>

#include <algorithm>
#include <cstdlib>

using namespace gnnc::frontend::pytorch;
using nlohmann::json;

std::string gnnc::frontend::pytorch::packEntries(const Entries &entries, bool deflate) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t *memory = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_t *archive = zip_open_from_source(memory, ZIP_TRUNCATE, &error);
  if (!archive)
    std::abort();
  for (const auto &[name, bytes] : entries) {
    zip_source_t *source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    zip_int64_t index = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
    zip_set_file_compression(archive, zip_uint64_t(index), deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  zip_source_keep(memory);
  if (zip_close(archive) != 0)
    std::abort();
  zip_stat_t status;
  zip_source_stat(memory, &status);
  std::string result(status.size, '\0');
  zip_source_open(memory);
  zip_source_read(memory, result.data(), result.size());
  zip_source_close(memory);
  zip_source_free(memory);
  return result;
}

static const char *const kInner = R"json({
  "inputs": [{"as_tensor": {"name": "arg0"}}],
  "outputs": [{"as_tensor": {"name": "relu"}}],
  "nodes": [{"name": "relu", "target": "torch.ops.aten.relu.default", "metadata": {},
             "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "arg0"}}, "kind": 1}],
             "outputs": [{"as_tensor": {"name": "relu"}}], "is_hop_single_tensor_return": null}],
  "tensor_values": {}, "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": false,
  "custom_obj_values": {}, "sym_float_values": {}})json";

static const char *const kGraph = R"json({
  "inputs": [{"as_tensor": {"name": "p_weight"}}, {"as_tensor": {"name": "p_tied"}}, {"as_tensor": {"name": "b_scale"}},
             {"as_tensor": {"name": "x"}}, {"as_tensor": {"name": "index"}}],
  "outputs": [{"as_tensor": {"name": "scatter_add"}}],
  "nodes": [
    {"name": "sym_size", "target": "torch.ops.aten.sym_size.int", "metadata": {},
     "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
                {"name": "dim", "arg": {"as_int": 0}, "kind": 1}],
     "outputs": [{"as_sym_int": {"as_name": "sym_size"}}]},
    {"name": "ge", "target": "_operator.ge", "metadata": {},
     "inputs": [{"name": "a", "arg": {"as_sym_int": {"as_name": "sym_size"}}, "kind": 1},
                {"name": "b", "arg": {"as_int": 0}, "kind": 1}],
     "outputs": [{"as_sym_bool": {"as_name": "ge"}}]},
    {"name": "linear", "target": "torch.ops.aten.linear.default", "metadata": {},
     "inputs": [{"name": "input", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
                {"name": "weight", "arg": {"as_tensor": {"name": "p_weight"}}, "kind": 1}],
     "outputs": [{"as_tensor": {"name": "linear"}}]},
    {"name": "wrap", "target": "torch.ops.higher_order.wrap_with_set_grad_enabled", "metadata": {},
     "inputs": [{"name": "", "arg": {"as_bool": false}, "kind": 1},
                {"name": "", "arg": {"as_graph": {"name": "sub", "graph": null}}, "kind": 1},
                {"name": "", "arg": {"as_tensor": {"name": "linear"}}, "kind": 1}],
     "outputs": [{"as_tensors": [{"name": "getitem"}]}]},
    {"name": "index_1", "target": "torch.ops.aten.index.Tensor", "metadata": {},
     "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "getitem"}}, "kind": 1},
                {"name": "indices", "kind": 1,
                 "arg": {"as_optional_tensors": [{"as_tensor": {"name": "index"}}, {"as_none": true}]}}],
     "outputs": [{"as_tensor": {"name": "index_1"}}]},
    {"name": "new_zeros", "target": "torch.ops.aten.new_zeros.default", "metadata": {},
     "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1},
                {"name": "size", "arg": {"as_sym_ints": [{"as_name": "sym_size"}, {"as_int": 2}]}, "kind": 1},
                {"name": "pin_memory", "arg": {"as_bool": false}, "kind": 2}],
     "outputs": [{"as_tensor": {"name": "new_zeros"}}]},
    {"name": "scatter_add", "target": "torch.ops.aten.scatter_add.default", "metadata": {},
     "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "new_zeros"}}, "kind": 1},
                {"name": "dim", "arg": {"as_int": 0}, "kind": 1},
                {"name": "index", "arg": {"as_tensor": {"name": "index"}}, "kind": 1},
                {"name": "src", "arg": {"as_tensor": {"name": "index_1"}}, "kind": 1}],
     "outputs": [{"as_tensor": {"name": "scatter_add"}}]}],
  "tensor_values": {},
  "sym_int_values": {"sym_size": {"as_expr": {"expr_str": "Symbol('s77', positive=True, integer=True)", "hint": null}}},
  "sym_bool_values": {"ge": {"as_expr": {"expr_str": "GreaterThan(Symbol('s77'), Integer(0))", "hint": null}}},
  "is_single_tensor_return": false, "custom_obj_values": {}, "sym_float_values": {}})json";

static const char *const kProgram = R"json({
  "graph_module": {
    "graph": null,
    "signature": {
      "input_specs": [
        {"parameter": {"arg": {"name": "p_weight"}, "parameter_name": "lin.weight"}},
        {"parameter": {"arg": {"name": "p_tied"}, "parameter_name": "tied"}},
        {"buffer": {"arg": {"name": "b_scale"}, "buffer_name": "scale", "persistent": true}},
        {"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
        {"user_input": {"arg": {"as_tensor": {"name": "index"}}}}],
      "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "scatter_add"}}}}]},
    "module_call_graph": [], "metadata": {}},
  "range_constraints": {"s77": {"min_val": 2, "max_val": 1000}, "s43": {"min_val": 0, "max_val": null}},
  "schema_version": {"major": 8, "minor": 20}, "opset_version": {"aten": 10}, "verifiers": ["TRAINING"],
  "torch_version": "2.15.0", "guards_code": []})json";

/// Sizes are numbers, or names of symbols; types are the schema's numbers, 7 for float32.
static json metaOf(std::initializer_list<json> sizes, std::initializer_list<int> strides, int type = 7) {
  json meta = json::parse(R"({"sizes": [], "requires_grad": false, "device": {"type": "cpu", "index": null},
                              "strides": [], "storage_offset": {"as_int": 0}, "layout": 7})");
  meta["dtype"] = type;
  for (const json &size : sizes) {
    json &at = meta["sizes"].emplace_back(json::object());
    if (size.is_number())
      at["as_int"] = size;
    else
      at["as_expr"]["expr_str"] = "Symbol('" + size.get<std::string>() + "', positive=True, integer=True)";
  }
  for (int stride : strides)
    meta["strides"].emplace_back(json::object())["as_int"] = stride;
  return meta;
}

static json storedTensor(const char *entry, json meta) {
  json result = json::parse(R"({"is_param": true, "use_pickle": false})");
  result["path_name"] = entry;
  result["tensor_meta"] = std::move(meta);
  return result;
}

TestArchive::TestArchive() {
  json inner = json::parse(kInner);
  for (const char *name : {"arg0", "relu"})
    inner["tensor_values"][name] = metaOf({"s77", 2}, {2, 1});
  model = json::parse(kProgram);
  graph() = json::parse(kGraph);
  json &values = graph()["tensor_values"];
  values["p_weight"] = metaOf({2, 3}, {3, 1});
  values["p_tied"] = metaOf({3, 2}, {1, 3});
  values["b_scale"] = metaOf({}, {});
  values["x"] = metaOf({"s77", 3}, {3, 1});
  values["index"] = metaOf({"s43"}, {1}, 5);
  for (const char *name : {"linear", "getitem", "new_zeros", "scatter_add"})
    values[name] = metaOf({"s77", 2}, {2, 1});
  values["index_1"] = metaOf({"s43", 2}, {2, 1});
  node(3)["inputs"][1]["arg"]["as_graph"]["graph"] = std::move(inner);

  json &config = weights["config"] = json::object();
  config["lin.weight"] = storedTensor("weight_0", metaOf({2, 3}, {3, 1}));
  config["tied"] = storedTensor("weight_0", metaOf({3, 2}, {1, 3}));
  config["scale"] = storedTensor("weight_1", metaOf({}, {}));
  constants["config"] = json::object();
  others = {{"archive_format", "pt2"},
            {"archive_version", "0"},
            {"byteorder", "little"},
            {".data/version", "6\n"},
            {"data/weights/weight_0", std::string(24, '\1')},
            {"data/weights/weight_1", std::string(4, '\2')}};
}

std::string &TestArchive::entry(const std::string &name) {
  auto found = std::find_if(others.begin(), others.end(), [&](const auto &each) { return each.first == name; });
  if (found != others.end())
    return found->second;
  others.emplace_back(name, "");
  return others.back().second;
}

Entries TestArchive::entries() const {
  Entries all = {{"m/models/model.json", model.dump()}};
  if (!weights.is_null())
    all.emplace_back("m/data/weights/model_weights_config.json", weights.dump());
  if (!constants.is_null())
    all.emplace_back("m/data/constants/model_constants_config.json", constants.dump());
  for (const auto &[name, bytes] : others)
    all.emplace_back("m/" + name, bytes);
  return all;
}

std::string TestArchive::pack(bool deflate) const { return packEntries(entries(), deflate); }
