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

#include "llvm/Support/raw_ostream.h"

using namespace gnnc;

static llvm::Error writeParameters(const std::string &path, const frontend::ImportedModel &model) {
  SafetensorsWriter writer;
  for (const frontend::ImportedTensor &tensor : model.parameters)
    if (llvm::Error error = writer.add(tensor.name, ElementType::F32, tensor.shape, tensor.numbers.data()))
      return error;
  return writer.write(path);
}

int gnnc::runImport(const ImportArguments &arguments) {
  if (llvm::Error error = checkOverwriting({{"--output", arguments.output}, {"--params-out", arguments.paramsOut}},
                                           {{"the exported program", arguments.input}}))
    return fail(std::move(error));
  llvm::Expected<frontend::ImportedModel> model = frontend::importExportedProgram(arguments.input);
  if (!model)
    return fail(model.takeError());
  bool isPrinted = arguments.output.empty() || arguments.output == "-";
  if (!isPrinted) // Before there are parameters without a text.
    if (llvm::Error error = checkOutputFile(arguments.output))
      return fail(std::move(error));
  if (!arguments.paramsOut.empty())
    if (llvm::Error error = writeParameters(arguments.paramsOut, *model))
      return fail(std::move(error));
  if (isPrinted) {
    llvm::outs() << model->text;
    return ExitOk;
  }
  if (llvm::Error error = writeOutputFile(arguments.output, model->text))
    return fail(std::move(error));
  return ExitOk;
}
