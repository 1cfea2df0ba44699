//===- Error.h - One-line error messages ------------------------*- C++ -*-===//
//
// Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
// See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every function that can fail returns a gnnc_status and fills the caller's error record, if there is one.
//
//===----------------------------------------------------------------------===//

#ifndef GNNC_RUNTIME_ERROR_H
#define GNNC_RUNTIME_ERROR_H

#include "gnnc-c/gnnc.h"

namespace gnnc::runtime {

/// Fills `error` (unless null) and returns `status`. A name that came from the caller is printed with `%.80s`: it may
/// be of any length. Control characters in the result are replaced, so that it stays one line.
gnnc_status fail(gnnc_error *error, gnnc_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/// Text of bounded length that is put together piece by piece; what does not fit ends in "...".
class Text {
public:
  Text() { buffer[0] = 0; }
  void add(const char *format, ...) __attribute__((format(printf, 2, 3)));
  /// "[2708, 16]"
  void addShape(const int64_t *dims, int64_t count);
  const char *c_str() const { return buffer; }
  bool empty() const { return length == 0; }

private:
  char buffer[200];
  int length = 0;
};

} // namespace gnnc::runtime

#endif // GNNC_RUNTIME_ERROR_H
