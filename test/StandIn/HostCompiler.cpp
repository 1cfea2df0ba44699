//===- HostCompiler.cpp - Kernels as code for the host --------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clang takes the very text that NVRTC would get, and the very headers but PTX.cuh: what CUDA C++ has beyond C++ comes
// from Emulation/. Kernels are found in what the preprocessor leaves.
//
//===----------------------------------------------------------------------===//

#include "HostCompiler.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace gnnc::standin;

namespace {

/// A folder that is there as long as this is.
struct Folder {
  fs::path path;
  Folder() {
    std::error_code code;
    std::string name = fs::temp_directory_path(code) / "gnnc-emulated-XXXXXX";
    if (!code && mkdtemp(name.data()))
      path = name;
  }
  ~Folder() {
    std::error_code code;
    if (!path.empty())
      fs::remove_all(path, code);
  }
};

std::string readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool writeFile(const fs::path &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return bool(file.flush());
}

/// Runs it with its errors in a file.
bool run(const std::vector<std::string> &command, const fs::path &errors) {
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t process;
  int status = posix_spawnp(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return status == 0 && waitpid(process, &status, 0) == process && status == 0;
}

/// Makes functions of a module's kernels, and for each one that takes them from a buffer.
std::string withLaunches(const std::string &text) {
  static const std::string word = "__global__";
  std::string result, launches;
  size_t at = 0;
  for (size_t next; (next = text.find(word, at)) != std::string::npos;) {
    size_t end = text.find('(', next);
    if (end == std::string::npos)
      break;
    result += text.substr(at, next - at);
    at = next + word.size();
    size_t last = text.find_last_not_of(" \n", end - 1) + 1, first = text.find_last_of(" \n", last - 1) + 1;
    std::string name = text.substr(first, last - first);
    launches += "\nextern \"C\" __attribute__((visibility(\"default\"))) void emulated_" + name +
                "(const char *buffer) { gnnc::emulation::launch(" + name + ", buffer); }";
  }
  return result + text.substr(at) + launches + "\n";
}

} // namespace

bool gnnc::standin::compileForHost(const KernelText &text, std::string &image, std::string &log) {
  Folder folder;
  bool isWritten = !folder.path.empty() && writeFile(folder.path / "model.cu", text.text);
  for (const auto &[name, header] : text.headers)
    if (name != "PTX.cuh")
      isWritten &= writeFile(folder.path / name, header);
  const std::string preprocessed = folder.path / "model.ii", object = folder.path / "model.so",
                    errors = folder.path / "errors", emulation = STAND_IN_EMULATION;
  // Most of the time goes into compiling, so little is optimised, and there are no headers of C++: kernels name the
  // functions of C, and to read what <math.h> is in C++ takes a third of the time.
  std::vector<std::string> flags = {"-std=c++20",        "-nostdinc++",         "-w", "-O1", "-fno-unroll-loops",
                                    "-ffp-contract=off", "-fno-strict-aliasing"};
  std::vector<std::string> first = {
      STAND_IN_COMPILER,        "-E", "-x",        "c++", "-I" + emulation, "-include", emulation + "/CUDA.h",
      folder.path / "model.cu", "-o", preprocessed};
  std::vector<std::string> second = {STAND_IN_COMPILER,
                                     "-x",
                                     "c++-cpp-output",
                                     "-fPIC",
                                     "-shared",
                                     "-fvisibility=hidden",
                                     "-fvisibility-inlines-hidden",
                                     preprocessed,
                                     "-lm",
                                     "-o",
                                     object};
  first.insert(first.end(), flags.begin(), flags.end());
  if (text.hasWarpgroups)
    first.push_back("-D__CUDA_ARCH_FEAT_SM90_ALL");
  second.insert(second.end(), flags.begin(), flags.end());
  bool works = isWritten && run(first, errors) && writeFile(preprocessed, withLaunches(readFile(preprocessed))) &&
               run(second, errors);
  if (!works) {
    log = readFile(errors);
    return false;
  }
  std::string code = readFile(object);
  image = kHostCode + std::to_string(code.size()) + "\n" + std::string(1, '\0') + code;
  return true;
}
