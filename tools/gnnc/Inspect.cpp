//===- Inspect.cpp - gnnc inspect -----------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InspectParts.h"
#include "Inspector.h"
#include "ModelOnGraph.h"
#include "Report.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace gnnc;

std::optional<int64_t> Inspector::extentOf(const std::optional<std::string> &space) const {
  if (!space)
    return 1;
  if (plans && plans->session().extent(*space) >= 0)
    return plans->session().extent(*space);
  const SpaceInfo *known = model.info().findSpace(*space);
  return known && known->kind == "static" ? known->extent : std::nullopt;
}

std::optional<size_t> Inspector::workspaceOf(const ProgramInfo &program) const {
  llvm::Expected<size_t> bytes = plans->session().workspaceBytes(program.name);
  if (bytes)
    return *bytes;
  llvm::consumeError(bytes.takeError());
  return std::nullopt;
}

/// Empty where the extent is not known.
std::string Inspector::bytesOf(const std::optional<std::string> &space, int64_t rowElements, ElementType type) const {
  std::optional<int64_t> extent = extentOf(space);
  std::optional<int64_t> bytes = extent ? llvm::checkedMul(*extent, rowElements * elementBytes(type)) : std::nullopt;
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
    bool isSparse = llvm::any_of(model.info().sparseInputs, [&](auto &s) { return s.value == tensor.name; });
    if (tensor.optional)
      llvm::raw_string_ostream(absent) << (isSparse ? "values " : "") << "optional, " << llvm::format("%g", tensor.fill)
                                       << " where absent";
    table.add({tensor.name, typeOf(tensor), bytesOf(tensor.space, countElements(tensor.dims).value_or(0), tensor.type),
               tensor.embedded ? "values in the object" : absent});
  }
  table.print(out);
}

/// Only how many there are, where nobody asks for more: each parameter of a model that trains has some.
void Inspector::printStates() {
  const std::vector<TensorInfo> &states = model.info().states;
  if (arguments.verbose || states.size() <= 2)
    return printTensors("states", states);
  std::optional<int64_t> bytes = 0;
  for (const TensorInfo &state : states) {
    std::optional<int64_t> extent = extentOf(state.space), row = countElements(state.dims);
    bytes =
        bytes && extent && row ? llvm::checkedMulAdd(*extent, *row * elementBytes(state.type), *bytes) : std::nullopt;
  }
  out << "states\n  " << states.size() << " tensors" << (bytes ? ", " + formatBytes(uint64_t(*bytes)) : "")
      << "  (-v lists them)\n";
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
      out << "  updates "
          << (arguments.verbose || program.updates.size() <= 2
                  ? llvm::join(program.updates, ", ")
                  : std::to_string(program.updates.size()) + " parameters and states")
          << "\n";
  }
}

void Inspector::printSpaces() {
  out << "spaces\n";
  Table spaces;
  for (const SpaceInfo &space : model.info().spaces) {
    // The compiler's own have a dot in their names.
    bool isOwn = space.kind == "static" && llvm::StringRef(space.name).contains('.');
    if (!arguments.verbose && (isOwn || (space.kind != "root" && space.kind != "static")))
      continue;
    std::optional<int64_t> extent = extentOf(space.name);
    spaces.add({space.name, space.kind, extent ? formatCount(*extent) : ""});
  }
  spaces.print(out);
  out << "maps\n";
  Table maps;
  for (const MapInfo &map : model.info().maps)
    if (arguments.verbose || map.kind == "root")
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
    text += ", " + std::to_string(kernel.operations) + (kernel.operations == 1 ? " operation" : " operations");
  return text;
}

void Inspector::printKernels() {
  out << "kernels, in order\n";
  Table table;
  llvm::MapVector<llvm::StringRef, size_t> others;
  for (auto [index, kernel] : llvm::enumerate(model.info().kernels))
    if (arguments.verbose || llvm::StringRef(kernel.function).split('.').first == "forward")
      table.add({std::to_string(index), kernel.name, kernel.function, describe(kernel)});
    else
      ++others[kernel.function];
  table.print(out);
  for (const auto &[function, count] : others)
    out << "  and " << count << " of " << function << "  (-v lists them)\n";
}

void Inspector::printPlan() {
  bool any = llvm::any_of(model.info().buffers, [](const BufferInfo &buffer) { return buffer.kind == "arena"; });
  if (!any || !(arguments.memory || arguments.verbose))
    return;
  out << "intermediate values in the workspace\n";
  Table table;
  for (const BufferInfo &buffer : model.info().buffers)
    if (buffer.kind == "arena")
      table.add({buffer.name, buffer.function,
                 buffer.space.value_or("") + "[" + std::to_string(buffer.rowElements) + "]",
                 bytesOf(buffer.space, buffer.rowElements, buffer.type),
                 "kernels " + std::to_string(buffer.first.value_or(0)) + " to " +
                     std::to_string(buffer.last.value_or(0)) + (buffer.saved ? ", kept for the backward half" : "")});
  table.print(out);
  out << "peak of intermediate values\n";
  Table peaks;
  for (const PhaseInfo &phase : phasesOf(model.info()))
    if (phase.half.empty()) {
      std::optional<double> bytes;
      if (plans)
        bytes = phase.peak.evaluate([&](llvm::StringRef space) { return extentOf(space.str()); });
      peaks.add({phase.program, phase.peak.str(), bytes ? formatBytes(uint64_t(*bytes)) : ""});
    }
  peaks.print(out);
}

void Inspector::printTriedPlans() {
  if (model.info().plans.empty())
    return;
  out << "plans for the sizes of --extents\n";
  Table table;
  table.add({"segments", "memory", "read and written", "operations", ""});
  for (const TriedPlan &plan : model.info().plans)
    table.add({std::to_string(plan.segments), formatBytes(uint64_t(plan.bytes)), formatBytes(uint64_t(plan.moved)),
               formatCount(int64_t(plan.flops)), plan.chosen ? "taken" : ""});
  table.print(out);
}

void Inspector::printText() {
  const ModelInfo &info = model.info();
  out << "model " << info.name << ", " << (info.type == ElementType::F64 ? "f64" : "f32")
      << (info.storage.empty() ? "" : ", rows stored as " + info.storage)
      << (model.isLoaded() ? ", ABI version " + std::to_string(model.api().abi_version)
                           : ", for " + model.architecture().str())
      << "\n";
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
  if (!info.unusedParams.empty())
    out << "not in the object, because no output depends on them\n  " << llvm::join(info.unusedParams, ", ") << "\n";
  if (!info.metadata.empty())
    out << "metadata\n";
  for (const auto &[name, value] : info.metadata)
    out << "  " << name << " = " << value << "\n";
  printStates();
  printTensors("outputs", info.outputs);
  printPrograms();
  printSpaces();
  printKernels();
  printAlternatives();
  printSchedules();
  printPlan();
  printTriedPlans();
  if (!plans)
    return;
  out << "on " << plans->graphPath << "\n";
  Table table;
  table.add({"prepared graph", formatBytes(plans->session().graphBytes())});
  for (const ProgramInfo &program : model.info().programs)
    if (std::optional<size_t> bytes = workspaceOf(program))
      table.add({"workspace of " + program.name, formatBytes(*bytes)});
  if (plans->sessions.size() > 1) {
    const Session &device = plans->sessions.back();
    table.add({"prepared graph on a GPU", formatBytes(device.graphBytes())});
    for (const ProgramInfo &program : model.info().programs)
      if (llvm::Expected<size_t> bytes = device.workspaceBytes(program.name))
        table.add({"workspace of " + program.name + " on a GPU", formatBytes(*bytes)});
      else
        llvm::consumeError(bytes.takeError());
  }
  table.print(out);
  printShared();
  printLocality();
}

/// A number for a graph, else a formula.
std::string Inspector::costOf(const SymbolicExpr &expression) const {
  std::optional<double> value;
  if (plans)
    value = expression.evaluate([&](llvm::StringRef space) { return extentOf(space.str()); });
  return value ? formatCount(int64_t(*value)) : expression.str();
}

std::string Inspector::costOf(const SymbolicMax &expression) const {
  std::optional<double> value;
  if (plans)
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
  out << "programs, with the bytes that the forward half saves for the backward half, and the peak of intermediate "
         "values\n";
  Table phases;
  phases.add({"program", "kernels", "launches", "flops", "bytes read", "bytes written", "bytes saved", "peak bytes"});
  for (const PhaseInfo &phase : phasesOf(model.info()))
    phases.add({phase.half.empty() ? phase.program : "  " + phase.half, std::to_string(phase.kernels),
                std::to_string(phase.launches), costOf(phase.flops), costOf(phase.read), costOf(phase.written),
                phase.half == "backward" ? "" : costOf(phase.saved), costOf(phase.peak)});
  phases.print(out);
}

void Inspector::printJSON() {
  if (!plans) {
    out << model.description().rtrim() << "\n";
    return;
  }
  llvm::json::OStream json(out, 2);
  json.object([&] {
    json.attributeBegin("model");
    json.rawValue(model.description());
    json.attributeEnd();
    json.attributeObject("graph", [&] {
      json.attribute("path", llvm::json::fixUTF8(plans->graphPath));
      json.attributeObject("extents", [&] {
        for (const SpaceInfo &space : model.info().spaces)
          json.attribute(space.name, plans->session().extent(space.name));
      });
      json.attribute("graph_bytes", int64_t(plans->session().graphBytes()));
      json.attributeObject("workspace_bytes", [&] {
        for (const ProgramInfo &program : model.info().programs)
          if (std::optional<size_t> bytes = workspaceOf(program))
            json.attribute(program.name, int64_t(*bytes));
      });
      json.attributeArray("choices", [&] {
        for (const Session &session : plans->sessions)
          if (llvm::Expected<std::string> text = session.describeGraph())
            json.rawValue(*text);
          else
            llvm::consumeError(text.takeError());
      });
    });
  });
  out << "\n";
}

/// Plans for every target the model has code for.
static llvm::Error makePlans(const ModelFile &model, const BoundGraph &graph, llvm::StringRef tuning, Plans &plans) {
  bool hasCUDA =
      llvm::any_of(model.info().kernels, [](const KernelInfo &kernel) { return kernel.launches.has_value(); });
  llvm::Expected<TuningText> tuned = TuningText::read(tuning, model.path());
  if (!tuned)
    return tuned.takeError();
  gnnc_graph_desc description = graph.description();
  description.tuning = tuned->path.empty() ? nullptr : tuned->text.c_str();
  std::string ignored;
  for (int32_t type : {1, 2}) {
    if (type == 2 && !hasCUDA)
      continue;
    DeviceChoice device{type, 0, /*planOnly=*/true};
    llvm::Expected<Session> session = Session::create(model, description, /*threads=*/1, device, &ignored);
    if (!session)
      return session.takeError();
    llvm::Expected<std::string> text = session->describeGraph();
    if (!text)
      return text.takeError();
    llvm::Expected<GraphInfo> info = GraphInfo::parse(*text);
    if (!info)
      return info.takeError();
    plans.infos.push_back(std::move(*info));
    plans.sessions.push_back(std::move(*session));
  }
  if (!ignored.empty())
    llvm::errs() << "gnnc: warning: '" << tuned->path << "' is not used: " << ignored << "\n";
  return llvm::Error::success();
}

int gnnc::runInspect(const InspectArguments &arguments) {
  // On a graph it would have to run here.
  bool isAlone = arguments.graph.empty() && arguments.extents.empty();
  llvm::Expected<ModelFile> model =
      isAlone ? ModelFile::openToInspect(arguments.model) : ModelFile::open(arguments.model);
  if (!model)
    return fail(model.takeError());
  if (llvm::sys::fs::is_directory(arguments.graph) || !arguments.extents.empty()) {
    if (llvm::Error error = inspectParts(*model, arguments, llvm::outs()))
      return fail(std::move(error));
    return ExitOk;
  }
  if (!arguments.measured.empty())
    return fail(llvm::createStringError("--measured: expected a folder of parts as --graph, or --extents, found '" +
                                        arguments.graph + "'"));
  if (arguments.triton) {
    if (llvm::Error error = Inspector(*model, nullptr, arguments, llvm::outs()).printTriton())
      return fail(std::move(error));
    return ExitOk;
  }
  Plans plans;
  if (!arguments.graph.empty()) {
    llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(arguments.graph);
    if (!file)
      return fail(file.takeError());
    llvm::Expected<BoundGraph> graph = BoundGraph::create(*file, model->info());
    if (!graph)
      return fail(graph.takeError());
    plans.graphPath = arguments.graph;
    if (llvm::all_of(llvm::ArrayRef{"src", "dst"}, [&](llvm::StringRef map) { return model->info().findMap(map); })) {
      if (llvm::Expected<GraphEdges> edges = GraphEdges::read(*file))
        plans.edges = std::move(*edges);
      else
        llvm::consumeError(edges.takeError()); // The maps came from elsewhere in the file.
    }
    if (llvm::Error error = makePlans(*model, *graph, arguments.tuning, plans))
      return fail(llvm::createStringError("'" + arguments.model + "' on '" + arguments.graph +
                                          "': " + llvm::toString(std::move(error))));
  }
  Inspector inspector(*model, arguments.graph.empty() ? nullptr : &plans, arguments, llvm::outs());
  arguments.json ? inspector.printJSON() : arguments.cost ? inspector.printCost() : inspector.printText();
  return ExitOk;
}
