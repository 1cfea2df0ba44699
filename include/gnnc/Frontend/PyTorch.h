//===- PyTorch.h - Models that PyTorch has exported -------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads what `torch.export.save` wrote, and gives the same model as a text in the gnnc language, with its parameters by
// PyTorch's names. Compiling that text is all that there is to compiling the file. docs/PyTorchImport.md says what can
// be imported.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_FRONTEND_PYTORCH_H
#define GNNC_FRONTEND_PYTORCH_H

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace gnnc::frontend {

/// A parameter or buffer of an imported model: contiguous numbers.
struct ImportedTensor {
  std::string name; ///< PyTorch's: `conv.lin.weight`
  std::vector<int64_t> shape;
  std::vector<double> numbers; ///< as exact as the file has them
};

/// Integers that an imported model has itself, such as the edges of a fixed graph: what sources in its text call so.
struct ImportedIntegers {
  std::string name;
  std::vector<int64_t> shape, numbers;
};

struct ImportedModel {
  std::string text;
  std::vector<ImportedTensor> parameters; ///< those that the text declares
  std::vector<ImportedIntegers> integers; ///< those that its sources read
  std::string fixedSizes;                 ///< where it is for one size alone: a sentence that says so
  /// Arguments and results whose axis of elements is the first in the model but was not in the program: `input 'x'
  /// (axis 1)`.
  std::vector<std::string> moved;
};

struct ImportOptions {
  /// Refuse a program whose arguments or results have the axis of elements elsewhere than first; otherwise it comes
  /// first in the model.
  bool keepAxes = false;
  /// Statements of the language that are added at the end of the model, where they see its inputs and outputs.
  std::vector<std::string> statements = {};
  /// Refuse tensors with several axes of elements, such as [batch, nodes, features]. Where fixed sizes of such axes are
  /// known, a second line of the error has them: `gnnc: note: axes of elements: 20, 50`.
  bool oneAxis = false;
};

/// Imports the file at `path`. The error is one line: the file, the node, the user's source line, the reason and what
/// to change.
llvm::Expected<ImportedModel> importExportedProgram(const std::string &path, const ImportOptions &options = {});

} // namespace gnnc::frontend

#endif // GNNC_FRONTEND_PYTORCH_H
