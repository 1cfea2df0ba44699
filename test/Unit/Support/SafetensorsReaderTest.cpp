//===- SafetensorsReaderTest.cpp - Malformed and hostile files ------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Support/Safetensors.h"

#include "gtest/gtest.h"

#include <random>

using namespace gnnc;

namespace {

/// A file of this header and `dataBytes` bytes of data, each byte its own offset.
std::string makeFile(const std::string &header, size_t dataBytes) {
  uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char *>(&length), 8);
  bytes += header;
  for (size_t i = 0; i < dataBytes; ++i)
    bytes.push_back(char(i));
  return bytes;
}

llvm::Expected<SafetensorsFile> parse(const std::string &bytes) {
  return SafetensorsFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes), "f");
}

/// The error text without its common beginning.
std::string errorOf(const std::string &bytes) {
  llvm::Expected<SafetensorsFile> file = parse(bytes);
  if (file)
    return "no error";
  std::string text = llvm::toString(file.takeError());
  std::string start = "'f' is not a valid safetensors file: ";
  EXPECT_EQ(text.substr(0, start.size()), start);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  return text.substr(start.size());
}

std::string errorOf(const std::string &header, size_t dataBytes) { return errorOf(makeFile(header, dataBytes)); }

TEST(SafetensorsReader, ReadsTensorsAndMetadata) {
  auto file = parse(makeFile(R"({"__metadata__":{"num_nodes":"3"},)"
                             R"("b":{"dtype":"I32","shape":[2,1],"data_offsets":[0,8]},)"
                             R"("a":{"dtype":"F64","shape":[],"data_offsets":[8,16]}}   )",
                             16));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->tensors().size(), 2u);
  const FileTensor *b = file->find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->type, ElementType::I32);
  EXPECT_EQ(b->shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(b->as<int32_t>()[1], 0x07060504);
  EXPECT_EQ(file->find("a")->elements, 1);
  EXPECT_EQ(file->find("c"), nullptr);
  EXPECT_EQ(*file->findMetadata("num_nodes"), "3");
  EXPECT_EQ(file->findMetadata("num_edges"), nullptr);
}

TEST(SafetensorsReader, CopiesMisalignedTensors) {
  for (size_t padding = 0; padding < 8; ++padding) {
    auto file =
        parse(makeFile(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[1,9]}})" + std::string(padding, ' '), 9));
    ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
    const FileTensor *a = file->find("a");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(a->data) % 8, 0u);
    EXPECT_EQ(a->as<int64_t>()[0], 0x0807060504030201);
  }
}

TEST(SafetensorsReader, AcceptsEmptyTensorsAndPadding) {
  auto file = parse(makeFile(R"({"e":{"dtype":"F32","shape":[0,4],"data_offsets":[4,4]},)"
                             R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
                             16));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->find("e")->elements, 0);
}

TEST(SafetensorsReader, KnowsTypesItCannotCompute) {
  auto file = parse(makeFile(R"({"a":{"dtype":"U16","shape":[2],"data_offsets":[0,4]}})", 4));
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(llvm::toString(file->get("a").takeError()),
            "'f': tensor 'a': expected dtype F32, F64, BF16, F16, I32 or I64, found U16");
  EXPECT_EQ(llvm::toString(file->get("z").takeError()), "'f' has no tensor 'z'");
}

TEST(SafetensorsReader, RefusesMissingFiles) {
  auto file = SafetensorsFile::open("/nowhere/g.safetensors");
  EXPECT_EQ(llvm::toString(file.takeError()), "cannot read '/nowhere/g.safetensors': No such file or directory");
  file = SafetensorsFile::open("/");
  EXPECT_FALSE(bool(file));
  llvm::consumeError(file.takeError());
}

TEST(SafetensorsReader, RefusesTruncatedFiles) {
  std::string whole = makeFile(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  EXPECT_TRUE(bool(parse(whole)));
  for (size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_NE(errorOf(whole.substr(0, bytes)), "no error") << bytes;
  EXPECT_EQ(errorOf(""), "expected at least 8 bytes, found 0");
  EXPECT_EQ(errorOf(whole.substr(0, 20)), "the header is said to have 54 bytes, found 12");
  EXPECT_EQ(errorOf(whole.substr(0, whole.size() - 1)),
            "tensor 'a': expected offsets within the 7 bytes of data, found [0, 8]");
}

TEST(SafetensorsReader, RefusesHostileHeaderLengths) {
  for (uint64_t length : {uint64_t(5), uint64_t(1) << 40, UINT64_MAX - 8, UINT64_MAX - 7, UINT64_MAX}) {
    std::string bytes(reinterpret_cast<const char *>(&length), 8);
    EXPECT_EQ(errorOf(bytes + "{}"), "the header is said to have " + std::to_string(length) + " bytes, found 2");
  }
}

TEST(SafetensorsReader, RefusesMalformedHeaders) {
  EXPECT_EQ(errorOf("", 0), "expected a JSON object as header, found text that is not JSON");
  EXPECT_EQ(errorOf("{\"a\":", 0), "expected a JSON object as header, found text that is not JSON");
  EXPECT_EQ(errorOf(std::string("{\"\xff\":1}"), 0), "expected a JSON object as header, found text that is not JSON");
  EXPECT_EQ(errorOf("[1]", 0), "expected a JSON object as header, found array");
  EXPECT_EQ(errorOf(R"({"a":7})", 0), "tensor 'a': expected an object, found number");
  EXPECT_EQ(errorOf(R"({"__metadata__":[]})", 0), "expected an object as '__metadata__', found array");
  EXPECT_EQ(errorOf(R"({"__metadata__":{"k":1}})", 0), "metadata 'k': expected a string, found number");
  EXPECT_EQ(errorOf(R"({"a":{}})", 0), "tensor 'a': expected a known dtype, found none");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F7"}})", 0), "tensor 'a': expected a known dtype, found 'F7'");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
            "tensor 'a': expected a list of sizes as shape");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4),
            "tensor 'a': expected a list of sizes as shape");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F32","shape":[1]}})", 4), "tensor 'a': expected two offsets as data_offsets");
  std::string entry = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_EQ(errorOf("{" + entry + "," + entry + "}", 4), "tensor 'a': expected one entry, found two");
  EXPECT_EQ(errorOf(R"({"__metadata__":{"k":"1","k":"2"}})", 0), "metadata 'k': expected one entry, found two");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4),
            "tensor 'a' 'dtype': expected one entry, found two");
  // Nesting that would overflow the stack of a recursive parser.
  EXPECT_EQ(errorOf(std::string(1 << 20, '['), 0), "expected a JSON object as header, found text that is not JSON");
}

TEST(SafetensorsReader, RefusesWrongSizes) {
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,20]}})", 20),
            "tensor 'a': shape [2, 3] of F32 needs 24 bytes, found 20");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
            "tensor 'a': shape [4294967296, 4294967296] has more elements than fit in memory");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})", 0),
            "tensor 'a': shape [2305843009213693952] has more elements than fit in memory");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,0]}})", 0),
            "tensor 'a': expected a list of sizes as shape");
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
            "tensor 'a': expected offsets within the 4 bytes of data, found [4, 0]");
}

TEST(SafetensorsReader, RefusesOverlaps) {
  EXPECT_EQ(errorOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                    R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                    12),
            "tensors 'a' and 'b' overlap");
}

/// Whatever the bytes, a file is refused or all of its tensors can be read.
TEST(SafetensorsReader, SurvivesMutations) {
  std::string whole = makeFile(R"({"__metadata__":{"n":"3"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
                               R"("b":{"dtype":"I64","shape":[2],"data_offsets":[8,24]}})",
                               24);
  std::mt19937 random(1);
  const llvm::StringRef tokens = "0123456789[]{},:\"-.eFI";
  volatile unsigned sum = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = whole;
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      size_t place = random() % bytes.size();
      bytes[place] = random() % 4 ? tokens[random() % tokens.size()] : char(random());
    }
    bytes.resize(bytes.size() - (random() % 8 ? 0 : random() % bytes.size()));
    llvm::Expected<SafetensorsFile> file = parse(bytes);
    if (!file) {
      llvm::consumeError(file.takeError());
      continue;
    }
    for (const FileTensor &tensor : file->tensors())
      if (tensor.type)
        for (int64_t i = 0; i < tensor.elements * elementBytes(*tensor.type); ++i)
          sum = sum + static_cast<const unsigned char *>(tensor.data)[i];
  }
}

} // namespace
