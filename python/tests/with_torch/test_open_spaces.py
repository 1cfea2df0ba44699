# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that choose elements by values: by a radius, by the best scores, and by masks."""

from __future__ import annotations

import unittest
from typing import Any

import torch
from torch import Tensor, nn

import gnnc
from gnnc import ops
from torch_modules import TorchTest

try:
    from torch_geometric import nn as geometric
except ImportError:
    geometric = None


def cloud(nodes: int, groups: int) -> tuple[Tensor, Tensor, Tensor]:
    batch = torch.randint(0, groups, (nodes,)).sort()[0]
    batch[-1] = groups - 1
    return torch.randn(nodes, 3).double(), torch.randn(nodes, 4).double(), batch


def graph(nodes: int, edges: int, groups: int) -> tuple[Tensor, Tensor, Tensor]:
    _, x, batch = cloud(nodes, groups)
    return x, torch.randint(0, nodes, (2, edges)), batch


def total(rows: Tensor, at: Tensor, count: int) -> Tensor:
    return torch.zeros(count, rows.shape[1], dtype=rows.dtype).index_add(0, at, rows)


class Within(nn.Module):
    def __init__(self, conv: nn.Module | None = None) -> None:
        super().__init__()
        self.edge, self.out, self.conv = nn.Linear(7, 16), nn.Linear(16, 5), conv

    def forward(self, pos: Tensor, x: Tensor, batch: Tensor) -> Tensor:
        edges = ops.radius_graph(pos, 1.2, batch, max_num_neighbors=12)
        if self.conv is not None:
            x = self.conv(x, edges)
        src, dst = edges
        message = self.edge(torch.cat([x[src], pos[src] - pos[dst]], 1)).relu()
        return self.out(total(message, dst, len(x))) + message.square().sum()


class Cut(nn.Module):
    """Edges whose score is too low are left out, twice."""

    def __init__(self) -> None:
        super().__init__()
        self.score, self.update = nn.Linear(8, 1), nn.Linear(8, 4)

    def forward(self, x: Tensor, edges: Tensor, batch: Tensor) -> Tensor:
        for _ in range(2):
            score = self.score(torch.cat([x[edges[0]], x[edges[1]]], 1)).squeeze(1)
            kept = score > -0.1
            edges, weight = edges[:, kept], score[kept].sigmoid()
            sums = total(x[edges[0]] * weight[:, None], edges[1], len(x))
            x = x + self.update(torch.cat([x, sums], 1)).tanh()
        return x


class Rows(nn.Module):
    """Nodes by a mask, and by the places where it is true."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 6)

    def forward(self, x: Tensor, edges: Tensor, batch: Tensor) -> Tensor:
        h = self.lin(x).tanh()
        mask = h[:, 0] > 0
        places = (h[:, 1] < 0).nonzero().squeeze(1)
        return torch.cat([total(h[mask], batch[mask], 3), h[places].sum(0, keepdim=True)])


class Best(nn.Module):
    def __init__(self, ratio: float) -> None:
        super().__init__()
        self.lin, self.weight, self.ratio = nn.Linear(4, 6), nn.Linear(6, 1), ratio

    def forward(self, x: Tensor, edges: Tensor, batch: Tensor) -> Tensor:
        h = self.lin(x).tanh()
        score = self.weight(h).squeeze(1).tanh()
        best = ops.topk(score, self.ratio, batch)
        return total(h[best] * score[best][:, None], batch[best], 3)


class OpenSpacesTest(TorchTest):
    def check(self, module: nn.Module, *graphs: tuple[Tensor, ...]) -> None:
        torch.manual_seed(1)
        module = module.double()
        fast = gnnc.compile(module, graphs[0])
        for given in graphs:
            found: list[Any] = []
            for run in (fast, module):
                inputs = [x.clone().requires_grad_() if x.is_floating_point() else x for x in given]
                result = run(*inputs)
                wanted = [x for x in inputs if x.requires_grad] + list(module.parameters())
                weights = torch.linspace(-1, 1, result.numel(), dtype=result.dtype).view_as(result)
                found.append([result, *torch.autograd.grad((result * weights).sum(), wanted)])
            self.assertClose(*found)

    def test_within_a_radius(self) -> None:
        self.check(Within(), cloud(40, 3), cloud(70, 5), cloud(4, 2))

    def test_layers_on_what_is_near(self) -> None:
        if geometric is None:
            self.skipTest("PyTorch Geometric is not installed")
        self.check(Within(geometric.SAGEConv(4, 4)), cloud(40, 3), cloud(70, 5))
        self.check(Within(geometric.GATv2Conv(4, 4, add_self_loops=False)), cloud(40, 3), cloud(70, 5))

    def test_edges_by_their_scores(self) -> None:
        self.check(Cut(), graph(30, 100, 3), graph(50, 300, 3))

    def test_rows_by_masks(self) -> None:
        self.check(Rows(), graph(30, 10, 3), graph(50, 10, 3))

    def test_the_best_of_each_group(self) -> None:
        for ratio in (0.5, 3, 1.0):
            self.check(Best(ratio), graph(30, 10, 3), graph(50, 10, 3))

    def test_pooling_of_pytorch_geometric(self) -> None:
        if geometric is None:
            self.skipTest("PyTorch Geometric is not installed")

        class Pools(nn.Module):
            def __init__(self, pool: type[nn.Module]) -> None:
                super().__init__()
                self.convs = nn.ModuleList([geometric.GraphConv(4, 8), geometric.GraphConv(8, 8)])
                self.pools = nn.ModuleList([pool(8, 0.6), pool(8, 4)])

            def forward(self, x: Tensor, edges: Tensor, batch: Tensor) -> Tensor:
                result = x.new_zeros(1)
                for conv, pool in zip(self.convs, self.pools):
                    x, edges, _, batch, _, _ = pool(conv(x, edges).tanh(), edges, None, batch)
                    result = result + geometric.global_mean_pool(x, batch)
                return result

        for pool in (geometric.TopKPooling, geometric.SAGPooling):
            with self.subTest(pool.__name__):
                self.check(Pools(pool), graph(40, 200, 3), graph(70, 500, 5))

    def test_eager_forms(self) -> None:
        """What the functions give without a compiler, element by element."""
        torch.manual_seed(2)
        x, _, batch = cloud(40, 3)
        x[7] = torch.nan
        x[9] = x[8]
        src, dst = ops.radius_graph(x, 1.5, batch, max_num_neighbors=4)
        wanted = []
        for i in range(40):
            near = [j for j in range(40) if j != i and batch[i] == batch[j] and (x[i] - x[j]).square().sum() < 2.25]
            wanted += [(j, i) for j in near[:4]]
        self.assertEqual(list(zip(src.tolist(), dst.tolist())), wanted)
        score = torch.tensor([0.5, torch.nan, 0.5, -torch.inf, 1.0, 0.0])
        self.assertEqual(ops.topk(score, 6).tolist(), [4, 0, 2, 5, 3, 1])
        self.assertEqual(ops.topk(score, 0.5, torch.tensor([1, 1, 1, 0, 0, 0])).tolist(), [4, 5, 0, 2])

    def test_places_of_what_is_not_chosen(self) -> None:
        """They are -1, by which PyTorch takes the last row: only what a mask leaves out is followed."""

        class Placed(nn.Module):
            def __init__(self, kind: str) -> None:
                super().__init__()
                self.kind, self.weight = kind, nn.Linear(4, 1)

            def forward(self, x: Tensor, edges: Tensor, batch: Tensor) -> Tensor:
                score = self.weight(x).squeeze(1)
                best = ops.topk(score, 0.5, batch)
                place = torch.full((len(x),), -1)
                order = torch.arange(len(best))
                place[best] = order - 3 if self.kind == "shifted" else order
                src, dst = place[edges[0]], place[edges[1]]
                kept = (src >= 0) & (dst >= 0) if self.kind == "both" else src >= 0
                if self.kind == "all":
                    return x[best][place]
                if self.kind == "shifted":
                    return x[place >= 0].sum(0)
                rows = x[best] * score[best][:, None]
                return (rows[src[kept]] * rows[dst[kept]]).sum(0)

        self.check(Placed("both"), graph(30, 100, 3), graph(50, 300, 3))
        given = graph(30, 100, 3)
        for kind in ("one", "all", "shifted"):
            with self.subTest(kind), self.assertRaisesRegex(gnnc.Error, "-1 for elements that are not chosen"):
                gnnc.compile(Placed(kind).double(), given)

    def test_refusals(self) -> None:
        x, edges, _ = graph(20, 60, 1)

        class Listed(nn.Module):
            def forward(self, x: Tensor, edges: Tensor) -> Tensor:
                return x[x[:, 0] > 0]

        with self.assertRaisesRegex(gnnc.Error, "values decide how many"):
            gnnc.compile(Listed(), (x, edges))
        with self.assertRaisesRegex(ValueError, "expected a radius above 0, found -1"):
            ops.radius_graph(x, -1.0)
        with self.assertRaisesRegex(ValueError, "ratio: expected a part above 0"):
            ops.topk(x[:, 0], 0)


if __name__ == "__main__":
    unittest.main()
