//===- Fuzz.h - What fuzz targets share -------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_FUZZ_FUZZ_H
#define GNNC_TEST_FUZZ_FUZZ_H

#include "gnnc/Host/ModelInfo.h"
#include "gnnc/Support/Safetensors.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace gnnc {

/// Ends the process as a find of the fuzzer.
[[noreturn]] inline void fail(const std::string &what) {
  llvm::errs() << "fuzz: " << what << "\n";
  std::abort();
}

inline void require(bool holds, const char *what) {
  if (!holds)
    fail(std::string("expected ") + what);
}

/// A message is one line.
inline void checkMessage(llvm::Error error) {
  std::string message = llvm::toString(std::move(error));
  require(!message.empty() && message.find('\n') == std::string::npos, "a message of one line");
}

/// Reads memory, so that a sanitizer sees what may not be read.
inline void touch(const void *data, size_t bytes) {
  static volatile unsigned char sum;
  for (size_t i = 0; i < bytes; ++i)
    sum = static_cast<unsigned char>(sum + static_cast<const unsigned char *>(data)[i]);
}

/// A model with everything that graph and parameter files are looked through for.
inline ModelInfo smallModel(bool sparse) {
  std::string text = R"({"name":"m","abi":1,"dtype":"f32",)";
  text += sparse
              ? R"("spaces":[{"name":"node","kind":"root"},{"name":"x.entry","kind":"root"},)"
                R"({"name":"x.in","kind":"static","extent":3}],)"
                R"("maps":[{"name":"x.row","from":"x.entry","to":"node","kind":"root"},)"
                R"({"name":"x.column","from":"x.entry","to":"x.in","kind":"root"}],)"
                R"("inputs":[{"name":"x","space":"x.entry","dims":[],"axes":[],"optional":true,"fill":1.0}],)"
                R"("sparse_inputs":[{"name":"x","entries":"x.entry","row":"x.row","column":"x.column","value":"x"}],)"
              : R"("spaces":[{"name":"node","kind":"root"},{"name":"edge","kind":"root"}],)"
                R"("maps":[{"name":"src","from":"edge","to":"node","kind":"root"},)"
                R"({"name":"dst","from":"edge","to":"node","kind":"root"}],)"
                R"("inputs":[{"name":"x","space":"node","dims":[3],"axes":["in"]},)"
                R"({"name":"w","space":"edge","dims":[],"axes":[],"optional":true,"fill":1.0}],)";
  text += R"("params":[{"name":"W","space":null,"dims":[3,2],"axes":["in","out"]},)"
          R"({"name":"b","space":null,"dims":[2],"axes":["out"]}],)"
          R"("states":[{"name":"s","space":"node","dims":[2],"axes":["out"],"fill":0.5}]})";
  return llvm::cantFail(ModelInfo::parse(text, "m.so"));
}

/// Parameters of that model under the names of another framework.
inline SafetensorsFile smallParameters() {
  std::string header = R"({"lin.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                       R"("lin.bias":{"dtype":"F64","shape":[2],"data_offsets":[24,40]}})";
  uint64_t length = header.size();
  std::string bytes(reinterpret_cast<const char *>(&length), 8);
  return llvm::cantFail(
      SafetensorsFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes + header + std::string(40, '\0')), "f"));
}

} // namespace gnnc

#endif // GNNC_TEST_FUZZ_FUZZ_H
