# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of PyTorch that are others for some threads, while these export a module."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from types import ClassMethodDescriptorType
from typing import Any


class ThreadPatch:
    """A method that threads within `active` find replaced. Other threads have PyTorch's, and all have it again when the
    last thread leaves, in whatever order they do."""

    def __init__(self, owner: type, name: str, other: Callable[..., Any]) -> None:
        """`other`: takes what the method takes, with the object or class first."""
        self._owner, self._name, self._other = owner, name, other
        self._threads: list[int] = []
        self._lock = threading.Lock()
        self._own = owner.__dict__.get(name)  # None: it is inherited

    def _either(self) -> Any:
        original = getattr(self._owner, self._name) if self._own is None else self._own
        # `apply` of torch.autograd.Function is one of C.
        is_of_class = isinstance(original, (classmethod, ClassMethodDescriptorType))

        def either(first: Any, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() in self._threads:
                return self._other(first, *args, **kwargs)
            bound = original.__get__(None, first) if is_of_class else original.__get__(first, type(first))
            return bound(*args, **kwargs)

        return classmethod(either) if is_of_class else either

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        with self._lock:
            if not self._threads:
                setattr(self._owner, self._name, self._either())
            self._threads.append(threading.get_ident())
        try:
            yield
        finally:
            with self._lock:
                self._threads.remove(threading.get_ident())
                if not self._threads and self._own is None:
                    delattr(self._owner, self._name)
                elif not self._threads:
                    setattr(self._owner, self._name, self._own)
