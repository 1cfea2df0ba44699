//===- JSONNames.h - Words of the JSON form ---------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kinds of spaces, maps and operations are called in JSON; reader and writer share the tables.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_JSON_JSONNAMES_H
#define GNNC_LIB_FRONTEND_JSON_JSONNAMES_H

#include "gnnc/Frontend/ModelSpec.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace gnnc::frontend {

template <typename T> struct JSONWord {
  T value;
  const char *word;
};

inline constexpr JSONWord<Space::Kind> spaceKinds[] = {
    {Space::Kind::Root, "root"},   {Space::Kind::Static, "static"},     {Space::Kind::Filter, "filter"},
    {Space::Kind::Union, "union"}, {Space::Kind::Distinct, "distinct"}, {Space::Kind::Selection, "selection"},
    {Space::Kind::Kept, "kept"},   {Space::Kind::Pairs, "pairs"},
};

inline constexpr JSONWord<Map::Kind> mapKinds[] = {
    {Map::Kind::Root, "root"},     {Map::Kind::Inclusion, "inclusion"},   {Map::Kind::Part, "part"},
    {Map::Kind::Parts, "parts"},   {Map::Kind::Projection, "projection"}, {Map::Kind::Class, "class"},
    {Map::Kind::Last, "last"},     {Map::Kind::Compose, "compose"},       {Map::Kind::Owner, "owner"},
    {Map::Kind::Chosen, "chosen"}, {Map::Kind::Partner, "partner"},       {Map::Kind::Only, "only"},
};

/// Inputs, parameters and states have lists of their own.
inline constexpr JSONWord<OpCode> opCodes[] = {
    {OpCode::Constant, "constant"}, {OpCode::Unary, "unary"},       {OpCode::Binary, "binary"},
    {OpCode::Select, "select"},     {OpCode::Contract, "contract"}, {OpCode::Reduce, "reduce"},
    {OpCode::Norm, "norm"},         {OpCode::Fold, "fold"},         {OpCode::Move, "move"},
    {OpCode::Concat, "concat"},     {OpCode::Slice, "slice"},       {OpCode::Rename, "rename"},
    {OpCode::Merge, "merge"},       {OpCode::Split, "split"},       {OpCode::Permute, "permute"},
    {OpCode::Degree, "degree"},     {OpCode::Random, "random"},     {OpCode::Identity, "identity"},
    {OpCode::Gradient, "gradient"}, {OpCode::Spread, "spread"},     {OpCode::Detach, "detach"},
    {OpCode::Nearest, "nearest"},   {OpCode::Within, "within"},     {OpCode::Top, "top"},
    {OpCode::Farthest, "farthest"}, {OpCode::Keep, "keep"},
};

/// As a part of a `parts` map: the identity. Undefined is null.
inline constexpr const char *identityPart = ".";
/// As what a reduction goes along: from any space to shared.
inline constexpr const char *alongAll = "all";

template <typename T, size_t N> const char *wordFor(const JSONWord<T> (&table)[N], T value) {
  for (const JSONWord<T> &each : table)
    if (each.value == value)
      return each.word;
  return "";
}

template <typename T, size_t N> std::optional<T> valueFor(const JSONWord<T> (&table)[N], llvm::StringRef word) {
  for (const JSONWord<T> &each : table)
    if (word == each.word)
      return each.value;
  return std::nullopt;
}

} // namespace gnnc::frontend

#endif // GNNC_LIB_FRONTEND_JSON_JSONNAMES_H
