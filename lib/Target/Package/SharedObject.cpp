//===- SharedObject.cpp - Objects to model.so, in process -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No C compiler, no linker program and no C library are needed: lld runs in this process, and the compiler carries the
// runtime and stubs of glibc's libraries for each architecture (lib/Runtime/CMakeLists.txt).
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Target/CPU/Processor.h"
#include "gnnc/Target/Package/Package.h"
#include "lld/Common/Driver.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Object/Archive.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>
#include <utility>

LLD_HAS_DRIVER(elf)

using namespace gnnc;

/// What the compiler carries for one architecture; empty files where it was built without.
struct Embedded {
  const char *runtime, *runtimeEnd; ///< an archive
  const char *stubs, *stubsEnd;     ///< an archive of shared objects: glibc's libraries, with names and versions alone
};

/// By cpu::Architecture.
extern "C" const Embedded gnnc_embedded[];

namespace {

llvm::Error error(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// A file that is gone when this is, or when a signal ends the process.
class TemporaryFile {
public:
  static llvm::Expected<TemporaryFile> create() {
    llvm::SmallString<128> path;
    if (std::error_code failure = llvm::sys::fs::createTemporaryFile("gnnc", "o", path)) {
      llvm::SmallString<128> parent;
      llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, parent);
      return error("cannot make a temporary file in '" + parent + "': " + failure.message());
    }
    llvm::sys::RemoveFileOnSignal(path);
    return TemporaryFile(std::string(path));
  }
  TemporaryFile(TemporaryFile &&other) : name(std::exchange(other.name, {})) {}
  ~TemporaryFile() {
    if (name.empty())
      return;
    llvm::sys::fs::remove(name);
    llvm::sys::DontRemoveFileOnSignal(name);
  }
  const std::string &path() const { return name; }

private:
  explicit TemporaryFile(std::string name) : name(std::move(name)) {}
  std::string name; ///< empty: moved from
};

llvm::Error writeFile(const std::string &path, llvm::StringRef bytes) {
  std::error_code failure;
  llvm::raw_fd_ostream stream(path, failure);
  if (!failure) {
    stream << bytes;
    stream.close();
    failure = stream.error();
    stream.clear_error();
  }
  return failure ? error("cannot write '" + path + "': " + failure.message()) : llvm::Error::success();
}

/// Adds the runtime to the files that are linked, and the stubs of glibc's libraries.
llvm::Error addRuntime(cpu::Architecture architecture, llvm::function_ref<llvm::Error(llvm::StringRef bytes)> add) {
  const Embedded &embedded = gnnc_embedded[size_t(architecture)];
  llvm::StringRef runtime(embedded.runtime, embedded.runtimeEnd - embedded.runtime);
  llvm::StringRef stubs(embedded.stubs, embedded.stubsEnd - embedded.stubs);
  if (runtime.empty())
    return error("this gnnc was built without the runtime of models for " + cpu::nameOf(architecture) +
                 ": install the headers of its C++ library (Debian: g++-aarch64-linux-gnu or g++-x86-64-linux-gnu) and "
                 "build gnnc again");
  if (llvm::Error failure = add(runtime))
    return failure;
  llvm::Expected<std::unique_ptr<llvm::object::Archive>> archive =
      llvm::object::Archive::create(llvm::MemoryBufferRef(stubs, "stubs"));
  if (!archive)
    return archive.takeError();
  llvm::Error failure = llvm::Error::success();
  for (const llvm::object::Archive::Child &library : (*archive)->children(failure)) {
    llvm::Expected<llvm::StringRef> bytes = library.getBuffer();
    if (!bytes)
      return llvm::joinErrors(std::move(failure), bytes.takeError());
    if (llvm::Error wrong = add(*bytes))
      return llvm::joinErrors(std::move(failure), std::move(wrong));
  }
  return failure;
}

/// lld keeps global state: one link at a time.
std::mutex linkMutex;

} // namespace

llvm::Expected<std::string> gnnc::buildDataObject(mlir::ModuleOp module, llvm::ArrayRef<EmittedKernel> kernels,
                                                  cpu::Architecture architecture, llvm::ArrayRef<int> levels,
                                                  const DeviceCode &device, llvm::ArrayRef<EmbeddedTensor> embedded) {
  using namespace llvm;
  LLVMContext context;
  Module data("gnnc.data", context);
  auto *i64 = Type::getInt64Ty(context);
  auto *pointer = PointerType::getUnqual(context);
  auto define = [&](Constant *value, StringRef name, bool internal = false) {
    auto *global =
        new GlobalVariable(data, value->getType(), true,
                           internal ? GlobalValue::PrivateLinkage : GlobalValue::ExternalLinkage, value, name);
    if (!internal)
      global->setVisibility(GlobalValue::HiddenVisibility);
    global->setAlignment(Align(16));
    return global;
  };
  ModelTable table = buildTable(module, kernels, levels.size(), device, embedded);
  std::string description = describeModel(module, kernels, device, embedded);
  define(ConstantDataArray::get(
             context, ArrayRef<uint64_t>(reinterpret_cast<const uint64_t *>(table.words.data()), table.words.size())),
         "gnnc_model_table");
  define(ConstantDataArray::getString(context, table.names), "gnnc_model_names");
  define(ConstantDataArray::getString(context, description), "gnnc_model_json");
  define(ConstantInt::get(i64, description.size()), "gnnc_model_json_size");
  define(ConstantDataArray::getString(context, ""), "gnnc_model_constants");
  // Never empty, so that it has an address.
  define(ConstantDataArray::getString(context, table.values, /*AddNull=*/table.values.empty()), "gnnc_model_values")
      ->setAlignment(Align(64));
  auto *variantType = StructType::get(context, {i64, pointer});
  SmallVector<Constant *> variants;
  for (int level : levels) {
    SmallVector<Constant *> functions;
    for (const EmittedKernel &kernel : kernels) {
      if (kernel.kind >= StepKind::Nearest) { // The runtime has the code.
        functions.push_back(ConstantPointerNull::get(pointer));
        continue;
      }
      FunctionCallee callee =
          data.getOrInsertFunction(cpu::functionName(kernel.name, level),
                                   FunctionType::get(Type::getVoidTy(context), {pointer, i64, i64, i64, i64}, false));
      cast<Function>(callee.getCallee())->setVisibility(GlobalValue::HiddenVisibility);
      functions.push_back(cast<Constant>(callee.getCallee()));
    }
    GlobalVariable *list =
        define(ConstantArray::get(ArrayType::get(pointer, functions.size()), functions), "kernels", true);
    variants.push_back(ConstantStruct::get(variantType, {ConstantInt::get(i64, level), list}));
  }
  define(ConstantArray::get(ArrayType::get(variantType, variants.size()), variants), "gnnc_model_variants");
  auto *imageType = StructType::get(context, {i64, i64, pointer});
  auto defineImages = [&](ArrayRef<cuda::Image> list, StringRef name) {
    SmallVector<Constant *> images;
    for (const cuda::Image &image : list) {
      // PTX is text and ends in a zero.
      GlobalVariable *bytes =
          define(ConstantDataArray::getString(context, image.bytes, /*AddNull=*/true), "image", /*internal=*/true);
      images.push_back(ConstantStruct::get(
          imageType, {ConstantInt::get(i64, image.architecture), ConstantInt::get(i64, image.isPTX), bytes}));
    }
    define(ConstantArray::get(ArrayType::get(imageType, images.size()), images), name);
  };
  defineImages(device.images, "gnnc_model_images");
  defineImages(device.preparation, "gnnc_model_preparation");
  Constant *loader = ConstantPointerNull::get(pointer);
  if (!device.steps.empty()) {
    FunctionCallee callee = data.getOrInsertFunction(
        "gnnc_load_cuda_driver", FunctionType::get(Type::getInt32Ty(context), {pointer, pointer}, false));
    cast<Function>(callee.getCallee())->setVisibility(GlobalValue::HiddenVisibility);
    loader = cast<Constant>(callee.getCallee());
  }
  define(loader, "gnnc_model_driver");
  Constant *ranks = ConstantPointerNull::get(pointer);
  if (module->hasAttr(kDistributedAttr)) {
    auto *part = cast<GlobalVariable>(data.getOrInsertGlobal("gnnc_ranks", Type::getInt8Ty(context)));
    part->setVisibility(GlobalValue::HiddenVisibility);
    ranks = part;
  }
  define(ranks, "gnnc_model_ranks");
  // Whichever is needed of a part's two forms: for the CPU, or for GPUs.
  auto definePart = [&](bool isNeeded, StringRef onHost, StringRef onDevice, StringRef name) {
    Constant *value = ConstantPointerNull::get(pointer);
    if (isNeeded) {
      StringRef symbol = device.steps.empty() ? onHost : onDevice;
      auto *part = cast<GlobalVariable>(data.getOrInsertGlobal(symbol, Type::getInt8Ty(context)));
      part->setVisibility(GlobalValue::HiddenVisibility);
      value = part;
    }
    define(value, name);
  };
  definePart(any_of(kernels, [](const EmittedKernel &kernel) { return table::isChoice(kernel.kind); }), "gnnc_choices",
             "gnnc_device_choices", "gnnc_model_choices");
  definePart(any_of(module.getOps<mpdfg::SpaceOp>(),
                    [](mpdfg::SpaceOp space) { return space.getKind() == mpdfg::SpaceKind::Pairs; }),
             "gnnc_pairs", "gnnc_device_pairs", "gnnc_model_pairs");

  Expected<std::unique_ptr<TargetMachine>> machine =
      cpu::createTargetMachine({architecture, cpu::kBaseline}, /*optimise=*/true);
  if (!machine)
    return machine.takeError();
  data.setTargetTriple((*machine)->getTargetTriple());
  data.setDataLayout((*machine)->createDataLayout());
  SmallVector<char> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile))
    return error("this LLVM cannot write object files for the target");
  passes.run(data);
  return std::string(object.begin(), object.end());
}

llvm::Expected<std::string> gnnc::linkObjects(llvm::ArrayRef<std::string> objects, bool shared,
                                              cpu::Architecture architecture) {
  std::vector<TemporaryFile> files;
  auto add = [&](llvm::StringRef bytes) -> llvm::Error {
    llvm::Expected<TemporaryFile> file = TemporaryFile::create();
    if (!file)
      return file.takeError();
    files.push_back(std::move(*file));
    return bytes.empty() ? llvm::Error::success() : writeFile(files.back().path(), bytes);
  };
  // First of all where the linker writes to.
  if (llvm::Error failure = add({}))
    return std::move(failure);
  for (const std::string &object : objects)
    if (llvm::Error failure = add(object))
      return std::move(failure);
  if (shared)
    if (llvm::Error failure = addRuntime(architecture, add))
      return std::move(failure);
  const std::string &output = files.front().path();
  std::vector<std::string> arguments{"ld.lld", "-o", output};
  // Names of functions stay, for profilers. The runtime is an archive: the model names what it needs of it.
  if (shared)
    llvm::append_values(arguments, std::string("-shared"), std::string("-u"), std::string("gnnc_model"),
                        std::string("--gc-sections"), std::string("-O1"), std::string("--hash-style=gnu"),
                        std::string("-z"), std::string("noexecstack"), std::string("--strip-debug"),
                        std::string("--discard-all"), std::string("--as-needed"), std::string("--no-undefined"));
  else
    arguments.push_back("-r");
  for (const TemporaryFile &file : llvm::drop_begin(files))
    arguments.push_back(file.path());

  std::vector<const char *> argv;
  for (const std::string &argument : arguments)
    argv.push_back(argument.c_str());
  std::string out, messages;
  {
    std::lock_guard<std::mutex> lock(linkMutex);
    llvm::raw_string_ostream outStream(out), errorStream(messages);
    lld::Result result = lld::lldMain(argv, outStream, errorStream, {{lld::Gnu, &lld::elf::link}});
    if (!result.canRunAgain && messages.empty())
      messages = "the linker crashed, which is a bug in gnnc";
    if (result.retCode != 0)
      return error("linking failed: " + llvm::StringRef(messages).split('\n').first);
  }
  auto linked = llvm::MemoryBuffer::getFile(output, false, false);
  if (!linked)
    return error("cannot read the linked object: " + linked.getError().message());
  return (*linked)->getBuffer().str();
}
