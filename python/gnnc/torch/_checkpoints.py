# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checkpoints of `torch.utils.checkpoint` as what is inside them: the compiler chooses what it computes again."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn
from torch.utils import checkpoint as _module

#: Arguments of a checkpoint that are none of the function's.
_OWN = ("use_reentrant", "context_fn", "determinism_check", "debug", "early_stop", "preserve_rng_state")


def _checkpoint(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return function(*args, **{name: value for name, value in kwargs.items() if name not in _OWN})


def _checkpoint_sequential(functions: Any, segments: int, input: Any, *args: Any, **kwargs: Any) -> Any:
    for function in functions.children() if isinstance(functions, nn.Sequential) else functions:
        input = function(input)
    return input


_FORMS = {
    "checkpoint": (_module.checkpoint, _checkpoint),
    "checkpoint_sequential": (_module.checkpoint_sequential, _checkpoint_sequential),
}
_lock = threading.Lock()
_active = 0


def _replace(which: int) -> None:
    """In all modules that have them by their names, but for torch's own, where Dynamo looks for functions that it
    knows: which of the two there is to be."""
    for path, module in list(sys.modules.items()):
        own = {} if path.startswith("torch.") else getattr(module, "__dict__", {})
        for name, forms in _FORMS.items():
            if own.get(name) is forms[1 - which]:
                own[name] = forms[which]


@contextlib.contextmanager
def without_checkpoints() -> Iterator[None]:
    """Other threads that run checkpoints meanwhile get the same numbers, with more memory."""
    global _active
    with _lock:
        _active += 1
        if _active == 1:
            _replace(1)
    try:
        yield
    finally:
        with _lock:
            _active -= 1
            if _active == 0:
                _replace(0)
