# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled modules on parts of a graph whose integers are read, counted and compared across edges that are cut."""

from __future__ import annotations

import copy
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from test_ranks_of_threads import Meeting, ThreadRanks
from torch import Tensor, nn
from with_torch.test_partitioned import Result, cut, loss_of, nothing

import gnnc
from gnnc import _compiler, _safetensors
from gnnc.ranks import PartFile, TorchRanks, load_part
from torch_modules import TorchTest, graph

NODES, EDGES, WIDTH, KINDS = 23, 90, 3, 3


class Rows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(WIDTH, 4, dtype=torch.float64)
        self.kinds = nn.Embedding(KINDS * KINDS, 4, dtype=torch.float64)

    def sums(self, rows: Tensor, index: Tensor, like: Tensor) -> Tensor:
        return torch.zeros_like(like).index_add(0, index, rows)


class EqualTypes(Rows):
    """Only edges between nodes of one type."""

    def forward(self, x: Tensor, edge_index: Tensor, node_type: Tensor) -> Tensor:
        h = self.lin(x) + self.kinds(node_type)
        edges = edge_index[:, node_type[edge_index[0]] == node_type[edge_index[1]]]
        return self.sums(torch.tanh(h)[edges[0]], edges[1], h)


class TypesOfEnds(Rows):
    """A row of a table for the types of an edge's two ends, in both directions."""

    def forward(self, x: Tensor, edge_index: Tensor, node_type: Tensor) -> Tensor:
        h = torch.tanh(self.lin(x))
        both = self.kinds(node_type[edge_index[0]] * KINDS + node_type[edge_index[1]])
        return self.sums(h[edge_index[0]] * both, edge_index[1], h) + self.sums(h[edge_index[1]], edge_index[0], h)


class CountsOut(Rows):
    """Counts of the edges out of each node, as integers, read where these edges lead."""

    def forward(self, x: Tensor, edge_index: Tensor, node_type: Tensor) -> Tensor:
        h = torch.tanh(self.lin(x))
        counts = torch.zeros_like(node_type).index_add(0, edge_index[0], torch.ones_like(edge_index[0]))
        return self.sums(h[edge_index[0]] / counts[edge_index[0]].double().view(-1, 1), edge_index[1], h)


class MostOut(Rows):
    """Maxima with ties, along the other end of some edges than that which they go along."""

    def forward(self, x: Tensor, edge_index: Tensor, node_type: Tensor) -> Tensor:
        h = torch.relu(self.lin(x))
        edges = edge_index[:, node_type[edge_index[0]] != node_type[edge_index[1]]]
        rows = h[edges[1]]
        index = edges[0].view(-1, 1).expand_as(rows)
        return torch.zeros_like(h).scatter_reduce(0, index, rows, "amax", include_self=False)


class Looped(Rows):
    """Edges that a mask keeps and one loop for each node, with weights that are written where there is a loop."""

    def forward(self, x: Tensor, edge_index: Tensor, node_type: Tensor) -> Tensor:
        h = torch.tanh(self.lin(x))
        edges = edge_index[:, edge_index[0] != edge_index[1]]
        nodes = torch.arange(x.shape[0], device=x.device)
        both = torch.cat([edges, torch.stack([nodes, nodes])], 1)
        degree = x.new_zeros(x.shape[0]).index_add(0, edges[0], x.new_ones(edges.shape[1]))
        weight = torch.cat([-1 / degree[edges[0]], x.new_ones(x.shape[0])])
        weight[both[0] == both[1]] -= 0.5
        return self.sums(weight.view(-1, 1) * h[both[0]], both[1], h)


class Ascending(Rows):
    def forward(self, x: Tensor, edge_index: Tensor, node_type: Tensor) -> Tensor:
        edges = edge_index[:, edge_index[0] < edge_index[1]]
        return self.sums(self.lin(x)[edges[0]], edges[1], self.lin(x))


class Numbered(Rows):
    def forward(self, x: Tensor, edge_index: Tensor, node_type: Tensor) -> Tensor:
        h = self.lin(x) * torch.arange(x.shape[0]).double().view(-1, 1)
        return self.sums(h[edge_index[0]], edge_index[1], h)


class Pairs(Rows):
    def forward(self, x: Tensor, edge_index: Tensor, node_type: Tensor) -> Tensor:
        keys = edge_index[0] * x.shape[0] + edge_index[1]
        return self.sums(self.lin(x)[edge_index[0]], edge_index[1], self.lin(x)) * (keys >= 0).double().mean()


def typed_graph(nodes: int, edges: int) -> tuple[Tensor, Tensor, Tensor]:
    types = torch.randint(0, KINDS, (nodes,), generator=torch.Generator().manual_seed(1))
    return *graph(nodes, edges, WIDTH, dtype=torch.float64), types


def on_gloo(rank: int, folder: str, size: int) -> None:
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=size)
    torch.manual_seed(0)
    with mock.patch.object(_compiler, "cache_folder", lambda: Path(folder) / "cache"):
        module = EqualTypes()
        part = PartFile(f"{folder}/{size}random/part.{rank}.safetensors", TorchRanks())
        result = Result(gnnc.compile(module, typed_graph(8, 24)).partitioned(part), module, part)
    torch.save(result, f"{folder}/{rank}.pt")
    dist.destroy_process_group()


class TypesTest(TorchTest):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.x, self.edges, self.types = typed_graph(NODES, EDGES)
        self.weights = torch.randn(NODES, 5, dtype=torch.float64)

    def cut(self, size: int, by: str = "random") -> None:
        subprocess.run(["rm", "-rf", f"{self.folder}/{size}{by}"], check=True)
        cut(self.folder, self.x, self.edges, self.weights, size, by, self.types)

    def on_threads(
        self, fast: nn.Module, size: int, by: str = "random", moves: bool = True
    ) -> list[Result | Exception]:
        self.cut(size, by)
        meeting, results = Meeting(size), [None] * size
        runs = []
        for rank in range(size):
            ranks = ThreadRanks(rank, meeting)
            if not moves:
                ranks.record.exchange = type(ranks.record.exchange)(nothing)
            part, module = PartFile(f"{self.folder}/{size}{by}/part.{rank}.safetensors", ranks), copy.deepcopy(fast)
            runs.append((module.partitioned(part), module, part))

        def work(rank: int) -> None:
            try:
                results[rank] = Result(*runs[rank])  # type: ignore[call-overload]
            except gnnc.Error as error:
                results[rank] = error  # type: ignore[call-overload]

        threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        return results  # type: ignore[return-value]

    def differs(self, module: nn.Module, results: list[Result]) -> float:
        """The largest difference from eager PyTorch on the whole graph."""
        module, x = copy.deepcopy(module), self.x.clone().requires_grad_()
        result = module(x, self.edges, self.types)
        loss_of(result, self.weights).backward()
        found = []
        for each in results:
            found += [(each.rows, result.detach()[each.numbers]), (each.x, x.grad[each.numbers])]
            found += [(each.shared[name], p.grad) for name, p in module.named_parameters() if p.grad is not None]
        self.assertEqual(sorted(torch.cat([each.numbers for each in results]).tolist()), list(range(NODES)))
        return max([float((a - b).abs().max()) for a, b in found if a.numel()])

    def test_is_the_whole_graph_on_any_number_of_ranks(self) -> None:
        for kind in (EqualTypes, TypesOfEnds, CountsOut, MostOut, Looped):
            module = kind()
            fast = gnnc.compile(module, typed_graph(8, 24))
            for size, by in ((2, "random"), (3, "contiguous"), (8, "random")):
                with self.subTest(module=kind.__name__, size=size, by=by):
                    results = self.on_threads(fast, size, by)
                    self.assertLess(self.differs(module, results), 1e-12)

    def test_one_of_equal_maxima_gets_the_gradient(self) -> None:
        """Of edges that a mask keeps, on whatever rank they are."""
        self.x = torch.ones_like(self.x)
        fast = gnnc.compile(MostOut(), typed_graph(8, 24))
        fast.lin.weight.data.fill_(1)
        fast.lin.bias.data.fill_(0)
        self.weights.fill_(1)
        kept = self.types[self.edges[0]] != self.types[self.edges[1]]
        owners = len(self.edges[0][kept].unique())
        for size in (1, 3):
            results = self.on_threads(fast, size)
            self.assertEqual(sum(float(each.x.sum()) for each in results), 4 * WIDTH * owners, f"{size} ranks")

    def test_sees_an_exchange_that_is_switched_off(self) -> None:
        for kind in (EqualTypes, TypesOfEnds, CountsOut):
            with self.subTest(module=kind.__name__):
                module = kind()
                results = self.on_threads(gnnc.compile(module, typed_graph(8, 24)), 3, moves=False)
                self.assertGreater(self.differs(module, results), 1e-3)

    def test_is_the_whole_graph_over_gloo(self) -> None:
        for size in (2, 3):
            self.cut(size)
            with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                Path(folder, f"{size}random").symlink_to(f"{self.folder}/{size}random")
                with mock.patch.dict("os.environ", {"GLOO_SOCKET_IFNAME": "lo"}):
                    mp.spawn(on_gloo, (folder, size), nprocs=size)
                results = [torch.load(f"{folder}/{rank}.pt", weights_only=False) for rank in range(size)]
            torch.manual_seed(0)
            self.assertLess(self.differs(EqualTypes(), results), 1e-12)

    def test_numbers_that_depend_on_the_cut_are_refused(self) -> None:
        for kind, message in (
            (Ascending, r"lt\(edge_index\[0\], edge_index\[1\]\): the numbers of elements in a part are not those"),
            (Numbered, r"input 'number' of 'arange\(0, size\(x, 0\), 1\)': the numbers of elements in a part are not"),
            (Pairs, r"input 'mask' of 'ge\(add\(mul\(edge_index\[0\], .*': the numbers of elements in a part are not"),
        ):
            fast = gnnc.compile(kind(), typed_graph(8, 24))
            with self.subTest(module=kind.__name__):
                self.assertIsInstance(self.on_threads(fast, 1)[0], Result)  # one part is the whole
                for found in self.on_threads(fast, 2):
                    self.assertIsInstance(found, gnnc.Error)
                    self.assertRegex(str(found), message)


class TypesOfPartsTest(unittest.TestCase):
    """A text's filter by types of sources, of which `gnnc partition --model` writes those of the halo."""

    def test_is_the_whole_graph(self) -> None:
        inputs = Path(__file__).resolve().parents[3] / "test" / "Driver" / "Inputs"
        with tempfile.TemporaryDirectory() as folder:

            def tool(*arguments: str) -> None:
                command = [str(_compiler.find_compiler()), *arguments]
                subprocess.run(command, cwd=folder, check=True, capture_output=True)

            x, edges, types = typed_graph(NODES, EDGES)
            tensors = {"edge_index": edges.numpy(), "node_type": types.numpy()}
            _safetensors.save(f"{folder}/graph.safetensors", tensors, {"num_nodes": str(NODES)})
            text = [str(inputs / "typed.gnn"), "--dtype", "f64"]
            tool("compile", *text, "-o", "whole.so")
            tool("compile", *text, "--distributed", "--along", "dst", "-o", "typed.so")
            tool("partition", "graph.safetensors", "-k", "3", "--by", "random", "--model", "typed.so", "-o", "parts")
            whole = gnnc.load(f"{folder}/whole.so", threads=1)
            expected = whole.run("forward", extents={"node": NODES}, **tensors)
            meeting, results = Meeting(3), [None] * 3

            def work(rank: int) -> None:
                model = gnnc.load(f"{folder}/typed.so", threads=1)
                part = load_part(model, f"{folder}/parts/part.{rank}.safetensors", ThreadRanks(rank, meeting))
                results[rank] = model.run("forward", graph=part, **part.inputs)

            threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
            for rank, found in enumerate(results):
                assert found is not None, f"rank {rank} failed"
                numbers = _safetensors.load(f"{folder}/parts/part.{rank}.safetensors")["node.global"]
                np.testing.assert_allclose(found["y"], expected["y"][numbers], rtol=1e-12)
                np.testing.assert_allclose(found["t"], expected["t"], rtol=1e-12)


if __name__ == "__main__":
    unittest.main()
