//===- Server.h - Triton's C functions as this backend uses them -*- C++ -*-==//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_HOSTS_TRITON_SERVER_H
#define GNNC_HOSTS_TRITON_SERVER_H

#include "triton/core/tritonbackend.h"
#include "triton/core/tritonserver.h"

#include <new>
#include <stdexcept>
#include <string>

namespace gnnc::triton {

/// Throws the message of an error, and deletes it.
inline void check(TRITONSERVER_Error *error) {
  if (!error)
    return;
  std::string message = TRITONSERVER_ErrorMessage(error);
  TRITONSERVER_ErrorDelete(error);
  throw std::runtime_error(message);
}

/// Where nothing can be done about a failure but to say so.
inline void logFailure(TRITONSERVER_Error *error) {
  if (!error)
    return;
  TRITONSERVER_Error *ignored =
      TRITONSERVER_LogMessage(TRITONSERVER_LOG_ERROR, __FILE__, __LINE__, TRITONSERVER_ErrorMessage(error));
  if (ignored)
    TRITONSERVER_ErrorDelete(ignored);
  TRITONSERVER_ErrorDelete(error);
}

inline void log(TRITONSERVER_LogLevel level, const std::string &message) {
  logFailure(TRITONSERVER_LogMessage(level, __FILE__, __LINE__, message.c_str()));
}

/// Calls a function that may throw, for one that returns an error.
template <typename Function> TRITONSERVER_Error *guard(Function function) {
  try {
    function();
    return nullptr;
  } catch (const std::bad_alloc &) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "out of memory");
  } catch (const std::exception &error) {
    return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, error.what());
  }
}

} // namespace gnnc::triton

#endif // GNNC_HOSTS_TRITON_SERVER_H
