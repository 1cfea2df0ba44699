# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled models on CUDA devices: PyTorch's streams, and its allocator for workspaces."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from ctypes import c_size_t, c_void_p

import torch

from .. import _cache
from .._errors import Error
from .._graph import Call, Prepared
from .._library import Context

_ALIGNMENT = 16  # of what kernels read


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
    yield
    torch.cuda.current_stream(device).synchronize()


def launch(
    call: Call,
    prepared: Prepared,
    context: Context,
    inputs: Sequence[int],
    outputs: Sequence[int],
    workspace: Workspace,
) -> None:
    """Launches a program on PyTorch's current stream, and does not wait for it."""
    if any(pointer % _ALIGNMENT for pointer in (*inputs, *outputs)):
        raise Error(
            f"expected tensors at multiples of {_ALIGNMENT} bytes: pass clones of views that begin elsewhere", 1
        )
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
    launch(call, prepared, context, inputs, outputs, Workspace(size, torch.device("cuda", prepared.device[1])))
