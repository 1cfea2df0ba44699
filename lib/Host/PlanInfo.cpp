//===- PlanInfo.cpp - What a program costs and keeps, as formulas ---------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/PlanInfo.h"

#include "gnnc/Host/HostTensor.h"

#include "llvm/ADT/STLExtras.h"

using namespace gnnc;

/// Whether `a` is at least `b` on every graph.
static bool exceeds(const SymbolicExpr &a, const SymbolicExpr &b) {
  SymbolicExpr difference = a + b * -1;
  return difference.getNumber() >= 0 &&
         llvm::all_of(difference.getFactors(), [](const auto &factor) { return factor.second >= 0; });
}

void SymbolicMax::add(const SymbolicExpr &expression) {
  if (llvm::any_of(terms, [&](const SymbolicExpr &term) { return exceeds(term, expression); }))
    return;
  llvm::erase_if(terms, [&](const SymbolicExpr &term) { return exceeds(expression, term); });
  terms.push_back(expression);
}

std::string SymbolicMax::str() const {
  if (terms.empty())
    return "0";
  if (terms.size() == 1)
    return terms.front().str();
  std::string text = "max(";
  for (const SymbolicExpr &term : terms)
    text += (text.size() == 4 ? "" : ", ") + term.str();
  return text + ")";
}

std::optional<double> SymbolicMax::evaluate(ExtentFunction extent) const {
  double most = 0;
  for (const SymbolicExpr &term : terms) {
    std::optional<double> value = term.evaluate(extent);
    if (!value)
      return std::nullopt;
    most = std::max(most, *value);
  }
  return most;
}

SymbolicExpr gnnc::bytesOf(const ModelInfo &model, const BufferInfo &buffer) {
  int64_t bytes = buffer.rowElements * elementBytes(buffer.type);
  return buffer.space ? SymbolicExpr::of(*buffer.space, bytes) : SymbolicExpr(bytes);
}

std::vector<SymbolicExpr> gnnc::liveBytes(const ModelInfo &model, llvm::StringRef program) {
  int64_t count = llvm::count_if(model.kernels, [&](const KernelInfo &kernel) { return kernel.function == program; });
  std::vector<SymbolicExpr> live(static_cast<size_t>(count));
  for (const BufferInfo &buffer : model.buffers)
    if (buffer.function == program && buffer.first && buffer.last)
      for (int64_t step = std::max<int64_t>(*buffer.first, 0); step <= *buffer.last && step < count; ++step)
        live[static_cast<size_t>(step)] += bytesOf(model, buffer);
  return live;
}

std::vector<PhaseInfo> gnnc::phasesOf(const ModelInfo &model) {
  std::vector<PhaseInfo> phases;
  std::vector<std::string> programs;
  for (const KernelInfo &kernel : model.kernels)
    if (!llvm::is_contained(programs, kernel.function))
      programs.push_back(kernel.function);
  for (const std::string &program : programs) {
    std::vector<SymbolicExpr> live = liveBytes(model, program);
    PhaseInfo whole, forward, backward;
    whole.program = forward.program = backward.program = program;
    forward.half = "forward";
    backward.half = "backward";
    size_t step = 0;
    for (const KernelInfo &kernel : model.kernels) {
      if (kernel.function != program)
        continue;
      for (PhaseInfo *phase : {&whole, kernel.half == "backward" ? &backward : &forward}) {
        ++phase->kernels;
        phase->launches += kernel.launches.value_or(1);
        phase->flops += kernel.flops;
        phase->read += kernel.read;
        phase->written += kernel.written;
        phase->peak.add(live[step]);
      }
      ++step;
    }
    for (const BufferInfo &buffer : model.buffers)
      if (buffer.function == program && buffer.saved)
        whole.saved += bytesOf(model, buffer);
    forward.saved = whole.saved;
    phases.push_back(whole);
    if (backward.kernels > 0) {
      phases.push_back(forward);
      phases.push_back(backward);
    }
  }
  return phases;
}
