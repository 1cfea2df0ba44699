# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches whose graphs are prepared while the batch before them is worked on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from .._errors import Error
from ._compiled import CompiledModule

_END = object()


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error


class Loader:
    """The batches of a loader; a thread prepares the graph of the next one, on a stream of its own, meanwhile.

    `batches`: a `DataLoader`, or anything that can be iterated. `model`: what `gnnc.compile` returned. `arguments`: what
    of a batch it is called with, a tuple (or a dict of keywords) of the batch's own tensors; by default those of a tuple
    or dict, or the batch itself, such as PyTorch Geometric's `Data`. `device`: where batches are moved, as by their
    `to`; None: they are where they are to be. `ahead`: how many are prepared at most that have not been asked for.

    A batch that the model has not been compiled for is given as it is. What the loader raises is raised where its batch
    would have come. It runs in the thread, with grad mode as here, and draws from the same generators as the model: where
    both draw on the CPU, runs with one seed differ.
    """

    def __init__(
        self,
        batches: Iterable[Any],
        model: nn.Module,
        *,
        arguments: Callable[[Any], Any] | None = None,
        device: torch.device | str | int | None = None,
        ahead: int = 1,
    ) -> None:
        if not isinstance(model, CompiledModule):
            raise Error(f"expected a module that gnnc.compile returned, found {type(model).__name__}", 1)
        if ahead < 1:
            raise Error(f"ahead: expected 1 or more, found {ahead}", 1)
        self.batches, self.model, self.ahead = batches, model, ahead
        self.arguments = arguments or _arguments
        self.device = None if device is None else torch.device(device)

    def __len__(self) -> int:
        if not isinstance(self.batches, Sized):
            raise TypeError(f"{type(self.batches).__name__} does not say how many batches it has")
        return len(self.batches)

    def __iter__(self) -> Iterator[Any]:
        ready: queue.Queue[Any] = queue.Queue(self.ahead)
        stop = threading.Event()
        device = self.device
        if device is not None and device.type == "cuda" and device.index is None:  # of this thread, not of the other
            device = torch.device("cuda", torch.cuda.current_device())
        given = (ready, stop, device, torch.is_grad_enabled())
        threading.Thread(target=self._prepare_all, args=given, name="gnnc.Loader", daemon=True).start()
        try:
            while True:
                found = ready.get()
                if found is _END:
                    return
                if isinstance(found, _Failure):
                    raise found.error
                batch, event = found
                if event is not None:
                    stream = torch.cuda.current_stream(event.device)
                    stream.wait_event(event)
                    for tensor in _tensors(batch):
                        if tensor.is_cuda:
                            tensor.record_stream(stream)
                yield batch
        finally:
            stop.set()

    def _prepare_all(
        self, ready: queue.Queue[Any], stop: threading.Event, device: torch.device | None, grad: bool
    ) -> None:
        def put(item: Any) -> None:
            while not stop.is_set():
                try:
                    return ready.put(item, timeout=0.05)
                except queue.Full:
                    continue

        streams: dict[int, torch.cuda.Stream] = {}
        try:
            if device is not None and device.type == "cuda":
                torch.cuda.set_device(device)
            with torch.set_grad_enabled(grad):
                for batch in self.batches:
                    if stop.is_set():
                        return
                    put(self._prepare(batch, device, streams))
            put(_END)
        except BaseException as error:
            put(_Failure(error))

    def _prepare(
        self, batch: Any, device: torch.device | None, streams: dict[int, torch.cuda.Stream]
    ) -> tuple[Any, torch.cuda.Event | None]:
        own = device or next((tensor.device for tensor in _tensors(batch) if tensor.is_cuda), None)
        if own is None or own.type != "cuda":
            batch = batch if device is None else _moved(batch, device)
            self._prefetch(batch)
            return batch, None
        stream = streams.get(own.index)
        if stream is None:
            stream = streams[own.index] = torch.cuda.Stream(own)
        with torch.cuda.stream(stream):
            if device is None:  # made on the stream that they are used on
                stream.wait_stream(torch.cuda.default_stream(own))
            else:
                batch = _moved(batch, device)
            self._prefetch(batch)
            event = torch.cuda.Event()
            event.record(stream)
        return batch, event

    def _prefetch(self, batch: Any) -> None:
        given = self.arguments(batch)
        if isinstance(given, Mapping):
            vars(self.model)["_gnnc"].prefetch(**given)
        else:
            vars(self.model)["_gnnc"].prefetch(*given)


def _arguments(batch: Any) -> Any:
    return batch if isinstance(batch, (tuple, list, Mapping)) else (batch,)


def _moved(batch: Any, device: torch.device) -> Any:
    if hasattr(batch, "to"):
        return batch.to(device, non_blocking=True)
    return pytree.tree_map(lambda leaf: leaf.to(device, non_blocking=True) if hasattr(leaf, "to") else leaf, batch)


def _tensors(batch: Any) -> list[Tensor]:
    if hasattr(batch, "to_dict"):
        batch = batch.to_dict()
    found = []
    for leaf in pytree.tree_leaves(batch):
        if isinstance(leaf, Tensor):
            found.append(leaf)
        elif hasattr(leaf, "to_dict"):
            found += _tensors(leaf)
    return found
