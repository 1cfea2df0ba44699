# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Ranks of `torch.distributed` for models that were compiled with `--distributed`.

    torch.distributed.init_process_group("gloo")              # under torchrun
    ranks = gnnc.ranks.TorchRanks()
    graph = gnnc.ranks.load_part(model, f"parts/part.{ranks.rank}.safetensors", ranks)
    outputs = model.run("forward", graph=graph, **graph.inputs)

Inputs and outputs on divided spaces are the rank's own rows. All ranks make the same calls in the same order.

Modules of PyTorch run on parts too:

    part = gnnc.ranks.PartFile(f"parts/part.{ranks.rank}.safetensors", ranks)
    run = gnnc.compile(module, (x, edge_index)).partitioned(part)
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _abi, _safetensors
from ._errors import Error

if TYPE_CHECKING:
    from ._description import Value
    from ._model import Graph, Model


class TorchRanks:
    """The ranks of a process group, as functions that move rows between them.

    Over gloo rows move between the hosts' memories; over NCCL between those of the current CUDA devices, on the stream
    of the run. `group`: a process group, by default that of all processes; all of its ranks make this at once.
    """

    def __init__(self, group: Any = None) -> None:
        import torch.distributed as dist

        if not dist.is_initialized():
            raise Error("torch.distributed is not initialised: call init_process_group first", 1)
        self._group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self._on_device = "nccl" in dist.get_backend(group)
        # What is agreed when a graph is prepared is on the hosts.
        ranks = dist.get_process_group_ranks(group or dist.group.WORLD)
        self._hosts = dist.new_group(ranks, backend="gloo") if self._on_device else group
        self.record = _abi.Collectives(ctypes.sizeof(_abi.Collectives), self.rank, self.size)
        self.record.device_type = _abi.CUDA if self._on_device else _abi.CPU
        fields = dict((name, kind) for name, kind, *_ in _abi.Collectives._fields_)
        for name in ("exchange", "gather", "gather_host"):
            setattr(self.record, name, fields[name](_reporting(getattr(self, "_" + name))))

    def _exchange(
        self, send: int | None, sends: Any, receive: int | None, receives: Any, row_bytes: int, stream: int | None
    ) -> None:
        import torch.distributed as dist

        sent = [sends[rank] * row_bytes for rank in range(self.size)]
        received = [receives[rank] * row_bytes for rank in range(self.size)]
        if self._on_device:
            with _on_stream(stream):
                to, of = _on_gpu(receive, sum(received)), _on_gpu(send, sum(sent))
                dist.all_to_all_single(to, of, received, sent, group=self._group)
            return
        to, of = _on_host(receive, sum(received)).split(received), _on_host(send, sum(sent)).split(sent)
        to[self.rank].copy_(of[self.rank])
        # gloo has no exchange of its own.
        work = []
        for rank in range(self.size):
            other = dist.get_global_rank(self._group, rank) if self._group is not None else rank
            if rank != self.rank and sent[rank]:
                work.append(dist.isend(of[rank], other, group=self._group))
            if rank != self.rank and received[rank]:
                work.append(dist.irecv(to[rank], other, group=self._group))
        for each in work:
            each.wait()

    def _gather(self, own: int | None, every: int | None, size: int, stream: int | None) -> None:
        import torch.distributed as dist

        if not self._on_device:
            self._gather_host(own, every, size)
            return
        with _on_stream(stream):
            dist.all_gather_into_tensor(_on_gpu(every, size * self.size), _on_gpu(own, size), group=self._group)

    def _gather_host(self, own: int | None, every: int | None, size: int) -> None:
        import torch.distributed as dist

        if size == 0:
            dist.barrier(group=self._hosts)
            return
        dist.all_gather(list(_on_host(every, size * self.size).split(size)), _on_host(own, size), group=self._hosts)


def _reporting(function: Callable[..., None]) -> Callable[..., int]:
    """For C, which wants a status and a message: the last argument is the record for it, the first is not used."""

    def call(_user: Any, *arguments: Any) -> int:
        try:
            function(*arguments[:-1])
        except BaseException as error:  # Nothing may pass through C.
            if arguments[-1]:
                text = f"{function.__name__.strip('_')}: {error}".encode()[:500]
                arguments[-1].contents.status = _abi.COLLECTIVE_ERROR
                arguments[-1].contents.message = text
            return _abi.COLLECTIVE_ERROR
        return _abi.OK

    return call


def _on_host(address: int | None, size: int) -> Any:
    """Bytes at an address, as a tensor that does not own them."""
    import torch

    if not size or not address:
        return torch.empty(0, dtype=torch.uint8)
    return torch.frombuffer((ctypes.c_ubyte * size).from_address(address), dtype=torch.uint8)


class _Memory:
    """Memory of a GPU, as torch.as_tensor takes it."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}


def _on_gpu(address: int | None, size: int) -> Any:
    import torch

    if not size or not address:
        return torch.empty(0, dtype=torch.uint8, device="cuda")
    return torch.as_tensor(_Memory(address, size), device="cuda")


def _on_stream(stream: int | None) -> Any:
    import torch

    # PyTorch takes an external stream 0 for a request for any stream of its own.
    return torch.cuda.stream(torch.cuda.ExternalStream(stream) if stream else torch.cuda.default_stream())


class Part:
    """One rank's counts of rows, for `Graph`."""

    def __init__(self, ranks: TorchRanks, counts: Mapping[str, Sequence[int]]) -> None:
        self.ranks = ranks
        self._kept = {space: (ctypes.c_int64 * len(numbers))(*numbers) for space, numbers in counts.items()}
        for space, numbers in self._kept.items():
            if len(numbers) != ranks.size:
                raise Error(
                    f"counts of '{space}': expected one for each of {ranks.size} ranks, found {len(numbers)}", 1
                )
        self._counts = (_abi.RowCounts * len(self._kept))(
            *[_abi.RowCounts(space.encode(), numbers) for space, numbers in self._kept.items()]
        )
        self.record = _abi.PartDesc(
            ctypes.sizeof(_abi.PartDesc), len(self._counts), self._counts, ctypes.pointer(ranks.record)
        )


class PartFile:
    """One rank's part of a graph, as `gnnc partition` wrote it: `compiled.partitioned(part)`, or `load_part` with less to
    say. All of the rank's own rows, and the index arrays in the part's numbers, are in `tensors`."""

    def __init__(self, path: str | os.PathLike[str], ranks: TorchRanks) -> None:
        self.path, self.ranks = os.fspath(path), ranks
        self.tensors, self._metadata = _safetensors.load_with_metadata(path)
        found = self._metadata.get("rank", "0"), self._metadata.get("parts", "1")
        if found != (str(ranks.rank), str(ranks.size)):
            raise Error(
                f"'{self.path}': expected part {ranks.rank} of {ranks.size}, found part {found[0]} of {found[1]}", 1
            )

    def extent(self, space: str) -> int | None:
        """Elements of a space on this rank: its own, or those of `S.halo` and `S.send`."""
        found = self._metadata.get(f"num_{space}s")
        return None if found is None else int(found)

    def whole_extent(self, space: str) -> int | None:
        """Elements of a space on all ranks together."""
        found = self._metadata.get(f"num_{space}s.global")
        return None if found is None else int(found)

    def dense(self, name: str, width: int, dtype: type = np.float32) -> np.ndarray:
        """Rows of what the file has in sparse form; repeated entries add up."""
        pointers, columns = self.tensors[f"{name}_indptr"], self.tensors[f"{name}_indices"]
        values = self.tensors.get(f"{name}_values", np.ones(len(columns), dtype))
        result = np.zeros((len(pointers) - 1, width), dtype)
        np.add.at(result, (np.repeat(np.arange(len(pointers) - 1), np.diff(pointers)), columns), values)
        return result

    def along(self, space: str) -> str | None:
        """The map that says whose the elements of a space are; of edges, where the space is called otherwise."""
        return self._metadata.get(f"along.{space}", self._metadata.get("along.edge"))

    def counts(self, spaces: Iterable[str], none: Iterable[str] = ()) -> Part:
        """How many rows of these spaces are for (of) each rank; of those of `none` there are none."""
        found = {space: [0] * self.ranks.size for space in none}
        found |= {
            space: self.tensors[f"{space}.counts"].tolist() for space in spaces if f"{space}.counts" in self.tensors
        }
        return Part(self.ranks, found)

    def sent(self, space: str) -> np.ndarray:
        """The own elements of a space that other ranks read, by rank."""
        if f"{space}.sent" not in self.tensors:
            raise Error(
                f"'{self.path}' has no '{space}.sent': gnnc partition writes it where a map of the graph leads to "
                f"'{space}' of other parts (--model follows those of a model)",
                1,
            )
        return self.tensors[f"{space}.sent"]

    def numbers(self, value: Value, extent: int, wide: bool, first: int = 0) -> np.ndarray:
        """An input that says something of the elements' numbers in the whole graph. `first`: of elements that the file
        does not know, which follow one another; static spaces have all."""
        floats, integers = (np.float64, np.int64) if wide else (np.float32, np.int32)
        numbers = self.tensors.get(f"{value.space}.global")
        if numbers is None:
            numbers = np.arange(first, first + extent)
        if value.name.endswith(".order"):  # two digits, which floating-point numbers hold exactly
            return np.stack([numbers >> 20, numbers & ((1 << 20) - 1)], axis=1).astype(floats)
        return numbers.astype(integers).view(floats)  # integers in the memory of floating-point numbers

    def exchange_rows(self, space: str, rows: np.ndarray) -> np.ndarray:
        """Rows of the halo of a space, of which these are the rank's own; all ranks call this at once."""
        return rows[:0] if self.ranks.size == 1 else self._move(space, rows[self.sent(space)], "send", "halo")

    def return_rows(self, space: str, rows: np.ndarray) -> np.ndarray:
        """Rows of `sent`, as the ranks that have these in their halo give them; all ranks call this at once."""
        return self._move(space, rows, "halo", "send")

    def _move(self, space: str, rows: np.ndarray, of: str, to: str) -> np.ndarray:
        ranks = self.ranks
        counts = [self.tensors[f"{space}.{role}.counts"].tolist() for role in (of, to)]
        sends, receives = ((ctypes.c_int64 * ranks.size)(*numbers) for numbers in counts)
        sent = np.ascontiguousarray(rows)
        came = np.empty((sum(counts[1]), *rows.shape[1:]), rows.dtype)
        row_bytes = rows.dtype.itemsize * int(np.prod(rows.shape[1:]))
        error = _abi.ErrorRecord()
        if ranks.record.device_type == _abi.CUDA:
            import torch

            on_device = torch.from_numpy(sent.view(np.uint8)).cuda()
            arrived = torch.empty(came.nbytes, dtype=torch.uint8, device="cuda")
            stream = torch.cuda.current_stream().cuda_stream
            status = ranks.record.exchange(
                None,
                on_device.data_ptr(),
                sends,
                arrived.data_ptr(),
                receives,
                row_bytes,
                stream,
                ctypes.pointer(error),
            )
            came = arrived.cpu().numpy().view(rows.dtype).reshape(came.shape)
        else:
            status = ranks.record.exchange(
                None, sent.ctypes.data, sends, came.ctypes.data, receives, row_bytes, None, ctypes.pointer(error)
            )
        if status:
            raise Error(f"rows of '{space}' of other ranks: {error.message.decode(errors='replace')}", status)
        return came


def load_part(model: Model, path: str | os.PathLike[str], ranks: TorchRanks) -> Graph:
    """The part of a graph that `gnnc partition` wrote for this rank, prepared; all ranks call this at once.

    `inputs` of the result has the inputs that the file has: the rank's own rows.
    """
    from ._model import Graph

    part = PartFile(path, ranks)
    tensors, roots = part.tensors, model._description.roots
    extents = {space: found for space in roots if (found := part.extent(space)) is not None}
    wanted = set(model.graph_arguments)
    if "label" in wanted and "label" not in tensors and "y" in tensors:
        tensors["label"] = tensors["y"]  # as the tools find it
    graph = Graph(
        model,
        extents=extents,
        part=part.counts(roots),
        **{name: value for name, value in tensors.items() if name in wanted},
    )
    graph.inputs = {}
    wide = model.description["dtype"] == "f64"
    for name, found in model._description.inputs.items():
        if f"{name}_indptr" in tensors and len(found.dims) == 1:
            value = part.dense(name, found.dims[0], np.float64 if wide else np.float32)
        elif found.numbers:
            value = part.numbers(found, graph.extent(found.space or ""), wide)
        elif found.halo_of:
            if found.halo_of not in graph.inputs:
                continue
            value = part.exchange_rows((found.space or "").removesuffix(".halo"), graph.inputs[found.halo_of])
        elif name in tensors:
            value = tensors[name]
        else:
            continue
        floats = {"f32": np.float32, "f64": np.float64}.get(found.dtype)
        if value.dtype.kind == "f" and floats is not None:
            value = value.astype(floats, copy=False)
        graph.inputs[name] = value
    return graph
