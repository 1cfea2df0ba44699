//===- ModelInfo.cpp - What a compiled model says of itself ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/ModelInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Base64.h"

#include <nlohmann/json.hpp>

#include <cstring>

using namespace gnnc;
using nlohmann::json;

namespace {

/// Reads members of one object and keeps the first complaint, so that reading is a list of members.
class Reader {
public:
  Reader(const json &object, std::string place, std::string &complaint)
      : object(object), place(std::move(place)), complaint(complaint) {
    if (!object.is_object())
      complain("", "an object", object);
  }

  void read(const char *key, std::string &value) {
    const json &member = get(key);
    if (const auto *text = member.get_ptr<const std::string *>())
      value = *text;
    else
      complain(key, "a string", member);
  }
  void read(const char *key, int64_t &value) {
    const json &member = get(key);
    if (isInteger(member))
      value = member.get<int64_t>();
    else
      complain(key, "an integer", member);
  }
  void read(const char *key, std::vector<int64_t> &values) {
    for (const json &item : list(key)) {
      if (!isInteger(item))
        return complain(key, "a list of integers", item);
      values.push_back(item.get<int64_t>());
    }
  }
  // Optional members: null or absent is none.
  void read(const char *key, std::optional<std::string> &value) {
    if (!get(key).is_null())
      read(key, value.emplace());
  }
  void read(const char *key, std::optional<int64_t> &value) {
    if (!get(key).is_null())
      read(key, value.emplace());
  }
  void readIfThere(const char *key, std::string &value) {
    if (const auto *text = get(key).get_ptr<const std::string *>())
      value = *text;
  }
  void readIfThere(const char *key, ElementType &value) {
    const auto *text = get(key).get_ptr<const std::string *>();
    auto found = llvm::StringSwitch<std::optional<ElementType>>(text ? *text : "")
                     .Case("f32", ElementType::F32)
                     .Case("f64", ElementType::F64)
                     .Case("bf16", ElementType::BF16)
                     .Case("f16", ElementType::F16)
                     .Default(std::nullopt);
    if (found)
      value = *found;
    else if (!get(key).is_null())
      complain(key, "f32, f64, bf16 or f16", get(key));
  }
  void readIfThere(const char *key, bool &value) {
    if (const auto *flag = get(key).get_ptr<const bool *>())
      value = *flag;
  }
  void readIfThere(const char *key, double &value) {
    if (get(key).is_number())
      value = get(key).get<double>();
  }
  void readIfThere(const char *key, int64_t &value) {
    if (isInteger(get(key)))
      value = get(key).get<int64_t>();
  }
  void readIfThere(const char *key, std::vector<std::string> &values) {
    if (get(key).is_array())
      for (const json &item : get(key))
        values.push_back(item.is_string() ? *item.get_ptr<const std::string *>() : "");
  }

  void readIfThere(const char *key, std::map<std::string, std::string> &texts) {
    if (get(key).is_object())
      for (const auto &[name, value] : get(key).items())
        if (const auto *text = value.get_ptr<const std::string *>())
          texts[name] = *text;
  }

  void readIfThere(const char *key, std::optional<DistributedInfo> &value) {
    const json &member = get(key);
    if (!member.is_object())
      return;
    Reader reader(member, place + "/" + key, complaint);
    value.emplace();
    if (reader.get("along").is_object())
      for (const auto &[space, map] : reader.get("along").items())
        if (const auto *name = map.get_ptr<const std::string *>())
          value->along[space] = *name;
  }

  template <typename T, typename ReadOne> void each(const char *key, std::vector<T> &items, ReadOne readOne) {
    size_t index = 0;
    for (const json &item : list(key)) {
      Reader reader(item, place + "/" + key + "/" + std::to_string(index++), complaint);
      readOne(reader, items.emplace_back());
    }
  }

  template <typename T, typename ReadOne> void eachIfThere(const char *key, std::vector<T> &items, ReadOne readOne) {
    if (!get(key).is_null())
      each(key, items, readOne);
  }

  void complain(const char *key, const char *expected) { complain(key, expected, get(key)); }

private:
  static bool isInteger(const json &value) {
    const auto *large = value.get_ptr<const json::number_unsigned_t *>();
    return value.is_number_integer() && !(large && *large > uint64_t(INT64_MAX));
  }
  const json &get(const char *key) const {
    static const json none;
    if (!object.is_object())
      return none;
    auto found = object.find(key);
    return found == object.end() ? none : *found;
  }
  const json &list(const char *key) {
    static const json empty = json::array();
    const json &member = get(key);
    if (member.is_array())
      return member;
    if (!member.is_null())
      complain(key, "a list", member);
    return empty;
  }
  void complain(llvm::StringRef key, const char *expected, const json &found) {
    if (complaint.empty())
      complaint = (place.empty() && key.empty() ? "/" : place) + (key.empty() ? "" : "/" + key.str()) + ": expected " +
                  expected + ", found " + (found.is_null() ? "nothing" : found.type_name());
  }

  const json &object;
  std::string place;
  std::string &complaint;
};

} // namespace

/// `computed`: the type of tensors that are stored as they are computed with.
static void readTensor(Reader &reader, TensorInfo &tensor, ElementType computed) {
  reader.read("name", tensor.name);
  reader.read("space", tensor.space);
  reader.read("dims", tensor.dims);
  reader.readIfThere("axes", tensor.axes);
  tensor.axes.resize(tensor.dims.size());
  reader.readIfThere("optional", tensor.optional);
  reader.readIfThere("fill", tensor.fill);
  reader.readIfThere("gradient", tensor.gradient);
  reader.readIfThere("embedded", tensor.embedded);
  reader.readIfThere("source", tensor.source);
  reader.readIfThere("numbers", tensor.numbers);
  reader.readIfThere("halo_of", tensor.haloOf);
  tensor.type = computed;
  reader.readIfThere("dtype", tensor.type);
}

/// Absent in descriptions by older compilers.
static void readFormula(Reader &reader, const char *key, SymbolicExpr &expression) {
  struct Term {
    std::optional<std::string> space;
    int64_t each = 0;
  };
  std::vector<Term> terms;
  reader.each(key, terms, [](Reader &item, Term &term) {
    item.read("space", term.space);
    item.read("each", term.each);
  });
  for (const Term &term : terms)
    expression += term.space ? SymbolicExpr::of(*term.space, term.each) : SymbolicExpr(term.each);
}

llvm::Expected<ModelInfo> ModelInfo::parse(llvm::StringRef text, llvm::StringRef what) {
  json document = json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded())
    return llvm::createStringError("'" + what + "': expected a description in JSON, found other text");

  ModelInfo model;
  std::string complaint, type;
  Reader reader(document, "", complaint);
  reader.read("name", model.name);
  reader.read("abi", model.abi);
  reader.read("dtype", type);
  if (complaint.empty() && type != "f32" && type != "f64")
    complaint = "/dtype: expected f32 or f64, found " + type;
  model.type = type == "f64" ? ElementType::F64 : ElementType::F32;
  reader.readIfThere("storage", model.storage);
  reader.readIfThere("exported", model.exported);
  reader.readIfThere("metadata", model.metadata);
  auto readTensor = [&](Reader &item, TensorInfo &tensor) { ::readTensor(item, tensor, model.type); };

  reader.readIfThere("distributed", model.distributed);
  reader.each("spaces", model.spaces, [](Reader &item, SpaceInfo &space) {
    item.read("name", space.name);
    item.read("kind", space.kind);
    item.read("extent", space.extent);
    item.readIfThere("source", space.source);
  });
  reader.each("maps", model.maps, [](Reader &item, MapInfo &map) {
    item.read("name", map.name);
    item.read("from", map.from);
    item.read("to", map.to);
    item.read("kind", map.kind);
    item.readIfThere("source", map.source);
  });
  reader.each("inputs", model.inputs, readTensor);
  reader.each("params", model.params, readTensor);
  reader.readIfThere("unused_params", model.unusedParams);
  reader.each("states", model.states, readTensor);
  reader.each("outputs", model.outputs, readTensor);
  reader.eachIfThere("integers", model.integers, [](Reader &item, IntegersInfo &integers) {
    std::string text;
    item.read("name", integers.name);
    item.read("shape", integers.shape);
    item.read("base64", text);
    std::vector<char> bytes;
    if (llvm::Error error = llvm::decodeBase64(text, bytes); error || bytes.size() % 8 != 0) {
      llvm::consumeError(std::move(error));
      return item.complain("base64", "integers of 64 bits");
    }
    integers.numbers.resize(bytes.size() / 8);
    std::memcpy(integers.numbers.data(), bytes.data(), bytes.size());
  });
  reader.each("sparse_inputs", model.sparseInputs, [](Reader &item, SparseInfo &sparse) {
    item.read("name", sparse.name);
    item.readIfThere("entries", sparse.entries);
    item.readIfThere("row", sparse.row);
    item.readIfThere("column", sparse.column);
    item.readIfThere("value", sparse.value);
  });
  reader.each("kernels", model.kernels, [](Reader &item, KernelInfo &kernel) {
    item.read("name", kernel.name);
    item.read("kind", kernel.kind);
    item.read("map", kernel.map);
    item.read("over", kernel.space);
    item.readIfThere("function", kernel.function);
    item.readIfThere("half", kernel.half);
    item.read("launches", kernel.launches);
    item.readIfThere("awaits", kernel.awaits);
    item.readIfThere("k", kernel.k);
    item.readIfThere("n", kernel.n);
    item.readIfThere("operations", kernel.operations);
    item.each("schedules", kernel.schedules, [](Reader &way, ScheduleInfo &schedule) {
      way.read("kernel", schedule.kernel);
      way.readIfThere("lanes", schedule.lanes);
      way.readIfThere("groups", schedule.groups);
      way.readIfThere("flight", schedule.flight);
      way.readIfThere("threads", schedule.threads);
      way.readIfThere("least", schedule.least);
    });
    readFormula(item, "flops", kernel.flops);
    readFormula(item, "bytes_read", kernel.read);
    readFormula(item, "bytes_written", kernel.written);
  });
  reader.each("buffers", model.buffers, [&](Reader &item, BufferInfo &buffer) {
    item.read("name", buffer.name);
    item.read("kind", buffer.kind);
    item.read("space", buffer.space);
    item.readIfThere("function", buffer.function);
    item.readIfThere("row_elements", buffer.rowElements);
    item.read("first", buffer.first);
    item.read("last", buffer.last);
    item.readIfThere("saved", buffer.saved);
    buffer.type = model.type;
    item.readIfThere("dtype", buffer.type);
  });
  reader.each("alternatives", model.alternatives, [](Reader &item, AlternativeInfo &alternative) {
    item.read("function", alternative.function);
    item.read("instead_of", alternative.insteadOf);
    readFormula(item, "cost", alternative.cost);
    readFormula(item, "instead_cost", alternative.insteadCost);
    item.read("percent", alternative.percent);
  });
  reader.eachIfThere("plans", model.plans, [](Reader &item, TriedPlan &plan) {
    item.read("segments", plan.segments);
    item.readIfThere("bytes", plan.bytes);
    item.readIfThere("moved", plan.moved);
    item.readIfThere("flops", plan.flops);
    item.readIfThere("chosen", plan.chosen);
  });
  reader.each("programs", model.programs, [&](Reader &item, ProgramInfo &program) {
    item.read("name", program.name);
    item.readIfThere("inputs", program.inputs);
    item.readIfThere("needs", program.needs);
    item.readIfThere("updates", program.updates);
    item.each("outputs", program.outputs, readTensor);
  });
  if (!complaint.empty())
    return llvm::createStringError("'" + what + "': description: " + complaint);
  return std::move(model);
}

std::string ModelInfo::chooseFunction(llvm::StringRef function,
                                      llvm::function_ref<std::optional<int64_t>(llvm::StringRef)> extent) const {
  std::string chosen = function.str();
  std::optional<double> least;
  for (const AlternativeInfo &alternative : alternatives) {
    std::optional<double> cost = alternative.cost.evaluate(extent), own = alternative.insteadCost.evaluate(extent);
    if (alternative.insteadOf != function || !cost || !own)
      continue;
    if (!least)
      least = *own * double(alternative.percent) / 100;
    if (*cost < *least) {
      least = cost;
      chosen = alternative.function;
    }
  }
  return chosen;
}

bool ModelInfo::hasHalo(llvm::StringRef space) const {
  return distributed && findSpace((space + ".halo").str()) && findSpace((space + ".send").str());
}

std::pair<llvm::StringRef, HaloRole> ModelInfo::haloRole(llvm::StringRef name) const {
  auto [base, last] = name.rsplit('.');
  HaloRole role = llvm::StringSwitch<HaloRole>(last)
                      .Case("halo", HaloRole::Halo)
                      .Case("send", HaloRole::Send)
                      .Case("sent", HaloRole::Sent)
                      .Case("all", HaloRole::All)
                      .Default(HaloRole::None);
  return hasHalo(base) ? std::pair(base, role) : std::pair(llvm::StringRef(), HaloRole::None);
}

const SpaceInfo *ModelInfo::findSpace(llvm::StringRef name) const {
  auto found = llvm::find_if(spaces, [&](const SpaceInfo &space) { return space.name == name; });
  return found == spaces.end() ? nullptr : &*found;
}

const MapInfo *ModelInfo::findMap(llvm::StringRef name) const {
  auto found = llvm::find_if(maps, [&](const MapInfo &map) { return map.name == name; });
  return found == maps.end() ? nullptr : &*found;
}

const ProgramInfo *ModelInfo::findProgram(llvm::StringRef name) const {
  auto found = llvm::find_if(programs, [&](const ProgramInfo &program) { return program.name == name; });
  return found == programs.end() ? nullptr : &*found;
}
