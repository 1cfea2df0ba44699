# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls on CUDA devices whose addresses keep coming back: all of their kernels in one launch.

What a call launches depends on its graph and on addresses alone. The tensors of a training loop lie where they lay a step
before, since PyTorch's allocator gives the same memory again; such a call is recorded, once, and from then on replayed,
which takes the host hardly longer than one kernel does. Calls with new addresses are launched kernel by kernel.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Iterable
from ctypes import byref, c_void_p
from struct import Struct
from typing import Any

import torch

from .._errors import Error
from .._graph import Call
from .._library import Context, Library, errors
from ._memory import Workspace

#: Whether anything is recorded.
enabled = True
#: A call is recorded when it comes so often with the same addresses ...
TIMES = 3
#: ... among so many that were seen last;
_MOST_SEEN = 16
#: so many recordings are kept, and so many made in all: where addresses change for ever, none is worth its making.
MOST_KEPT = 8
_MOST_MADE = 64

_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING


@functools.cache
def _driver() -> Any:
    return ctypes.CDLL("libcuda.so.1")


class Recording:
    """Freed when nobody replays it any longer; the driver waits for what is under way."""

    __slots__ = ("_context", "_free", "handle")

    def __init__(self, library: Library, context: Context) -> None:
        self.handle, self._context, self._free = c_void_p(), context, library.api.free_recording

    def __del__(self) -> None:
        if self.handle and not sys.is_finalizing():
            self._free(self._context.handle, self.handle)


class Replays:
    """Of one call. Any number of threads use it at once: what they write to is theirs alone, so that no two of them replay
    one recording at the same time."""

    __slots__ = ("_context", "_kept", "_left", "_library", "_pack", "_replay", "_seen")

    def __init__(self, call: Call, library: Library, context: Context) -> None:
        self._library, self._context = library, context
        self._pack = Struct(f"{call.num_pointers + 1}Q").pack
        self._replay = library.api.replay
        self._seen: dict[bytes, int] = {}
        self._kept: dict[bytes, Recording] = {}
        self._left = _MOST_MADE

    def __len__(self) -> int:
        return len(self._kept)

    def __call__(self, call: Call, pointers: Iterable[int], workspace: Workspace, stream: c_void_p) -> None:
        data = self._pack(*pointers, workspace.address)
        recording = self._kept.get(data)
        if recording is None and self._comes_back(data):
            recording = self._record(call, data, workspace)
        if recording is None:
            call.launch(self._context, data, workspace.pointer, workspace.size, stream)
        elif self._replay(self._context.handle, recording.handle, stream, errors.failure):
            raise errors.last()

    def _comes_back(self, data: bytes) -> bool:
        seen = self._seen
        times = seen.pop(data, 0) + 1
        if times >= TIMES:
            return self._left > 0
        seen[data] = times
        if len(seen) > _MOST_SEEN:
            for oldest in list(seen)[:-_MOST_SEEN]:
                seen.pop(oldest, None)
        return False

    def _record(self, call: Call, data: bytes, workspace: Workspace) -> Recording | None:
        """None: it cannot be recorded, and will not be tried again."""
        api, context, stream = self._library.api, self._context.handle, c_void_p()
        result = Recording(self._library, self._context)
        # A stream of PyTorch's would record what other threads launch on it, and one that waits for the default stream
        # would make their launches there an error.
        with torch.cuda.device(self._context.device[1]):
            failed = _driver().cuStreamCreate(byref(stream), _NON_BLOCKING)
            if not failed:
                failed = api.begin_recording(context, stream, errors.failure)
                if not failed:
                    try:
                        call.launch(self._context, data, workspace.pointer, workspace.size, stream)
                    except Error:
                        failed = 1
                    failed = api.end_recording(context, stream, byref(result.handle), errors.failure) or failed
                _driver().cuStreamDestroy_v2(stream)
        if failed:
            self._left = 0
            return None
        self._left -= 1
        self._kept[data] = result
        if len(self._kept) > MOST_KEPT:
            for oldest in list(self._kept)[:-MOST_KEPT]:
                self._kept.pop(oldest, None)
        return result
