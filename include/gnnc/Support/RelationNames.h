//===- RelationNames.h - Which maps are the ends of edges -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A relation's two maps are known by their names (docs/Language.md): `src` and `dst` of the space `edge`, `follows.src`
// and `follows.dst` of the relation `follows`, `pair_src` and `pair_dst` of a space `pair` of an exported program.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_SUPPORT_RELATIONNAMES_H
#define GNNC_SUPPORT_RELATIONNAMES_H

#include "llvm/ADT/StringRef.h"

#include <optional>

namespace gnnc {

enum class RelationEnd { Source, Target };

/// Which end of its relation a map is; nothing for other maps.
inline std::optional<RelationEnd> relationEndOf(llvm::StringRef map) {
  auto isEnd = [&](llvm::StringRef end) {
    llvm::StringRef relation = map;
    return relation.consume_back(end) && (relation.empty() || relation.ends_with(".") || relation.ends_with("_"));
  };
  return isEnd("src")   ? std::optional(RelationEnd::Source)
         : isEnd("dst") ? std::optional(RelationEnd::Target)
                        : std::nullopt;
}

inline bool isTargetEnd(llvm::StringRef map) { return relationEndOf(map) == RelationEnd::Target; }

/// The tensor [2, edges] of which a relation's maps are the rows: edge_index for `src` and `dst`, the relation's name
/// for others. Empty for other maps, each of which has a tensor of its own.
inline llvm::StringRef relationTensorOf(llvm::StringRef map) {
  if (map == "src" || map == "dst")
    return "edge_index";
  return map.ends_with(".src") || map.ends_with(".dst") ? map.drop_back(4) : llvm::StringRef();
}

} // namespace gnnc

#endif // GNNC_SUPPORT_RELATIONNAMES_H
