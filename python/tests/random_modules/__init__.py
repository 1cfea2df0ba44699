# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random modules of PyTorch, compiled and compared with eager: `./dev fuzz --modules` (docs/Testing.md)."""
