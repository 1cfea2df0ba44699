//===- Precompiled.h - Headers that tests include ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled once and shared by tests without MLIR; never included by name.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_PRECOMPILED_H
#define GNNC_TEST_PRECOMPILED_H

#include "gnnc/Support/Precompiled.h"
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#endif // GNNC_TEST_PRECOMPILED_H
