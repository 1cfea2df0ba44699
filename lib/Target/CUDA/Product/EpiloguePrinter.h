//===- EpiloguePrinter.h - The epilogue of a product as CUDA C++ *- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_TARGET_CUDA_EPILOGUEPRINTER_H
#define GNNC_LIB_TARGET_CUDA_EPILOGUEPRINTER_H

#include "Body/BodyPrinter.h"

#include <map>

namespace gnnc::cuda {

/// Prints an epilogue of rows that threads share (mpk::whyNotSpread) for Kernels/Product.cuh.
class EpiloguePrinter {
public:
  EpiloguePrinter(mpk::ProductOp product, CodeWriter &out)
      : product(product), rowElements(product.getBatch() * product.getRows() * product.getN()), out(out) {}

  /// Fields of the arguments: the extra operands, then the results.
  void fields();
  /// What threads that share a row know of all of it: `Row`, and `rowOf`, which makes it.
  void rows();
  /// The statements of `finish`.
  void body();

private:
  /// The index in a value of shape `dims` that `index` in one of shape `of` sees.
  static std::string indexIn(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> of, const std::string &index);
  /// The number of a value at an index, computed before if it has to be.
  std::string number(mlir::Value value, const std::string &index);
  void readNumbers();
  /// Opens a loop over numbers of a row, of which `numbers` is one.
  void open(const std::string &loop, const std::string &numbers);

  struct Less {
    bool operator()(const std::pair<mlir::Value, std::string> &a, const std::pair<mlir::Value, std::string> &b) const {
      return std::make_pair(a.first.getAsOpaquePointer(), a.second) <
             std::make_pair(b.first.getAsOpaquePointer(), b.second);
    }
  };
  mpk::ProductOp product;
  int64_t rowElements;
  CodeWriter &out;
  std::string rowNumber; ///< the product's own number in the loop that is open
  std::map<std::pair<mlir::Value, std::string>, std::string, Less> names;
  llvm::DenseMap<mlir::Value, std::string> folds; ///< fields of Row
  llvm::DenseSet<mlir::Value> isRead;             ///< operands whose numbers are side by side in `read`
};

} // namespace gnnc::cuda

#endif // GNNC_LIB_TARGET_CUDA_EPILOGUEPRINTER_H
