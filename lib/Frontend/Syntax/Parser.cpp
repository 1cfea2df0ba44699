//===- Parser.cpp - Declarations ------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Syntax/Parser.h"

using namespace gnnc::frontend;
using namespace gnnc::frontend::ast;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

const Token &Parser::take() {
  const Token &token = tokens[position];
  if (position + 1 < tokens.size())
    ++position;
  return token;
}

bool Parser::consume(StringRef symbol) {
  if (!peek().isSymbol(symbol))
    return false;
  take();
  return true;
}

bool Parser::consumeKeyword(StringRef word) {
  if (!peek().isKeyword(word))
    return false;
  take();
  return true;
}

bool Parser::consumeWord(StringRef word) {
  if (peek().kind != Token::Kind::Name || peek().text != word)
    return false;
  take();
  return true;
}

bool Parser::expect(StringRef symbol) {
  if (consume(symbol))
    return true;
  return fail(("'" + symbol + "'").str());
}

bool Parser::fail(StringRef expected) {
  diagnostics.error(peek().loc, "expected " + expected + ", found " + peek().describe());
  return false;
}

void Parser::skipNewlines() {
  while (peek().kind == Token::Kind::Newline)
    take();
}

/// A statement ends at the end of its line, or where its block does.
bool Parser::endStatement() {
  if (peek().kind == Token::Kind::Newline || peek().kind == Token::Kind::End || peek().isSymbol("}"))
    return true;
  return fail("the end of the statement");
}

/// Skips to where the next statement may start: past the end of this line, but not out of the block.
void Parser::recoverStatement() {
  unsigned open = 0;
  while (peek().kind != Token::Kind::End) {
    if (open == 0 && (peek().kind == Token::Kind::Newline || peek().isSymbol("}")))
      return;
    if (peek().isSymbol("{"))
      ++open;
    else if (peek().isSymbol("}"))
      --open;
    take();
  }
}

static bool startsDeclaration(const Token &token) {
  return token.kind == Token::Kind::Keyword &&
         (token.text == "import" || token.text == "space" || token.text == "map" || token.text == "relation" ||
          token.text == "layer" || token.text == "model");
}

/// Skips to what looks like the next declaration: its keyword at the start of a line and outside all braces, or the
/// keyword of one that has no place inside another.
void Parser::recoverDeclaration() {
  unsigned open = 0;
  bool lineStarts = false;
  while (peek().kind != Token::Kind::End) {
    const Token &token = peek();
    bool nested = token.isKeyword("space") || token.isKeyword("map");
    if (lineStarts && startsDeclaration(token) && (open == 0 || !nested))
      return;
    if (token.isSymbol("{"))
      ++open;
    else if (token.isSymbol("}") && open > 0)
      --open;
    lineStarts = token.kind == Token::Kind::Newline || token.isSymbol("}");
    take();
  }
}

bool Parser::parseName(Name &name, StringRef what) {
  if (peek().kind != Token::Kind::Name)
    return fail(("the name of " + what).str());
  const Token &token = take();
  name = {token.text.str(), token.loc};
  return true;
}

bool Parser::parseNames(std::vector<Name> &names, StringRef what) {
  do {
    Name name;
    if (!parseName(name, what))
      return false;
    names.push_back(name);
  } while (consume(","));
  return true;
}

bool Parser::parsePath(Path &path) {
  path.loc = peek().loc;
  if (peek().kind == Token::Kind::Name && peek().text == "none" && !peek(1).isSymbol(".")) {
    take();
    path.none = true;
    return true;
  }
  do {
    Name name;
    if (!parseName(name, "a map or space"))
      return false;
    path.names.push_back(name);
  } while (consume("."));
  return true;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

File Parser::parseFile() {
  File file;
  for (skipNewlines(); peek().kind != Token::Kind::End; skipNewlines()) {
    if (diagnostics.full())
      break;
    parseDeclaration(file);
  }
  return file;
}

void Parser::parseDeclaration(File &file) {
  bool ok = false;
  if (peek().isKeyword("import")) {
    ok = parseImport(file);
  } else if (peek().isKeyword("space")) {
    SpaceDecl decl;
    if ((ok = parseSpace(decl)))
      file.spacesAndMaps.push_back(std::move(decl));
  } else if (peek().isKeyword("map")) {
    MapDecl decl;
    if ((ok = parseMap(decl)))
      file.spacesAndMaps.push_back(std::move(decl));
  } else if (peek().isKeyword("relation")) {
    RelationDecl decl;
    if ((ok = parseRelation(decl))) {
      if (decl.root)
        file.spacesAndMaps.push_back(std::move(decl));
      else
        file.relations.push_back(std::move(decl));
    }
  } else if (peek().isKeyword("layer")) {
    // Kept even after a mistake, so that calls of it do not become mistakes too.
    LayerDecl decl;
    ok = parseLayer(decl);
    if (!decl.name.text.empty())
      file.layers.push_back(std::move(decl));
  } else if (peek().isKeyword("model")) {
    ModelDecl decl;
    ok = parseModel(decl);
    if (!decl.name.text.empty())
      file.models.push_back(std::move(decl));
  } else {
    fail("'import', 'space', 'map', 'relation', 'layer' or 'model'");
    take();
  }
  if (!ok || !endStatement())
    recoverDeclaration();
}

bool Parser::parseImport(File &file) {
  take();
  Import import;
  const Token &token = peek();
  if (token.kind != Token::Kind::String && token.kind != Token::Kind::Name)
    return fail("the name of a library or a path in quotes");
  import.name = {token.text.str(), token.loc};
  import.isPath = token.kind == Token::Kind::String;
  // Of a string without an end nobody knows what file is meant.
  if (token.isClosed)
    file.imports.push_back(std::move(import));
  take();
  return true;
}

/// What the graph's data are computed from when it is prepared: SOURCE = [-] INTEGER | NAME [ ( SOURCE, ... ) ]
/// { `[` INTEGER `]` } | `[` SOURCE, ... `]`. It is kept as text, which has one form.
bool Parser::parseSource(std::string &text) {
  Nest nest(depth);
  if (depth > maxNesting)
    return tooDeep();
  auto list = [&](StringRef end) {
    bool first = true;
    while (!peek().isSymbol(end)) {
      if (!first && !expect(","))
        return false;
      text += first ? "" : ", ";
      if (!parseSource(text))
        return false;
      first = false;
    }
    text += end;
    return expect(end);
  };
  if (consume("[")) {
    text += "[";
    return list("]");
  }
  if (consume("-"))
    text += "-";
  const Token &token = peek();
  if (token.kind == Token::Kind::Integer) {
    text += take().text;
    return true;
  }
  if ((token.kind != Token::Kind::Name && token.kind != Token::Kind::Keyword) || (!text.empty() && text.back() == '-'))
    return fail("the name of a tensor, a function of tensors or an integer");
  text += take().text;
  if (consume("(")) {
    text += "(";
    if (!list(")"))
      return false;
  }
  while (consume("[")) {
    if (peek().kind != Token::Kind::Integer)
      return fail("the number of a row");
    text += "[" + take().text.str() + "]";
    if (!expect("]"))
      return false;
  }
  return true;
}

/// knn(points, k: 16, of: queries, along: m | n, self: true), radius(points, r: 5.0, max: 32, ...),
/// topk(scores, k: 16, along: m) or fps(points, k: 16, along: m), from the parenthesis on; what is named comes in any
/// order.
bool Parser::parseSelection(SpaceDecl &decl, SpaceDecl::Kind kind) {
  using Kind = SpaceDecl::Kind;
  decl.kind = kind;
  if (!expect("(") || !(decl.points = parseExpr()))
    return false;
  const char *words = kind == Kind::Nearest  ? "'k', 'of', 'along' or 'self'"
                      : kind == Kind::Within ? "'r', 'max', 'of', 'along' or 'self'"
                      : kind == Kind::Top    ? "'k', 'ratio' or 'along'"
                                             : "'k', 'ratio', 'along' or 'start'";
  bool isOfMembers = kind == Kind::Top || kind == Kind::Farthest, isWithin = kind == Kind::Within;
  while (consume(",")) {
    Name name;
    if (!parseName(name, words) || !expect(":"))
      return false;
    ExprPtr *place = name.text == (isWithin ? "max" : "k")            ? &decl.count
                     : name.text == "r" && isWithin                   ? &decl.radius
                     : name.text == "ratio" && isOfMembers            ? &decl.ratio
                     : name.text == "start" && kind == Kind::Farthest ? &decl.start
                     : name.text == "of" && !isOfMembers              ? &decl.queries
                     : name.text == "self" && !isOfMembers            ? &decl.self
                                                                      : nullptr;
    if (!place && name.text != "along") {
      diagnostics.error(name.loc, std::string("expected ") + words + ", found '" + name.text + "'");
      return false;
    }
    if (place ? *place != nullptr : !decl.paths.empty()) {
      diagnostics.error(name.loc, "'" + name.text + "' is given twice");
      return false;
    }
    if (place) {
      if (!(*place = parseExpr()))
        return false;
      continue;
    }
    do
      if (!parsePath(decl.paths.emplace_back()))
        return false;
    while (consume("|"));
    if (decl.paths.size() > (isOfMembers ? 1 : 2)) {
      diagnostics.error(name.loc, isOfMembers
                                      ? "expected one map"
                                      : "expected one map, or one of the points and one of what they are chosen for");
      return false;
    }
  }
  auto missing = [&](const char *what) {
    diagnostics.error(decl.name.loc, std::string("expected ") + what);
    return false;
  };
  if (isWithin && !decl.radius)
    return missing("'r: ...', the radius");
  if (isOfMembers && bool(decl.count) == bool(decl.ratio))
    return missing("either 'k: ...', the number of elements, or 'ratio: ...', the part of them");
  if (!isOfMembers && !decl.count)
    return missing(isWithin ? "'max: ...', the largest number of neighbours" : "'k: ...', the number of neighbours");
  return expect(")");
}

/// filter(A, m == n) of maps, or filter(A, x > 0) of a value; which it is when both may be meant is known later.
bool Parser::parseFilter(SpaceDecl &decl) {
  decl.kind = SpaceDecl::Kind::Filter;
  if (!expect("(") || !parseName(decl.base, "a space") || !expect(","))
    return false;
  // A path is names and dots, and then comes a comparison, another path and the end.
  size_t at = 0;
  auto skipPath = [&] {
    auto isName = [&] { return peek(at).kind == Token::Kind::Name || peek(at).kind == Token::Kind::Keyword; };
    if (!isName())
      return false;
    for (++at; peek(at).isSymbol("."); ++at)
      if (++at; !isName())
        return false;
    return true;
  };
  bool isEqual = false, isOfPaths = skipPath() && (peek(at).isSymbol("==") || peek(at).isSymbol("!="));
  if (isOfPaths) {
    isEqual = peek(at++).isSymbol("==");
    isOfPaths = skipPath() && peek(at).isSymbol(")");
  }
  if (isOfPaths) {
    size_t begin = position;
    decl.paths.resize(2);
    decl.equal = isEqual;
    if (!parsePath(decl.paths[0]))
      return false;
    take();
    if (!parsePath(decl.paths[1]))
      return false;
    position = begin;
  }
  return (decl.points = parseExpr()) && expect(")");
}

/// space A [static] · space F = filter(A, m == n) · space U = union(A, B) · space P = distinct(m, n) ·
/// space P = pairs(m, n) · space N = knn(x, k: 16) · space N = radius(x, r: 5.0, max: 32) · space T = topk(s, k: 8) ·
/// space F = fps(x, ratio: 0.25)
bool Parser::parseSpace(SpaceDecl &decl) {
  take();
  if (!parseName(decl.name, "a space"))
    return false;
  if (!consume("=")) {
    decl.kind = consumeWord("static") ? SpaceDecl::Kind::Static : SpaceDecl::Kind::Root;
    return decl.kind == SpaceDecl::Kind::Static || !consumeWord("from") || parseSource(decl.source);
  }
  if (consumeWord("filter"))
    return parseFilter(decl);
  if (consumeWord("union")) {
    decl.kind = SpaceDecl::Kind::Union;
    return expect("(") && parseNames(decl.parts, "a space") && expect(")");
  }
  if (consumeWord("distinct")) {
    decl.kind = SpaceDecl::Kind::Distinct;
    if (!expect("("))
      return false;
    do
      if (!parsePath(decl.paths.emplace_back()))
        return false;
    while (consume(","));
    return expect(")");
  }
  if (consumeWord("knn"))
    return parseSelection(decl, SpaceDecl::Kind::Nearest);
  if (consumeWord("radius"))
    return parseSelection(decl, SpaceDecl::Kind::Within);
  if (consumeWord("topk"))
    return parseSelection(decl, SpaceDecl::Kind::Top);
  if (consumeWord("fps"))
    return parseSelection(decl, SpaceDecl::Kind::Farthest);
  if (consumeWord("pairs")) {
    decl.kind = SpaceDecl::Kind::Pairs;
    if (!expect("(") || !parsePath(decl.paths.emplace_back()))
      return false;
    if (consume(",") && !parsePath(decl.paths.emplace_back()))
      return false;
    return expect(")");
  }
  return fail("'filter', 'union', 'distinct', 'pairs', 'knn', 'radius', 'topk' or 'fps'");
}

/// map m, n: A -> B [partial] · map m = last(F, n) · map m: U -> B = p | q · map m: A -> C = p.q
bool Parser::parseMap(MapDecl &decl) {
  take();
  if (!parseNames(decl.names, "a map"))
    return false;
  if (consume(":")) {
    Name from, to;
    if (!parseName(from, "the space it maps from") || !expect("->") || !parseName(to, "the space it maps to"))
      return false;
    decl.from = from;
    decl.to = to;
    decl.partial = consumeWord("partial");
    if (consumeWord("from"))
      return parseSource(decl.source);
    if (decl.partial || !peek().isSymbol("="))
      return true;
  }
  if (!expect("="))
    return false;
  if (decl.names.size() != 1) {
    diagnostics.error(decl.names[1].loc, "a map with a definition is declared alone");
    return false;
  }
  if (peek().kind == Token::Kind::Name && peek().text == "last" && peek(1).isSymbol("(")) {
    take();
    take();
    decl.kind = MapDecl::Kind::Last;
    return parseName(decl.base, "a space") && expect(",") && parsePath(decl.paths.emplace_back()) && expect(")");
  }
  decl.kind = MapDecl::Kind::Paths;
  do
    if (!parsePath(decl.paths.emplace_back()))
      return false;
  while (consume("|"));
  return true;
}

bool Parser::parseRelation(RelationDecl &decl) {
  take();
  if (!parseName(decl.name, "a relation"))
    return false;
  if (consume(":")) {
    decl.root = true;
    return parseName(decl.from, "the space of its sources") && expect("->") &&
           parseName(decl.to, "the space of its targets");
  }
  if (!expect("("))
    return false;
  if (!peek().isSymbol(")") && !parseNames(decl.extras, "a further map of the relation"))
    return false;
  if (!expect(")") || !expect("{"))
    return false;
  bool found = false;
  for (skipNewlines(); !peek().isSymbol("}") && peek().kind != Token::Kind::End; skipNewlines()) {
    if (found) {
      diagnostics.error(peek().loc, "nothing may follow the statement that says what relation results");
      return false;
    }
    bool ok;
    if (peek().isKeyword("space")) {
      SpaceDecl space;
      ok = parseSpace(space);
      decl.body.push_back({std::move(space)});
    } else if (peek().isKeyword("map")) {
      MapDecl map;
      ok = parseMap(map);
      decl.body.push_back({std::move(map)});
    } else {
      ok = found = parseRelationResult(decl);
    }
    if (!ok || !endStatement())
      return false;
  }
  if (!found) {
    diagnostics.error(decl.name.loc,
                      "relation '" + decl.name.text +
                          "' does not say what it results in; expected 'SPACE(src: ..., dst: ...)' at its end");
    return false;
  }
  return expect("}");
}

/// SPACE(src: path, dst: path, extra: path)
bool Parser::parseRelationResult(RelationDecl &decl) {
  if (!parseName(decl.space, "the relation's space") || !expect("("))
    return false;
  do {
    Name name;
    Path path;
    if (!parseName(name, "a map of the relation") || !expect(":") || !parsePath(path))
      return false;
    decl.maps.emplace_back(name, path);
  } while (consume(","));
  return expect(")");
}

bool Parser::parseLayer(LayerDecl &decl) {
  take();
  Name name;
  if (!parseName(name, "a layer"))
    return false;
  decl.name = name;
  if (!parseFormals(decl.formals))
    return false;
  while (consumeKeyword("on"))
    if (!parseName(decl.on.emplace_back(), "a relation"))
      return false;
  if (consume("->") && !parseType(decl.result.emplace()))
    return false;
  return parseBlock(decl.body, Where::Layer);
}

bool Parser::parseModel(ModelDecl &decl) {
  take();
  Name name;
  if (!parseName(name, "a model"))
    return false;
  decl.name = name;
  if (peek().isSymbol("(") && !parseFormals(decl.formals))
    return false;
  decl.exported = consumeWord("exported");
  for (const Formal &formal : decl.formals)
    if (formal.kind == Formal::Kind::Value) {
      diagnostics.error(formal.name.loc, "a model's parameters are numbers; expected 'int', 'float' or 'bool', and an "
                                         "'input' statement for values");
      return false;
    }
  return parseBlock(decl.body, Where::Model);
}

bool Parser::parseFormals(std::vector<Formal> &formals) {
  if (!expect("("))
    return false;
  while (!peek().isSymbol(")")) {
    if (!parseFormal(formals.emplace_back()))
      return false;
    if (!consume(","))
      break;
  }
  return expect(")");
}

bool Parser::parseFormal(Formal &formal) {
  if (!parseName(formal.name, "a parameter") || !expect(":"))
    return false;
  if (consumeWord("int"))
    formal.kind = Formal::Kind::Int;
  else if (consumeWord("float"))
    formal.kind = Formal::Kind::Float;
  else if (consumeWord("bool"))
    formal.kind = Formal::Kind::Bool;
  else if (!parseType(formal.type))
    return false;
  if (consume("="))
    return (formal.defaultValue = parseExpr()) != nullptr;
  return true;
}

/// [RESIDENCY] `[` axes `]`
bool Parser::parseType(Type &type) {
  type.loc = peek().loc;
  if (peek().kind == Token::Kind::Name) {
    Name name;
    parseName(name, "a space");
    if (name.text != "shared")
      type.residency = name;
  } else if (!peek().isSymbol("[")) {
    return fail("a type, such as 'node[in]', 'shared' or 'int'");
  }
  return !peek().isSymbol("[") || parseAxes(type.axes);
}

bool Parser::parseAxes(std::vector<AxisType> &axes) {
  take();
  while (!peek().isSymbol("]")) {
    AxisType &axis = axes.emplace_back();
    axis.loc = peek().loc;
    if (peek().kind == Token::Kind::Integer) {
      if (!(axis.size = parseNumber()))
        return false;
    } else {
      Name name;
      if (!parseName(name, "an axis"))
        return false;
      axis.name = name;
      if (consume("=") && !(axis.size = parseExpr()))
        return false;
    }
    if (!consume(","))
      break;
  }
  if (peek().isSymbol("]"))
    return expect("]");
  return fail("',' or ']' (a computed size needs a name: 'name = size')");
}
