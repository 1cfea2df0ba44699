//===- Config.h - A model's configuration -----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_CONFIG_H
#define GNNC_HOSTS_TRITON_CONFIG_H

#include "Signature.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gnnc::triton {

/// "TYPE_FP32" of "f32".
std::string configType(const std::string &dtype);

/// config.pbtxt for a model, with comments.
std::string configText(const Signature &signature);

/// Fills in what a configuration leaves out: inputs, outputs, and batching if there are neither. Whether it did.
bool completeConfig(const Signature &signature, nlohmann::json &config);

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_CONFIG_H
