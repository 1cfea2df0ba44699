//===- Main.cpp - The compiler as a library of another project ----------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   embed MODEL.gnn MODEL.so
//
//===----------------------------------------------------------------------===//

#include "dialects/mpk/IR/MPK.h"
#include "gnnc-c/gnnc.h"
#include "gnnc/Frontend/Frontend.h"
#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Transforms/Passes.h"

#include <cstdio>
#include <fstream>

static_assert(GNNC_ABI_VERSION >= 1);

int main(int argc, char **argv) {
  if (argc != 3)
    return std::fprintf(stderr, "usage: embed MODEL.gnn MODEL.so\n"), 2;
  gnnc::frontend::CompileInputs inputs;
  inputs.mainPath = argv[1];
  std::vector<gnnc::frontend::Diagnostic> diagnostics;
  std::optional<gnnc::frontend::ModelSpec> model = gnnc::frontend::loadModel(inputs, diagnostics);
  if (!model)
    return std::fprintf(stderr, "%zu errors in %s\n", diagnostics.size(), argv[1]), 1;

  // IR on the way is reached too: here as text, in which operations go by the names of the installed dialects.
  gnnc::CompileOptions options;
  options.compileTo = "fuse";
  llvm::Expected<std::string> kernels = gnnc::compile(*model, options);
  if (!kernels || kernels->find(gnnc::mpk::SweepOp::getOperationName().str()) == std::string::npos)
    return std::fprintf(stderr, "no sweep in the kernels\n"), 1;

  llvm::Expected<std::string> object = gnnc::compile(*model, {});
  if (!object)
    return std::fprintf(stderr, "%s\n", llvm::toString(object.takeError()).c_str()), 1;
  std::ofstream(argv[2], std::ios::binary) << *object;
  return 0;
}
