//===- ModelFile.cpp - Loading and running a model.so ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/ModelFile.h"
#include "gnnc/Host/Parameters.h"
#include "gnnc/Support/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

#include <cstring>
#include <dlfcn.h>

using namespace gnnc;

//===----------------------------------------------------------------------===//
// ModelFile
//===----------------------------------------------------------------------===//

void ModelFile::Close::operator()(void *handle) const { dlclose(handle); }

/// The loader maps what the headers say and would be killed where the file ends before that.
static llvm::Error checkComplete(llvm::StringRef bytes) {
  auto file = llvm::object::ELF64LEFile::create(bytes);
  if (!file)
    return file.takeError();
  auto segments = file->program_headers();
  if (!segments)
    return segments.takeError();
  uint64_t size = bytes.size();
  for (const auto &segment : *segments)
    if (segment.p_filesz > size || segment.p_offset > size - segment.p_filesz)
      return llvm::createStringError("the file ends after " + llvm::Twine(size) + " bytes, inside the segment at " +
                                     llvm::Twine(uint64_t(segment.p_offset)));
  return llvm::Error::success();
}

/// Of an ELF header's machine.
static std::string nameOfMachine(unsigned machine) {
  switch (machine) {
  case llvm::ELF::EM_X86_64:
    return "x86-64";
  case llvm::ELF::EM_AARCH64:
    return "aarch64";
  default:
    return "ELF machine " + std::to_string(machine);
  }
}

static llvm::StringRef hostMachine() {
#if defined(__aarch64__)
  return "aarch64";
#else
  return "x86-64";
#endif
}

/// The bytes of one of the model's constants; nothing where there is none.
static llvm::StringRef readConstant(const llvm::object::ELF64LEFile &file, llvm::StringRef name) {
  auto sections = file.sections();
  if (!sections)
    return llvm::consumeError(sections.takeError()), llvm::StringRef();
  for (const auto &section : *sections) {
    if (section.sh_type != llvm::ELF::SHT_SYMTAB)
      continue;
    auto symbols = file.symbols(&section);
    auto names = file.getStringTableForSymtab(section);
    if (!symbols || !names) {
      llvm::consumeError(symbols.takeError());
      llvm::consumeError(names.takeError());
      return {};
    }
    for (const auto &symbol : *symbols) {
      llvm::Expected<llvm::StringRef> found = symbol.getName(*names);
      if (!found) {
        llvm::consumeError(found.takeError());
        continue;
      }
      if (*found != name)
        continue;
      auto holder = file.getSection(symbol.st_shndx);
      if (!holder)
        return llvm::consumeError(holder.takeError()), llvm::StringRef();
      auto bytes = file.getSectionContents(**holder);
      if (!bytes)
        return llvm::consumeError(bytes.takeError()), llvm::StringRef();
      uint64_t offset = symbol.st_value - (*holder)->sh_addr;
      if (offset > bytes->size())
        return {};
      return llvm::toStringRef(*bytes).substr(offset, symbol.st_size);
    }
  }
  return {};
}

llvm::Expected<ModelFile> ModelFile::open(llvm::StringRef path) { return open(path, /*mayBeForeign=*/false); }
llvm::Expected<ModelFile> ModelFile::openToInspect(llvm::StringRef path) { return open(path, /*mayBeForeign=*/true); }

llvm::Expected<ModelFile> ModelFile::open(llvm::StringRef path, bool mayBeForeign) {
  // A path without a slash would be searched for in the library directories.
  llvm::SmallString<256> absolute;
  if (std::error_code code = llvm::sys::fs::real_path(path, absolute))
    return llvm::createStringError(code, "cannot read '%s': %s", path.str().c_str(), code.message().c_str());
  auto isNoModel = [&] {
    return llvm::createStringError("'" + path + "' is not a compiled model: expected a shared object");
  };
  if (!llvm::sys::fs::is_regular_file(absolute)) // The loader could not read a pipe once more.
    return isNoModel();
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> bytes = readInputFile(path);
  if (!bytes)
    return bytes.takeError();
  if (llvm::identify_magic((*bytes)->getBuffer()) != llvm::file_magic::elf_shared_object)
    return isNoModel();
  if (llvm::Error error = checkComplete((*bytes)->getBuffer()))
    return llvm::createStringError("'" + path + "' is damaged: " + llvm::toString(std::move(error)));

  ModelFile model;
  model.filePath = path.str();
  auto file = llvm::cantFail(llvm::object::ELF64LEFile::create((*bytes)->getBuffer()));
  std::string machine = nameOfMachine(file.getHeader().e_machine);
  model.architectureName = hostMachine().str();
  if (machine != hostMachine()) {
    if (!mayBeForeign)
      return llvm::createStringError("'" + path + "' is for " + machine + ", and this machine is " + hostMachine());
    llvm::StringRef text = readConstant(file, "gnnc_model_json").rtrim('\0');
    if (text.empty())
      return llvm::createStringError("'" + path + "' is for " + machine +
                                     ", and no description can be read: it is no compiled model, or its symbols were "
                                     "stripped");
    model.architectureName = machine;
    model.descriptionText = text;
    model.foreign = std::move(*bytes);
    llvm::Expected<ModelInfo> info = ModelInfo::parse(text, path);
    if (!info)
      return info.takeError();
    model.modelInfo = std::move(*info);
    return std::move(model);
  }
  model.handle.reset(dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!model.handle)
    return llvm::createStringError("cannot load '" + path + "': " + dlerror());
  auto function = reinterpret_cast<gnnc_model_function>(dlsym(model.handle.get(), "gnnc_model"));
  if (!function)
    return llvm::createStringError("'" + path + "' is not a compiled model: it exports no function 'gnnc_model'");
  model.table = function();
  if (!model.table)
    return llvm::createStringError("'" + path + "' is not a compiled model: 'gnnc_model' gave no table");
  if (model.table->abi_version != GNNC_ABI_VERSION)
    return llvm::createStringError("'" + path + "': expected ABI version " + llvm::Twine(GNNC_ABI_VERSION) +
                                   ", found " + llvm::Twine(model.table->abi_version) +
                                   "; compile the model again with this gnnc");
  if (model.table->struct_size < sizeof(gnnc_api))
    return llvm::createStringError("'" + path + "': expected a table of at least " + llvm::Twine(sizeof(gnnc_api)) +
                                   " bytes, found " + llvm::Twine(model.table->struct_size));

  size_t length = 0;
  const char *text = model.table->describe(&length);
  model.descriptionText = text ? llvm::StringRef(text, length) : llvm::StringRef();
  llvm::Expected<ModelInfo> info = ModelInfo::parse(model.descriptionText, path);
  if (!info)
    return info.takeError();
  model.modelInfo = std::move(*info);
  return std::move(model);
}

llvm::Expected<HostTensor> ModelFile::embedded(const TensorInfo &tensor) const {
  gnnc_tensor values = {};
  gnnc_error error = {};
  if (table->embedded(tensor.name.c_str(), &values, &error))
    return llvm::createStringError("'" + filePath + "': " + error.message);
  if (!values.data)
    return llvm::createStringError("'" + filePath + "' has no values for '" + tensor.name + "'");
  llvm::Expected<HostTensor> copy =
      HostTensor::create(tensor.name, tensor.type, llvm::ArrayRef(values.shape, size_t(values.ndim)));
  if (copy)
    std::memcpy(copy->data(), values.data, copy->bytes());
  return copy;
}

llvm::Expected<std::string> ModelFile::digest() const {
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> bytes = readInputFile(filePath);
  if (!bytes)
    return bytes.takeError();
  return llvm::utohexstr(llvm::xxh3_64bits(llvm::arrayRefFromStringRef((*bytes)->getBuffer())), /*LowerCase=*/true, 16);
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

static llvm::Error makeError(gnnc_status status, const gnnc_error &error) {
  if (error.message[0])
    return llvm::createStringError(error.message);
  return llvm::createStringError("the model failed with status " + llvm::Twine(int(status)));
}

llvm::Expected<DeviceChoice> gnnc::parseDevice(llvm::StringRef name) {
  DeviceChoice choice;
  llvm::StringRef rest = name;
  if (rest.consume_front("cuda")) {
    choice.type = 2;
    if (rest.empty() || (rest.consume_front(":") && !rest.getAsInteger(10, choice.id) && choice.id >= 0))
      return choice;
  } else if (name == "cpu") {
    return choice;
  }
  return llvm::createStringError("expected a device (cpu, cuda or cuda:NUMBER), found '" + name + "'");
}

llvm::Expected<Session> Session::create(const ModelFile &model, const gnnc_graph_desc &graph, int threads,
                                        DeviceChoice device, std::string *ignored, const gnnc_part_desc *part) {
  const gnnc_api &api = model.api();
  Session session(model);
  session.device = device;
  gnnc_error error = {};
  gnnc_options options = {sizeof(gnnc_options), threads, nullptr, device.type, device.id,
                          device.planOnly,      0,       nullptr, nullptr};
  gnnc_context *context = nullptr;
  if (gnnc_status status = api.open(&options, &context, &error))
    return makeError(status, error);
  session.context = {context, Deleter{&api}};
  void *stream = nullptr;
  if (gnnc_status status = device.planOnly ? GNNC_OK : api.create_stream(context, &stream, &error))
    return makeError(status, error);
  session.stream = {stream, [&api, owner = session.context](void *made) { api.destroy_stream(owner.get(), made); }};
  gnnc_status status;
  session.isOfRanks = part && part->collectives->size > 1;
  llvm::Error failure = session.prepareGraph(graph, status, part);
  if (failure && ignored && graph.tuning && status == GNNC_VERSION_MISMATCH) {
    *ignored = llvm::toString(std::move(failure));
    gnnc_graph_desc untuned = graph;
    untuned.tuning = nullptr;
    failure = session.prepareGraph(untuned, status);
  }
  if (failure)
    return std::move(failure);
  return std::move(session);
}

llvm::Error Session::prepareGraph(const gnnc_graph_desc &description, gnnc_status &status, const gnnc_part_desc *part) {
  gnnc_error error = {};
  gnnc_graph *prepared = nullptr;
  status = part ? api->prepare_part(context.get(), &description, part, &prepared, &error)
                : api->prepare(context.get(), &description, &prepared, &error);
  if (status)
    return makeError(status, error);
  graph = {prepared, Deleter{api}};
  return llvm::Error::success();
}

llvm::Expected<Session> Session::prepare(const gnnc_graph_desc &description) const {
  Session session(*model);
  session.device = device;
  session.context = context;
  session.stream = stream;
  gnnc_status status;
  if (llvm::Error failure = session.prepareGraph(description, status))
    return std::move(failure);
  return std::move(session);
}

llvm::Expected<std::string> Session::describeGraph() const {
  gnnc_error error = {};
  size_t length = 0;
  std::string text;
  for (int pass = 0; pass < 2; ++pass) {
    if (gnnc_status status = api->describe_graph(graph.get(), text.data(), text.size(), &length, &error))
      return makeError(status, error);
    text.resize(length + 1);
  }
  text.resize(length);
  return text;
}

llvm::Expected<size_t> Session::workspaceBytes(llvm::StringRef program) const {
  gnnc_error error = {};
  size_t bytes = 0;
  if (gnnc_status status = api->workspace_size(graph.get(), program.str().c_str(), &bytes, &error))
    return makeError(status, error);
  return bytes;
}

llvm::Expected<ProgramRun> Session::program(llvm::StringRef name, const ProgramRun *before,
                                            std::shared_ptr<DeviceTensors> shared) const {
  ProgramRun program;
  program.onDevice = shared ? std::move(shared) : before ? before->onDevice : std::make_shared<DeviceTensors>();
  program.session = this;
  program.before = before;
  program.name = name.str();
  llvm::Expected<size_t> bytes = workspaceBytes(name);
  if (!bytes)
    return bytes.takeError();
  program.workspaceSize = *bytes;
  auto extents = [&](llvm::StringRef space) -> std::optional<int64_t> {
    int64_t found = extent(space.str());
    return found < 0 ? std::nullopt : std::optional(found);
  };
  const ProgramInfo *info = model->info().findProgram(name);
  auto isThere = [](const ProgramRun *other, llvm::StringRef name) {
    return other && llvm::any_of(other->outputTensors, [&](const HostTensor &tensor) { return tensor.name() == name; });
  };
  for (const TensorInfo &output : info ? info->outputs : model->info().outputs) {
    if (isThere(before, output.name))
      continue;
    llvm::Expected<std::vector<int64_t>> shape = shapeOf(output, extents);
    if (!shape)
      return shape.takeError();
    llvm::Expected<HostTensor> tensor = HostTensor::create(output.name, output.type, *shape);
    if (!tensor)
      return tensor.takeError();
    program.outputTensors.push_back(std::move(*tensor));
  }
  if (llvm::Error error = program.allocate(info))
    return std::move(error);
  return std::move(program);
}

llvm::Expected<std::shared_ptr<void>> Session::allocate(size_t bytes) const {
  gnnc_error error = {};
  void *memory = nullptr;
  if (gnnc_status status = api->allocate(context.get(), std::max<size_t>(bytes, 1), &memory, &error))
    return makeError(status, error);
  // The context lives as long as the session, which its programs do not outlive.
  return std::shared_ptr<void>(memory, [api = api, context = context.get()](void *m) { api->release(context, m); });
}

llvm::Error Session::copy(void *to, bool toDevice, const void *from, bool fromDevice, size_t bytes) const {
  gnnc_error error = {};
  if (gnnc_status status = api->copy(context.get(), to, toDevice ? device.type : 1, from, fromDevice ? device.type : 1,
                                     bytes, stream.get(), &error))
    return makeError(status, error);
  return toDevice && fromDevice ? llvm::Error::success() : wait();
}

llvm::Error Session::wait() const {
  gnnc_error error = {};
  if (gnnc_status status = api->synchronize(context.get(), stream.get(), &error))
    return makeError(status, error);
  return llvm::Error::success();
}

llvm::Expected<Recording> Session::record(llvm::ArrayRef<ProgramRun *> programs) const {
  gnnc_error error = {};
  if (gnnc_status status = api->begin_recording(context.get(), stream.get(), &error))
    return makeError(status, error);
  llvm::Error failure = llvm::Error::success();
  for (ProgramRun *program : programs)
    if (!failure)
      failure = program->launch();
  gnnc_recording *made = nullptr;
  gnnc_status status = api->end_recording(context.get(), stream.get(), &made, &error);
  Recording recording(made, RecordingDeleter{api, context.get()});
  if (failure)
    return std::move(failure);
  if (status)
    return makeError(status, error);
  return std::move(recording);
}

llvm::Error Session::replay(const Recording &recording) const {
  gnnc_error error = {};
  if (gnnc_status status = api->replay(context.get(), recording.get(), stream.get(), &error))
    return makeError(status, error);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// ProgramRun
//===----------------------------------------------------------------------===//

/// The workspace; and on a device also outputs and what the program cannot do without, so that what does not fit is
/// said before anything is copied or run.
llvm::Error ProgramRun::allocate(const ProgramInfo *info) {
  constexpr size_t kAlignment = 256;
  if (before)
    workspace = before->workspace;
  if (before && session->device.isCPU())
    return llvm::Error::success();
  size_t tensorsAt = before ? 0 : llvm::alignTo(workspaceSize, kAlignment), total = tensorsAt;
  struct Piece {
    llvm::StringRef name;
    size_t at, bytes;
  };
  std::vector<Piece> pieces;
  if (!session->device.isCPU()) {
    outputPlaces.assign(1, 0);
    for (const HostTensor &output : outputTensors)
      outputPlaces.push_back(llvm::alignTo(outputPlaces.back() + output.bytes(), kAlignment));
    total += outputPlaces.back();
    const ModelInfo &model = session->model->info();
    for (const auto *list : {&model.inputs, &model.params, &model.states})
      for (const TensorInfo &tensor : *list) {
        if (!info || tensor.optional || !llvm::is_contained(info->inputs, tensor.name) ||
            onDevice->tensors.contains(tensor.name) ||
            (tensor.embedded && !llvm::is_contained(info->updates, tensor.name)))
          continue;
        llvm::Expected<std::vector<int64_t>> shape =
            shapeOf(tensor, [&](llvm::StringRef space) -> std::optional<int64_t> {
              int64_t found = session->extent(space.str());
              return found < 0 ? std::nullopt : std::optional(found);
            });
        if (!shape)
          return shape.takeError();
        size_t bytes = size_t(elementBytes(tensor.type));
        for (int64_t extent : *shape)
          bytes *= size_t(extent);
        pieces.push_back({tensor.name, total, bytes});
        total += llvm::alignTo(bytes, kAlignment);
      }
  }
  llvm::Expected<std::shared_ptr<void>> memory = session->allocate(total);
  if (!memory) {
    std::string reason = llvm::toString(memory.takeError());
    if (total == tensorsAt)
      return llvm::createStringError("the workspace of " + llvm::Twine(workspaceSize) +
                                     " bytes does not fit in memory: " + reason);
    return llvm::createStringError("program '" + name + "' needs " + llvm::Twine(total) + " bytes (workspace " +
                                   llvm::Twine(tensorsAt) + ", tensors " + llvm::Twine(total - tensorsAt) +
                                   "): " + reason);
  }
  auto at = [&](size_t place) { return std::shared_ptr<void>(*memory, static_cast<char *>(memory->get()) + place); };
  if (!before)
    workspace = at(0);
  if (session->device.isCPU())
    return llvm::Error::success();
  outputMemory = at(tensorsAt);
  for (const Piece &piece : pieces)
    onDevice->tensors[piece.name] = {at(piece.at), nullptr, piece.bytes};
  return llvm::Error::success();
}

static size_t bytesOf(const gnnc_tensor &tensor) {
  size_t bytes = tensor.dtype_bits / 8;
  for (int32_t axis = 0; axis < tensor.ndim; ++axis)
    bytes *= size_t(tensor.shape[axis]);
  return bytes;
}

static void place(gnnc_tensor &tensor, void *memory, DeviceChoice device) {
  tensor.data = memory;
  tensor.byte_offset = 0;
  tensor.device_type = device.type;
  tensor.device_id = device.id;
}

/// A binding's memory on the device, with its contents.
llvm::Expected<gnnc_binding> ProgramRun::mirror(const gnnc_binding &binding) {
  gnnc_binding result = binding;
  size_t bytes = bytesOf(binding.tensor);
  DeviceTensors::Tensor &there = onDevice->tensors[binding.name];
  if (!there.memory || there.bytes != bytes) {
    llvm::Expected<std::shared_ptr<void>> memory = session->allocate(bytes);
    if (!memory)
      return memory.takeError();
    there.memory = std::move(*memory);
    there.bytes = bytes;
  }
  there.host = static_cast<char *>(binding.tensor.data) + binding.tensor.byte_offset;
  if (llvm::Error error = session->copy(there.memory.get(), true, there.host, false, bytes))
    return std::move(error);
  place(result.tensor, there.memory.get(), session->device);
  return result;
}

/// Names may lie inside the tensors, which move with the program: bindings are made anew each time.
void ProgramRun::bindOutputs() {
  outputBindings.clear();
  for (const HostTensor &output : outputTensors)
    outputBindings.push_back(output.binding());
  for (size_t i = 0; outputMemory && i < outputTensors.size(); ++i)
    place(outputBindings[i].tensor, static_cast<char *>(outputMemory.get()) + outputPlaces[i], session->device);
  if (before)
    llvm::append_range(outputBindings, before->outputBindings);
}

llvm::Error ProgramRun::bind(llvm::ArrayRef<gnnc_binding> inputs) {
  inputBindings.assign(inputs.begin(), inputs.end());
  if (!session->device.isCPU())
    for (gnnc_binding &binding : inputBindings) {
      llvm::Expected<gnnc_binding> there = mirror(binding);
      if (!there)
        return there.takeError();
      binding = *there;
    }
  bindOutputs();
  return llvm::Error::success();
}

llvm::Error ProgramRun::launch() {
  gnnc_error error = {};
  if (gnnc_status status =
          session->api->run(session->context.get(), session->graph.get(), name.c_str(), inputBindings.data(),
                            int32_t(inputBindings.size()), outputBindings.data(), int32_t(outputBindings.size()),
                            workspace.get(), workspaceSize, session->stream.get(), &error))
    return makeError(status, error);
  return llvm::Error::success();
}

llvm::Error ProgramRun::wait() { return session->wait(); }

llvm::Error ProgramRun::fetchOutputs() {
  if (session->device.isCPU() || outputTensors.empty())
    return llvm::Error::success();
  // A few small ones come faster together.
  constexpr size_t kSmall = 1 << 16;
  if (outputPlaces.back() <= kSmall) {
    llvm::SmallVector<char, 0> all(outputPlaces.back());
    if (llvm::Error error = session->copy(all.data(), false, outputMemory.get(), true, all.size()))
      return error;
    for (auto [i, output] : llvm::enumerate(outputTensors))
      std::memcpy(output.data(), all.data() + outputPlaces[i], output.bytes());
    return llvm::Error::success();
  }
  for (auto [i, output] : llvm::enumerate(outputTensors))
    if (llvm::Error error = session->copy(
            output.data(), false, static_cast<char *>(outputMemory.get()) + outputPlaces[i], true, output.bytes()))
      return error;
  return llvm::Error::success();
}

llvm::Error ProgramRun::fetchUpdates() {
  if (session->device.isCPU())
    return llvm::Error::success();
  if (const ProgramInfo *info = session->model->info().findProgram(name))
    for (const std::string &updated : info->updates) {
      const DeviceTensors::Tensor &there = onDevice->tensors[updated];
      if (llvm::Error error = session->copy(there.host, false, there.memory.get(), true, there.bytes))
        return error;
    }
  return llvm::Error::success();
}

llvm::Error ProgramRun::run(llvm::ArrayRef<gnnc_binding> inputs) {
  if (llvm::Error error = bind(inputs))
    return error;
  if (llvm::Error error = launch())
    return error;
  if (llvm::Error error = wait())
    return error;
  if (llvm::Error error = fetchOutputs())
    return error;
  return fetchUpdates();
}

size_t ProgramRun::tensorBytes() const {
  size_t bytes = outputPlaces.empty() ? 0 : outputPlaces.back();
  for (const auto &entry : onDevice->tensors)
    bytes += entry.second.bytes;
  return bytes;
}

int64_t Session::extent(const std::string &space) const { return api->extent(graph.get(), space.c_str()); }

size_t Session::graphBytes() const { return api->graph_bytes(graph.get()); }
