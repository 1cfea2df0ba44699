//===- Ranks.cpp - Commands that run on several ranks ---------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

using namespace gnnc;

namespace fs = llvm::sys::fs;

static std::unique_ptr<RunRanks> joined;

/// Seconds that a rank waits for the others.
constexpr double kPatience = 600;

static double patience = kPatience;
static std::string libraryForNCCL;

/// Beside the program, as it is built and as it is installed; else wherever the system looks.
static std::string findLibrary(const char *program, llvm::StringRef name, const char *variable) {
  if (const char *given = variable ? std::getenv(variable) : nullptr)
    return given;
  llvm::SmallString<256> path(fs::getMainExecutable(program, reinterpret_cast<void *>(&findLibrary)));
  llvm::sys::path::remove_filename(path);
  llvm::sys::path::append(path, "..", "lib", name);
  return fs::exists(path) ? path.str().str() : name.str();
}

llvm::Error gnnc::startRanks(const char *program) {
  if (RunRanks::launched() == 1)
    return llvm::Error::success();
  if (const char *text = std::getenv("GNNC_TIMEOUT"); text && llvm::StringRef(text).getAsDouble(patience))
    return llvm::createStringError("GNNC_TIMEOUT: expected a number of seconds, found '" + llvm::Twine(text) + "'");
  llvm::Expected<std::unique_ptr<RunRanks>> ranks =
      RunRanks::open(findLibrary(program, "libgnnc_mpi.so", "GNNC_MPI_LIBRARY"), patience);
  if (!ranks)
    return ranks.takeError();
  joined = std::move(*ranks);
  libraryForNCCL = findLibrary(program, "libgnnc_nccl.so", nullptr);
  if (joined->rank() > 0)
    if (int nowhere = ::open("/dev/null", O_WRONLY); nowhere >= 0) {
      dup2(nowhere, STDOUT_FILENO);
      ::close(nowhere);
    }
  return llvm::Error::success();
}

const RunRanks *gnnc::runRanks() { return joined.get(); }

llvm::Expected<const gnnc_collectives *> gnnc::collectivesOfRanks(const DeviceChoice &device) {
  static bool isAsked = false;
  if (device.isCPU() || joined->size() == 1)
    return &joined->collectives();
  if (!isAsked) {
    isAsked = true;
    llvm::Expected<std::string> why = joined->useDevice(libraryForNCCL, device.id, patience);
    if (!why)
      return why.takeError();
    if (!why->empty() && joined->rank() == 0)
      llvm::errs() << "gnnc: warning: rows between ranks go through the host: " << *why << "\n";
  }
  return &joined->collectivesOfDevice();
}

void gnnc::endRanks(int status) {
  if (!joined)
    return;
  llvm::outs().flush();
  if (status != 0)
    joined->abort(status);
  joined.reset();
}

llvm::Expected<std::string> gnnc::graphFileOfRank(const std::string &graph) {
  int size = joined ? joined->size() : 1, rank = joined ? joined->rank() : 0;
  if (!fs::is_directory(graph)) {
    if (size > 1)
      return llvm::createStringError("'" + graph + "': expected a folder with " + llvm::Twine(size) +
                                     " parts, one for each rank, as gnnc partition writes it, found " +
                                     (fs::exists(graph) ? "a file" : "nothing"));
    return graph;
  }
  int parts = 0;
  auto part = [&](int number) {
    llvm::SmallString<256> path(graph);
    llvm::sys::path::append(path, "part." + llvm::Twine(number) + ".safetensors");
    return path.str().str();
  };
  while (fs::exists(part(parts)))
    ++parts;
  if (parts != size)
    return llvm::createStringError("'" + graph + "' has " + llvm::Twine(parts) + " parts: expected as many ranks" +
                                   (parts > 1 ? " (mpirun -np " + std::to_string(parts) + " gnnc ...)" : "") +
                                   ", found " + llvm::Twine(size));
  return part(rank);
}

int gnnc::threadsOfRank(int threads) {
  if (threads > 0 || !joined)
    return threads;
  // A launcher that gives each process processors of its own has divided them already.
  int own = llvm::get_cpus(), all = int(std::thread::hardware_concurrency());
  return std::max(own < all ? own : own / RunRanks::localSize(), 1);
}

std::string gnnc::deviceOfRank(llvm::StringRef device) {
  return joined && device == "cuda" ? "cuda:" + std::to_string(RunRanks::localRank()) : device.str();
}
