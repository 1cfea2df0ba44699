# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules on parts of a graph: rows, parameters' gradients and buffers are those of the whole graph."""

from __future__ import annotations

import copy
import ctypes
import os
import subprocess
import tempfile
import threading
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from test_ranks_of_threads import Meeting, ThreadRanks
from torch import Tensor, nn

import gnnc
from gnnc import _compiler, _safetensors
from gnnc.ranks import PartFile, TorchRanks
from torch_modules import Conv, TorchTest, graph

NODES, EDGES, WIDTH = 23, 90, 3


class Layers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Conv(WIDTH, 4, torch.float64), Conv(4, 2, torch.float64)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(torch.tanh(self.first(x, edge_index)), edge_index)


class Largest(nn.Module):
    """The largest neighbours, of which many are equal."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(WIDTH, 5, dtype=torch.float64)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        rows = torch.relu(self.lin(x)).index_select(0, edge_index[1])
        start = rows.new_zeros(x.shape[0], rows.shape[1])
        index = edge_index[0].view(-1, 1).expand_as(rows)
        return start.scatter_reduce(0, index, rows, "amax", include_self=False)


class Normed(nn.Module):
    """Statistics of all nodes, an output that all ranks have, and a softmax over neighbours, by another name."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(WIDTH, 4, dtype=torch.float64)
        self.norm = nn.BatchNorm1d(4, dtype=torch.float64)
        self.score = nn.Linear(4, 1, dtype=torch.float64)

    def forward(self, x: Tensor, links: Tensor) -> tuple[Tensor, Tensor]:
        h = self.norm(self.lin(x))
        powers = torch.exp(self.score(h).index_select(0, links[0]))
        sums = powers.new_zeros(x.shape[0], 1).index_add(0, links[1], powers)
        rows = powers / sums.index_select(0, links[1]) * h.index_select(0, links[0])
        y = torch.zeros_like(h).index_add(0, links[1], rows)
        return y, y.square().mean(0)


def loss_of(result: Tensor | tuple[Tensor, Tensor], weights: Tensor) -> Tensor:
    """A sum over rows; what all ranks have counts once, as it is one thing."""
    if isinstance(result, tuple):
        return (result[0] * weights[:, : result[0].shape[1]]).sum() + result[1].sum()
    return (result * weights[:, : result.shape[1]]).sum()


def rows_of(result: Tensor | tuple[Tensor, Tensor]) -> Tensor:
    return (result[0] if isinstance(result, tuple) else result).detach()


def cut(
    folder: str, x: Tensor, edges: Tensor, weights: Tensor, parts: int, by: str, types: Tensor | None = None
) -> None:
    tensors = {"x": x.numpy(), "edge_index": edges.numpy(), "weights": weights.numpy()}
    if types is not None:
        tensors["node_type"] = types.numpy()
    _safetensors.save(f"{folder}/graph.safetensors", tensors, {"num_nodes": str(len(x))})
    command = [str(_compiler.find_compiler()), "partition", f"{folder}/graph.safetensors", "-k", str(parts), "--by", by]
    subprocess.run([*command, "-o", f"{folder}/{parts}{by}"], check=True, capture_output=True)


class Result:
    """What one rank found."""

    def __init__(self, run: nn.Module, module: nn.Module, part: PartFile) -> None:
        x, edges, weights = (torch.from_numpy(part.tensors[name].copy()) for name in ("x", "edge_index", "weights"))
        x.requires_grad_()
        types = [torch.from_numpy(part.tensors["node_type"].copy())] if "node_type" in part.tensors else []
        result = run(x, edges, *types)
        loss_of(result, weights).backward()
        self.numbers = torch.from_numpy(part.tensors["node.global"].copy()).long()
        self.rows, self.x = rows_of(result), x.grad
        self.shared = {name: p.grad for name, p in module.named_parameters()}
        self.shared |= {name: buffer.clone() for name, buffer in module.named_buffers()}
        if isinstance(result, tuple):
            self.shared["output"] = result[1].detach()


def nothing(
    user: object, send: int, sends: object, receive: int, receives: ctypes.Array, row_bytes: int, *more: object
) -> int:
    """Instead of an exchange."""
    ctypes.memset(receive, 0, row_bytes * sum(receives[rank] for rank in range(3))) if receive else None
    return 0


def on_threads(compiled: Callable[[], nn.Module], folder: str, size: int, by: str, moves: bool = True) -> list[Result]:
    meeting, results = Meeting(size), [None] * size
    runs = []
    for rank in range(size):
        ranks = ThreadRanks(rank, meeting)
        if not moves:
            ranks.record.exchange = type(ranks.record.exchange)(nothing)
        part = PartFile(f"{folder}/{size}{by}/part.{rank}.safetensors", ranks)
        module = compiled()
        runs.append((module.partitioned(part), module, part))

    def work(rank: int) -> None:
        results[rank] = Result(*runs[rank])  # type: ignore[call-overload]

    threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert None not in results, "a rank failed"
    return results  # type: ignore[return-value]


def on_gloo(rank: int, folder: str, size: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size)
    torch.manual_seed(0)
    with mock.patch.object(_compiler, "cache_folder", lambda: Path(folder) / "cache"):
        module = Layers()
        part = PartFile(f"{folder}/{size}random/part.{rank}.safetensors", TorchRanks())
        run = gnnc.compile(module, graph(8, 24, WIDTH, dtype=torch.float64)).partitioned(part)
        optimiser = torch.optim.Adam(run.parameters(), lr=0.1)
        x, edges, weights = (torch.from_numpy(part.tensors[name].copy()) for name in ("x", "edge_index", "weights"))
        for _ in range(10):
            optimiser.zero_grad()
            loss_of(run(x, edges), weights).backward()
            optimiser.step()
    torch.save(module.state_dict(), f"{folder}/{rank}.pt")
    dist.destroy_process_group()


class PartitionedTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.x, self.edges = graph(NODES, EDGES, WIDTH, dtype=torch.float64)
        self.weights = torch.randn(NODES, 5, dtype=torch.float64)

    def compiled(self, module: nn.Module) -> Callable[[], nn.Module]:
        """Makes ranks that have parameters of their own."""
        fast = gnnc.compile(module, graph(8, 24, WIDTH, dtype=torch.float64))
        return lambda: copy.deepcopy(fast)

    def differs(self, module: nn.Module, results: list[Result]) -> float:
        """The largest difference from eager PyTorch on the whole graph."""
        module = copy.deepcopy(module)
        x = self.x.clone().requires_grad_()
        result = module(x, self.edges)
        loss_of(result, self.weights).backward()
        shared = {name: p.grad for name, p in module.named_parameters()} | dict(module.named_buffers())
        if isinstance(result, tuple):
            shared["output"] = result[1].detach()
        found = []
        for each in results:
            found += [(each.rows, rows_of(result)[each.numbers]), (each.x, x.grad[each.numbers])]
            found += [(each.shared[name], expected) for name, expected in shared.items()]
            for name in shared:  # the same bits on all ranks
                self.assertTrue(torch.equal(each.shared[name], results[0].shared[name]), name)
        self.assertEqual(sorted(torch.cat([each.numbers for each in results]).tolist()), list(range(NODES)))
        return max([float((a - b).abs().max()) for a, b in found if a.numel()])

    def test_is_the_whole_graph_on_any_number_of_ranks(self) -> None:
        for kind in (Layers, Largest, Normed):
            module = kind()
            compiled = self.compiled(module)
            for size in (1, 2, 3, 4, 8):
                for by in ("random", "contiguous"):
                    with self.subTest(module=kind.__name__, size=size, by=by):
                        cut(self.folder, self.x, self.edges, self.weights, size, by)
                        results = on_threads(compiled, self.folder, size, by)
                        self.assertLess(self.differs(module, results), 1e-12)
                        subprocess.run(["rm", "-r", f"{self.folder}/{size}{by}"], check=True)

    def test_sees_an_exchange_that_is_switched_off(self) -> None:
        module = Layers()
        cut(self.folder, self.x, self.edges, self.weights, 3, "random")
        results = on_threads(self.compiled(module), self.folder, 3, "random", moves=False)
        self.assertGreater(self.differs(module, results), 1e-3)

    def test_an_optimiser_does_the_same_on_all_ranks_of_gloo(self) -> None:
        module, size = Layers(), 2
        cut(self.folder, self.x, self.edges, self.weights, size, "random")
        with mock.patch.dict(os.environ, {"GLOO_SOCKET_IFNAME": "lo"}):
            mp.spawn(on_gloo, (self.folder, size), nprocs=size)
        torch.manual_seed(0)
        module = Layers()
        optimiser = torch.optim.Adam(module.parameters(), lr=0.1)
        for _ in range(10):
            optimiser.zero_grad()
            loss_of(module(self.x, self.edges), self.weights).backward()
            optimiser.step()
        found = [torch.load(f"{self.folder}/{rank}.pt") for rank in range(size)]
        for name, expected in module.state_dict().items():
            self.assertClose(found[0][name], expected, 1e-9)
            self.assertTrue(torch.equal(found[0][name], found[1][name]))

    def test_rows_of_another_part_are_refused(self) -> None:
        cut(self.folder, self.x, self.edges, self.weights, 1, "contiguous")
        part = PartFile(f"{self.folder}/1contiguous/part.0.safetensors", ThreadRanks(0, Meeting(1)))
        run = self.compiled(Layers())().partitioned(part)
        with self.assertRaisesRegex(gnnc.Error, "arguments have 8 elements of 'node': expected the 23 of"):
            run(*graph(8, 24, WIDTH, dtype=torch.float64))

    def test_a_part_of_others_is_refused(self) -> None:
        cut(self.folder, self.x, self.edges, self.weights, 2, "contiguous")
        with self.assertRaisesRegex(gnnc.Error, "expected part 0 of 1, found part 1 of 2"):
            PartFile(f"{self.folder}/2contiguous/part.1.safetensors", ThreadRanks(0, Meeting(1)))


if __name__ == "__main__":
    unittest.main()
