# Part of gnnc, under the Apache License v2.0 with LLVM Exceptions.
# See the file LICENSE for details. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs that a module makes of values: gnnc.ops, eagerly and compiled."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import gnnc
from gnnc import ops

SIZES = ((20, 30, 7), (5, 2, 9, 1, 40), (3,))


def clouds(sizes: Sequence[int], width: int = 3) -> tuple[Tensor, Tensor]:
    batch = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    return torch.randn(len(batch), width, dtype=torch.float64), batch


def plain(x: Tensor, y: Tensor, k: int, batch_x: Tensor, batch_y: Tensor, others: bool) -> Tensor:
    """Pair by pair."""
    pairs = []
    for q in range(len(y)):
        near = [
            (float(((x[p] - y[q]) ** 2).sum()), p)
            for p in range(len(x))
            if batch_x[p] == batch_y[q] and not (others and p == q)
        ]
        pairs += [(p, q) for _, p in sorted(near)[:k]]
    return torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).T


def summed(rows: Tensor, at: Tensor, count: int) -> Tensor:
    return rows.new_zeros(count, rows.size(1)).index_add(0, at, rows)


class EagerTest(unittest.TestCase):
    def test_pairs_are_those_of_all_pairs(self) -> None:
        for sizes in SIZES:
            x, batch = clouds(sizes)
            order = torch.randperm(len(x))
            x, batch = x[order].round(decimals=0), batch[order]  # many are equally far, and none in order
            y, batch_y = clouds([max(1, n // 2) for n in sizes])
            for k in (1, 4, 100):
                self.assertTrue(torch.equal(ops.knn_graph(x, k, batch), plain(x, x, k, batch, batch, True)))
                self.assertTrue(torch.equal(ops.knn_graph(x, k, batch, loop=True), plain(x, x, k, batch, batch, False)))
                self.assertTrue(
                    torch.equal(ops.knn(x, y, k, batch, batch_y), plain(x, y, k, batch, batch_y, False).flip(0))
                )

    def test_other_forms(self) -> None:
        x, _ = clouds((12,))
        edges = ops.knn_graph(x, 3)
        self.assertTrue(torch.equal(ops.knn_graph(x, 3, flow="target_to_source"), edges.flip(0)))
        angles = nn.functional.normalize(x, dim=-1)
        self.assertTrue(torch.equal(ops.knn_graph(x, 3, cosine=True), ops.knn_graph(angles, 3)))
        self.assertTrue(torch.equal(ops.knn_graph(x[:, 0], 3), ops.knn_graph(x[:, :1], 3)))
        self.assertEqual(ops.knn_graph(x[:0], 3).shape, (2, 0))

    def test_what_is_no_number_is_last(self) -> None:
        x = torch.tensor([[0.0], [torch.nan], [3.0], [torch.inf]])
        self.assertEqual(ops.knn_graph(x, 3)[0, :3].tolist(), [2, 3, 1])

    def test_errors(self) -> None:
        x, batch = clouds((5,))
        for call, words in (
            (lambda: ops.knn_graph(x, 0), "one neighbour or more, found 0"),
            (lambda: ops.knn_graph(x.long(), 2), "floating-point numbers, found torch.int64"),
            (lambda: ops.knn_graph(x[None], 2), r"points, numbers\], found \[1, 5, 3\]"),
            (lambda: ops.knn_graph(x, 2, flow="both"), "found 'both'"),
            (lambda: ops.knn(x, x[:, :2], 2), "rows of 3 numbers, as x has, found 2"),
            (lambda: ops.knn(x, x.clone(), 2, batch), "batch_x and batch_y, or neither"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                call()


class EdgeConv(nn.Module):
    def __init__(self, width: int, out: int, k: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(2 * width, out), nn.ReLU(), nn.Linear(out, out))
        self.k = k

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        src, dst = edge_index
        rows = self.mlp(torch.cat([x[dst], x[src] - x[dst]], -1))
        zero = rows.new_zeros(x.size(0), rows.size(1))
        return zero.scatter_reduce(0, dst[:, None].expand_as(rows), rows, "amax", include_self=False)


class Dynamic(nn.Module):
    """The second layer's edges are by what the first has made."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.out = EdgeConv(3, 16, 6), EdgeConv(16, 8, 4), nn.Linear(24, 5)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        h = self.first(x, ops.knn_graph(x, 6, batch))
        g = self.second(h, ops.knn_graph(h, 4, batch))
        return self.out(torch.cat([h, g], -1))


class Attention(nn.Module):
    """GravNet's and more: neighbours in a learnt space, weighted by their distance there; one's own row is among them."""

    def __init__(self) -> None:
        super().__init__()
        self.space, self.rows, self.out = nn.Linear(3, 2), nn.Linear(3, 8), nn.Linear(11, 4)

    def forward(self, x: Tensor, batch: Tensor) -> Tensor:
        place, rows = self.space(x), self.rows(x)
        src, dst = ops.knn_graph(place, 5, batch, loop=True)
        weight = torch.exp(-(place[src] - place[dst]).square().sum(-1, keepdim=True))
        return self.out(torch.cat([x, summed(weight * rows[src], dst, x.size(0))], -1))


class Joined(nn.Module):
    """Chosen edges, given ones and a loop for each node, and what normalises by how many there are."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        loops = torch.arange(x.size(0)).repeat(2, 1)
        src, dst = torch.cat([ops.knn_graph(x, 3), edge_index, loops], 1)
        degree = x.new_zeros(x.size(0)).index_add(0, dst, x.new_ones(src.size(0)))
        scale = degree.rsqrt()
        return summed((scale[src] * scale[dst])[:, None] * x[src], dst, x.size(0)) / src.size(0)


class Interpolated(nn.Module):
    def forward(self, rows: Tensor, x: Tensor, y: Tensor, batch_x: Tensor, batch_y: Tensor) -> Tensor:
        to, near = ops.knn(x, y, 3, batch_x, batch_y)
        weight = 1 / (x[near] - y[to]).square().sum(-1, keepdim=True).clamp(min=1e-9)
        return summed(weight * rows[near], to, y.size(0)) / summed(weight, to, y.size(0))


class PerEdge(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        src, dst = ops.knn_graph(x, 4)
        return (x[src] - x[dst]).square().sum(-1)


class Loops(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        src, dst = ops.knn_graph(x, 3, loop=True)
        kept = src != dst
        return summed(x[src[kept]], dst[kept], x.size(0))


class CompiledTest(unittest.TestCase):
    def compare(self, module: nn.Module, make: Callable[[Sequence[int]], tuple[Any, ...]]) -> None:
        """Outputs, and gradients of everything, with one object for all sizes."""
        module = module.double()
        compiled = gnnc.compile(module, progress=False)

        def result(call: Callable[..., Tensor], given: tuple[Any, ...]) -> list[Tensor]:
            args = [a.clone().requires_grad_() if a.is_floating_point() else a for a in given]
            module.zero_grad()
            y = call(*args)
            (y * torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view_as(y)).sum().backward()
            found = [y, *(a.grad for a in args if a.requires_grad), *(p.grad for p in module.parameters())]
            return [each for each in found if each is not None]

        for sizes in SIZES:
            args = make(sizes)
            for own, expected in zip(result(compiled, args), result(module, args), strict=True):
                torch.testing.assert_close(own, expected, rtol=1e-9, atol=1e-9, msg=lambda m: f"{sizes}: {m}")  # noqa: B023
        self.assertEqual(len(vars(compiled)["_gnnc"].specializations), 1)

    def test_layers_by_what_others_made(self) -> None:
        self.compare(Dynamic(), clouds)

    def test_weights_by_distance(self) -> None:
        self.compare(Attention(), clouds)

    def test_joined_with_other_edges(self) -> None:
        self.compare(Joined(), lambda sizes: (clouds(sizes)[0], torch.randint(0, sum(sizes), (2, 9))))

    def test_between_two_clouds(self) -> None:
        def make(sizes: Sequence[int]) -> tuple[Any, ...]:
            (x, batch_x), (y, batch_y) = clouds(sizes), clouds([max(1, n // 2) for n in sizes])
            return torch.randn(len(x), 4, dtype=torch.float64), x, y, batch_x, batch_y

        self.compare(Interpolated(), make)

    def test_results_on_the_edges(self) -> None:
        self.compare(PerEdge(), lambda sizes: clouds(sizes)[:1])

    def test_running_statistics_of_the_edges(self) -> None:
        class Normalised(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.linear, self.norm = nn.Linear(3, 6), nn.BatchNorm1d(6)

            def forward(self, x: Tensor, batch: Tensor) -> Tensor:
                src, dst = ops.knn_graph(x, 5, batch)
                return summed(self.norm(self.linear(x[src] - x[dst])).relu(), dst, x.size(0))

        self.compare(Normalised(), clouds)

    def test_points_on_a_line(self) -> None:
        class Line(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.place = nn.Linear(3, 1)

            def forward(self, x: Tensor) -> Tensor:
                edges = [ops.knn_graph(rows, 2) for rows in (x[:, 0], x[:, :1], self.place(x), x[:, :1].expand(-1, 3))]
                return torch.cat([self.place(x), *(summed(x[src] - x[dst], dst, x.size(0)) for src, dst in edges)], -1)

        self.compare(Line(), lambda sizes: clouds((*sizes, 4))[:1])

    def test_exported_objects(self) -> None:
        module = Dynamic().double()
        x, batch = clouds(SIZES[0])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dynamic.so"
            gnnc.export(module, (x, batch), path)
            loaded = gnnc.load(path)
            for sizes in SIZES:
                x, batch = clouds(sizes)
                found = loaded(x=x.numpy(), batch=batch.numpy())
                torch.testing.assert_close(torch.as_tensor(found), module(x, batch).detach())

    def test_lists_computed_of_the_edges(self) -> None:
        self.compare(Loops(), lambda sizes: clouds(sizes)[:1])


if __name__ == "__main__":
    unittest.main()
