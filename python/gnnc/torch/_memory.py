# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory of CUDA devices from PyTorch's caching allocator: for prepared graphs, and for workspaces."""

from __future__ import annotations

from ctypes import c_size_t, c_void_p
from typing import Any

import torch

from .. import _abi
from .._library import Context

#: CU_STREAM_LEGACY: PyTorch calls the default stream 0, which in C says that there is none.
DEFAULT_STREAM = 1


# What torch.cuda.caching_allocator_alloc and _delete call, for the current device, which the caller in C has set.


def _allocate(size: int, stream: int | None, user: Any) -> int | None:
    try:
        return torch._C._cuda_cudaCachingAllocator_raw_alloc(size, 0 if stream == DEFAULT_STREAM else stream or 0)
    except Exception:  # out of memory: the caller in C says so
        return None


def _release(memory: int, size: int, stream: int | None, user: Any) -> None:
    try:
        torch._C._cuda_cudaCachingAllocator_raw_delete(memory)
    except Exception:  # the device has failed: whoever uses it next is told
        pass


_types = dict(_abi.DeviceAllocator._fields_)
#: What contexts take memory for prepared graphs from. It lives as long as this process.
allocator = _abi.DeviceAllocator(_types["allocate"](_allocate), _types["release"](_release), None)


class Workspace:
    """Memory for one run at a time on one stream. What comes later on that stream may use it again as soon as it is
    dropped or released."""

    __slots__ = ("_home", "bytes", "memory", "pointer", "size", "stream")

    def __init__(self, size: int, device: torch.device, stream: int, home: list[Workspace] | None) -> None:
        self.memory = torch.empty(max(size, 1), dtype=torch.uint8, device=device)
        self.pointer, self.size = c_void_p(self.memory.data_ptr()), c_size_t(size)
        self.bytes, self.stream, self._home = size, stream, home

    def leave(self, stream: int) -> None:
        """It is used where what comes later on its own stream does not wait for that: nobody gets it afterwards."""
        self._home = None
        if stream != self.stream:
            self.memory.record_stream(torch.cuda.ExternalStream(stream, device=self.memory.device))

    def release(self) -> None:
        home = self._home
        if home is not None and len(home) < MOST_KEPT:
            home.append(self)


#: Small workspaces are kept, so that a call need not ask for one: as many of one model and stream, of up to so many bytes.
MOST_KEPT = 4
MOST_BYTES = 1 << 20
_LEAST_BYTES = 1 << 14


class Lane:
    """A model on one stream of a device: what all of its runs there have in common, and workspaces for them."""

    __slots__ = ("_device", "_kept", "context", "pointer", "stream")

    def __init__(self, context: Context, device: int, stream: int) -> None:
        self.context, self.stream = context, stream
        self.pointer = c_void_p(stream or None)
        self._device = torch.device("cuda", device)
        self._kept: list[Workspace] = []

    def take(self, size: int) -> Workspace:
        """For what is launched next. Not in a capture, whose memory must be its own."""
        if size > MOST_BYTES:
            return Workspace(size, self._device, self.stream, None)
        try:
            found = self._kept.pop()
            if found.bytes >= size:
                return found
        except IndexError:  # all are in use
            pass
        room = max(_LEAST_BYTES, 1 << (size - 1).bit_length()) if size else _LEAST_BYTES
        return Workspace(room, self._device, self.stream, self._kept)

    def take_for_capture(self, size: int) -> Workspace:
        return Workspace(size, self._device, self.stream, None)
