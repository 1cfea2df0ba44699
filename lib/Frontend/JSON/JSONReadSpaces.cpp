//===- JSONReadSpaces.cpp - Spaces and maps from JSON ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JSON/JSONNames.h"
#include "JSON/JSONReader.h"

using namespace gnnc::frontend;
using llvm::StringRef;

bool JSONReader::readStructure(const Cursor &root) {
  std::optional<size_t> spaceCount = root.has("spaces") ? root["spaces"].arraySize() : 0;
  std::optional<size_t> mapCount = root.has("maps") ? root["maps"].arraySize() : 0;
  if (!spaceCount || !mapCount)
    return false;
  size_t space = 0, map = 0;
  while (space < *spaceCount || map < *mapCount) {
    if (space < *spaceCount && complete(root["spaces"][space])) {
      if (!readSpace(root["spaces"][space++]))
        return false;
    } else if (map < *mapCount && complete(root["maps"][map])) {
      if (!readMap(root["maps"][map++]))
        return false;
    } else {
      return reportIncomplete(space < *spaceCount ? root["spaces"][space] : root["maps"][map]);
    }
  }
  return true;
}

/// Visits the references of a space or map, with the table they are looked up in; stops where `visit` returns false.
template <typename F> static bool visitReferences(const Cursor &element, F visit) {
  if (!element.value.is_object())
    return true;
  for (const char *key : {"base", "from", "to", "of"})
    if (element.has(key) && !visit(element[key], /*isSpace=*/true))
      return false;
  for (const char *key : {"parts", "maps"})
    if (element.has(key) && element[key].value.is_array())
      for (size_t i = 0; i < element[key].value.size(); ++i)
        if (!visit(element[key][i], /*isSpace=*/StringRef(key) == "parts"))
          return false;
  return true;
}

/// Whether all that a space or map refers to is known. What is no name at all is left to be reported when it is read.
bool JSONReader::complete(const Cursor &element) {
  return visitReferences(element, [&](const Cursor &at, bool isSpace) {
    if (!at.value.is_string())
      return true;
    const std::string &name = at.value.get_ref<const std::string &>();
    return isSpace ? spaces.count(name) != 0 : maps.count(name) != 0 || name == identityPart;
  });
}

bool JSONReader::reportIncomplete(const Cursor &element) {
  return visitReferences(element, [&](const Cursor &at, bool isSpace) {
    return isSpace ? spaceAt(at).has_value()
                   : !at.value.is_string() || at.value == identityPart || mapAt(at).has_value();
  });
}

std::optional<Id> JSONReader::spaceAt(const Cursor &at) {
  std::optional<std::string> name = at.string();
  if (!name)
    return std::nullopt;
  if (auto found = spaces.find(*name); found != spaces.end())
    return found->second;
  errors.report(at.pointer, "expected the name of an earlier space, found " + quoteName(*name));
  return std::nullopt;
}

std::optional<Id> JSONReader::mapAt(const Cursor &at, bool allowAll) {
  std::optional<std::string> name = at.string();
  if (!name)
    return std::nullopt;
  if (allowAll && *name == alongAll)
    return kAll;
  if (auto found = maps.find(*name); found != maps.end())
    return found->second;
  errors.report(at.pointer, "expected the name of an earlier map, found " + quoteName(*name));
  return std::nullopt;
}

std::optional<std::vector<Id>> JSONReader::spacesAt(const Cursor &at) {
  return at.all<Id>([&](const Cursor &each) { return spaceAt(each); });
}

std::optional<std::vector<Id>> JSONReader::mapsAt(const Cursor &at, bool forParts) {
  return at.all<Id>([&](const Cursor &each) -> std::optional<Id> {
    if (forParts && each.value.is_null())
      return kUndefined;
    if (forParts && each.value.is_string() && each.value == identityPart)
      return kNone;
    return mapAt(each);
  });
}

bool JSONReader::readSpace(const Cursor &at) {
  current = at.pointer;
  std::optional<std::string> word = at.isObject() ? at.member("kind").string() : std::nullopt;
  if (!word)
    return false;
  std::optional<Space::Kind> kind = valueFor(spaceKinds, *word);
  if (!kind)
    return errors.report(at.pointer + "/kind", "expected a kind of space, found " + quoteName(*word));
  std::vector<const char *> keys = {"name", "kind"};
  if (*kind == Space::Kind::Static)
    keys.push_back("extent");
  if (*kind == Space::Kind::Filter)
    keys.insert(keys.end(), {"base", "maps", "equal"});
  if (*kind == Space::Kind::Union)
    keys.push_back("parts");
  if (*kind == Space::Kind::Distinct)
    keys.insert(keys.end(), {"base", "maps"});
  if (*kind == Space::Kind::Selection)
    keys.insert(keys.end(), {"base", "of", "most"});
  if (*kind == Space::Kind::Pairs)
    keys.insert(keys.end(), {"base", "of", "maps"});
  std::vector<const char *> allowed = keys;
  allowed.push_back("loc");
  if (*kind == Space::Kind::Selection)
    allowed.insert(allowed.end(), {"maps", "others", "ratio", "open"});
  if (*kind == Space::Kind::Kept) {
    keys.push_back("base");
    allowed.push_back("base");
  }
  if (!at.isObject(allowed, keys))
    return false;
  std::optional<std::string> name = at["name"].string();
  Loc loc = locOf(at);
  if (!name || errors.any())
    return false;
  if (spaces.count(*name))
    return errors.report(at.pointer + "/name", "there is already a space " + quoteName(*name));

  MaybeId id;
  switch (*kind) {
  case Space::Kind::Root:
    id = builder.rootSpace(*name, loc);
    break;
  case Space::Kind::Static:
    if (auto extent = at["extent"].integer(1, INT32_MAX))
      id = builder.staticSpace(*name, *extent, loc);
    break;
  case Space::Kind::Filter: {
    auto base = spaceAt(at["base"]);
    auto compared = mapsAt(at["maps"]);
    auto equal = at["equal"].boolean();
    if (compared && compared->size() != 2)
      return errors.report(at.pointer + "/maps", "expected two maps to compare");
    if (base && compared && equal)
      id = builder.filterSpace(*name, *base, (*compared)[0], (*compared)[1], *equal, loc);
    break;
  }
  case Space::Kind::Union:
    if (auto parts = spacesAt(at["parts"]))
      id = builder.unionSpace(*name, *parts, loc);
    break;
  case Space::Kind::Distinct: {
    auto base = spaceAt(at["base"]);
    auto of = mapsAt(at["maps"]);
    if (base && of)
      id = builder.distinctSpace(*name, *base, *of, loc);
    break;
  }
  case Space::Kind::Selection: {
    auto base = spaceAt(at["base"]), of = spaceAt(at["of"]);
    auto belongs = at.has("maps") ? mapsAt(at["maps"], /*forParts=*/true) : std::vector<Id>();
    if (belongs && (llvm::is_contained(*belongs, kUndefined) || (belongs->size() == 2 && belongs->back() == kNone)))
      return errors.report(at.pointer + "/maps", "expected a map, or the identity for the first");
    auto most = at["most"].integer(1, INT32_MAX);
    auto others = at.has("others") ? at["others"].boolean() : false;
    auto open = at.has("open") ? at["open"].boolean() : false;
    auto ratio = at.has("ratio") ? at["ratio"].number() : 0.0;
    if (belongs && belongs->size() != 0 && belongs->size() != 2)
      return errors.report(at.pointer + "/maps", "expected two maps, from `base` and from `of`");
    if (base && of && belongs && most && others && open && ratio) {
      Space limits;
      limits.most = *most;
      limits.others = *others;
      limits.open = *open;
      limits.ratio = *ratio;
      id = builder.selectionSpace(*name, *base, *of, *belongs, limits, loc);
    }
    break;
  }
  case Space::Kind::Kept:
    if (auto base = spaceAt(at["base"]))
      id = builder.keptSpace(*name, *base, loc);
    break;
  case Space::Kind::Pairs: {
    auto base = spaceAt(at["base"]), of = spaceAt(at["of"]);
    auto belongs = mapsAt(at["maps"]);
    if (belongs && belongs->size() != 2)
      return errors.report(at.pointer + "/maps", "expected two maps, from `base` and from `of`");
    if (base && of && belongs)
      id = builder.pairsSpace(*name, *base, *of, *belongs, loc);
    break;
  }
  }
  if (!id || errors.any())
    return false;
  spaces[*name] = *id;
  return true;
}

bool JSONReader::readMap(const Cursor &at) {
  current = at.pointer;
  std::optional<std::string> word = at.isObject() ? at.member("kind").string() : std::nullopt;
  if (!word)
    return false;
  std::optional<Map::Kind> kind = valueFor(mapKinds, *word);
  if (!kind)
    return errors.report(at.pointer + "/kind", "expected a kind of map, found " + quoteName(*word));
  std::vector<const char *> keys = {"name", "kind"};
  switch (*kind) {
  case Map::Kind::Root:
  case Map::Kind::Only:
    keys.insert(keys.end(), {"from", "to"});
    break;
  case Map::Kind::Inclusion:
  case Map::Kind::Class:
  case Map::Kind::Owner:
  case Map::Kind::Chosen:
  case Map::Kind::Partner:
    keys.push_back("of");
    break;
  case Map::Kind::Part:
  case Map::Kind::Projection:
    keys.insert(keys.end(), {"of", "part"});
    break;
  case Map::Kind::Parts:
    keys.insert(keys.end(), {"of", "to", "maps"});
    break;
  case Map::Kind::Last:
  case Map::Kind::Compose:
    keys.push_back("maps");
    break;
  }
  std::vector<const char *> allowed = keys;
  allowed.push_back("loc");
  if (*kind == Map::Kind::Root)
    allowed.push_back("partial");
  if (!at.isObject(allowed, keys))
    return false;
  std::optional<std::string> name = at["name"].string();
  Loc loc = locOf(at);
  if (!name || errors.any())
    return false;
  if (maps.count(*name))
    return errors.report(at.pointer + "/name", "there is already a map " + quoteName(*name));

  MaybeId id;
  switch (*kind) {
  case Map::Kind::Root: {
    auto from = spaceAt(at["from"]), to = spaceAt(at["to"]);
    std::optional<bool> partial = at.has("partial") ? at["partial"].boolean() : false;
    if (from && to && partial)
      id = builder.rootMap(*name, *from, *to, *partial, loc);
    break;
  }
  case Map::Kind::Inclusion:
    if (auto of = spaceAt(at["of"]))
      id = builder.inclusion(*of, loc);
    break;
  case Map::Kind::Class:
    if (auto of = spaceAt(at["of"]))
      id = builder.classOf(*of, loc);
    break;
  case Map::Kind::Owner:
  case Map::Kind::Chosen:
  case Map::Kind::Partner:
    if (auto of = spaceAt(at["of"]))
      id = *kind == Map::Kind::Owner    ? builder.owner(*of, loc)
           : *kind == Map::Kind::Chosen ? builder.chosen(*of, loc)
                                        : builder.partner(*of, loc);
    break;
  case Map::Kind::Only: {
    auto from = spaceAt(at["from"]), to = spaceAt(at["to"]);
    if (from && to)
      id = builder.only(*from, *to, loc);
    break;
  }
  case Map::Kind::Part:
  case Map::Kind::Projection: {
    auto of = spaceAt(at["of"]);
    auto part = at["part"].integer(0, INT32_MAX);
    if (of && part)
      id = *kind == Map::Kind::Part ? builder.part(*of, *part, loc) : builder.projection(*of, *part, loc);
    break;
  }
  case Map::Kind::Parts: {
    auto of = spaceAt(at["of"]), to = spaceAt(at["to"]);
    auto parts = mapsAt(at["maps"], /*forParts=*/true);
    if (of && to && parts)
      id = builder.parts(*name, *of, *to, *parts, loc);
    break;
  }
  case Map::Kind::Last:
  case Map::Kind::Compose: {
    auto of = mapsAt(at["maps"]);
    size_t count = *kind == Map::Kind::Last ? 1 : 2;
    if (of && of->size() != count)
      return errors.report(at.pointer + "/maps", count == 1 ? "expected one map" : "expected two maps");
    if (of)
      id = count == 1 ? builder.last(*name, (*of)[0], loc) : builder.compose((*of)[0], (*of)[1], loc, *name);
    break;
  }
  }
  if (!id || errors.any())
    return false;
  maps[*name] = *id;
  return true;
}
