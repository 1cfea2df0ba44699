//===- GoldenCases.h - PyTorch Geometric's numbers of layers ----*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_GOLDENCASES_H
#define GNNC_TEST_INTEGRATION_GOLDENCASES_H

#include "TestModel.h"
#include "gnnc/Host/HostTensor.h"
#include "gnnc/Support/Safetensors.h"

#include <functional>

namespace gnnc::test {

/// The layers of goldens/.
inline constexpr const char *kGoldenLayers[] = {
    "appnp",     "edgeconv",    "edgeconv_mlp", "gat", "gat_mean_loops", "gatv2",    "gatv2_edge",
    "gcn",       "gcn_noloops", "gin",          "gmm", "rgcn",           "rgcn_add", "sage_max",
    "sage_mean", "sage_min",    "transformer"};

Tensor tensorOf(const FileTensor &tensor);
Tensor tensorOf(const HostTensor &tensor);

/// Compares a layer's outputs, or with `gradient` the gradients of inputs and parameters too, as each of the runners
/// computes them with PyTorch Geometric's. Skips the test where these are missing. Where cases are recorded for another
/// device (DeviceCases.h), what is expected of it are PyTorch Geometric's numbers.
using MakeRunners = std::function<std::vector<std::unique_ptr<Runner>>(const frontend::ModelSpec &)>;
void compareWithPyG(const std::string &kind, bool gradient, const MakeRunners &makeRunners);

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_GOLDENCASES_H
