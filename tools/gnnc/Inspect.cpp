//===- Inspect.cpp - gnnc inspect -----------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Job.h"
#include "Report.h"
#include "gnnc/Host/PlanInfo.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace gnnc;

namespace {

/// Prints one model's description; with a job also what it takes on that graph.
class Inspector {
public:
  Inspector(const ModelFile &model, const Job *job, llvm::raw_ostream &out) : model(model), job(job), out(out) {}
  void printText();
  void printJSON();
  void printCost();

private:
  void printTensors(llvm::StringRef title, llvm::ArrayRef<TensorInfo> tensors);
  void printPrograms();
  void printSpaces();
  void printKernels();
  void printAlternatives();
  void printPlan();
  std::optional<int64_t> extentOf(const std::optional<std::string> &space) const;
  std::string costOf(const SymbolicExpr &expression) const;
  std::string costOf(const SymbolicMax &expression) const;
  std::string typeOf(const TensorInfo &tensor) const;
  /// Nothing where the graph lacks what the program needs.
  std::optional<size_t> workspaceOf(const ProgramInfo &program) const;
  std::string bytesOf(const std::optional<std::string> &space, int64_t rowElements) const;

  const ModelFile &model;
  const Job *job;
  llvm::raw_ostream &out;
};

} // namespace

std::optional<int64_t> Inspector::extentOf(const std::optional<std::string> &space) const {
  if (!space)
    return 1;
  if (job && job->session().extent(*space) >= 0)
    return job->session().extent(*space);
  const SpaceInfo *known = model.info().findSpace(*space);
  return known && known->kind == "static" ? known->extent : std::nullopt;
}

std::optional<size_t> Inspector::workspaceOf(const ProgramInfo &program) const {
  llvm::Expected<size_t> bytes = job->session().workspaceBytes(program.name);
  if (bytes)
    return *bytes;
  llvm::consumeError(bytes.takeError());
  return std::nullopt;
}

/// Empty where the extent is not known.
std::string Inspector::bytesOf(const std::optional<std::string> &space, int64_t rowElements) const {
  std::optional<int64_t> extent = extentOf(space);
  std::optional<int64_t> bytes =
      extent ? llvm::checkedMul(*extent, rowElements * elementBytes(model.info().type)) : std::nullopt;
  return bytes ? formatBytes(uint64_t(*bytes)) : "";
}

/// A sparse input is shown as the model declares it: rows and columns instead of its entries.
std::string Inspector::typeOf(const TensorInfo &tensor) const {
  const ModelInfo &info = model.info();
  for (const SparseInfo &sparse : info.sparseInputs) {
    const MapInfo *row = info.findMap(sparse.row), *column = info.findMap(sparse.column);
    if (sparse.value != tensor.name || !row || !column)
      continue;
    std::optional<int64_t> columns = extentOf(column->to);
    return row->to + "[" + (columns ? std::to_string(*columns) : column->to) + "] sparse";
  }
  return formatType(tensor);
}

void Inspector::printTensors(llvm::StringRef title, llvm::ArrayRef<TensorInfo> tensors) {
  if (tensors.empty())
    return;
  out << title << "\n";
  Table table;
  for (const TensorInfo &tensor : tensors) {
    std::string absent;
    if (tensor.optional)
      llvm::raw_string_ostream(absent) << "optional, " << llvm::format("%g", tensor.fill) << " where absent";
    table.add({tensor.name, typeOf(tensor), bytesOf(tensor.space, countElements(tensor.dims).value_or(0)), absent});
  }
  table.print(out);
}

/// Those besides forward, whose outputs are the model's.
void Inspector::printPrograms() {
  for (const ProgramInfo &program : model.info().programs) {
    if (program.name == "forward")
      continue;
    printTensors("program " + program.name, program.outputs);
    if (program.outputs.empty())
      out << "program " << program.name << "\n";
    if (!program.updates.empty())
      out << "  updates " << llvm::join(program.updates, ", ") << "\n";
  }
}

void Inspector::printSpaces() {
  out << "spaces\n";
  Table spaces;
  for (const SpaceInfo &space : model.info().spaces) {
    std::optional<int64_t> extent = extentOf(space.name);
    spaces.add({space.name, space.kind, extent ? formatCount(*extent) : ""});
  }
  spaces.print(out);
  out << "maps\n";
  Table maps;
  for (const MapInfo &map : model.info().maps)
    maps.add({map.name, map.from + " -> " + map.to, map.kind});
  maps.print(out);
  for (const SparseInfo &sparse : model.info().sparseInputs)
    out << "sparse input " << sparse.name << "\n  its entries are " << sparse.entries << ", their rows " << sparse.row
        << ", their columns " << sparse.column << "\n";
}

static std::string describe(const KernelInfo &kernel) {
  std::string text = kernel.kind;
  if (kernel.k > 0)
    text += " [" + std::to_string(kernel.k) + ", " + std::to_string(kernel.n) + "]";
  if (kernel.map)
    text += " along " + *kernel.map;
  else if (kernel.space)
    text += " over " + *kernel.space;
  if (kernel.operations > 0)
    text += ", " + std::to_string(kernel.operations) + " operations";
  return text;
}

void Inspector::printKernels() {
  out << "kernels, in order\n";
  Table table;
  for (auto [index, kernel] : llvm::enumerate(model.info().kernels))
    table.add({std::to_string(index), kernel.name, kernel.function, describe(kernel)});
  table.print(out);
}

/// What is chosen among when a graph is prepared; with a graph also which, and for what it costs.
void Inspector::printAlternatives() {
  if (model.info().alternatives.empty())
    return;
  out << (job ? "alternatives on this graph, by cost\n" : "alternatives, chosen by cost when a graph is prepared\n");
  Table table;
  auto extent = [&](llvm::StringRef space) { return extentOf(space.str()); };
  std::set<std::string> seen;
  for (const AlternativeInfo &alternative : model.info().alternatives) {
    std::string chosen = job ? model.info().chooseFunction(alternative.insteadOf, extent) : "";
    if (seen.insert(alternative.insteadOf).second)
      table.add(
          {alternative.insteadOf, costOf(alternative.insteadCost), chosen == alternative.insteadOf ? "chosen" : ""});
    table.add({alternative.function, costOf(alternative.cost),
               chosen == alternative.function
                   ? "chosen"
                   : "if less than " + std::to_string(alternative.percent) + "% of " + alternative.insteadOf});
  }
  table.print(out);
}

void Inspector::printPlan() {
  if (llvm::none_of(model.info().buffers, [](const BufferInfo &buffer) { return buffer.kind == "arena"; }))
    return;
  out << "intermediate values in the workspace\n";
  Table table;
  for (const BufferInfo &buffer : model.info().buffers)
    if (buffer.kind == "arena")
      table.add({buffer.name, buffer.function,
                 buffer.space.value_or("") + "[" + std::to_string(buffer.rowElements) + "]",
                 bytesOf(buffer.space, buffer.rowElements),
                 "kernels " + std::to_string(buffer.first.value_or(0)) + " to " +
                     std::to_string(buffer.last.value_or(0)) + (buffer.saved ? ", kept for the backward half" : "")});
  table.print(out);
  out << "the most bytes of these at one time\n";
  Table peaks;
  for (const PhaseInfo &phase : phasesOf(model.info()))
    if (phase.half.empty()) {
      std::optional<double> bytes;
      if (job)
        bytes = phase.peak.evaluate([&](llvm::StringRef space) { return extentOf(space.str()); });
      peaks.add({phase.program, phase.peak.str(), bytes ? formatBytes(uint64_t(*bytes)) : ""});
    }
  peaks.print(out);
}

void Inspector::printText() {
  const ModelInfo &info = model.info();
  out << "model " << info.name << ", " << (info.type == ElementType::F64 ? "f64" : "f32") << ", ABI version "
      << model.api().abi_version << "\n";
  printTensors("inputs", info.inputs);
  printTensors("parameters", info.params);
  int64_t numbers = 0;
  bool known = true;
  for (const TensorInfo &param : info.params) {
    std::optional<int64_t> extent = extentOf(param.space);
    known &= extent.has_value();
    numbers += extent.value_or(0) * countElements(param.dims).value_or(0);
  }
  if (!info.params.empty())
    out << "  in all " << formatCount(numbers) << " numbers" << (known ? "" : " and those on a space of the graph")
        << ", " << formatBytes(uint64_t(numbers * elementBytes(info.type))) << "\n";
  printTensors("states", info.states);
  printTensors("outputs", info.outputs);
  printPrograms();
  printSpaces();
  printKernels();
  printAlternatives();
  printPlan();
  if (!job)
    return;
  out << "on " << job->graph().path() << "\n";
  Table table;
  table.add({"prepared graph", formatBytes(job->session().graphBytes())});
  for (const ProgramInfo &program : model.info().programs)
    if (std::optional<size_t> bytes = workspaceOf(program))
      table.add({"workspace of " + program.name, formatBytes(*bytes)});
  table.print(out);
}

/// A number for a graph, else a formula.
std::string Inspector::costOf(const SymbolicExpr &expression) const {
  std::optional<double> value;
  if (job)
    value = expression.evaluate([&](llvm::StringRef space) { return extentOf(space.str()); });
  return value ? formatCount(int64_t(*value)) : expression.str();
}

std::string Inspector::costOf(const SymbolicMax &expression) const {
  std::optional<double> value;
  if (job)
    value = expression.evaluate([&](llvm::StringRef space) { return extentOf(space.str()); });
  return value ? formatCount(int64_t(*value)) : expression.str();
}

void Inspector::printCost() {
  out << "kernels\n";
  Table table;
  table.add({"", "program", "kernel", "flops", "bytes read", "bytes written"});
  for (auto [index, kernel] : llvm::enumerate(model.info().kernels))
    table.add({std::to_string(index), kernel.function, describe(kernel), costOf(kernel.flops), costOf(kernel.read),
               costOf(kernel.written)});
  table.print(out);
  out << "phases: what the forward half saves for the backward half, and the most bytes of intermediate values at one "
         "time\n";
  Table phases;
  phases.add({"program", "kernels", "launches", "flops", "bytes read", "bytes written", "bytes saved", "peak bytes"});
  for (const PhaseInfo &phase : phasesOf(model.info()))
    phases.add({phase.half.empty() ? phase.program : "  " + phase.half, std::to_string(phase.kernels),
                std::to_string(phase.launches), costOf(phase.flops), costOf(phase.read), costOf(phase.written),
                phase.half == "backward" ? "" : costOf(phase.saved), costOf(phase.peak)});
  phases.print(out);
}

void Inspector::printJSON() {
  if (!job) {
    out << model.description().rtrim() << "\n";
    return;
  }
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attributeBegin("model");
    json.rawValue(model.description());
    json.attributeEnd();
    json.attributeObject("graph", [&] {
      json.attribute("path", llvm::json::fixUTF8(job->graph().path()));
      json.attributeObject("extents", [&] {
        for (const SpaceInfo &space : model.info().spaces)
          json.attribute(space.name, job->session().extent(space.name));
      });
      json.attribute("graph_bytes", int64_t(job->session().graphBytes()));
      json.attributeObject("workspace_bytes", [&] {
        for (const ProgramInfo &program : model.info().programs)
          if (std::optional<size_t> bytes = workspaceOf(program))
            json.attribute(program.name, int64_t(*bytes));
      });
    });
  });
  out << "\n";
}

int gnnc::runInspect(const InspectArguments &arguments) {
  auto print = [&](const ModelFile &model, const Job *job) {
    Inspector inspector(model, job, llvm::outs());
    arguments.json ? inspector.printJSON() : arguments.cost ? inspector.printCost() : inspector.printText();
    return ExitOk;
  };
  if (arguments.graph.empty()) {
    llvm::Expected<ModelFile> model = ModelFile::open(arguments.model);
    return model ? print(*model, nullptr) : fail(model.takeError());
  }
  llvm::Expected<std::unique_ptr<Job>> job = Job::create(arguments.model, arguments.graph, /*threads=*/1);
  return job ? print((*job)->model(), job->get()) : fail(job.takeError());
}
