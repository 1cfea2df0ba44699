//===- NVRTCBuiltins.cpp - The stand-in's second library ------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("default"))) const int standInBuiltins = 1;
