//===- ParamsMap.h - Rules for making parameters ----------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The parsed form of a parameters map, private to the library; include/gnnc/Host/Parameters.h describes the text.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_LIB_HOST_PARAMSMAP_H
#define GNNC_LIB_HOST_PARAMSMAP_H

#include "gnnc/Host/Parameters.h"

#include <variant>

namespace gnnc {

/// -1: what is left; a string: a product of the parameter's axes.
using SizeRule = std::variant<int64_t, std::string>;

struct ReshapeStep {
  std::vector<SizeRule> sizes;
};
struct TransposeStep {
  std::vector<int64_t> order; ///< empty: the last two axes swapped
};
struct SliceStep {
  int64_t axis, begin, end;
};
struct IndexStep {
  int64_t axis, index;
};
using Step = std::variant<ReshapeStep, TransposeStep, SliceStep, IndexStep>;

/// Where one parameter comes from.
struct ParamRule {
  std::optional<double> fill;
  std::vector<std::string> from;
  std::vector<Step> steps;
  bool stack = false;
  std::optional<int64_t> concat;
};

struct ParamsMap::Data {
  std::string name;
  std::map<std::string, ParamRule> rules;
  std::vector<std::string> ignored;
};

/// The parameter's full shape and the names of its axes (the space's for the first one, if it is on a space).
struct ParamShape {
  const TensorInfo *info;
  std::vector<int64_t> sizes;
};

/// Makes one parameter; errors name it and both shapes.
llvm::Expected<HostTensor> makeParameter(const ParamShape &param, ElementType type, const SafetensorsFile &file,
                                         const ParamRule &rule);

} // namespace gnnc

#endif // GNNC_LIB_HOST_PARAMSMAP_H
