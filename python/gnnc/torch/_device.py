# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models on CUDA devices: PyTorch's streams, and graphs that are freed when these are done."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from ctypes import c_void_p

import torch

from .. import _cache
from .._errors import Error
from .._graph import Call, Prepared
from .._library import Context, Library
from ._memory import DEFAULT_STREAM, Workspace

ALIGNMENT = 16  # of what kernels read
NULL = c_void_p()


def stream_for_preparing(device: int) -> int:
    """The stream in whose order a graph is prepared from now on: what was launched there has been written by then. Raises
    Error during a capture."""
    if torch.cuda.is_current_stream_capturing():
        raise Error("a graph cannot be prepared during a capture: call the model once before, or pass gnnc.Graph", 4)
    free_retired()
    return torch._C._cuda_getCurrentRawStream(device) or DEFAULT_STREAM


class _Retired:
    """A graph that nobody uses any longer, and events after which its last runs have finished."""

    __slots__ = ("device", "events", "handle", "library", "streams")

    def __init__(self, library: Library, device: tuple[int, int], handle: c_void_p, streams: Iterable[int]) -> None:
        self.library, self.device, self.handle = library, device, handle
        self.events: list[torch.cuda.Event] = []
        #: Streams that must be waited for instead: nothing can be recorded during a capture.
        self.streams = list(streams)
        if torch.cuda.is_current_stream_capturing():
            return
        for stream in self.streams:
            event = torch.cuda.Event()
            event.record(_stream(stream, device[1]))
            self.events.append(event)
        self.streams = []

    def is_finished(self) -> bool:
        return not self.streams and all(event.query() for event in self.events)

    def free(self) -> None:
        for event in self.events:
            event.synchronize()
        for stream in self.streams:
            _stream(stream, self.device[1]).synchronize()
        self.library.api.free_graph(self.handle)


def _stream(stream: int, device: int) -> torch.cuda.Stream:
    return torch.cuda.ExternalStream(stream, device=device) if stream else torch.cuda.default_stream(device)


_retired: collections.deque[_Retired] = collections.deque()
#: So many are waited for in turn, without one being waited upon.
_MOST_RETIRED = 64


def retire(library: Library, device: tuple[int, int], handle: c_void_p, streams: Iterable[int]) -> None:
    """Frees a graph when what was launched with it has finished, without waiting for that."""
    try:
        _retired.append(_Retired(library, device, handle, streams))
    except RuntimeError:  # the device has failed; whoever uses it next is told
        library.api.free_graph(handle)


def free_retired() -> None:
    """Frees the retired graphs whose runs have finished, the oldest first."""
    while _retired:
        try:
            oldest = _retired.popleft()
        except IndexError:  # another thread was faster
            return
        if len(_retired) < _MOST_RETIRED and not oldest.is_finished():
            _retired.appendleft(oldest)
            return
        oldest.free()


def raw_stream(device: int) -> int:
    """PyTorch's current stream. As an object of torch.cuda it would cost a microsecond more."""
    return torch._C._cuda_getCurrentRawStream(device)


def pin(prepared: Prepared) -> None:
    """For a run that is a part of a capture: a graph that captured runs use is never freed."""
    _cache.graphs.pin(prepared)


def run(call: Call, prepared: Prepared, context: Context, pointers: Sequence[int]) -> None:
    """`launch` on the current stream with a workspace of its own."""
    if any(pointer % ALIGNMENT for pointer in pointers):
        raise Error(f"expected tensors at multiples of {ALIGNMENT} bytes: pass clones of views that begin elsewhere", 1)
    device = prepared.device[1]
    stream = raw_stream(device)
    if torch._C._cuda_isCurrentStreamCapturing():
        pin(prepared)
    prepared.streams.add(stream)
    workspace = Workspace(call.workspace_bytes, torch.device("cuda", device), stream, None)
    # Launched on the stream, and not waited for.
    call(context, pointers, workspace.pointer, workspace.size, c_void_p(stream) if stream else NULL)
