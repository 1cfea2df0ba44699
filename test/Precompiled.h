//===- Precompiled.h - Headers that tests with MLIR include -----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled once and shared by add_gnnc_unittest(... MLIR); never included by name.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_PRECOMPILED_H
#define GNNC_TEST_PRECOMPILED_H

#include "gnnc/Support/MLIRPrecompiled.h"
#include <gtest/gtest.h>

#endif // GNNC_TEST_PRECOMPILED_H
