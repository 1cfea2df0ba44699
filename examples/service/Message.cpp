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
  // Of a text alone: values that have others inside need memory to be freed. It may quote bytes of the request that are
  // no UTF-8.
  std::string text = nlohmann::json(message).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return {status, "application/json", "{\"error\":" + text + "}\n"};
}

Response refusal(const char *reason, const std::string &message) {
  Response response = failure(503, message);
  response.refusal = reason;
  return response;
}

} // namespace service
