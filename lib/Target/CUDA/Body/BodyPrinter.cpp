//===- BodyPrinter.cpp - Body operations as CUDA C++ ----------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Body/BodyPrinter.h"
#include "Body/RowParts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace gnnc;
using namespace gnnc::cuda;
using namespace gnnc::mpdfg;

SmallVector<int64_t> cuda::rowMajor(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

BodyPrinter::BodyPrinter(mpk::SweepOp sweep, const BodyAxes &axes, const LaneLayout &layout, CodeWriter &out)
    : axes(axes), layout(layout), out(out),
      mostNumbers(getElementType(sweep.getResult(0).getType()).getElementType().isF64() ? 2 : 4) {
  for (Value argument : sweep.getBody().getArguments())
    numbers.try_emplace(argument, numbers.size());
  for (Operation &op : sweep.getBody().front())
    for (Value result : op.getResults())
      numbers.try_emplace(result, numbers.size());
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string BodyPrinter::atomName(int atom) const {
  if (auto it = substituted.find(atom); it != substituted.end())
    return it->second;
  return atom < 26 ? std::string(1, char('a' + atom)) : "a" + std::to_string(atom);
}

std::string BodyPrinter::index(int number, Part part) const {
  const Atom &atom = axes[number];
  std::string variable = atomName(number);
  std::string base = atom.lanes * atom.tiles > 1 && part != Part::Register ? "at_" + variable : "";
  if (atom.held() == 1 || part == Part::Lane)
    return base.empty() ? "0" : base;
  std::string step = variable;
  if (atom.lanes > 1 && atom.vector == 1)
    step = variable + " * " + std::to_string(atom.lanes);
  else if (atom.lanes > 1)
    step = "(" + variable + " / " + std::to_string(atom.vector) + " * " + std::to_string(atom.lanes * atom.vector) +
           " + " + variable + " % " + std::to_string(atom.vector) + ")";
  return base.empty() ? step : "(" + base + " + " + step + ")";
}

Value BodyPrinter::root(Value value) const {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp, TransposeOp, DetachOp>(op) || axes.isRearrangement(op) || axes.isStaged(op->getOpOperand(0)))
      break;
    value = op->getOperand(0);
  }
  return value;
}

bool BodyPrinter::isWrittenWhereUsed(Value value) { return isa_and_nonnull<ConstantOp, IotaOp>(value.getDefiningOp()); }

std::string BodyPrinter::numbered(Value value) const { return "x" + std::to_string(numbers.lookup(value)); }

std::string BodyPrinter::name(Value value) const {
  value = root(value);
  return heldFields.contains(value) ? holder + numbered(value) : numbered(value);
}

/// The dimensions of a value's registers. What one access brings lies side by side, so its atom is the last.
SmallVector<int> BodyPrinter::registerOrder(const AxisList &shape) const {
  SmallVector<int> order;
  for (int atom : BodyAxes::atomsOf(shape))
    if (axes[atom].held() > 1 && atom != layout.vectorAtom)
      order.push_back(atom);
  if (llvm::is_contained(BodyAxes::atomsOf(shape), layout.vectorAtom))
    order.push_back(layout.vectorAtom);
  return order;
}

std::string BodyPrinter::subscripts(const AxisList &shape) const {
  std::string text;
  for (int atom : registerOrder(shape))
    text += "[" + atomName(atom) + "]";
  return text;
}

std::string BodyPrinter::element(Value value, const AxisList *seenAs) const {
  value = root(value);
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return literal(constant.getValue().convertToDouble());
  const AxisList &shape = seenAs ? *seenAs : axes.of(value);
  if (inlined.contains(value)) {
    SmallVector<std::string> x;
    for (Value operand : value.getDefiningOp()->getOperands())
      x.push_back(element(operand));
    return "(" + elementwise(value.getDefiningOp(), x) + ")";
  }
  if (value.getDefiningOp<IotaOp>())
    return "gnnc::numberOf(Real(0), " + offset(shape, getFeatureShape(value.getType())) + ")";
  if (auto it = fromMemory.find(value); it != fromMemory.end()) {
    std::string read = "gnnc::read(" + it->second + " + " + offset(shape, partOf(value).dims) + ")";
    std::string guard = inside(BodyAxes::atomsOf(shape));
    return guard.empty() ? read : "(" + guard + " ? " + read + " : Real(0))";
  }
  return name(value) + subscripts(shape);
}

std::string BodyPrinter::declaration(const Twine &name, const AxisList &shape) const {
  std::string text = ("Real " + name).str();
  for (int atom : registerOrder(shape))
    text += "[" + std::to_string(axes[atom].held()) + "]";
  return text;
}

std::string BodyPrinter::loops(ArrayRef<int> atoms, int stepped, int64_t numbers) const {
  std::string text;
  for (int atom : atoms) {
    int64_t held = axes[atom].held();
    if (atom == stepped && held > numbers)
      text += "GNNC_FOR_STEP(" + atomName(atom) + ", " + std::to_string(held) + ", " + std::to_string(numbers) + ") ";
    else if (atom != stepped && held > 1)
      text += "GNNC_FOR(" + atomName(atom) + ", " + std::to_string(held) + ") ";
  }
  return text;
}

std::string BodyPrinter::loopsOverMemory(ArrayRef<int> atoms, bool rolled) const {
  std::string text = loops(atoms);
  for (size_t at = 0; rolled && (at = text.find("GNNC_FOR(", at)) != std::string::npos;)
    text.replace(at, 8, "GNNC_LOOP");
  return text;
}

bool BodyPrinter::isOfMemory(Value value) const {
  value = root(value);
  if (fromMemory.count(value) || isWrittenWhereUsed(value) || registerOrder(axes.of(value)).empty())
    return true;
  return inlined.contains(value) &&
         llvm::all_of(value.getDefiningOp()->getOperands(), [&](Value operand) { return isOfMemory(operand); });
}

void BodyPrinter::forEach(const AxisList &shape, const Twine &statement) {
  out.line(loops(BodyAxes::atomsOf(shape)) + statement);
}

//===----------------------------------------------------------------------===//
// Places in memory
//===----------------------------------------------------------------------===//

std::string BodyPrinter::offset(const AxisList &shape, ArrayRef<int64_t> dims, Part part) const {
  SmallVector<int64_t> strides = rowMajor(dims);
  std::string text;
  for (auto [axis, stride] : llvm::zip(shape, strides)) {
    int64_t inner = stride;
    SmallVector<std::string> terms;
    for (int atom : llvm::reverse(axis)) {
      std::string at = index(atom, part);
      if (at != "0")
        terms.push_back(inner == 1 ? at : at + " * " + std::to_string(inner));
      inner *= axes[atom].extent;
    }
    for (const std::string &term : llvm::reverse(terms))
      text += (text.empty() ? "" : " + ") + term;
  }
  return text.empty() ? "0" : text;
}

std::string BodyPrinter::inside(ArrayRef<int> atoms) const {
  std::string text;
  for (int atom : atoms)
    if (axes[atom].isPadded())
      text += (text.empty() ? "" : " && ") + index(atom) + " < " + std::to_string(axes[atom].extent);
  return text;
}

std::string BodyPrinter::isFirstCopy(const AxisList &shape, bool inTile) const {
  SmallVector<int> own = BodyAxes::atomsOf(shape);
  std::string text;
  for (unsigned i = 0; i < axes.size(); ++i) {
    const Atom &atom = axes[i];
    if (atom.lanes * (inTile ? 1 : atom.tiles) == 1 || llvm::is_contained(own, int(i)))
      continue;
    int64_t inOne = atom.registers * atom.lanes * atom.vector; // of a tile
    // Lanes that hold the value's own indices are all wanted.
    if (atom.lanes > 1 && llvm::any_of(own, [&](int other) {
          return axes[other].lanes > 1 && axes[other].firstLane == atom.firstLane;
        })) {
      if (!inTile && atom.tiles > 1)
        text += (text.empty() ? "" : " && ") + ("at_" + atomName(i) + " < " + std::to_string(inOne));
      continue;
    }
    // Tiles begin at multiples of what one of them has.
    std::string first = inTile && atom.tiles > 1 ? " % " + std::to_string(inOne) + " == 0" : " == 0";
    text += (text.empty() ? "" : " && ") + ("at_" + atomName(i) + first);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Shared memory: what changes lanes
//===----------------------------------------------------------------------===//

/// Indices of an atom that one tile has. What changes lanes is whole in each tile, so only the other atoms are cut.
static int64_t extentInTile(const Atom &atom) {
  return atom.tiles > 1 ? atom.registers * atom.lanes * atom.vector : atom.extent;
}

/// Strides of a value's axes in shared memory, which has what one tile has of the value, and how many numbers that is.
static std::pair<SmallVector<int64_t>, int64_t> stagedStrides(const BodyAxes &axes, const AxisList &shape) {
  SmallVector<int64_t> dims;
  for (const AtomList &axis : shape) {
    int64_t size = 1;
    for (int atom : axis)
      size *= extentInTile(axes[atom]);
    dims.push_back(size);
  }
  return {rowMajor(dims), RefTensor::product(dims)};
}

static std::string stagedOffset(const BodyPrinter &printer, const BodyAxes &axes, const AxisList &shape,
                                ArrayRef<int64_t> strides, int64_t from) {
  std::string text = std::to_string(from);
  for (auto [axis, stride] : llvm::zip(shape, strides)) {
    int64_t inner = stride;
    for (int atom : llvm::reverse(axis)) {
      int64_t extent = extentInTile(axes[atom]);
      if (extent > 1) {
        std::string place = printer.index(atom);
        if (axes[atom].tiles > 1)
          place += " % " + std::to_string(extent);
        text += " + " + place + " * " + std::to_string(inner);
      }
      inner *= extent;
    }
  }
  return text;
}

void BodyPrinter::stage(Value value, const AxisList &shape, ArrayRef<int64_t> strides, int64_t from) {
  SmallVector<int> atoms = BodyAxes::atomsOf(shape);
  std::string guard = inside(atoms), copy = isFirstCopy(shape, /*inTile=*/true);
  if (!copy.empty())
    guard = guard.empty() ? copy : copy + " && " + guard;
  out.line(loops(atoms) + (guard.empty() ? "" : "if (" + guard + ") ") + "staging[" +
           stagedOffset(*this, axes, shape, strides, from) + "] = " + element(value) + ";");
}

void BodyPrinter::unstage(const Twine &target, const AxisList &shape, ArrayRef<int64_t> strides, int64_t from) {
  SmallVector<int> atoms = BodyAxes::atomsOf(shape);
  std::string guard = inside(atoms);
  std::string read = "staging[" + stagedOffset(*this, axes, shape, strides, from) + "]";
  out.line(loops(atoms) + target + subscripts(shape) + " = " +
           (guard.empty() ? read : guard + " ? " + read + " : Real(0)") + ";");
}

std::string BodyPrinter::stagedOperand(OpOperand &operand) {
  Value value = operand.get();
  const AxisList &to = axes.of(operand);
  if (fromMemory.count(value)) // It is read with other lanes.
    return element(value, &to);
  auto [strides, numbers] = stagedStrides(axes, axes.of(value));
  std::string copy = numbered(operand.getOwner()->getResult(0)) + "_" + std::to_string(operand.getOperandNumber());
  staging = std::max<unsigned>(staging, numbers);
  out.line("gnnc::syncWarp();");
  stage(value, axes.of(value), strides, 0);
  out.line("gnnc::syncWarp();");
  out.line(declaration(copy, to) + ";");
  unstage(copy, to, strides, 0);
  return copy + subscripts(to);
}

void BodyPrinter::rearrange(Operation *op) {
  Value result = op->getResult(0);
  out.line("gnnc::syncWarp();");
  if (auto slice = dyn_cast<SliceOp>(op)) {
    auto [strides, numbers] = stagedStrides(axes, axes.of(slice.getInput()));
    staging = std::max<unsigned>(staging, numbers);
    stage(slice.getInput(), axes.of(slice.getInput()), strides, 0);
    out.line("gnnc::syncWarp();");
    unstage(name(result), axes.of(result), strides, slice.getBegin() * strides[slice.getAxis()]);
    return;
  }
  auto [strides, numbers] = stagedStrides(axes, axes.of(result));
  staging = std::max<unsigned>(staging, numbers);
  int64_t from = 0;
  for (Value operand : op->getOperands()) {
    if (auto concat = dyn_cast<ConcatOp>(op)) {
      stage(operand, axes.of(operand), strides, from);
      from += getFeatureShape(operand.getType())[concat.getAxis()] * strides[concat.getAxis()];
    } else {
      stage(operand, axes.of(operand), stagedStrides(axes, axes.of(operand)).first, 0);
    }
  }
  out.line("gnnc::syncWarp();");
  unstage(name(result), axes.of(result), strides, 0);
}

/// The atoms of an axis that number its parts of `common` numbers.
static ArrayRef<int> partAtoms(const BodyAxes &axes, const AtomList &axis, int64_t common) {
  ArrayRef<int> outer = axis;
  for (int64_t inner = 1; inner < common; outer = outer.drop_back())
    inner *= axes[outer.back()].extent;
  return outer;
}

void BodyPrinter::substitute(const AxisList &shape, int64_t axis, int64_t common, const std::string &part) {
  ArrayRef<int> outer = partAtoms(axes, shape[axis], common);
  int64_t stride = 1;
  for (int atom : llvm::reverse(outer)) {
    std::string at = stride == 1 ? part : "(" + part + ") / " + std::to_string(stride);
    substituted[atom] =
        atom == outer.front() ? "(" + at + ")" : "((" + at + ") % " + std::to_string(axes[atom].extent) + ")";
    stride *= axes[atom].extent;
  }
}

void BodyPrinter::copyParts(Operation *op) {
  auto slice = dyn_cast<SliceOp>(op);
  Value result = op->getResult(0);
  int64_t axis = slice ? slice.getAxis() : cast<ConcatOp>(op).getAxis(), common = commonPart(op), from = 0;
  for (Value operand : op->getOperands()) {
    // Loops go over the smaller side; its part `n` is part `n + first` of the larger.
    const AxisList &small = axes.of(slice ? result : operand), &large = axes.of(slice ? operand : result);
    std::string number;
    for (int atom : partAtoms(axes, small[axis], common))
      number = number.empty() ? atomName(atom)
                              : "(" + number + ") * " + std::to_string(axes[atom].extent) + " + " + atomName(atom);
    int64_t first = slice ? slice.getBegin() / common : from;
    std::string part = number.empty() ? std::to_string(first) : number + " + " + std::to_string(first);
    std::string loop = loops(BodyAxes::atomsOf(small)),
                own = slice ? name(result) + subscripts(small) : element(operand);
    substitute(large, axis, common, part);
    std::string other = slice ? element(operand) : name(result) + subscripts(large);
    substituted.clear();
    out.line(loop + (slice ? own + " = " + other : other + " = " + own) + ";");
    from += getFeatureShape(operand.getType())[axis] / common;
  }
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// Wraps a value in reductions over the lanes of each atom.
std::string BodyPrinter::reduceLanes(StringRef function, ArrayRef<int> atoms, std::string value) const {
  // Atoms whose lanes lie side by side are one exchange.
  SmallVector<int> sorted(atoms);
  llvm::sort(sorted, [&](int a, int b) { return axes[a].firstLane < axes[b].firstLane; });
  for (size_t i = 0; i < sorted.size();) {
    int64_t first = axes[sorted[i]].firstLane, count = axes[sorted[i]].lanes;
    for (++i; i < sorted.size() && (axes[sorted[i]].lanes == 1 || axes[sorted[i]].firstLane == first * count); ++i)
      count *= axes[sorted[i]].lanes;
    if (count > 1)
      value = ("gnnc::" + function + "<" + Twine(first) + ", " + Twine(count) + ">(" + value + ")").str();
  }
  return value;
}

/// The atoms that an operation's operands have and its result has not.
SmallVector<int> BodyPrinter::summedAtoms(Operation *op) const {
  SmallVector<int> kept = BodyAxes::atomsOf(axes.of(op->getResult(0))), summed;
  for (OpOperand &operand : op->getOpOperands())
    for (int atom : BodyAxes::atomsOf(axes.of(operand)))
      if (!llvm::is_contained(kept, atom) && !llvm::is_contained(summed, atom))
        summed.push_back(atom);
  llvm::sort(summed);
  return summed;
}

bool BodyPrinter::sumsLanes(Operation *sum) const {
  for (OpOperand &operand : sum->getOpOperands())
    if (axes.isStaged(operand))
      return false;
  return !axes.isRearrangement(sum) && root(sum->getResult(0)) == sum->getResult(0) &&
         llvm::any_of(summedAtoms(sum), [&](int atom) { return axes[atom].lanes > 1; });
}

std::string BodyPrinter::acrossLanes(Operation *sum, const std::string &value) const {
  return reduceLanes("sumLanes", summedAtoms(sum), value);
}

void BodyPrinter::withinLanes(Operation *sum) {
  if (auto product = dyn_cast<ContractOp>(sum))
    return contract(product, /*across=*/false);
  SmallVector<int> kept = BodyAxes::atomsOf(axes.of(sum->getResult(0))), summed = summedAtoms(sum);
  std::string term = element(sum->getOperand(0)), guard = inside(summed);
  out.open(loops(kept));
  out.line("Real sum = 0;");
  out.line(loops(summed) + "sum += " + (guard.empty() ? term : guard + " ? " + term + " : Real(0)") + ";");
  out.line(name(sum->getResult(0)) + subscripts(axes.of(sum->getResult(0))) + " = sum;");
  out.close();
}

void BodyPrinter::contract(ContractOp op, bool across) {
  SmallVector<std::string> terms;
  for (OpOperand &operand : op->getOpOperands())
    terms.push_back(axes.isStaged(operand) ? stagedOperand(operand) : element(operand.get()));
  SmallVector<int> kept = BodyAxes::atomsOf(axes.of(op.getResult())), summed = summedAtoms(op);
  std::string target = name(op.getResult()) + subscripts(axes.of(op.getResult()));
  std::string term = terms[0] + " * " + terms[1], guard = inside(summed);
  if (summed.empty()) {
    out.line(loops(kept) + target + " = " + term + ";");
    return;
  }
  if (!guard.empty())
    term = "(" + guard + " ? " + term + " : Real(0))";
  auto whole = [&](const std::string &part) { return across ? reduceLanes("sumLanes", summed, part) : part; };
  bool isRolled = loops(kept).empty() && llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
                    return !axes.isStaged(operand) && isOfMemory(operand.get());
                  });
  std::string inner = loopsOverMemory(summed, isRolled);
  if (inner.empty()) {
    out.line(loops(kept) + target + " = " + whole(term) + ";");
    return;
  }
  out.open(loops(kept));
  out.line("Real sum = 0;");
  out.line(inner + "sum += " + term + ";");
  out.line(target + " = " + whole("sum") + ";");
  out.close();
}

void BodyPrinter::fold(FoldOp op) {
  const AxisList &from = axes.of(op->getOpOperand(0));
  SmallVector<int> kept = BodyAxes::atomsOf(axes.of(op.getResult())), folded;
  int64_t count = 1;
  for (int64_t axis : op.getAxes()) {
    llvm::append_range(folded, from[axis]);
    count *= getFeatureShape(op.getInput().getType())[axis];
  }
  llvm::sort(folded);
  bool isStaged = axes.isStaged(op->getOpOperand(0));
  std::string term = isStaged ? stagedOperand(op->getOpOperand(0)) : element(op.getInput());
  std::string target = name(op.getResult()) + subscripts(axes.of(op.getResult())), guard = inside(folded);
  auto guarded = [&](std::string value, std::string neutral) {
    return guard.empty() ? value : guard + " ? " + value + " : " + neutral;
  };
  out.open(loops(kept));
  auto extreme = [&](StringRef variable, bool most) {
    std::string neutral = most ? "-Real(GNNC_INFINITY)" : "Real(GNNC_INFINITY)";
    out.line("Real " + variable + " = " + neutral + ";");
    out.line(loops(folded) + variable + " = gnnc::" + (most ? "most" : "least") + "(" + variable + ", Real(" +
             guarded(term, neutral) + "));");
    out.line(variable + " = " + reduceLanes(most ? "maxLanes" : "minLanes", folded, variable.str()) + ";");
  };
  switch (op.getKind()) {
  case ReduceKind::Max:
    extreme("best", true);
    out.line(target + " = best;");
    break;
  case ReduceKind::Min:
    extreme("best", false);
    out.line(target + " = best;");
    break;
  case ReduceKind::LogSumExp:
    extreme("best", true);
    out.line("best = gnnc::finite(best);");
    out.line("Real sum = 0;");
    out.line(loops(folded) + "sum += " + guarded("gnnc::exp(" + term + " - best)", "Real(0)") + ";");
    out.line(target + " = best + gnnc::log(" + reduceLanes("sumLanes", folded, "sum") + ");");
    break;
  default:
    out.line("Real sum = 0;");
    out.line(loopsOverMemory(folded, kept.empty() && !isStaged && isOfMemory(op.getInput())) +
             "sum += " + guarded(term, "Real(0)") + ";");
    out.line(target + " = " + reduceLanes("sumLanes", folded, "sum") +
             (op.getKind() == ReduceKind::Mean ? " * " + literal(1.0 / double(std::max<int64_t>(count, 1))) : "") +
             ";");
  }
  out.close();
}

std::string cuda::literal(double number) {
  if (std::isinf(number))
    return number < 0 ? "-Real(GNNC_INFINITY)" : "Real(GNNC_INFINITY)";
  if (std::isnan(number))
    return "Real(GNNC_NAN)";
  std::string text;
  llvm::raw_string_ostream(text) << "Real(" << llvm::format("%.17g", number) << ")";
  return text;
}

/// Whether a last place of a quotient may decide more than a last place of what is made of it: it is rounded to a whole
/// number, also with a half added (`steps`: sums on the way), or compared with a number that it may be equal to.
static bool isCutOff(Value quotient, int steps = 2) {
  return llvm::any_of(quotient.getUses(), [steps](OpOperand &use) {
    if (auto unary = dyn_cast<UnaryOp>(use.getOwner()))
      return llvm::is_contained({UnaryKind::Floor, UnaryKind::Ceil, UnaryKind::Round}, unary.getKind()) ||
             (steps > 0 && llvm::is_contained({UnaryKind::Abs, UnaryKind::Neg}, unary.getKind()) &&
              isCutOff(unary.getResult(), steps - 1));
    auto binary = dyn_cast<BinaryOp>(use.getOwner());
    if (!binary)
      return false;
    switch (binary.getKind()) {
    case BinaryKind::Add:
    case BinaryKind::Sub:
      return steps > 0 && isCutOff(binary.getResult(), steps - 1);
    case BinaryKind::Lt:
    case BinaryKind::Le:
    case BinaryKind::Gt:
    case BinaryKind::Ge:
    case BinaryKind::Eq:
    case BinaryKind::Ne: {
      auto bound = skipReshapes(binary->getOperand(1 - use.getOperandNumber())).getDefiningOp<ConstantOp>();
      return !bound || !bound.getValue().isZero(); // The sign of a quotient is right in any case.
    }
    default:
      return false;
    }
  });
}

std::string cuda::elementwise(Operation *op, ArrayRef<std::string> x) {
  return llvm::TypeSwitch<Operation *, std::string>(op)
      .Case<IsElementOp>([&](IsElementOp) { return "gnnc::isElement(" + x[0] + ", " + x[1] + ")"; })
      .Case<RandomOp>([&](RandomOp r) {
        return "gnnc::random(" + llvm::join(x, ", ") + ", " + std::to_string(uint32_t(r.getSite())) + "u)";
      })
      .Case<UnaryOp>([&](UnaryOp u) {
        std::string alpha = u.getKind() == UnaryKind::LeakyRelu || u.getKind() == UnaryKind::Elu
                                ? ", " + literal(u.getAlpha().convertToDouble())
                                : "";
        return "gnnc::" + stringifyEnum(u.getKind()).str() + "(" + x[0] + alpha + ")";
      })
      .Case<BinaryOp>([&](BinaryOp b) -> std::string {
        switch (b.getKind()) {
        case BinaryKind::Add:
          return x[0] + " + " + x[1];
        case BinaryKind::Sub:
          return x[0] + " - " + x[1];
        case BinaryKind::Mul:
          return x[0] + " * " + x[1];
        case BinaryKind::Div:
          return isCutOff(b.getResult()) ? "gnnc::quotient(" + x[0] + ", " + x[1] + ")" : x[0] + " / " + x[1];
        default:
          return "gnnc::" + stringifyEnum(b.getKind()).str() + "(" + x[0] + ", " + x[1] + ")";
        }
      })
      .Case<SelectOp>([&](SelectOp) { return x[0] + " != 0 ? " + x[1] + " : " + x[2]; })
      .Default([&](Operation *) { return x[0]; }); // A change of shape.
}

void BodyPrinter::operation(Operation *op) {
  Value result = op->getResult(0);
  if (isWrittenWhereUsed(result) || inlined.contains(result) || root(result) != result)
    return;
  if (axes.isRearrangement(op))
    return rearrange(op);
  if (isa<SliceOp, ConcatOp>(op))
    return copyParts(op);
  if (auto product = dyn_cast<ContractOp>(op))
    return contract(product);
  if (auto sum = dyn_cast<FoldOp>(op))
    return fold(sum);
  SmallVector<std::string> x;
  for (OpOperand &operand : op->getOpOperands())
    x.push_back(axes.isStaged(operand) ? stagedOperand(operand) : element(operand.get()));
  std::string value;
  if (auto extent = dyn_cast<ExtentOp>(op))
    value = "Real(" + extentOf(extent.getSpaceAttr()) + ")";
  else if (auto own = dyn_cast<ElementOp>(op))
    value = "gnnc::numberOf(Real(0), " + std::string(own.getMember() ? "m.element" : "owner") + ")";
  else
    value = elementwise(op, x);
  forEach(axes.of(result), name(result) + subscripts(axes.of(result)) + " = " + value + ";");
}
