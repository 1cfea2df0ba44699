//===- Precompiled.cpp - What owns the precompiled headers of tests -------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Empty: a target that reuses a precompiled header waits for all of the target that owns it.
//
//===----------------------------------------------------------------------===//
