//===- InspectTriton.cpp - A configuration for Triton ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `gnnc inspect --triton` prints config.pbtxt for NVIDIA's Triton Inference Server. What a request has, and whether
// requests can be one call, is decided by the code of the backend itself.
//
//===----------------------------------------------------------------------===//

#include "Inspector.h"
#include "hosts/triton/Config.h"
#include "hosts/triton/Signature.h"

#include "llvm/Support/Error.h"

#include <exception>

using namespace gnnc;

llvm::Error Inspector::printTriton() {
  try {
    out << triton::configText(triton::Signature(model.description().str()));
  } catch (const std::exception &error) {
    return llvm::createStringError("'" + model.path() + "': " + error.what());
  }
  return llvm::Error::success();
}
