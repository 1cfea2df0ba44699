//===- JSONTest.cpp - The JSON form ---------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Frontend/JSON.h"
#include "FrontendTest.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <sstream>

using namespace gnnc::frontend;
using nlohmann::json;

static bool sameLoc(Loc a, Loc b) {
  return a.file == b.file && a.line == b.line && a.column == b.column && a.length == b.length;
}

void gnnc::frontend::expectEqual(const ModelSpec &a, const ModelSpec &b, bool locations) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.doublePrecision, b.doublePrecision);
  if (locations)
    EXPECT_EQ(a.files, b.files);
  ASSERT_EQ(a.spaces.size(), b.spaces.size());
  for (size_t i = 0; i < a.spaces.size(); ++i) {
    const Space &x = a.spaces[i], &y = b.spaces[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.kind, y.kind);
    EXPECT_EQ(x.extent, y.extent);
    EXPECT_EQ(x.base, y.base);
    EXPECT_EQ(x.maps, y.maps);
    EXPECT_EQ(x.equal, y.equal);
    EXPECT_EQ(x.parts, y.parts);
    EXPECT_TRUE(!locations || sameLoc(x.loc, y.loc));
  }
  ASSERT_EQ(a.maps.size(), b.maps.size());
  for (size_t i = 0; i < a.maps.size(); ++i) {
    const Map &x = a.maps[i], &y = b.maps[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.kind, y.kind);
    EXPECT_EQ(x.from, y.from);
    EXPECT_EQ(x.to, y.to);
    EXPECT_EQ(x.partial, y.partial);
    EXPECT_EQ(x.part, y.part);
    EXPECT_EQ(x.parts, y.parts);
    EXPECT_TRUE(!locations || sameLoc(x.loc, y.loc));
  }
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t i = 0; i < a.values.size(); ++i) {
    const Value &x = a.values[i], &y = b.values[i];
    EXPECT_EQ(x.op, y.op) << i;
    EXPECT_EQ(x.name, y.name) << i;
    EXPECT_EQ(x.operands, y.operands) << i;
    EXPECT_EQ(x.map, y.map) << i;
    EXPECT_EQ(x.number, y.number) << i;
    EXPECT_EQ(x.axesUsed, y.axesUsed) << i;
    EXPECT_EQ(x.begin, y.begin) << i;
    EXPECT_EQ(x.end, y.end) << i;
    EXPECT_EQ(x.site, y.site) << i;
    EXPECT_EQ(x.optional, y.optional) << i;
    EXPECT_EQ(x.residency, y.residency) << i;
    EXPECT_EQ(x.axes, y.axes) << i;
    EXPECT_TRUE(!locations || sameLoc(x.loc, y.loc)) << i;
  }
  ASSERT_EQ(a.sparseInputs.size(), b.sparseInputs.size());
  for (size_t i = 0; i < a.sparseInputs.size(); ++i) {
    const SparseInput &x = a.sparseInputs[i], &y = b.sparseInputs[i];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(std::tuple(x.entries, x.row, x.column, x.value), std::tuple(y.entries, y.row, y.column, y.value));
  }
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    EXPECT_EQ(a.outputs[i].name, b.outputs[i].name);
    EXPECT_EQ(a.outputs[i].value, b.outputs[i].value);
  }
  ASSERT_EQ(a.programs.size(), b.programs.size());
  for (size_t i = 0; i < a.programs.size(); ++i) {
    const Program &x = a.programs[i], &y = b.programs[i];
    EXPECT_EQ(x.name, y.name);
    ASSERT_EQ(x.outputs.size(), y.outputs.size());
    for (size_t k = 0; k < x.outputs.size(); ++k)
      EXPECT_EQ(std::tuple(x.outputs[k].name, x.outputs[k].value), std::tuple(y.outputs[k].name, y.outputs[k].value));
    ASSERT_EQ(x.updates.size(), y.updates.size());
    for (size_t k = 0; k < x.updates.size(); ++k)
      EXPECT_EQ(std::pair(x.updates[k].target, x.updates[k].value), std::pair(y.updates[k].target, y.updates[k].value));
  }
}

static void expectRoundTrip(const ModelSpec &model) {
  for (bool locations : {true, false}) {
    std::string text = writeJSON(model, locations);
    llvm::Expected<ModelSpec> back = readJSON(text);
    ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError()) << "\n" << text;
    expectEqual(model, *back, locations);
    EXPECT_EQ(writeJSON(*back, locations), text);
  }
}

/// Every operation, every kind of space and map.
static const char *everything = R"(
relation follows: node -> node
space label static
map labels: graph -> label
map known: graph -> label partial
layer Descend(w: any[n], g: any[n], lr: float) -> any[n] { w - lr * g }
layer L(x: node[in], w: edge[] = 1) on with_self_loops { sum(x.src * move(w, old, fill: 1)) * 1e-7 }
model Everything(label: int = 5, node_type: int = 2, edge_type: int = 3) {
  input x: node[in = 4] sparse, h: node[heads = 2, out = 3], w: edge[] = 0.5, s[2, 3]
  param W[in, out = 3], K: edge_type[heads, out], q: label[] = 0.5, scale
  state m[out]
  space P = distinct(dst, etype)
  space R = filter(edge, src == dst)
  space U = union(edge, R)
  map u: U -> node = src | none
  let a = dropout(leaky_relu(dropout(x, 0.3) @ W + m, 0.2), 0.25)
  let b = L(a, w) + L(a) on follows
  let c = where(b > 0.1, b, -b) ^ 3
  let d = split(merge(concat(h, h, axis: both), (heads, both), as: n), n, a: 3, b: 4)
  let e = permute(rename(h, out: o), (o, heads))[o: 1..3]
  let f = softmax(h.src @ K.edge) * mean(w, along: P).edge
  let g = sum(d, over: (a, b)) * sum(e, over: (o, heads))
  output y = c + sum(sum(f, over: heads)) + detach(m)
  output z = max(g + degree(u), along: all)
  output l = logsumexp(w, along: src)
  output j = sum(join(w, 2, on: U), along: all)
  output t = s + q.graph
  output p = sum(K.P, along: P.dst)
  output h1 = onehot(known) * scale
  loss = mean(square(sum(a, over: out)), along: all) + sum(q, along: all) * scale
  metric size = loss
  update m = m * 0.5
  train Descend(lr: 0.1, clip: 2) for W, q
  train Descend(lr: 0.2)
}
)";

TEST(JSON, RoundTrip) {
  ModelSpec model = load(everything);
  std::set<OpCode> ops;
  for (const Value &value : model.values)
    ops.insert(value.op);
  EXPECT_EQ(ops.size(), size_t(OpCode::Detach) + 1) << "not all operations are in the model";
  std::set<Map::Kind> maps;
  for (const Map &map : model.maps)
    maps.insert(map.kind);
  EXPECT_EQ(maps.size(), size_t(Map::Kind::Compose) + 1) << "not all kinds of maps are in the model";
  std::set<Space::Kind> spaces;
  for (const Space &space : model.spaces)
    spaces.insert(space.kind);
  EXPECT_EQ(spaces.size(), size_t(Space::Kind::Distinct) + 1);
  expectRoundTrip(model);
}

TEST(JSON, RoundTripOfTheStandardLayers) {
  for (const char *call : {"GCN(x, out: 4)", "GAT(x, heads: 2, out: 4)"})
    for (const char *kind : {"", " sparse"})
      expectRoundTrip(load("import std\nmodel M {\n  input x: node[in = 8]" + std::string(kind) +
                           "\n  output y = " + call + "\n}"));
}

TEST(JSON, LoadedByExtensionOrFirstCharacter) {
  ModelSpec model = load("model M { input x: node[k = 2]; output y = relu(x) }");
  std::vector<Diagnostic> diagnostics;
  CompileInputs inputs;
  std::optional<ModelSpec> back = loadModelFromText("m.json", writeJSON(model), inputs, diagnostics);
  ASSERT_TRUE(back);
  expectEqual(model, *back);
  EXPECT_TRUE(loadModelFromText("m", "\n " + writeJSON(model), inputs, diagnostics));
  EXPECT_FALSE(loadModelFromText("m.json", "[]", inputs, diagnostics));
  EXPECT_EQ(render(diagnostics), "m.json: error: /: expected an object, found array\n");
}

/// A model with a list of operations on an input x of node[in = 4] and a parameter W of [in = 4, out = 3].
static std::string withOps(const std::string &ops, const std::string &more = "") {
  return R"({"version": 1, "name": "M", "spaces": [{"name": "node", "kind": "root"}, {"name": "edge", "kind": "root"}],
  "maps": [{"name": "src", "kind": "root", "from": "edge", "to": "node"}],
  "inputs": [{"name": "x", "on": "node", "axes": [{"name": "in", "size": 4}]},
  {"name": "u", "on": "node", "axes": [4, 7]}],
  "params": [{"name": "W", "axes": [{"name": "in", "size": 4}, {"name": "out", "size": 3}]},
  {"name": "v", "axes": [7]}],
  "ops": [)" +
         ops + R"(], "outputs": [{"name": "y", "value": "%1"}])" + more + "}";
}

static std::string errorOfJSON(const std::string &text) {
  llvm::Expected<ModelSpec> model = readJSON(text);
  return model ? "no error" : llvm::toString(model.takeError());
}

TEST(JSON, WrittenByHand) {
  llvm::Expected<ModelSpec> model =
      readJSON(withOps(R"({"name": "%1", "op": "contract", "args": ["x", "W"], "axes": ["in"]})"));
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  EXPECT_EQ(outputType(*model), "node[out = 3]");
  EXPECT_EQ(model->spaces.size(), 1u);
}

TEST(JSON, AnonymousAxes) {
  // They align from the end, as NumPy's do.
  llvm::Expected<ModelSpec> model =
      readJSON(withOps(R"({"name": "%1", "op": "binary", "function": "add", "args": ["u", "v"]})"));
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  EXPECT_EQ(outputType(*model), "node[_2 = 4, _1 = 7]");
}

TEST(JSON, Errors) {
  auto op = [](const std::string &text) { return errorOfJSON(withOps(text)); };
  EXPECT_EQ(op(R"({"name": "%1", "op": "unary", "function": "relu", "args": ["zz"]})"),
            "/ops/0/args/0: expected the name of an earlier value, found 'zz'");
  EXPECT_EQ(op(R"({"name": "%1", "op": "unary", "function": "rely", "args": ["x"]})"),
            "/ops/0: no elementwise function 'rely'");
  EXPECT_EQ(op(R"({"name": "%1", "op": "frob", "args": ["x"]})"),
            "/ops/0/op: expected the name of an operation, found 'frob'");
  EXPECT_EQ(op(R"({"name": "%1", "op": "unary", "args": ["x"]})"), "/ops/0: expected a member 'function', found none");
  EXPECT_EQ(op(R"({"name": "%1", "op": "detach", "args": ["x"], "axis": "in"})"),
            "/ops/0: unexpected member 'axis'; expected name, op, loc, args");
  EXPECT_EQ(op(R"({"name": "%1", "op": "detach", "args": []})"), "/ops/0/args: expected 1 value, found 0");
  EXPECT_EQ(op(R"({"name": "x", "op": "detach", "args": ["x"]})"), "/ops/0/name: there is already a value 'x'");
  EXPECT_EQ(op(R"({"name": "%1", "op": "contract", "args": ["x", "W"], "axes": ["out"]})"),
            "/ops/0: no axis 'out' in node[in = 4]");
  EXPECT_EQ(op(R"({"name": "%1", "op": "move", "args": ["x"], "along": "dst"})"),
            "/ops/0/along: expected the name of an earlier map, found 'dst'");
  // The winners of a maximum have no operation of the language.
  EXPECT_EQ(op(R"({"name": "%1", "op": "reduce", "function": "argmax", "args": ["x"], "along": "all"})"),
            "/ops/0: no reduction 'argmax'; expected sum, mean, max, min or logsumexp");
  EXPECT_EQ(op(R"({"name": "%1", "op": "fold", "function": "argmax", "args": ["x"], "axes": ["in"]})"),
            "/ops/0: no fold 'argmax'; expected sum, mean, max or min");
  EXPECT_EQ(op(R"({"name": "%1", "op": "reduce", "function": "sum", "args": ["x"], "along": "src"})"),
            "/ops/0: cannot reduce along 'src', which is from 'edge': the value is on 'node'");
  EXPECT_EQ(op(R"({"name": "%1", "op": "slice", "args": ["x"], "axis": "in", "begin": -1, "end": 2})"),
            "/ops/0/begin: expected an integer of at least 0, found -1");
  EXPECT_EQ(op(R"({"name": "%1", "op": "constant", "number": "one"})"),
            "/ops/0/number: expected a number, found 'one'");
  auto program = [](const std::string &name) {
    return errorOfJSON(
        withOps(R"({"name": "%1", "op": "detach", "args": ["x"]})",
                R"(, "programs": [{"name": ")" + name + R"(", "outputs": [{"name": "z", "value": "%1"}]}])"));
  };
  EXPECT_EQ(program("other"), "no error");
  EXPECT_EQ(program("node"), "/programs/0: 'node' is the name of a space or map and cannot name a program");
  EXPECT_EQ(program("gradient"), "/programs/0: 'gradient' is the name of the program that differentiation makes");
  EXPECT_EQ(op("3"), "/ops/0: expected an object, found 3");
  EXPECT_EQ(op(""), "/outputs/0/value: expected the name of an earlier value, found '%1'");
  EXPECT_EQ(errorOfJSON("{\n \"version\": 1,,\n}"),
            "/: expected a JSON document, found a mistake at line 2, column 15");
  EXPECT_EQ(errorOfJSON("{}"), "/: expected a member 'version', found none");
  EXPECT_EQ(errorOfJSON(R"({"version": 2, "name": "M", "outputs": []})"), "/version: expected 1, found 2");
  // What members another version has is not for this one to say.
  EXPECT_EQ(errorOfJSON(R"({"version": 2, "title": "M"})"), "/version: expected 1, found 2");
  EXPECT_EQ(errorOfJSON(R"({"version": "1"})"), "/version: expected an integer of at least 0, found '1'");
  EXPECT_EQ(errorOfJSON(R"({"version": 1, "title": "M"})").substr(0, 29), "/: unexpected member 'title';");
  EXPECT_EQ(errorOfJSON(R"({"version": 1, "name": "M", "outputs": []})"), "/outputs: model 'M' has no output");
  EXPECT_EQ(errorOfJSON(R"({"version": 1, "name": "M", "outputs": [], "ops": 3})"), "/ops: expected an array, found 3");
  EXPECT_EQ(errorOfJSON(R"({"version": 1, "name": "M", "outputs": [], "inputs": [{"name": "x", "axes": [1e9]}]})"),
            "/inputs/0/axes/0: expected an integer from 1 to 1099511627776, found 1000000000.000000");
  EXPECT_EQ(errorOfJSON(
                R"({"version": 1, "name": "M", "outputs": [], "inputs": [{"name": "x", "axes": [1048576, 1048577]}]})"),
            "/inputs/0: a value of 1048576 x 1048577 numbers per row is too large; the limit is 2^40");
}

TEST(JSON, ErrorsOfStructure) {
  auto error = [](const std::string &spaces, const std::string &maps) {
    return errorOfJSON(R"({"version": 1, "name": "M", "outputs": [], "spaces": [)" + spaces + R"(], "maps": [)" + maps +
                       "]}");
  };
  const std::string roots = R"({"name": "node", "kind": "root"}, {"name": "edge", "kind": "root"})";
  const std::string src = R"({"name": "src", "kind": "root", "from": "edge", "to": "node"})";
  EXPECT_EQ(error(R"({"name": "F", "kind": "filter", "base": "edge", "maps": ["src", "src"], "equal": true})", ""),
            "/spaces/0/base: expected the name of an earlier space, found 'edge'");
  EXPECT_EQ(
      error(roots + R"(, {"name": "F", "kind": "filter", "base": "edge", "maps": ["src", "dst"], "equal": true})", src),
      "/spaces/2/maps/1: expected the name of an earlier map, found 'dst'");
  EXPECT_EQ(
      error(roots + R"(, {"name": "F", "kind": "filter", "base": "node", "maps": ["src", "src"], "equal": true})", src),
      "/spaces/2: a filter of 'node' compares maps from it, but 'src' is from 'edge'");
  EXPECT_EQ(error(roots, R"({"name": "m", "kind": "compose", "maps": ["m", "m"]})"),
            "/maps/0/maps/0: expected the name of an earlier map, found 'm'");
  EXPECT_EQ(error(roots, src + R"(, {"name": "m", "kind": "compose", "maps": ["src", "src"]})"),
            "/maps/1: map 'src' leads to 'node', but map 'src' starts at 'edge'");
  EXPECT_EQ(error(roots, R"({"name": "m", "kind": "part", "of": "node", "part": 0})"),
            "/maps/0: space 'node' has no part number 0");
  EXPECT_EQ(error(R"({"name": "a", "kind": "static", "extent": 0})", ""),
            "/spaces/0/extent: expected an integer from 1 to 2147483647, found 0");
  EXPECT_EQ(error(R"({"name": "a", "kind": "heap"})", ""), "/spaces/0/kind: expected a kind of space, found 'heap'");
  EXPECT_EQ(error(R"({"name": "a", "kind": "root"}, {"name": "a", "kind": "root"})", ""),
            "/spaces/1/name: there is already a space 'a'");
  EXPECT_EQ(error(R"({"name": "all", "kind": "root"})", ""),
            "/spaces/0: 'all' has a special meaning and cannot name a space or map");
  EXPECT_EQ(error(R"({"name": "a", "kind": "root", "loc": [0, 1, 1, 1]})", ""),
            "/spaces/0/loc/0: expected an integer from 0 to -1, found 0");
}

/// A schema's own words, checked as far as they are used: type, enum, required, properties, items, oneOf, $ref.
namespace {
class Schema {
public:
  explicit Schema(json document) : document(std::move(document)) {}
  bool accepts(const json &value) const { return accepts(value, document); }

private:
  bool accepts(const json &value, const json &schema) const {
    if (schema.is_boolean())
      return schema.get<bool>();
    for (auto &[word, rule] : schema.items())
      if (!holds(value, schema, word, rule))
        return false;
    return true;
  }
  bool holds(const json &value, const json &schema, const std::string &word, const json &rule) const {
    if (word == "$ref")
      return accepts(value, document.at(json::json_pointer(rule.get<std::string>().substr(1))));
    if (word == "type") {
      if (rule == "integer")
        return value.is_number_integer();
      if (rule == "number")
        return value.is_number();
      return value.type_name() == rule.get<std::string>();
    }
    if (word == "const")
      return value == rule;
    if (word == "enum")
      return std::find(rule.begin(), rule.end(), value) != rule.end();
    if (word == "oneOf" || word == "anyOf") {
      size_t fitting = 0;
      for (const json &each : rule)
        fitting += accepts(value, each);
      return word == "oneOf" ? fitting == 1 : fitting > 0;
    }
    if (word == "required")
      return std::all_of(rule.begin(), rule.end(),
                         [&](const json &key) { return !value.is_object() || value.contains(key.get<std::string>()); });
    if (word == "properties") {
      bool closed = schema.contains("additionalProperties") && schema["additionalProperties"] == false;
      for (auto &[key, member] : value.items())
        if (value.is_object() && (rule.contains(key) ? !accepts(member, rule[key]) : closed))
          return false;
    } else if (word == "items") {
      return !value.is_array() ||
             std::all_of(value.begin(), value.end(), [&](const json &element) { return accepts(element, rule); });
    } else if (word == "minItems") {
      return !value.is_array() || value.size() >= rule.get<size_t>();
    } else if (word == "maxItems") {
      return !value.is_array() || value.size() <= rule.get<size_t>();
    } else if (word == "minimum") {
      return !value.is_number() || value.get<double>() >= rule.get<double>();
    } else if (word == "maximum") {
      return !value.is_number() || value.get<double>() <= rule.get<double>();
    } else if (word == "exclusiveMaximum") {
      return !value.is_number() || value.get<double>() < rule.get<double>();
    } else if (word == "minLength") {
      return !value.is_string() || value.get<std::string>().size() >= rule.get<size_t>();
    } else {
      static const std::set<std::string> other = {
          "$schema", "$id", "$defs", "title", "description", "additionalProperties", "default"};
      EXPECT_TRUE(other.count(word)) << "this test does not know '" << word << "'";
    }
    return true;
  }
  json document;
};
} // namespace

TEST(JSON, SchemaFits) {
  std::ifstream file(GNNC_SOURCE_DIR "/docs/model.schema.json");
  ASSERT_TRUE(file) << "docs/model.schema.json is missing";
  std::stringstream text;
  text << file.rdbuf();
  json document = json::parse(text.str(), nullptr, false);
  ASSERT_FALSE(document.is_discarded());
  Schema schema(document);
  for (bool locations : {true, false})
    EXPECT_TRUE(schema.accepts(json::parse(writeJSON(load(everything), locations), nullptr, false)));
  const std::string relu = R"({"name": "%1", "op": "unary", "function": "relu", "args": ["u"])";
  EXPECT_TRUE(schema.accepts(json::parse(withOps(relu + "}"), nullptr, false)));
  EXPECT_FALSE(schema.accepts(json::parse(withOps(relu + R"(, "axis": "in"})"), nullptr, false)));
  EXPECT_FALSE(schema.accepts(json::parse(withOps(R"({"name": "%1", "op": "frob", "args": ["u"]})"), nullptr, false)));
  EXPECT_FALSE(schema.accepts(json::parse(withOps("", R"(, "surplus": 1)"), nullptr, false)));
}
