//===- ParamsMap.cpp - Reading a parameters map ---------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParamsMap.h"
#include "gnnc/Support/InputFile.h"
#include "gnnc/Support/JSONText.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

#include <nlohmann/json.hpp>

using namespace gnnc;
using nlohmann::json;

ParamsMap::ParamsMap(std::unique_ptr<Data> data) : contents(std::move(data)) {}
ParamsMap::ParamsMap(ParamsMap &&) noexcept = default;
ParamsMap &ParamsMap::operator=(ParamsMap &&) noexcept = default;
ParamsMap::~ParamsMap() = default;

/// An error text, or empty.
using Complaint = std::string;

static std::string show(const json &value) {
  return value.is_null() ? "nothing" : value.dump(-1, ' ', true, json::error_handler_t::replace);
}

static std::optional<int64_t> asInteger(const json &value) {
  const auto *large = value.get_ptr<const json::number_unsigned_t *>();
  if (!value.is_number_integer() || (large && *large > uint64_t(INT64_MAX)))
    return std::nullopt;
  return value.get<int64_t>();
}

static std::optional<std::vector<int64_t>> asIntegers(const json &value) {
  std::vector<int64_t> result;
  if (!value.is_array())
    return std::nullopt;
  for (const json &item : value) {
    std::optional<int64_t> number = asInteger(item);
    if (!number)
      return std::nullopt;
    result.push_back(*number);
  }
  return result;
}

static Complaint readStep(const json &value, std::vector<Step> &steps) {
  if (!value.is_object() || value.size() != 1)
    return "expected a step with one of reshape, transpose, slice, index; found " + show(value);
  const std::string &kind = value.begin().key();
  const json &argument = value.begin().value();
  std::optional<std::vector<int64_t>> numbers = asIntegers(argument);

  if (kind == "reshape") {
    ReshapeStep step;
    if (!argument.is_array())
      return "expected a list of sizes in reshape, found " + show(argument);
    for (const json &item : argument) {
      if (const auto *axes = item.get_ptr<const std::string *>())
        step.sizes.emplace_back(*axes);
      else if (std::optional<int64_t> size = asInteger(item); size && *size >= -1)
        step.sizes.emplace_back(*size);
      else
        return "expected a size, -1 or the name of an axis in reshape, found " + show(item);
    }
    steps.push_back(std::move(step));
    return {};
  }
  if (kind == "transpose") {
    bool swap = argument.is_boolean() && argument.get<bool>();
    if (!swap && !numbers)
      return "expected true or a list of axes in transpose, found " + show(argument);
    steps.push_back(TransposeStep{swap ? std::vector<int64_t>() : *numbers});
    return {};
  }
  if (kind == "slice") {
    if (!numbers || numbers->size() != 3)
      return "expected [axis, begin, end] in slice, found " + show(argument);
    steps.push_back(SliceStep{(*numbers)[0], (*numbers)[1], (*numbers)[2]});
    return {};
  }
  if (kind == "index") {
    if (!numbers || numbers->size() != 2)
      return "expected [axis, i] in index, found " + show(argument);
    steps.push_back(IndexStep{(*numbers)[0], (*numbers)[1]});
    return {};
  }
  return "expected a step with one of reshape, transpose, slice, index; found '" + kind + "'";
}

static Complaint readNames(const json &value, std::vector<std::string> &names) {
  const auto *name = value.get_ptr<const std::string *>();
  if (name) {
    names.push_back(*name);
    return {};
  }
  if (!value.is_array())
    return "expected the name of a tensor or a list of names, found " + show(value);
  for (const json &item : value) {
    if (!item.is_string())
      return "expected the name of a tensor, found " + show(item);
    names.push_back(*item.get_ptr<const std::string *>());
  }
  return {};
}

static Complaint readRule(const json &value, ParamRule &rule) {
  if (value.is_number()) {
    rule.fill = value.get<double>();
    return {};
  }
  if (value.is_string())
    return readNames(value, rule.from);
  if (!value.is_object())
    return "expected the name of a tensor, a number or an object, found " + show(value);
  for (const auto &[key, member] : value.items()) {
    if (key == "from") {
      if (Complaint complaint = readNames(member, rule.from); !complaint.empty())
        return complaint;
    } else if (key == "steps") {
      if (!member.is_array())
        return "expected a list of steps, found " + show(member);
      for (const json &step : member)
        if (Complaint complaint = readStep(step, rule.steps); !complaint.empty())
          return complaint;
    } else if (key == "stack") {
      if (!member.is_boolean())
        return "expected true or false in stack, found " + show(member);
      rule.stack = member.get<bool>();
    } else if (key == "concat") {
      rule.concat = asInteger(member);
      if (!rule.concat)
        return "expected an axis in concat, found " + show(member);
    } else {
      return "expected from, steps, stack or concat, found '" + key + "'";
    }
  }
  if (rule.from.empty())
    return "expected a member 'from', found none";
  if (rule.stack && rule.concat)
    return "expected stack or concat, found both";
  if (rule.from.size() > 1 && !rule.stack && !rule.concat)
    return "expected stack or concat with several tensors, found neither";
  return {};
}

llvm::Expected<ParamsMap> ParamsMap::parse(llvm::StringRef text, llvm::StringRef name) {
  llvm::StringSet<> seen;
  std::string duplicate;
  auto noteName = [&](int depth, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::key && depth == 1)
      if (const auto *key = value.get_ptr<const std::string *>(); key && !seen.insert(*key).second)
        duplicate = *key;
    return true;
  };
  json document = json::parse(text.begin(), text.end(), noteName, /*allow_exceptions=*/false);
  if (document.is_discarded())
    return llvm::createStringError("parameters map '" + name +
                                   "': expected a JSON object, found text that is not JSON at " +
                                   placeOfJSONError(text));
  if (!document.is_object())
    return llvm::createStringError("parameters map '" + name + "': expected a JSON object, found " +
                                   document.type_name());
  if (!duplicate.empty())
    return llvm::createStringError("parameters map '" + name + "': '" + duplicate + "': expected one entry, found two");
  auto data = std::make_unique<Data>();
  data->name = name.str();
  for (const auto &[param, value] : document.items()) {
    Complaint complaint = param == "ignore" ? readNames(value, data->ignored) : readRule(value, data->rules[param]);
    if (!complaint.empty())
      return llvm::createStringError("parameters map '" + name + "': '" + param + "': " + complaint);
  }
  return ParamsMap(std::move(data));
}

llvm::Expected<ParamsMap> ParamsMap::open(llvm::StringRef path) {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> bytes = readInputFile(path);
  if (!bytes)
    return bytes.takeError();
  return parse((*bytes)->getBuffer(), path);
}
