//===- SharedObject.cpp - Objects to model.so, in process -----------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No C compiler and no linker program are needed: lld runs in this process. The object is linked against the libc and
// libm that this process itself uses, so that it names the symbol versions they have.
//
//===----------------------------------------------------------------------===//

#include "dialects/mpdfg/IR/ProgramAttrs.h"
#include "gnnc/Target/Package/Package.h"
#include "lld/Common/Driver.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

#include <link.h>
#include <mutex>
#include <utility>

LLD_HAS_DRIVER(elf)

extern "C" const char gnnc_embedded_runtime[];
extern "C" const char gnnc_embedded_runtime_end[];

using namespace gnnc;

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

/// Path of a library this process has loaded, by the beginning of its file name.
std::string loadedLibrary(const char *prefix) {
  struct Search {
    llvm::StringRef prefix;
    std::string found;
  } search{prefix, {}};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto &search = *static_cast<Search *>(data);
        if (llvm::sys::path::filename(info->dlpi_name).starts_with(search.prefix))
          search.found = info->dlpi_name;
        return search.found.empty() ? 0 : 1;
      },
      &search);
  return search.found;
}

/// lld keeps global state: one link at a time.
std::mutex linkMutex;

} // namespace

llvm::Expected<std::string> gnnc::buildDataObject(mlir::ModuleOp module, llvm::ArrayRef<EmittedKernel> kernels,
                                                  llvm::ArrayRef<int> levels, const DeviceCode &device,
                                                  llvm::ArrayRef<EmbeddedTensor> embedded) {
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

  static std::once_flag once;
  std::call_once(once, [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
  });
  Triple triple(sys::getDefaultTargetTriple());
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return error("no code generator for " + triple.str() + ": " + message);
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(triple, "", "", TargetOptions(), Reloc::PIC_));
  data.setTargetTriple(triple);
  data.setDataLayout(machine->createDataLayout());
  SmallVector<char> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile))
    return error("this LLVM cannot write object files for the host");
  passes.run(data);
  return std::string(object.begin(), object.end());
}

llvm::Expected<std::string> gnnc::linkObjects(llvm::ArrayRef<std::string> objects, bool shared) {
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
    if (llvm::Error failure =
            add(llvm::StringRef(gnnc_embedded_runtime, gnnc_embedded_runtime_end - gnnc_embedded_runtime)))
      return std::move(failure);
  const std::string &output = files.front().path();
  std::vector<std::string> arguments{"ld.lld", "-o", output};
  // Names of functions stay, for profilers. The runtime is an archive: the model names what it needs of it.
  if (shared)
    llvm::append_values(arguments, std::string("-shared"), std::string("-u"), std::string("gnnc_model"),
                        std::string("--gc-sections"), std::string("-O1"), std::string("--hash-style=gnu"),
                        std::string("-z"), std::string("noexecstack"), std::string("--strip-debug"),
                        std::string("--discard-all"), std::string("--as-needed"));
  else
    arguments.push_back("-r");
  for (const TemporaryFile &file : llvm::drop_begin(files))
    arguments.push_back(file.path());
  if (shared)
    for (const char *library : {"libc.so", "libm.so", "libpthread.so"})
      if (std::string path = loadedLibrary(library); !path.empty())
        arguments.push_back(path);

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
