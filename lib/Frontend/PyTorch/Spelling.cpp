//===- Spelling.cpp - Operators with several names ------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PyTorch/Spelling.h"

#include "llvm/ADT/StringMap.h"

namespace gnnc::frontend::pytorch {

using llvm::StringRef;

StringRef spelled(StringRef op) {
  // The arguments of both have the same names.
  static const llvm::StringMap<StringRef> names = {
      {"absolute", "abs"},
      {"multiply", "mul"},
      {"divide", "div"},
      {"subtract", "sub"},
      {"negative", "neg"},
      {"clip", "clamp"},
      {"arccos", "acos"},
      {"arcsin", "asin"},
      {"arctan", "atan"},
      {"arccosh", "acosh"},
      {"arcsinh", "asinh"},
      {"arctanh", "atanh"},
      {"greater", "gt"},
      {"greater_equal", "ge"},
      {"less", "lt"},
      {"less_equal", "le"},
      {"not_equal", "ne"},
      {"concat", "cat"},
      {"concatenate", "cat"},
      {"row_stack", "vstack"},
      {"broadcast_to", "expand"},
      {"matrix_H", "mT"},
      {"linalg_matmul", "matmul"},
      {"unsafe_chunk", "chunk"},
      {"unsafe_split", "split"},
      {"unsafe_split_with_sizes", "split_with_sizes"},
      {"trapz", "trapezoid"},
      {"special_expit", "sigmoid"},
      {"special_exp2", "exp2"},
      {"special_expm1", "expm1"},
      {"special_log1p", "log1p"},
      {"special_log_softmax", "log_softmax"},
      {"special_logit", "logit"},
      {"special_logsumexp", "logsumexp"},
      {"special_erf", "erf"},
      {"special_erfc", "erfc"},
      {"special_round", "round"},
      {"special_sinc", "sinc"},
      {"special_softmax", "softmax"},
      {"special_xlogy", "xlogy"},
      // Of real numbers.
      {"real", "alias"},
      {"conj", "alias"},
      {"conj_physical", "clone"},
      {"_conj", "alias"},
      {"resolve_conj", "alias"},
      {"resolve_neg", "alias"},
  };
  auto found = names.find(op);
  return found == names.end() ? op : found->second;
}

StringRef reasonAgainst(StringRef op) {
  constexpr StringRef fromValues =
      "makes a space from computed numbers, so its size is known only when the model runs; keep all rows and weight "
      "them with torch.where, or give the list as an input";
  constexpr StringRef random = "draws random numbers; give them to the model as an input";
  constexpr StringRef complex = "has complex numbers; keep the real and the imaginary part in two tensors";
  constexpr StringRef system =
      "solves a system of equations; compute it outside of the model, and give the result to it";
  static const llvm::StringMap<StringRef> reasons = {
      {"nonzero", fromValues},
      {"argwhere", fromValues},
      {"unique_consecutive", fromValues},
      {"masked_scatter", "fills rows in an order that computed numbers decide; use torch.where"},
      {"rand", random},
      {"randn", random},
      {"rand_like", random},
      {"randn_like", random},
      {"randint", random},
      {"randperm", random},
      {"normal", random},
      {"uniform", random},
      {"bernoulli", random},
      {"exponential", random},
      {"multinomial", random},
      {"complex", complex},
      {"polar", complex},
      {"view_as_complex", complex},
      {"_fft_r2c", complex},
      {"_fft_c2c", complex},
      {"inverse", system},
      {"det", system},
      {"linalg_inv", system},
      {"linalg_inv_ex", system},
      {"linalg_det", system},
      {"linalg_solve", system},
      {"linalg_eigh", system},
      {"linalg_qr", system},
      {"linalg_svd", system},
      {"linalg_cholesky", system},
      {"linalg_cholesky_ex", system},
      {"linalg_pinv", system},
      {"cholesky", system},
  };
  auto found = reasons.find(op);
  return found == reasons.end() ? "" : found->second;
}

} // namespace gnnc::frontend::pytorch
