//===- RunRanks.cpp - The ranks of a run ----------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "gnnc/Host/RunRanks.h"
#include "gnnc-c/gnnc_mpi.h"
#include "gnnc-c/gnnc_nccl.h"

#include "llvm/ADT/Twine.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace gnnc;

/// The first of these variables that is a number; `otherwise` if none is.
static int numberOf(llvm::ArrayRef<const char *> variables, int otherwise) {
  int number = 0;
  for (const char *name : variables)
    if (const char *text = std::getenv(name); text && !llvm::StringRef(text).getAsInteger(10, number) && number >= 0)
      return number;
  return otherwise;
}

// Open MPI; Intel MPI and MPICH.
int RunRanks::launched() { return std::max(numberOf({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1), 1); }
int RunRanks::localRank() { return numberOf({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}, 0); }
int RunRanks::localSize() { return std::max(numberOf({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 1), 1); }

struct RunRanks::Library {
  gnnc_mpi *mpi = nullptr;
  decltype(&gnnc_mpi_close) close = nullptr;
  decltype(&gnnc_mpi_abort) abort = nullptr;
};

struct RunRanks::DeviceLibrary {
  gnnc_nccl *nccl = nullptr;
  decltype(&gnnc_nccl_collectives) collectives = nullptr;
  decltype(&gnnc_nccl_check) check = nullptr;
  decltype(&gnnc_nccl_close) close = nullptr;
};

RunRanks::RunRanks(const gnnc_collectives &collectives) : functions(&collectives) {}

RunRanks::~RunRanks() {
  if (ofDevice)
    ofDevice->close(ofDevice->nccl);
  if (library)
    library->close(library->mpi);
}

llvm::Expected<std::unique_ptr<RunRanks>> RunRanks::open(llvm::StringRef path, double timeout) {
  // MPI looks for its own plugins among what is loaded for all.
  void *handle = dlopen(path.str().c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!handle) {
    const char *why = dlerror();
    return llvm::createStringError("this was started as one of " + llvm::Twine(launched()) +
                                   " processes, but gnnc's library for MPI cannot be loaded (it is built where MPI is "
                                   "installed): " +
                                   (why ? why : "unknown error"));
  }
  auto open = reinterpret_cast<decltype(&gnnc_mpi_open)>(dlsym(handle, "gnnc_mpi_open"));
  auto collectives = reinterpret_cast<decltype(&gnnc_mpi_collectives)>(dlsym(handle, "gnnc_mpi_collectives"));
  auto parts = std::make_unique<Library>();
  parts->close = reinterpret_cast<decltype(&gnnc_mpi_close)>(dlsym(handle, "gnnc_mpi_close"));
  parts->abort = reinterpret_cast<decltype(&gnnc_mpi_abort)>(dlsym(handle, "gnnc_mpi_abort"));
  if (!open || !collectives || !parts->close || !parts->abort)
    return llvm::createStringError("'" + path + "' is not gnnc's library for MPI");
  gnnc_error error = {};
  if (open(nullptr, timeout, &parts->mpi, &error))
    return llvm::createStringError(error.message);
  auto ranks = std::make_unique<RunRanks>(*collectives(parts->mpi));
  ranks->library = std::move(parts);
  return std::move(ranks);
}

llvm::Expected<std::string> RunRanks::useDevice(llvm::StringRef path, int device, double timeout) {
  auto parts = std::make_unique<DeviceLibrary>();
  void *handle = dlopen(path.str().c_str(), RTLD_NOW | RTLD_LOCAL);
  const char *why = handle ? nullptr : dlerror();
  std::string wrong = handle ? "" : why ? why : "unknown error";
  decltype(&gnnc_nccl_open) open = nullptr;
  if (handle) {
    open = reinterpret_cast<decltype(open)>(dlsym(handle, "gnnc_nccl_open"));
    parts->collectives = reinterpret_cast<decltype(parts->collectives)>(dlsym(handle, "gnnc_nccl_collectives"));
    parts->check = reinterpret_cast<decltype(parts->check)>(dlsym(handle, "gnnc_nccl_check"));
    parts->close = reinterpret_cast<decltype(parts->close)>(dlsym(handle, "gnnc_nccl_close"));
    if (!open || !parts->collectives || !parts->check || !parts->close)
      wrong = "'" + path.str() + "' is not gnnc's library for NCCL";
  }
  // Before any rank waits for others in NCCL's own way, all have its library.
  int64_t missing = !wrong.empty();
  std::vector<int64_t> all(size_t(size()), 0);
  if (llvm::Error error = gather(&missing, all.data(), sizeof missing))
    return std::move(error);
  for (int other = 0; other < size(); ++other)
    if (all[size_t(other)])
      return wrong.empty() ? "rank " + std::to_string(other) + " has no library of gnnc for NCCL" : wrong;
  gnnc_error error = {};
  if (gnnc_status status = open(functions, device, timeout, &parts->nccl, &error)) {
    if (status == GNNC_UNSUPPORTED)
      return std::string(error.message);
    return llvm::createStringError(error.message);
  }
  ofDevice = std::move(parts);
  return std::string();
}

const gnnc_collectives &RunRanks::collectivesOfDevice() const {
  return ofDevice ? *ofDevice->collectives(ofDevice->nccl) : *functions;
}

llvm::Error RunRanks::check() const {
  gnnc_error error = {};
  if (ofDevice && ofDevice->check(ofDevice->nccl, &error))
    return llvm::createStringError(error.message);
  return llvm::Error::success();
}

llvm::Error RunRanks::gather(const void *own, void *all, size_t bytes) const {
  gnnc_error error = {};
  if (functions->gather_host(functions->user, own, all, int64_t(bytes), &error))
    return llvm::createStringError(error.message);
  return llvm::Error::success();
}

llvm::Error RunRanks::barrier() const { return gather(nullptr, nullptr, 0); }

llvm::Expected<int64_t> RunRanks::ofFirst(int64_t value) const {
  std::vector<int64_t> all(size_t(size()), 0);
  if (llvm::Error error = gather(&value, all.data(), sizeof value))
    return std::move(error);
  return all[0];
}

llvm::Expected<std::vector<char>> RunRanks::collect(const void *rows, int64_t count, int64_t rowBytes) const {
  std::vector<int64_t> counts(size_t(size()), 0), sent(size_t(size()), 0), none(size_t(size()), 0);
  if (llvm::Error error = gather(&count, counts.data(), sizeof count))
    return std::move(error);
  sent[0] = count;
  int64_t total = 0;
  for (int64_t others : counts)
    total += rank() == 0 ? others : 0;
  std::vector<char> all(size_t(total * rowBytes));
  gnnc_error error = {};
  if (functions->exchange(functions->user, rows, sent.data(), all.data(), rank() == 0 ? counts.data() : none.data(),
                          rowBytes, nullptr, &error))
    return llvm::createStringError(error.message);
  return std::move(all);
}

void RunRanks::abort(int status) {
  if (library)
    library->abort(library->mpi, status);
}
