//===- Import.cpp - gnnc import -------------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Files.h"
#include "Report.h"
#include "gnnc/Frontend/PyTorch.h"
#include "gnnc/Support/OutputFile.h"
#include "gnnc/Support/Safetensors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace gnnc;

/// In float32, where that has all of its numbers. The writer reads them later: `kept` outlives it.
static llvm::Error addParameter(SafetensorsWriter &writer, const frontend::ImportedTensor &tensor,
                                std::vector<std::vector<float>> &kept) {
  auto isExact = [](double number) { return std::isnan(number) || double(float(number)) == number; };
  if (!llvm::all_of(tensor.numbers, isExact))
    return writer.add(tensor.name, ElementType::F64, tensor.shape, tensor.numbers.data());
  kept.emplace_back(tensor.numbers.begin(), tensor.numbers.end());
  return writer.add(tensor.name, ElementType::F32, tensor.shape, kept.back().data());
}

static llvm::Expected<PendingFile> prepareParameters(const std::string &path, const frontend::ImportedModel &model) {
  std::vector<std::vector<float>> kept;
  SafetensorsWriter writer;
  for (const frontend::ImportedTensor &tensor : model.parameters)
    if (llvm::Error error = addParameter(writer, tensor, kept))
      return std::move(error);
  for (const frontend::ImportedIntegers &tensor : model.integers)
    if (llvm::Error error = writer.add(tensor.name, ElementType::I64, tensor.shape, tensor.numbers.data()))
      return std::move(error);
  return writer.prepare(path);
}

void gnnc::reportImported(const std::string &path, const frontend::ImportedModel &model) {
  if (!model.moved.empty())
    llvm::errs() << "gnnc: warning: '" << path << "': the axis of elements comes first in the model, in "
                 << llvm::join(model.moved, ", ") << " too\n";
  if (!model.fixedSizes.empty())
    llvm::errs() << "gnnc: warning: '" << path << "': " << model.fixedSizes << "\n";
}

int gnnc::runImport(const ImportArguments &arguments) {
  if (llvm::Error error = checkOverwriting({{"--output", arguments.output}, {"--params-out", arguments.paramsOut}},
                                           {{"the exported program", arguments.input}}))
    return fail(std::move(error));
  llvm::Expected<frontend::ImportedModel> model =
      frontend::importExportedProgram(arguments.input, {false, arguments.also});
  if (!model)
    return fail(model.takeError());
  reportImported(arguments.input, *model);
  // The text and its parameters are both there in the end, or neither is.
  std::optional<PendingFile> parameters;
  if (!arguments.paramsOut.empty()) {
    llvm::Expected<PendingFile> written = prepareParameters(arguments.paramsOut, *model);
    if (!written)
      return fail(written.takeError());
    parameters.emplace(std::move(*written));
  }
  if (arguments.output.empty() || arguments.output == "-")
    llvm::outs() << model->text;
  else if (llvm::Error error = writeOutputFile(arguments.output, model->text))
    return fail(std::move(error));
  if (parameters)
    if (llvm::Error error = parameters->keep())
      return fail(std::move(error));
  return ExitOk;
}
