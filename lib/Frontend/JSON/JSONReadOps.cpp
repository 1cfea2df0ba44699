//===- JSONReadOps.cpp - Operations from JSON -----------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JSON/JSONNames.h"
#include "JSON/JSONReader.h"

#include <map>

using namespace gnnc::frontend;

/// The members each operation has besides name, op, args and loc; `!` before those that may be absent.
static llvm::ArrayRef<const char *> membersOf(OpCode op) {
  static const std::map<OpCode, std::vector<const char *>> members = {
      {OpCode::Constant, {"number"}},
      {OpCode::Unary, {"function", "!number"}},
      {OpCode::Binary, {"function"}},
      {OpCode::Select, {}},
      {OpCode::Contract, {"axes"}},
      {OpCode::Reduce, {"function", "along"}},
      {OpCode::Norm, {"function", "along"}},
      {OpCode::Fold, {"function", "axes"}},
      {OpCode::Move, {"along", "!fill"}},
      {OpCode::Concat, {"axis"}},
      {OpCode::Slice, {"axis", "begin", "end"}},
      {OpCode::Rename, {"to"}},
      {OpCode::Merge, {"axes", "to"}},
      {OpCode::Split, {"axis", "into"}},
      {OpCode::Permute, {"to"}},
      {OpCode::Degree, {"along"}},
      {OpCode::Random, {"axes", "!on", "!site"}},
      {OpCode::Identity, {"on"}},
      {OpCode::Gradient, {}},
      {OpCode::Spread, {"on"}},
      {OpCode::Detach, {}},
      {OpCode::Nearest, {"along"}},
      {OpCode::Within, {"along", "radius"}},
      {OpCode::Top, {"along"}},
      {OpCode::Farthest, {"along"}},
      {OpCode::Keep, {"along"}},
  };
  return members.at(op);
}

/// How many operands an operation takes; -1 for any number from one on.
static int operandCount(OpCode op) {
  switch (op) {
  case OpCode::Constant:
  case OpCode::Degree:
  case OpCode::Identity:
    return 0;
  case OpCode::Binary:
  case OpCode::Contract:
  case OpCode::Random:
  case OpCode::Gradient:
  case OpCode::Nearest:
  case OpCode::Within:
    return 2;
  case OpCode::Select:
    return 3;
  case OpCode::Concat:
    return -1;
  default:
    return 1;
  }
}

bool JSONReader::readOp(const Cursor &at) {
  current = at.pointer;
  std::optional<std::string> word = at.isObject() ? at.member("op").string() : std::nullopt;
  if (!word)
    return false;
  std::optional<OpCode> op = valueFor(opCodes, *word);
  if (!op)
    return errors.report(at.pointer + "/op", "expected the name of an operation, found " + quoteName(*word));
  std::vector<const char *> required = {"name", "op"}, allowed = {"name", "op", "loc"};
  int count = operandCount(*op);
  if (count != 0) {
    required.push_back("args");
    allowed.push_back("args");
  }
  for (const char *member : membersOf(*op)) {
    if (*member != '!')
      required.push_back(member);
    allowed.push_back(*member == '!' ? member + 1 : member);
  }
  if (!at.isObject(allowed, required))
    return false;
  std::optional<std::string> name = at["name"].string();
  Loc loc = locOf(at);
  std::optional<std::vector<Id>> args = std::vector<Id>();
  if (count != 0)
    args = at["args"].all<Id>([&](const Cursor &each) { return valueAt(each); });
  if (!name || !args || errors.any())
    return false;
  bool mayStart = *op == OpCode::Farthest && args->size() == 2;
  if (count == -1 ? args->empty() : args->size() != size_t(count) && !mayStart)
    return errors.report(at.pointer + "/args",
                         "expected " + (count == -1 ? std::string("at least 1") : std::to_string(count)) +
                             (count == 1 ? " value" : " values") + ", found " + std::to_string(args->size()));
  return nameValue(at, *name, buildOp(at, *op, *args, loc));
}

MaybeId JSONReader::buildOp(const Cursor &at, OpCode op, llvm::ArrayRef<Id> args, Loc loc) {
  // Members that are not there are not asked for.
  auto text = [&](const char *key) { return at[key].string(); };
  switch (op) {
  case OpCode::Constant:
    if (auto number = at["number"].number())
      return builder.constant(*number, loc);
    break;
  case OpCode::Unary: {
    auto function = text("function");
    auto number = at.has("number") ? at["number"].number() : 0.0;
    if (function && number)
      return builder.unary(*function, args[0], *number, loc);
    break;
  }
  case OpCode::Binary:
    if (auto function = text("function"))
      return builder.binary(*function, args[0], args[1], loc);
    break;
  case OpCode::Select:
    return builder.select(args[0], args[1], args[2], loc);
  case OpCode::Contract:
    if (auto axes = at["axes"].strings())
      return builder.contract(args[0], args[1], *axes, loc);
    break;
  case OpCode::Reduce:
  case OpCode::Norm: {
    auto function = text("function");
    auto map = mapAt(at["along"], /*allowAll=*/op == OpCode::Reduce);
    if (function && map)
      return op == OpCode::Reduce ? builder.reduce(*function, args[0], *map, loc)
                                  : builder.norm(*function, args[0], *map, loc);
    break;
  }
  case OpCode::Fold: {
    auto function = text("function");
    auto axes = at["axes"].strings();
    if (function && axes)
      return builder.fold(*function, args[0], *axes, loc);
    break;
  }
  case OpCode::Move: {
    auto map = mapAt(at["along"]);
    auto fill = at.has("fill") ? at["fill"].number() : 0.0;
    if (map && fill)
      return builder.move(args[0], *map, *fill, loc);
    break;
  }
  case OpCode::Concat:
    if (auto axis = text("axis"))
      return builder.concat(args, *axis, loc);
    break;
  case OpCode::Slice: {
    auto axis = text("axis");
    auto begin = at["begin"].integer(0, INT64_MAX), end = at["end"].integer(0, INT64_MAX);
    if (axis && begin && end)
      return builder.slice(args[0], *axis, *begin, *end, loc);
    break;
  }
  case OpCode::Rename:
  case OpCode::Permute:
    if (auto to = at["to"].strings())
      return op == OpCode::Rename ? builder.rename(args[0], *to, loc) : builder.permute(args[0], *to, loc);
    break;
  case OpCode::Merge: {
    auto axes = at["axes"].strings();
    auto to = text("to");
    if (axes && to)
      return builder.merge(args[0], *axes, *to, loc);
    break;
  }
  case OpCode::Split: {
    auto axis = text("axis");
    auto into = axesAt(at["into"]);
    if (axis && into)
      return builder.split(args[0], *axis, *into, loc);
    break;
  }
  case OpCode::Nearest:
    if (auto map = mapAt(at["along"]))
      return builder.nearest(args[0], args[1], *map, loc);
    break;
  case OpCode::Within: {
    auto map = mapAt(at["along"]);
    auto radius = at["radius"].number();
    if (map && radius)
      return builder.within(args[0], args[1], *radius, *map, loc);
    break;
  }
  case OpCode::Top:
    if (auto map = mapAt(at["along"]))
      return builder.top(args[0], *map, loc);
    break;
  case OpCode::Farthest:
    if (auto map = mapAt(at["along"]))
      return builder.farthest(args[0], args.size() > 1 ? MaybeId(args[1]) : std::nullopt, *map, loc);
    break;
  case OpCode::Keep:
    if (auto map = mapAt(at["along"]))
      return builder.keep(args[0], *map, loc);
    break;
  case OpCode::Degree:
    if (auto map = mapAt(at["along"]))
      return builder.degree(*map, loc);
    break;
  case OpCode::Random: {
    auto residency = at.has("on") ? spaceAt(at["on"]) : kNone;
    auto axes = axesAt(at["axes"]);
    std::optional<int> site;
    if (at.has("site")) {
      auto number = at["site"].integer(0, INT32_MAX - 1);
      if (!number)
        break;
      site = int(*number);
    }
    if (residency && axes)
      return builder.random(args[0], args[1], *residency, *axes, site, loc);
    break;
  }
  case OpCode::Identity:
    if (auto space = spaceAt(at["on"]))
      return builder.identity(*space, loc);
    break;
  case OpCode::Gradient:
    return builder.gradient(args[0], args[1], loc);
  case OpCode::Spread:
    if (auto space = spaceAt(at["on"]))
      return builder.spread(args[0], *space, loc);
    break;
  case OpCode::Detach:
    return builder.detach(args[0], loc);
  case OpCode::Input:
  case OpCode::Param:
  case OpCode::State:
    break;
  }
  return std::nullopt;
}
