//===- NumberPrinter.h - Values of a body, number by number -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where each thread makes single numbers of a row, a body value is an expression of a place in it: elementwise
// operations at that place, changes of shape by other places, folds and contractions as loops. Nothing is held as a
// whole, so slices, joins and transposed axes cost arithmetic on places alone.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_BODY_NUMBERPRINTER_H
#define GNNC_LIB_TARGET_CUDA_BODY_NUMBERPRINTER_H

#include "Body/BodyPrinter.h"

#include <limits>
#include <map>
#include <optional>

namespace gnnc::cuda {

class NumberPrinter {
public:
  explicit NumberPrinter(CodeWriter &out, size_t mostText = std::numeric_limits<size_t>::max())
      : out(out), mostText(mostText) {}
  virtual ~NumberPrinter() = default;

  /// What is computed at a place is printed once for it, so joins of joins become long: each part has places of its
  /// own. A printer that is given a bound stops there, and what it printed until then means nothing.
  static constexpr size_t kMostText = 64 << 10;
  bool isTooLong() const { return out.text().size() > mostText; }

  /// The value whose numbers a value has in the same order.
  static mlir::Value root(mlir::Value value);

protected:
  /// Prints what makes the number at place `at` (row-major, an expression of type int), and returns its name.
  std::string number(mlir::Value value, const std::string &at);
  /// The name of a number that is known before anything is printed.
  virtual std::optional<std::string> readBefore(mlir::Value value, const std::string &at) { return std::nullopt; }
  /// How a number that lies in shared memory is read.
  virtual std::optional<std::string> stored(mlir::Value value, const std::string &at) { return std::nullopt; }
  virtual std::string argument(mlir::BlockArgument value, const std::string &at) = 0;
  virtual std::string extent(mlir::FlatSymbolRefAttr space) = 0;
  /// The number of the element that a row is of.
  virtual std::string elementNumber(mpdfg::ElementOp op) = 0;

  std::string define(const llvm::Twine &expression);
  std::string fresh(const llvm::Twine &prefix) { return (prefix + llvm::Twine(count++)).str(); }
  /// What was printed is not in scope any more.
  void forget() { names.clear(); }

  CodeWriter &out;
  /// Neighbouring threads that make a number together: each has every so-manyth term of its sums.
  int64_t lanes = 1;

private:
  std::string compute(mlir::Operation *op, const std::string &at);
  std::string sum(llvm::StringRef start, int64_t number, llvm::function_ref<std::string(const std::string &)> term,
                  llvm::function_ref<std::string(const std::string &, const std::string &)> join);
  std::string contract(mpdfg::ContractOp op, const std::string &at);
  std::string fold(mpdfg::FoldOp op, const std::string &at);
  std::string concat(mpdfg::ConcatOp op, const std::string &at);

  size_t mostText; ///< bytes
  int depth = 0;   ///< of sums within sums
  std::map<std::pair<const void *, std::string>, std::string> names;
  unsigned count = 0;
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_BODY_NUMBERPRINTER_H
