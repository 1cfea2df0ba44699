//===- LinkedModel.cpp - What a model names of the runtime ----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An empty model, linked with the runtime's archive by CheckArchive.cmake. HAS_CUDA, HAS_RANKS: what it needs.
//
//===----------------------------------------------------------------------===//

#include "gnnc/ModelFormat/ModelTable.h"

#pragma GCC visibility push(hidden)
extern "C" {
extern const int64_t gnnc_model_table[] = {0};
extern const char gnnc_model_names[] = {0};
extern const char gnnc_model_json[] = {0};
extern const int64_t gnnc_model_json_size = 0;
extern const char gnnc_model_constants[] = {0};
extern const char gnnc_model_values[] = {0};
extern const gnnc::table::Variant gnnc_model_variants[] = {{}};
extern const gnnc::table::DeviceImage gnnc_model_images[] = {{}};
extern const gnnc::table::DeviceImage gnnc_model_preparation[] = {{}};
#ifdef HAS_CUDA
extern const gnnc::table::DriverLoader gnnc_model_driver = gnnc_load_cuda_driver;
#else
extern const gnnc::table::DriverLoader gnnc_model_driver = nullptr;
#endif
#ifdef HAS_RANKS
extern const char *const gnnc_model_ranks = &gnnc_ranks;
#else
extern const char *const gnnc_model_ranks = nullptr;
#endif
}
#pragma GCC visibility pop
