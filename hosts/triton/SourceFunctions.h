//===- SourceFunctions.h - Functions of integers ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_SOURCEFUNCTIONS_H
#define GNNC_HOSTS_TRITON_SOURCEFUNCTIONS_H

#include "Source.h"

namespace gnnc::triton {

/// A function of integers and lists of them; those of tensors and bounds are in Source.cpp. Integers have 64 bits and
/// wrap; sizes, positions and lengths are checked.
Integers callFunction(const std::string &name, const std::vector<const Integers *> &arguments);

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_SOURCEFUNCTIONS_H
