//===- Recover.h - From operators on tensors to values on spaces --*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Goes through a normalised program once. Tensors of integers alone become index expressions; the others become values:
// each axis of a tensor is a space, a feature axis, of size 1, or a repetition of the same numbers.
// docs/PyTorchImport.md states the rules. What cannot be established from the graph is refused.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_FRONTEND_PYTORCH_RECOVER_H
#define GNNC_LIB_FRONTEND_PYTORCH_RECOVER_H

#include "PyTorch/Grids.h"
#include "PyTorch/IndexExpr.h"
#include "PyTorch/Indices/Sources.h"
#include "PyTorch/Normalise.h"
#include "PyTorch/Program.h"

#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <set>

namespace gnnc::frontend::pytorch {

/// One axis of a tensor of numbers.
struct Dim {
  enum class Kind {
    Space,  ///< `id`: the space. If the value is shared, it is the same on all elements
    Axis,   ///< `id`: the feature axis
    Unit,   ///< of size 1; the value has no axis for it
    Repeat, ///< of `size`, the same all along; the value has no axis for it
    Group,  ///< several neighbouring dims that a view has made one: all of `parts`
  };
  Kind kind = Kind::Unit;
  int id = -1;
  int64_t size = 1;            ///< Axis, Repeat
  std::vector<Dim> parts = {}; ///< Group: at least two, none of them of size 1 or a group
  /// Space: if the value has a number for each pair of this space's elements and another dim's: the space of the pairs,
  /// and which side of them this is.
  int pairs = -1, side = 0;
  /// Space: if this is a dim of elements that lie in rows of equal length, one row for each place that a map leads to:
  /// by which of `rowLayouts`, and whether it is the dim of the elements in a row or of the rows.
  int layout = -1;
  bool isInRow = false;
};

/// The dims in order, each group as its parts.
std::vector<Dim> opened(const std::vector<Dim> &dims);

/// A tensor of numbers: its axes, in PyTorch's order, and the value that has them.
struct Tensor {
  std::vector<Dim> dims;
  int value = -1;
};

/// Elements in rows of equal length: those that `along` sends to one place are first in its row, in order, and what is
/// behind them is there for no element.
struct RowLayout {
  int elements = -1, rows = -1, along = -1; ///< spaces, and the map between them
  SymbolicExpr length, all;                 ///< of a row, and of all of them
  std::string places;                       ///< where each element is
  std::string begin = {};                   ///< where the row of each element begins
  Index first = nullptr, counts = nullptr;  ///< of each row: its first element, and how many it has
  bool isWhole = false;                     ///< no row has a place behind its elements: a grid of rows by places
};
/// What a tensor in rows has for elements, and behind them, if these are two numbers.
struct InRows {
  double present = 0, absent = 0;
};

/// The dimensions that `dim` lists, counted from the end where negative; all if it lists none.
std::vector<size_t> foldedDims(const std::vector<int64_t> &listed, size_t rank);

/// What a / b or a - b is, if it is a mean, a variance or a softmax along a map.
std::optional<int> findMean(RecoveredProgram &program, int a, int b);
std::optional<int> findVariance(RecoveredProgram &program, int a, int b);
std::optional<int> findSoftmax(RecoveredProgram &program, int a, int b);

/// The largest finite numbers of 32 and of 64 bits.
inline constexpr double largestFloat = 3.4028234663852886e38, largestDouble = std::numeric_limits<double>::max();

/// Whether a list is 0, 1, 2, ...
bool isFromFirst(const Index &index);

class Recover {
public:
  explicit Recover(const ExportedProgram &exported, GridOptions grids = {})
      : exported(exported), gridOptions(std::move(grids)) {}
  /// Throws a Refusal; `current` is then the node that it is about.
  RecoveredProgram run();
  const NormalNode *current = nullptr;
  const std::string &fixedSizes() const { return program.fixedSizes; }
  /// Fixed sizes of axes of rows that lists index element by element, which costs as much as the size for each.
  /// What a refused program, or one whose lists index axes of features, says of axes of elements.
  const GridOptions &wanted() const { return wants; }

private:
  using Handler = void (Recover::*)(const NormalNode &);
  static const std::map<std::string, Handler> &handlers();

  //===--- Arguments -------------------------------------------------------===//
  const Argument *find(const NormalNode &node, const std::string &name) const;
  bool has(const NormalNode &node, const std::string &name) const;
  std::string nameOf(const NormalNode &node, const std::string &name) const;
  Tensor tensor(const NormalNode &node, const std::string &name);
  Tensor tensorOf(const std::string &name);
  bool isIndex(const NormalNode &node, const std::string &name) const;
  /// A tensor of integers as a function of its points, and as lists.
  IndexTensor indexFunction(const NormalNode &node, const std::string &name);
  IndexTensor indexFunctionOf(const std::string &name);
  IndexTensor indexFunctionArgument(const NormalNode &node, const std::string &name);
  IndexLists index(const NormalNode &node, const std::string &name);
  IndexLists indexOf(const std::string &name);
  std::optional<double> number(const NormalNode &node, const std::string &name) const;
  double number(const NormalNode &node, const std::string &name, double absent) const;
  int64_t integer(const NormalNode &node, const std::string &name, int64_t absent) const;
  bool flag(const NormalNode &node, const std::string &name, bool absent) const;
  std::string string(const NormalNode &node, const std::string &name, const std::string &absent) const;
  std::vector<std::string> names(const NormalNode &node, const std::string &name) const;
  std::vector<int64_t> integers(const NormalNode &node, const std::string &name) const;
  /// The same, of sizes.
  std::vector<SymbolicExpr> sizesIn(const NormalNode &node, const std::string &name) const;
  /// An axis given by number, counted from 0.
  size_t axisNumber(const NormalNode &node, const std::string &name, int64_t absent, size_t rank) const;
  void define(const NormalNode &node, Tensor tensor, size_t output = 0);
  void define(const NormalNode &node, IndexTensor tensor, size_t output = 0);
  void define(const NormalNode &node, const IndexLists &lists, size_t output = 0);
  /// The sizes that the file gives for an output.
  std::vector<SymbolicExpr> sizes(const NormalNode &node, size_t output = 0) const;
  std::vector<SymbolicExpr> sizesOf(const std::string &name) const;
  SymbolicExpr expression(const Size &size) const;
  SymbolicExpr expression(const Argument &argument) const;
  bool onlyIntegers(const NormalNode &node) const;
  /// Refuses operators whose results depend on a type that only the file has (RecoverTypes.cpp).
  void checkTypes(const NormalNode &node) const;
  std::string placeOf(const std::string &name) const;
  /// What an input is called in the text: as its placeholder, unless a parameter or buffer of floats is called so.
  std::string nameOfInput(const ProgramInput &input) const;
  std::string nameOfStored(const ProgramInput &input) const;
  std::optional<double> storedNumber(const std::string &name) const;
  IndexLists storedIntegers(const ProgramInput &input, const std::vector<SymbolicExpr> &shape, bool isTruth);
  std::optional<IndexTensor> flatInput(const std::string &name, const std::vector<SymbolicExpr> &shape, bool isTruth);
  void solveSizes(const std::vector<std::pair<SymbolicExpr, std::string>> &sizes);

  //===--- Spaces and maps (RecoverMaps.cpp) -------------------------------===//
  int spaceOf(const SymbolicExpr &extent, const std::string &hint = "");
  int mapOf(const Index &index, int from, int to, bool partial = false, const std::string &hint = "");
  std::string sourceOf(const SymbolicExpr &extent) const;
  void learnSymbol(const SymbolicExpr &size, const std::string &source);
  SymbolicExpr resolved(const std::string &symbol, int depth = 0) const;
  void knowSize(const SymbolicExpr &size, const SymbolicExpr &other);
  std::string withinRange(const SymbolicExpr &size, const std::string &source) const;
  void nameSpace(int space, const std::string &name);
  Tensor toSpace(Tensor x, size_t dim, int space);
  Tensor withoutRow(Tensor x, size_t dim);
  Tensor toAxis(Tensor x, size_t dim);
  Tensor gather(Tensor x, size_t dim, const IndexLists &index);
  Tensor gatherTwo(const Tensor &x, size_t dim, const IndexLists &a, const IndexLists &b);
  Tensor gatherOfGroup(Tensor x, size_t dim, const Index &at);
  Tensor gatherList(Tensor x, size_t dim, const Index &index);
  Tensor rowsFrom(const Tensor &x, size_t dim, const Index &first, const Index &last, int64_t step,
                  const SymbolicExpr &length);
  /// The list that scatters and gathers along `dim` go by; the other axes must repeat it.
  Index listAlong(const IndexLists &index, size_t dim);
  static bool isListAlong(const IndexLists &index, size_t dim);
  using Writing = std::function<Tensor(Tensor base, Tensor source)>;
  Tensor wherePlaced(Tensor base, Tensor source, const IndexLists &index, size_t dim, const Writing &write,
                     size_t axis = 0);
  Tensor scatter(Tensor base, size_t dim, const Index &index, Tensor source, const std::string &function,
                 bool includeSelf);
  Tensor putAlongAxis(const Tensor &base, size_t dim, const std::vector<int64_t> &places, Tensor values);
  Tensor put(Tensor base, size_t dim, const Index &index, Tensor values);
  int inversePlaces(const Index &index, int from, int to);
  int product(int x, int map);

  //===--- Tables of neighbours (Tables.cpp) ----------------------------------===//
  std::vector<bool> liveOperations() const;
  Index listOfTable(const std::vector<Index> &columns);
  void tablesAsEdges();
  void writeWithEdges(int axis, int nodes, const std::vector<bool> &live);

  //===--- Unions of which values decide a part (SplitUnions.cpp) --------------===//
  bool isOpen(int space) const;
  bool splitOpenUnions();

  //===--- Derived spaces (Derive.cpp) ---------------------------------------===//
  void deriveSpaces();
  std::optional<int> targetOf(const std::string &list, int from) const;
  SpaceForm formOf(int space);
  bool deriveMap(int map, const std::set<int> &derived);
  int wholeMap(const Index &index, int from, int to);
  std::map<std::string, Index> filters; ///< the places that make a space, by the space's key
  int count(const SymbolicExpr &extent);

  //===--- Shapes and alignment (RecoverShapes.cpp, RecoverViews.cpp) --------===//
  Dim dimOf(const SymbolicExpr &size, const std::string &hint = "");
  SymbolicExpr sizeOf(const Dim &dim) const;
  std::string shapeText(const std::vector<Dim> &dims) const;
  /// Whether the elements of a space have numbers of their own, which is not so if all have the same.
  bool resides(const Tensor &x, const Dim &dim) const;
  void checkPairs(const Tensor &x) const;
  /// New names for axes of a tensor's value, which its dims then have.
  void renameAxes(Tensor &x, const std::vector<std::pair<int, int>> &pairs);
  Tensor filled(double value, const std::vector<SymbolicExpr> &sizes);
  /// Brings tensors to one shape, as broadcasting does; the common dims.
  std::vector<Dim> align(std::vector<Tensor> &tensors);
  Tensor groupedAs(const Dim &group, Tensor x, size_t dim);
  Tensor withAsMany(Tensor x, size_t dim, int space);
  Tensor withRowFor(Tensor rows, size_t dim, const Index &list);
  std::vector<Dim> alignOpened(std::vector<Tensor> &tensors);
  void repeatInRows(std::vector<Tensor> &tensors, size_t rank);
  void noteOuter(const std::vector<Tensor> &all, size_t rank);
  void noteExpanded(const Tensor &x, const std::vector<SymbolicExpr> &wanted);
  bool isStoredSize(int64_t size) const;
  void keepOneSpace(std::vector<Tensor> &tensors, size_t rank);
  bool splitAtom(Tensor &x, std::vector<Dim> &atoms, size_t at, int64_t first);
  Tensor reshape(Tensor x, const std::vector<SymbolicExpr> &sizes);
  Tensor rowsByParts(const Tensor &x, const SymbolicExpr &count, int64_t parts);
  Tensor rowsInTurn(const Tensor &x, size_t dim, const SymbolicExpr &count, int64_t size);
  Tensor broadcast(Tensor x, const std::vector<SymbolicExpr> &sizes);
  Tensor concat(std::vector<Tensor> parts, size_t dim);
  Tensor concatSpace(std::vector<Tensor> parts, size_t dim);
  /// Gives the value an axis where the dim is of size 1 or a repetition.
  Tensor withAxis(Tensor x, size_t dim);
  Tensor slice(Tensor x, size_t dim, int64_t begin, int64_t end, int64_t step);
  Tensor pickRow(Tensor x, size_t dim, const SymbolicExpr &at);
  Tensor pick(Tensor x, size_t dim, int64_t element);
  Tensor fold(const std::string &function, Tensor x, std::vector<size_t> dims, bool keep);
  Tensor contract(Tensor a, Tensor b, const std::vector<std::pair<size_t, size_t>> &summed,
                  const std::vector<std::pair<size_t, size_t>> &batched);
  Tensor matmul(Tensor a, Tensor b);
  Tensor linear(Tensor x, Tensor weight, std::optional<Tensor> bias);
  Tensor diagonal(const Tensor &x, size_t a, size_t b);
  Tensor einsum(const std::string &equation, std::vector<Tensor> operands);
  Tensor unary(const std::string &function, Tensor x, double number = 0);
  Tensor binary(const std::string &function, Tensor a, Tensor b);
  Tensor binary(const std::string &function, Tensor a, double b);
  Tensor replaced(Tensor condition, Tensor value, Tensor x);
  Tensor where(Tensor condition, Tensor a, Tensor b);
  Tensor scalar(double value);
  /// Numbers that are written into the program, row-major.
  Tensor constantTensor(const std::vector<double> &numbers, const std::vector<int64_t> &sizes);
  Tensor storedConstant(const std::vector<double> &numbers, const std::vector<int64_t> &sizes);
  int sizeAsNumber(const SymbolicExpr &size);
  Tensor squeezed(Tensor x, size_t dim);
  Tensor unsqueezed(Tensor x, size_t dim);
  Tensor safeRoot(Tensor x);

  //===--- Pairs of elements (RecoverPairs.cpp) ------------------------------===//
  int pairsOf(int first, int second, int along = -1, int otherAlong = -1);
  int sideOf(int pairs, int side);
  int onDiagonal(int value, int pairs, int side);
  void pairSides(std::vector<Tensor> &all, std::vector<std::pair<size_t, Dim>> &sides);
  int foldPairs(const std::string &function, int value, const std::vector<Dim> &gone);

  //===--- Pairs as lists (RecoverPairLists.cpp) -------------------------------===//
  std::array<Index, 2> listPairs(int pairs);
  Index placesInRows(const RowLayout &layout);
  Tensor atOwnPlaces(const Tensor &x, const Tensor &numbers);
  Tensor dropped(const Tensor &x, const Tensor &numbers);
  void opDrawn(const NormalNode &node);
  Tensor onAllPairs(Tensor matrix);
  std::map<int, std::array<Index, 2>> pairLists; ///< by space of pairs: both sides

  //===--- Graphs that a mask of pairs makes (RecoverPairMasks.cpp) ------------===//
  std::array<Index, 2> ranked(const Index &first, const Index &second);
  Index withinFloats(const Index &list);
  IndexLists alongOneSide(IndexTensor x);
  bool isOfPairs(const std::string &name) const;
  Tensor numbersOfPairs(const IndexTensor &x);
  Tensor tensorOfSize(const SymbolicExpr &size);
  void noteEqual(const IndexTensor &x, const Tensor &result);
  int pairsOn(int space, int value, int pairs, const std::function<int(int side, int at)> &end,
              std::map<int, int> &known);
  Tensor atPlaces(Tensor x, size_t dim, const std::vector<Index> &lists);
  bool areSides(const Tensor &x, size_t i, size_t j) const;
  bool isMatrixOfPairs(const Tensor &x, size_t dim) const;
  int groupsOf(const Index &first, const Index &second);
  std::pair<int, int> pairsThatAgree(int pairs, int mask);
  IndexLists keptPairs(const Tensor &mask, const SymbolicExpr &length);
  std::optional<IndexLists> keptPairs(const std::string &name, const SymbolicExpr &length);
  Tensor inTriangle(const std::vector<SymbolicExpr> &matrix, bool isLower, int64_t diagonal);
  void intTrianglePlaces(const NormalNode &node);
  IndexTensor identityMatrix(const std::vector<SymbolicExpr> &sizes, bool isTruth);
  /// Values of pairs that are 1 where two lists have equal numbers for their sides.
  std::map<int, std::array<Index, 2>> equalPairs;
  std::map<int, std::pair<int, int>> agreeing; ///< by mask: what pairsThatAgree gave

  //===--- The best pairs of each element (RecoverPairOrders.cpp) ----------------===//
  void needElements(int64_t chosen, int64_t fixed = 0);
  void needMatrixOfElements(const Tensor &x, size_t dim, int64_t count);
  std::pair<int64_t, int64_t> placesRead(const std::string &places, size_t dim) const;
  bool orderPairs(const NormalNode &node, const Tensor &x, size_t dim, bool largest, size_t places);
  /// Of a space with so many chosen elements for each owner, row by row, the list of the owners.
  std::map<int, std::pair<Index, int64_t>> chosenRows;

  //===--- Elements in rows of equal length (RecoverRows.cpp) -----------------===//
  std::optional<int> layoutOf(const Index &places, const SymbolicExpr &rows, const SymbolicExpr &length);
  std::optional<Tensor> inRows(const Tensor &x, const std::vector<SymbolicExpr> &sizes);
  bool maskInRows(const NormalNode &node);
  bool countsAll(int layout, const SymbolicExpr &size);
  std::vector<Dim> dimsInRows(int layout) const;
  int layoutIn(const Tensor &x) const;
  bool isPadded(const Dim &dim) const { return dim.layout >= 0 && !rowLayouts[size_t(dim.layout)].isWhole; }
  bool isWhole(const NormalNode &node, const Tensor &x) const;
  void checkRows(const NormalNode &node);
  Tensor constantInRows(Tensor like, InRows numbers);
  const InRows *numbersInRows(const Tensor &x) const;
  bool fillInRows(const NormalNode &node);
  bool takeFromRows(const NormalNode &node);
  std::vector<RowLayout> rowLayouts;
  std::map<int, InRows> rowNumbers; ///< by value
  /// Values for elements in rows, or for pairs of them, that are minus infinity, or 0, behind the elements: on which
  /// side of the pairs (`sideIn`).
  std::map<int, int> maskedScores, maskedWeights;
  static int sideIn(const Dim &dim) { return dim.pairs < 0 ? -1 : dim.side; }
  Tensor masked(Tensor x, int side);

  //===--- Dense adjacency matrices of given edges (RecoverMatrices.cpp) ---===//
  std::map<int, std::array<int, 2>> matrixEnds; ///< by edges: the maps to rows and to columns
  std::set<int> matrices;                       ///< values of edges that are 0 for all other pairs
  int oneOn(int map, int layout);
  Tensor matrixIn(int layout, int pairs, int value);
  std::optional<Tensor> identityInRows(const std::vector<SymbolicExpr> &shape);
  std::optional<Tensor> matrixOfEdges(const Tensor &x, const std::vector<SymbolicExpr> &sizes);
  void noteMatrix(int result, std::initializer_list<int> operands, bool isLinear);
  void foldMatrix(const std::string &function, Tensor &x, std::vector<Dim> &gone);

  //===--- Sums that see padding (RecoverPadding.cpp) ---===//
  struct Filling {
    int layout;
    double fill;
  };
  std::map<int, Filling> fillings;             ///< of what was put into rows, by value
  std::map<std::pair<int, int>, int> atFilled; ///< by value and layout
  static std::string exactly(double number);
  Tensor filledUp(Tensor x, int layout, double fill);
  int numbersLike(double number, const std::vector<int> &axes);
  std::set<int> zeros; ///< values that are 0 everywhere, with axes
  bool isZeroEverywhere(int value) const;
  int simplified(const Operation &operation);
  int atFilledPlaces(int value, int layout);
  void dropMarks();
  int foldFilledUp(const std::string &function, const Tensor &x, int layout);

  //===--- Several axes of elements (RecoverGrid*.cpp) ---===//
  struct Grid {
    GridShape shape;
    Tensor rows; ///< the points of the grid, and the rows' own axes
  };
  /// Axes of at most so many elements are picked from one by one.
  static constexpr int64_t kMostPicked = 64;
  /// Features of at most so many places are chosen from by a sum over all of them.
  static constexpr int64_t kMostListed = 16;
  SymbolicExpr pointsOf(const std::vector<SymbolicExpr> &grid) const;
  bool isGridSize(const SymbolicExpr &size) const;
  GridShape leadingGrid(const std::vector<SymbolicExpr> &sizes, bool isInput = false) const;
  Index gridPlaces(const std::vector<SymbolicExpr> &from, const std::vector<IndexTerm> &places,
                   const std::vector<SymbolicExpr> &to);
  Tensor rowsAt(Tensor rows, const std::vector<SymbolicExpr> &from, const std::vector<IndexTerm> &places,
                const std::vector<SymbolicExpr> &to);
  Grid inOrder(Grid x);
  Grid withFeatures(Grid x);
  bool isChosenAxis(const Grid &x, size_t axis) const;
  Grid intoGrid(Grid x, size_t axis);
  Grid outOfGrid(Grid x, size_t axis);
  Grid gridOf(const std::string &name);
  Grid gridOfOperand(const std::string &name, const GridShape &shape);
  Tensor numbersAt(const IndexTensor &x, const GridShape &shape, std::vector<IndexTerm> places);
  Tensor rowsFor(const std::string &name, const GridShape &shape);
  Tensor outputOnGrid(const std::string &name);
  void defineGrid(const NormalNode &node, const std::vector<bool> &isOfGrid, Tensor rows, size_t output = 0,
                  const std::vector<size_t> &order = {});
  static std::string textOf(const std::vector<SymbolicExpr> &sizes);
  std::vector<Tensor> runOnRows(NormalNode node, const std::map<std::string, Tensor> &rows,
                                const std::vector<std::vector<SymbolicExpr>> &shapes);
  TensorMeta metaOf(const Tensor &tensor, TensorMeta like) const;
  bool makesGrid(const NormalNode &node) const;
  Tensor ofEachRow(const Tensor &matrix, int number);
  std::map<std::string, Tensor> spreadMatrices(const std::vector<std::string> &given, bool isProduct);
  bool runGrid(const NormalNode &node);
  void runEach(const NormalNode &node, const std::vector<std::string> &given);
  void runAlong(const NormalNode &node, bool isLast, bool isChannel);
  std::optional<Grid> reshapeGrid(Grid x, const std::vector<SymbolicExpr> &wanted);
  Tensor reshapeFeatures(Tensor x, const Dim &points, const std::vector<SymbolicExpr> &sizes);
  Grid permuteGrid(Grid x, const std::vector<size_t> &order);
  bool viewGrid(const NormalNode &node);
  bool lookUpOnGrid(const NormalNode &node);
  bool gatherFromGrid(const NormalNode &node);
  Tensor reducedRows(const std::string &function, Tensor rows, const std::vector<SymbolicExpr> &from,
                     const std::vector<SymbolicExpr> &to, const std::vector<IndexTerm> &places, Tensor base,
                     bool includeSelf);
  std::vector<IndexTerm> placesWithout(const GridShape &shape, const std::set<size_t> &axes);
  bool isOpenPair(const GridShape &shape) const;
  Tensor inWholeRows(const Grid &x);
  bool isInWholeRows(const Tensor &x) const;
  bool foldWholeRows(const std::string &function, Tensor &x, const std::vector<Dim> &gone);
  void runOnPairs(const NormalNode &node, const std::vector<std::string> &given);
  bool foldGrid(const NormalNode &node);
  bool padGrid(const NormalNode &node);
  bool convolveGrid(const NormalNode &node);
  bool convolveSteps(const NormalNode &node);
  bool joinGrids(const NormalNode &node);
  bool einsumOnRows(const NormalNode &node);
  bool scatterToGrid(const NormalNode &node);
  std::map<std::string, Grid> grids;
  std::optional<SymbolicExpr> rowCount; ///< how many rows there are in grids of rows by places

  //===--- Neighbours from values (RecoverSelections.cpp) -----------------------===//
  void opNearest(const NormalNode &node);
  void opMembers(const NormalNode &node);
  Tensor rowsOfPoints(const NormalNode &node, const char *name);
  int choose(Operation choice, const SymbolicExpr &length, const std::string &name, bool isTable = false);
  int onElements(const Tensor &x, const char *what, const char *hint = "");
  IndexLists keptWhere(int condition, const SymbolicExpr &length, int order = 0);
  static bool isOfChosen(const Index &list);
  int numbersOf(const Index &list);
  int choiceIn(const Index &list) const;
  int choiceOf(const Index &list) const;
  Index groupsOfBest(const Index &list) const;
  std::optional<int> truthOfChosen(const Index &mask, std::vector<std::string> *defined);
  bool mayBeUndefined(const Index &list) const;
  /// Of each list of kept elements, by its text, the places that are defined on all of them.
  std::map<std::string, std::set<std::string>> definedWhere;
  std::optional<IndexLists> keptPlaces(const std::string &name, const SymbolicExpr &length);
  /// Of a mask's value, and the order: how many it keeps, and their space.
  std::map<std::pair<int, int>, std::pair<SymbolicExpr, int>> keptBy;
  int groupMap(const IndexLists &groups, int from, int to);

  //===--- Places that differ by feature (RecoverEach.cpp) ------------------===//
  size_t rowsOfPlaces(const Tensor &x, size_t dim, const IndexTensor &at) const;
  static std::optional<size_t> featureOfPlaces(const IndexTensor &at, size_t dim, size_t rows);
  Tensor firstOf(const Tensor &x, size_t axis, const SymbolicExpr &count);
  Tensor isPlaceOf(const Index &places, const Tensor &like, size_t dim, size_t rows);
  Tensor gatherEach(Tensor x, size_t dim, const IndexTensor &at);
  Tensor scatterEach(Tensor base, size_t dim, const IndexTensor &at, Tensor source, const std::string &function);

  //===--- Computed places (RecoverChosen.cpp) -----------------------------===//
  Tensor isPlace(const Tensor &number, size_t dim, int64_t count);
  std::optional<int64_t> choices(const Tensor &x, size_t dim) const;
  std::optional<std::vector<Tensor>> chosenPlaces(const NormalNode &node, const Tensor &x, size_t dim);
  bool gatherChosen(const NormalNode &node, const Tensor &x, size_t dim, const std::string &at);
  bool gatherPlaces(const NormalNode &node, const Tensor &x, size_t dim);
  bool scatterPlaces(const NormalNode &node, Tensor x, size_t dim);
  std::vector<Tensor> orderedPlaces(const Tensor &x, size_t dim, int64_t count, bool largest);

  //===--- Integers (RecoverIntegers.cpp, RecoverIntegerShapes.cpp) ----------===//
  void runIntegers(const NormalNode &node);
  Index call(const std::string &function, std::vector<Index> arguments, SymbolicExpr length, bool isTruth = false);
  Index callScalar(const std::string &function, std::vector<Index> arguments, bool isTruth = false);
  Index constant(int64_t value) const;
  Index sizeIndex(const SymbolicExpr &size) const;
  Index nonzero(const Index &mask, const SymbolicExpr &length);
  std::vector<Index> partsInTurn(const Index &list);
  Index elementOf(const Index &list, int64_t at);
  Index listOf(const std::vector<Index> &numbers);
  IndexLists unrolled(const IndexLists &tensor, size_t dim);
  IndexLists withComponents(const IndexLists &tensor, size_t dim);
  IndexLists withoutCopies(IndexLists tensor);
  std::optional<std::vector<int64_t>> constantsOf(IndexLists tensor);
  std::optional<Tensor> asOneHot(const IndexLists &index);
  bool givesTruth(const NormalNode &node) const;
  bool isUsed(const std::string &name) const;
  IndexLists indexArgument(const NormalNode &node, const std::string &name);
  IndexTensor elementwise(const std::string &function, const std::vector<IndexTensor> &operands, bool isTruth,
                          const std::vector<SymbolicExpr> &sizes);
  IndexTensor numberTensor(int64_t value);
  IndexTensor eachList(const IndexTensor &x, size_t dim, const SymbolicExpr &length,
                       const std::function<Index(const Index &)> &function);
  bool isKnown(const SymbolicExpr &size) const;
  std::optional<std::string> sourceOfSymbol(const std::string &symbol) const;
  SymbolicExpr resolvedSize(const SymbolicExpr &size) const;
  void writePlaces(const NormalNode &node);
  IndexTensor placesAlong(const NormalNode &node, const std::string &name, const SymbolicExpr &size,
                          const SymbolicExpr &length);
  IndexTensor readable(const IndexTensor &x, size_t dim);
  std::optional<std::vector<std::vector<int64_t>>> trueAt(const IndexTensor &mask);
  IndexTensor bestPlace(const IndexTensor &x, size_t dim, bool isLargest);
  /// An integer tensor as numbers without a gradient.
  Tensor asNumbers(const IndexLists &index);
  int inputFrom(const Index &index, const std::string &name);
  int onesOf(int space);
  std::vector<int64_t> constantIntegers(const std::string &name) const;

  //===--- Operators on integers (RecoverInteger*.cpp) -----------------------===//
  static const std::map<std::string, Handler> &integerHandlers();
  void intItem(const NormalNode &node);
  void intBinary(const NormalNode &node);
  bool bitsOf(const NormalNode &node, const IndexTensor &a, const IndexTensor &b);
  void intUnary(const NormalNode &node);
  IndexTensor wrapped(const NormalNode &node, const std::string &function, const std::vector<IndexTensor> &operands,
                      const IndexTensor &result);
  IndexTensor signOf(const IndexTensor &x);
  IndexTensor magnitudeOf(const IndexTensor &x);
  IndexTensor towardsZero(const IndexTensor &a, const IndexTensor &b, const std::vector<SymbolicExpr> &shape);
  void intClamp(const NormalNode &node);
  void intWhere(const NormalNode &node);
  void intSame(const NormalNode &node);
  void intFill(const NormalNode &node);
  void intOneHot(const NormalNode &node);
  void intTriangle(const NormalNode &node);
  void intSelect(const NormalNode &node);
  void intView(const NormalNode &node);
  void intExpand(const NormalNode &node);
  void intTranspose(const NormalNode &node);
  void intRepeat(const NormalNode &node);
  void intCat(const NormalNode &node);
  void intReplacePart(const NormalNode &node);
  void intCopy(const NormalNode &node);
  void intSlice(const NormalNode &node);
  void intFlip(const NormalNode &node);
  void intUnfold(const NormalNode &node);
  void intPad(const NormalNode &node);
  void intDiagonal(const NormalNode &node);
  void intMeshgrid(const NormalNode &node);
  void intOuter(const NormalNode &node);
  void intPower(const NormalNode &node);
  std::vector<std::pair<int64_t, size_t>> rollOf(const NormalNode &node, size_t rank) const;
  Index rolledPlaces(int64_t shift, const SymbolicExpr &size);
  void intRoll(const NormalNode &node);
  void intIndex(const NormalNode &node);
  void intNonzero(const NormalNode &node);
  void intPut(const NormalNode &node);
  void intList(const NormalNode &node);
  void intUnique(const NormalNode &node, const IndexTensor &x);
  void uniqueColumns(const NormalNode &node, const IndexLists &x, size_t dim);
  void defineInverse(const NormalNode &node, const Index &list, const SymbolicExpr &length,
                     const std::vector<SymbolicExpr> &shape);
  void intReduce(const NormalNode &node);
  void intScatter(const NormalNode &node);
  void intInterleave(const NormalNode &node);

  //===--- Operators --------------------------------------------------------===//
  void opUnary(const NormalNode &node);
  void opBinary(const NormalNode &node);
  void opSame(const NormalNode &node);
  void opDetach(const NormalNode &node);
  void opClamp(const NormalNode &node);
  void opPow(const NormalNode &node);
  void opWhere(const NormalNode &node);
  void opMaskedFill(const NormalNode &node);
  void opNot(const NormalNode &node);
  void opAddcmul(const NormalNode &node);
  void opFull(const NormalNode &node);
  void opReshape(const NormalNode &node);
  void opSqueeze(const NormalNode &node);
  void opUnsqueeze(const NormalNode &node);
  void opExpand(const NormalNode &node);
  void opRepeat(const NormalNode &node);
  std::vector<size_t> transposedAxes(const NormalNode &node, size_t rank) const;
  void opTranspose(const NormalNode &node);
  void opSelect(const NormalNode &node);
  void opSlice(const NormalNode &node);
  void opSplit(const NormalNode &node);
  void opCat(const NormalNode &node);
  void opFold(const NormalNode &node);
  void opMaxDim(const NormalNode &node);
  void opVariance(const NormalNode &node);
  void opNorm(const NormalNode &node);
  void opSoftmax(const NormalNode &node);
  void opLinear(const NormalNode &node);
  void opMatmul(const NormalNode &node);
  void opEinsum(const NormalNode &node);
  void opGather(const NormalNode &node);
  Tensor withFixedPadding(const NormalNode &node, Tensor rows, const IndexTensor &at);
  std::optional<std::vector<int64_t>> knownPlaces(const IndexLists &mask);
  IndexTensor fromFront(const IndexTensor &at, const SymbolicExpr &size);
  IndexLists fromFront(const IndexLists &at, const SymbolicExpr &size);
  void opIndex(const NormalNode &node);
  void opScatter(const NormalNode &node);
  void opIndexAdd(const NormalNode &node);
  void opIndexPut(const NormalNode &node);
  Index oneList(const IndexLists &at);
  bool putAtKnownPairs(const NormalNode &node, const Tensor &base, Tensor values,
                       const std::vector<std::string> &places);
  void addAtPairs(const NormalNode &node, const Tensor &base, Tensor values, const IndexLists &rows,
                  const IndexLists &columns);
  void opSegmentReduce(const NormalNode &node);
  void opEmbeddingBag(const NormalNode &node);
  void opOneHot(const NormalNode &node);
  void opBucketize(const NormalNode &node);
  void opBatchNorm(const NormalNode &node);
  void opLayerNorm(const NormalNode &node);
  void opDropout(const NormalNode &node);
  void opCrossEntropy(const NormalNode &node);
  Tensor ofOwnClass(const NormalNode &node, const Tensor &logarithms);
  void opGRUCell(const NormalNode &node);
  void opLSTMCell(const NormalNode &node);
  void opRecurrent(const NormalNode &node);
  struct CellWeights;
  CellWeights cellWeights(const NormalNode &node);
  Tensor stepRNN(const std::string &function, const Tensor &x, const Tensor &h, const CellWeights &weights);
  std::set<const NormalNode *> unreadNodes() const;
  void runNode(const NormalNode &node);
  RecoveredProgram finish();
  void computeScalar(const NormalNode &node);
  void learnSize(const NormalNode &node);
  Tensor stepGRU(const Tensor &x, const Tensor &h, const CellWeights &weights);
  std::pair<Tensor, Tensor> stepLSTM(const Tensor &x, const Tensor &h, const Tensor &c, const CellWeights &weights);
  void opDistanceLoss(const NormalNode &node);
  void opBinaryCrossEntropy(const NormalNode &node);
  Tensor probabilityLoss(const Tensor &p, const Tensor &target);
  void opDivergence(const NormalNode &node);
  void opMarginLoss(const NormalNode &node);
  void defineLoss(const NormalNode &node, Tensor each);
  void opInstanceNorm(const NormalNode &node);
  void opPReLU(const NormalNode &node);
  void opCross(const NormalNode &node);
  void opCosine(const NormalNode &node);
  void opFlip(const NormalNode &node);
  void opPair(const NormalNode &node);
  void opDivision(const NormalNode &node);
  void opAngle(const NormalNode &node);
  Tensor angle(const Tensor &y, const Tensor &x, bool isDouble);
  Tensor side(const Tensor &x);
  Tensor corrected(const Tensor &rough, const Tensor &exact);
  Tensor log1p(const Tensor &x);
  Tensor truncated(const Tensor &x);
  Tensor expm1(const Tensor &x);
  Tensor erfc(const Tensor &x);
  void opSequence(const NormalNode &node);
  void opEye(const NormalNode &node);
  void opFillDiagonal(const NormalNode &node);
  void opTriangle(const NormalNode &node);
  void opPad(const NormalNode &node);
  void opCumulative(const NormalNode &node);
  void opProduct(const NormalNode &node);
  void opRoll(const NormalNode &node);
  void opReplacePart(const NormalNode &node);
  void opCopy(const NormalNode &node);
  void opGLU(const NormalNode &node);
  void opArgExtremum(const NormalNode &node);
  void opOrder(const NormalNode &node);
  void opPool1d(const NormalNode &node);
  void opTriplet(const NormalNode &node);
  void opCosineLoss(const NormalNode &node);
  void opRepeatInterleave(const NormalNode &node);
  void opDiagonal(const NormalNode &node);
  void opAttention(const NormalNode &node);
  void opGroupNorm(const NormalNode &node);
  void opRMSNorm(const NormalNode &node);
  void opWeightNorm(const NormalNode &node);
  void opInner(const NormalNode &node);
  void opDistance(const NormalNode &node);
  void opBilinear(const NormalNode &node);
  void opTrilinear(const NormalNode &node);
  void opPairDistances(const NormalNode &node);
  void opConvolution(const NormalNode &node);
  struct Steps {
    size_t along; ///< the axis
    int64_t stride, dilation, padding, groups;
  };
  Steps stepsOf(const NormalNode &node, const Tensor &weight);
  std::pair<Tensor, std::optional<Tensor>> weightsOf(const NormalNode &node, const Steps &steps);
  Tensor convolved(Tensor x, const Tensor &weight, int64_t steps, int64_t stride, int64_t dilation, int64_t groups);
  void opAny(const NormalNode &node);
  //===--- Rare functions (RecoverSpecial.cpp) -----------------------------===//
  void opIsSpecial(const NormalNode &node);
  void opNanToNum(const NormalNode &node);
  void opFoldPresent(const NormalNode &node);
  void opRarePair(const NormalNode &node);
  void opRare(const NormalNode &node);
  /// The largest finite number of the type of a node's operands.
  double largestOf(const NormalNode &node) const;
  Tensor isMissing(const Tensor &x);
  Tensor logOfSum(const Tensor &a, const Tensor &b);
  Tensor present(const std::string &function, const Tensor &a, const Tensor &b);
  //===--- Neighbours (RecoverJoins.cpp) -----------------------------------===//
  void opAtLeast(const NormalNode &node);
  void opStackParts(const NormalNode &node);
  void opDiff(const NormalNode &node);
  void opTrapezoid(const NormalNode &node);
  void opRunning(const NormalNode &node);
  void opUnfold(const NormalNode &node);
  void opDiagEmbed(const NormalNode &node);
  void opDiagonalScatter(const NormalNode &node);
  void opKron(const NormalNode &node);
  void opOrdered(const NormalNode &node);
  void opArgsort(const NormalNode &node);
  int64_t fixedSize(const NormalNode &node, const Tensor &x, size_t dim) const;
  Tensor atLeast(Tensor x, size_t rank);
  Tensor paddedBy(const Tensor &x, size_t dim, const SymbolicExpr &before, const SymbolicExpr &after, double value);
  Tensor paddedByItself(const NormalNode &node, const Tensor &x, size_t dim, int64_t before, int64_t after);
  //===--- Products, norms and losses that few models have -----------------===//
  void opChain(const NormalNode &node);
  void opAddOuter(const NormalNode &node);
  void opVecdot(const NormalNode &node);
  void opDist(const NormalNode &node);
  void opExtrema(const NormalNode &node);
  void opPoissonLoss(const NormalNode &node);
  void opHingeLoss(const NormalNode &node);
  void opMultiMargin(const NormalNode &node);
  Tensor norm(const Tensor &x, double order, const std::vector<size_t> &dims, bool keep);
  std::optional<Tensor> madeOfOthers(const NormalNode &node, const Tensor &x);
  Tensor truth(const NormalNode &node, const std::string &name);
  std::optional<ScalarType> typeOf(const std::string &name) const;
  Tensor pattern(int64_t rows, int64_t columns, const std::function<bool(int64_t, int64_t)> &condition);
  int64_t oneOf(const NormalNode &node, const std::string &name, int64_t absent) const;
  Tensor padded(const Tensor &x, int64_t amount, double value);
  std::vector<Tensor> inOrder(const Tensor &x, size_t dim, bool descending);
  Tensor cosine(std::vector<Tensor> both, size_t dim, double eps);
  Tensor distance(const Tensor &a, const Tensor &b, double order, double eps, bool keep);
  Tensor firstBest(const Tensor &x, size_t dim, bool largest, bool keep);
  Tensor softmax(Tensor x, size_t dim, bool isLog);
  Tensor perChannel(const NormalNode &node, const std::string &name, size_t rank);
  Tensor normalised(const Tensor &x, const std::vector<size_t> &dims, double eps);
  void defineStatistics(const NormalNode &node, const Tensor &x, const std::vector<size_t> &dims, double eps);
  Tensor scaled(const NormalNode &node, Tensor y, bool channels);

  const ExportedProgram &exported;
  const GridOptions gridOptions;
  GridOptions wants;
  NormalProgram normal;
  RecoveredProgram program;
  std::map<std::string, Tensor> tensors;
  std::map<std::string, IndexTensor> indices;
  IndexAlgebra algebra;
  IndexSources indexSources{algebra, [this](const SymbolicExpr &size) { return sizeIndex(size); },
                            [this](const SymbolicExpr &size) { return resolvedSize(size); }};
  std::map<std::string, std::string> symbolSources; ///< what a symbol's value is computed from
  std::map<std::string, std::string> countedSizes;  ///< the same, where nothing in the program counts it
  EqualSizes equalSizes;
  std::map<std::string, SymbolicExpr> knownSizes; ///< symbols that are sums of others, or a number
  std::map<std::string, int> spaceNumbers, mapNumbers, countInputs, indexInputs;
  std::map<std::string, SymbolicExpr> nonzeroLengths;
  std::set<std::string> takenNames;
};

} // namespace gnnc::frontend::pytorch

#endif // GNNC_LIB_FRONTEND_PYTORCH_RECOVER_H
