//===- FuzzTexts.cpp - The text language ----------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No text crashes the front end or the editor's analysis, every error has a message, and an accepted model can be
// written as JSON and read again.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "gnnc/Frontend/Frontend.h"
#include "gnnc/Frontend/JSON.h"

using namespace gnnc;
using namespace gnnc::frontend;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  CompileInputs inputs;
  inputs.readFile = [](const std::string &) { return std::nullopt; };
  std::vector<Diagnostic> diagnostics;
  std::optional<ModelSpec> model = loadModelFromText("fuzz.gnn", text, inputs, diagnostics);
  require(model.has_value() == !hasErrors(diagnostics), "a model, or an error");
  for (const Diagnostic &diagnostic : diagnostics)
    require(!diagnostic.message.empty(), "a message");
  render(diagnostics);
  analyzeText("fuzz.gnn", text, inputs);
  // A position that depends on the text, so that all are tried in time.
  unsigned lines = 1 + unsigned(std::count(text.begin(), text.end(), '\n'));
  completeText("fuzz.gnn", text, 1 + unsigned(size) % lines, 1 + unsigned(size) % 80, inputs);
  if (!model)
    return 0;
  std::string written = writeJSON(*model);
  llvm::Expected<ModelSpec> again = readJSON(written);
  if (!again)
    fail("what is written cannot be read: " + llvm::toString(again.takeError()));
  require(writeJSON(*again) == written, "the same model again");
  return 0;
}
