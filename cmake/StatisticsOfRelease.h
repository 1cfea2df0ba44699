//===- StatisticsOfRelease.h - Statistics as LLVM's release has them ------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included first in builds with assertions. A pass's statistics are constructed within MLIR's library, which was built
// without assertions, and there they are empty; with assertions they would have members here, which nobody sets.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_CMAKE_STATISTICSOFRELEASE_H
#define GNNC_CMAKE_STATISTICSOFRELEASE_H

#define NDEBUG
#include "llvm/ADT/Statistic.h"
#undef NDEBUG

#endif // GNNC_CMAKE_STATISTICSOFRELEASE_H
