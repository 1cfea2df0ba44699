//===- Message.cpp - Errors as responses ----------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Message.h"

#include <nlohmann/json.hpp>

namespace service {

Response failure(unsigned status, const std::string &message) {
  nlohmann::json error = {{"error", message}};
  // A message may quote bytes of the request that are no UTF-8.
  return {status, "application/json", error.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"};
}

Response refusal(const char *reason, const std::string &message) {
  Response response = failure(503, message);
  response.refusal = reason;
  return response;
}

} // namespace service
