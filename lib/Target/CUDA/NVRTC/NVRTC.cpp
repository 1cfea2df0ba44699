//===- NVRTC.cpp - CUDA C++ to machine code -------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library is looked for where the loader looks, in toolkits, and in the folders of Python's `nvidia-cuda-nvrtc`
// package; or in the folder that GNNC_NVRTC names, and then nowhere else. Its interface is declared here (a dozen C
// functions that have not changed since CUDA 11), so that building needs no toolkit.
//
//===----------------------------------------------------------------------===//

#include "gnnc/Target/CUDA/NVRTC.h"
#include "gnnc/Support/ContentCache.h"
#include "gnnc/Target/CUDA/CUDABackend.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

#include <dlfcn.h>
#include <map>
#include <optional>

using namespace gnnc;
using namespace gnnc::cuda;

namespace {

struct Library {
  using Program = void *;
  int (*version)(int *, int *);
  const char *(*errorString)(int);
  int (*create)(Program *, const char *text, const char *name, int numHeaders, const char *const *headers,
                const char *const *names);
  int (*destroy)(Program *);
  int (*compile)(Program, int numOptions, const char *const *options);
  int (*logSize)(Program, size_t *);
  int (*log)(Program, char *);
  int (*ptxSize)(Program, size_t *);
  int (*ptx)(Program, char *);
  int (*cubinSize)(Program, size_t *);
  int (*cubin)(Program, char *);
  int major = 0, minor = 0;
  std::string path, identity; ///< of its file
};

/// Folders of `root`/<anything beginning with prefix>, in no order.
void addMatches(llvm::StringRef root, llvm::StringRef prefix, llvm::StringRef rest, std::vector<std::string> &folders) {
  std::error_code code;
  for (llvm::sys::fs::directory_iterator it(root, code), end; !code && it != end; it.increment(code))
    if (llvm::sys::path::filename(it->path()).starts_with(prefix)) {
      llvm::SmallString<256> path(it->path());
      llvm::sys::path::append(path, rest);
      if (llvm::sys::fs::is_directory(path))
        folders.push_back(std::string(path));
    }
}

/// Where the library may be, best first. An empty one stands for the loader's own search.
std::vector<std::string> searchFolders() {
  if (auto folder = llvm::sys::Process::GetEnv("GNNC_NVRTC"))
    return {folder->empty() ? "." : *folder};
  std::vector<std::string> folders{""};
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (auto home = llvm::sys::Process::GetEnv(variable))
      for (const char *sub : {"/lib64", "/lib"})
        folders.push_back(*home + sub);
  for (const char *folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/opt/cuda/lib64"})
    folders.push_back(folder);
  // Python's packages: <prefix>/lib/python3.x/site-packages/nvidia/<package>/lib.
  std::vector<std::string> prefixes;
  for (const char *variable : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (auto prefix = llvm::sys::Process::GetEnv(variable))
      prefixes.push_back(*prefix);
  if (auto home = llvm::sys::Process::GetEnv("HOME"))
    prefixes.push_back(*home + "/.local");
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  for (const std::string &prefix : prefixes)
    for (const char *packages : {"site-packages/nvidia", "dist-packages/nvidia"}) {
      std::vector<std::string> roots;
      addMatches(prefix + "/lib", "python3", packages, roots);
      for (const std::string &root : roots)
        addMatches(root, "cu", "lib", folders);
    }
  return folders;
}

/// `refused`: what was found and could not be loaded, and why.
llvm::Error missing(const std::string &refused) {
  if (!refused.empty())
    return llvm::createStringError("compiling CUDA kernels needs NVRTC, which cannot be loaded: " + refused);
  auto folder = llvm::sys::Process::GetEnv("GNNC_NVRTC");
  return llvm::createStringError(
      "compiling CUDA kernels needs NVRTC (libnvrtc.so.13 or .12), which is not found" +
      (folder ? " in '" + *folder + "', where $GNNC_NVRTC says it is" : std::string()) +
      ": install a CUDA toolkit (looked for in $CUDA_HOME and /usr/local/cuda) or the Python package "
      "nvidia-cuda-nvrtc (in the active environment)" +
      (folder ? ", and unset it" : ", or set $GNNC_NVRTC to its folder") + "; --emit=cuda needs neither");
}

llvm::Expected<Library> open() {
  void *handle = nullptr;
  std::string prefix, refused; // of the path it was found at
  for (const std::string &folder : searchFolders()) {
    prefix = folder.empty() ? "" : folder + "/";
    for (const char *name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"})
      if ((handle = dlopen((prefix + name).c_str(), RTLD_NOW | RTLD_LOCAL)))
        break;
      else if (const char *reason = dlerror();
               reason && refused.empty() && !folder.empty() && llvm::sys::fs::exists(prefix + name))
        refused = reason;
    if (handle)
      break;
  }
  if (!handle)
    return missing(refused);
  Library library;
  bool complete = true;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    complete &= function != nullptr;
  };
  find(library.version, "nvrtcVersion");
  find(library.errorString, "nvrtcGetErrorString");
  find(library.create, "nvrtcCreateProgram");
  find(library.destroy, "nvrtcDestroyProgram");
  find(library.compile, "nvrtcCompileProgram");
  find(library.logSize, "nvrtcGetProgramLogSize");
  find(library.log, "nvrtcGetProgramLog");
  find(library.ptxSize, "nvrtcGetPTXSize");
  find(library.ptx, "nvrtcGetPTX");
  find(library.cubinSize, "nvrtcGetCUBINSize");
  find(library.cubin, "nvrtcGetCUBIN");
  if (Dl_info info; library.version && dladdr(reinterpret_cast<void *>(library.version), &info) && info.dli_fname)
    library.path = info.dli_fname;
  if (!complete || library.version(&library.major, &library.minor) != 0)
    return llvm::createStringError("the NVRTC found" + (library.path.empty() ? "" : " as '" + library.path + "'") +
                                   " is too old: expected CUDA 12 or 13");
  library.identity =
      std::to_string(library.major) + "." + std::to_string(library.minor) + " " + identityOfFile(library.path);
  // It loads its other half by name alone, which finds it in no folder of Python's; where it is loaded already it does.
  std::string builtins =
      prefix + "libnvrtc-builtins.so." + std::to_string(library.major) + "." + std::to_string(library.minor);
  dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library;
}

/// Loaded once, never unloaded.
llvm::Expected<const Library &> compiler() {
  struct Opened {
    std::optional<Library> library;
    std::string message; ///< why there is none, for all who ask
  };
  static const Opened opened = [] {
    Opened result;
    if (llvm::Expected<Library> library = open())
      result.library = *library;
    else
      result.message = llvm::toString(library.takeError());
    return result;
  }();
  if (!opened.library)
    return llvm::createStringError(opened.message);
  return *opened.library;
}

/// Some kernels of 128 threads ask for as many blocks at once as a processor has room for (Kernels/Lanes.cuh). Where
/// that leaves one too few registers, it asks for the first of these instead, and then for the second.
constexpr const char *kMostBlocks = "GNNC_MOST_BLOCKS";
constexpr const char *kFewerBlocks[] = {"GNNC_MOST_BLOCKS * 5 / 8", "GNNC_MOST_BLOCKS * 5 / 16"};
/// Spill limit of a thread, in bytes.
constexpr int kFewSpilled = 16;

/// Quotients and roots may be two units of the last place off, which takes a fifth of the instructions.
constexpr const char *kOptions[] = {"--std=c++20", "--device-as-default-execution-space", "--prec-div=false",
                                    "--prec-sqrt=false"};

/// What NVRTC is to compile for. Kernels of warpgroups (Kernels/Warpgroups.cuh) are there in code for sm_90a alone,
/// which runs on no other GPU; PTX is for later ones.
std::string targetOf(llvm::StringRef text, const Image &image) {
  bool isForOne = !image.isPTX && image.architecture == 90 && text.contains("#ifdef GNNC_HAS_WARPGROUPS");
  return (image.isPTX ? "compute_" : "sm_") + std::to_string(image.architecture) + (isForOne ? "a" : "");
}

/// Changes the text so that kernels that ask for many blocks, and lack registers by the assembler's log, ask for
/// `blocks`. Returns whether there are such.
bool askForFewer(std::string &text, llvm::StringRef log, llvm::StringRef blocks) {
  bool changes = false;
  for (llvm::StringRef rest = log.split("Function properties for ").second; !rest.empty();
       rest = rest.split("Function properties for ").second) {
    auto [name, properties] = rest.split('\n');
    int spilled = 0;
    if (properties.split(" bytes spill stores").first.rsplit(' ').second.getAsInteger(10, spilled) ||
        spilled <= kFewSpilled)
      continue;
    size_t end = text.find(" " + name.trim().str() + "("), begin = text.rfind('\n', end);
    size_t at = end == std::string::npos ? end : text.find(kMostBlocks, begin);
    if (at >= end)
      continue;
    text.replace(at, text.find(')', at) - at, blocks.str());
    changes = true;
  }
  return changes;
}

/// Compiles for the first image's target. PTX for the same architecture comes along with machine code.
llvm::Error compileOne(const Library &library, std::string text, llvm::ArrayRef<Image *> images) {
  std::vector<const char *> headers, names;
  for (const KernelHeader &header : kernelHeaders()) {
    headers.push_back(header.text.data());
    names.push_back(header.name);
  }
  std::string target = "--gpu-architecture=" + targetOf(text, *images.front()), log;
  Library::Program program = nullptr;
  bool asksForMany = !images.front()->isPTX && llvm::StringRef(text).contains(kMostBlocks);
  auto compile = [&] {
    std::vector<const char *> options(std::begin(kOptions), std::end(kOptions));
    options.push_back(target.c_str());
    if (asksForMany)
      options.push_back("--ptxas-options=-v");
    if (program)
      library.destroy(&program);
    program = nullptr;
    int status = library.create(&program, text.c_str(), "model.cu", int(headers.size()), headers.data(), names.data());
    if (status == 0)
      status = library.compile(program, int(options.size()), options.data());
    size_t size = 0;
    log.clear();
    if (program && library.logSize(program, &size) == 0 && size > 1) {
      log.resize(size);
      library.log(program, log.data());
    }
    return status;
  };
  int status = compile();
  for (llvm::StringRef blocks : kFewerBlocks)
    if (status == 0 && asksForMany && askForFewer(text, log, blocks))
      status = compile();
  if (status != 0) {
    // The first line with an error says enough.
    llvm::StringRef line = llvm::StringRef(log).split('\n').first;
    for (llvm::StringRef rest = log; !rest.empty(); rest = rest.split('\n').second)
      if (rest.split('\n').first.contains("error")) {
        line = rest.split('\n').first;
        break;
      }
    if (program)
      library.destroy(&program);
    return llvm::createStringError("NVRTC " + llvm::Twine(library.major) + "." + llvm::Twine(library.minor) +
                                   " failed for " + llvm::StringRef(target).split('=').second + " (" +
                                   library.errorString(status) + ")" + (line.empty() ? "" : ": ") + line);
  }
  for (Image *image : images) {
    size_t size = 0;
    if (status == 0)
      status = image->isPTX ? library.ptxSize(program, &size) : library.cubinSize(program, &size);
    image->bytes.resize(size);
    if (status == 0)
      status = image->isPTX ? library.ptx(program, image->bytes.data()) : library.cubin(program, image->bytes.data());
  }
  library.destroy(&program);
  if (status != 0)
    return llvm::createStringError("NVRTC gave no code for " + target);
  return llvm::Error::success();
}

} // namespace

llvm::Expected<int> cuda::parseArchitecture(llvm::StringRef name) {
  int number = 0;
  llvm::StringRef digits = name;
  // Machine code for sm_90 is made for sm_90a wherever a kernel gains by it (targetOf).
  if (name == "sm_90a")
    return 90;
  if (!digits.consume_front("sm_") || digits.getAsInteger(10, number) || number < 70 || number > 999)
    return llvm::createStringError("expected a GPU architecture such as sm_80 or sm_90, found '" + name + "'");
  return number;
}

llvm::Error cuda::findCompiler() {
  llvm::Expected<const Library &> library = compiler();
  return library ? llvm::Error::success() : library.takeError();
}

llvm::Expected<std::string> cuda::compilerVersion() {
  llvm::Expected<const Library &> library = compiler();
  if (!library)
    return library.takeError();
  return std::to_string(library->major) + "." + std::to_string(library->minor);
}

llvm::Error cuda::compileImages(llvm::ArrayRef<Unit> units, Timings *timings) {
  llvm::Expected<const Library &> library = compiler();
  if (!library)
    return library.takeError();
  std::string headers;
  for (const char *option : kOptions)
    headers += option;
  for (const char *blocks : kFewerBlocks)
    headers += blocks;
  headers += " " + std::to_string(kFewSpilled);
  for (const KernelHeader &header : kernelHeaders())
    headers += header.text;
  // One compilation for each text and architecture.
  struct Job {
    llvm::StringRef text;
    llvm::SmallVector<Image *> images;
    TimedStep step;
    std::string failure;
  };
  std::vector<Job> jobs;
  for (const Unit &unit : units) {
    // PTX comes from the compilation for its architecture's machine code, unless that is for one GPU alone.
    std::map<std::string, llvm::SmallVector<Image *>> byArchitecture;
    for (Image &image : unit.images) {
      Image other{image.architecture, /*isPTX=*/false, {}};
      bool isAlone = llvm::StringRef(targetOf(unit.text, other)).ends_with("a");
      auto &images = byArchitecture[isAlone ? targetOf(unit.text, image) : "sm_" + std::to_string(image.architecture)];
      images.insert(image.isPTX ? images.end() : images.begin(), &image);
    }
    for (auto &[architecture, images] : byArchitecture)
      jobs.push_back({unit.text,
                      std::move(images),
                      {unit.name, architecture, /*depth=*/1, {}, {}, int64_t(unit.text.count(';'))},
                      {}});
  }
  auto make = [&](Job &job) {
    TimeMeter meter;
    std::vector<ContentCache> caches;
    bool isCached = true;
    for (Image *image : job.images) {
      // What is compiled with machine code may ask for fewer blocks than PTX alone.
      caches.emplace_back(library->identity + " " + targetOf(job.text, *image) +
                          (job.images.size() > 1 ? " together" : "") + "\n" + job.text.str() + headers);
      isCached &= caches.back().read(image->bytes);
    }
    job.step.isCached = isCached;
    if (!isCached) {
      TimeMeter compiler;
      if (llvm::Error error = compileOne(*library, job.text.str(), job.images))
        job.failure = llvm::toString(std::move(error));
      job.step.compiler = compiler.spent();
      if (job.failure.empty())
        for (auto [image, cache] : llvm::zip_equal(job.images, caches))
          cache.write(image->bytes);
    }
    job.step.time = meter.spent();
  };
  llvm::DefaultThreadPool pool(llvm::optimal_concurrency(jobs.size()));
  for (Job &job : jobs)
    pool.async([&make, &job] { make(job); });
  pool.wait();
  for (Job &job : jobs) {
    if (!job.failure.empty())
      return llvm::createStringError(job.failure);
    if (timings)
      timings->push_back(std::move(job.step));
  }
  return llvm::Error::success();
}
