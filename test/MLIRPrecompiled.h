//===- MLIRPrecompiled.h - Headers that tests with MLIR include -*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiled once and shared by tests with MLIR and their libraries; never included by name.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_MLIRPRECOMPILED_H
#define GNNC_TEST_MLIRPRECOMPILED_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Pass/PassManager.h"
#include "test/Precompiled.h"

#endif // GNNC_TEST_MLIRPRECOMPILED_H
