//===- SafetensorsWriterTest.cpp - Files written and read again -----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/OutputFile.h"
#include "gnnc/Support/Safetensors.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

using namespace gnnc;

namespace {

class SafetensorsWriterTest : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("gnnc", directory)); }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }
  std::string path(llvm::StringRef name) { return (directory + "/" + name).str(); }
  std::string read(llvm::StringRef name) {
    auto bytes = llvm::MemoryBuffer::getFile(path(name));
    return bytes ? (*bytes)->getBuffer().str() : "unreadable";
  }
  unsigned countFiles() {
    unsigned count = 0;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator i(directory, code), end; i != end && !code; i.increment(code))
      ++count;
    return count;
  }
  llvm::SmallString<128> directory;
};

TEST_F(SafetensorsWriterTest, WritesWhatIsRead) {
  const float a[] = {1, 2, 3, 4, 5, 6};
  const int64_t b[] = {-1};
  const double c[] = {0.5, 0.25};
  SafetensorsWriter writer;
  writer.addMetadata("key", "a \"value\"\n");
  EXPECT_FALSE(writer.add("a", ElementType::F32, {2, 3}, a));
  EXPECT_FALSE(writer.add("b \xc3\xa9", ElementType::I64, {}, b));
  EXPECT_FALSE(writer.add("c", ElementType::F64, {2}, c));
  EXPECT_FALSE(writer.add("none", ElementType::F32, {0, 3}, nullptr));
  ASSERT_FALSE(writer.write(path("out.safetensors")));
  EXPECT_EQ(countFiles(), 1u);

  auto file = SafetensorsFile::open(path("out.safetensors"));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(*file->findMetadata("key"), "a \"value\"\n");
  EXPECT_EQ(file->find("a")->as<float>(), llvm::ArrayRef(a));
  EXPECT_EQ(file->find("a")->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file->find("b \xc3\xa9")->as<int64_t>()[0], -1);
  EXPECT_EQ(file->find("c")->as<double>(), llvm::ArrayRef(c));
  EXPECT_EQ(file->find("none")->shape, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(read("out.safetensors").size() % 64, size_t(6 * 4 + 8 + 2 * 8));
}

TEST_F(SafetensorsWriterTest, RefusesBadTensors) {
  SafetensorsWriter writer;
  float one = 1;
  EXPECT_EQ(llvm::toString(writer.add("\xff", ElementType::F32, {1}, &one)),
            "'\xff' cannot be the name of a tensor in a safetensors file");
  EXPECT_EQ(llvm::toString(writer.add("a", ElementType::F32, {INT64_MAX, 2}, &one)),
            "tensor 'a': expected a shape that fits in memory, found [9223372036854775807, 2]");
  EXPECT_FALSE(writer.add("a", ElementType::F32, {1}, &one));
  EXPECT_EQ(llvm::toString(writer.add("a", ElementType::F32, {1}, &one)),
            "tensor 'a': expected one of that name, found two");
}

TEST_F(SafetensorsWriterTest, LeavesNothingBehind) {
  EXPECT_EQ(llvm::toString(writeOutputFile(path("no/such/place"), "x")),
            "cannot write '" + path("no/such/place") + "': No such file or directory");
  EXPECT_EQ(llvm::toString(writeOutputFile(directory, "x")),
            ("cannot write '" + directory + "': Is a directory").str());
  EXPECT_EQ(countFiles(), 0u);
}

TEST_F(SafetensorsWriterTest, ReportsAFullDisk) {
  if (!llvm::sys::fs::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(llvm::toString(writeOutputFile("/dev/full", "x")), "cannot write '/dev/full': No space left on device");
}

TEST_F(SafetensorsWriterTest, ReplacesFilesAndWritesThroughLinks) {
  ASSERT_FALSE(writeOutputFile(path("a"), "old"));
  ASSERT_FALSE(writeOutputFile(path("a"), "new"));
  EXPECT_EQ(read("a"), "new");
  ASSERT_FALSE(llvm::sys::fs::create_link("a", path("link")));
  ASSERT_FALSE(writeOutputFile(path("link"), "newer"));
  EXPECT_EQ(read("a"), "newer");
  EXPECT_TRUE(llvm::sys::fs::is_symlink_file(path("link")));
}

} // namespace
