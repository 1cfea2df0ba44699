//===- RecoverSelections.cpp - Elements that the model chooses ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `gnnc::nearest` and `gnnc::within` give a list of pairs like any other, but for where it comes from: its two rows are
// no lists of the graph but the maps of a space that the program chooses. As index expressions they are called `chosen`
// and `owner`. `gnnc::top`, `gnnc::farthest` and the places where a computed mask is true are one list, `chosen`.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"
#include "llvm/ADT/STLExtras.h"

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

/// Where rows belong, by the list that says so.
int Recover::groupMap(const IndexLists &groups, int from, int to) {
  if (groups.components.size() != 1 || !groups.components[0]->isList)
    throw Refusal{"where points belong is expected as one list, a number for each of them"};
  return mapOf(groups.components[0], from, to);
}

void Recover::opNearest(const NormalNode &node) {
  Operation choice;
  choice.op = Op::Choice;
  choice.text = has(node, "radius") ? "radius" : "knn";
  if (has(node, "radius"))
    choice.number = number(node, "radius").value_or(0);
  std::vector<int> spaces;
  choice.begin = flag(node, "others", false);
  bool isOfItself = nameOf(node, "points") == nameOf(node, "queries");
  if (choice.begin && !isOfItself)
    throw Refusal{"other points than a point itself are chosen where points and queries are one tensor"};
  for (const char *name : {"points", "queries"}) {
    if (!choice.operands.empty() && isOfItself) { // Seen in the same way, too.
      spaces.push_back(spaces[0]);
      choice.operands.push_back(choice.operands[0]);
      break;
    }
    Tensor x = rowsOfPoints(node, name);
    spaces.push_back(x.dims[0].id);
    choice.operands.push_back(x.value);
  }
  if (has(node, "point_groups") != has(node, "query_groups"))
    throw Refusal{"where points belong is known, and where those they are chosen for belong is not, or the other way"};
  if (has(node, "point_groups")) {
    Index points = withoutCopies(index(node, "point_groups")).components.at(0),
          queries = withoutCopies(index(node, "query_groups")).components.at(0);
    int groups = groupsOf(points, queries);
    choice.map = groupMap(index(node, "point_groups"), spaces[0], groups);
    choice.otherMap = groupMap(index(node, "query_groups"), spaces[1], groups);
  }
  choice.end = integer(node, "k", 0);
  if (choice.end < 1)
    throw Refusal{"expected one neighbour or more to choose, found k = " + std::to_string(choice.end)};
  SymbolicExpr length = sizes(node).at(1);
  Index own = constant(choose(choice, length, "near"));
  define(node, IndexLists{{{IndexDim::Kind::Small, 2}, {IndexDim::Kind::Long, length}},
                          {call("chosen", {own}, length), call("owner", {own}, length)}});
}

/// The space of a choice, of whose elements there are so many. `isTable`: as many as another choice, or an input, may
/// have; what comes after it is about this one.
int Recover::choose(Operation choice, const SymbolicExpr &length, const std::string &name, bool isTable) {
  if (isTable)
    spaceNumbers.erase(length.str());
  int space = choice.space = spaceOf(length, name);
  if (program.spaces[size_t(space)].choice >= 0 || length.getFactors().empty())
    throw Refusal{"its number of elements, " + length.str() + ", is that of another list"};
  int number = program.add(choice);
  program.spaces[size_t(space)].choice = number;
  learnSymbol(length, "length(chosen(" + std::to_string(space) + "))"); // where it is a part of something
  return space;
}

/// One number for each element of a space.
int Recover::onElements(const Tensor &x, const char *what, const char *hint) {
  if (x.dims.size() != 1 || x.dims[0].kind != Dim::Kind::Space || !resides(x, x.dims[0]))
    throw Refusal{std::string("expected one ") + what + " for each element of the graph, found " + shapeText(x.dims) +
                  hint};
  return x.value;
}

/// Rows of elements that are compared by their distance.
Tensor Recover::rowsOfPoints(const NormalNode &node, const char *name) {
  Tensor x = tensor(node, name);
  if (x.dims.size() == 2 && x.dims[1].kind != Dim::Kind::Axis)
    x = withAxis(x, 1);
  if (x.dims.size() != 2)
    throw Refusal{"points are chosen among rows [points, numbers], found " + shapeText(x.dims)};
  if (x.dims[0].kind != Dim::Kind::Space || !resides(x, x.dims[0]))
    throw Refusal{std::string(name) + " of shape " + shapeText(x.dims) +
                  " are no rows of the graph's elements, such as a parameter or the same for all"};
  return x;
}

/// The elements with the best scores, or points that are far from each other.
void Recover::opMembers(const NormalNode &node) {
  Operation choice;
  choice.op = Op::Choice;
  choice.text = has(node, "scores") ? "topk" : "fps";
  Tensor deciding = has(node, "scores") ? tensor(node, "scores") : rowsOfPoints(node, "points");
  choice.operands = {has(node, "scores") ? onElements(deciding, "score") : deciding.value};
  if (has(node, "start"))
    choice.operands.push_back(onElements(tensor(node, "start"), "number"));
  choice.number = number(node, "ratio").value_or(0);
  choice.end = integer(node, "k", 0);
  if (has(node, "groups")) {
    Index list = groupsOfBest(withoutCopies(index(node, "groups")).components.at(0));
    Index all = call("cat", {list, call("full", {constant(1), constant(-1)}, 1)}, list->length + SymbolicExpr(1));
    Index count = callScalar("add", {callScalar("max", {all}), constant(1)});
    SymbolicExpr size = SymbolicExpr::of("groups of " + all->text);
    learnSymbol(size, count->text);
    choice.map = groupMap(index(node, "groups"), deciding.dims[0].id, spaceOf(size, "group"));
  }
  SymbolicExpr length = sizes(node).at(0);
  Index own = constant(choose(choice, length, choice.text == "topk" ? "best" : "far"));
  define(node, IndexLists{{{IndexDim::Kind::Long, length}}, {call("chosen", {own}, length)}});
}

/// The places where a computed mask is true; none where the name is a list's.
std::optional<IndexLists> Recover::keptPlaces(const std::string &name, const SymbolicExpr &length) {
  auto mask = tensors.find(name);
  if (mask == tensors.end() || typeOf(name) != ScalarType::Bool)
    return std::nullopt;
  return keptWhere(
      onElements(mask->second, "truth value", "; for pairs of points within a radius use gnnc.ops.radius_graph"),
      length);
}

/// `order`: in which order the places are counted, where there are several.
IndexLists Recover::keptWhere(int condition, const SymbolicExpr &length, int order) {
  auto [known, isNew] = keptBy.try_emplace({condition, order}, std::pair(length, -1));
  auto &[size, space] = known->second;
  if (!isNew)
    equalSizes.unite(length, size);
  if (!isNew)
    learnSymbol(length, "length(chosen(" + std::to_string(space) + "))");
  if (isNew) {
    Operation choice;
    choice.op = Op::Choice;
    choice.text = "filter";
    choice.operands = {condition};
    space = choose(choice, length, "kept");
  }
  return IndexLists{{{IndexDim::Kind::Long, size}}, {call("chosen", {constant(space)}, size)}};
}

/// Whether a list is computed of the numbers of elements that are chosen by values, or of those of all pairs.
bool Recover::isOfChosen(const Index &list) {
  llvm::StringRef text = list->text;
  return text.contains("chosen(") || text.contains("owner(") || text.contains("side(");
}

/// A list that is made of such numbers, as numbers of its elements.
int Recover::numbersOf(const Index &list) {
  if (std::optional<int64_t> number = constantOf(list))
    return program.number(double(*number));
  const std::string &function = list->function;
  if (!isOfChosen(list))
    return list->isTruth ? inputFrom(list, "mask") : inputFrom(withinFloats(list), "number");
  // The numbers of elements themselves.
  auto numbersIn = [&](int end) {
    const SymbolicExpr size = program.spaces[size_t(end)].size;
    Index numbers = call("arange", {constant(0), sizeIndex(size), constant(1)}, size);
    return program.move(inputFrom(numbers, "number"), mapOf(list, spaceOf(list->length), end));
  };
  if (function == "chosen" || function == "owner") {
    const Operation &choice = program.operations[size_t(choiceIn(list))];
    bool isOwner = function == "owner";
    return numbersIn(isOwner && isOfMembers(choice) ? program.maps[size_t(choice.map)].to
                                                    : program.operations[size_t(choice.operands[isOwner])].space);
  }
  const Index &from = function == "take" ? list->arguments[0] : list;
  if (from->function == "side")
    return numbersIn(
        program.spaces[size_t(*literalOf(from->arguments[0]))].sides[size_t(*literalOf(from->arguments[1]))]);
  if (function == "take") {
    const Index &at = list->arguments[1];
    return program.move(numbersOf(from), mapOf(at, spaceOf(at->length), spaceOf(from->length)));
  }
  static const std::map<std::string, std::string> functions = {
      {"eq", "=="},           {"ne", "!="},          {"lt", "<"},  {"le", "<="},        {"gt", ">"},
      {"ge", ">="},           {"add", "+"},          {"sub", "-"}, {"both", "minimum"}, {"either", "maximum"},
      {"minimum", "minimum"}, {"maximum", "maximum"}};
  if (function == "not")
    return program.binary("==", numbersOf(list->arguments[0]), program.number(0));
  if (auto known = functions.find(function); known != functions.end() && list->arguments.size() == 2)
    return program.binary(known->second, numbersOf(list->arguments[0]), numbersOf(list->arguments[1]));
  throw Refusal{"it computes with the numbers of elements that are chosen by values: expected comparisons, sums and "
                "differences"};
}

/// The choice that a list is of, which says by its space which one that is.
int Recover::choiceIn(const Index &list) const { return program.spaces[size_t(*literalOf(list->arguments[0]))].choice; }

/// The choice of which a list has the elements; -1: none.
int Recover::choiceOf(const Index &list) const {
  if (list->function != "chosen" || program.operations[size_t(choiceIn(list))].operands.size() != 1)
    return -1;
  return choiceIn(list);
}

/// Where the best of all groups belong are the same groups, as each has a best one.
Index Recover::groupsOfBest(const Index &list) const {
  int choice = list->function == "take" ? choiceOf(list->arguments[1]) : -1;
  if (choice < 0 || !isOfMembers(program.operations[size_t(choice)]) || program.operations[size_t(choice)].map < 0)
    return list;
  const RecoveredMap &map = program.maps[size_t(program.operations[size_t(choice)].map)];
  return map.index && map.index->text == list->arguments[0]->text ? groupsOfBest(list->arguments[0]) : list;
}

/// Whether a list has, for all that is known, the place of each element among those that are chosen: -1 for others.
static bool isPlaceOfChosen(const Index &list) {
  return list->function == "put" && list->arguments[0]->function == "full" &&
         literalOf(list->arguments[0]->arguments[1]) == -1;
}

/// A mask of whether elements are among those that are chosen, as numbers: `place >= 0`, where `place` has -1 for those
/// that are not, and what is made of such masks. `defined`: null, or to which the places are added that are none of
/// them where the mask is true.
std::optional<int> Recover::truthOfChosen(const Index &mask, std::vector<std::string> *defined) {
  const std::string &function = mask->function;
  if (function == "both" || function == "either") {
    bool isBoth = function == "both";
    std::optional<int> left = truthOfChosen(mask->arguments[0], isBoth ? defined : nullptr);
    std::optional<int> right = left ? truthOfChosen(mask->arguments[1], isBoth ? defined : nullptr) : std::nullopt;
    return right ? std::optional(program.binary(isBoth ? "*" : "maximum", *left, *right)) : std::nullopt;
  }
  bool isPlaced = (function == "ge" && literalOf(mask->arguments[1]) == 0) ||
                  ((function == "gt" || function == "ne") && literalOf(mask->arguments[1]) == -1);
  if (!isPlaced)
    return std::nullopt;
  Index place = mask->arguments[0], through;
  if (place->function == "take") {
    through = place->arguments[1];
    place = place->arguments[0];
  }
  // What is written there is no less than 0: it counts what is chosen.
  int choice = isPlaceOfChosen(place) && place->arguments[2]->function == "arange" &&
                       literalOf(place->arguments[2]->arguments[0]) == 0 &&
                       literalOf(place->arguments[2]->arguments[2]) == 1
                   ? choiceOf(place->arguments[1])
                   : -1;
  if (choice < 0 || (through && mayBeUndefined(through)))
    return std::nullopt;
  if (defined)
    defined->push_back(mask->arguments[0]->text);
  const Operation &chosen = program.operations[size_t(choice)];
  int base = program.operations[size_t(chosen.operands[0])].space;
  int inside = program.reduce("sum", program.number(1), mapOf(place->arguments[1], chosen.space, base));
  return through ? program.move(inside, mapOf(through, spaceOf(through->length), base)) : inside;
}

/// Whether a list may have -1 for elements that are not chosen, which is the last element where PyTorch indexes by it.
bool Recover::mayBeUndefined(const Index &list) const {
  if (!llvm::StringRef(list->text).contains("chosen("))
    return false;
  if (isPlaceOfChosen(list))
    return true;
  if (list->function == "take")
    if (auto known = definedWhere.find(list->arguments[1]->text);
        known != definedWhere.end() && known->second.count(list->arguments[0]->text))
      return list->arguments[0]->function == "take" && mayBeUndefined(list->arguments[0]->arguments[1]);
  return llvm::any_of(list->arguments, [&](const Index &each) { return mayBeUndefined(each); });
}
