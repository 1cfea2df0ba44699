//===- ImportedTextsTest.cpp - What gnnc import writes --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of the folder `models`, which PyTorch has exported, and their texts; and, where GNNC_SHARED has
// goldens/pt2, that the layers of a text change nothing.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "PyTorch/ReadExportedProgram.h"
#include "SameModel.h"
#include "gnnc/Frontend/Frontend.h"
#include "gnnc/Frontend/PyTorch.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace gnnc::frontend;
using namespace gnnc::frontend::pytorch;
using namespace gnnc::frontend::pytorch::test;

namespace {

const std::string kModels = std::string(GNNC_SOURCE_DIR) + "/test/Unit/Frontend/PyTorch/models/";

std::string read(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class ImportedModelsTest : public testing::TestWithParam<const char *> {};

TEST_P(ImportedModelsTest, AreAsAPersonWouldWriteThem) {
  std::string path = kModels + GetParam();
  llvm::Expected<ImportedModel> model = importExportedProgram(path + ".pt2");
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  EXPECT_EQ(model->text, read(path + ".gnn"));
}

INSTANTIATE_TEST_SUITE_P(Models, ImportedModelsTest,
                         testing::Values("gcn", "gat", "gin", "pna", "rgcn", "linear_attention", "cut"),
                         [](const auto &info) { return std::string(info.param); });

// docs/PyTorchImport.md shows them as they are, without the comment.
TEST(ImportedTextsTest, AreInTheDocumentation) {
  std::string page = read(std::string(GNNC_SOURCE_DIR) + "/docs/PyTorchImport.md");
  if (page.empty())
    GTEST_SKIP() << "docs/PyTorchImport.md is not there";
  for (const char *name : {"gcn", "gat", "gin", "pna"}) {
    std::string text = read(kModels + name + ".gnn"), shown = text.substr(text.find('\n') + 1);
    if (name == std::string("pna"))
      shown = shown.substr(shown.find("\nlayer ") + 1);
    EXPECT_NE(page.find("\n" + shown + "```\n"), std::string::npos) << name;
  }
}

std::optional<ModelSpec> load(const std::string &text) {
  std::vector<gnnc::frontend::Diagnostic> diagnostics;
  std::optional<ModelSpec> model = loadModelFromText("m.gnn", text, {}, diagnostics);
  if (!model)
    ADD_FAILURE() << diagnostics[0].message << " in line " << diagnostics[0].loc.line << " of\n" << text;
  return model;
}

/// The programs of a folder.
std::vector<std::string> programsOf(const std::string &folder) {
  std::vector<std::string> paths;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
    if (llvm::StringRef(it->path()).ends_with(".pt2"))
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(ImportedLayersTest, ChangeNothing) {
  std::vector<std::string> paths = programsOf(kModels);
  ASSERT_FALSE(paths.empty());
  const char *shared = std::getenv("GNNC_SHARED");
  llvm::append_range(paths, programsOf(std::string(shared ? shared : GNNC_DEFAULT_SHARED) + "/goldens/pt2"));
  size_t withLayers = 0;
  for (const std::string &path : paths) {
    SCOPED_TRACE(path);
    llvm::Expected<ExportedProgram> exported = readExportedProgram(path);
    ASSERT_TRUE(bool(exported)) << llvm::toString(exported.takeError());
    std::string layered, flat;
    try {
      RecoveredProgram program = Recover(*exported).run();
      layered = emit(program, "m", "").text;
      flat = emit(program, "m", "", /*withLayers=*/false).text;
    } catch (const Refusal &) {
      continue; // ImportTest knows which
    }
    withLayers += layered.find("\nlayer ") != std::string::npos;
    EXPECT_EQ(flat.find("\nlayer "), std::string::npos);
    std::optional<ModelSpec> a = load(layered), b = load(flat);
    ASSERT_TRUE(a && b);
    EXPECT_TRUE(isSameModel(*a, *b)) << layered << flat;
  }
  EXPECT_GE(withLayers, 5u);
}

// What the comparison is worth.
TEST(ImportedLayersTest, SameModelsAreToldFromOthers) {
  auto plain = [](const std::string &body) {
    return load("model M {\n  input x: node[in = 2], y: node[in]\n" + body + "\n}");
  };
  std::optional<ModelSpec> flat = plain("  param w[in, o = 2] as \"l.w\"\n  output z = x @ w");
  std::optional<ModelSpec> layered = load("layer L(v: node[k]) { param w[k, out = 2]\n v @ w }\n"
                                          "model M {\n  input x: node[in = 2], y: node[in]\n  output z = L(x)\n}");
  ASSERT_TRUE(flat && layered);
  EXPECT_TRUE(isSameModel(*flat, *layered));
  EXPECT_FALSE(isSameModel(*flat, *plain("  param w[in, o = 2] as \"l.w\"\n  output z = y @ w")));
  EXPECT_FALSE(isSameModel(*flat, *plain("  param w[in, o = 2] as \"l.v\"\n  output z = x @ w")));
  EXPECT_FALSE(isSameModel(*flat, *plain("  param w[o = 2, in] as \"l.w\"\n  output z = x @ w")));
}

} // namespace
