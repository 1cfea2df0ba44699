//===- Message.h - Requests and responses -----------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SERVICE_MESSAGE_H
#define SERVICE_MESSAGE_H

#include <functional>
#include <string>

namespace service {

struct Request {
  std::string method, path, type, body;
};

struct Response {
  unsigned status = 200;
  std::string type, body;
  bool scored = false;           ///< counts in the metrics' latencies
  const char *refusal = nullptr; ///< why the service was too busy, for the metrics; the client is told to come again
};

/// A response whose body is {"error": message}.
Response failure(unsigned status, const std::string &message);
/// 503, with Retry-After.
Response refusal(const char *reason, const std::string &message);

/// To be called once, from any thread. If it throws, for want of memory, the response is as it was: call again.
using Reply = std::function<void(Response &&)>;

} // namespace service

#endif // SERVICE_MESSAGE_H
