# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads of the CPU: PyTorch's. Those of OpenMP spin for a while when their work is done, and would keep the processors
from threads of ours."""

from __future__ import annotations

import ctypes
import os
from functools import lru_cache
from pathlib import Path

import torch

from .._library import Context, Library

#: Whether this process is a child of one with threads. OpenMP's are not in it, but GNU's runtime waits for them.
_is_forked = False


def context(library: Library, threads: int) -> Context:
    """The model's context for calls on the CPU, with so many of PyTorch's threads."""
    found = library.context(threads=threads, parallel=None if _is_forked else _parallel())
    library.torch_contexts[threads] = found
    return found


@lru_cache(maxsize=1)
def _parallel() -> int | None:
    """The address of GOMP_parallel in the runtime that PyTorch is linked with; None: it has no such runtime."""
    try:
        # What is looked up in a library is looked for in those that it needs too: other runtimes may be loaded.
        path = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
        library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value
    except (OSError, AttributeError):
        return None


def _after_fork() -> None:
    global _is_forked
    _is_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
