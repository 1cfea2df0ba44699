# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models on CUDA devices: PyTorch's streams, and its allocator for workspaces."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_size_t, c_void_p

import torch

from .. import _cache
from .._errors import Error
from .._graph import Call, Prepared
from .._library import Context, Library

ALIGNMENT = 16  # of what kernels read


class Workspace:
    """Memory of the device for one run, from PyTorch's allocator: it may be used again by what comes later on the
    stream as soon as it is dropped."""

    __slots__ = ("memory", "pointer", "size")

    def __init__(self, size: int, device: torch.device) -> None:
        self.memory = torch.empty(max(size, 1), dtype=torch.uint8, device=device)
        self.pointer, self.size = c_void_p(self.memory.data_ptr()), c_size_t(size)

    def release(self) -> None:
        """PyTorch's allocator takes it back by itself."""


@contextlib.contextmanager
def preparing(device: int) -> Iterator[None]:
    """For computing a graph's data. The runtime reads them at once: afterwards PyTorch has written all of them."""
    if torch.cuda.is_current_stream_capturing():
        raise Error("a graph cannot be prepared during a capture: call the model once before, or pass gnnc.Graph", 4)
    free_retired()
    yield
    torch.cuda.current_stream(device).synchronize()


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


def launch(
    call: Call,
    prepared: Prepared,
    context: Context,
    inputs: Sequence[int],
    outputs: Sequence[int],
    workspace: Workspace,
) -> None:
    """Launches a program on PyTorch's current stream, and does not wait for it. Tensors must be aligned."""
    # As an object of torch.cuda it would cost a microsecond more.
    stream: int = torch._C._cuda_getCurrentRawStream(prepared.device[1])
    if stream not in prepared.streams:
        prepared.streams.add(stream)
    if torch.cuda.is_current_stream_capturing():
        _cache.graphs.pin(prepared)
    call(context, inputs, outputs, workspace.pointer, workspace.size, c_void_p(stream or None))


def run(
    call: Call, prepared: Prepared, context: Context, inputs: Sequence[int], outputs: Sequence[int], size: int
) -> None:
    """`launch` with a workspace of its own."""
    if any(pointer % ALIGNMENT for pointer in (*inputs, *outputs)):
        raise Error(
            f"expected tensors at multiples of {ALIGNMENT} bytes: pass clones of views that begin elsewhere", 1
        )
    launch(call, prepared, context, inputs, outputs, Workspace(size, torch.device("cuda", prepared.device[1])))
