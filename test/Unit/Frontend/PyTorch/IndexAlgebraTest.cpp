//===- IndexAlgebraTest.cpp - Integer tensors as functions ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random chains of views are done twice: as substitutions, and element by element on arrays of several sizes. What a
// term is at each point, and the lists that are written from it, must be what the arrays hold.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Indices/Sources.h"
#include "PyTorch/Indices/Views.h"
#include "PyTorch/Program.h"
#include "gnnc/Host/GraphSource.h"

#include "gtest/gtest.h"

#include <random>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

namespace {

/// An array, row-major.
struct Array {
  std::vector<int64_t> sizes, values;

  int64_t count() const {
    int64_t product = 1;
    for (int64_t size : sizes)
      product *= size;
    return product;
  }
  std::vector<int64_t> point(int64_t number) const {
    std::vector<int64_t> result(sizes.size());
    for (size_t dim = sizes.size(); dim-- > 0;) {
      result[dim] = number % sizes[dim];
      number /= sizes[dim];
    }
    return result;
  }
  int64_t at(const std::vector<int64_t> &place) const {
    int64_t number = 0;
    for (size_t dim = 0; dim < sizes.size(); ++dim) {
      EXPECT_TRUE(place[dim] >= 0 && place[dim] < sizes[dim]);
      number = number * sizes[dim] + place[dim];
    }
    return values.at(size_t(number));
  }
  static Array make(std::vector<int64_t> sizes, const std::function<int64_t(const std::vector<int64_t> &)> &value) {
    Array result{std::move(sizes), {}};
    for (int64_t i = 0; i < result.count(); ++i)
      result.values.push_back(value(result.point(i)));
    return result;
  }
};

using Point = std::vector<int64_t>;
/// The sizes of a graph and its lists.
struct Graph {
  std::map<std::string, int64_t> sizes;
  std::map<std::string, std::vector<int64_t>> lists;

  int64_t operator()(const SymbolicExpr &size) const {
    int64_t value = size.getNumber();
    for (auto &[symbol, factor] : size.getFactors())
      value += factor * sizes.at(symbol);
    return value;
  }
};

Index sizeSource(const SymbolicExpr &size) {
  std::string text;
  for (auto &[symbol, factor] : size.getFactors()) {
    std::string term = "mul(" + symbol + ", " + std::to_string(factor) + ")";
    text = text.empty() ? term : "add(" + text + ", " + term + ")";
  }
  std::string number = std::to_string(size.getNumber());
  text = text.empty() ? number : "add(" + text + ", " + number + ")";
  return std::make_shared<IndexExpr>(IndexExpr{text, false, 0, false, "", {}});
}

class Chain {
public:
  explicit Chain(unsigned seed) : random(seed) {
    for (auto [n, e] : {std::pair(4, 3), std::pair(2, 5), std::pair(7, 0), std::pair(3, 1)}) {
      Graph graph;
      graph.sizes = {{"n", n}, {"e", e}};
      for (auto [name, length] : {std::pair("a", n), std::pair("b", n), std::pair("c", e), std::pair("d", e)})
        for (graph.lists[name]; int64_t(graph.lists[name].size()) < length;)
          graph.lists[name].push_back(int64_t(random() % 50) - 10);
      for (int64_t i = 0; i < n; ++i)
        graph.lists["p"].push_back(int64_t(random() % unsigned(n)));
      graphs.push_back(graph);
    }
  }

  void run(int steps) {
    start();
    check();
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      step();
      check();
    }
  }
  std::string text;

private:
  unsigned below(unsigned count) { return unsigned(random() % count); }
  Index list(const char *name, const char *size) {
    return std::make_shared<IndexExpr>(IndexExpr{name, true, SymbolicExpr::of(size), false, "", {}});
  }

  void start() {
    switch (below(3)) {
    case 0:
      text = "[a]";
      x = {{SymbolicExpr::of("n")}, algebra.element(list("a", "n"), algebra.coordinate(0, SymbolicExpr::of("n")))};
      for (Graph &graph : graphs)
        arrays.push_back({{graph.sizes["n"]}, graph.lists["a"]});
      break;
    case 1:
      text = "[c, d]";
      x = sources.function({{{IndexDim::Kind::Small, 2}, {IndexDim::Kind::Long, SymbolicExpr::of("e")}},
                            {list("c", "e"), list("d", "e")}});
      for (Graph &graph : graphs)
        arrays.push_back(Array::make({2, graph.sizes["e"]},
                                     [&](const Point &p) { return graph.lists[p[0] ? "d" : "c"][size_t(p[1])]; }));
      break;
    default:
      text = "arange(2 n)";
      x = {{SymbolicExpr::of("n", 2)}, algebra.coordinate(0, SymbolicExpr::of("n", 2))};
      for (Graph &graph : graphs)
        arrays.push_back(Array::make({2 * graph.sizes["n"]}, [&](const Point &p) { return p[0]; }));
    }
  }

  /// The same for all graphs: what an element of the result is, of the array before.
  void become(IndexTensor next, const std::function<int64_t(const Graph &, const Array &, const Point &)> &value) {
    x = std::move(next);
    for (size_t i = 0; i < graphs.size(); ++i) {
      std::vector<int64_t> sizes;
      for (const SymbolicExpr &size : x.sizes)
        sizes.push_back(graphs[i](size));
      const Array old = arrays[i];
      arrays[i] = Array::make(sizes, [&](const Point &p) { return value(graphs[i], old, p); });
    }
  }
  void say(const std::string &what) { text += " " + what; }

  void step() {
    if (x.sizes.empty() || text.size() > 400)
      return;
    size_t dim = below(unsigned(x.sizes.size()));
    const SymbolicExpr size = x.sizes[dim];
    int64_t least = arrays[0].sizes[dim];
    for (const Array &array : arrays)
      least = std::min(least, array.sizes[dim]);
    bool isFixed = size.getFactors().empty(), isLarge = x.sizes.size() > 3;
    auto with = [](Point p, size_t dim, int64_t place) {
      p[dim] = place;
      return p;
    };
    switch (below(14)) {
    case 0: { // permute
      std::vector<size_t> order(x.sizes.size());
      for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      say("permute");
      become(views::permute(algebra, x, order), [&](const Graph &, const Array &old, const Point &p) {
        Point place(p.size());
        for (size_t i = 0; i < p.size(); ++i)
          place[order[i]] = p[i];
        return old.at(place);
      });
      return;
    }
    case 1: // flip
      say("flip " + std::to_string(dim));
      become(views::flip(algebra, x, dim), [&](const Graph &, const Array &old, const Point &p) {
        return old.at(with(p, dim, old.sizes[dim] - 1 - p[dim]));
      });
      return;
    case 2: { // roll
      int64_t shift = int64_t(below(5)) - 2;
      say("roll " + std::to_string(shift));
      become(views::roll(algebra, x, dim, shift), [&](const Graph &, const Array &old, const Point &p) {
        return old.at(with(p, dim, ((p[dim] - shift) % old.sizes[dim] + old.sizes[dim]) % old.sizes[dim]));
      });
      return;
    }
    case 3: // copies
    case 4: {
      int64_t times = 2 + below(2);
      bool isTile = below(2);
      say((isTile ? "tile " : "each ") + std::to_string(dim) + " " + std::to_string(times));
      become(isTile ? views::tile(algebra, x, dim, size * times) : views::repeatEach(algebra, x, dim, times),
             [&](const Graph &, const Array &old, const Point &p) {
               return old.at(with(p, dim, isTile ? p[dim] % old.sizes[dim] : p[dim] / times));
             });
      return;
    }
    case 5: { // cat with itself, backwards and larger
      IndexTensor other =
          views::combine(algebra, "add", {views::flip(algebra, x, dim), {{}, algebra.number(100)}}, false, x.sizes);
      say("cat " + std::to_string(dim));
      become(views::concatenate(algebra, {x, other}, dim), [&](const Graph &, const Array &old, const Point &p) {
        int64_t own = old.sizes[dim];
        return p[dim] < own ? old.at(p) : old.at(with(p, dim, 2 * own - 1 - p[dim])) + 100;
      });
      return;
    }
    case 6: { // stack
      if (isLarge)
        return;
      IndexTensor other = views::combine(algebra, "mul", {x, {{}, algebra.number(3)}}, false, x.sizes);
      say("stack " + std::to_string(dim));
      become(
          views::concatenate(algebra, {views::unsqueeze(algebra, x, dim), views::unsqueeze(algebra, other, dim)}, dim),
          [&](const Graph &, const Array &old, const Point &p) {
            Point place = p;
            place.erase(place.begin() + ptrdiff_t(dim));
            return old.at(place) * (p[dim] ? 3 : 1);
          });
      return;
    }
    case 7: { // merge two axes
      if (x.sizes.size() < 2)
        return;
      dim = std::min(dim, x.sizes.size() - 2);
      std::optional<SymbolicExpr> both = multiply(x.sizes[dim], x.sizes[dim + 1]);
      if (!both)
        return;
      std::vector<SymbolicExpr> sizes = x.sizes;
      sizes[dim] = *both;
      sizes.erase(sizes.begin() + ptrdiff_t(dim) + 1);
      say("merge " + std::to_string(dim));
      return reshape(sizes);
    }
    case 8:
    case 9: { // split an axis
      int64_t by = 2 + below(2);
      std::optional<SymbolicExpr> rest = divideExactly(size, by);
      if (!rest || isLarge)
        return;
      std::vector<SymbolicExpr> sizes = x.sizes;
      bool isFirst = below(2);
      sizes[dim] = isFirst ? SymbolicExpr(by) : *rest;
      sizes.insert(sizes.begin() + ptrdiff_t(dim) + 1, isFirst ? *rest : SymbolicExpr(by));
      say("split " + std::to_string(dim) + " into " + sizes[dim].str() + ", " + sizes[dim + 1].str());
      return reshape(sizes);
    }
    case 10: { // slice
      std::optional<SymbolicExpr> half = divideExactly(size, 2);
      int64_t step = half && below(2) ? 2 : 1;
      int64_t begin = step == 2 ? below(2) : isFixed ? below(unsigned(std::max<int64_t>(size.getNumber(), 1))) : 0;
      SymbolicExpr length = step == 2 ? *half : size + SymbolicExpr(-begin);
      if (step == 1 && !isFixed) { // n - 1 elements, of which there is at least one
        if (least < 2)
          return;
        begin = below(2);
        length = size + SymbolicExpr(-1);
      }
      say("slice " + std::to_string(dim) + " from " + std::to_string(begin) + " by " + std::to_string(step));
      become(views::slice(algebra, x, dim, begin, step, length), [&](const Graph &, const Array &old, const Point &p) {
        return old.at(with(p, dim, begin + step * p[dim]));
      });
      return;
    }
    case 11: { // select
      if (least < 1)
        return;
      int64_t place = isFixed ? below(unsigned(size.getNumber())) : 0;
      if (x.sizes.size() < 2)
        return;
      say("select " + std::to_string(dim) + " " + std::to_string(place));
      become(views::select(algebra, x, dim, place), [&](const Graph &, const Array &old, Point p) {
        p.insert(p.begin() + ptrdiff_t(dim), place);
        return old.at(p);
      });
      return;
    }
    case 12: { // rows by a list of the graph
      if (!(size == SymbolicExpr::of("n")))
        return;
      say("gather " + std::to_string(dim));
      IndexTensor places{{SymbolicExpr::of("n")},
                         algebra.element(list("p", "n"), algebra.coordinate(0, SymbolicExpr::of("n")))};
      become(views::gather(algebra, x, dim, places), [&](const Graph &graph, const Array &old, const Point &p) {
        return old.at(with(p, dim, graph.lists.at("p")[size_t(p[dim])]));
      });
      return;
    }
    default: { // write
      if (least < 2)
        return;
      int64_t begin = below(2);
      std::vector<SymbolicExpr> sizes = x.sizes;
      sizes[dim] = size + SymbolicExpr(-1);
      IndexTensor source{sizes, algebra.add(algebra.coordinate(dim, sizes[dim]), algebra.number(SymbolicExpr(7)))};
      say("write " + std::to_string(dim) + " from " + std::to_string(begin));
      become(views::write(algebra, x, dim, begin, 1, source), [&](const Graph &, const Array &old, const Point &p) {
        bool isWritten = p[dim] >= begin && p[dim] < begin + old.sizes[dim] - 1;
        return isWritten ? p[dim] - begin + 7 : old.at(p);
      });
      return;
    }
    }
  }

  void reshape(const std::vector<SymbolicExpr> &sizes) {
    become(views::reshape(algebra, x, sizes), [&](const Graph &graph, const Array &old, const Point &p) {
      int64_t number = 0;
      for (size_t dim = 0; dim < p.size(); ++dim)
        number = number * graph(sizes[dim]) + p[dim];
      return old.values.at(size_t(number));
    });
  }

  void check() {
    for (size_t i = 0; i < graphs.size() && !testing::Test::HasFailure(); ++i) {
      const Graph &graph = graphs[i];
      const Array &array = arrays[i];
      for (int64_t number = 0; number < array.count(); ++number)
        ASSERT_EQ(IndexAlgebra::evaluate(
                      x.value, array.point(number), [&](const std::string &symbol) { return graph.sizes.at(symbol); },
                      [&](const Index &source, int64_t at) { return graph.lists.at(source->text).at(size_t(at)); }),
                  array.values[size_t(number)])
            << text << ", graph " << i << ", element " << number;
      checkLists(graph, array);
    }
  }

  /// The whole tensor as one list.
  void checkLists(const Graph &graph, const Array &array) {
    SymbolicExpr all = 1;
    for (const SymbolicExpr &size : x.sizes) {
      std::optional<SymbolicExpr> product = multiply(all, size);
      if (!product)
        return;
      all = *product;
    }
    IndexLists lists = sources.lists(views::reshape(algebra, x, {all}), 0);
    GraphSources evaluator([&](llvm::StringRef name) -> std::optional<SourceTensor> {
      auto list = graph.lists.find(name.str());
      auto size = graph.sizes.find(name.str());
      if (list == graph.lists.end() && size == graph.sizes.end())
        return std::nullopt;
      bool isList = list != graph.lists.end();
      std::vector<int64_t> numbers = isList ? list->second : std::vector<int64_t>{size->second};
      return SourceTensor{isList ? std::vector<int64_t>{int64_t(numbers.size())} : std::vector<int64_t>{},
                          [numbers]() -> llvm::Expected<std::vector<int64_t>> { return numbers; }};
    });
    llvm::Expected<std::shared_ptr<const gnnc::Integers>> result = evaluator.evaluate(lists.components.at(0)->text);
    ASSERT_TRUE(bool(result)) << text << ": " << lists.components[0]->text << ": "
                              << llvm::toString(result.takeError());
    EXPECT_EQ((*result)->numbers, array.values) << text << ": " << lists.components[0]->text;
  }

  std::mt19937 random;
  std::vector<Graph> graphs;
  std::vector<Array> arrays;
  IndexAlgebra algebra;
  IndexSources sources{algebra, sizeSource, [](const SymbolicExpr &size) { return size; }};
  IndexTensor x;
};

TEST(IndexAlgebra, RandomViewsAreWhatArraysHold) {
  for (unsigned seed = 0; seed < 2000 && !HasFailure(); ++seed) {
    Chain chain(seed);
    try {
      chain.run(6);
    } catch (const Refusal &refusal) {
      // Sources that are too long are the only thing that may be refused.
      EXPECT_NE(refusal.reason.find("too long"), std::string::npos) << chain.text << ": " << refusal.reason;
    }
    EXPECT_FALSE(HasFailure()) << "seed " << seed << ": " << chain.text;
  }
}

/// Two ways to write one access are one term.
TEST(IndexAlgebra, ViewsThereAndBackAreTheSameTerm) {
  IndexAlgebra algebra;
  SymbolicExpr n = SymbolicExpr::of("n");
  auto list = std::make_shared<IndexExpr>(IndexExpr{"a", true, n * 6, false, "", {}});
  IndexTensor x{{n * 6}, algebra.element(list, algebra.coordinate(0, n * 6))};
  auto back = [&](const std::vector<std::vector<SymbolicExpr>> &shapes) {
    IndexTensor y = x;
    for (const std::vector<SymbolicExpr> &shape : shapes)
      y = views::reshape(algebra, y, shape);
    return y.value;
  };
  EXPECT_EQ(back({{n, 6}, {n * 6}}), x.value);
  EXPECT_EQ(back({{6, n}, {n * 6}}), x.value);
  EXPECT_EQ(back({{n, 2, 3}, {n * 2, 3}, {n * 6}}), x.value);
  EXPECT_EQ(back({{n * 2, 3}, {n, 6}, {n, 2, 3}, {n * 6}}), x.value);
  EXPECT_EQ(back({{n, 2, 3}, {n, 6}}), back({{n, 6}}));
  EXPECT_EQ(views::flip(algebra, views::flip(algebra, x, 0), 0).value, x.value);
  IndexTensor halves =
      views::concatenate(algebra, {views::slice(algebra, x, 0, 0, 1, n), views::slice(algebra, x, 0, n, 1, n * 5)}, 0);
  EXPECT_EQ(halves.value, x.value);
}

/// Products of two sizes, of which views may make one axis.
TEST(IndexAlgebra, AllPairsAsOneList) {
  SymbolicExpr n = SymbolicExpr::of("n"), m = SymbolicExpr::of("m"), nm = SymbolicExpr::of("m*n");
  EXPECT_EQ(multiply(n, m * 2 + SymbolicExpr(1)), nm * 2 + n);
  EXPECT_EQ(multiply(n, n), SymbolicExpr::of("Pow(n, 2)"));
  EXPECT_EQ(divideExactly(nm * 4, m * 2), n * 2);
  EXPECT_EQ(divideExactly(SymbolicExpr::of("Pow(n, 2)"), n), n);
  EXPECT_EQ(divideExactly(nm + SymbolicExpr(1), m), std::nullopt);
  IndexAlgebra algebra;
  IndexTensor row{{n, m}, algebra.coordinate(0, n)}, column{{n, m}, algebra.coordinate(1, m)};
  IndexSources sources(algebra, sizeSource, [](const SymbolicExpr &size) { return size; });
  auto text = [&](const IndexTensor &x) {
    return sources.lists(views::reshape(algebra, x, {nm}), 0).components.at(0)->function;
  };
  EXPECT_EQ(text(row), "interleave");
  EXPECT_EQ(text(column), "mod");
  IndexTensor back = views::reshape(algebra, views::reshape(algebra, row, {nm}), {n, m});
  EXPECT_EQ(back.value, row.value);
}

} // namespace
