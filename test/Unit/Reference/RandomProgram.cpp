//===- RandomProgram.cpp - Random programs on random graphs ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only operations that a rewrite may reorder without a visible change are drawn: bounded functions, and no comparison
// of computed numbers, which would turn the last bit of a sum into a whole number.
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"
#include "dialects/mpdfg/IR/MPDFG.h"
#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"

#include <random>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::mpdfg;

namespace {

constexpr const char *kSpaces = R"(
  mpdfg.space @node root
  mpdfg.space @edge root
  mpdfg.space @item root
  mpdfg.space @kind static {extent = 3 : i64}
  mpdfg.space @real filter {base = @edge, maps = [@src, @dst]}
  mpdfg.space @loop filter {base = @edge, maps = [@src, @dst], equal}
  mpdfg.space @ring union {parts = [@real, @node]}
  mpdfg.space @pair distinct {base = @edge, maps = [@dst, @etype]}
  mpdfg.map @src root from @edge to @node
  mpdfg.map @dst root from @edge to @node
  mpdfg.map @etype root from @edge to @kind
  mpdfg.map @ntype root from @node to @kind
  mpdfg.map @of root from @item to @node {partial}
  mpdfg.map @mate root from @node to @node {partial}
  mpdfg.map @real.edge inclusion from @real to @edge
  mpdfg.map @loop.edge inclusion from @loop to @edge
  mpdfg.map @real.src compose from @real to @node {parts = [@real.edge, @src]}
  mpdfg.map @real.dst compose from @real to @node {parts = [@real.edge, @dst]}
  mpdfg.map @loop.dst compose from @loop to @node {parts = [@loop.edge, @dst]}
  mpdfg.map @last_loop last from @node to @loop {parts = [@loop.dst], partial}
  mpdfg.map @last_loop.edge compose from @node to @edge {parts = [@last_loop, @loop.edge], partial}
  mpdfg.map @ring.src parts from @ring to @node {parts = [@real.src, unit]}
  mpdfg.map @ring.dst parts from @ring to @node {parts = [@real.dst, unit]}
  mpdfg.map @ring.old parts from @ring to @edge {parts = [@real.edge, @last_loop.edge], partial}
  mpdfg.map @ring.node part from @ring to @node {part = 1 : i64, partial}
  mpdfg.map @pair.dst projection from @pair to @node {part = 0 : i64}
  mpdfg.map @pair.etype projection from @pair to @kind {part = 1 : i64}
  mpdfg.map @edge.pair class from @edge to @pair
  func.func @forward() { return }
)";

using test::RandomProgram;

class Generator {
public:
  Generator(MLIRContext *context, unsigned seed, bool smooth, bool doublePrecision)
      : random(seed), smooth(smooth), builder(context),
        element(doublePrecision ? builder.getF64Type() : builder.getF32Type()) {}

  RandomProgram run();

private:
  unsigned below(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); }
  double number() { return std::uniform_real_distribution<double>(-1, 1)(random); }
  template <typename T> const T &pick(const std::vector<T> &list) { return list[below(list.size())]; }
  /// Few shapes, so that values meet.
  SmallVector<int64_t> features() {
    static const std::vector<SmallVector<int64_t>> shapes = {{}, {2}, {2}, {4}, {2, 2}, {2, 1}, {3, 2}};
    return pick(shapes);
  }
  static SmallVector<int64_t> upTo(int64_t n) { return llvm::to_vector(llvm::seq<int64_t>(0, n)); }
  FlatSymbolRefAttr symbol(StringRef name) { return FlatSymbolRefAttr::get(builder.getContext(), name); }
  RankedTensorType typeOn(FlatSymbolRefAttr space, ArrayRef<int64_t> sizes) {
    int64_t extent = space && space.getValue() == "kind" ? 3 : ShapedType::kDynamic;
    return getTensorOn(space, extent, sizes, element);
  }
  /// The operand's space with other features.
  RankedTensorType like(Value value, ArrayRef<int64_t> sizes) { return typeOn(getResidency(value.getType()), sizes); }

  /// A map that goes to or from where a value is; half of the time one along edges.
  MapOp pickMap(FlatSymbolRefAttr space, bool from) {
    std::vector<MapOp> fitting;
    for (MapOp map : maps)
      if ((from ? map.getFromAttr() : map.getToAttr()) == space)
        fitting.push_back(map);
    if (fitting.empty())
      return MapOp();
    return fitting[below(2) ? below(fitting.size()) : below(std::min<size_t>(fitting.size(), 2))];
  }
  void makeGraph();
  void makeInputs();
  Value argument(FlatSymbolRefAttr space, ArrayRef<int64_t> sizes);
  Value move(Value value);
  Value reduce(Value value);
  Value norm(Value value);
  Value binary(Value value);
  Value contract(Value value);
  Value typedContract(Value value);
  Value dot(Value value);
  Value reshape(Value value);
  Value concat(Value value);
  Value dropout(Value value);
  Value slice(Value value);
  Value normalise(Value member, MapOp map);
  Value message(Value value);
  Value step(Value value);

  std::mt19937 random;
  bool smooth;
  OpBuilder builder;
  Type element;
  Location loc = builder.getUnknownLoc();
  RandomProgram program;
  func::FuncOp function;
  std::vector<MapOp> maps;
  std::vector<Value> pool;
  int64_t sites = 0;
};

} // namespace

void Generator::makeGraph() {
  RootGraph &graph = program.graph;
  int64_t nodes = below(10) ? 1 + below(7) : 0;
  // Now and then most edges go to one of many nodes, and others have none.
  bool hasHub = nodes && below(12) == 0;
  nodes *= hasHub ? 6 : 1;
  graph.extents["node"] = nodes;
  graph.extents["edge"] = hasHub ? 300 + below(400) : nodes && below(10) ? 1 + below(14) : 0;
  graph.extents["item"] = below(6);
  auto fill = [&](StringRef map, StringRef from, int64_t to, bool partial) {
    std::vector<int64_t> targets(graph.extents[from]);
    int64_t hub = to ? int64_t(below(to)) : 0;
    for (int64_t &target : targets)
      target = to == 0 || (partial && below(3) == 0) ? -1 : hasHub && below(4) ? hub : int64_t(below(to));
    graph.maps[map] = targets;
  };
  fill("src", "edge", nodes, false);
  fill("dst", "edge", nodes, false);
  fill("etype", "edge", 3, false);
  fill("ntype", "node", 3, false);
  fill("of", "item", nodes, true);
  fill("mate", "node", nodes, true);
}

/// A new argument; inputs for it are drawn once the graph's extents are known.
Value Generator::argument(FlatSymbolRefAttr space, ArrayRef<int64_t> sizes) {
  unsigned number = function.getNumArguments();
  RankedTensorType type = typeOn(space, sizes);
  SmallVector<NamedAttribute> attributes = {
      builder.getNamedAttr(kNameAttr, builder.getStringAttr("arg" + Twine(number))),
      builder.getNamedAttr(kRoleAttr, RoleAttr::get(builder.getContext(), Role::Input))};
  LogicalResult added = function.insertArgument(number, type, builder.getDictionaryAttr(attributes), loc);
  assert(succeeded(added) && "a function takes any argument");
  (void)added;
  return function.getArgument(number);
}

Value Generator::move(Value value) {
  MapOp map = pickMap(getResidency(value.getType()), /*from=*/false);
  if (!map)
    return Value();
  return BroadcastOp::create(builder, loc, typeOn(map.getFromAttr(), getFeatureShape(value.getType())), value,
                             symbol(map.getSymName()), builder.getF64FloatAttr(below(2) ? 0 : 0.5));
}

Value Generator::reduce(Value value) {
  ArrayRef<int64_t> sizes = getFeatureShape(value.getType());
  FlatSymbolRefAttr space = getResidency(value.getType());
  // A log-sum-exp may be infinite, which has no derivative; it is bounded at once, so that no infinity spreads.
  ReduceKind kind = ReduceKind(below(smooth ? 4 : 5));
  auto bounded = [&](Value result) -> Value {
    if (kind != ReduceKind::LogSumExp)
      return result;
    return UnaryOp::create(builder, loc, result.getType(), UnaryKind::Tanh, result, llvm::APFloat(0.0));
  };
  if (space && below(5) == 0)
    return bounded(ReduceOp::create(builder, loc, typeOn({}, sizes), kind, value, kAllMap));
  MapOp map = pickMap(space, /*from=*/true);
  if (!map)
    return Value();
  return bounded(ReduceOp::create(builder, loc, typeOn(map.getToAttr(), sizes), kind, value, map.getSymName()));
}

Value Generator::norm(Value value) {
  FlatSymbolRefAttr space = getResidency(value.getType());
  if (space && below(5) == 0)
    return NormOp::create(builder, loc, value.getType(), value, kAllMap);
  MapOp map = pickMap(space, /*from=*/true);
  return map ? Value(NormOp::create(builder, loc, value.getType(), value, map.getSymName())) : Value();
}

Value Generator::binary(Value value) {
  static const std::vector<BinaryKind> kinds = {BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul, BinaryKind::Maximum,
                                                BinaryKind::Minimum};
  ArrayRef<int64_t> sizes = getFeatureShape(value.getType());
  // A value of the pool that fits, else a new weight with some axes of size 1.
  std::vector<Value> fitting;
  for (Value candidate : pool) {
    FlatSymbolRefAttr space = getResidency(candidate.getType());
    if ((!space || space == getResidency(value.getType())) && getFeatureShape(candidate.getType()) == sizes)
      fitting.push_back(candidate);
  }
  Value other = fitting.empty() ? Value() : pick(fitting);
  if (!other || other == value || below(4) == 0) {
    SmallVector<int64_t> own(sizes);
    for (int64_t &size : own)
      size = below(2) ? size : 1;
    other = argument({}, own);
  }
  bool swap = below(2);
  return BinaryOp::create(builder, loc, value.getType(), pick(kinds), swap ? other : value, swap ? value : other);
}

/// With a shared weight: a plain matrix, a matrix for each head, or one that makes heads.
Value Generator::contract(Value value) {
  SmallVector<int64_t> sizes(getFeatureShape(value.getType()));
  if (sizes.empty())
    return Value();
  SmallVector<int64_t> labels = upTo(sizes.size()), weight, weightLabels, out, outLabels;
  int64_t k = labels.back(), fresh = labels.size();
  for (int64_t axis = 0; axis < k; ++axis) {
    out.push_back(sizes[axis]);
    outLabels.push_back(axis);
    // Earlier axes may be the weight's as well.
    if (below(3) == 0) {
      weight.push_back(sizes[axis]);
      weightLabels.push_back(axis);
    }
  }
  weight.push_back(sizes[k]);
  weightLabels.push_back(k);
  for (unsigned extra = below(3); extra > 0; --extra) {
    int64_t size = 1 + below(4);
    weight.push_back(size);
    weightLabels.push_back(fresh);
    out.push_back(size);
    outLabels.push_back(fresh++);
  }
  return ContractOp::create(builder, loc, like(value, out), value, labels, argument({}, weight), weightLabels,
                            outLabels);
}

/// With the weight of each element's kind.
Value Generator::typedContract(Value value) {
  SmallVector<int64_t> sizes(getFeatureShape(value.getType()));
  FlatSymbolRefAttr kind = symbol("kind");
  if (sizes.size() != 1)
    return Value();
  for (MapOp map : maps)
    if (map.getToAttr() == kind && map.getFromAttr() == getResidency(value.getType())) {
      int64_t n = 1 + below(4);
      Value weight =
          BroadcastOp::create(builder, loc, typeOn(map.getFromAttr(), {sizes[0], n}), argument(kind, {sizes[0], n}),
                              symbol(map.getSymName()), builder.getF64FloatAttr(0));
      return ContractOp::create(builder, loc, like(value, {n}), value, ArrayRef<int64_t>{0}, weight,
                                ArrayRef<int64_t>{0, 1}, ArrayRef<int64_t>{1});
    }
  return Value();
}

/// The last axis of two values of the same shape, row by row.
Value Generator::dot(Value value) {
  SmallVector<int64_t> sizes(getFeatureShape(value.getType()));
  if (sizes.empty())
    return Value();
  SmallVector<int64_t> labels = upTo(sizes.size());
  for (Value other : pool)
    if (other.getType() == value.getType() && below(2))
      return ContractOp::create(builder, loc, like(value, ArrayRef<int64_t>(sizes).drop_back()), value, labels, other,
                                labels, ArrayRef<int64_t>(labels).drop_back());
  return Value();
}

Value Generator::reshape(Value value) {
  SmallVector<int64_t> sizes(getFeatureShape(value.getType()));
  switch (below(3)) {
  case 0:
    sizes.insert(sizes.begin() + below(sizes.size() + 1), 1);
    return sizes.size() > 4 ? Value() : Value(ReshapeOp::create(builder, loc, like(value, sizes), value));
  case 1:
    return ReshapeOp::create(builder, loc, like(value, {getFeatureElements(value.getType())}), value);
  default: {
    SmallVector<int64_t> permutation = upTo(sizes.size()), moved;
    std::shuffle(permutation.begin(), permutation.end(), random);
    for (int64_t axis : permutation)
      moved.push_back(sizes[axis]);
    return TransposeOp::create(builder, loc, like(value, moved), value, permutation);
  }
  }
}

Value Generator::concat(Value value) {
  SmallVector<int64_t> sizes(getFeatureShape(value.getType()));
  if (sizes.empty())
    return Value();
  unsigned axis = below(sizes.size());
  SmallVector<int64_t> own(sizes);
  own[axis] = 1 + below(3);
  Value other = below(2) ? value : argument({}, own);
  sizes[axis] += getFeatureShape(other.getType())[axis];
  return ConcatOp::create(builder, loc, like(value, sizes), ValueRange{value, other}, axis);
}

Value Generator::slice(Value value) {
  SmallVector<int64_t> sizes(getFeatureShape(value.getType()));
  if (sizes.empty())
    return Value();
  unsigned axis = below(sizes.size());
  int64_t begin = below(sizes[axis]);
  sizes[axis] = 1 + below(sizes[axis] - begin);
  return SliceOp::create(builder, loc, like(value, sizes), value, axis, begin);
}

/// Times a power of the degree of a member's owner: infinite for owners without members, whom no member sees.
Value Generator::normalise(Value member, MapOp map) {
  Value degree = DegreeOp::create(builder, loc, typeOn(map.getToAttr(), {}), map.getSymName());
  Value power = UnaryOp::create(builder, loc, degree.getType(), pick(std::vector{UnaryKind::Rsqrt, UnaryKind::Recip}),
                                degree, llvm::APFloat(0.0));
  SmallVector<int64_t> ones(getFeatureShape(member.getType()).size(), 1);
  Value seen = BroadcastOp::create(builder, loc, typeOn(map.getFromAttr(), {}), power, symbol(map.getSymName()),
                                   builder.getF64FloatAttr(0));
  if (!ones.empty())
    seen = ReshapeOp::create(builder, loc, like(seen, ones), seen);
  return BinaryOp::create(builder, loc, member.getType(), BinaryKind::Mul, member, seen);
}

/// What layers are made of, written in the naive way: two ends meet on a member, perhaps with a weight and a scale of
/// the owner, and are summed.
Value Generator::message(Value value) {
  SmallVector<int64_t> sizes(getFeatureShape(value.getType()));
  MapOp first = pickMap(getResidency(value.getType()), /*from=*/false);
  MapOp second = first ? pickMap(first.getFromAttr(), /*from=*/true) : MapOp();
  if (!second)
    return Value();
  auto moved = [&](Value x, MapOp map) -> Value {
    return BroadcastOp::create(builder, loc, typeOn(map.getFromAttr(), getFeatureShape(x.getType())), x,
                               symbol(map.getSymName()), builder.getF64FloatAttr(0));
  };
  auto binary = [&](BinaryKind kind, Value x, Value y) -> Value {
    return BinaryOp::create(builder, loc, x.getType(), kind, x, y);
  };
  Value mine = moved(value, first), theirs = moved(argument(second.getToAttr(), sizes), second), y;
  for (Value other : pool)
    if (getResidency(other.getType()) == second.getToAttr() && getFeatureShape(other.getType()) == ArrayRef(sizes) &&
        below(2))
      theirs = moved(other, second);
  switch (below(4)) {
  case 0:
    y = binary(pick(std::vector{BinaryKind::Add, BinaryKind::Sub, BinaryKind::Mul}), mine, theirs);
    break;
  case 1: {
    Value square = UnaryOp::create(builder, loc, theirs.getType(), UnaryKind::Square, theirs, llvm::APFloat(0.0));
    Value one =
        ConstantOp::create(builder, loc, typeOn({}, SmallVector<int64_t>(sizes.size(), 1)), builder.getF64FloatAttr(1));
    y = binary(BinaryKind::Div, mine, binary(BinaryKind::Add, square, one));
    break;
  }
  case 2:
    if (!sizes.empty()) {
      SmallVector<int64_t> joined(sizes);
      joined.back() *= 2;
      y = ConcatOp::create(builder, loc, like(mine, joined), ValueRange{mine, theirs}, sizes.size() - 1);
      break;
    }
    [[fallthrough]];
  default:
    y = mine;
  }
  if (below(2))
    if (Value product = below(3) ? contract(y) : typedContract(y))
      y = product;
  if (below(4) == 0)
    y = normalise(y, below(3) ? second : first);
  SmallVector<int64_t> ones(getFeatureShape(y.getType()).size(), 1);
  if (below(2))
    y = binary(BinaryKind::Mul, y, moved(argument(second.getToAttr(), ones), second));
  if (below(3) == 0)
    return y;
  return ReduceOp::create(builder, loc, typeOn(second.getToAttr(), getFeatureShape(y.getType())),
                          pick(std::vector{ReduceKind::Sum, ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max}), y,
                          second.getSymName());
}

Value Generator::step(Value value) {
  static const std::vector<UnaryKind> bounded = {UnaryKind::Neg,  UnaryKind::Tanh,    UnaryKind::Sin,
                                                 UnaryKind::Relu, UnaryKind::Sigmoid, UnaryKind::LeakyRelu,
                                                 UnaryKind::Elu,  UnaryKind::Erf,     UnaryKind::Softplus};
  SmallVector<int64_t> sizes(getFeatureShape(value.getType()));
  switch (below(20)) {
  case 17:
  case 18:
  case 19:
    return message(value);
  case 0:
  case 1:
    return UnaryOp::create(builder, loc, value.getType(), pick(bounded), value, llvm::APFloat(0.2));
  case 2:
  case 3:
    return binary(value);
  case 4:
  case 5:
  case 6:
    return move(value);
  case 7:
  case 8:
    return reduce(value);
  case 9:
    return norm(value);
  case 10:
    return contract(value);
  case 11:
    return below(2) ? typedContract(value) : dot(value);
  case 12: {
    if (sizes.empty())
      return Value();
    int64_t axis = below(sizes.size());
    sizes[axis] = 1;
    return FoldOp::create(builder, loc, like(value, sizes), ReduceKind(below(5)), value, ArrayRef<int64_t>{axis});
  }
  case 13:
    return reshape(value);
  case 14:
    return below(2) ? concat(value) : slice(value);
  case 15: {
    if (below(3))
      return Value();
    MapOp map = pick(maps);
    Value degree = DegreeOp::create(builder, loc, typeOn(map.getToAttr(), {}), map.getSymName());
    return UnaryOp::create(builder, loc, degree.getType(), UnaryKind::Tanh, degree, llvm::APFloat(0.0));
  }
  default:
    switch (below(smooth ? 2 : 3)) {
    case 0:
      return dropout(value);
    case 2:
      return DetachOp::create(builder, loc, value.getType(), value);
    default:
      break;
    }
    // The condition is an input, so it is the same number however the rest is computed.
    return SelectOp::create(builder, loc, value.getType(),
                            argument(getResidency(value.getType()), SmallVector<int64_t>(sizes.size(), 1)), value,
                            argument({}, sizes));
  }
}

/// Times a mask of random numbers.
Value Generator::dropout(Value value) {
  ArrayRef<int64_t> features = getFeatureShape(value.getType());
  SmallVector<int64_t> ones(features.size(), 1);
  auto number = [&](double x) -> Value {
    return ConstantOp::create(builder, loc, typeOn({}, ones), builder.getF64FloatAttr(x));
  };
  FlatSymbolRefAttr space = getResidency(value.getType());
  Value element = space ? Value(ElementOp::create(builder, loc, typeOn(space, ones), UnitAttr())) : number(0);
  Value feature = IotaOp::create(builder, loc, typeOn({}, features));
  Value random = RandomOp::create(builder, loc, value.getType(), number(below(1 << 24)), number(7), number(below(100)),
                                  element, feature, sites++);
  Value kept = BinaryOp::create(builder, loc, value.getType(), BinaryKind::Lt, random, number(0.5));
  return BinaryOp::create(builder, loc, value.getType(), BinaryKind::Mul, value, kept);
}

RandomProgram Generator::run() {
  program.module = parseSourceString<ModuleOp>(kSpaces, builder.getContext());
  function = program.module->lookupSymbol<func::FuncOp>(kForward);
  llvm::append_range(maps, program.module->getOps<MapOp>());
  makeGraph();

  builder.setInsertionPointToStart(&function.getBody().front());
  for (StringRef space : {"ring", "item", "edge", "node", "edge", "node"})
    pool.push_back(argument(symbol(space), features()));
  pool.push_back(argument({}, features()));
  for (unsigned count = 8 + below(40); count > 0; --count) {
    // Recent values first, so that programs get deep.
    unsigned recent = std::min<unsigned>(pool.size(), below(4) ? 3 : pool.size());
    Value value = step(pool[pool.size() - 1 - below(recent)]);
    if (value && getFeatureElements(value.getType()) <= 256)
      pool.push_back(value);
  }

  std::vector<Value> results;
  SmallVector<Type> types;
  for (unsigned count = 1 + below(4); count > 0; --count) {
    unsigned recent = std::min<unsigned>(pool.size(), 6);
    results.push_back(pool[pool.size() - 1 - below(recent)]);
    types.push_back(results.back().getType());
  }
  Operation *terminator = function.getBody().front().getTerminator();
  terminator->setOperands(results);
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
  for (unsigned i = 0; i < results.size(); ++i)
    function.setResultAttr(i, kNameAttr, builder.getStringAttr("result" + Twine(i)));

  makeInputs();
  attachGraph(program);
  return std::move(program);
}

void Generator::makeInputs() {
  // The extents of derived spaces come from the graph.
  llvm::Expected<GraphData> graph = materialise(*program.module, program.graph);
  if (!graph)
    return llvm::consumeError(graph.takeError()); // The test will find the error again.
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    FlatSymbolRefAttr space = getResidency(type);
    RefTensor value(!space, space ? graph->extent(space.getValue()) : 1, getFeatureShape(type));
    for (double &x : value.data)
      x = number();
    program.inputs["arg" + std::to_string(i)] = std::move(value);
  }
}

test::RandomProgram test::makeRandomProgram(MLIRContext *context, unsigned seed, bool smooth, bool doublePrecision) {
  return Generator(context, seed, smooth, doublePrecision).run();
}
