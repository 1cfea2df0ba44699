"""What ranks.py trains: graphs from a seed, one range of the nodes for each rank, and the engines that move rows."""

from __future__ import annotations

import ctypes
import os
import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

import gnnc
from gnnc import _abi
from gnnc.ranks import Part, TorchRanks

CLASSES, FEATURES = 47, 100


class LibraryRanks:
    """gnnc's library for NCCL, whose hosts are ranks of torch.distributed."""

    def __init__(self, path: str, hosts: TorchRanks, device: int, timeout: float = 60) -> None:
        self.library = ctypes.CDLL(path)
        self.hosts, self.rank, self.size = hosts, hosts.rank, hosts.size
        self.handle, error = ctypes.c_void_p(), _abi.ErrorRecord()
        self.library.gnnc_nccl_collectives.restype = ctypes.POINTER(_abi.Collectives)
        status = self.library.gnnc_nccl_open(
            ctypes.byref(hosts.record), device, ctypes.c_double(timeout), ctypes.byref(self.handle), ctypes.byref(error)
        )
        if status:
            raise gnnc.Error(error.message.decode(), status)
        self.record = self.library.gnnc_nccl_collectives(self.handle).contents

    def check(self) -> None:
        """Raises Error if a collective was aborted."""
        error = _abi.ErrorRecord()
        if status := self.library.gnnc_nccl_check(self.handle, ctypes.byref(error)):
            raise gnnc.Error(error.message.decode(), status)


@dataclass
class Made:
    """A graph that is made from a seed.

    `mixing`: the share of edges whose source is in another range than their target, at few nodes that many read, as
    where communities meet; None: sources are anywhere, and each range reads nearly all of the others."""

    nodes: int
    edges: int
    mixing: float | None
    device: torch.device

    def range_of(self, rank: int, ranks: int) -> tuple[int, int]:
        return rank * self.nodes // ranks, (rank + 1) * self.nodes // ranks

    def edges_to(self, rank: int, ranks: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The edges that lead to a rank's range, in numbers of the whole graph."""
        random = torch.Generator(self.device).manual_seed(1000 + rank)
        begin, end = self.range_of(rank, ranks)
        count = self.edges // ranks

        def any_of(first: int, last: int) -> torch.Tensor:
            return torch.randint(first, last, (count,), generator=random, device=self.device)

        dst = any_of(begin, end)
        if self.mixing is None:
            return any_of(0, self.nodes), dst
        src = any_of(begin, end)
        leaves = torch.rand(count, generator=random, device=self.device) < self.mixing
        border = any_of(0, max(self.nodes // 50, 1)) * 50
        outside = torch.where((border >= begin) & (border < end), (border + self.nodes // ranks) % self.nodes, border)
        return torch.where(leaves, outside, src), dst

    def rows(self, begin: int, end: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Features and targets, each node's from its number."""
        numbers = torch.arange(begin, end, device=self.device, dtype=torch.float32)[:, None]
        columns = torch.arange(1, FEATURES + 1, device=self.device, dtype=torch.float32)
        x = torch.sin(numbers * 0.37 * columns + columns)
        target = torch.nn.functional.one_hot((numbers[:, 0].long() * 7919) % CLASSES, CLASSES).float()
        return x.contiguous(), target.contiguous()

    def part(self, model: gnnc.Model, ranks: Any) -> gnnc.Graph:
        """This rank's part, prepared; all ranks call this at once."""
        rank, size = ranks.rank, ranks.size
        begin, end = self.range_of(rank, size)
        src, dst = self.edges_to(rank, size)
        halo = torch.unique(src[(src < begin) | (src >= end)])  # sorted: by owner, then by number
        begins = [self.range_of(owner, size)[0] for owner in range(size)]
        bounds = torch.tensor([*begins, self.nodes], device=self.device)
        counts = torch.searchsorted(halo, bounds)
        received = (counts[1:] - counts[:-1]).tolist()
        lists: list[Any] = [None] * size
        dist.all_gather_object(lists, [halo[counts[r] : counts[r + 1]].cpu() for r in range(size)])
        sent = torch.cat([lists[other][rank] for other in range(size)]).to(self.device) - begin
        sends = [len(lists[other][rank]) for other in range(size)]
        inside = (src >= begin) & (src < end)
        local = torch.where(inside, src - begin, end - begin + torch.searchsorted(halo, src)).int()
        index = torch.stack([local, (dst - begin).int()])
        del src, dst, inside, local
        return gnnc.Graph(
            model,
            extents={"node": end - begin, "edge": index.shape[1], "node.halo": len(halo), "node.send": len(sent)},
            part=Part(ranks, {"node.halo": received, "node.send": sends}),
            edge_index=index,
            **{"node.sent": sent.int()},
        )

    def whole(self, model: gnnc.Model, ranks: int) -> gnnc.Graph:
        """All of it on one rank: the graph that `ranks` ranks have in parts."""
        index = torch.empty((2, self.edges // ranks * ranks), dtype=torch.int32, device=self.device)
        for other in range(ranks):
            part = slice(other * (self.edges // ranks), (other + 1) * (self.edges // ranks))
            index[0, part], index[1, part] = self.edges_to(other, ranks)
        none = torch.empty(0, dtype=torch.int32, device=self.device)
        extents = {"node": self.nodes, "edge": index.shape[1], "node.halo": 0, "node.send": 0}
        return gnnc.Graph(model, extents=extents, edge_index=index, **{"node.sent": none})


def start_parameters(model: gnnc.Model, device: torch.device) -> None:
    random = torch.Generator(device).manual_seed(0)
    params = {param["name"] for param in model.description["params"]}
    for value in model.description["params"] + model.description["states"]:
        made = torch.randn(value["dims"], generator=random, device=device) * 0.1
        model.parameters[value["name"]] = made if value["name"] in params else torch.zeros_like(made)


def wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


class Training:
    """A model that is trained on what a rank has of a graph: a part, or all of it. `rows`: which nodes those are."""

    def __init__(self, model: gnnc.Model, graph: gnnc.Graph, made: Made, rows: tuple[int, int]) -> None:
        self.model, self.graph, self.device = model, graph, made.device
        self.x, self.target = made.rows(*rows)
        start_parameters(model, made.device)

    def step(self) -> float:
        """The loss before it."""
        return float(self.model.run("train_step", graph=self.graph, x=self.x, target=self.target)["loss"])

    def seconds(self) -> float:
        """Of one step."""
        wait(self.device)
        begin = time.perf_counter()
        self.model.run("train_step", graph=self.graph, x=self.x, target=self.target)
        wait(self.device)
        return time.perf_counter() - begin

    @property
    def extents(self) -> dict[str, int]:
        names = [space["name"] for space in self.model.description["spaces"] if space["name"]]
        return {name: self.graph.extent(name) for name in names}

    def memory(self) -> dict[str, float]:
        """In GiB: what gnnc says that it needs, and what the device has in use at most."""
        workspace = self.graph.workspace_bytes("train_step")
        found = {"workspace_gib": workspace / 2**30, "graph_gib": self.graph.nbytes / 2**30}
        if self.device.type == "cuda":
            free, total = torch.cuda.mem_get_info()
            found["gib"] = (total - free) / 2**30
        return found


def timed(trainings: list[Training], rounds: int = 9) -> list[dict[str, float]]:
    """Seconds of a step of each, in turn, so that what else the machine does disturbs all alike: the median, and the
    fastest."""
    taken: list[list[float]] = [[] for _ in trainings]
    for _ in range(rounds):
        for seconds, training in zip(taken, trainings):
            seconds.append(training.seconds())
    return [{"seconds": sorted(seconds)[rounds // 2], "fastest": min(seconds)} for seconds in taken]


def measure_link(ranks: Any, device: torch.device) -> tuple[float, float]:
    """GB/s that each rank sends and receives at once to and from all others, and microseconds of an exchange of next to
    nothing."""
    size = ranks.size
    if size == 1:
        return 1e3, 0.0
    record, error, others = ranks.record, _abi.ErrorRecord(), size - 1
    stream = torch.cuda.current_stream().cuda_stream if device.type == "cuda" else None

    def seconds_of(rows: int) -> float:
        counts = (ctypes.c_int64 * size)(*[0 if rank == ranks.rank else rows for rank in range(size)])
        sent = torch.zeros(rows * others * 256, device=device)
        received = torch.empty_like(sent)
        taken = []
        for _ in range(9):
            dist.barrier()
            wait(device)
            begin = time.perf_counter()
            addresses = (sent.data_ptr(), counts, received.data_ptr(), counts)
            status = record.exchange(record.user, *addresses, 1024, stream, ctypes.byref(error))
            wait(device)
            taken.append(time.perf_counter() - begin)
            if status:
                raise gnnc.Error(error.message.decode(), status)
        return sorted(taken)[len(taken) // 2]

    least = seconds_of(1)
    rows = (1 << 18) // others if device.type == "cuda" else (1 << 17) // others
    return rows * others * 1024 / max(seconds_of(rows) - least, 1e-9) / 1e9, least * 1e6


def start_group(backend: str, seconds: float = 600) -> tuple[int, int]:
    """The process group of torchrun; rank and size."""
    from datetime import timedelta

    dist.init_process_group(backend, timeout=timedelta(seconds=seconds))
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
