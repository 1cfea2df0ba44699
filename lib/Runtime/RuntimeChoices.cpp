//===- RuntimeChoices.cpp - The runtime's part for choices -------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Linked into models that name gnnc_choices; see Parts.h.
//
//===----------------------------------------------------------------------===//

#define GNNC_RUNTIME_PARTS
#include "Choose.cpp"
#include "Farthest.cpp"
#include "Nearest.cpp"
#include "NearestTree.cpp"
#include "Selection.cpp"
#include "Top.cpp"
#include "Within.cpp"
