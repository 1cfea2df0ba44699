//===- DeviceCases.h - Cases for a GPU on another machine -------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With the environment variable GNNC_DEVICE_CASES, tests write what a GPU would have to run, and what the interpreter
// makes of it, to the folder it names. test/Device/Replay.cpp runs that where there is a GPU, or the stand-in for one.
// GNNC_DEVICE_CPU=aarch64 (or x86-64): what such a processor would have to run, which test/Device/ReplayOnCPU.cpp does
// there.
// GNNC_DEVICE_FORMS, names divided by commas, says which forms of a model: O2, O2d (double precision), O0, O2b (rows of
// bf16), O2t (products of TF32), O2bt, ...; without it all.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_TEST_INTEGRATION_DEVICECASES_H
#define GNNC_TEST_INTEGRATION_DEVICECASES_H

#include "TestModel.h"
#include "gnnc/Support/Half.h"
#include "gnnc/Target/CUDA/ProductArithmetic.h"
#include "mlir/IR/BuiltinOps.h"

namespace gnnc::test {

/// Compiled for GPUs of Hopper's generation, and by the driver for newer ones.
llvm::Expected<std::string> compileForGPU(frontend::ModelSpec model, unsigned optLevel, bool gradient,
                                          bool doublePrecision = false, Storage storage = Storage::AsComputed,
                                          cuda::ProductArithmetic products = cuda::ProductArithmetic::TF32x3);

/// Whether GNNC_DEVICE_CASES is set.
bool isRecordingForDevice();

/// Whether what is recorded is for processors (GNNC_DEVICE_CPU): their phases do not store what those for GPUs do, so
/// that rows of 16 bits are rounded elsewhere.
bool isRecordingForProcessors();

/// As an object for GPUs: a module past plan-memory, as phases for GPUs make it.
llvm::Expected<std::string> packageForGPU(mlir::ModuleOp module);

/// Writes cases of one model. Files are named after the running test.
class DeviceRecorder {
public:
  /// Null where nothing is recorded. Every model is recorded in double precision too, where a wrong number cannot be
  /// taken for a rounded one.
  /// `unfused`: without optimisations too, which makes many more kernels.
  static llvm::Expected<std::unique_ptr<DeviceRecorder>> create(const frontend::ModelSpec &model, bool gradient,
                                                                bool unfused = true);

  /// At one level, with rows stored in 16 bits: what memory holds between kernels depends on the level.
  static llvm::Expected<std::unique_ptr<DeviceRecorder>>
  create(const frontend::ModelSpec &model, bool gradient, unsigned optLevel, Storage storage,
         cuda::ProductArithmetic products = cuda::ProductArithmetic::TF32x3);

  /// Of an object that is compiled already, called `form` in its file's name. `shared`: names of tensors that are not
  /// stored in 16 bits.
  static llvm::Expected<std::unique_ptr<DeviceRecorder>> create(llvm::StringRef object, const std::string &form,
                                                                Storage storage, std::vector<std::string> shared);

  /// `outputs` of the program, and what it makes of parameters and states. `doubleOnly`: not for the forms in single
  /// precision, whose rounding could decide on the outputs.
  llvm::Error add(llvm::StringRef program, const Graph &graph, const Tensors &tensors, const Tensors &outputs,
                  const Tensors &updates = {}, bool doubleOnly = false);

private:
  struct Form {
    unsigned optLevel;
    bool doublePrecision;
    Storage storage;
    cuda::ProductArithmetic products = cuda::ProductArithmetic::TF32x3;
  };
  static llvm::Expected<std::unique_ptr<DeviceRecorder>> create(const frontend::ModelSpec &model, bool gradient,
                                                                llvm::ArrayRef<Form> forms);

  llvm::Error addModel(llvm::StringRef object, const std::string &form, bool isDouble = false);

  std::string folder;
  Storage storage = Storage::AsComputed;
  std::vector<std::string> shared; ///< tensors that are not stored in 16 bits
  struct Recorded {
    std::string name;
    bool isDouble;
  };
  std::vector<Recorded> models;
  unsigned cases = 0;
};

} // namespace gnnc::test

#endif // GNNC_TEST_INTEGRATION_DEVICECASES_H
