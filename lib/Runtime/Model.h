//===- Model.h - Reading a model's table ------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A view of the records that the compiler wrote (ModelTable.h). Nothing is copied. The functions of the API take it
// from their context or graph, so that several models can live in one test program.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_MODEL_H
#define GNNC_RUNTIME_MODEL_H

#include "gnnc/ModelFormat/ModelTable.h"

namespace gnnc::runtime {

struct Model {
  const int64_t *table;
  const char *names;
  const char *constants;
  const table::Variant *variants;
  const table::DeviceImage *images = nullptr;
  table::DriverLoader loadDriver = nullptr; ///< null: no code for GPUs
  const table::DeviceImage *preparationImages = nullptr;
  const char *values = nullptr; ///< of parameters and states
  const char *ranks = nullptr;  ///< null: compiled for one process

  const table::Header &header() const { return *reinterpret_cast<const table::Header *>(table); }
  const int64_t *list(int64_t at) const { return table + at; }
  const char *name(int64_t offset) const { return names + offset; }

  const table::SpaceRec &space(int64_t i) const { return record<table::SpaceRec>(header().spacesAt, i); }
  const table::MapRec &map(int64_t i) const { return record<table::MapRec>(header().mapsAt, i); }
  const table::IndexRec &index(int64_t i) const { return record<table::IndexRec>(header().indicesAt, i); }
  const table::BufferRec &buffer(int64_t i) const { return record<table::BufferRec>(header().buffersAt, i); }
  const table::StepRec &step(int64_t i) const { return record<table::StepRec>(header().stepsAt, i); }
  const table::FunctionRec &function(int64_t i) const { return record<table::FunctionRec>(header().functionsAt, i); }
  const table::ProgramRec &program(int64_t i) const { return record<table::ProgramRec>(header().programsAt, i); }
  const table::AlternativeRec &alternative(int64_t i) const {
    return record<table::AlternativeRec>(header().alternativesAt, i);
  }
  const table::ValuesRec &value(int64_t i) const { return record<table::ValuesRec>(header().valuesAt, i); }
  const table::DeviceStepRec &deviceStep(int64_t i) const {
    return record<table::DeviceStepRec>(header().deviceStepsAt, i);
  }
  const table::ScratchRec &scratch(int64_t i) const { return record<table::ScratchRec>(header().scratchAt, i); }
  const table::LaunchRec &launch(int64_t i) const { return record<table::LaunchRec>(header().launchesAt, i); }
  const table::WordRec &word(const table::LaunchRec &launch, int64_t i) const {
    return record<table::WordRec>(launch.wordsAt, i);
  }
  const table::MergeRec &merge(const table::StepRec &step, int64_t i) const {
    return record<table::MergeRec>(step.mergesAt, i);
  }

private:
  template <typename T> const T &record(int64_t at, int64_t i) const {
    static_assert(alignof(T) == alignof(int64_t) && sizeof(T) % sizeof(int64_t) == 0);
    return reinterpret_cast<const T *>(table + at)[i];
  }
};

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_MODEL_H
