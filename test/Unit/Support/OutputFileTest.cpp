//===- OutputFileTest.cpp - Files that are never half-written -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <filesystem>

using namespace gnnc;
namespace fs = std::filesystem;

namespace {

class OutputFile : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("gnnc-test", path));
    folder = path.str().str();
  }
  void TearDown() override { fs::remove_all(folder); }

  static std::string write(const fs::path &path, llvm::StringRef bytes) {
    llvm::Error error = writeOutputFile(path.string(), bytes);
    return error ? llvm::toString(std::move(error)) : "";
  }
  static std::string read(const fs::path &path) {
    llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> buffer = llvm::MemoryBuffer::getFile(path.string());
    return buffer ? (*buffer)->getBuffer().str() : "no file";
  }
  size_t files() const { return size_t(std::distance(fs::directory_iterator(folder), fs::directory_iterator())); }

  fs::path folder;
};

TEST_F(OutputFile, IsMadeAndReplaced) {
  EXPECT_EQ(write(folder / "file", "one"), "");
  EXPECT_EQ(write(folder / "file", "two"), "");
  EXPECT_EQ(read(folder / "file"), "two");
  EXPECT_EQ(files(), 1u);
}

// LLVM's names of temporary files have something put in place of each %.
TEST_F(OutputFile, ANameMayHaveAnything) {
  fs::create_directory(folder / "50%");
  EXPECT_EQ(write(folder / "50%" / "a%b%%", "one"), "");
  EXPECT_EQ(read(folder / "50%" / "a%b%%"), "one");
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "50%"), fs::directory_iterator()), 1);
}

TEST_F(OutputFile, WhatCannotBeKeptIsRemoved) {
  fs::create_directory(folder / "file");
  fs::create_directory(folder / "file" / "inside");
  EXPECT_NE(write(folder / "file", "bytes"), "");
  EXPECT_EQ(write(folder / "none" / "file", "bytes"),
            "cannot write '" + (folder / "none" / "file").string() + "': No such file or directory");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFile, ALinkStaysALink) {
  EXPECT_EQ(write(folder / "file", "one"), "");
  fs::create_symlink("file", folder / "link");
  EXPECT_EQ(write(folder / "link", "two"), "");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read(folder / "file"), "two");
}

TEST_F(OutputFile, ALinkToNothingIsWrittenThrough) {
  fs::create_directory(folder / "below");
  fs::create_symlink("below/second", folder / "first");
  fs::create_symlink(folder / "file", folder / "below" / "second");
  EXPECT_EQ(write(folder / "first", "bytes"), "");
  EXPECT_TRUE(fs::is_symlink(folder / "first"));
  EXPECT_TRUE(fs::is_symlink(folder / "below" / "second"));
  EXPECT_EQ(read(folder / "file"), "bytes");
}

TEST_F(OutputFile, LinksThatLeadNowhereAreErrors) {
  std::string name = (folder / "link").string();
  fs::create_symlink("link", folder / "link");
  EXPECT_EQ(write(folder / "link", "bytes"), "cannot write '" + name + "': Too many levels of symbolic links");
  fs::remove(folder / "link");
  fs::create_symlink("nowhere/file", folder / "link");
  EXPECT_EQ(write(folder / "link", "bytes"), "cannot write '" + name + "': No such file or directory");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
}

} // namespace
