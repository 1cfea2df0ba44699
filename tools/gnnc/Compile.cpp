//===- Compile.cpp - gnnc compile -----------------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Files.h"
#include "MemoryLimit.h"
#include "Report.h"
#include "TimingsReport.h"
#include "gnnc/Frontend/Frontend.h"
#include "gnnc/Frontend/JSON.h"
#include "gnnc/Frontend/PyTorch.h"
#include "gnnc/Host/Parameters.h"
#include "gnnc/Pipelines/Compiler.h"
#include "gnnc/Support/InputFile.h"
#include "gnnc/Support/OutputFile.h"
#include "gnnc/Target/CUDA/NVRTC.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace gnnc;

/// A model's text and how to read what it imports.
struct Source {
  std::string text;
  frontend::CompileInputs inputs;
  std::vector<frontend::ImportedTensor> parameters; ///< of an exported program
  std::vector<frontend::ImportedIntegers> integers; ///< of the same
};

/// `imported`: the files that it takes in.
static llvm::Expected<Source> readSource(const CompileArguments &arguments, std::vector<std::string> &imported) {
  Source source;
  if (llvm::StringRef(arguments.input).ends_with(".pt2")) {
    llvm::Expected<frontend::ImportedModel> model = frontend::importExportedProgram(
        arguments.input, {arguments.keepAxes || arguments.werror, arguments.also, arguments.oneAxis});
    if (!model)
      return model.takeError();
    reportImported(arguments.input, *model);
    source.text = std::move(model->text);
    source.parameters = std::move(model->parameters);
    source.integers = std::move(model->integers);
  } else {
    if (!arguments.also.empty())
      return llvm::createStringError("--also adds to an exported program (.pt2); write the statement into '" +
                                     arguments.input + "' instead");
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> text = readInputFile(arguments.input);
    if (!text)
      return text.takeError();
    source.text = (*text)->getBuffer().str();
  }
  source.inputs.readFile = [&](const std::string &path) -> std::optional<std::string> {
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> bytes = readInputFile(path);
    if (!bytes) {
      llvm::consumeError(bytes.takeError());
      return std::nullopt;
    }
    imported.push_back(path);
    return (*bytes)->getBuffer().str();
  };
  source.inputs.model = arguments.model;
  std::map<std::string, std::string> &defines = source.inputs.defines;
  for (llvm::StringRef define : arguments.defines)
    if (auto [name, value] = define.split('='); !defines.try_emplace(name.str(), value.str()).second)
      return llvm::createStringError("-D " + name + ": expected one value, found '" + defines[name.str()] + "' and '" +
                                     value + "'");
  return source;
}

/// Prints what the front end says; whether the model is fit for use.
static bool report(const std::vector<frontend::Diagnostic> &diagnostics, bool werror) {
  bool warned = false;
  for (const frontend::Diagnostic &diagnostic : diagnostics) {
    llvm::errs() << (diagnostic.file.empty() ? "gnnc: " : "") << frontend::render(diagnostic);
    warned |= diagnostic.severity == frontend::Severity::Warning;
  }
  if (frontend::hasErrors(diagnostics))
    return false;
  if (warned && werror)
    llvm::errs() << "gnnc: error: there are warnings, and --werror makes them errors\n";
  return !(warned && werror);
}

/// What an exported program comes with.
struct ImportedNumbers {
  std::vector<frontend::ImportedTensor> parameters;
  std::vector<frontend::ImportedIntegers> integers;
  bool areAny() const { return !parameters.empty() || !integers.empty(); }
};

static std::optional<frontend::ModelSpec> load(const CompileArguments &arguments, std::vector<std::string> &imported,
                                               ImportedNumbers &numbers) {
  llvm::Expected<Source> source = readSource(arguments, imported);
  if (!source) {
    fail(source.takeError());
    return std::nullopt;
  }
  numbers = {std::move(source->parameters), std::move(source->integers)};
  std::vector<frontend::Diagnostic> diagnostics;
  std::optional<frontend::ModelSpec> model =
      frontend::loadModelFromText(arguments.input, source->text, source->inputs, diagnostics);
  return report(diagnostics, arguments.werror) ? std::move(model) : std::nullopt;
}

int gnnc::runCheck(const CompileArguments &arguments) {
  std::vector<std::string> imported;
  llvm::Expected<Source> source = readSource(arguments, imported);
  if (!source)
    return fail(source.takeError());
  std::vector<frontend::Diagnostic> diagnostics =
      frontend::analyzeText(arguments.input, source->text, source->inputs).diagnostics;
  if (!report(diagnostics, arguments.werror))
    return ExitError;
  llvm::outs() << arguments.input << ": no errors\n";
  return ExitOk;
}

/// `--cpu`: the architecture that all are of, and its levels.
static llvm::Error setProcessors(CompileOptions &options, const std::vector<std::string> &names) {
  options.architecture = cpu::parseProcessor(names.front()).architecture;
  options.cpuLevels.clear();
  for (const std::string &name : names) {
    cpu::Processor processor = cpu::parseProcessor(name);
    if (processor.architecture != options.architecture)
      return llvm::createStringError("--cpu: expected processors of one architecture, because an object is for one; "
                                     "found " +
                                     names.front() + " (" + cpu::nameOf(options.architecture) + ") and " + name + " (" +
                                     cpu::nameOf(processor.architecture) + ")");
    options.cpuLevels.push_back(processor.level);
  }
  return llvm::Error::success();
}

/// What is asked for, as text or as an artefact's bytes.
static llvm::Expected<std::vector<int>> architectures(const std::vector<std::string> &names) {
  std::vector<int> numbers;
  for (const std::string &name : names) {
    llvm::Expected<int> number = cuda::parseArchitecture(name);
    if (!number)
      return number.takeError();
    numbers.push_back(*number);
  }
  llvm::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

/// The parameters of --params that `forward` needs, for a model of this description.
static llvm::Expected<std::vector<EmbeddedTensor>> readEmbedded(const CompileArguments &arguments,
                                                                llvm::StringRef description) {
  llvm::Expected<ModelInfo> info = ModelInfo::parse(description, arguments.input);
  if (!info)
    return info.takeError();
  llvm::Expected<SafetensorsFile> file = SafetensorsFile::open(arguments.params);
  if (!file)
    return file.takeError();
  std::optional<ParamsMap> map;
  if (!arguments.paramsMap.empty()) {
    llvm::Expected<ParamsMap> opened = ParamsMap::open(arguments.paramsMap);
    if (!opened)
      return opened.takeError();
    map = std::move(*opened);
  }
  auto extents = [&](llvm::StringRef name) {
    const SpaceInfo *space = info->findSpace(name);
    return space ? space->extent : std::nullopt;
  };
  llvm::Expected<Parameters> parameters =
      Parameters::load(*info, extents, *file, map ? &*map : nullptr, info->findProgram("forward"));
  if (!parameters)
    return parameters.takeError();
  std::vector<EmbeddedTensor> list;
  for (const HostTensor &tensor : parameters->tensors())
    list.push_back({tensor.name(), tensor.shape().vec(), int(8 * elementBytes(tensor.type())),
                    tensor.type() == ElementType::BF16,
                    std::string(static_cast<const char *>(tensor.data()), tensor.bytes())});
  return list;
}

/// The same of an exported program's own.
static llvm::Expected<std::vector<EmbeddedTensor>>
convertImported(const CompileArguments &arguments, const ImportedNumbers &numbers, llvm::StringRef description) {
  llvm::Expected<ModelInfo> info = ModelInfo::parse(description, arguments.input);
  if (!info)
    return info.takeError();
  std::vector<EmbeddedTensor> list;
  for (const frontend::ImportedTensor &parameter : numbers.parameters) {
    bool isKnown = false;
    for (const auto *known : {&info->params, &info->states})
      isKnown |= llvm::any_of(*known, [&](const TensorInfo &tensor) { return tensor.name == parameter.name; });
    if (!isKnown) // nothing that is computed depends on it
      continue;
    llvm::Expected<HostTensor> tensor = HostTensor::create(parameter.name, info->type, parameter.shape);
    if (!tensor)
      return tensor.takeError();
    for (auto [i, number] : llvm::enumerate(parameter.numbers))
      tensor->set(int64_t(i), number);
    list.push_back({parameter.name, parameter.shape, int(8 * elementBytes(tensor->type())), /*isBFloat=*/false,
                    std::string(static_cast<const char *>(tensor->data()), tensor->bytes())});
  }
  for (const frontend::ImportedIntegers &integers : numbers.integers)
    list.push_back({integers.name, integers.shape, /*bits=*/64, /*isBFloat=*/false,
                    std::string(reinterpret_cast<const char *>(integers.numbers.data()), 8 * integers.numbers.size()),
                    /*isInteger=*/true});
  return list;
}

/// `report`: the page, where one is asked for; `timings`: what it took is added.
static llvm::Expected<std::string> produce(const CompileArguments &arguments, const frontend::ModelSpec &model,
                                           const ImportedNumbers &numbers, std::string &report, Timings &timings) {
  bool wantsJSON = arguments.emit == "json" && arguments.compileTo.empty();
  CompileOptions options;
  options.wholeInterface = !arguments.autocast.empty();
  if (options.wholeInterface && arguments.dtype != "f32")
    return llvm::createStringError("--autocast is for models in f32: with it, --dtype must be f32, found " +
                                   arguments.dtype);
  options.storage = llvm::StringSwitch<Storage>(options.wholeInterface ? arguments.autocast : arguments.dtype)
                        .Case("bf16", Storage::BF16)
                        .Case("f16", Storage::F16)
                        .Default(Storage::AsComputed);
  if (wantsJSON && options.storage != Storage::AsComputed)
    return llvm::createStringError(
        "--emit json does not record how rows are stored: with it, --dtype must be f32 or f64, without --autocast");
  if (wantsJSON && model.exported)
    return llvm::createStringError("--emit json does not record what a graph's data come from; 'gnnc import' writes a "
                                   "text that does");
  if (wantsJSON && (arguments.gradient || !arguments.without.empty()))
    return llvm::createStringError(
        "--emit json writes the checked model: it cannot be combined with --gradient or --without");
  if (wantsJSON)
    return frontend::writeJSON(model);
  options.optLevel = arguments.optLevel;
  options.gradient = arguments.gradient;
  options.cotangents = arguments.cotangents;
  options.distributed = arguments.distributed;
  options.along = arguments.along;
  options.fixed = arguments.fixed;
  for (llvm::StringRef entry : arguments.metadata)
    if (auto [name, value] = entry.split('='); !options.metadata.try_emplace(name.str(), value.str()).second)
      return llvm::createStringError("--metadata " + name + ": expected one value, found '" +
                                     options.metadata[name.str()] + "' and '" + value + "'");
  options.operationsPerByte = arguments.operationsPerByte;
  options.save = llvm::StringSwitch<SaveKind>(arguments.save)
                     .Case("none", SaveKind::None)
                     .Case("all", SaveKind::All)
                     .Default(SaveKind::Auto);
  options.checkpoints = arguments.checkpoints;
  if (options.checkpoints && options.save != SaveKind::Auto)
    return llvm::createStringError("--checkpoints chooses what is kept: with it, --save must be auto, found " +
                                   arguments.save);
  if (options.checkpoints && !hasGradients(model, options))
    return llvm::createStringError("--checkpoints is for programs that compute gradients, and this model has none: add "
                                   "--gradient");
  options.without = arguments.without;
  options.statements = arguments.statements;
  if (arguments.remarks)
    options.onRemark = [](llvm::StringRef remark) { llvm::errs() << remark << "\n"; };
  if (!arguments.report.empty())
    options.onReport = [&](std::string page) { report = std::move(page); };
  options.onTimings = [&](const Timings &spent) { llvm::append_range(timings, spent); };
  options.compileTo = arguments.compileTo;
  options.targets = arguments.targets;
  if (llvm::Error wrong = setProcessors(options, arguments.cpu))
    return std::move(wrong);
  llvm::Expected<std::vector<int>> gpus = architectures(arguments.architectures);
  if (!gpus)
    return gpus.takeError();
  options.architectures = std::move(*gpus);
  bool rounds = arguments.products == "tf32" || (arguments.products.empty() && options.wholeInterface);
  options.products = arguments.products == "fma" ? cuda::ProductArithmetic::FMA
                     : rounds                    ? cuda::ProductArithmetic::TF32
                                                 : cuda::ProductArithmetic::TF32x3;
  options.emit = llvm::StringSwitch<EmitKind>(arguments.emit)
                     .Case("mpdfg", EmitKind::MPDFG)
                     .Case("mpk", EmitKind::MPK)
                     .Case("llvm", EmitKind::LLVM)
                     .Case("cuda", EmitKind::CUDA)
                     .Case("ptx", EmitKind::PTX)
                     .Case("cubin", EmitKind::Cubin)
                     .Case("obj", EmitKind::Object)
                     .Default(EmitKind::SharedObject);
  if (arguments.embed)
    options.onEmbed = [&](llvm::StringRef description) { return readEmbedded(arguments, description); };
  else if (numbers.areAny())
    options.onEmbed = [&](llvm::StringRef description) { return convertImported(arguments, numbers, description); };
  Progress progress;
  options.onPhase = [&](llvm::StringRef phase, unsigned index, unsigned count) {
    progress.show("[" + llvm::Twine(index + 1) + "/" + llvm::Twine(count) + "] " + phase);
  };
  if (arguments.memoryLimit)
    if (llvm::Error error = fitMemory(model, options, *arguments.memoryLimit, arguments.extents))
      return std::move(error);
  return compile(model, options);
}

/// Empty: the standard output.
static std::string outputPath(const CompileArguments &arguments) {
  if (!arguments.output.empty())
    return arguments.output == "-" ? "" : arguments.output;
  llvm::StringRef ending = arguments.compileTo.empty() ? llvm::StringSwitch<llvm::StringRef>(arguments.emit)
                                                             .Case("so", ".so")
                                                             .Case("obj", ".o")
                                                             .Case("cubin", ".cubin")
                                                             .Default("")
                                                       : "";
  return ending.empty() ? "" : (llvm::sys::path::stem(arguments.input) + ending).str();
}

int gnnc::runCompile(const CompileArguments &arguments) {
  TimeMeter meter;
  std::vector<std::string> imported;
  ImportedNumbers numbers;
  std::optional<frontend::ModelSpec> model = load(arguments, imported, numbers);
  if (!model)
    return ExitError;
  Timings timings{{"front end"}};
  timings.front().time = meter.spent();
  std::string output = outputPath(arguments);
  std::vector<NamedFile> inputs = {{"the model", arguments.input}};
  for (const std::string &path : imported)
    inputs.push_back({"the import", path});
  inputs.push_back({"--params", arguments.params});
  inputs.push_back({"--params-map", arguments.paramsMap});
  if (llvm::Error error = checkOverwriting({{"--output", output}, {"--report", arguments.report}}, inputs))
    return fail(std::move(error));
  // Precision is a choice of the compilation; the JSON form may have made it already.
  model->doublePrecision |= arguments.dtype == "f64";
  if (!arguments.report.empty() && (arguments.emit == "json" || arguments.emit == "mpdfg"))
    return fail(llvm::createStringError("--report needs kernels: with it, --emit must be mpk or a later form"));
  if (arguments.embed && (!arguments.compileTo.empty() || (arguments.emit != "so" && arguments.emit != "obj")))
    return fail(llvm::createStringError("--embed needs an object: with it, --emit must be so or obj"));
  std::string report;
  llvm::Expected<std::string> result = produce(arguments, *model, numbers, report, timings);
  if (arguments.timings == "json")
    printTimingsAsJSON(llvm::errs(), timings);
  else if (!arguments.timings.empty())
    printTimings(llvm::errs(), timings);
  if (!result)
    return fail(result.takeError());
  if (!arguments.report.empty())
    if (llvm::Error error = writeOutputFile(arguments.report, report))
      return fail(std::move(error));

  if (output.empty()) {
    llvm::outs() << *result;
    return ExitOk;
  }
  if (llvm::Error error = writeOutputFile(output, *result))
    return fail(std::move(error));
  return ExitOk;
}
