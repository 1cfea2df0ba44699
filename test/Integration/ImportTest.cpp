//===- ImportTest.cpp - Programs that PyTorch has exported ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every program of the folder goldens/pt2 in GNNC_SHARED, on two graphs each, with one object: outputs and gradients
// against numbers in double precision. What gnnc cannot import must be refused in one line.
//
//===----------------------------------------------------------------------===//

#include "SharedFiles.h"
#include "gnnc/Support/Safetensors.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace gnnc;

namespace {

/// Why these are refused: part of the message.
const std::map<std::string, std::string> &refused() {
  static const std::map<std::string, std::string> table = {
      {"plain_dense", "two axes whose sizes are not fixed"},
  };
  return table;
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  std::string folder = test::findSharedFile("goldens/pt2");
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(folder, code), end; !code && it != end; it.increment(code))
    if (llvm::StringRef path = it->path(); path.ends_with(".pt2"))
      names.push_back(llvm::sys::path::stem(path).str());
  std::sort(names.begin(), names.end());
  if (names.empty())
    names.push_back(""); // skips, saying so
  return names;
}

std::string read(const std::string &path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class ImportTest : public testing::TestWithParam<std::tuple<std::string, int>> {
protected:
  void SetUp() override {
    if (std::get<0>(GetParam()).empty())
      GTEST_SKIP() << "no goldens/pt2: set GNNC_SHARED to the folder that has it";
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("gnnc-import", path));
    folder = path.str().str();
  }
  void TearDown() override {
    if (!folder.empty())
      llvm::sys::fs::remove_directories(folder);
  }

  /// Runs the driver; its status. What it says is in the file `log`.
  int gnnc(const std::string &arguments) {
    return std::system((std::string(GNNC_EXECUTABLE) + " " + arguments + " > " + folder + "/log 2>&1").c_str());
  }
  std::string log() { return read(folder + "/log"); }

  std::string folder;
};

/// Tensors of the first graph, or of the second, whose names begin with `b.`.
std::vector<std::pair<std::string, const FileTensor *>> tensorsOf(const SafetensorsFile &file, bool second) {
  std::vector<std::pair<std::string, const FileTensor *>> list;
  for (const FileTensor &tensor : file.tensors()) {
    llvm::StringRef name = tensor.name;
    if (name.consume_front("b.") == second)
      list.push_back({name.str(), &tensor});
  }
  return list;
}

TEST_P(ImportTest, GivesPyTorchsNumbers) {
  auto [name, level] = GetParam();
  llvm::StringRef base = name;
  base.consume_back(".core");
  std::string path = test::findSharedFile("goldens/pt2/" + name + ".pt2");
  int status = gnnc("compile " + path + " --gradient --cpu v3 -O " + std::to_string(level) + " -o " + folder + "/m.so");
  if (auto reason = refused().find(base.str()); reason != refused().end()) {
    EXPECT_NE(status, 0);
    EXPECT_NE(log().find(reason->second), std::string::npos) << log();
    EXPECT_EQ(llvm::StringRef(log()).count('\n'), 1u) << log();
    return;
  }
  ASSERT_EQ(status, 0) << log();
  llvm::Expected<SafetensorsFile> golden =
      SafetensorsFile::open(test::findSharedFile("goldens/pt2/" + base.str() + ".safetensors"));
  ASSERT_TRUE(bool(golden)) << llvm::toString(golden.takeError());
  double tolerance = base == "model_pna" ? 5e-5 : 1e-5;
  for (bool second : {false, true}) {
    SafetensorsWriter writer;
    for (auto &[own, tensor] : tensorsOf(*golden, second)) {
      llvm::StringRef text = own;
      bool isGiven = !text.starts_with("out.") && !text.starts_with("grad.") && !text.starts_with("param.");
      std::string given = text.consume_front("cot.") ? "grad.out." + text.str() : own;
      if (isGiven)
        ASSERT_FALSE(bool(writer.add(given, *tensor->type, tensor->shape, tensor->data)));
    }
    ASSERT_FALSE(bool(writer.write(folder + "/in")));
    ASSERT_EQ(
        gnnc("run " + folder + "/m.so --graph " + folder + "/in" + " --program gradient --out " + folder + "/out"), 0)
        << log();
    llvm::Expected<SafetensorsFile> out = SafetensorsFile::open(folder + "/out");
    ASSERT_TRUE(bool(out)) << llvm::toString(out.takeError());
    size_t compared = 0;
    for (auto &[own, expected] : tensorsOf(*golden, second)) {
      llvm::StringRef text = own;
      if (!text.starts_with("out.") && !text.starts_with("grad."))
        continue;
      double largest = 1;
      for (float value : expected->as<float>())
        largest = std::max(largest, std::abs(double(value)));
      const FileTensor *found = out->find(own);
      if (!found) { // what no output depends on
        for (float value : expected->as<float>())
          ASSERT_EQ(value, 0) << own << " is missing";
        continue;
      }
      ASSERT_EQ(found->shape, expected->shape) << own;
      for (int64_t i = 0; i < expected->elements; ++i)
        ASSERT_NEAR(found->as<float>()[size_t(i)], expected->as<float>()[size_t(i)], tolerance * largest)
            << own << "[" << i << "] of graph " << (second ? 2 : 1);
      ++compared;
    }
    EXPECT_GE(compared, 2u);
  }
}

/// The text that `gnnc import` writes is the model: it is compiled to the same kernels as the program itself.
class ImportedTextTest : public ImportTest {};

TEST_P(ImportedTextTest, IsCompiledToTheSameKernels) {
  auto [name, level] = GetParam();
  std::string path = test::findSharedFile("goldens/pt2/" + name + ".pt2"), text = folder + "/" + name + ".gnn";
  std::string flags = " --gradient --compile-to plan-memory -O " + std::to_string(level) + " -o " + folder;
  ASSERT_EQ(gnnc("import " + path + " -o " + text + " --params-out " + folder + "/params"), 0) << log();
  ASSERT_EQ(gnnc("compile " + path + flags + "/direct"), 0) << log();
  ASSERT_EQ(gnnc("compile " + text + flags + "/from-text"), 0) << log();
  std::string direct = read(folder + "/direct");
  EXPECT_FALSE(direct.empty());
  EXPECT_TRUE(direct == read(folder + "/from-text"));
}

/// Some of `names`, if there are any programs.
std::vector<std::string> few(std::initializer_list<std::string> names) {
  return cases()[0].empty() ? cases() : std::vector<std::string>(names);
}

INSTANTIATE_TEST_SUITE_P(Texts, ImportedTextTest,
                         testing::Combine(testing::ValuesIn(few({"gcn", "gat", "pna", "rgcn", "gin", "model_gcn",
                                                                 "model_gat", "model_pna", "model_rgcn", "model_gin"})),
                                          testing::Values(0, 2)),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_O" + std::to_string(std::get<1>(info.param));
                         });

INSTANTIATE_TEST_SUITE_P(Programs, ImportTest, testing::Combine(testing::ValuesIn(cases()), testing::Values(0, 2)),
                         [](const auto &info) {
                           std::string name = std::get<0>(info.param);
                           std::replace(name.begin(), name.end(), '.', '_');
                           return (name.empty() ? "none" : name) + "_O" + std::to_string(std::get<1>(info.param));
                         });

} // namespace
