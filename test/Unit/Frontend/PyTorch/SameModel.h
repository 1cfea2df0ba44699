//===- SameModel.h - Whether two models compute the same ---------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_UNIT_FRONTEND_PYTORCH_SAMEMODEL_H
#define GNNC_TEST_UNIT_FRONTEND_PYTORCH_SAMEMODEL_H

#include "gnnc/Frontend/ModelSpec.h"

namespace gnnc::frontend::pytorch::test {

/// Whether the outputs of two models are the same operations on the same inputs and parameters: whatever axes, spaces
/// and maps are called, in whatever order values are computed, and how often.
bool isSameModel(const ModelSpec &a, const ModelSpec &b);

} // namespace gnnc::frontend::pytorch::test

#endif // GNNC_TEST_UNIT_FRONTEND_PYTORCH_SAMEMODEL_H
