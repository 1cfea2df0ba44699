/*===- NoModel.c - A shared object without a model ----------------*- C -*-===*\
|*
|* Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
|* See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
|*
\*===----------------------------------------------------------------------===*/

/* A shared object that is no model. */
int gnnc_test_answer(void);
int gnnc_test_answer(void) { return 42; }
