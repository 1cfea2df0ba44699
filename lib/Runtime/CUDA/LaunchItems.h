//===- LaunchItems.h - Which items a launch takes ---------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rule by which the schedules of a sweep share its items, and the grids of all launches. It depends on the graph's
// worklists alone, so a graph can be planned without its device.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_CUDA_LAUNCHITEMS_H
#define GNNC_RUNTIME_CUDA_LAUNCHITEMS_H

#include "../Tuning.h"
#include "Device.h"

namespace gnnc::runtime::cuda {

/// The items of owners with at least `least` and fewer than `below` members (-1: however many). Where items go by
/// falling size these are a range. Else all are taken together, by their average: `members` is as in the whole domain.
ItemRange chooseItems(const DeviceWorklist &list, int64_t members, int64_t least, int64_t below);

/// Decides the sizes of all launches of items, by the table or by a tuning made for the same order of the worklist, and
/// counts blocks. With capacities also the most there can be.
gnnc_status decideGrids(gnnc_graph &graph, const Device &device, const Tuning &tuning, gnnc_error *error);

} // namespace gnnc::runtime::cuda

#endif // GNNC_RUNTIME_CUDA_LAUNCHITEMS_H
