//===- RecoverConstants.cpp - Tensors that a program makes ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers that are all the same are one number. Others, such as those of linspace, are states of the text, whose
// numbers the importer gives.
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Recover.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace gnnc;
using namespace gnnc::frontend::pytorch;

using Kind = Dim::Kind;

void Recover::opFull(const NormalNode &node) {
  const std::string &op = node.op;
  Tensor value = scalar(op.find("ones") != std::string::npos ? 1 : 0);
  const char *argument = op.find("full") != std::string::npos ? "fill_value"
                         : op == "scalar_tensor"              ? "s"
                         : op == "fill"                       ? "value"
                                                              : nullptr;
  if (argument && has(node, argument))
    value = tensor(node, argument);
  if (!value.dims.empty())
    throw Refusal{"argument '" + std::string(argument) + "': expected one number"};
  for (const SymbolicExpr &size : sizes(node))
    value.dims.push_back(dimOf(size));
  define(node, value);
}

/// Numbers at equal distances: arange and linspace of floating-point numbers.
void Recover::opSequence(const NormalNode &node) {
  SymbolicExpr length = sizes(node).at(0);
  bool isRange = node.op == "arange";
  std::optional<double> start = number(node, "start"), step = isRange ? number(node, "step") : std::nullopt;
  double begin = start.value_or(0), by = step.value_or(1);
  if (!length.getFactors().empty()) {
    // The number of each element of a space.
    if (!isRange || (has(node, "start") && !start))
      throw Refusal{"'" + node.op + "': expected a fixed number of steps" + (isRange ? " or a constant start" : "") +
                    ", found " + length.str() + " steps"};
    Index places = call("arange", {constant(0), sizeIndex(length), constant(1)}, length);
    Tensor numbers = asNumbers({{{IndexDim::Kind::Long, length}}, {places}});
    return define(node, binary("+", binary("*", numbers, by), begin));
  }
  int64_t count = length.getNumber();
  if (!isRange)
    by = count > 1 ? (number(node, "end", 0) - begin) / double(count - 1) : 0;
  std::vector<double> numbers;
  for (int64_t i = 0; i < count; ++i)
    numbers.push_back(!isRange && i > 0 && i + 1 == count ? number(node, "end", 0) : begin + double(i) * by);
  if (node.op == "logspace")
    for (double &each : numbers)
      each = std::pow(number(node, "base", 10), each);
  define(node, constantTensor(numbers, {count}));
}

/// 1 where the condition on row and column holds, 0 elsewhere.
Tensor Recover::pattern(int64_t rows, int64_t columns, const std::function<bool(int64_t, int64_t)> &condition) {
  if (rows * columns > 65536)
    throw Refusal{"a constant of " + std::to_string(rows * columns) + " numbers, more than 65536"};
  std::vector<double> numbers;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      numbers.push_back(condition(i, j) ? 1 : 0);
  return constantTensor(numbers, {rows, columns});
}

void Recover::opFillDiagonal(const NormalNode &node) {
  Tensor x = tensor(node, "self"), value = tensor(node, "fill_value");
  if (x.dims.size() != 2 || sizeOf(x.dims[0]).str() != sizeOf(x.dims[1]).str())
    throw Refusal{"expected a square matrix, found shape " + shapeText(x.dims)};
  if (isMatrixOfPairs(x, 0))
    return define(node, where(numbersOfPairs(identityMatrix({sizeOf(x.dims[0]), sizeOf(x.dims[1])}, true)), value, x));
  int64_t size = fixedSize(node, x, 0);
  define(node, where(pattern(size, size, [](int64_t i, int64_t j) { return i == j; }), value, x));
}

void Recover::opEye(const NormalNode &node) {
  std::vector<SymbolicExpr> shape = sizes(node);
  if (std::optional<Tensor> identity = identityInRows(shape))
    return define(node, *identity);
  if (!shape.at(0).getFactors().empty() && !shape.at(1).getFactors().empty())
    return define(node, numbersOfPairs(identityMatrix(shape, false)));
  if (!shape.at(0).getFactors().empty() || !shape.at(1).getFactors().empty())
    throw Refusal{"expected a square matrix, found " + shape[0].str() + " by " + shape[1].str()};
  define(node, pattern(shape[0].getNumber(), shape[1].getNumber(), [](int64_t i, int64_t j) { return i == j; }));
}

/// What is on one side of a diagonal, and 0 on the other.
void Recover::opTriangle(const NormalNode &node) {
  Tensor x = tensor(node, "self");
  std::vector<SymbolicExpr> shape = sizes(node);
  int64_t diagonal = integer(node, "diagonal", 0);
  bool isLower = node.op == "tril";
  bool isOpen =
      shape.size() >= 2 && !shape[shape.size() - 2].getFactors().empty() && !shape.back().getFactors().empty();
  if (isOpen && (isMatrixOfPairs(x, shape.size() - 2) || program.operations[size_t(x.value)].space < 0)) {
    Tensor stays = inTriangle({shape[shape.size() - 2], shape.back()}, isLower, diagonal);
    return define(node, where(stays, x, scalar(0)));
  }
  if (shape.size() < 2 || !shape[shape.size() - 2].getFactors().empty() || !shape.back().getFactors().empty())
    throw Refusal{"expected a matrix of fixed size, found shape " + shapeText(x.dims) + ", a number for every pair"};
  Tensor mask = pattern(shape[shape.size() - 2].getNumber(), shape.back().getNumber(),
                        [&](int64_t i, int64_t j) { return isLower ? j - i <= diagonal : j - i >= diagonal; });
  define(node, where(mask, x, scalar(0)));
}
