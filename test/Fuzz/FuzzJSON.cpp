//===- FuzzJSON.cpp - Models and parameter maps as JSON -------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No text crashes a reader, an error is one line, and an accepted model can be written and read again.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "gnnc/Frontend/JSON.h"
#include "gnnc/Host/Parameters.h"

using namespace gnnc;
using namespace gnnc::frontend;

static void checkModel(llvm::StringRef text) {
  llvm::Expected<ModelSpec> model = readJSON(text);
  if (!model)
    return checkMessage(model.takeError());
  std::string written = writeJSON(*model);
  llvm::Expected<ModelSpec> again = readJSON(written);
  if (!again)
    fail("what is written cannot be read: " + llvm::toString(again.takeError()));
  require(writeJSON(*again) == written, "the same model again");
}

static void checkMap(llvm::StringRef text) {
  static const ModelInfo model = smallModel(/*sparse=*/false);
  static const SafetensorsFile file = smallParameters();
  llvm::Expected<ParamsMap> map = ParamsMap::parse(text, "map");
  if (!map)
    return checkMessage(map.takeError());
  llvm::Expected<Parameters> parameters =
      Parameters::load(model, [](llvm::StringRef) { return std::optional<int64_t>(3); }, file, &*map);
  if (!parameters)
    checkMessage(parameters.takeError());
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  checkModel(text);
  checkMap(text);
  return 0;
}
