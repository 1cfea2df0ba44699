# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One thread of the process at a time traces modules, or calls them with other tensors than their own.

torch.export puts tensors without numbers where a module's parameters are, and back what it found there: of two threads in
one module the second would put those of the first back, for good. Its switches, too, are the whole process's.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch._subclasses import FakeTensor
from torch.utils._python_dispatch import _get_current_dispatch_mode

_lock = threading.RLock()
_owner: int | None = None  #: the thread that is alone
_turns = 0  #: how often a thread has begun or ended to be alone


@contextlib.contextmanager
def alone(*, by_autograd: bool = False) -> Iterator[None]:
    """Waits until no other thread is. `by_autograd`: this is autograd's thread of a GPU, which others wait for."""
    global _owner, _turns
    # Dynamo's lock comes first: what torch.compile compiles by gnnc has it already, and Dynamo may export a module here.
    # Who has it may be tracing gradients by autograd's thread, which does not wait for it, therefore.
    from torch._dynamo import convert_frame

    before = contextlib.nullcontext() if by_autograd else convert_frame.compile_lock
    # Gradients are traced in this thread alone: autograd's may be waiting here for another pass.
    with before, _lock, torch.autograd.set_multithreading_enabled(False):
        outer = _owner
        _owner = threading.get_ident()
        _turns += outer is None
        try:
            yield
        finally:
            _owner = outer
            _turns += outer is None


def is_another() -> bool:
    """Whether another thread is alone. Dynamo, which could not trace the question, is run by this one."""
    owner = None if torch.compiler.is_dynamo_compiling() else _owner
    return owner is not None and owner != threading.get_ident()


def is_compiling() -> bool:
    """Whether this thread traces; torch.compiler says it of all threads at once."""
    if torch.compiler.is_dynamo_compiling():
        return True
    return torch.compiler.is_compiling() and _get_current_dispatch_mode() is not None and not is_another()


def settled(read: Callable[[], list[Tensor]]) -> list[Tensor]:
    """Tensors of a module, which another thread may have exchanged: then what they are afterwards."""
    if torch.compiler.is_dynamo_compiling():
        return read()
    turns = _turns
    found = read()
    if (turns == _turns and not is_another()) or not any([isinstance(each, FakeTensor) for each in found]):
        return found
    with _lock:
        return read()


def _after_fork() -> None:
    global _lock, _owner, _turns
    _lock, _owner, _turns = threading.RLock(), None, 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
