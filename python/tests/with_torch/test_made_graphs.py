# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules that make their graph in plain PyTorch: masks of pairs and their places, and the best columns of each row."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gnnc
from gnnc import ops
from torch_modules import TorchTest

try:
    from torch_geometric import nn as geometric
except ImportError:
    geometric = None

_CUTOFF = 1.3


def cloud(*sizes: int) -> tuple[Tensor, Tensor, Tensor]:
    batch = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return torch.rand(len(batch), 4).double(), 2.5 * torch.rand(len(batch), 3).double(), batch


class Field(nn.Module):
    """Messages weighted by the lengths of edges, twice; `edges` gives both ends and the vectors between them."""

    def __init__(self, edges: Callable[..., tuple[Tensor, Tensor, Tensor]]) -> None:
        super().__init__()
        self.edges = edges
        self.filters = nn.ModuleList(nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 4)) for _ in range(2))
        self.out = nn.Linear(4, 3)

    def forward(self, x: Tensor, pos: Tensor, batch: Tensor, *more: Tensor) -> Tensor:
        i, j, vector = self.edges(pos, batch, *more)
        distance = vector.norm(dim=-1, keepdim=True)
        for weight in self.filters:
            x = x + torch.zeros_like(x).index_add(0, i, x[j] * weight(distance) * (_CUTOFF - distance))
        return self.out(x.tanh())


def by_nonzero(pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    mask = (torch.cdist(pos, pos) < _CUTOFF) & (batch[:, None] == batch[None, :])
    i, j = (mask & ~torch.eye(pos.size(0), dtype=torch.bool)).nonzero().t()
    return i, j, pos[i] - pos[j]


def by_where(pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The vectors are read from the matrix of all."""
    vectors = pos[:, None] - pos[None]
    near = (vectors.norm(dim=-1) < _CUTOFF) & (batch.unsqueeze(0) == batch.unsqueeze(1))
    near.fill_diagonal_(False)
    i, j = torch.where(near)
    return i, j, vectors[i, j]


def in_box(pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The nearest image in a box of 2.4."""
    vectors = pos[:, None] - pos[None]
    vectors = vectors - 2.4 * torch.round(vectors / 2.4)
    numbers = torch.arange(pos.size(0))
    mask = (vectors.square().sum(-1) < _CUTOFF**2) & (batch[:, None] == batch) & (numbers[:, None] != numbers)
    i, j = mask.nonzero(as_tuple=True)
    return i, j, vectors[mask]


def in_cells(pos: Tensor, batch: Tensor, cells: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors of all pairs of a graph are wrapped by its own cell."""
    i, j = torch.where((batch[:, None] == batch[None]) & ~torch.eye(pos.shape[0], dtype=torch.bool))
    own = cells[batch[i]]
    parts = torch.einsum("ei,eij->ej", pos[i] - pos[j], torch.linalg.inv(own))
    vectors = torch.einsum("ei,eij->ej", parts - parts.round(), own) * (torch.linalg.det(own)[:, None] > 0)
    keep = vectors.norm(dim=-1) < _CUTOFF
    return i[keep], j[keep], vectors[keep]


def with_images(pos: Tensor, batch: Tensor, cells: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """27 images of one crystal: pairs of an element and its own image, too."""
    places = torch.tensor([-1.0, 0.0, 1.0]).double()
    shifts = torch.stack([places[:, None, None].expand(3, 3, 3), places[:, None].expand(3, 3, 3), places.expand(3, 3, 3)], -1)
    offsets = shifts.reshape(27, 3) @ cells[0]
    vectors = pos[None, :, None] - pos[None, None] - offsets[:, None, None]
    length = vectors.square().sum(-1)
    image, i, j = ((length < _CUTOFF**2) & (length > 1e-4)).nonzero(as_tuple=True)
    return i, j, pos[i] - pos[j] - offsets[image]


def images_last(pos: Tensor, batch: Tensor, cells: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    shifts = torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]).double()
    offsets = torch.einsum("sk,bkc->bsc", shifts, cells)
    i, j = torch.where(batch[:, None] == batch[None, :])
    vectors = (pos[i] - pos[j])[:, None] + offsets[batch[i]]
    length = vectors.norm(dim=-1)
    mask = (length < _CUTOFF) & (length > 0.01)
    edge, image = torch.where(mask)
    return i[edge], j[edge], vectors[edge, image] + 0 * vectors[mask]


def of_triangle(pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Each pair once, and then in both directions."""
    n = pos.size(0)
    pairs = torch.triu_indices(n, n, 1)
    pairs = pairs[:, batch[pairs[0]] == batch[pairs[1]]]
    length = (pos[pairs[0]] - pos[pairs[1]]).norm(dim=-1)
    pairs = pairs[:, length < _CUTOFF]
    i, j = torch.cat([pairs, pairs.flip(0)], 1)
    return i, j, pos[i] - pos[j]


def of_combinations(pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    pairs = torch.combinations(torch.arange(pos.size(0)), r=2)
    pairs = pairs[(pos[pairs[:, 0]] - pos[pairs[:, 1]]).norm(dim=-1) < _CUTOFF]
    i, j = pairs[:, 0], pairs[:, 1]
    return i, j, pos[i] - pos[j]


def of_products(pos: Tensor, batch: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    numbers = torch.arange(pos.size(0))
    i, j = torch.cartesian_prod(numbers, numbers).t()
    apart = i != j
    i, j = i[apart], j[apart]
    return i, j, pos[i] - pos[j]


class Turned(nn.Module):
    """The places of a mask and of its transpose."""

    def forward(self, x: Tensor, pos: Tensor) -> Tensor:
        mask = pos[:, None, 0] < pos[None, :, 1]
        i, j = torch.where(mask)
        k, l = mask.t().nonzero(as_tuple=True)
        y = torch.zeros_like(x).index_add(0, k, x[l]) + torch.zeros_like(x).index_add(0, j, x[i].tanh())
        return y


class Together(nn.Module):
    """The same, element by element: the orders meet."""

    def forward(self, x: Tensor, pos: Tensor) -> Tensor:
        mask = pos[:, None, 0] < pos[None, :, 1]
        i, j = torch.where(mask)
        k, l = torch.where(mask.T)
        return torch.zeros_like(x).index_add(0, k, x[i] * x[j].tanh())


class Numbered(nn.Module):
    """Numbers beyond those that float32 has one by one, and negative ones."""

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        same = (ids[:, None] == ids[None]).to(x.dtype) @ x
        later = (ids[:, None] < (ids + 1)[None, :]).to(x.dtype) @ x
        i, j = ((ids - 1)[:, None] == (ids - 1)[None]).nonzero(as_tuple=True)
        return same + later + torch.zeros_like(x).index_add(0, i, x[j])


class Far(nn.Module):
    """Differences of numbers, which are computed in the module's type."""

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        return ((ids[:, None] - ids[None]).abs() < 3).to(x.dtype) @ x


class Triplets(nn.Module):
    """Edges that follow each other, and do not go back."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(7, 5), nn.Linear(6, 5)

    def forward(self, x: Tensor, pos: Tensor, edges: Tensor) -> Tensor:
        j, i = edges
        before, after = ((i[:, None] == j[None, :]) & (j[:, None] != i[None, :])).nonzero(as_tuple=True)
        vector = pos[j] - pos[i]
        h = self.first(torch.cat([x[j], vector], 1)).tanh()
        angle = (vector[before] * vector[after]).sum(-1, keepdim=True)
        h = h + torch.zeros_like(h).index_add(0, after, self.second(torch.cat([h[before], angle], 1)))
        return torch.zeros(x.size(0), 5, dtype=h.dtype).index_add(0, i, h)


def nearest(x: Tensor, k: int) -> Tensor:
    """As DGCNN finds neighbours: x [batch, channels, points]."""
    inner = -2 * torch.matmul(x.transpose(2, 1), x)
    squares = torch.sum(x**2, dim=1, keepdim=True)
    return (-squares - inner - squares.transpose(2, 1)).topk(k=k, dim=-1)[1]


def features_of(x: Tensor, idx: Tensor, k: int) -> Tensor:
    count, channels, points = x.shape
    base = torch.arange(0, count).view(-1, 1, 1) * points
    idx = (idx + base).view(-1)
    rows = x.transpose(2, 1).contiguous()
    near = rows.view(count * points, -1)[idx, :].view(count, points, k, channels)
    own = rows.view(count, points, 1, channels).repeat(1, 1, k, 1)
    return torch.cat((near - own, own), dim=3).permute(0, 3, 1, 2).contiguous()


class Dynamic(nn.Module):
    """DGCNN with two layers. `k` of its channels' number."""

    def __init__(self, k: int) -> None:
        super().__init__()
        self.k = k
        self.first = nn.Sequential(nn.Conv2d(6, 8, 1, bias=False), nn.BatchNorm2d(8), nn.LeakyReLU(0.2))
        self.second = nn.Sequential(nn.Conv2d(16, 8, 1), nn.Tanh())
        self.last = nn.Sequential(nn.Conv1d(16, 6, 1, bias=False), nn.BatchNorm1d(6), nn.Tanh())
        self.out = nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        one = self.first(features_of(x, nearest(x, self.k), self.k)).max(dim=-1, keepdim=False)[0]
        two = self.second(features_of(one, nearest(one, self.k), self.k)).max(dim=-1)[0]
        x = self.last(torch.cat((one, two), dim=1))
        pooled = F.adaptive_max_pool1d(x, 1).view(x.size(0), -1), F.adaptive_avg_pool1d(x, 1).view(x.size(0), -1)
        return self.out(torch.cat(pooled, 1))


class Others(nn.Module):
    """All but the first of the nearest, by numbers of a batch [batch, points, features]."""

    def __init__(self) -> None:
        super().__init__()
        self.edge = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        distance = (x.unsqueeze(2) - x.unsqueeze(1)).square().sum(-1)
        idx = distance.topk(4, dim=-1, largest=False)[1][:, :, 1:]
        near = x[torch.arange(x.size(0))[:, None, None], idx]
        own = x.unsqueeze(2).expand(-1, -1, 3, -1)
        return self.edge(torch.cat([near - own, own], -1)).relu().sum(2)


class Sorted(nn.Module):
    """The first places of orders."""

    def __init__(self) -> None:
        super().__init__()
        self.edge = nn.Linear(8, 5)

    def forward(self, x: Tensor) -> Tensor:
        idx = torch.cdist(x, x).argsort(dim=-1)[:, 1:4]
        far = torch.sort(torch.cdist(x, x), dim=-1, descending=True)[1][:, :2]
        own = x.unsqueeze(1)
        return self.edge(torch.cat([x[idx] - own, own.expand(-1, 3, -1)], -1)).relu().sum(1) + x[far].sum((1, 2)).unsqueeze(-1)


class Level(nn.Module):
    """All that are near are at the same place of the order: those with the smallest numbers come first."""

    def forward(self, x: Tensor) -> Tensor:
        idx = (torch.cdist(x, x) - 1.5).relu().argsort(dim=-1, stable=True)[:, :4]
        return x[idx].tanh().mean(1)


class Gravity(nn.Module):
    """Weights of the distances that topk returns; neighbours by a table, and as a list of edges."""

    def __init__(self) -> None:
        super().__init__()
        self.space, self.features, self.out = nn.Linear(4, 3), nn.Linear(4, 5), nn.Linear(15, 2)

    def forward(self, x: Tensor) -> Tensor:
        s, h = self.space(x), self.features(x)
        squares, idx = torch.cdist(s, s).pow(2).topk(5, dim=1, largest=False)
        message = h[idx] * torch.exp(-squares).unsqueeze(-1)
        rows = torch.arange(x.size(0)).repeat_interleave(5)
        listed = torch.zeros_like(h).index_add(0, rows, h[idx.reshape(-1)] - h[rows])
        return self.out(torch.cat([message.mean(1), message.max(1)[0], listed], 1))


class Similar(nn.Module):
    """The rows with the largest cosines, which are no order of distances."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        h = self.lin(x)
        unit = F.normalize(h, dim=-1)
        values, idx = (unit @ unit.t() + 0.1 * x[:, :1]).topk(3, dim=-1)
        return (h[idx] * values.unsqueeze(-1)).sum(1)


class Causal(nn.Module):
    """Each node sees those before it; the same by a mask, and by a triangle of scores."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        q, k = self.q(x), self.k(x)
        n = x.size(0)
        hidden = torch.triu(torch.full((n, n), float("-inf"), dtype=x.dtype), diagonal=1)
        places = torch.arange(n)
        scores = (q @ k.t()).masked_fill(places[:, None] < places[None, :], -1e9)
        one = F.scaled_dot_product_attention(q, k, x, is_causal=True)
        return one + (q @ k.t() + hidden).softmax(-1) @ x + scores.softmax(-1) @ x.square()


class Cut(nn.Module):
    """PyTorch Geometric's layers on edges that values choose, with loops of their own."""

    def __init__(self, conv: nn.Module) -> None:
        super().__init__()
        self.conv = conv

    def forward(self, x: Tensor, pos: Tensor, batch: Tensor) -> Tensor:
        edges = ops.radius_graph(pos, _CUTOFF, batch, max_num_neighbors=16)
        return self.conv(x, edges)


class MadeGraphsTest(TorchTest):
    def check(self, module: nn.Module, graphs: Sequence[tuple[Tensor, ...]], tolerance: float = 1e-9) -> Any:
        """Results and gradients, of graphs of several sizes on one object."""
        module = module.double()
        fast = gnnc.compile(module)
        parameters = list(module.parameters())
        for given in graphs:
            results = []
            for model in (module, fast):
                own = [each.clone().requires_grad_() if each.is_floating_point() else each for each in given]
                y = model(*own)
                wanted = [each for each in own if each.requires_grad] + parameters
                gradients = torch.autograd.grad(y.square().sum() + y.sum(), wanted, allow_unused=True)
                zeros = [torch.zeros_like(each) if own is None else own for own, each in zip(gradients, wanted)]
                results.append((y, *zeros))
            for mine, theirs in zip(results[1], results[0]):
                torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance)
        self.assertEqual(len(vars(fast)["_gnnc"].specializations), 1)
        return fast

    def test_masks_of_pairs(self) -> None:
        graphs = [cloud(7, 9, 5), cloud(4, 11), cloud(1, 30, 2, 1)]
        for edges in (by_nonzero, by_where, in_box, of_triangle, of_combinations, of_products):
            with self.subTest(edges.__name__):
                self.check(Field(edges), graphs)

    def test_transposed_masks(self) -> None:
        graphs = [cloud(n)[:2] for n in (12, 21)]
        self.check(Turned(), graphs)
        with self.assertRaisesRegex(gnnc.Error, "that of another list"):
            gnnc.compile(Together().double())(*graphs[0])

    def test_large_numbers(self) -> None:
        module = Numbered()
        fast = gnnc.compile(module)
        for count, first in ((6, 0), (9, 2**24), (8, 2**40), (7, -(2**24))):
            x, ids = torch.randn(count, 3), torch.arange(count) // 2 + first
            torch.testing.assert_close(fast(x, ids), module(x, ids))
        far = gnnc.compile(Far())
        x = torch.randn(6, 3)
        torch.testing.assert_close(far(x, torch.arange(6)), Far()(x, torch.arange(6)))
        with self.assertRaisesRegex(gnnc.Error, "16777216"):
            far(x, torch.arange(6) + 2**24)

    def test_points_without_places(self) -> None:
        """Points that are no numbers have no edges, and take no part in other gradients."""
        module = Field(by_nonzero).double()
        fast = gnnc.compile(module)
        x, pos, batch = cloud(7, 9)
        pos[3] = torch.nan
        found = []
        for model in (module, fast):
            own = pos.clone().requires_grad_()
            y = model(x, own, batch)
            found.append((y, *torch.autograd.grad(y.sum(), [own, *model.parameters()])))
        for mine, theirs in zip(found[1], found[0]):
            self.assertFalse(theirs.isnan().any())
            torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-9)

    def test_no_edges(self) -> None:
        x, pos, batch = cloud(3, 4)
        self.check(Field(by_nonzero), [cloud(6, 3), (x, 100 * pos, batch)])

    def test_cells(self) -> None:
        cells = [2.4 * torch.eye(3).double() + 0.1 * torch.rand(count, 3, 3).double() for count in (3, 2)]
        graphs = [(*cloud(7, 9, 5), cells[0]), (*cloud(4, 11), cells[1])]
        for edges in (in_cells, images_last):
            with self.subTest(edges.__name__):
                self.check(Field(edges), graphs)
        one = [(*cloud(7), cells[0][:1]), (*cloud(12), cells[1][:1])]
        self.check(Field(with_images), one)

    def test_triplets(self) -> None:
        graphs = []
        for nodes, edges in ((9, 40), (14, 31)):
            x, pos, _ = cloud(nodes)
            graphs.append((x, pos, torch.randint(0, nodes, (2, edges))))
        self.check(Triplets(), graphs)

    def test_tables_of_a_batch(self) -> None:
        graphs = [(torch.randn(3, 3, 20).double(),), (torch.randn(5, 3, 11).double(),)]
        for k in (5, 8, 3):  # the numbers of channels, too
            for training in (False, True):
                with self.subTest(k=k, training=training):
                    self.check(Dynamic(k).train(training), graphs, 1e-8)
        self.check(Others(), [(torch.randn(2, 9, 4).double(),), (torch.randn(4, 6, 4).double(),)])

    def test_tables(self) -> None:
        graphs = [(torch.randn(n, 4).double(),) for n in (20, 33, 7)]
        self.check(Gravity(), graphs)
        self.check(Similar(), graphs)
        self.check(Sorted(), graphs)
        self.check(Level(), graphs)

    def test_triangles(self) -> None:
        self.check(Causal(), [(torch.randn(n, 4).double(),) for n in (12, 20)])

    @unittest.skipIf(geometric is None, "no PyTorch Geometric")
    def test_loops_beside_chosen_edges(self) -> None:
        graphs = [cloud(7, 9, 5), cloud(4, 11)]
        for conv in (geometric.GCNConv(4, 5), geometric.GATConv(4, 5, heads=2), geometric.GATv2Conv(4, 5)):
            with self.subTest(type(conv).__name__):
                self.check(Cut(conv), graphs)


if __name__ == "__main__":
    unittest.main()
