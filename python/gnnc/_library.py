# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A compiled model that is loaded into this process: its functions, its contexts, and memory to run in."""

from __future__ import annotations

import ctypes
import os
import threading
import weakref
from collections.abc import Callable
from ctypes import byref, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from . import _abi, _description, _elf
from ._errors import Error

_WORKSPACE_ALIGNMENT = 64


class _Errors(threading.local):
    """What a call of C that failed says, for each thread."""

    def __init__(self) -> None:
        self.record = _abi.ErrorRecord()
        self.failure = byref(self.record)

    def last(self) -> Error:
        return Error(self.record.message.decode(errors="replace"), self.record.status)


errors = _Errors()


class Workspace:
    """Aligned memory of the host for one run at a time. `release` gives it back to whoever it was taken from."""

    __slots__ = ("_home", "_memory", "bytes", "pointer", "size")

    def __init__(self, size: int, home: list[Workspace]) -> None:
        self._memory = np.empty(size + _WORKSPACE_ALIGNMENT, np.uint8)
        address = self._memory.__array_interface__["data"][0]
        self.bytes, self._home = size, home
        self.pointer, self.size = c_void_p(address + -address % _WORKSPACE_ALIGNMENT), c_size_t(size)

    def release(self) -> None:
        self._home.append(self)


class Lease:
    """A workspace that is kept for a while, and given back when this is dropped."""

    __slots__ = ("workspace",)

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def __del__(self) -> None:
        self.workspace.release()


class Context:
    """An open model on one device, with threads of its own or those that `parallel`, a function of C, lends."""

    def __init__(self, library: Library, device: tuple[int, int], threads: int, parallel: int | None) -> None:
        self.device = device
        options = _abi.Options(ctypes.sizeof(_abi.Options), threads, None, device[0], device[1], parallel=parallel)
        if device[0] == _abi.CUDA:
            from .torch._memory import allocator

            options.device_allocator = ctypes.pointer(allocator)
        self.handle = c_void_p()
        library.check(library.api.open, byref(options), byref(self.handle))
        self._close = weakref.finalize(self, library.api.close, self.handle)
        self._close.atexit = False

    def forget(self) -> None:
        """Without closing it: its threads are in another process."""
        self._close.detach()


class Library:
    """One object file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        if not self.path.exists():
            raise Error(f"'{path}': no such file")
        _elf.check(self.path)
        try:
            self._dll = ctypes.CDLL(str(self.path), mode=ctypes.RTLD_LOCAL)
            function = self._dll.gnnc_model
        except (OSError, AttributeError) as error:
            raise Error(f"'{path}' is not a model compiled by gnnc: {error}") from error
        # The first number alone says whether the rest may be read.
        function.restype = ctypes.POINTER(ctypes.c_uint32)
        version = function()[0]
        if version != _abi.ABI_VERSION:
            raise Error(
                f"'{path}': expected version {_abi.ABI_VERSION} of the C interface, found {version}: compile the model again",
                5,
            )
        function.restype = ctypes.POINTER(_abi.Api)
        self.api: Any = function().contents
        self.run_call: Any = self.api.run_call
        length = c_size_t()
        text = self.api.describe(byref(length))
        self.description = _description.parse(ctypes.string_at(text, length.value))
        self._contexts: dict[tuple[tuple[int, int], int, int | None], Context] = {}
        #: Those of the CPU that have PyTorch's threads, by their number.
        self.torch_contexts: dict[int, Context] = {}
        self._lock = threading.Lock()
        self._workspaces: list[Workspace] = []
        _loaded.add(self)

    def check(self, function: Callable[..., int], *arguments: Any) -> None:
        """Calls a function of the model whose last argument is an error record."""
        if function(*arguments, errors.failure) != _abi.OK:
            raise errors.last()

    def context(
        self, device: tuple[int, int] = (_abi.CPU, 0), threads: int = 0, parallel: int | None = None
    ) -> Context:
        """The context of a device; opened when it is first asked for. `threads` (0: one for each processor) and who lends
        them, the C interface's `parallel`, count on a CPU only."""
        key = (device, threads, parallel) if device[0] == _abi.CPU else (device, 0, None)
        found = self._contexts.get(key)
        if found is None:
            with self._lock:
                found = self._contexts.get(key)
                if found is None:
                    found = self._contexts[key] = Context(self, *key)
        return found

    def workspace(self, size: int) -> Workspace:
        """Memory for one run; `release` it afterwards. There are as many as runs at the same time."""
        try:
            found = self._workspaces.pop()
        except IndexError:
            return Workspace(size, self._workspaces)
        return found if found.bytes >= size else Workspace(size, self._workspaces)

    def _after_fork(self) -> None:
        for context in self._contexts.values():
            context.forget()
        self._contexts.clear()
        self.torch_contexts.clear()
        self._lock = threading.Lock()


_loaded: weakref.WeakSet[Library] = weakref.WeakSet()


def _after_fork() -> None:
    # A child has none of its parent's threads: its contexts are opened again. Prepared graphs are memory, and stay.
    for library in list(_loaded):
        library._after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
