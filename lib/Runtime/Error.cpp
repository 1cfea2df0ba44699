//===- Error.cpp - One-line error messages --------------------------------===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Error.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

namespace gnnc::runtime {

gnnc_status fail(gnnc_error *error, gnnc_status status, const char *format, ...) {
  if (!error)
    return status;
  error->status = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  for (char *c = error->message; *c; ++c)
    if (static_cast<unsigned char>(*c) < ' ' || *c == 0x7f)
      *c = '?';
  return status;
}

void Text::add(const char *format, ...) {
  constexpr int capacity = sizeof buffer;
  if (length >= capacity)
    return;
  va_list arguments;
  va_start(arguments, format);
  int added = vsnprintf(buffer + length, capacity - length, format, arguments);
  va_end(arguments);
  if (added < 0)
    return;
  if (length + added >= capacity) {
    memcpy(buffer + capacity - 4, "...", 4);
    length = capacity;
    return;
  }
  length += added;
}

void Text::addShape(const int64_t *dims, int64_t count) {
  add("[");
  for (int64_t i = 0; i < count; ++i)
    add(i ? ", %lld" : "%lld", static_cast<long long>(dims[i]));
  add("]");
}

} // namespace gnnc::runtime
