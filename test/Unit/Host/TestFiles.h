//===- TestFiles.h - Small files in memory ----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_UNIT_HOST_TESTFILES_H
#define GNNC_TEST_UNIT_HOST_TESTFILES_H

#include "gnnc/Host/ModelInfo.h"
#include "gnnc/Support/Safetensors.h"

#include <cstring>
#include <utility>

namespace gnnc::test {

/// Collects tensors and gives the file they would be, called "f".
class FileBuilder {
public:
  template <typename T> FileBuilder &add(const std::string &name, std::vector<int64_t> shape, std::vector<T> values) {
    const char *type = std::is_same_v<T, float>     ? "F32"
                       : std::is_same_v<T, double>  ? "F64"
                       : std::is_same_v<T, int32_t> ? "I32"
                                                    : "I64";
    separate();
    size_t begin = data.size();
    data.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T));
    header += "\"" + name + "\":{\"dtype\":\"" + type + "\",\"shape\":" + formatShape(shape) + ",\"data_offsets\":[" +
              std::to_string(begin) + "," + std::to_string(data.size()) + "]}";
    return *this;
  }
  FileBuilder &metadata(const std::string &key, const std::string &value) { return metadata({{key, value}}); }
  FileBuilder &metadata(const std::vector<std::pair<std::string, std::string>> &entries) {
    separate();
    header += "\"__metadata__\":{";
    for (const auto &[key, value] : entries)
      header += (header.back() == '{' ? "\"" : ",\"") + key + "\":\"" + value + "\"";
    header += "}";
    return *this;
  }
  SafetensorsFile build() const {
    std::string text = "{" + header + "}";
    uint64_t length = text.size();
    std::string bytes(reinterpret_cast<const char *>(&length), 8);
    return llvm::cantFail(SafetensorsFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes + text + data), "f"));
  }

private:
  void separate() { header += header.empty() ? "" : ","; }
  std::string header, data;
};

/// The description of a model with these members besides name, version and element type.
inline ModelInfo modelWith(const std::string &members, const std::string &type = "f32") {
  return llvm::cantFail(
      ModelInfo::parse("{\"name\":\"m\",\"abi\":1,\"dtype\":\"" + type + "\"," + members + "}", "m.so"));
}

template <typename T> std::string errorOf(llvm::Expected<T> result) {
  return result ? "no error" : llvm::toString(result.takeError());
}

} // namespace gnnc::test

#endif // GNNC_TEST_UNIT_HOST_TESTFILES_H
