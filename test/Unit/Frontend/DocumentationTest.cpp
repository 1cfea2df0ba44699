//===- DocumentationTest.cpp - The examples of the documentation ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each block of docs/Language.md marked `gnn` is loaded, or, where it has no model, parsed and analysed. A block marked
// `gnn error` must not load.
//
//===----------------------------------------------------------------------===//

#include "FrontendTest.h"
#include "gnnc/Frontend/JSON.h"

#include <fstream>
#include <sstream>

using namespace gnnc::frontend;

namespace {
struct Block {
  unsigned line;
  std::string kind, text;
};
} // namespace

static std::vector<Block> blocks(std::istream &in) {
  std::vector<Block> result;
  std::string line;
  bool inside = false;
  for (unsigned number = 1; std::getline(in, line); ++number) {
    if (line.rfind("```", 0) == 0) {
      if (!inside)
        result.push_back({number, line.substr(3), ""});
      inside = !inside;
    } else if (inside) {
      result.back().text += line + "\n";
    }
  }
  return result;
}

TEST(Documentation, ExamplesOfTheLanguage) {
  std::ifstream file(GNNC_SOURCE_DIR "/docs/Language.md");
  if (!file)
    GTEST_SKIP() << "docs/Language.md is not there";
  size_t tried = 0;
  for (const Block &block : blocks(file)) {
    SCOPED_TRACE("docs/Language.md:" + std::to_string(block.line));
    if (block.kind == "json") {
      llvm::Expected<ModelSpec> model = readJSON(block.text);
      EXPECT_TRUE(bool(model)) << llvm::toString(model.takeError());
      ++tried;
      continue;
    }
    if (block.kind != "gnn" && block.kind != "gnn error")
      continue;
    ++tried;
    bool hasModel = block.text.find("\nmodel ") != std::string::npos || block.text.rfind("model ", 0) == 0;
    std::vector<Diagnostic> diagnostics;
    if (hasModel)
      diagnostics = tryLoad(block.text, {}, {{"layers.gnn", "layer Mine(x: node[k]) { x }"}}).diagnostics;
    else
      diagnostics = analyzeText("example.gnn", block.text, {}).diagnostics;
    EXPECT_EQ(hasErrors(diagnostics), block.kind == "gnn error") << render(diagnostics) << block.text;
    EXPECT_TRUE(block.kind == "gnn error" || diagnostics.empty()) << render(diagnostics) << block.text;
  }
  EXPECT_GT(tried, 10u);
}
