//===- HostImage.cpp - An image of kernels for the emulator ---------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   HostImage KERNELS.cuh IMAGE
//
// As nvcc makes a cubin: of one file of kernels, the headers beside it and further ones, for the driver's stand-in.
//
//===----------------------------------------------------------------------===//

#include "HostCompiler.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdio.h>

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "expected a file of kernels, one to write, and further headers\n");
    return 1;
  }
  std::filesystem::path kernels = argv[1];
  gnnc::standin::KernelText text;
  text.text = "#include \"" + kernels.filename().string() + "\"\n";
  auto add = [&](const std::filesystem::path &header) {
    std::ifstream file(header);
    text.headers.emplace_back(header.filename().string(), std::string(std::istreambuf_iterator<char>(file), {}));
  };
  for (const auto &entry : std::filesystem::directory_iterator(kernels.parent_path()))
    add(entry.path());
  for (int i = 3; i < argc; ++i)
    add(argv[i]);
  std::string image, log;
  if (!gnnc::standin::compileForHost(text, image, log)) {
    fprintf(stderr, "%s\n", log.c_str());
    return 1;
  }
  std::ofstream file(argv[2], std::ios::binary);
  file << "machine code for sm_90\n" << image;
  return file.flush() ? 0 : 1;
}
